/* SPDX-License-Identifier: Apache-2.0 */
#include <archive.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "image/backup_digest.h"
#include "image/backup_jail.h"
#include "image/image.h"
#include "image/jail.h"
#include "image/ratio.h"
#include "image/unpack.h"

#define READ_SIZE (256 * 1024)
#define ATTRIBUTE_MAX (64 * 1024)
#define ID_INSIDE_MAX UINT16_MAX
#define WHITEOUT_ID                                                                                \
	65536 /* beyond all that are inside: the host's root, see                                  \
	       * docs/decisions/stored-file-ids.md                                                 \
	       */

struct unpack_run {
	struct jailed_backup *task;
	struct archive *in, *out; /* out: NULL when nothing is written */
	crypto_hash_sha256_state sha256;
	struct backup_digest digest;
	struct arena arena;
	struct backup_manifest manifest;
	bool in_template; /* the current entry */
	int percent;
	char bytes[READ_SIZE];
};

static la_ssize_t on_read(struct archive *a, void *context, const void **ret)
{
	struct unpack_run *u = context;
	ssize_t got;

	do
		got = read(JAIL_SOURCE_FD, u->bytes, sizeof(u->bytes));
	while (got < 0 && errno == EINTR);
	if (got < 0) {
		archive_set_error(a, errno, "read the archive");
		return -1;
	}
	(void)crypto_hash_sha256_update(&u->sha256, (const unsigned char *)u->bytes, (size_t)got);
	u->task->outcome.size += got;
	*ret = u->bytes;
	return got;
}

static int fail_read(struct unpack_run *u, struct error *err)
{
	const char *why = archive_error_string(u->in);

	(void)FAIL(err, ERROR_INVALID, "not a whole backup: %s", why ? why : "unknown failure");
	return FAIL_HINT(err, "it was cut off or altered on its way");
}

static int fail_disk(struct unpack_run *u, const char *name, struct error *err)
{
	const char *why = archive_error_string(u->out);
	int code = archive_errno(u->out);

	return FAIL(err, code == ENOSPC || code == EDQUOT ? ERROR_NO_SPACE : ERROR_INVALID,
	            "unpack '%.80s': %s", name, why ? why : "unknown failure");
}

static int open_both(struct unpack_run *u, struct error *err)
{
	int flags = ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME | ARCHIVE_EXTRACT_OWNER |
	            ARCHIVE_EXTRACT_XATTR | ARCHIVE_EXTRACT_SPARSE |
	            ARCHIVE_EXTRACT_SECURE_SYMLINKS | ARCHIVE_EXTRACT_SECURE_NODOTDOT |
	            ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS;

	u->in = archive_read_new();
	u->out = u->task->is_dry ? NULL : archive_write_disk_new();
	if (!u->in || (!u->out && !u->task->is_dry))
		return FAIL(err, ERROR_SYSTEM, "out of memory");
	if (u->out && archive_write_disk_set_options(u->out, flags) != ARCHIVE_OK)
		return FAIL(err, ERROR_SYSTEM, "prepare to unpack");
	if (archive_read_support_filter_zstd(u->in) < ARCHIVE_WARN ||
	    archive_read_support_format_tar(u->in) < ARCHIVE_WARN ||
	    archive_read_open(u->in, u, NULL, on_read, NULL) != ARCHIVE_OK)
		return fail_read(u, err);
	return 0;
}

static int next_entry(struct unpack_run *u, struct archive_entry **ret, struct error *err)
{
	int got = archive_read_next_header(u->in, ret);

	if (got == ARCHIVE_EOF)
		return FAIL(err, ERROR_INVALID, "not a whole backup: '" BACKUP_END "' is missing");
	if (got < ARCHIVE_WARN)
		return fail_read(u, err);
	if (!archive_entry_pathname(*ret))
		return FAIL(err, ERROR_INVALID, "the backup holds a file without a name");
	return 0;
}

static int read_text(struct unpack_run *u, const char *name, struct archive_entry *entry,
                     struct buf *out, struct error *err)
{
	char bytes[4096];
	la_ssize_t got;

	if (strcmp(archive_entry_pathname(entry), name) != 0 ||
	    archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry))
		return FAIL(err, ERROR_INVALID,
		            "not a backup of Atoll: '%s' is not where it is to be", name);
	while ((got = archive_read_data(u->in, bytes, sizeof(bytes))) > 0 && !out->overflowed)
		buf_add(out, bytes, (size_t)got);
	if (got < 0)
		return fail_read(u, err);
	return out->overflowed ? FAIL(err, ERROR_INVALID, "'%s' is too large", name) : 0;
}

static int check_manifest(const struct unpack_run *u, struct error *err)
{
	const struct backup_manifest *m = &u->manifest;
	const struct backup_template_digests *template = &u->task->template;
	struct statvfs disk;

	if (m->entries > LAYERS_ENTRIES_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "the backup says that it has more than %d files",
		            LAYERS_ENTRIES_MAX);
	if (m->bytes > u->task->backup->size_max)
		return FAIL(err,
		            u->task->is_template ? ratio_size_code(u->task->backup->size_max)
		                                 : ERROR_TOO_LARGE,
		            "the backup has %lld MiB of files, %lld may be",
		            (long long)(m->bytes >> 20),
		            (long long)(u->task->backup->size_max >> 20));
	if (u->task->is_template && !m->full)
		return FAIL(err, ERROR_INVALID, "the backup is not full: it has no template");
	if (*template->files && strcmp(template->files, m->template_digest) != 0 &&
	    strcmp(template->all, m->template_digest) != 0) {
		(void)FAIL(err, ERROR_CONFLICT,
		           "the backup was made on a template with other files than this one");
		return FAIL_HINT(err, "import the same image as a template first, and name that");
	}
	if (u->out && statvfs(".", &disk) == 0 &&
	    (uint64_t)m->bytes > (uint64_t)disk.f_bavail * disk.f_frsize)
		return FAIL(err, ERROR_NO_SPACE,
		            "the backup has %lld MiB of files, the disk has no "
		            "room for them",
		            (long long)(m->bytes >> 20));
	return 0;
}

static int take_manifest(struct unpack_run *u, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(BACKUP_DOCUMENT_MAX);
	struct backup_outcome *outcome = &u->task->outcome;
	struct archive_entry *entry;

	if (next_entry(u, &entry, err) < 0 ||
	    read_text(u, BACKUP_MANIFEST, entry, &text, err) < 0 ||
	    backup_manifest_parse(&u->arena, buf_span(&text), &u->manifest, err) < 0 ||
	    check_manifest(u, err) < 0)
		return -1;
	outcome->manifest_size = text.size;
	memcpy(outcome->manifest, text.data, text.size);
	return 0;
}

static const char *part_of(const struct unpack_run *u)
{
	return u->in_template ? BACKUP_TEMPLATE : BACKUP_FILES;
}

static bool is_below(const char *name, const char *folder)
{
	size_t size = strlen(folder);

	return strncmp(name, folder, size) == 0 && (name[size] == '/' || !name[size]);
}

static int strip_prefix(const struct unpack_run *u, const char *name, const char **ret,
                        struct error *err)
{
	const char *part = part_of(u), *rest = name + strlen(part);

	if (!is_below(name, part))
		return FAIL(err, ERROR_INVALID,
		            "the backup holds '%.100s', which has no place in it", name);
	return unpack_name_check(*rest ? rest + 1 : "", ret, err);
}

static int check_kind(const struct unpack_run *u, struct archive_entry *entry, const char *name,
                      struct error *err)
{
	unsigned type = archive_entry_filetype(entry);

	if (archive_entry_hardlink(entry) || type == AE_IFREG || type == AE_IFDIR ||
	    type == AE_IFLNK || type == AE_IFIFO ||
	    (type == AE_IFCHR && !archive_entry_rdev(entry) && !u->in_template))
		return 0;
	return FAIL(err, ERROR_INVALID, "the backup holds '%.100s', which is a device or a socket",
	            name);
}

static int note_opaque(struct unpack_run *u, struct archive_entry *entry, const char *name,
                       struct error *err)
{
	struct jailed_backup *task = u->task;
	size_t size = strlen(name);

	if (archive_entry_filetype(entry) != AE_IFDIR || archive_entry_hardlink(entry))
		return FAIL(err, ERROR_INVALID, "'%.100s' is no folder and hides one", name);
	while (size > 0 && name[size - 1] == '/')
		size--;
	if (task->opaque_size + size + 1 > sizeof(task->opaque))
		return FAIL(err, ERROR_TOO_LARGE, "too many folders hide one of the template");
	memcpy(task->opaque + task->opaque_size, name, size);
	task->opaque[task->opaque_size + size] = '\0';
	task->opaque_size += size + 1;
	return 0;
}

/* Attributes outside the user namespace have a meaning for the kernel. */
static int take_attributes(struct unpack_run *u, struct archive_entry *entry, const char *name,
                           struct error *err)
{
	const char *key;
	const void *value;
	size_t size;
	bool is_opaque = false;

	(void)archive_entry_xattr_reset(entry);
	while (archive_entry_xattr_next(entry, &key, &value, &size) == ARCHIVE_OK) {
		if (strcmp(key, LAYERS_OPAQUE) == 0 && !is_opaque && !u->in_template)
			is_opaque = true;
		else if ((strncmp(key, "user.", strlen("user.")) != 0 &&
		          strcmp(key, "security.capability") != 0) ||
		         size > ATTRIBUTE_MAX)
			return FAIL(err, ERROR_INVALID, "'%.80s' has the attribute '%.60s'", name,
			            key);
	}
	if (!is_opaque)
		return 0;
	if (archive_entry_xattr_count(entry) > 1)
		return FAIL(err, ERROR_INVALID,
		            "'%.80s' hides a folder and has attributes of its own", name);
	archive_entry_xattr_clear(entry);
	return u->task->is_template ? 0 : note_opaque(u, entry, name, err);
}

static int set_owner(const struct unpack_run *u, struct archive_entry *entry, const char *name,
                     struct error *err)
{
	int64_t first = u->in_template ? 0 : u->task->backup->owner_first;
	int64_t uid = archive_entry_uid(entry), gid = archive_entry_gid(entry);

	if (uid < 0 || uid > ID_INSIDE_MAX || gid < 0 || gid > ID_INSIDE_MAX)
		return FAIL(err, ERROR_INVALID, "'%.80s' belongs to %lld:%lld, ids go to %d", name,
		            (long long)uid, (long long)gid, ID_INSIDE_MAX);
	if (archive_entry_filetype(entry) == AE_IFCHR)
		uid = gid = WHITEOUT_ID;
	archive_entry_set_uid(entry, first + uid);
	archive_entry_set_gid(entry, first + gid);
	archive_entry_copy_uname(entry, NULL);
	archive_entry_copy_gname(entry, NULL);
	return 0;
}

static int prepare_entry(struct unpack_run *u, struct archive_entry *entry, const char **ret,
                         struct error *err)
{
	const char *path = archive_entry_pathname(entry), *link = archive_entry_hardlink(entry);
	const char *name, *target = NULL;

	u->in_template = u->manifest.full && is_below(path, BACKUP_TEMPLATE);
	if (strip_prefix(u, path, &name, err) < 0 ||
	    (link && strip_prefix(u, link, &target, err) < 0))
		return -1;
	if (link && !target)
		return FAIL(err, ERROR_INVALID, "'%.80s' is a link to no file", name ? name : "");
	if (check_kind(u, entry, name ? name : "", err) < 0 ||
	    take_attributes(u, entry, name ? name : "", err) < 0 ||
	    set_owner(u, entry, name ? name : "", err) < 0)
		return -1;
	/* NULL: the top itself, or an entry of /dev. */
	if (!name && strlen(path) <= strlen(part_of(u)) + 1)
		name = ".";
	if (name)
		archive_entry_copy_pathname(entry, name);
	if (target)
		archive_entry_copy_hardlink(entry, target);
	archive_entry_acl_clear(entry);
	*ret = u->in_template == u->task->is_template ? name : NULL;
	return 0;
}

/* Holes count as zeros, as in the digest. */
static int copy_data(struct unpack_run *u, const char *name, struct error *err)
{
	static char bytes[READ_SIZE];
	la_ssize_t got;

	while ((got = archive_read_data(u->in, bytes, sizeof(bytes))) > 0) {
		u->task->outcome.bytes += got;
		if (u->task->outcome.bytes > u->manifest.bytes)
			return FAIL(err, ERROR_TOO_LARGE,
			            "the backup holds more than its %lld bytes",
			            (long long)u->manifest.bytes);
		backup_digest_data(&u->digest, (struct span){bytes, (size_t)got});
		if (u->out && name && archive_write_data(u->out, bytes, (size_t)got) != got)
			return fail_disk(u, name, err);
		backup_tell_percent(&u->percent, u->task->outcome.bytes, u->manifest.bytes);
	}
	return got < 0 ? fail_read(u, err) : 0;
}

static int take_entry(struct unpack_run *u, struct archive_entry *entry, struct error *err)
{
	const char *name;

	if (++u->task->outcome.entries > u->manifest.entries)
		return FAIL(err, ERROR_TOO_LARGE, "the backup holds more than its %lld files",
		            (long long)u->manifest.entries);
	backup_digest_entry(&u->digest, entry);
	if (prepare_entry(u, entry, &name, err) < 0)
		return -1;
	if (u->out && name && archive_write_header(u->out, entry) < ARCHIVE_OK)
		return fail_disk(u, name, err);
	if (archive_entry_hardlink(entry) || archive_entry_filetype(entry) != AE_IFREG)
		return 0;
	return copy_data(u, name, err);
}

static int check_end(struct unpack_run *u, struct archive_entry *entry, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(4096);
	const struct backup_outcome *found = &u->task->outcome;
	char digest[BACKUP_DIGEST_SIZE];
	const char *wanted;

	if (read_text(u, BACKUP_END, entry, &text, err) < 0 ||
	    backup_end_parse(&u->arena, buf_span(&text), &wanted, err) < 0)
		return -1;
	if (found->entries != u->manifest.entries || found->bytes != u->manifest.bytes)
		return FAIL(
		        err, ERROR_INVALID,
		        "the backup has %lld files of %lld bytes, its manifest says %lld of %lld",
		        (long long)found->entries, (long long)found->bytes,
		        (long long)u->manifest.entries, (long long)u->manifest.bytes);
	backup_digest_end(&u->digest, digest);
	if (strcmp(digest, wanted) == 0)
		return 0;
	(void)FAIL(err, ERROR_INVALID, "the backup's files are not those that were packed");
	return FAIL_HINT(err, "it was altered on its way");
}

/* The rest is padding; it is part of the checksum. */
static int finish_archive(struct unpack_run *u, struct error *err)
{
	struct backup_outcome *outcome = &u->task->outcome;
	unsigned char hash[crypto_hash_sha256_BYTES];
	struct archive_entry *entry;
	const void *ignored;
	la_ssize_t got;

	got = archive_read_next_header(u->in, &entry);
	if (got != ARCHIVE_EOF)
		return got < ARCHIVE_WARN
		               ? fail_read(u, err)
		               : FAIL(err, ERROR_INVALID, "something follows '" BACKUP_END "'");
	while ((got = on_read(u->in, u, &ignored)) > 0)
		;
	if (got < 0)
		return fail_read(u, err);
	(void)crypto_hash_sha256_final(&u->sha256, hash);
	(void)sodium_bin2hex(outcome->sha256, sizeof(outcome->sha256), hash, sizeof(hash));
	/* Times and modes of folders are set last. */
	if (u->out && archive_write_close(u->out) < ARCHIVE_WARN)
		return fail_disk(u, "folders", err);
	return 0;
}

static int unpack_entries(struct unpack_run *u, struct error *err)
{
	struct archive_entry *entry;

	if (!u->task->is_dry && chdir(u->task->is_template ? IMAGE_ROOT : "upper") < 0)
		return FAIL_ERRNO(err, "enter the folder to unpack to");
	if (open_both(u, err) < 0 || take_manifest(u, err) < 0)
		return -1;
	for (;;) {
		if (next_entry(u, &entry, err) < 0)
			return -1;
		if (strcmp(archive_entry_pathname(entry), BACKUP_END) == 0)
			break;
		if (take_entry(u, entry, err) < 0)
			return -1;
	}
	return check_end(u, entry, err) < 0 ? -1 : finish_archive(u, err);
}

int backup_unpack(void *context)
{
	struct jailed_backup *task = context;
	struct unpack_run *u = memory_new(sizeof(*u));
	int status;

	u->task = task;
	(void)crypto_hash_sha256_init(&u->sha256);
	backup_digest_init(&u->digest);
	status = unpack_entries(u, &task->failure);
	(void)archive_read_free(u->in);
	(void)archive_write_free(u->out);
	arena_done(&u->arena);
	free(u);
	return status < 0 ? 1 : 0;
}

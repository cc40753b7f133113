/* SPDX-License-Identifier: Apache-2.0 */
#include <archive.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/map.h"
#include "image/backup_digest.h"
#include "image/backup_jail.h"
#include "image/jail.h"

#define COPY_SIZE (256 * 1024)
#define NAMES_MAX (64 * 1024)
#define VALUE_MAX (64 * 1024)
/* Bytes for the names of files with several links; beyond it each link is stored as a file. */
#define LINKS_MAX_BYTES (64 << 20)

struct known_links {
	struct map names; /* "DEVICE-INODE" -> the first name */
	size_t bytes;
};

static void links_done(struct known_links *links)
{
	map_free_values(&links->names);
}

/* The name under which the file is stored already; NULL for the first name and if there is no room
 * to remember. */
static const char *find_link(struct known_links *links, const struct layers_entry *e)
{
	char key[64];
	size_t size = strlen(e->path) + 1;
	const char *known;

	if (S_ISDIR(e->status.st_mode) || e->is_whiteout || e->status.st_nlink < 2)
		return NULL;
	(void)snprintf(key, sizeof(key), "%llu-%llu", (unsigned long long)e->status.st_dev,
	               (unsigned long long)e->status.st_ino);
	known = map_find(&links->names, key);
	if (known || links->bytes + size + sizeof(key) > LINKS_MAX_BYTES)
		return known;
	(void)map_put(&links->names, key, memory_text(e->path));
	links->bytes += size + sizeof(key);
	return NULL;
}

/* A layer on the template, or the template itself, which has no whiteouts and whose owners are as
 * seen inside. */
struct archive_part {
	const char *folder; /* in the archive */
	uint32_t owner_first;
	bool is_template;
};

/* Sockets have no meaning without their process; a sandbox cannot make devices. */
static bool is_left_out(const struct archive_part *part, const struct layers_entry *e)
{
	if (part->is_template)
		return backup_template_lacks(e);
	return S_ISSOCK(e->status.st_mode) || S_ISBLK(e->status.st_mode) ||
	       (S_ISCHR(e->status.st_mode) && !e->is_whiteout);
}

struct backup_writer {
	struct jailed_backup *task;
	struct archive *out;
	struct archive_entry *entry;
	crypto_hash_sha256_state sha256;
	struct backup_digest digest;
	struct known_links links;
	struct archive_part part;
	int64_t total; /* bytes of files, of all */
	int percent;
	char copy[COPY_SIZE], names[NAMES_MAX], value[VALUE_MAX];
};

static int fail_write(struct backup_writer *p, struct error *err)
{
	const char *why = archive_error_string(p->out);
	int code = archive_errno(p->out);

	return FAIL(err, code == ENOSPC || code == EDQUOT ? ERROR_NO_SPACE : ERROR_SYSTEM,
	            "write the backup: %s", why ? why : "unknown failure");
}

static la_ssize_t on_write(struct archive *a, void *context, const void *bytes, size_t size)
{
	struct backup_writer *p = context;
	struct error err = {0};

	if (fd_write_all(JAIL_SOURCE_FD, bytes, size, &err) < 0) {
		archive_set_error(a, err.sys_errno, "%s", err.text);
		return -1;
	}
	(void)crypto_hash_sha256_update(&p->sha256, bytes, size);
	p->task->outcome.size += (int64_t)size;
	return (la_ssize_t)size;
}

static int open_archive(struct backup_writer *p, struct error *err)
{
	p->out = archive_write_new();
	p->entry = archive_entry_new();
	if (!p->out || !p->entry)
		return FAIL(err, ERROR_SYSTEM, "out of memory");
	if (archive_write_set_format_pax(p->out) != ARCHIVE_OK ||
	    archive_write_set_options(p->out, "xattrheader=SCHILY") != ARCHIVE_OK ||
	    archive_write_add_filter_zstd(p->out) != ARCHIVE_OK ||
	    /* Otherwise libarchive pads the compressed stream with zeros, which decoders refuse. */
	    archive_write_set_bytes_in_last_block(p->out, 1) != ARCHIVE_OK ||
	    archive_write_open(p->out, p, NULL, on_write, NULL) != ARCHIVE_OK)
		return fail_write(p, err);
	return 0;
}

static int write_text(struct backup_writer *p, const char *name, struct span text,
                      struct error *err)
{
	archive_entry_clear(p->entry);
	archive_entry_set_pathname(p->entry, name);
	archive_entry_set_filetype(p->entry, AE_IFREG);
	archive_entry_set_perm(p->entry, 0644);
	archive_entry_set_size(p->entry, (int64_t)text.size);
	if (archive_write_header(p->out, p->entry) < ARCHIVE_WARN ||
	    archive_write_data(p->out, text.data, text.size) != (la_ssize_t)text.size)
		return fail_write(p, err);
	return 0;
}

static bool is_kept_attribute(const char *name)
{
	return strncmp(name, "user.", strlen("user.")) == 0 ||
	       strcmp(name, "security.capability") == 0;
}

/* Attributes of an open file. A filesystem without attributes has none. */
static int add_attributes(struct backup_writer *p, int fd, struct error *err)
{
	ssize_t size = flistxattr(fd, p->names, sizeof(p->names));

	if (size < 0)
		return errno == ENOTSUP ? 0 : FAIL_ERRNO(err, "list attributes");
	for (const char *name = p->names; name < p->names + size; name += strlen(name) + 1) {
		ssize_t got;

		if (!is_kept_attribute(name))
			continue;
		got = fgetxattr(fd, name, p->value, sizeof(p->value));
		if (got < 0)
			return FAIL_ERRNO(err, "read the attribute '%s'", name);
		archive_entry_xattr_add_entry(p->entry, name, p->value, (size_t)got);
	}
	return 0;
}

static int set_owner(struct backup_writer *p, const struct layers_entry *e, struct error *err)
{
	uint32_t first = p->part.owner_first;
	uint32_t uid = e->status.st_uid - first, gid = e->status.st_gid - first;

	/* Overlay's own whiteouts belong to the host's root, which no sandbox has. */
	if (e->is_whiteout)
		uid = gid = 0;
	if (uid > UINT16_MAX || gid > UINT16_MAX)
		return FAIL(err, ERROR_SYSTEM, "'%.100s' belongs to nobody inside", e->path);
	archive_entry_set_uid(p->entry, uid);
	archive_entry_set_gid(p->entry, gid);
	return 0;
}

static int describe_entry(struct backup_writer *p, const struct layers_entry *e, struct error *err)
{
	char path[PATH_SIZE_MAX + sizeof(BACKUP_TEMPLATE) + 1];
	const char *link;

	(void)snprintf(path, sizeof(path), "%s/%s", p->part.folder, e->path);
	archive_entry_clear(p->entry);
	archive_entry_copy_pathname(p->entry, path);
	archive_entry_set_filetype(p->entry, e->status.st_mode & S_IFMT);
	archive_entry_set_perm(p->entry, e->status.st_mode & 07777);
	archive_entry_set_mtime(p->entry, e->status.st_mtim.tv_sec, e->status.st_mtim.tv_nsec);
	if (set_owner(p, e, err) < 0)
		return -1;
	link = find_link(&p->links, e);
	if (link) {
		(void)snprintf(path, sizeof(path), "%s/%s", p->part.folder, link);
		archive_entry_copy_hardlink(p->entry, path);
		return 0;
	}
	if (S_ISREG(e->status.st_mode))
		archive_entry_set_size(p->entry, e->status.st_size);
	if (e->is_opaque)
		archive_entry_xattr_add_entry(p->entry, LAYERS_OPAQUE, "y", 1);
	return 0;
}

static int add_symlink(struct backup_writer *p, const struct layers_entry *e, struct error *err)
{
	char target[PATH_SIZE_MAX];
	ssize_t size = readlinkat(e->folder, e->name, target, sizeof(target) - 1);

	if (size < 0)
		return FAIL_ERRNO(err, "read the link '%.100s'", e->path);
	target[size] = '\0';
	archive_entry_copy_symlink(p->entry, target);
	return 0;
}

static int write_data(struct backup_writer *p, const struct layers_entry *e, int fd,
                      struct error *err)
{
	int64_t left = e->status.st_size;

	while (left > 0) {
		size_t wanted = left < COPY_SIZE ? (size_t)left : COPY_SIZE;
		ssize_t got = read(fd, p->copy, wanted);

		if (got <= 0)
			return FAIL_ERRNO(err, "read '%.100s'", e->path);
		backup_digest_data(&p->digest, (struct span){p->copy, (size_t)got});
		if (archive_write_data(p->out, p->copy, (size_t)got) != got)
			return fail_write(p, err);
		left -= got;
		p->task->outcome.bytes += got;
		backup_tell_percent(&p->percent, p->task->outcome.bytes, p->total);
	}
	return 0;
}

/* Folders and files are opened for their attributes; attributes of other types are not kept. */
static int open_entry(const struct layers_entry *e, int *ret_fd, struct error *err)
{
	if (!S_ISREG(e->status.st_mode) && !S_ISDIR(e->status.st_mode))
		return 0;
	*ret_fd = openat(e->folder, e->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open '%.100s'", e->path) : 0;
}

static int write_entry(void *context, const struct layers_entry *e, struct error *err)
{
	struct backup_writer *p = context;
	AUTO_CLOSE int fd = -1;

	if (is_left_out(&p->part, e))
		return 0;
	if (describe_entry(p, e, err) < 0 || open_entry(e, &fd, err) < 0 ||
	    (S_ISLNK(e->status.st_mode) && !archive_entry_hardlink(p->entry) &&
	     add_symlink(p, e, err) < 0) ||
	    (fd >= 0 && !archive_entry_hardlink(p->entry) && add_attributes(p, fd, err) < 0))
		return -1;
	p->task->outcome.entries++;
	backup_digest_entry(&p->digest, p->entry);
	if (archive_write_header(p->out, p->entry) < ARCHIVE_WARN)
		return fail_write(p, err);
	if (!S_ISREG(e->status.st_mode) || archive_entry_hardlink(p->entry))
		return 0;
	return write_data(p, e, fd, err);
}

struct pack_count {
	struct known_links links;
	struct archive_part part;
	struct backup_outcome *outcome;
	int64_t size_max;
};

static int count_entry(void *context, const struct layers_entry *e, struct error *err)
{
	struct pack_count *count = context;

	if (is_left_out(&count->part, e))
		return 0;
	count->outcome->entries++;
	if (!find_link(&count->links, e) && S_ISREG(e->status.st_mode))
		count->outcome->bytes += e->status.st_size;
	if (count->outcome->bytes > count->size_max)
		return FAIL(err, ERROR_TOO_LARGE, "larger than %lld MiB, with '%.100s'",
		            (long long)(count->size_max >> 20), e->path);
	return 0;
}

static int count_part(struct pack_count *count, const struct layers *layers, struct error *err)
{
	const struct layers_walk walk = {.on_entry = count_entry, .context = count};
	int status = layers_walk(layers, &walk, err);

	links_done(&count->links);
	return status;
}

int backup_count(const struct layers *layers, const struct layers *template, int64_t size_max,
                 struct backup_outcome *outcome, struct error *err)
{
	struct pack_count count = {
	        .outcome = outcome, .size_max = size_max, .part = {.is_template = true}};

	if (template && count_part(&count, template, err) < 0)
		return -1;
	count.part.is_template = false;
	return count_part(&count, layers, err);
}

static int write_part(struct backup_writer *p, const struct layers *layers,
                      const struct archive_part *part, struct error *err)
{
	const struct layers_walk walk = {.on_entry = write_entry, .context = p};

	links_done(&p->links);
	p->part = *part;
	return layers_walk(layers, &walk, err);
}

static int write_parts(struct backup_writer *p, struct error *err)
{
	const struct backup *b = p->task->backup;
	const struct archive_part template = {.folder = BACKUP_TEMPLATE, .is_template = true};
	const struct archive_part files = {.folder = BACKUP_FILES, .owner_first = b->owner_first};
	struct layers root = {.count = 0};

	if (b->full) {
		layers_init(&root, JAIL_READ_FD);
		if (write_part(p, &root, &template, err) < 0)
			return -1;
	}
	return write_part(p, p->task->layers, &files, err);
}

static int write_end(struct backup_writer *p, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(4096);
	char digest[BACKUP_DIGEST_SIZE];

	backup_digest_end(&p->digest, digest);
	backup_end_write(&text, digest);
	return write_text(p, BACKUP_END, buf_span(&text), err);
}

static int write_archive(struct backup_writer *p, struct error *err)
{
	struct backup_outcome *outcome = &p->task->outcome;
	struct span manifest = {outcome->manifest, outcome->manifest_size};
	unsigned char hash[crypto_hash_sha256_BYTES];
	int64_t entries = outcome->entries;

	p->total = outcome->bytes;
	outcome->entries = outcome->bytes = 0;
	/* Closes the descriptors that were opened outside the jail. */
	if (layers_open(p->task->layers, AT_FDCWD, p->task->backup->layers, err) < 0 ||
	    open_archive(p, err) < 0 || write_text(p, BACKUP_MANIFEST, manifest, err) < 0 ||
	    write_parts(p, err) < 0 || write_end(p, err) < 0)
		return -1;
	if (archive_write_close(p->out) < ARCHIVE_WARN)
		return fail_write(p, err);
	if (outcome->entries != entries || outcome->bytes != p->total)
		return FAIL(err, ERROR_CONFLICT, "the layers have changed meanwhile");
	(void)crypto_hash_sha256_final(&p->sha256, hash);
	(void)sodium_bin2hex(outcome->sha256, sizeof(outcome->sha256), hash, sizeof(hash));
	return 0;
}

/* The process ends after this call and frees its memory. */
int backup_pack(void *context)
{
	struct jailed_backup *task = context;
	struct backup_writer *p = memory_new(sizeof(*p));

	p->task = task;
	(void)crypto_hash_sha256_init(&p->sha256);
	backup_digest_init(&p->digest);
	return write_archive(p, &task->failure) < 0 ? 1 : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "image/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/path.h"
#include "image/ratio.h"

#define READ_SIZE (256 * 1024)
#define SIZE_EVERY (INT64_C(8) << 20) /* bytes between two progress messages about the size */
#define ENTRIES_MAX 2000000
#define DEPTH_MAX 256
#define CAPABILITY "security.capability"

static void reader_free(struct archive **a)
{
	if (*a)
		(void)archive_read_free(*a);
}

static void writer_free(struct archive **a)
{
	if (*a)
		(void)archive_write_free(*a);
}

int unpack_name_check(const char *name, const char **ret, struct error *err)
{
	struct span rest, part;
	unsigned depth = 0;
	bool more;

	while (name[0] == '.' && (name[1] == '/' || !name[1]))
		name += name[1] ? 2 : 1;
	if (name[0] == '/')
		return FAIL(err, ERROR_INVALID, "the archive holds the absolute name '%.100s'",
		            name);
	rest = span_of(name);
	if (rest.size >= PATH_SIZE_MAX)
		return FAIL(err, ERROR_INVALID, "the archive holds a name of %zu bytes", rest.size);
	bool in_dev = span_starts_with(rest, "dev/") && rest.size > strlen("dev/");
	do {
		more = span_split(&rest, '/', &part);
		if (span_equals_text(part, ".."))
			return FAIL(err, ERROR_INVALID,
			            "the archive holds '%.100s', which leads out of it", name);
		if (++depth > DEPTH_MAX || part.size > PATH_NAME_MAX)
			return FAIL(err, ERROR_INVALID, "the archive holds too long a name");
	} while (more);
	*ret = name[0] && !in_dev ? name : NULL;
	return 0;
}

static int fail_archive(struct archive *a, const char *what, struct error *err)
{
	const char *why = archive_error_string(a);
	int code = archive_errno(a);

	(void)FAIL(err, code == ENOSPC || code == EDQUOT ? ERROR_NO_SPACE : ERROR_INVALID, "%s: %s",
	           what, why ? why : "unknown failure");
	if (code == ENOSPC || code == EDQUOT)
		error_hint(err, "the disk of the data folder is full");
	return -1;
}

static int open_reader(int fd, struct archive **ret, struct error *err)
{
	AUTO(reader_free) struct archive *a = archive_read_new();

	if (!a)
		return FAIL(err, ERROR_SYSTEM, "out of memory");
	if (archive_read_support_filter_gzip(a) < ARCHIVE_WARN ||
	    archive_read_support_filter_xz(a) < ARCHIVE_WARN ||
	    archive_read_support_filter_zstd(a) < ARCHIVE_WARN ||
	    archive_read_support_format_tar(a) < ARCHIVE_WARN)
		return fail_archive(a, "prepare to read a tar", err);
	if (archive_read_open_fd(a, fd, READ_SIZE) != ARCHIVE_OK) {
		(void)fail_archive(a, "not a tar archive", err);
		return FAIL_HINT(err, "a tar, plain or compressed by gzip, xz or zstd");
	}
	*ret = TAKE(a);
	return 0;
}

static struct archive *open_writer(bool keep_owners)
{
	struct archive *a = archive_write_disk_new();
	int flags = ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME | ARCHIVE_EXTRACT_SECURE_SYMLINKS |
	            ARCHIVE_EXTRACT_SECURE_NODOTDOT | ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS;

	if (keep_owners)
		flags |= ARCHIVE_EXTRACT_OWNER | ARCHIVE_EXTRACT_XATTR;
	if (a)
		(void)archive_write_disk_set_options(a, flags);
	return a;
}

static void keep_capability_only(struct archive_entry *entry)
{
	char value[64];
	size_t size = 0;
	const char *name;
	const void *data;
	size_t data_size;

	(void)archive_entry_xattr_reset(entry);
	while (archive_entry_xattr_next(entry, &name, &data, &data_size) == ARCHIVE_OK)
		if (!strcmp(name, CAPABILITY) && data_size <= sizeof(value)) {
			size = data_size;
			memcpy(value, data, size);
		}
	archive_entry_xattr_clear(entry);
	archive_entry_acl_clear(entry);
	if (size > 0)
		archive_entry_xattr_add_entry(entry, CAPABILITY, value, size);
}

static int check_type(struct archive_entry *entry, const char *name, struct error *err)
{
	unsigned type = archive_entry_filetype(entry);

	if (archive_entry_hardlink(entry) || type == AE_IFREG || type == AE_IFDIR ||
	    type == AE_IFLNK)
		return 0;
	return FAIL(err, ERROR_INVALID, "the archive holds '%.100s', which is a device or a pipe",
	            name);
}

/* Prepares an entry for writing, or fails; sets *ret_skip if it is skipped. */
static int prepare_entry(struct archive_entry *entry, bool *ret_skip, struct error *err)
{
	const char *name = archive_entry_pathname(entry), *link = archive_entry_hardlink(entry);
	const char *checked = NULL, *checked_link = NULL;

	if (!name)
		return FAIL(err, ERROR_INVALID, "the archive holds a name that is no text");
	if (unpack_name_check(name, &checked, err) < 0)
		return -1;
	if (link && unpack_name_check(link, &checked_link, err) < 0)
		return -1;
	*ret_skip = !checked || (link && !checked_link);
	if (*ret_skip)
		return 0;
	if (check_type(entry, checked, err) < 0)
		return -1;
	archive_entry_copy_pathname(entry, checked);
	if (link)
		archive_entry_copy_hardlink(entry, checked_link);
	keep_capability_only(entry);
	return 0;
}

struct unpacking {
	const struct unpack *options;
	struct archive *reader, *writer;
	int64_t bytes, source_size; /* source_size 0 = not known */
	int64_t told;               /* of the bytes, last */
	unsigned entries;
	int percent;
};

/* Compares with the bytes read from the source so far, so that an archive is refused while it
 * expands. */
static int check_ratio(const struct unpacking *u, struct error *err)
{
	if (!ratio_is_exceeded(RATIO_LIMIT, archive_filter_bytes(u->reader, -1), u->bytes))
		return 0;
	(void)FAIL(err, ERROR_TOO_LARGE, "more than %d times as large when unpacked", RATIO_MAX);
	return FAIL_HINT(err,
	                 "an image of files that compress so well has to be imported uncompressed");
}

static void report_size(struct unpacking *u)
{
	if (!u->options->on_size || u->bytes - u->told < SIZE_EVERY)
		return;
	u->told = u->bytes;
	u->options->on_size(u->options->context, u->bytes);
}

static int copy_data(struct unpacking *u, struct error *err)
{
	const void *data;
	size_t size;
	int64_t offset;

	for (;;) {
		int got = archive_read_data_block(u->reader, &data, &size, &offset);
		if (got == ARCHIVE_EOF)
			return 0;
		if (got < ARCHIVE_WARN)
			return fail_archive(u->reader, "read the archive", err);
		u->bytes += (int64_t)size;
		if (u->bytes > u->options->size_max)
			return FAIL(err, ratio_size_code(u->options->size_max),
			            "larger than %lld MiB when unpacked",
			            (long long)(u->options->size_max >> 20));
		report_size(u);
		if (check_ratio(u, err) < 0)
			return -1;
		if (archive_write_data_block(u->writer, data, size, offset) < ARCHIVE_WARN)
			return fail_archive(u->writer, "unpack", err);
	}
}

static void report_percent(struct unpacking *u)
{
	if (!u->source_size || !u->options->on_progress)
		return;
	int percent = (int)(archive_filter_bytes(u->reader, -1) * 100 / u->source_size);
	if (percent > u->percent && percent <= 100) {
		u->percent = percent;
		u->options->on_progress(u->options->context, percent);
	}
}

static int unpack_entry(struct unpacking *u, struct archive_entry *entry, struct error *err)
{
	bool skip;

	if (++u->entries > ENTRIES_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "more than %d entries in the archive",
		            ENTRIES_MAX);
	if (prepare_entry(entry, &skip, err) < 0)
		return -1;
	if (skip)
		return 0;
	if (archive_write_header(u->writer, entry) < ARCHIVE_OK) {
		(void)fail_archive(u->writer, "unpack", err);
		return FAIL_CONTEXT(err, "'%.80s'", archive_entry_pathname(entry));
	}
	if (archive_entry_hardlink(entry) || archive_entry_filetype(entry) != AE_IFREG)
		return 0;
	return copy_data(u, err);
}

static int unpack_entries(struct unpacking *u, struct error *err)
{
	struct archive_entry *entry;

	for (;;) {
		int got = archive_read_next_header(u->reader, &entry);
		if (got == ARCHIVE_EOF)
			break;
		if (got < ARCHIVE_WARN)
			return fail_archive(u->reader, "not a whole tar archive", err);
		if (unpack_entry(u, entry, err) < 0)
			return -1;
		report_percent(u);
	}
	if (u->entries == 0)
		return FAIL(err, ERROR_INVALID, "the archive is empty");
	/* Times and modes of folders are set last. */
	if (archive_write_close(u->writer) < ARCHIVE_WARN)
		return fail_archive(u->writer, "unpack", err);
	return 0;
}

int unpack_archive(const struct unpack *options, struct error *err)
{
	AUTO(reader_free) struct archive *reader = NULL;
	AUTO(writer_free) struct archive *writer = open_writer(options->keep_owners);
	struct unpacking u = {.options = options};
	struct stat st;

	if (!writer)
		return FAIL(err, ERROR_SYSTEM, "out of memory");
	if (chdir(options->target) < 0)
		return FAIL_ERRNO(err, "enter '%s'", options->target);
	if (fstat(options->source_fd, &st) == 0 && S_ISREG(st.st_mode))
		u.source_size = st.st_size;
	if (open_reader(options->source_fd, &reader, err) < 0)
		return -1;
	u.reader = reader;
	u.writer = writer;
	return unpack_entries(&u, err);
}

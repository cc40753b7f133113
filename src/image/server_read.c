/* SPDX-License-Identifier: Apache-2.0 */
#include "image/server_archive.h"

#include <archive.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "image/server_sums.h"

#define READ_SIZE ((size_t)256 * 1024)
#define END_MAX ((size_t)64 * 1024)
#define ATTRIBUTE_MAX ((size_t)64 * 1024)

/* Open folders from data/ down to that of the last entry. */
struct level {
	int fd;
	char name[PATH_NAME_MAX + 1];
	bool is_new; /* its times are set when it is left */
	struct timespec modified;
};
struct server_unpacking {
	const struct server_reader *reader;
	struct archive *in;
	struct archive_entry *entry;
	struct server_sums sums;
	struct level levels[SERVER_DEPTH_MAX + 16];
	unsigned depth;
	char bytes[READ_SIZE];
};

static la_ssize_t on_read(struct archive *a, void *context, const void **ret)
{
	struct server_unpacking *u = context;
	ssize_t got;

	do
		got = read(u->reader->fd, u->bytes, sizeof(u->bytes));
	while (got < 0 && errno == EINTR);
	if (got < 0) {
		archive_set_error(a, errno, "read the archive");
		return -1;
	}
	*ret = u->bytes;
	return got;
}

static int fail_read(struct server_unpacking *u, struct error *err)
{
	const char *why = archive_error_string(u->in);

	(void)FAIL(err, ERROR_INVALID, "not a whole backup: %s", why ? why : "unknown failure");
	return FAIL_HINT(err, "the file was cut off or altered, or is no backup of a server");
}

static int next_entry(struct server_unpacking *u, struct error *err)
{
	int got = archive_read_next_header(u->in, &u->entry);

	if (got == ARCHIVE_EOF) {
		(void)FAIL(err, ERROR_INVALID, "not a whole backup: '" SERVER_END "' is missing");
		return FAIL_HINT(err, "the file was cut off");
	}
	if (got < ARCHIVE_WARN)
		return fail_read(u, err);
	if (!archive_entry_pathname(u->entry))
		return FAIL(err, ERROR_INVALID, "the backup has a file without a name");
	return 0;
}

static bool is_text(struct server_unpacking *u, const char *name)
{
	return strcmp(archive_entry_pathname(u->entry), name) == 0 &&
	       archive_entry_filetype(u->entry) == AE_IFREG && !archive_entry_hardlink(u->entry);
}

static int read_text(struct server_unpacking *u, struct buf *out, struct error *err)
{
	char bytes[4096];
	la_ssize_t got;

	while ((got = archive_read_data(u->in, bytes, sizeof(bytes))) > 0 && !out->overflowed)
		buf_add(out, bytes, (size_t)got);
	if (got < 0)
		return fail_read(u, err);
	return out->overflowed ? FAIL(err, ERROR_INVALID, "'%s' is too large",
	                              archive_entry_pathname(u->entry))
	                       : 0;
}

static int read_manifest(struct server_unpacking *u, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(SERVER_MANIFEST_MAX);

	if (archive_read_support_filter_zstd(u->in) < ARCHIVE_WARN ||
	    archive_read_support_format_tar(u->in) < ARCHIVE_WARN ||
	    archive_read_open(u->in, u, NULL, on_read, NULL) != ARCHIVE_OK)
		return fail_read(u, err);
	if (next_entry(u, err) < 0)
		return -1;
	if (!is_text(u, SERVER_MANIFEST))
		return FAIL(err, ERROR_INVALID,
		            "not a backup of a server: it does not begin with '" SERVER_MANIFEST
		            "'");
	if (read_text(u, &text, err) < 0)
		return -1;
	return u->reader->on_manifest(u->reader->context, buf_span(&text), err);
}

static int fail_name(const char *path, struct error *err)
{
	return FAIL(err, ERROR_INVALID, "the backup has a file '%.120s', which leads out of it",
	            path);
}

static void leave_level(struct server_unpacking *u)
{
	struct level *l = &u->levels[--u->depth];
	const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, l->modified};

	if (l->is_new)
		(void)futimens(l->fd, times);
	if (l->fd != u->reader->folder)
		fd_forget(&l->fd);
}

static int enter_level(struct server_unpacking *u, struct span name, struct error *err)
{
	struct level *l = &u->levels[u->depth];

	if (u->depth == COUNT_OF(u->levels))
		return FAIL(err, ERROR_INVALID, "the backup has more than %zu folders in one other",
		            COUNT_OF(u->levels));
	*l = (struct level){.fd = -1};
	memcpy(l->name, name.data, name.size);
	l->fd = openat(u->levels[u->depth - 1].fd, l->name,
	               O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (l->fd < 0)
		return FAIL(err, ERROR_INVALID,
		            "the backup has a file below '%.120s', which is no "
		            "folder of it",
		            l->name);
	u->depth++;
	return 0;
}

/* The next name of a path that begins with data/; false at the end of the path. */
static bool next_name(struct span *rest, struct span *ret)
{
	return rest->size > 0 && (span_split(rest, '/', ret), true);
}

static int check_path(const char *path, struct error *err)
{
	struct span rest = span_of(path), name;

	if (!next_name(&rest, &name) || !span_equals_text(name, SERVER_ROOT))
		return fail_name(path, err);
	/* A folder's name ends with "/". */
	while (next_name(&rest, &name)) {
		if (!path_name_is_valid(name))
			return fail_name(path, err);
	}
	return 0;
}

/* Opens the folder above `path`, and gives its last name. */
static int enter_parents(struct server_unpacking *u, const char *path,
                         char ret_name[PATH_NAME_MAX + 1], struct error *err)
{
	struct span rest = span_of(path), name, following;
	unsigned at = 1;

	(void)next_name(&rest, &name);
	if (!next_name(&rest, &name))
		name = SPAN(".");
	while (next_name(&rest, &following)) {
		if (at == u->depth || !span_equals_text(name, u->levels[at].name)) {
			while (u->depth > at)
				leave_level(u);
			if (enter_level(u, name, err) < 0)
				return -1;
		}
		at++;
		name = following;
	}
	while (u->depth > at)
		leave_level(u);
	memcpy(ret_name, name.data, name.size);
	ret_name[name.size] = '\0';
	return 0;
}

struct target {
	int folder;
	const char *name;
};

static int fail_entry(struct server_unpacking *u, struct error *err)
{
	return FAIL_ERRNO(err, "unpack '%.120s'", archive_entry_pathname(u->entry));
}

/* Of links and devices, too. */
static int set_attributes(struct server_unpacking *u, const struct target *t, struct error *err)
{
	char path[PATH_NAME_MAX + 64];
	const char *name;
	const void *value;
	size_t size;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", t->folder, t->name);
	(void)archive_entry_xattr_reset(u->entry);
	while (archive_entry_xattr_next(u->entry, &name, &value, &size) == ARCHIVE_OK) {
		if (size > ATTRIBUTE_MAX || lsetxattr(path, name, value, size, 0) < 0)
			return fail_entry(u, err);
	}
	return 0;
}

static int set_owner(struct server_unpacking *u, const struct target *t, struct error *err)
{
	const struct server_reader *r = u->reader;
	uid_t uid = (uid_t)archive_entry_uid(u->entry);
	gid_t gid = (gid_t)archive_entry_gid(u->entry);

	uid = uid == r->from_uid ? r->to_uid : uid;
	gid = gid == r->from_gid ? r->to_gid : gid;
	return fchownat(t->folder, t->name, uid, gid, AT_SYMLINK_NOFOLLOW) < 0 ? fail_entry(u, err)
	                                                                       : 0;
}

static struct timespec entry_time(const struct server_unpacking *u)
{
	return (struct timespec){archive_entry_mtime(u->entry), archive_entry_mtime_nsec(u->entry)};
}

/* In this order: a new owner takes set-uid bits and capabilities away. */
static int set_status(struct server_unpacking *u, const struct target *t, struct error *err)
{
	const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, entry_time(u)};
	bool is_link = archive_entry_filetype(u->entry) == AE_IFLNK;

	if (set_owner(u, t, err) < 0)
		return -1;
	if (!is_link && fchmodat(t->folder, t->name, archive_entry_perm(u->entry) & 07777, 0) < 0)
		return fail_entry(u, err);
	if (set_attributes(u, t, err) < 0)
		return -1;
	return utimensat(t->folder, t->name, times, AT_SYMLINK_NOFOLLOW) < 0 ? fail_entry(u, err)
	                                                                     : 0;
}

static int unpack_folder(struct server_unpacking *u, const struct target *t, struct error *err)
{
	struct level *l;

	if (strcmp(t->name, ".") == 0)
		return set_status(u, t, err);
	if (mkdirat(t->folder, t->name, 0700) < 0)
		return fail_entry(u, err);
	if (set_status(u, t, err) < 0 || enter_level(u, span_of(t->name), err) < 0)
		return -1;
	l = &u->levels[u->depth - 1];
	l->is_new = true;
	l->modified = entry_time(u);
	return 0;
}

/* fd -1: the data are only looked at. */
static int read_data(struct server_unpacking *u, int fd, struct error *err)
{
	int64_t end = archive_entry_size(u->entry);
	const void *bytes;
	la_int64_t offset;
	size_t size;
	int got;

	while ((got = archive_read_data_block(u->in, &bytes, &size, &offset)) == ARCHIVE_OK) {
		if (offset < 0 || offset > end || (int64_t)size > end - offset)
			return FAIL(err, ERROR_INVALID, "'%.120s' is longer than it says",
			            archive_entry_pathname(u->entry));
		server_sums_data(&u->sums, offset, (struct span){bytes, size});
		if (fd >= 0 && size > 0 && pwrite(fd, bytes, size, offset) != (ssize_t)size)
			return fail_entry(u, err);
		if (u->reader->on_progress)
			u->reader->on_progress(u->reader->context, &u->sums.contents);
	}
	if (got != ARCHIVE_EOF)
		return fail_read(u, err);
	return fd >= 0 && ftruncate(fd, end) < 0 ? fail_entry(u, err) : 0;
}

static int unpack_file(struct server_unpacking *u, const struct target *t, struct error *err)
{
	AUTO_CLOSE int fd = openat(t->folder, t->name,
	                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return fail_entry(u, err);
	if (read_data(u, fd, err) < 0)
		return -1;
	return set_status(u, t, err);
}

/* Opens the folder above a file that was unpacked before. The levels stay as they are: the times of
 * a folder are set when it is left. */
static int open_above(struct server_unpacking *u, const char *path, int *ret_fd,
                      char ret_name[PATH_NAME_MAX + 1], struct error *err)
{
	AUTO_CLOSE int at = openat(u->reader->folder, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct span rest = span_of(path), name, following;

	(void)next_name(&rest, &name);
	if (!next_name(&rest, &name))
		return fail_name(path, err);
	while (at >= 0 && next_name(&rest, &following)) {
		int below;

		memcpy(ret_name, name.data, name.size);
		ret_name[name.size] = '\0';
		below = openat(at, ret_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		auto_close(&at);
		at = below;
		name = following;
	}
	if (at < 0)
		return FAIL(err, ERROR_INVALID,
		            "the backup has a link to '%.120s', which lies in no "
		            "folder of it",
		            path);
	memcpy(ret_name, name.data, name.size);
	ret_name[name.size] = '\0';
	*ret_fd = TAKE_FD(at);
	return 0;
}

static int unpack_link(struct server_unpacking *u, const char *path, struct error *err)
{
	char name[PATH_NAME_MAX + 1], from_name[PATH_NAME_MAX + 1];
	AUTO_CLOSE int from = -1;

	if (open_above(u, archive_entry_hardlink(u->entry), &from, from_name, err) < 0 ||
	    enter_parents(u, path, name, err) < 0)
		return -1;
	return linkat(from, from_name, u->levels[u->depth - 1].fd, name, 0) < 0 ? fail_entry(u, err)
	                                                                        : 0;
}

static int make_node(struct server_unpacking *u, const struct target *t, struct error *err)
{
	const char *link = archive_entry_symlink(u->entry);
	int result = -1;

	if (archive_entry_filetype(u->entry) == AE_IFLNK)
		result = symlinkat(link ? link : "", t->folder, t->name);
	else
		result = mknodat(t->folder, t->name, archive_entry_filetype(u->entry) | 0600, 0);
	return result < 0 ? fail_entry(u, err) : set_status(u, t, err);
}

static int unpack_entry(struct server_unpacking *u, struct error *err)
{
	const char *path = archive_entry_pathname(u->entry);
	mode_t kind = archive_entry_filetype(u->entry);
	char name[PATH_NAME_MAX + 1];
	struct target target;

	if (archive_entry_hardlink(u->entry))
		return unpack_link(u, path, err);
	if (enter_parents(u, path, name, err) < 0)
		return -1;
	target = (struct target){u->levels[u->depth - 1].fd, name};
	if (kind == AE_IFDIR)
		return unpack_folder(u, &target, err);
	if (strcmp(name, ".") == 0)
		return fail_name(path, err);
	return kind == AE_IFREG ? unpack_file(u, &target, err) : make_node(u, &target, err);
}

/* Whiteouts are the only devices of an archive. */
static bool is_allowed(struct archive_entry *entry)
{
	mode_t kind = archive_entry_filetype(entry);

	return archive_entry_hardlink(entry) || kind == AE_IFREG || kind == AE_IFDIR ||
	       kind == AE_IFLNK || kind == AE_IFIFO ||
	       (kind == AE_IFCHR && archive_entry_rdevmajor(entry) == 0 &&
	        archive_entry_rdevminor(entry) == 0);
}

static int read_entry(struct server_unpacking *u, struct error *err)
{
	const char *path = archive_entry_pathname(u->entry);

	if (check_path(path, err) < 0 || (archive_entry_hardlink(u->entry) &&
	                                  check_path(archive_entry_hardlink(u->entry), err) < 0))
		return -1;
	if (!is_allowed(u->entry))
		return FAIL(err, ERROR_INVALID, "the backup has a device '%.120s'", path);
	if (server_sums_entry(&u->sums, u->entry, err) < 0)
		return -1;
	if (u->reader->folder >= 0)
		return unpack_entry(u, err);
	return archive_entry_filetype(u->entry) == AE_IFREG && !archive_entry_hardlink(u->entry)
	               ? read_data(u, -1, err)
	               : 0;
}

static int read_entries(struct server_unpacking *u, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(END_MAX);

	for (;;) {
		if (next_entry(u, err) < 0)
			return -1;
		if (is_text(u, SERVER_END))
			break;
		if (read_entry(u, err) < 0)
			return -1;
	}
	if (read_text(u, &text, err) < 0)
		return -1;
	if (archive_read_next_header(u->in, &u->entry) != ARCHIVE_EOF)
		return FAIL(err, ERROR_INVALID, "the backup goes on after its end");
	server_sums_end(&u->sums);
	return server_sums_compare(&u->sums, buf_span(&text), err);
}

int server_archive_read(const struct server_reader *reader, struct server_contents *ret,
                        struct error *err)
{
	struct server_unpacking *u = memory_new(sizeof(*u));
	int result = -1;

	u->reader = reader;
	u->depth = 1;
	u->levels[0].fd = reader->folder;
	u->in = archive_read_new();
	if (!u->in)
		(void)FAIL(err, ERROR_SYSTEM, "out of memory");
	else if (read_manifest(u, err) == 0)
		result = read_entries(u, err);
	while (u->depth > 0)
		leave_level(u);
	if (result == 0)
		*ret = u->sums.contents;
	(void)archive_read_free(u->in);
	free(u);
	return result;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "image/server_archive.h"

#include <archive.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/map.h"
#include "base/path.h"
#include "image/server_sums.h"

#define COPY_SIZE ((size_t)256 * 1024)
#define VALUE_MAX ((size_t)64 * 1024)
#define PATH_MAX_BYTES ((size_t)128 * 1024)
#define LINKS_MAX_BYTES ((size_t)256 << 20) /* beyond it each link is stored as a file */
#define HOLE_MIN ((int64_t)64 * 1024)       /* a smaller hole is data */
#define SEGMENTS_MAX 100000
#define PROGRESS_BYTES ((int64_t)4 << 20)
#define PROGRESS_ENTRIES 1000

struct segment {
	int64_t begin, end;
};
struct server_writer {
	struct server_writer_options options;
	struct archive *out;
	struct archive_entry *entry;
	struct server_sums sums;
	struct server_tree *tree; /* that is being added */
	struct buf path;
	struct map links; /* "DEVICE-INODE" -> the first name */
	size_t links_bytes;
	struct segment *segments;
	size_t segment_count, segment_capacity;
	bool is_skipped; /* the last file was left out */
	int64_t told_bytes, told_entries;
	char copy[COPY_SIZE], names[VALUE_MAX], value[VALUE_MAX];
};
static const char zeros[COPY_SIZE];

static int fail_write(struct server_writer *w, struct error *err)
{
	const char *why = archive_error_string(w->out);
	int code = archive_errno(w->out);

	return FAIL(err, code == ENOSPC || code == EDQUOT ? ERROR_NO_SPACE : ERROR_SYSTEM,
	            "write the backup: %s", why ? why : "unknown failure");
}

static la_ssize_t on_write(struct archive *a, void *context, const void *bytes, size_t size)
{
	struct server_writer *w = context;
	struct error err = {0};

	if (fd_write_all(w->options.fd, bytes, size, &err) < 0) {
		archive_set_error(a, err.sys_errno, "%s", err.text);
		return -1;
	}
	return (la_ssize_t)size;
}

static int open_archive(struct server_writer *w, struct error *err)
{
	w->out = archive_write_new();
	w->entry = archive_entry_new();
	if (!w->out || !w->entry)
		return FAIL(err, ERROR_SYSTEM, "out of memory");
	if (archive_write_set_format_pax(w->out) != ARCHIVE_OK ||
	    archive_write_set_options(w->out, "xattrheader=SCHILY") != ARCHIVE_OK ||
	    archive_write_add_filter_zstd(w->out) != ARCHIVE_OK ||
	    /* Otherwise libarchive pads the compressed stream with zeros, which decoders refuse. */
	    archive_write_set_bytes_in_last_block(w->out, 1) != ARCHIVE_OK ||
	    archive_write_open(w->out, w, NULL, on_write, NULL) != ARCHIVE_OK)
		return fail_write(w, err);
	return 0;
}

static int write_text(struct server_writer *w, const char *name, struct span text,
                      struct error *err)
{
	archive_entry_clear(w->entry);
	archive_entry_set_pathname(w->entry, name);
	archive_entry_set_filetype(w->entry, AE_IFREG);
	archive_entry_set_perm(w->entry, 0600);
	archive_entry_set_size(w->entry, (int64_t)text.size);
	if (archive_write_header(w->out, w->entry) < ARCHIVE_WARN ||
	    archive_write_data(w->out, text.data, text.size) != (la_ssize_t)text.size)
		return fail_write(w, err);
	return 0;
}

int server_writer_open(const struct server_writer_options *options, struct span manifest,
                       struct server_writer **ret, struct error *err)
{
	struct server_writer *w = memory_new(sizeof(*w));

	w->options = *options;
	w->path = BUF(PATH_MAX_BYTES);
	if (manifest.size > SERVER_MANIFEST_MAX || open_archive(w, err) < 0 ||
	    write_text(w, SERVER_MANIFEST, manifest, err) < 0) {
		server_writer_free(w);
		return -1;
	}
	*ret = w;
	return 0;
}

void server_writer_free(struct server_writer *w)
{
	if (!w)
		return;
	map_free_values(&w->links);
	archive_entry_free(w->entry);
	(void)archive_write_free(w->out);
	buf_done(&w->path);
	free(w->segments);
	free(w);
}

static void leave_entry_out(struct server_writer *w, const char *why)
{
	w->options.on_left_out(w->options.context, buf_text(&w->path), why);
}

static void skip_file(struct server_writer *w, const char *why)
{
	leave_entry_out(w, why);
	w->is_skipped = true;
}

static int tell_progress(struct server_writer *w, struct error *err)
{
	const struct server_contents *c = &w->sums.contents;

	if (c->bytes - w->told_bytes < PROGRESS_BYTES &&
	    c->entries - w->told_entries < PROGRESS_ENTRIES)
		return 0;
	w->told_bytes = c->bytes;
	w->told_entries = c->entries;
	return w->options.on_progress(w->options.context, c, err);
}

struct link_key {
	char text[64];
};

static struct link_key key_of(const struct stat *status)
{
	struct link_key key;

	(void)snprintf(key.text, sizeof(key.text), "%llu-%llu", (unsigned long long)status->st_dev,
	               (unsigned long long)status->st_ino);
	return key;
}

static bool has_links(const struct stat *status)
{
	return !S_ISDIR(status->st_mode) && status->st_nlink > 1;
}

/* Remembers the first name of a file with several, while there is room. */
static void note_link(struct server_writer *w, const struct stat *status)
{
	size_t size = w->path.size + sizeof(struct link_key);

	if (!has_links(status) || w->links_bytes + size > LINKS_MAX_BYTES)
		return;
	free(map_put(&w->links, key_of(status).text, memory_text(buf_text(&w->path))));
	w->links_bytes += size;
}

struct place {
	int folder;
	const char *name;
};

static bool is_kept_attribute(const char *name)
{
	static const char *const kept[] = {"user.", "trusted.", "system.posix_acl_",
	                                   "security.capability"};

	for (size_t i = 0; i < COUNT_OF(kept); i++) {
		if (strncmp(name, kept[i], strlen(kept[i])) == 0)
			return true;
	}
	return false;
}

/* Others would not come back as they were: a tar's header ends a name at "=", and libarchive
 * changes what is not plain. Then the digests would differ, and one file would spoil the backup. */
static bool is_plain_name(const char *name)
{
	for (; *name; name++) {
		if (*name <= ' ' || *name > '~' || *name == '=' || *name == '%')
			return false;
	}
	return true;
}

static void add_attribute(struct server_writer *w, const char *path, const char *name)
{
	ssize_t got;

	if (archive_entry_xattr_count(w->entry) == SERVER_ATTRIBUTES_MAX) {
		leave_entry_out(w, "further attributes");
		return;
	}
	got = lgetxattr(path, name, w->value, sizeof(w->value));
	if (got >= 0)
		archive_entry_xattr_add_entry(w->entry, name, w->value, (size_t)got);
}

/* By a path of the kernel's that leads to the open folder, since only such calls read attributes of
 * links and devices. */
static void add_attributes(struct server_writer *w, const struct place *at)
{
	char path[PATH_NAME_MAX + 64];
	ssize_t size;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", at->folder, at->name);
	size = llistxattr(path, w->names, sizeof(w->names));
	for (const char *name = w->names; size > 0 && name < w->names + size;
	     name += strlen(name) + 1) {
		if (is_kept_attribute(name) && !is_plain_name(name))
			leave_entry_out(w, "an attribute with such a name");
		else if (is_kept_attribute(name))
			add_attribute(w, path, name);
	}
}

static void describe_entry(struct server_writer *w, const struct stat *status)
{
	archive_entry_clear(w->entry);
	archive_entry_copy_pathname(w->entry, buf_text(&w->path));
	archive_entry_set_filetype(w->entry, status->st_mode & S_IFMT);
	archive_entry_set_perm(w->entry, status->st_mode & 07777);
	archive_entry_set_uid(w->entry, status->st_uid);
	archive_entry_set_gid(w->entry, status->st_gid);
	archive_entry_set_mtime(w->entry, status->st_mtim.tv_sec, status->st_mtim.tv_nsec);
	if (S_ISREG(status->st_mode))
		archive_entry_set_size(w->entry, status->st_size);
}

static int write_header(struct server_writer *w, struct error *err)
{
	if (server_sums_entry(&w->sums, w->entry, err) < 0)
		return -1;
	if (archive_write_header(w->out, w->entry) < ARCHIVE_WARN)
		return fail_write(w, err);
	return tell_progress(w, err);
}

/* Finds the parts of the file that are no holes. Returns false when there are too many. */
static bool find_segments(struct server_writer *w, int fd, int64_t size)
{
	int64_t at = 0, end;

	w->segment_count = 0;
	while (at < size && (at = lseek(fd, at, SEEK_DATA)) >= 0 && at < size) {
		struct segment *last =
		        w->segment_count > 0 ? &w->segments[w->segment_count - 1] : NULL;

		end = lseek(fd, at, SEEK_HOLE);
		if (end < 0 || end > size)
			end = size;
		if (w->segment_count == 0 && at < HOLE_MIN)
			at = 0;
		if (last && at - last->end < HOLE_MIN) {
			last->end = end;
		} else {
			if (w->segment_count == SEGMENTS_MAX)
				return false;
			w->segments = memory_grow(w->segments, w->segment_count,
			                          &w->segment_capacity, sizeof(*w->segments));
			w->segments[w->segment_count++] = (struct segment){at, end};
		}
		at = end;
	}
	return true;
}

static void describe_segments(struct server_writer *w, int64_t size)
{
	const struct segment *s = w->segments;

	if (size == 0 || (w->segment_count == 1 && s->begin == 0 && s->end == size))
		return;
	if (w->segment_count == 0)
		archive_entry_sparse_add_entry(w->entry, size, 0);
	for (size_t i = 0; i < w->segment_count; i++)
		archive_entry_sparse_add_entry(w->entry, s[i].begin, s[i].end - s[i].begin);
}

/* The archive skips what its map calls a hole. */
static int write_hole(struct server_writer *w, int64_t size, struct error *err)
{
	while (size > 0) {
		size_t wanted = size < (int64_t)sizeof(zeros) ? (size_t)size : sizeof(zeros);

		if (archive_write_data(w->out, zeros, wanted) < 0)
			return fail_write(w, err);
		size -= (int64_t)wanted;
	}
	return 0;
}

/* A file that became shorter meanwhile is filled up with zeros: its header has been written. */
static int write_segment(struct server_writer *w, int fd, const struct segment *s,
                         struct error *err)
{
	for (int64_t at = s->begin; at < s->end;) {
		size_t wanted =
		        s->end - at < (int64_t)COPY_SIZE ? (size_t)(s->end - at) : COPY_SIZE;
		ssize_t got = pread(fd, w->copy, wanted, at);

		if (got < 0)
			return FAIL_ERRNO(err, "read '%.120s'", buf_text(&w->path));
		if (got == 0) {
			memset(w->copy, 0, wanted);
			got = (ssize_t)wanted;
		}
		server_sums_data(&w->sums, at, (struct span){w->copy, (size_t)got});
		if (archive_write_data(w->out, w->copy, (size_t)got) != got)
			return fail_write(w, err);
		if (tell_progress(w, err) < 0)
			return -1;
		at += got;
	}
	return 0;
}

static int write_data(struct server_writer *w, int fd, int64_t size, struct error *err)
{
	int64_t at = 0;

	for (size_t i = 0; i < w->segment_count; i++) {
		const struct segment *s = &w->segments[i];

		if (write_hole(w, s->begin - at, err) < 0 || write_segment(w, fd, s, err) < 0)
			return -1;
		at = s->end;
	}
	return write_hole(w, size - at, err);
}

static int write_file(struct server_writer *w, const struct place *at, struct error *err)
{
	AUTO_CLOSE int fd = openat(at->folder, at->name,
	                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOATIME | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
		skip_file(w, "it changed while it was read");
		return 0;
	}
	if (status.st_size > SERVER_FILE_MAX || !find_segments(w, fd, status.st_size)) {
		skip_file(w, "too large, or too many holes");
		return 0;
	}
	describe_entry(w, &status);
	add_attributes(w, at);
	describe_segments(w, status.st_size);
	if (write_header(w, err) < 0)
		return -1;
	return write_data(w, fd, status.st_size, err);
}

static int write_other(struct server_writer *w, const struct place *at, const struct stat *status,
                       struct error *err)
{
	describe_entry(w, status);
	if (S_ISLNK(status->st_mode)) {
		ssize_t size = readlinkat(at->folder, at->name, w->copy, PATH_SIZE_MAX);

		if (size < 0) {
			w->is_skipped = true;
			return 0;
		}
		w->copy[size] = '\0';
		archive_entry_copy_symlink(w->entry, w->copy);
	}
	add_attributes(w, at);
	return write_header(w, err);
}

static bool is_archived(const struct stat *status)
{
	return S_ISREG(status->st_mode) || S_ISDIR(status->st_mode) || S_ISLNK(status->st_mode) ||
	       S_ISFIFO(status->st_mode) || (S_ISCHR(status->st_mode) && status->st_rdev == 0);
}

/* An entry without what lies below it. */
static OWN_FRAME int write_entry(struct server_writer *w, const struct place *at,
                                 const struct stat *status, struct error *err)
{
	const char *known = has_links(status) ? map_find(&w->links, key_of(status).text) : NULL;
	int result;

	if (known) {
		describe_entry(w, status);
		archive_entry_set_size(w->entry, 0);
		archive_entry_copy_hardlink(w->entry, known);
		return write_header(w, err);
	}
	w->is_skipped = false;
	result =
	        S_ISREG(status->st_mode) ? write_file(w, at, err) : write_other(w, at, status, err);
	if (result == 0 && !w->is_skipped)
		note_link(w, status);
	return result;
}

static int add_place(struct server_writer *w, const struct place *at, unsigned depth,
                     struct error *err);

static int add_contents(struct server_writer *w, int folder, unsigned depth, struct error *err)
{
	AUTO(folder_list_done) DIR *list = folder_list(folder);
	size_t size = w->path.size;
	struct dirent *entry;
	int result = 0;

	if (!list)
		return FAIL_ERRNO(err, "list '%.120s'", buf_text(&w->path));
	while (result == 0 && (entry = readdir(list))) {
		const struct place at = {folder, entry->d_name};

		if (strcmp(at.name, ".") == 0 || strcmp(at.name, "..") == 0)
			continue;
		buf_addf(&w->path, "/%s", at.name);
		result = add_place(w, &at, depth + 1, err);
		w->path.size = size;
		w->path.data[size] = '\0';
	}
	return result;
}

static bool is_unwanted(const struct server_writer *w)
{
	size_t top = strlen(w->tree->path);

	return w->tree->is_left_out && w->path.size > top &&
	       w->tree->is_left_out(w->path.data + top + 1);
}

static int add_place(struct server_writer *w, const struct place *at, unsigned depth,
                     struct error *err)
{
	AUTO_CLOSE int folder = -1;
	struct stat status;

	if (is_unwanted(w))
		return 0;
	if (fstatat(at->folder, at->name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
		w->tree->is_gone = true;
		return 0;
	}
	if (!is_archived(&status))
		return 0;
	if (depth > SERVER_DEPTH_MAX) {
		leave_entry_out(w, "too many folders above it");
		return 0;
	}
	if (write_entry(w, at, &status, err) < 0)
		return -1;
	if (!S_ISDIR(status.st_mode) || w->tree->without_contents)
		return 0;
	folder = openat(at->folder, at->name,
	                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC);
	if (folder < 0) {
		w->tree->is_gone = true;
		return 0;
	}
	return add_contents(w, folder, depth, err);
}

int server_writer_add(struct server_writer *w, struct server_tree *tree, struct error *err)
{
	w->tree = tree;
	tree->is_gone = false;
	buf_reset(&w->path);
	buf_add_text(&w->path, tree->path);
	return add_place(w, &(struct place){tree->folder, tree->name}, 0, err);
}

int server_writer_link(struct server_writer *w, const char *path, const char *target,
                       struct error *err)
{
	archive_entry_clear(w->entry);
	archive_entry_copy_pathname(w->entry, path);
	archive_entry_set_filetype(w->entry, AE_IFLNK);
	archive_entry_set_perm(w->entry, 0777);
	archive_entry_copy_symlink(w->entry, target);
	return write_header(w, err);
}

int server_writer_end(struct server_writer *w, struct server_contents *ret, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(SERVER_MANIFEST_MAX);

	server_sums_end(&w->sums);
	server_sums_write(&w->sums, &text);
	if (write_text(w, SERVER_END, buf_span(&text), err) < 0)
		return -1;
	if (archive_write_close(w->out) < ARCHIVE_WARN)
		return fail_write(w, err);
	if (ret)
		*ret = w->sums.contents;
	return 0;
}

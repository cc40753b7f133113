/* SPDX-License-Identifier: Apache-2.0 */
#include "image/root.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/path.h"

#define FILE_MAX_ (4 << 20)

static const struct {
	const char *name;
	mode_t mode;
} mount_points[] = {
        {"proc", 0555}, {"sys", 0555}, {"dev", 0755}, {"tmp", 01777}, {"run", 0755},
};

static const char *const set_up_files[] = {"etc/hostname", "etc/hosts", "etc/resolv.conf"};

/* A folder one level below `folder`. */
static int enter_folder(int folder, const char *name, int *ret_fd, struct error *err)
{
	struct fd_open_options options = {.flags = O_PATH | O_DIRECTORY};

	if (mkdirat(folder, name, 0755) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make folder '%s'", name);
	return fd_open_beneath(folder, name, &options, ret_fd, err);
}

int root_open_folder(int root, const char *path, int *ret_fd, struct error *err)
{
	struct span rest = span_of(path), part;
	char name[PATH_NAME_MAX + 1];
	AUTO_CLOSE int folder = -1;
	bool more;

	do {
		int next = -1;
		more = span_split(&rest, '/', &part);
		if (part.size == 0 || part.size > PATH_NAME_MAX)
			return FAIL(err, ERROR_INVALID, "'%.100s' is no path", path);
		memcpy(name, part.data, part.size);
		name[part.size] = '\0';
		if (enter_folder(folder < 0 ? root : folder, name, &next, err) < 0)
			return FAIL_CONTEXT(err, "the image's '/%.100s'", path);
		auto_close(&folder);
		folder = next;
	} while (more);
	*ret_fd = TAKE_FD(folder);
	return 0;
}

static int open_parent(int root, const char *path, int *ret_fd, struct error *err)
{
	char parent[PATH_SIZE_MAX];
	const char *name = path_last(path);
	size_t size = (size_t)(name - path);

	if (size == 0) {
		*ret_fd = fcntl(root, F_DUPFD_CLOEXEC, 0);
		return *ret_fd < 0 ? FAIL_ERRNO(err, "open the root") : 0;
	}
	if (size > sizeof(parent))
		return FAIL(err, ERROR_INVALID, "'%.100s' is too long", path);
	memcpy(parent, path, size - 1);
	parent[size - 1] = '\0';
	return root_open_folder(root, parent, ret_fd, err);
}

int root_write(int root, const struct root_file *file, struct error *err)
{
	const char *name = path_last(file->path);
	AUTO_CLOSE int folder = -1;

	if (open_parent(root, file->path, &folder, err) < 0)
		return -1;
	if (file_write(folder, name, file->text, file->mode, err) < 0)
		return FAIL_CONTEXT(err, "the image's '/%s'", file->path);
	if (fchownat(folder, name, file->owner, file->owner, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL_ERRNO(err, "own the image's '/%s'", file->path);
	return 0;
}

int root_read(int root, const char *path, struct buf *out, struct error *err)
{
	/* Without O_NONBLOCK the open of a pipe would wait for a writer. */
	struct fd_open_options options = {.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY};
	AUTO_CLOSE int fd = -1;
	struct stat st;

	if (fd_open_beneath(root, path, &options, &fd, err) < 0)
		return -1;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX_)
		return FAIL(err, ERROR_INVALID, "the image's '/%s' is no small plain file", path);
	return fd_read_to_end(fd, out, err);
}

static int make_mount_point(int root, const char *name, mode_t mode, struct error *err)
{
	struct stat st;
	bool exists = fstatat(root, name, &st, AT_SYMLINK_NOFOLLOW) == 0;

	if (exists && S_ISDIR(st.st_mode))
		return 0;
	if (exists && unlinkat(root, name, 0) < 0)
		return FAIL_ERRNO(err, "replace the image's '/%s'", name);
	if (mkdirat(root, name, mode) < 0)
		return FAIL_ERRNO(err, "make the image's '/%s'", name);
	/* mkdir(2) applies the umask. */
	if (fchmodat(root, name, mode, 0) < 0)
		return FAIL_ERRNO(err, "make the image's '/%s'", name);
	return 0;
}

static int make_set_up_file(int root, const char *path, struct error *err)
{
	struct root_file empty = {.path = path, .mode = 0644, .text = {"", 0}};
	AUTO_CLOSE int folder = -1;
	struct stat st;

	if (open_parent(root, path, &folder, err) < 0)
		return -1;
	if (fstatat(folder, path_last(path), &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
		return 0;
	return root_write(root, &empty, err);
}

/* Whether a line of a table like passwd has this text as field `index`. */
static bool has_field(struct span table, unsigned index, const char *text)
{
	struct span line, field;
	bool more;

	do {
		more = span_split(&table, '\n', &line);
		for (unsigned i = 0; i <= index; i++)
			(void)span_split(&line, ':', &field);
		if (span_equals_text(field, text))
			return true;
	} while (more);
	return false;
}

/* Appends a line to a table. If the table is missing, it is made with `first` as its first line. */
static int append_line(int root, const struct root_file *table, const char *first, const char *line,
                       struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(FILE_MAX_ + 4096);
	struct root_file file = *table;
	struct stat old = {.st_gid = 0};

	if (fstatat(root, table->path, &old, AT_SYMLINK_NOFOLLOW) == 0)
		file.mode = old.st_mode & 0777;
	if (root_read(root, table->path, &text, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
		buf_add_text(&text, first);
	}
	if (text.size > 0 && text.data[text.size - 1] != '\n')
		buf_add_byte(&text, '\n');
	buf_add_text(&text, line);
	file.text = buf_span(&text);
	if (root_write(root, &file, err) < 0)
		return -1;
	/* /etc/shadow belongs to its own group. */
	if (fchownat(root, table->path, 0, old.st_gid, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL_ERRNO(err, "own the image's '/%s'", table->path);
	return 0;
}

static int read_table(int root, const char *path, struct buf *out, struct error *err)
{
	if (root_read(root, path, out, err) == 0)
		return 0;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return 0;
}

static const char *find_shell(int root)
{
	struct stat st;

	/* Only the presence is checked, so that a link on the way is harmless. */
	return fstatat(root, "bin/bash", &st, AT_SYMLINK_NOFOLLOW) == 0 ? "/bin/bash" : "/bin/sh";
}

static int add_group(int root, const char *name, struct error *err)
{
	AUTO(buf_done) struct buf groups = BUF(FILE_MAX_);
	AUTO(buf_done) struct buf line = BUF(256);
	struct root_file table = {.path = "etc/group", .mode = 0644};

	if (read_table(root, table.path, &groups, err) < 0)
		return -1;
	if (has_field(buf_span(&groups), 2, "1000"))
		return 0;
	buf_addf(&line, "%s:x:%d:\n", name, ROOT_USER_ID);
	return append_line(root, &table, "root:x:0:\n", line.data, err);
}

static int add_shadow(int root, const char *name, struct error *err)
{
	AUTO(buf_done) struct buf line = BUF(256);
	struct root_file table = {.path = "etc/shadow", .mode = 0640};
	struct stat st;

	/* Without such a file, accounts need no line in it. */
	if (fstatat(root, "etc/shadow", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	buf_addf(&line, "%s:!:19000:0:99999:7:::\n", name);
	return append_line(root, &table, "", line.data, err);
}

static int add_home(int root, const char *name, struct error *err)
{
	AUTO_CLOSE int home = -1;

	if (root_open_folder(root, "home", &home, err) < 0)
		return -1;
	if (mkdirat(home, name, 0755) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make the home of '%s'", name);
	if (fchownat(home, name, ROOT_USER_ID, ROOT_USER_ID, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL_ERRNO(err, "own the home of '%s'", name);
	return 0;
}

static int add_user(int root, struct error *err)
{
	AUTO(buf_done) struct buf users = BUF(FILE_MAX_);
	AUTO(buf_done) struct buf line = BUF(256);
	struct root_file table = {.path = "etc/passwd", .mode = 0644};

	if (read_table(root, table.path, &users, err) < 0)
		return -1;
	if (has_field(buf_span(&users), 2, "1000"))
		return 0;
	const char *name = has_field(buf_span(&users), 0, "user") ? "atoll" : "user";
	buf_addf(&line, "%s:x:%d:%d::/home/%s:%s\n", name, ROOT_USER_ID, ROOT_USER_ID, name,
	         find_shell(root));
	if (append_line(root, &table, "root:x:0:0:root:/root:/bin/sh\n", line.data, err) < 0 ||
	    add_group(root, name, err) < 0 || add_shadow(root, name, err) < 0)
		return -1;
	return add_home(root, name, err);
}

int root_add_alias(int root, const char *alias, const char *of, struct error *err)
{
	AUTO(buf_done) struct buf users = BUF(FILE_MAX_);
	AUTO(buf_done) struct buf line = BUF(256);
	struct root_file table = {.path = "etc/passwd", .mode = 0644};
	AUTO_CLOSE int home = -1;

	if (root_open_folder(root, "home", &home, err) < 0 ||
	    read_table(root, table.path, &users, err) < 0)
		return -1;
	if (has_field(buf_span(&users), 0, alias))
		return 0;
	if (symlinkat(of, home, alias) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "link the home of '%s'", alias);
	buf_addf(&line, "%s:x:%d:%d::/home/%s:%s\n", alias, ROOT_USER_ID, ROOT_USER_ID, alias,
	         find_shell(root));
	return append_line(root, &table, "", line.data, err);
}

int root_finish(const char *path, struct error *err)
{
	AUTO_CLOSE int root = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (root < 0)
		return FAIL_ERRNO(err, "open '%s'", path);
	for (size_t i = 0; i < COUNT_OF(mount_points); i++)
		if (make_mount_point(root, mount_points[i].name, mount_points[i].mode, err) < 0)
			return -1;
	for (size_t i = 0; i < COUNT_OF(set_up_files); i++)
		if (make_set_up_file(root, set_up_files[i], err) < 0)
			return -1;
	return add_user(root, err);
}

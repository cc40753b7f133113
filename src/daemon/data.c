/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/data.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "account/account.h"
#include "base/bytes.h"
#include "base/fd.h"
#include "daemon/reserve.h"

#define KEY_FILE "admin.key"
#define NODE_FILE "node.id"
/* An absolute path that every call accepts. */
#define CURRENT "/proc/self/cwd"

/* Like mkdir -p; only created folders get the mode. */
static int make_path(const char *path, struct error *err)
{
	char part[4096];
	size_t size = strlen(path);

	if (size == 0 || size >= sizeof(part))
		return FAIL(err, ERROR_INVALID, "'%s' cannot be a data folder", path);
	memcpy(part, path, size + 1);
	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(part, 0755) < 0 && errno != EEXIST)
			return FAIL_ERRNO(err, "make the folder '%s'", part);
		*slash = '/';
	}
	if (mkdir(part, 0755) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make the data folder '%s'", path);
	return 0;
}

struct subfolder {
	const char *name;
	mode_t mode;
	const struct identity *owner; /* NULL = the user of this process */
};

static int open_subfolder(int data, const struct subfolder *f, int *ret_fd, struct error *err)
{
	AUTO_CLOSE int fd = -1;

	if (mkdirat(data, f->name, f->mode) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make the folder '%s'", f->name);
	fd = openat(data, f->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return FAIL_ERRNO(err, "open the folder '%s'", f->name);
	if (fchmod(fd, f->mode) < 0 || (f->owner && fchown(fd, f->owner->uid, f->owner->gid) < 0))
		return FAIL_ERRNO(err, "give the folder '%s' its owner and mode", f->name);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* Writes the process id for 'atoll down'. Continues if the disk is full. */
static int write_pid(int fd, struct error *err)
{
	char text[16];
	int size = snprintf(text, sizeof(text), "%d", getpid());

	if (ftruncate(fd, 0) < 0 || (pwrite(fd, text, (size_t)size, 0) != size && errno != ENOSPC))
		return FAIL_ERRNO(err, "write 'atolld.lock'");
	return 0;
}

static int fail_taken(const char *path, struct error *err)
{
	(void)FAIL(err, ERROR_CONFLICT, "another server runs on '%s'", path);
	return FAIL_HINT(err, "'atoll ps' uses that server, 'atoll down' ends it; a second one "
	                      "needs another folder: --data FOLDER");
}

static int lock_folder(struct data_folder *d, const char *path, struct error *err)
{
	d->lock_fd =
	        openat(d->run_fd, "atolld.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (d->lock_fd < 0)
		return FAIL_ERRNO(err, "open 'atolld.lock'");
	if (flock(d->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return write_pid(d->lock_fd, err);
	if (errno == EWOULDBLOCK)
		return fail_taken(path, err);
	return FAIL_ERRNO(err, "lock '%s'", path);
}

/* Lets the api process traverse the folder without listing it. A folder made by mktemp, for
 * example, is closed to it. */
static int let_pass(int fd, const struct identity *owner, struct error *err)
{
	struct stat st;

	if (!owner || owner->uid == geteuid())
		return 0;
	if (fstat(fd, &st) < 0 ||
	    ((st.st_mode & S_IXOTH) == 0 && fchmod(fd, (st.st_mode & 07777) | S_IXOTH) < 0))
		return FAIL_ERRNO(err, "open the data folder's mode to its server");
	return 0;
}

/* Created once: rows of this folder's sandboxes hold it. */
static int make_node(const struct data_folder *d, struct error *err)
{
	char line[ID_SIZE + 2];
	struct id id = id_new();

	if (faccessat(d->fd, NODE_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	(void)snprintf(line, sizeof(line), "%s\n", id.text);
	if (file_write(d->fd, NODE_FILE, span_of(line), 0644, err) < 0)
		return FAIL_CONTEXT(err, "write the server's name");
	return 0;
}

const char *data_reach(const char *path)
{
	if (access(path, X_OK) == 0 || errno != EACCES || access(CURRENT "/" NODE_FILE, F_OK) < 0)
		return path;
	return CURRENT;
}

int data_node_read(const char *path, struct id *ret, struct error *err)
{
	/* O_PATH, because the api process may traverse the folder but not list it. */
	AUTO_CLOSE int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO(buf_done) struct buf text = BUF(256);
	struct span rest, line;

	if (fd < 0)
		return FAIL_ERRNO(err, "open the data folder '%s'", path);
	if (file_read(fd, NODE_FILE, &text, err) < 0)
		return -1;
	rest = buf_span(&text);
	(void)span_split(&rest, '\n', &line);
	if (line.size == ID_SIZE) {
		memcpy(ret->text, line.data, ID_SIZE);
		ret->text[ID_SIZE] = '\0';
		if (id_is_valid(ret->text))
			return 0;
	}
	(void)FAIL(err, ERROR_INVALID, "'%s/" NODE_FILE "' does not hold an id", path);
	return FAIL_HINT(err, "an id has 20 characters of a-z and 2-7; the rows of its sandboxes "
	                      "hold the same id");
}

static int open_folders(const char *path, const struct identity *owner, struct data_folder *d,
                        struct error *err)
{
	const struct subfolder run = {"run", 0711, NULL};
	const struct subfolder own[] = {
	        {"store", 0700, owner},   {"keys", 0700, owner},       {"tmp", 0700, owner},
	        {"blobs", 0700, owner},   {"recordings", 0700, owner}, {"builds", 0700, owner},
	        {"pairing", 0700, owner}, {"docker", 0700, owner},     {"microvm", 0700, owner},
	        {"remote", 0700, owner},  {"audit", 0700, owner}};

	if (make_path(path, err) < 0)
		return -1;
	d->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->fd < 0)
		return FAIL_ERRNO(err, "open the data folder '%s'", path);
	if (let_pass(d->fd, owner, err) < 0)
		return -1;
	/* Before anything is written. */
	reserve_look(d->fd);
	if (open_subfolder(d->fd, &run, &d->run_fd, err) < 0 || lock_folder(d, path, err) < 0)
		return -1;
	for (unsigned i = 0; i < COUNT_OF(own); i++) {
		AUTO_CLOSE int fd = -1;

		if (open_subfolder(d->fd, &own[i], &fd, err) < 0)
			return -1;
	}
	return make_node(d, err);
}

int data_open(const char *path, const struct identity *owner, struct data_folder *ret,
              struct error *err)
{
	*ret = (struct data_folder){-1, -1, -1};
	if (open_folders(path, owner, ret, err) == 0)
		return 0;
	data_close(ret);
	return -1;
}

bool data_is_in_place(const struct data_folder *d, const char *path)
{
	struct stat open_one, named;

	return fstat(d->fd, &open_one) == 0 && stat(path, &named) == 0 &&
	       open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

void data_close(struct data_folder *d)
{
	auto_close(&d->fd);
	auto_close(&d->run_fd);
	auto_close(&d->lock_fd);
	*d = (struct data_folder){-1, -1, -1};
}

/* A user who started the server with sudo should be able to read the key without it. */
static void give_to_sudo_user(int fd)
{
	const char *text = getenv("SUDO_UID");
	int64_t uid;

	if (geteuid() != 0 || !text ||
	    span_parse_whole(span_of(text), 1, UINT32_MAX - 1, &uid, &(struct error){0}) < 0)
		return;
	(void)!fchown(fd, (uid_t)uid, (gid_t)-1);
}

int data_key_open(const struct data_folder *d, int *ret_fd, struct error *err)
{
	int fd = openat(d->fd, KEY_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct account_key key;
	char line[ACCOUNT_KEY_SIZE + 1];

	if (fd < 0 && errno == ENOENT) {
		account_key_generate(&key);
		memcpy(line, key.text, ACCOUNT_KEY_SIZE);
		line[ACCOUNT_KEY_SIZE] = '\n';
		if (file_write(d->fd, KEY_FILE, (struct span){line, sizeof(line)}, 0600, err) < 0)
			return FAIL_CONTEXT(err, "write the first key");
		fd = openat(d->fd, KEY_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0)
			give_to_sudo_user(fd);
	}
	if (fd < 0)
		return FAIL_ERRNO(err, "open '" KEY_FILE "'");
	*ret_fd = fd;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* READ and WRITE: whole files, parts of them, and growing files. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files.h"
#include "agent/replace.h"
#include "base/fd.h"

#define MODE_FILE 0644
#define MODE_MASK 07777

static int check_regular(int fd, const char *path, struct stat *ret, struct error *err)
{
	if (fstat(fd, ret) < 0)
		return FAIL_ERRNO(err, "stat '%s'", path);
	if (S_ISDIR(ret->st_mode))
		return FAIL(err, ERROR_CONFLICT, "'%s' is a folder", path);
	if (!S_ISREG(ret->st_mode))
		return FAIL(err, ERROR_CONFLICT, "'%s' is not a regular file", path);
	return 0;
}

/* Checked before the open: opening a device may have an effect. */
static int open_regular(const struct base_dir *p, const char *path, int flags, int *ret_fd,
                        struct error *err)
{
	AUTO_CLOSE int look = -1, fd = -1;
	struct stat status;

	if (base_dir_find(p, path, O_PATH, &look, err) < 0 ||
	    check_regular(look, path, &status, err) < 0 ||
	    base_dir_find(p, path, flags, &fd, err) < 0 ||
	    check_regular(fd, path, &status, err) < 0)
		return -1;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* Each frame takes one read and one send; the head lies before the bytes. */
static int send_content(struct files *f, int fd, const struct agent_path *m, struct error *err)
{
	uint64_t left = m->size_max ? m->size_max : UINT64_MAX, sent = 0;

	while (left) {
		size_t size = left < AGENT_DATA_MAX ? (size_t)left : AGENT_DATA_MAX;
		char *frame = buf_reserve(&f->out, WIRE_HEAD_SIZE + size);
		ssize_t got = pread(fd, frame + WIRE_HEAD_SIZE, size, (off_t)(m->offset + sent));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return FAIL_ERRNO(err, "read '%s'", m->path);
		if (got == 0)
			break;
		wire_put_head((unsigned char *)frame, AGENT_DATA, (uint32_t)got);
		buf_commit(&f->out, WIRE_HEAD_SIZE + (size_t)got);
		files_flush(f);
		sent += (uint64_t)got;
		left -= (uint64_t)got;
	}
	files_send_done(f, sent);
	return 1;
}

int files_read(struct files *f, const struct agent_path *m, struct error *err)
{
	AUTO(base_dir_done) struct base_dir place = {0};
	AUTO_CLOSE int fd = -1;
	struct stat status;

	if (m->offset > INT64_MAX || base_dir_open(&place, &f->rules, m, err) < 0)
		return m->offset > INT64_MAX ? FAIL(err, ERROR_INVALID, "offset is too large") : -1;
	if (open_regular(&place, m->path, O_RDONLY, &fd, err) < 0 ||
	    check_regular(fd, m->path, &status, err) < 0)
		return -1;
	files_send_file(f, m->path, &status, "");
	return send_content(f, fd, m, err);
}

static int write_bytes(void *context, struct span bytes, struct error *err)
{
	return fd_write_all(*(const int *)context, bytes.data, bytes.size, err);
}

/* 1 = all bytes are in the file; 0 = AGENT_FAILED was sent. */
static int receive_into(struct files *f, int fd, const struct agent_path *m)
{
	struct files_sink sink = {write_bytes, &fd, m->size_max, 0};

	files_send(f, AGENT_READY, NULL, NULL);
	return files_receive(f, &sink);
}

static int send_written(struct files *f, int fd, const struct agent_path *m, struct error *err)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return FAIL_ERRNO(err, "stat '%s'", m->path);
	files_send_file(f, m->path, &status, "");
	files_send_done(f, (uint64_t)status.st_size);
	return 1;
}

static mode_t mode_of(const struct agent_path *m)
{
	return m->mode ? m->mode & MODE_MASK : MODE_FILE;
}

static int write_whole(struct files *f, const struct base_dir *place, const struct spot *spot,
                       const struct agent_path *m, struct error *err)
{
	struct replacement_options options = {.mode = mode_of(m),
	                                      .keep = true,
	                                      .no_replace =
	                                              (m->flags & AGENT_PATH_NO_REPLACE) != 0};
	AUTO(replacement_done) struct replacement new = {.open = false};

	if (replacement_open(&new, spot, &options, err) < 0)
		return -1;
	if (base_dir_give(place, new.fd, "", err) < 0)
		return -1;
	if (receive_into(f, new.fd, m) == 0)
		return 1;
	/* A change of owner and a write clear set-uid bits. */
	if (m->mode & (S_ISUID | S_ISGID) && fchmod(new.fd, mode_of(m)) < 0)
		return FAIL_ERRNO(err, "set the mode of '%s'", m->path);
	if (replacement_commit(&new, &options, err) < 0)
		return -1;
	return send_written(f, new.fd, m, err);
}

static int write_part(struct files *f, const struct base_dir *place, const struct spot *spot,
                      const struct agent_path *m, struct error *err)
{
	int flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	AUTO_CLOSE int fd = -1;
	struct stat status;

	if (m->flags & AGENT_PATH_APPEND)
		flags |= O_APPEND;
	if (m->flags & AGENT_PATH_IN_PLACE)
		flags |= O_TRUNC;
	if (m->flags & AGENT_PATH_NO_REPLACE)
		flags |= O_EXCL;
	if (fstatat(spot->folder, spot->name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	    !S_ISREG(status.st_mode))
		return FAIL(err, ERROR_CONFLICT, "'%s' is not a regular file", m->path);
	fd = openat(spot->folder, spot->name, flags, mode_of(m));
	if (fd < 0)
		return FAIL_ERRNO(err, "open '%s'", m->path);
	if (check_regular(fd, m->path, &status, err) < 0 || base_dir_give(place, fd, "", err) < 0)
		return -1;
	if (lseek(fd, (off_t)m->offset, SEEK_SET) < 0)
		return FAIL_ERRNO(err, "seek in '%s'", m->path);
	return receive_into(f, fd, m) ? send_written(f, fd, m, err) : 1;
}

int files_write(struct files *f, const struct agent_path *m, struct error *err)
{
	unsigned flags = SPOT_FOLLOW | files_parents_flag(m);
	AUTO(base_dir_done) struct base_dir place = {0};
	AUTO(spot_done) struct spot spot = {.folder = -1};

	if (base_dir_open(&place, &f->rules, m, err) < 0 ||
	    spot_open(&place, &f->arena, m->path, flags, &spot, err) < 0)
		return -1;
	if (m->offset || m->flags & (AGENT_PATH_APPEND | AGENT_PATH_IN_PLACE))
		return write_part(f, &place, &spot, m, err);
	return write_whole(f, &place, &spot, m, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* base/fd.h — descriptors: whole reads and writes, files opened beneath a folder, pidfds.
 *
 * Everything opened here is close-on-exec. "Beneath" means openat2(2) with RESOLVE_BENEATH and
 * RESOLVE_NO_SYMLINKS: a path can neither leave the folder nor pass through a link. */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct open_how;

/* Closes *fd and sets it to -1, for descriptors in a struct. */
static inline void fd_forget(int *fd)
{
	auto_close(fd);
	*fd = -1;
}

/* Closes a socket that untrusted code may also hold, and sets *fd to -1. The socket is disconnected
 * first, because a plain close waits for the SO_LINGER time that the other holder has set. */
void socket_drop(int *fd);

/* Restarts on EINTR. */
MUST_CHECK int fd_write_all(int fd, const void *data, size_t size, struct error *err);
/* Reads to the end of file, up to the buffer's limit (else ERROR_TOO_LARGE). */
MUST_CHECK int fd_read_to_end(int fd, struct buf *out, struct error *err);

struct fd_open_options {
	int flags;   /* O_*; O_CLOEXEC is added */
	mode_t mode; /* with O_CREAT */
};
MUST_CHECK int fd_open_beneath(int folder, const char *path, const struct fd_open_options *options,
                               int *ret_fd, struct error *err);

/* The entries of an open folder; NULL, and errno, when they cannot be read. */
DIR *folder_list(int folder);
/* The same for the folder at `path`, relative to `folder` or AT_FDCWD; its last part may not be a
 * link. */
DIR *folder_list_at(int folder, const char *path);
void folder_list_done(DIR **list);

/* True when a regular file is unchanged since `before` and no process has it open for writing: then
 * the file can be removed without losing data. False when that cannot be determined. */
struct stat;
bool fd_file_is_still(int folder, const char *name, const struct stat *before);

/* A small file as text, up to the buffer's limit (64 KiB for a zeroed buffer), relative to
 * `folder` or AT_FDCWD. Appends. */
MUST_CHECK int file_read(int folder, const char *path, struct buf *out, struct error *err);
/* Writes to a temporary name, syncs, renames: the file is old or new, never half. The umask is
 * not applied to `mode`. */
MUST_CHECK int file_write(int folder, const char *path, struct span data, mode_t mode,
                          struct error *err);
/* One write(2) to an existing file, as cgroup and /proc files require. */
MUST_CHECK int file_poke(int folder, const char *path, const char *text, struct error *err);

MUST_CHECK int fd_set_blocking(int fd, bool blocking, struct error *err);
/* 1 readable/hung up, 0 deadline passed, -1 failed. `events` as for poll(2). */
MUST_CHECK int fd_wait(int fd, short events, int64_t deadline, struct error *err);

/* openat2(2); where the kernel lacks it, as gVisor does, the same rules step by step, but for
 * RESOLVE_IN_ROOT. -1 and errno. */
int fd_open_by(int folder, const char *path, const struct open_how *how);
MUST_CHECK int pidfd_open_of(pid_t pid, int *ret_fd, struct error *err);
MUST_CHECK int pidfd_signal(int pidfd, int signo, struct error *err);
/* True while the process has not ended. (An unreaped zombie still accepts signals.) */
bool pidfd_is_alive(int pidfd);
/* Field 22 of /proc/PID/stat, in clock ticks since boot: the pid and this value identify a
 * process. */
MUST_CHECK int process_start_time(pid_t pid, uint64_t *ret, struct error *err);

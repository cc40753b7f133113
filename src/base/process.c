/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"

/* proc(5) counts from 1, and the name that ends with the last ')' is number 2. */
#define FIELD_AFTER_NAME 3
#define FIELD_START_TIME 22

int pidfd_open_of(pid_t pid, int *ret_fd, struct error *err)
{
	long fd = syscall(SYS_pidfd_open, pid, 0); /* close-on-exec by itself */

	if (fd < 0)
		return FAIL_ERRNO(err, "open process %d", (int)pid);
	*ret_fd = (int)fd;
	return 0;
}

int pidfd_signal(int pidfd, int signo, struct error *err)
{
	if (syscall(SYS_pidfd_send_signal, pidfd, signo, NULL, 0) < 0)
		return FAIL_ERRNO(err, "send signal %d", signo);
	return 0;
}

bool pidfd_is_alive(int pidfd)
{
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};

	return poll(&ended, 1, 0) == 0;
}

int process_start_time(pid_t pid, uint64_t *ret, struct error *err)
{
	AUTO(buf_done) struct buf stat = BUF(4096);
	struct span rest, field;
	char path[32];
	const char *name_end;
	int64_t ticks;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (file_read(AT_FDCWD, path, &stat, err) < 0)
		return -1;
	/* The name may itself hold ')' and blanks. */
	name_end = strrchr(buf_text(&stat), ')');
	if (!name_end || name_end[1] != ' ')
		return FAIL(err, ERROR_SYSTEM, "'%s' is malformed", path);
	rest = span_of(name_end + 2);
	for (int i = FIELD_AFTER_NAME; i <= FIELD_START_TIME; i++)
		(void)span_split(&rest, ' ', &field);
	if (span_parse_whole(field, 0, INT64_MAX, &ticks, err) < 0)
		return FAIL_CONTEXT(err, "'%s'", path);
	*ret = (uint64_t)ticks;
	return 0;
}

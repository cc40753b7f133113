/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/qmp.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "json/json.h"

#define LINE_MAX_BYTES (256 * 1024)
#define LINES_MAX 10000 /* events before an answer */
#define RETRY_MS 2

static int connect_once(const char *path, int *ret_fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int read_more(struct qmp *q, struct error *err)
{
	char *room = buf_reserve(&q->in, 4096);
	int ready = room ? fd_wait(q->fd, POLLIN, q->deadline, err) : 0;
	ssize_t got;

	if (!room)
		return FAIL(err, ERROR_TOO_LARGE, "QEMU's monitor writes too long a line");
	if (ready < 0)
		return -1;
	if (ready == 0)
		return FAIL(err, ERROR_TIMEOUT, "QEMU's monitor does not answer");
	got = read(q->fd, room, 4096);
	if (got < 0 && errno != EINTR)
		return FAIL_ERRNO(err, "read from QEMU's monitor");
	if (got == 0)
		return FAIL(err, ERROR_UNAVAILABLE, "QEMU has ended");
	buf_commit(&q->in, got > 0 ? (size_t)got : 0);
	return 0;
}

/* The text is in the arena. */
static int read_line(struct qmp *q, struct arena *a, struct span *ret, struct error *err)
{
	ptrdiff_t end;

	while ((end = span_find(buf_span(&q->in), '\n')) < 0)
		if (read_more(q, err) < 0)
			return -1;
	*ret = (struct span){arena_copy(a, (struct span){q->in.data, (size_t)end}), (size_t)end};
	buf_consume(&q->in, (size_t)end + 1);
	return 0;
}

static int send_command(struct qmp *q, const struct qmp_command *command, struct error *err)
{
	struct iovec part = {(void *)(uintptr_t)command->text, strlen(command->text)};
	char control[CMSG_SPACE(sizeof(int))] = {0};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (command->fd >= 0) {
		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		struct cmsghdr *head = CMSG_FIRSTHDR(&message);
		*head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
		                         .cmsg_level = SOL_SOCKET,
		                         .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(head), &command->fd, sizeof(int));
	}
	/* A command is shorter than a socket's buffer. */
	if (sendmsg(q->fd, &message, MSG_NOSIGNAL) != (ssize_t)part.iov_len)
		return FAIL_ERRNO(err, "write to QEMU's monitor");
	return 0;
}

int qmp_call(struct qmp *q, struct arena *a, const struct qmp_command *command,
             const struct json_value **ret, struct error *err)
{
	const struct json_value *answer;
	struct span line;

	if (send_command(q, command, err) < 0)
		return -1;
	for (unsigned i = 0; i < LINES_MAX; i++) {
		if (read_line(q, a, &line, err) < 0 || json_load(a, line, &answer, err) < 0)
			return -1;
		if (json_get(answer, "error"))
			return FAIL(err, ERROR_SYSTEM, "QEMU refuses %s: %s", command->text,
			            json_get_text(json_get(answer, "error"), "desc", "no reason"));
		if (!json_get(answer, "return"))
			continue;
		*ret = json_get(answer, "return");
		return 0;
	}
	return FAIL(err, ERROR_LIMIT, "QEMU's monitor does not answer %s", command->text);
}

int qmp_open(struct qmp *q, const char *path, int64_t deadline, struct error *err)
{
	const struct timespec pause = {.tv_nsec = RETRY_MS * 1000000};
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *ignored;
	struct span greeting;

	*q = (struct qmp){.fd = -1, .deadline = deadline, .in = BUF(LINE_MAX_BYTES)};
	while (connect_once(path, &q->fd) < 0) {
		if (deadline_poll_ms(deadline) == 0)
			return FAIL_ERRNO(err, "connect to QEMU's monitor '%s'", path);
		(void)nanosleep(&pause, NULL);
	}
	if (read_line(q, &arena, &greeting, err) < 0)
		return -1;
	return qmp_call(q, &arena, &(struct qmp_command){"{\"execute\":\"qmp_capabilities\"}", -1},
	                &ignored, err);
}

void qmp_close(struct qmp *q)
{
	fd_forget(&q->fd);
	buf_done(&q->in);
}

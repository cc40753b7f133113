/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/reverse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/connection.h"
#include "agent/orphan.h"
#include "base/clock.h"
#include "base/fd.h"
#include "wire/agent_reverse.h"

#define PAUSE_MIN_MS 10
#define PAUSE_MAX_MS 2000
#define RETRY_MS 5 /* for a connection that the server's full backlog refused */
#define FRAME_MAX 256
#define FRAMES_MAX 4096

/* The environment of process 1 can be read in /proc, so the token is overwritten there. */
void reverse_take_token(char *ret, size_t size)
{
	char *token = getenv(AGENT_TOKEN_VARIABLE);

	if (!token)
		return;
	(void)snprintf(ret, size, "%s", token);
	explicit_bzero(token, strlen(token));
	(void)unsetenv(AGENT_TOKEN_VARIABLE);
}

/* What Docker or a shell adds to the variables of the image, and what is the user's. */
void reverse_forget_variables(void)
{
	static const char *const names[] = {"HOSTNAME", "HOME",  "TERM",   "USER", "LOGNAME",
	                                    "SHELL",    "SHLVL", "OLDPWD", "PWD",  "_"};

	for (size_t i = 0; i < COUNT_OF(names); i++)
		(void)unsetenv(names[i]);
}

const char *const *reverse_variables(const struct agent *a)
{
	static const char *const none[] = {NULL};

	return (a->reverse.path || a->tunnels.token[0]) && environ ? (const char *const *)environ
	                                                           : none;
}

static int connect_socket(const struct reverse *r, uint64_t stream, int *ret_fd, struct error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const struct agent_hello hello = {AGENT_PROTOCOL, stream, r->token};
	AUTO(buf_done) struct buf frame = BUF(FRAME_MAX);
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return FAIL_ERRNO(err, "make a socket");
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", r->path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return FAIL_ERRNO(err, "connect to '%s'", r->path);
	if (wire_encode(&frame, AGENT_HELLO, agent_hello_shape, &hello, err) < 0)
		return -1;
	if (send(fd, frame.data, frame.size, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)frame.size)
		return FAIL_ERRNO(err, "send the first message");
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* False: try again in a moment. Any other failure means that the server has gone, or that it asks
 * again. */
static bool open_stream(struct agent *a, uint64_t stream)
{
	struct error err = {0};
	int fd;

	if (connect_socket(&a->reverse, stream, &fd, &err) < 0)
		return err.sys_errno != EAGAIN && err.sys_errno != EMFILE &&
		       err.sys_errno != ENFILE;
	(void)!fd_set_blocking(fd, true, &err);
	orphan_renew(a);
	connection_accept(a, fd);
	return true;
}

static void open_streams(struct agent *a)
{
	struct reverse *r = &a->reverse;
	unsigned done = 0;

	while (done < r->wanted_count && open_stream(a, r->wanted[done]))
		done++;
	r->wanted_count -= done;
	memmove(r->wanted, r->wanted + done, r->wanted_count * sizeof(r->wanted[0]));
	r->retry_at = r->wanted_count > 0 ? deadline_after(RETRY_MS) : DEADLINE_NEVER;
}

static void close_control(struct agent *a)
{
	struct reverse *r = &a->reverse;

	watch_close(a, &r->control);
	buf_done(&r->in);
	r->wanted_count = 0;
	r->retry_at = DEADLINE_NEVER;
	r->again_at = deadline_after(r->pause_ms);
	r->pause_ms = r->pause_ms * 2 < PAUSE_MAX_MS ? r->pause_ms * 2 : PAUSE_MAX_MS;
}

/* Later servers may send messages that this agent does not know. */
static int take_frame(struct reverse *r, uint16_t type, struct span payload, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct agent_open message;

	if (type != AGENT_OPEN)
		return 0;
	if (wire_decode(&arena, payload, agent_open_shape, &message, sizeof(message), err) < 0)
		return -1;
	if (r->wanted_count == COUNT_OF(r->wanted))
		return FAIL(err, ERROR_LIMIT, "the server asks for too many connections");
	r->wanted[r->wanted_count++] = message.stream;
	return 0;
}

static int take_frames(struct reverse *r, struct error *err)
{
	struct span rest = buf_span(&r->in), payload;
	uint16_t type;
	int status;

	while ((status = wire_next(&rest, &type, &payload, NULL, err)) > 0)
		if (take_frame(r, type, payload, err) < 0)
			return -1;
	buf_consume(&r->in, r->in.size - rest.size);
	return status;
}

static void on_control(struct agent *a, struct watch *w, UNUSED uint32_t events)
{
	struct reverse *r = &a->reverse;
	struct error err = {0};
	char bytes[1024];
	ssize_t got = recv(w->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		close_control(a);
		return;
	}
	r->pause_ms = PAUSE_MIN_MS;
	buf_add(&r->in, bytes, (size_t)got);
	if (r->in.overflowed || take_frames(r, &err) < 0)
		close_control(a);
	else
		open_streams(a);
}

static void connect_control(struct agent *a)
{
	struct reverse *r = &a->reverse;
	struct error err = {0};

	if (connect_socket(r, 0, &r->control.fd, &err) < 0) {
		close_control(a);
		return;
	}
	r->in = BUF(FRAMES_MAX);
	r->again_at = DEADLINE_NEVER;
	watch_set(a, &r->control, EPOLLIN);
}

void reverse_init(struct agent *a, const char *path)
{
	struct reverse *r = &a->reverse;

	*r = (struct reverse){.path = path,
	                      .control = {.fd = -1, .on_event = on_control},
	                      .again_at = path ? 0 : DEADLINE_NEVER,
	                      .retry_at = DEADLINE_NEVER,
	                      .pause_ms = PAUSE_MIN_MS};
	if (!path)
		return;
	reverse_take_token(r->token, sizeof(r->token));
	reverse_forget_variables();
}

int64_t reverse_next_deadline(const struct agent *a)
{
	const struct reverse *r = &a->reverse;

	return r->again_at < r->retry_at ? r->again_at : r->retry_at;
}

void reverse_run_timer(struct agent *a, int64_t now)
{
	if (now >= a->reverse.again_at)
		connect_control(a);
	if (now >= a->reverse.retry_at)
		open_streams(a);
}

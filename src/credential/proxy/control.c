/* SPDX-License-Identifier: Apache-2.0 */
#include "credential/control.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "credential/proxy/state.h"

#define READ_SIZE 65536

struct control_link {
	struct credential_proxy *proxy;
	int fd;
	struct loop_watch *watch;
	uint64_t session;
	struct buf in;
};

static void control_free(struct control_link *c)
{
	for (unsigned i = 0; i < CONTROLS_MAX; i++)
		if (c->proxy->controls[i] == c)
			c->proxy->controls[i] = NULL;
	proxy_note_controls(c->proxy);
	loop_watch_free(c->watch);
	auto_close(&c->fd);
	if (c->in.data)
		explicit_bzero(c->in.data, c->in.capacity);
	buf_done(&c->in);
	free(c);
}

static int run_message(struct control_link *c, const struct control_head *head, struct span body,
                       struct error *err)
{
	char sandbox[ID_SIZE + 1] = "";

	switch (head->kind) {
	case CONTROL_PUT:
		return proxy_put(c->proxy, body, c->session, err);
	case CONTROL_REMOVE:
		if (body.size != ID_SIZE)
			return FAIL(err, ERROR_INVALID, "it names no sandbox");
		memcpy(sandbox, body.data, ID_SIZE);
		proxy_remove(c->proxy, sandbox);
		return 0;
	case CONTROL_SETTLED:
		proxy_settle(c->proxy, c->session);
		return 0;
	default:
		return FAIL(err, ERROR_INVALID, "unknown message %u", head->kind);
	}
}

static bool answer_usage(const struct control_link *c)
{
	struct control_usage usage;
	char answer[1 + sizeof(usage)] = {CONTROL_DONE};

	proxy_tell_usage(c->proxy, &usage);
	memcpy(answer + 1, &usage, sizeof(usage));
	return send(c->fd, answer, sizeof(answer), MSG_DONTWAIT | MSG_NOSIGNAL) ==
	       (ssize_t)sizeof(answer);
}

/* False when the connection cannot go on. */
static bool answer_message(struct control_link *c, const struct control_head *head,
                           struct span body)
{
	struct error err = {0};
	char answer = CONTROL_DONE;

	if (head->kind == CONTROL_USAGE)
		return answer_usage(c);
	if (run_message(c, head, body, &err) < 0) {
		/* The error names fields and rules, never a value. */
		log_warning("a set of credentials is refused", FAILURE(&err));
		answer = CONTROL_FAILED;
	}
	return send(c->fd, &answer, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

static bool take_messages(struct control_link *c)
{
	struct control_head head;

	while (c->in.size >= sizeof(head)) {
		memcpy(&head, c->in.data, sizeof(head));
		if (head.size > CREDENTIAL_SET_TEXT_MAX)
			return false;
		if (c->in.size < sizeof(head) + head.size)
			return true;
		if (!answer_message(c, &head, (struct span){c->in.data + sizeof(head), head.size}))
			return false;
		buf_consume(&c->in, sizeof(head) + head.size);
	}
	if (c->in.size == 0) {
		if (c->in.data)
			explicit_bzero(c->in.data, c->in.capacity);
		buf_done(&c->in);
	}
	return true;
}

static void on_message(void *context, UNUSED uint32_t epoll_events)
{
	struct control_link *c = context;
	char *room = buf_reserve(&c->in, READ_SIZE);
	ssize_t got = room ? recv(c->fd, room, READ_SIZE, MSG_DONTWAIT) : 0;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got > 0)
		buf_commit(&c->in, (size_t)got);
	if (got <= 0 || !take_messages(c))
		control_free(c);
}

/* Only the api process and root: other users of the host could put rules of their own. */
static bool is_own_peer(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == getuid() || peer.uid == 0);
}

static int find_place(const struct credential_proxy *p)
{
	for (int i = 0; i < CONTROLS_MAX; i++)
		if (!p->controls[i])
			return i;
	return -1;
}

int control_accept(struct credential_proxy *p, struct error *err)
{
	AUTO_CLOSE int fd = accept4(p->control_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int place = find_place(p);
	struct control_link *c;

	if (fd < 0)
		return errno == EAGAIN ? 0 : FAIL_ERRNO(err, "accept");
	if (place < 0 || !is_own_peer(fd))
		return FAIL(err, ERROR_FORBIDDEN, "it is not the api process's");
	c = memory_new(sizeof(*c));
	*c = (struct control_link){.proxy = p,
	                           .fd = fd,
	                           .session = ++p->session,
	                           .in = BUF(CREDENTIAL_SET_TEXT_MAX + 2 * READ_SIZE)};
	const struct loop_watch_options options = {
	        .fd = fd, .epoll_events = EPOLLIN, .on_ready = on_message, .context = c};

	if (loop_watch_add(p->loop, &options, &c->watch, err) < 0) {
		free(c);
		return -1;
	}
	c->fd = TAKE_FD(fd);
	p->controls[place] = c;
	proxy_note_controls(p);
	return 0;
}

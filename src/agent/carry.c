/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/carry.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "wire/agent.h"

struct carry_side {
	struct watch watch;
	struct carry *carry;
	struct buf kept; /* read here, not yet written to the other side */
	bool has_ended;  /* nothing more comes from here */
	bool is_told;    /* that nothing more comes from the other side */
};

enum { OUTSIDE, SERVER };

struct carry {
	struct list item;
	struct carry_side sides[2];
};

static struct carry_side *other_side(struct carry_side *s)
{
	return &s->carry->sides[s == &s->carry->sides[OUTSIDE] ? SERVER : OUTSIDE];
}

static void end_carry(struct agent *a, struct carry *c)
{
	for (unsigned i = 0; i < COUNT_OF(c->sides); i++)
		watch_close(a, &c->sides[i].watch);
	list_remove(&c->item);
	list_append(&a->ended_carries, &c->item);
}

/* 0: it takes no more for now, or all is sent; -1: it is broken. */
static int send_kept(struct carry_side *from)
{
	struct carry_side *to = other_side(from);

	while (from->kept.size > 0) {
		ssize_t sent = send(to->watch.fd, from->kept.data, from->kept.size,
		                    MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		buf_consume(&from->kept, (size_t)sent);
	}
	if (from->has_ended && !to->is_told) {
		to->is_told = true;
		(void)shutdown(to->watch.fd, SHUT_WR);
	}
	return 0;
}

static int read_side(struct carry_side *s)
{
	char *room = buf_reserve(&s->kept, CARRY_BYTES_MAX);
	ssize_t got = recv(s->watch.fd, room, CARRY_BYTES_MAX, MSG_DONTWAIT);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	s->has_ended = got == 0;
	buf_commit(&s->kept, (size_t)got);
	return send_kept(s);
}

static void watch_side(struct agent *a, struct carry_side *s)
{
	bool reads = !s->has_ended && s->kept.size == 0;
	uint32_t events = (reads ? EPOLLIN : 0) | (other_side(s)->kept.size > 0 ? EPOLLOUT : 0);

	/* A side that nothing is wanted of may have hung up, which would be reported for ever. */
	if (events == 0)
		watch_pause(a, &s->watch);
	else if (events != s->watch.events || !s->watch.added)
		watch_set(a, &s->watch, events);
}

static void on_side(struct agent *a, struct watch *w, uint32_t events)
{
	struct carry_side *s = CONTAINER_OF(w, struct carry_side, watch);
	struct carry_side *other = other_side(s);
	int status = events & EPOLLOUT ? send_kept(other) : 0;

	if (status == 0 && !s->has_ended && s->kept.size == 0 &&
	    (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		status = read_side(s);
	else if (events & EPOLLERR)
		status = -1;
	if (status < 0 ||
	    (s->has_ended && other->has_ended && s->kept.size + other->kept.size == 0)) {
		end_carry(a, s->carry);
		return;
	}
	watch_side(a, s);
	watch_side(a, other);
}

/* The answer is short and the first on this connection, so that it fits into the socket. */
static int send_answer(int fd, uint16_t type, const struct wire_member *shape, const void *message)
{
	AUTO(buf_done) struct buf frame = BUF(WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX);
	struct error ignored;

	if (wire_encode(&frame, type, shape, message, &ignored) < 0)
		return -1;
	return send(fd, frame.data, frame.size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)frame.size
	               ? 0
	               : -1;
}

static void refuse_carry(struct agent *a, struct carry *c, int why)
{
	struct error err = {0};

	errno = why;
	(void)FAIL_ERRNO(&err, "connect to the server inside");
	const struct agent_failed failed = agent_failed_of(&err);
	(void)!send_answer(c->sides[OUTSIDE].watch.fd, AGENT_FAILED, agent_failed_shape, &failed);
	end_carry(a, c);
}

static void on_connected(struct agent *a, struct watch *w, UNUSED uint32_t events)
{
	struct carry_side *server = CONTAINER_OF(w, struct carry_side, watch);
	struct carry *c = server->carry;
	struct carry_side *outside = &c->sides[OUTSIDE];
	socklen_t size = sizeof(int);
	int failure = 0;

	if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &failure, &size) < 0)
		failure = errno;
	if (failure) {
		refuse_carry(a, c, failure);
		return;
	}
	if (send_answer(outside->watch.fd, AGENT_DONE, agent_done_shape, &(struct agent_done){0}) <
	    0) {
		end_carry(a, c);
		return;
	}
	w->on_event = outside->watch.on_event = on_side;
	watch_side(a, server);
	watch_side(a, outside);
}

/* The caller gave up before the server answered. */
static void on_given_up(struct agent *a, struct watch *w, UNUSED uint32_t events)
{
	end_carry(a, CONTAINER_OF(w, struct carry_side, watch)->carry);
}

int carry_begin(struct agent *a, int outside, int server, struct error *err)
{
	AUTO_CLOSE int outside_fd = outside, server_fd = server;
	struct carry *c;

	if (list_count(&a->carries) >= CARRIES_MAX)
		return FAIL(err, ERROR_LIMIT, "%d connections to servers inside are open",
		            CARRIES_MAX);
	c = memory_new(sizeof(*c));
	c->sides[OUTSIDE].watch =
	        (struct watch){.fd = TAKE_FD(outside_fd), .on_event = on_given_up};
	c->sides[SERVER].watch = (struct watch){.fd = TAKE_FD(server_fd), .on_event = on_connected};
	for (unsigned i = 0; i < COUNT_OF(c->sides); i++) {
		c->sides[i].carry = c;
		c->sides[i].kept = BUF(2 * CARRY_BYTES_MAX);
	}
	list_init(&c->item);
	list_append(&a->carries, &c->item);
	watch_set(a, &c->sides[SERVER].watch, EPOLLOUT);
	watch_set(a, &c->sides[OUTSIDE].watch, EPOLLRDHUP);
	return 0;
}

void carries_free_ended(struct agent *a)
{
	LIST_EACH (&a->ended_carries, struct carry, c, item) {
		list_remove(&c->item);
		buf_done(&c->sides[OUTSIDE].kept);
		buf_done(&c->sides[SERVER].kept);
		free(c);
	}
}

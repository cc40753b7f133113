/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/agent_reverse.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "base/thread.h"
#include "wire/agent.h"
#include "wire/agent_reverse.h"

#define SOCKET_NAME "agent.sock"
#define BACKLOG 128
#define EVENTS_AT_ONCE 32
#define ACCEPTED_AT_ONCE 16
#define PENDING_MAX 16 /* connections of a sandbox without their first message */
#define HELLO_MAX 256
#define CANCEL_LOOK_MS 50 /* a condition cannot be polled together with a cancellation */

enum peer_kind { PEER_LISTENER, PEER_PENDING, PEER_CONTROL };

/* A descriptor in the epoll set. */
struct peer {
	enum peer_kind kind;
	struct reverse_sandbox *sandbox;
	struct list item; /* of a pending connection */
	int fd;
	size_t size; /* of what has arrived */
	char said[HELLO_MAX];
};

/* A sandbox. */
struct reverse_sandbox {
	char id[ID_SIZE + 1];
	char token[AGENT_TOKEN_MAX + 1];
	struct peer listener, *control; /* control: NULL = none */
	struct list pending;            /* oldest first */
	unsigned pending_count;
	struct list waiters;
	uint64_t stream_last;
	pthread_cond_t changed; /* the control connection, or a waiter */
	unsigned users;         /* threads that wait for `changed` */
	bool is_forgotten;
};

/* A call that waits for its connection. */
struct stream_waiter {
	struct list item;
	uint64_t stream;
	int fd;
	const struct cancel *cancel;
	bool is_lost; /* the control connection broke before the agent came */
};

struct agent_reverse {
	struct agent_reverse_options options;
	char *dir;
	int epoll, wake;
	pthread_t thread;
	pthread_mutex_t mutex; /* guards all below */
	struct map sandboxes;  /* id -> struct reverse_sandbox */
	/* By descriptor. An event names its descriptor, not an object that may be gone by now: the
	 * worst that a stale event does is a read that finds nothing. */
	struct peer **peers;
	size_t peer_room;
	bool is_closing;
};

static int add_peer(struct agent_reverse *r, struct peer *p, struct error *err)
{
	struct epoll_event event = {.events = EPOLLIN, .data = {.fd = p->fd}};

	if (epoll_ctl(r->epoll, EPOLL_CTL_ADD, p->fd, &event) < 0)
		return FAIL_ERRNO(err, "watch a socket");
	while ((size_t)p->fd >= r->peer_room) {
		size_t room = r->peer_room;

		r->peers = memory_grow(r->peers, room, &r->peer_room, sizeof(*r->peers));
		memset(r->peers + room, 0, (r->peer_room - room) * sizeof(*r->peers));
	}
	r->peers[p->fd] = p;
	return 0;
}

/* Closes its descriptor, unless `keeps_fd`. */
static void remove_peer(struct agent_reverse *r, struct peer *p, bool keeps_fd)
{
	if (p->fd < 0)
		return;
	(void)epoll_ctl(r->epoll, EPOLL_CTL_DEL, p->fd, NULL);
	r->peers[p->fd] = NULL;
	if (!keeps_fd)
		close(p->fd);
	p->fd = -1;
}

static void free_pending(struct agent_reverse *r, struct peer *p, bool keeps_fd)
{
	remove_peer(r, p, keeps_fd);
	list_remove(&p->item);
	p->sandbox->pending_count--;
	free(p);
}

static void drop_control(struct agent_reverse *r, struct reverse_sandbox *s)
{
	if (!s->control)
		return;
	remove_peer(r, s->control, false);
	free(TAKE(s->control));
	LIST_EACH (&s->waiters, struct stream_waiter, w, item)
		w->is_lost = true;
	pthread_cond_broadcast(&s->changed);
}

static bool is_token(const struct reverse_sandbox *s, const char *token)
{
	unsigned char differs = strlen(token) != strlen(s->token);

	for (size_t i = 0; s->token[i] && token[i]; i++)
		differs |= (unsigned char)(s->token[i] ^ token[i]);
	return !differs;
}

static void take_control(struct agent_reverse *r, struct peer *p)
{
	struct reverse_sandbox *s = p->sandbox;

	/* A second control connection is the same agent's, which has lost the first. */
	drop_control(r, s);
	list_remove(&p->item);
	s->pending_count--;
	p->kind = PEER_CONTROL;
	s->control = p;
	pthread_cond_broadcast(&s->changed);
}

static void take_stream(struct agent_reverse *r, struct peer *p, uint64_t stream)
{
	struct reverse_sandbox *s = p->sandbox;
	struct error ignored = {0};
	int fd = p->fd;

	LIST_EACH (&s->waiters, struct stream_waiter, w, item)
		if (w->stream == stream && w->fd < 0) {
			free_pending(r, p, true);
			w->fd = fd;
			(void)!fd_set_blocking(fd, true, &ignored);
			pthread_cond_broadcast(&s->changed);
			return;
		}
	free_pending(r, p, false); /* its caller has given up */
}

static int read_hello(const struct peer *p, struct arena *a, struct agent_hello *ret,
                      struct error *err)
{
	struct span rest = {p->said, p->size}, payload;
	uint16_t type;
	int status = wire_next(&rest, &type, &payload, NULL, err);

	if (status <= 0)
		return status;
	if (type != AGENT_HELLO || rest.size > 0)
		return FAIL(err, ERROR_INVALID, "message %u is no first message", type);
	return wire_decode(a, payload, agent_hello_shape, ret, sizeof(*ret), err) < 0 ? -1 : 1;
}

static void on_pending(struct agent_reverse *r, struct peer *p)
{
	AUTO(arena_done) struct arena arena = {0};
	struct agent_hello hello;
	struct error err = {0};
	ssize_t got = recv(p->fd, p->said + p->size, sizeof(p->said) - p->size, MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got > 0)
		p->size += (size_t)got;
	int status = got <= 0 ? -1 : read_hello(p, &arena, &hello, &err);
	if (status == 0 && p->size < sizeof(p->said))
		return;
	if (status <= 0 || !is_token(p->sandbox, hello.token))
		free_pending(r, p, false);
	else if (hello.stream == 0)
		take_control(r, p);
	else
		take_stream(r, p, hello.stream);
}

/* Not even an honest agent sends anything on its control connection. */
static bool is_control_broken(const struct peer *p)
{
	char byte;
	ssize_t got = recv(p->fd, &byte, 1, MSG_DONTWAIT);

	return got >= 0 || (errno != EAGAIN && errno != EINTR);
}

static bool accept_pending(struct agent_reverse *r, struct reverse_sandbox *s)
{
	struct error err = {0};
	int fd = accept4(s->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return false;
	if (s->pending_count == PENDING_MAX)
		free_pending(r, LIST_ENTRY(s->pending.next, struct peer, item), false);
	struct peer *p = memory_new(sizeof(*p));
	*p = (struct peer){.kind = PEER_PENDING, .sandbox = s, .fd = fd};
	if (add_peer(r, p, &err) < 0) {
		close(fd);
		free(p);
		return false;
	}
	list_append(&s->pending, &p->item);
	s->pending_count++;
	on_pending(r, p); /* its message mostly is here already */
	return true;
}

/* Writes the id of an agent whose control connection broke to `ret_gone`, else leaves it. */
static void handle_event(struct agent_reverse *r, int fd, char ret_gone[ID_SIZE + 1])
{
	struct peer *p = (size_t)fd < r->peer_room ? r->peers[fd] : NULL;

	if (!p)
		return;
	if (p->kind == PEER_PENDING) {
		on_pending(r, p);
	} else if (p->kind == PEER_CONTROL && is_control_broken(p)) {
		memcpy(ret_gone, p->sandbox->id, ID_SIZE + 1);
		drop_control(r, p->sandbox);
	} else if (p->kind == PEER_LISTENER) {
		for (unsigned i = 0; i < ACCEPTED_AT_ONCE; i++)
			if (!accept_pending(r, p->sandbox))
				break;
	}
}

static void handle_events(struct agent_reverse *r, const struct epoll_event *events, int count)
{
	for (int i = 0; i < count; i++) {
		char gone[ID_SIZE + 1] = "";

		pthread_mutex_lock(&r->mutex);
		handle_event(r, events[i].data.fd, gone);
		pthread_mutex_unlock(&r->mutex);
		if (*gone && r->options.on_gone)
			r->options.on_gone(r->options.context, gone);
	}
}

static void *run_thread(void *argument)
{
	struct agent_reverse *r = argument;
	struct epoll_event events[EVENTS_AT_ONCE];
	bool is_closing = false;

	while (!is_closing) {
		int count = epoll_wait(r->epoll, events, EVENTS_AT_ONCE, -1);

		handle_events(r, events, count);
		pthread_mutex_lock(&r->mutex);
		is_closing = r->is_closing;
		pthread_mutex_unlock(&r->mutex);
	}
	return NULL;
}

int agent_reverse_open(const struct agent_reverse_options *options, struct agent_reverse **ret,
                       struct error *err)
{
	struct agent_reverse *r = memory_new(sizeof(*r));
	struct epoll_event event = {.events = EPOLLIN};

	*r = (struct agent_reverse){.options = *options,
	                            .dir = memory_text(options->dir),
	                            .epoll = epoll_create1(EPOLL_CLOEXEC),
	                            .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	event.data.fd = r->wake;
	pthread_mutex_init(&r->mutex, NULL);
	errno = 0;
	if (r->epoll < 0 || r->wake < 0 ||
	    epoll_ctl(r->epoll, EPOLL_CTL_ADD, r->wake, &event) < 0 ||
	    (errno = thread_start(&r->thread, NULL, run_thread, r)) != 0) {
		(void)FAIL_ERRNO(err, "begin to accept agents");
		auto_close(&r->epoll);
		auto_close(&r->wake);
		free(r->dir);
		free(r);
		return -1;
	}
	*ret = r;
	return 0;
}

static void free_sandbox(struct reverse_sandbox *s)
{
	pthread_cond_destroy(&s->changed);
	free(s);
}

/* Called with the mutex held. The last thread that waits frees it. */
static void forget_sandbox(struct agent_reverse *r, struct reverse_sandbox *s)
{
	map_remove(&r->sandboxes, s->id);
	s->is_forgotten = true;
	drop_control(r, s);
	LIST_EACH (&s->pending, struct peer, p, item)
		free_pending(r, p, false);
	remove_peer(r, &s->listener, false);
	if (s->users > 0)
		pthread_cond_broadcast(&s->changed);
	else
		free_sandbox(s);
}

void agent_reverse_close(struct agent_reverse *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->mutex);
	r->is_closing = true;
	pthread_mutex_unlock(&r->mutex);
	(void)!write(r->wake, &(uint64_t){1}, sizeof(uint64_t));
	pthread_join(r->thread, NULL);
	pthread_mutex_lock(&r->mutex);
	for (;;) {
		size_t at = 0;
		struct reverse_sandbox *s = map_next(&r->sandboxes, &at, &(const char *){NULL});

		if (!s)
			break;
		forget_sandbox(r, s);
	}
	pthread_mutex_unlock(&r->mutex);
	map_done(&r->sandboxes);
	pthread_mutex_destroy(&r->mutex);
	auto_close(&r->epoll);
	auto_close(&r->wake);
	free(r->peers);
	free(r->dir);
	free(r);
}

/* The container's root may be another user than ours, so the modes let every user in; the folder
 * above is closed to the users of the host, and inside the token tells agents from other code. */
static int open_folder(const char *dir, const char *id, int *ret_fd, struct error *err)
{
	AUTO_CLOSE int above = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (above < 0 || (mkdirat(above, id, 0755) < 0 && errno != EEXIST))
		return FAIL_ERRNO(err, "make the folder of a socket in '%s'", dir);
	AUTO_CLOSE int folder = openat(above, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0 || fchmod(folder, 0755) < 0)
		return FAIL_ERRNO(err, "open '%s/%s'", dir, id);
	*ret_fd = TAKE_FD(folder);
	return 0;
}

int agent_reverse_make_folder(struct agent_reverse *r, const char *id, struct error *err)
{
	AUTO_CLOSE int fd = -1;

	if (!id_is_valid(id))
		return FAIL(err, ERROR_INVALID, "'%s' is no sandbox id", id);
	return open_folder(r->dir, id, &fd, err);
}

static int make_socket(const char *dir, const char *id, int *ret_fd, struct error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	AUTO_CLOSE int folder = -1;

	if (open_folder(dir, id, &folder, err) < 0)
		return -1;
	if (unlinkat(folder, SOCKET_NAME, 0) < 0 && errno != ENOENT)
		return FAIL_ERRNO(err, "remove '%s/%s/" SOCKET_NAME "'", dir, id);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" SOCKET_NAME,
	               folder);
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    fchmodat(folder, SOCKET_NAME, 0666, 0) < 0 || listen(fd, BACKLOG) < 0)
		return FAIL_ERRNO(err, "listen in '%s/%s'", dir, id);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int agent_reverse_listen(struct agent_reverse *r, const char *id, const char *token,
                         struct error *err)
{
	AUTO_CLOSE int fd = -1;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);

	if (!id_is_valid(id) || !*token || strlen(token) > AGENT_TOKEN_MAX)
		return FAIL(err, ERROR_INVALID, "'%s' is no sandbox with a token", id);
	if (map_find(&r->sandboxes, id))
		return 0;
	if (make_socket(r->dir, id, &fd, err) < 0)
		return -1;
	struct reverse_sandbox *s = memory_new(sizeof(*s));
	(void)snprintf(s->id, sizeof(s->id), "%s", id);
	(void)snprintf(s->token, sizeof(s->token), "%s", token);
	list_init(&s->pending);
	list_init(&s->waiters);
	thread_condition_init(&s->changed);
	s->listener = (struct peer){.kind = PEER_LISTENER, .sandbox = s, .fd = TAKE_FD(fd)};
	if (add_peer(r, &s->listener, err) < 0) {
		close(s->listener.fd);
		free_sandbox(s);
		return -1;
	}
	map_put(&r->sandboxes, s->id, s);
	return 0;
}

void agent_reverse_forget(struct agent_reverse *r, const char *id)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);
	struct reverse_sandbox *s = map_find(&r->sandboxes, id);

	if (s)
		forget_sandbox(r, s);
}

bool agent_reverse_is_connected(struct agent_reverse *r, const char *id)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);
	const struct reverse_sandbox *s = map_find(&r->sandboxes, id);

	return s && s->control;
}

bool agent_reverse_listens(struct agent_reverse *r, const char *id)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);

	return map_find(&r->sandboxes, id) != NULL;
}

void agent_reverse_remove_folder(struct agent_reverse *r, const char *id)
{
	char name[ID_SIZE + sizeof("/" SOCKET_NAME)];
	AUTO_CLOSE int above = -1;

	if (!id_is_valid(id))
		return;
	(void)snprintf(name, sizeof(name), "%s/" SOCKET_NAME, id);
	above = open(r->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (above >= 0) {
		(void)unlinkat(above, name, 0);
		(void)unlinkat(above, id, AT_REMOVEDIR);
	}
}

/* Called with the mutex held, which it releases for the wait. It may return before a change. -1:
 * the sandbox is forgotten, time is up, or the call is cancelled. */
static int wait_changed(struct agent_reverse *r, struct reverse_sandbox *s,
                        const struct cancel *cancel, int64_t deadline, struct error *err)
{
	int64_t look_at = cancel ? deadline_after(CANCEL_LOOK_MS) : deadline;

	if (cancel_is_said(cancel))
		return FAIL(err, ERROR_UNAVAILABLE, "the call was cancelled");
	if (deadline_poll_ms(deadline) == 0)
		return FAIL(err, ERROR_TIMEOUT,
		            "the agent of sandbox '%s' has not connected in time", s->id);
	thread_wait(&s->changed, &r->mutex, look_at < deadline ? look_at : deadline);
	if (s->is_forgotten)
		return FAIL(err, ERROR_UNAVAILABLE, "sandbox '%s' has just ended", s->id);
	return 0;
}

/* Called with the mutex held. */
static int await_control(struct agent_reverse *r, struct reverse_sandbox *s,
                         const struct cancel *cancel, int64_t deadline, struct error *err)
{
	while (!s->control)
		if (wait_changed(r, s, cancel, deadline, err) < 0)
			return -1;
	return 0;
}

/* Called with the mutex held. */
static int ask_stream(struct reverse_sandbox *s, struct stream_waiter *w, struct error *err)
{
	AUTO(buf_done) struct buf frame = BUF(64);
	const struct agent_open message = {.stream = ++s->stream_last};

	w->stream = message.stream;
	w->is_lost = false;
	if (wire_encode(&frame, AGENT_OPEN, agent_open_shape, &message, err) < 0)
		return -1;
	if (send(s->control->fd, frame.data, frame.size, MSG_DONTWAIT | MSG_NOSIGNAL) !=
	    (ssize_t)frame.size)
		return FAIL(err, ERROR_UNAVAILABLE, "the agent of sandbox '%s' does not listen",
		            s->id);
	return 0;
}

/* Called with the mutex held. */
static int await_stream(struct agent_reverse *r, struct reverse_sandbox *s, int64_t deadline,
                        struct stream_waiter *w, struct error *err)
{
	w->is_lost = true;
	while (w->fd < 0) {
		if (w->is_lost && await_control(r, s, w->cancel, deadline, err) < 0)
			return -1;
		if (w->is_lost && ask_stream(s, w, err) < 0)
			return -1;
		if (w->fd < 0 && wait_changed(r, s, w->cancel, deadline, err) < 0)
			return -1;
	}
	return 0;
}

/* Called with the mutex held. */
static struct reverse_sandbox *hold_sandbox(struct agent_reverse *r, const char *id,
                                            struct error *err)
{
	struct reverse_sandbox *s = map_find(&r->sandboxes, id);

	if (!s)
		error_missing(err, HERE, "sandbox", id);
	else
		s->users++;
	return s;
}

/* Called with the mutex held. */
static void release_sandbox(struct reverse_sandbox *s)
{
	assert(s->users > 0);
	if (--s->users == 0 && s->is_forgotten)
		free_sandbox(s);
}

int agent_reverse_await(struct agent_reverse *r, const char *id, int64_t deadline,
                        struct error *err)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);
	struct reverse_sandbox *s = hold_sandbox(r, id, err);

	if (!s)
		return -1;
	int ret = await_control(r, s, NULL, deadline, err);
	release_sandbox(s);
	return ret;
}

int agent_reverse_connect(struct agent_reverse *r, const char *id, int64_t deadline, int *ret_fd,
                          struct error *err)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);
	struct stream_waiter w = {.fd = -1, .cancel = cancel_current()};
	struct reverse_sandbox *s = hold_sandbox(r, id, err);

	if (!s)
		return -1;
	list_append(&s->waiters, &w.item);
	int ret = await_stream(r, s, deadline, &w, err);
	list_remove(&w.item);
	release_sandbox(s);
	if (ret == 0)
		*ret_fd = w.fd;
	else
		auto_close(&w.fd);
	return ret;
}

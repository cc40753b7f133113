/* SPDX-License-Identifier: Apache-2.0 */
#include "credential/sender.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/id.h"
#include "base/log.h"
#include "base/map.h"
#include "base/thread.h"
#include "credential/control.h"
#include "credential/rule.h"

#define ANSWER_S 5
#define AGAIN_MS 500 /* between attempts to reach a proxy that is away */

struct sent_set {
	size_t size;
	char sandbox[ID_SIZE + 1];
	char text[];
};

struct credential_sender {
	pthread_mutex_t mutex;
	pthread_t thread;
	char path[108];
	bool has_thread, ends, is_settled;
	int fd;          /* -1: not connected */
	int event_fd;    /* wakes the thread */
	struct map sets; /* sandbox id -> struct sent_set */
	pthread_mutex_t usage_mutex;
	struct credential_usage usage;
};

static void free_set(struct sent_set *s)
{
	if (!s)
		return;
	explicit_bzero(s->text, s->size);
	free(s);
}

static void wake_watcher(const struct credential_sender *s)
{
	const uint64_t one = 1;

	(void)!write(s->event_fd, &one, sizeof(one));
}

static int connect_proxy(struct credential_sender *s, struct error *err)
{
	const struct timeval patience = {.tv_sec = ANSWER_S};
	struct sockaddr_un there = {.sun_family = AF_UNIX};
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(there.sun_path, sizeof(there.sun_path), "%s", s->path);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
	    connect(fd, (const struct sockaddr *)&there, sizeof(there)) < 0)
		return FAIL(err, ERROR_UNAVAILABLE, "the credential proxy is not reached");
	s->fd = TAKE_FD(fd);
	return 0;
}

static bool send_whole(int fd, const void *data, size_t size)
{
	for (size_t at = 0; at < size;) {
		ssize_t sent = send(fd, (const char *)data + at, size - at, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return false;
		at += (size_t)sent;
	}
	return true;
}

/* A failure other than the proxy's refusal ends the connection. */
static int exchange_message(struct credential_sender *s, enum control_kind kind, struct span body,
                            struct error *err)
{
	const struct control_head head = {kind, (uint32_t)body.size};
	char answer = 0;
	ssize_t got = -1;

	if (send_whole(s->fd, &head, sizeof(head)) && send_whole(s->fd, body.data, body.size))
		do
			got = recv(s->fd, &answer, 1, 0);
		while (got < 0 && errno == EINTR);
	if (got == 1 && answer == CONTROL_DONE)
		return 0;
	if (got == 1)
		return FAIL(err, ERROR_INVALID, "the credential proxy refuses the set");
	fd_forget(&s->fd);
	return FAIL(err, ERROR_UNAVAILABLE, "the credential proxy does not answer");
}

static int send_all_sets(struct credential_sender *s, struct error *err)
{
	const struct sent_set *set;
	const char *sandbox;
	size_t at = 0;

	while ((set = map_next(&s->sets, &at, &sandbox))) {
		struct error refusal = {0};

		if (exchange_message(s, CONTROL_PUT, (struct span){set->text, set->size},
		                     &refusal) == 0)
			continue;
		if (s->fd < 0) {
			*err = refusal;
			return -1;
		}
		log_warning("credentials of a sandbox are not in use", TEXT("sandbox", sandbox),
		            FAILURE(&refusal));
	}
	return s->is_settled ? exchange_message(s, CONTROL_SETTLED, (struct span){NULL, 0}, err)
	                     : 0;
}

/* Connects and sends everything, if there is no connection. *ret_is_new: all of it was sent. */
static int reach_proxy(struct credential_sender *s, bool *ret_is_new, struct error *err)
{
	*ret_is_new = s->fd < 0;
	if (s->fd >= 0)
		return 0;
	if (!s->path[0])
		return FAIL(err, ERROR_UNSUPPORTED, "this server has no credential proxy");
	if (connect_proxy(s, err) < 0)
		return -1;
	wake_watcher(s);
	return send_all_sets(s, err);
}

/* Notices that the proxy has gone, and sends all sets to the next one. */
static void *watch_proxy(void *context)
{
	struct credential_sender *s = context;
	bool ends = false, is_away = false;

	while (!ends) {
		uint64_t count;
		struct pollfd fds[] = {{s->event_fd, POLLIN, 0}, {-1, POLLRDHUP, 0}};

		{
			AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&s->mutex);
			struct error ignored = {0};
			bool is_new;

			if (s->fd < 0 && s->sets.count > 0 && !s->ends)
				(void)!reach_proxy(s, &is_new, &ignored);
			fds[1].fd = s->fd;
			is_away = s->fd < 0 && s->sets.count > 0;
		}
		(void)poll(fds, COUNT_OF(fds), is_away ? AGAIN_MS : -1);
		if (fds[0].revents)
			(void)!read(s->event_fd, &count, sizeof(count));
		AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&s->mutex);

		/* A connection that this thread did not look at may have its number. */
		if (fds[1].revents && s->fd == fds[1].fd &&
		    recv(s->fd, &count, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
			fd_forget(&s->fd);
		ends = s->ends;
	}
	return NULL;
}

int credential_sender_new(const char *path, struct credential_sender **ret, struct error *err)
{
	struct credential_sender *s = memory_new(sizeof(*s));

	s->fd = -1;
	s->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	(void)pthread_mutex_init(&s->mutex, NULL);
	(void)pthread_mutex_init(&s->usage_mutex, NULL);
	if (strlen(path) >= sizeof(s->path)) {
		credential_sender_free(s);
		return FAIL(err, ERROR_INVALID, "'%s' is too long for a socket", path);
	}
	(void)snprintf(s->path, sizeof(s->path), "%s", path);
	if (s->event_fd < 0 || thread_start(&s->thread, NULL, watch_proxy, s) != 0) {
		credential_sender_free(s);
		return FAIL(err, ERROR_SYSTEM, "start the sender of credentials");
	}
	s->has_thread = true;
	*ret = s;
	return 0;
}

void credential_sender_free(struct credential_sender *s)
{
	const char *sandbox;
	size_t at = 0;
	void *set;

	if (!s)
		return;
	if (s->has_thread) {
		(void)pthread_mutex_lock(&s->mutex);
		s->ends = true;
		(void)pthread_mutex_unlock(&s->mutex);
		wake_watcher(s);
		(void)pthread_join(s->thread, NULL);
	}
	while ((set = map_next(&s->sets, &at, &sandbox)))
		free_set(set);
	map_done(&s->sets);
	auto_close(&s->fd);
	auto_close(&s->event_fd);
	(void)pthread_mutex_destroy(&s->mutex);
	(void)pthread_mutex_destroy(&s->usage_mutex);
	free(s);
}

static struct sent_set *write_set(const struct credential_set *set)
{
	AUTO(buf_done) struct buf text = BUF_SECRET(CREDENTIAL_SET_TEXT_MAX);
	struct sent_set *s = NULL;

	credential_set_write(&text, set);
	if (!text.overflowed && id_is_valid(set->sandbox)) {
		s = memory_new(sizeof(*s) + text.size);
		s->size = text.size;
		memcpy(s->text, text.data, text.size);
		(void)snprintf(s->sandbox, sizeof(s->sandbox), "%s", set->sandbox);
	}
	return s;
}

static bool is_same_set(const struct sent_set *a, const struct sent_set *b)
{
	return a->size == b->size && memcmp(a->text, b->text, a->size) == 0;
}

int credential_sender_put(struct credential_sender *s, const struct credential_set *set,
                          struct error *err)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&s->mutex);
	struct sent_set *now = write_set(set), *before;
	bool is_new;
	int result;

	if (!now)
		return FAIL(err, ERROR_TOO_LARGE, "the credentials of a sandbox are too large");
	before = map_find(&s->sets, now->sandbox);
	if (s->fd >= 0 && before && is_same_set(now, before)) {
		/* The proxy has it: a proxy that goes is noticed, and the next one gets all sets.
		 */
		free_set(now);
		return 0;
	}
	if (!s->path[0]) {
		free_set(now);
		return FAIL(err, ERROR_UNSUPPORTED, "this server has no credential proxy");
	}
	before = map_put(&s->sets, now->sandbox, now);
	result = reach_proxy(s, &is_new, err);
	if (result == 0)
		result = exchange_message(s, CONTROL_PUT, (struct span){now->text, now->size}, err);
	if (result < 0 && err->code == ERROR_INVALID) {
		(void)map_remove(&s->sets, now->sandbox);
		if (before)
			(void)map_put(&s->sets, before->sandbox, before);
		free_set(now);
		return -1;
	}
	free_set(before);
	wake_watcher(s);
	return result;
}

int credential_sender_remove(struct credential_sender *s, const char *sandbox, struct error *err)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&s->mutex);
	struct sent_set *set = map_remove(&s->sets, sandbox);
	bool is_new, was_there = set != NULL;

	free_set(set);
	if (!was_there && s->fd < 0)
		return 0;
	if (!s->path[0] || !id_is_valid(sandbox))
		return 0;
	if (reach_proxy(s, &is_new, err) < 0)
		return -1;
	return exchange_message(s, CONTROL_REMOVE, span_of(sandbox), err);
}

int credential_sender_settle(struct credential_sender *s, struct error *err)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&s->mutex);
	bool is_new;

	s->is_settled = true;
	/* A proxy that nothing was ever put to has nothing to remove. */
	if (s->fd < 0 && s->sets.count == 0)
		return 0;
	if (reach_proxy(s, &is_new, err) < 0)
		return -1;
	return is_new ? 0 : exchange_message(s, CONTROL_SETTLED, (struct span){NULL, 0}, err);
}

/* False when there is no connection, or no answer, which ends it. */
static bool ask_usage(struct credential_sender *s, struct control_usage *ret)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&s->mutex);
	struct error ignored = {0};

	if (s->fd < 0 || exchange_message(s, CONTROL_USAGE, (struct span){NULL, 0}, &ignored) < 0)
		return false;
	if (recv(s->fd, ret, sizeof(*ret), MSG_WAITALL) == (ssize_t)sizeof(*ret))
		return true;
	fd_forget(&s->fd);
	return false;
}

void credential_sender_measure(struct credential_sender *s)
{
	struct control_usage now = {.sandboxes = 0};

	if (!ask_usage(s, &now))
		now = (struct control_usage){.sandboxes = 0};
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&s->usage_mutex);
	s->usage = (struct credential_usage){.sandboxes = now.sandboxes,
	                                     .connections = now.connections,
	                                     .memory = now.memory,
	                                     .memory_largest = now.memory_largest,
	                                     .refused = now.refused};
}

struct credential_usage credential_sender_usage(struct credential_sender *s)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&s->usage_mutex);

	return s->usage;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/receiver.h — an HTTP server on a loopback port that keeps what it is sent.
 *
 * Each request is answered by the next answer of `answers`, then by 200. While the receiver holds,
 * requests are read and not answered. One thread; a test waits for requests, never for time. */
#pragma once

#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "unit.h"
#include "unit/loopback.h"

#define RECEIVER_MAX 32
#define RECEIVER_WAIT_S 20

struct receiver {
	int listener;
	uint16_t port;
	char url[64];
	pthread_t thread;
	pthread_mutex_t mutex; /* over all below */
	pthread_cond_t changed;
	const char *answers[RECEIVER_MAX]; /* "500 Oops\r\nRetry-After: 1\r\n\r\nbody" */
	unsigned answered;
	bool holds;
	int held[RECEIVER_MAX];
	unsigned held_count;
	char *requests[RECEIVER_MAX]; /* head and body */
	unsigned count;
};

static inline void receiver_answer(struct receiver *r, int fd)
{
	const char *answer = r->answered < RECEIVER_MAX ? r->answers[r->answered] : NULL;
	char text[2048];
	int size;

	r->answered++;
	size = snprintf(text, sizeof(text), "HTTP/1.1 %s", answer ? answer : "200 OK\r\n\r\n");
	(void)!send(fd, text, (size_t)size, MSG_NOSIGNAL);
	close(fd);
}

/* NULL: the client has gone. */
static inline char *receiver_read(int fd)
{
	size_t size = 0, room = 256 * 1024;
	char *text = calloc(1, room);

	while (size + 1 < room) {
		ssize_t got = recv(fd, text + size, room - 1 - size, 0);
		const char *end, *length;

		if (got <= 0)
			break;
		size += (size_t)got;
		end = strstr(text, "\r\n\r\n");
		length = strcasestr(text, "\r\nContent-Length:");
		if (end && (!length || length > end ||
		            size >= (size_t)(end + 4 - text) + strtoul(length + 17, NULL, 10)))
			return text;
	}
	free(text);
	return NULL;
}

static inline void receiver_take(struct receiver *r, int fd)
{
	char *text = receiver_read(fd);

	(void)pthread_mutex_lock(&r->mutex);
	if (!text || r->count == RECEIVER_MAX) {
		free(text);
		close(fd);
	} else {
		r->requests[r->count++] = text;
		if (r->holds)
			r->held[r->held_count++] = fd;
		else
			receiver_answer(r, fd);
	}
	(void)pthread_cond_broadcast(&r->changed);
	(void)pthread_mutex_unlock(&r->mutex);
}

static inline void *receiver_run(void *context)
{
	struct receiver *r = context;

	for (int fd; (fd = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0;)
		receiver_take(r, fd);
	return NULL;
}

static inline void receiver_open(struct receiver *r)
{
	*r = (struct receiver){0};
	r->listener = loopback_listen(&r->port);
	(void)snprintf(r->url, sizeof(r->url), "http://127.0.0.1:%u", r->port);
	(void)pthread_mutex_init(&r->mutex, NULL);
	(void)pthread_cond_init(&r->changed, NULL);
	assert_int_equal(pthread_create(&r->thread, NULL, receiver_run, r), 0);
}

static inline void receiver_hold(struct receiver *r, bool holds)
{
	(void)pthread_mutex_lock(&r->mutex);
	r->holds = holds;
	while (!holds && r->held_count > 0)
		receiver_answer(r, r->held[--r->held_count]);
	(void)pthread_mutex_unlock(&r->mutex);
}

/* Waits for as many requests in all. */
static inline void receiver_await(struct receiver *r, unsigned count)
{
	struct timespec until;
	int result = 0;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += RECEIVER_WAIT_S;
	(void)pthread_mutex_lock(&r->mutex);
	while (r->count < count && result == 0)
		result = pthread_cond_timedwait(&r->changed, &r->mutex, &until);
	(void)pthread_mutex_unlock(&r->mutex);
	if (r->count < count)
		fail_msg("%u requests instead of %u", r->count, count);
}

/* The value of a header of a request, until the next call. */
static inline const char *receiver_header(const struct receiver *r, unsigned request,
                                          const char *name)
{
	static char value[512];
	char line[64];
	const char *at;

	(void)snprintf(line, sizeof(line), "\r\n%s: ", name);
	at = strcasestr(r->requests[request], line);
	if (!at)
		return NULL;
	at += strlen(line);
	(void)snprintf(value, sizeof(value), "%.*s", (int)strcspn(at, "\r"), at);
	return value;
}

static inline const char *receiver_body(const struct receiver *r, unsigned request)
{
	return strstr(r->requests[request], "\r\n\r\n") + 4;
}

static inline void receiver_close(struct receiver *r)
{
	(void)shutdown(r->listener, SHUT_RDWR);
	(void)pthread_join(r->thread, NULL);
	receiver_hold(r, false);
	close(r->listener);
	for (unsigned i = 0; i < r->count; i++)
		free(r->requests[i]);
	(void)pthread_cond_destroy(&r->changed);
	(void)pthread_mutex_destroy(&r->mutex);
}

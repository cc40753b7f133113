/* SPDX-License-Identifier: Apache-2.0 */
/* A broker for tests: a thread that welcomes and then answers as the test says. */
#pragma once

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "wire/broker.h"
#include "wire/broker_sandbox.h"

struct fake_broker;
/* One packet came. -1 = the broker crashes: it closes the connection and takes the next one. */
typedef int (*fake_answer)(struct fake_broker *b, uint16_t type, struct span payload,
                           struct wire_fds *fds);

struct fake_broker {
	char dir[64], path[96];
	int listener;
	atomic_int fd;
	uint32_t protocol, can_limit_disk;
	uint32_t can_pause, paused;
	fake_answer answer;
	atomic_uint connections, requests;
	const char *running[4]; /* what LIST tells when the test's answer leaves it to us */
	pthread_t thread;
};

static inline uint64_t fake_request(struct span payload)
{
	uint64_t request;

	memcpy(&request, payload.data, sizeof(request));
	return request;
}

static inline int fake_send(struct fake_broker *b, uint16_t type, const struct wire_member *shape,
                            const void *message)
{
	struct buf packet = BUF(WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX);
	struct error err = {0};
	int ret = wire_encode(&packet, type, shape, message, &err);

	if (ret == 0)
		ret = wire_send_packet(b->fd, buf_span(&packet), NULL, deadline_after(5000), &err);
	buf_done(&packet);
	return ret;
}

static inline int fake_ok(struct fake_broker *b, struct span payload)
{
	struct broker_ok ok = {.request = fake_request(payload)};

	return fake_send(b, BROKER_OK, broker_ok_shape, &ok);
}

static inline int fake_failed(struct fake_broker *b, struct span payload, enum error_code code,
                              const char *text)
{
	struct broker_failed failed = {fake_request(payload), code, 0, text, "try something else"};

	return fake_send(b, BROKER_FAILED, broker_failed_shape, &failed);
}

static inline int fake_list(struct fake_broker *b, struct span payload)
{
	for (size_t i = 0; i < 4 && b->running[i]; i++) {
		struct broker_entry entry = {fake_request(payload), b->running[i], 1, b->paused};
		if (fake_send(b, BROKER_ENTRY, broker_entry_shape, &entry) < 0)
			return -1;
	}
	return fake_ok(b, payload);
}

static inline int fake_take(struct fake_broker *b, struct span packet, struct wire_fds *fds)
{
	struct error err = {0};
	struct span payload;
	uint16_t type;

	if (wire_next(&packet, &type, &payload, NULL, &err) != 1)
		return -1;
	if (type == BROKER_HELLO) {
		struct broker_welcome welcome = {
		        fake_request(payload), b->protocol, b->can_limit_disk, 1, "v2",
		        b->can_pause};
		return fake_send(b, BROKER_WELCOME, broker_welcome_shape, &welcome);
	}
	b->requests++;
	int ret = b->answer(b, type, payload, fds);
	wire_fds_close(fds);
	return ret;
}

static inline void *fake_run(void *argument)
{
	struct fake_broker *b = argument;
	struct buf packet = BUF(WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX);

	for (int fd; (fd = accept4(b->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0;) {
		struct wire_fds fds = {.count = 0};
		struct error err = {0};
		b->fd = fd;
		b->connections++;
		while (wire_receive_packet(b->fd, deadline_after(20000), &packet, &fds, &err) ==
		               0 &&
		       fake_take(b, buf_span(&packet), &fds) == 0)
			;
		b->fd = -1;
		close(fd);
	}
	buf_done(&packet);
	return NULL;
}

static inline void fake_broker_start(struct fake_broker *b, fake_answer answer)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	*b = (struct fake_broker){.protocol = BROKER_PROTOCOL, .fd = -1, .answer = answer};
	snprintf(b->dir, sizeof(b->dir), "/tmp/atoll-test-XXXXXX");
	if (!mkdtemp(b->dir))
		abort();
	snprintf(b->path, sizeof(b->path), "%s/broker.sock", b->dir);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", b->path);
	b->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (bind(b->listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(b->listener, 8) < 0 || pthread_create(&b->thread, NULL, fake_run, b) != 0)
		abort();
}

/* A client that is still there sees the end of its connection. */
static inline void fake_broker_stop(struct fake_broker *b)
{
	shutdown(b->listener, SHUT_RDWR);
	shutdown(b->fd, SHUT_RDWR);
	pthread_join(b->thread, NULL);
	close(b->listener);
	unlink(b->path);
	rmdir(b->dir);
}

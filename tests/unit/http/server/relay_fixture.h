/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/http/server/relay_fixture.h — a server whose routes start one relay at a time; the
 * test holds the other end of its upstream. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "harness.h"

#include "http/server/relay.h"

#define HOST "Host: a\r\n"

/* The upstream's language: a byte that says what, a 32-bit size, the bytes. */
enum frame_kind {
	FRAME_BEGIN = 'b',
	FRAME_DATA = 'd',
	FRAME_TEXT = 't',
	FRAME_END = 'e',
	FRAME_BAD_HEADER = 'h',
	FRAME_UNKNOWN = '?',
};

struct relay_fixture {
	struct fixture fixture;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int upstream; /* the test's end; -1 before the handler has run */
	int started, released, ticks;
	bool clean, client_last;
	bool upstream_gives_up; /* at the first bytes from the client: says why, and closes */
	int returned_fd;
	size_t client_bytes;
	unsigned said;                /* by the upstream of endless_ops */
	struct relay_options options; /* what the handler adds to */
	int64_t length;               /* of the reply */
	bool with_pipe, without_upstream;
};
extern struct relay_fixture shared;
extern const struct relay_ops tick_ops;  /* writes "0", "1", "2", one a tick */
extern const struct relay_ops start_ops; /* the same, after "started " at once */
/* Its upstream takes no bytes, and says another one for each that the relay has read. */
extern const struct relay_ops endless_ops;

void open_all(const struct server_options *limits);
/* Also checks that every relay was released. */
void close_all(int client);
int ask(const char *request); /* on a connection of its own, which is returned */
int await_upstream(void);
bool await_release(void); /* whether it was clean */
bool is_released(void);
bool is_released_within(int64_t time_ms); /* waits at most for that time */
void send_frame(enum frame_kind kind, struct span payload);

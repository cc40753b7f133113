/* SPDX-License-Identifier: Apache-2.0 */
/* provider/native/broker_client.h — the one connection to the broker, shared by all threads.
 *
 * The client's thread reads, and gives each reply to the caller that waits for its request id. When
 * the broker disconnects, calls in flight fail with ERROR_UNAVAILABLE, or are sent again once if
 * they may be repeated. The thread reconnects; new calls wait for that for a while. After each
 * reconnect on_running reports which sandboxes still run. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct broker_ended;
struct broker_disk;
struct broker_welcome;
struct map;
struct wire_fds;
struct wire_member;

struct broker_client;

/* The callbacks run on the client's thread and must not call back into the client. */
struct broker_client_options {
	const char *socket_path;
	void (*on_ended)(void *context, const struct broker_ended *ended);
	/* After a reconnect: keys are the ids of all sandboxes that run. */
	void (*on_running)(void *context, const struct map *running);
	void (*on_tick)(void *context); /* every few seconds */
	void *context;
	void (*on_disk)(void *context, const struct broker_disk *disk); /* or NULL */
};
/* Fails when the broker does not listen or has another protocol. */
MUST_CHECK int broker_client_open(const struct broker_client_options *options,
                                  struct broker_client **ret, struct error *err);
void broker_client_close(struct broker_client *client);
/* From now on calls fail at once while the broker is disconnected. Any thread. */
void broker_client_last_calls(struct broker_client *client);
/* The broker's first WELCOME, which describes this host. */
struct broker_welcome broker_client_welcome(const struct broker_client *client);

struct broker_call {
	uint16_t type;
	const struct wire_member *shape;
	void *message;              /* its first member, the request id, is set by the call */
	const struct wire_fds *fds; /* borrowed; NULL = none */
	bool may_repeat;
	bool never_waits; /* for the connection or a full socket: fails instead */
	/* The reply is one message of this type; 0 = BROKER_OK. With on_entry it is any number of
	 * them, then BROKER_OK. Texts go to the arena. */
	uint16_t reply_type;
	const struct wire_member *reply_shape;
	void *reply;
	size_t reply_size;
	struct arena *arena;
	int (*on_entry)(void *context, const void *reply, struct error *err);
	void *context;
};
MUST_CHECK int broker_client_call(struct broker_client *client, const struct broker_call *call,
                                  int64_t deadline, struct error *err);

/* The two halves of a call that is never repeated, for a caller with work in between. Each begun
 * call needs one broker_client_end. */
struct broker_waiter;
MUST_CHECK int broker_client_begin(struct broker_client *client, const struct broker_call *call,
                                   int64_t deadline, struct broker_waiter **ret, struct error *err);
MUST_CHECK int broker_client_end(struct broker_client *client, const struct broker_call *call,
                                 struct broker_waiter *waiter, int64_t deadline, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* calls/stream.h — a reply that is made of an agent's messages. Private to this folder.
 *
 * A handler sends its request to the agent, makes a stream (a struct that begins with struct
 * stream), hands it to the reply and is done; from then on the loop thread cuts the agent's bytes
 * into messages and calls the stream's table, so that no worker waits for a command or a file. The
 * stream owns the sandbox's hold and gives the connection back when the agent's reply has ended. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "fleet/fleet.h"
#include "http/relay.h"

struct agent_process;
struct stream;
struct wire_member;
struct stream_ops {
	size_t size; /* of the struct that begins with struct stream */
	/* See relay_ops; NULL for none. */
	void (*on_start)(struct stream *s, struct relay *relay);
	/* One message; the payload lives until it returns. AGENT_FAILED comes here only when
	 * takes_failures, else it fails the relay. */
	int (*on_message)(struct stream *s, struct relay *relay, uint16_t type, struct span payload,
	                  struct error *err);
	/* See relay_ops; NULL when the request has no body to come. */
	int (*on_client)(struct stream *s, struct relay *relay, struct span bytes, bool last,
	                 struct error *err);
	void (*on_tick)(struct stream *s, struct relay *relay);
	void (*done)(struct stream *s); /* frees what the struct holds; NULL for nothing */
	bool takes_failures;
};
struct stream {
	const struct stream_ops *ops;
	struct fleet_hold hold;
	struct arena arena; /* of the message at hand; reset after it */
	bool ended;         /* the agent's reply has ended: its connection may be used again */
	unsigned empty;     /* messages without content, see AGENT_EMPTY_FRAMES_MAX */
	int64_t begun_ms;   /* when it was started */
	int64_t first_ms; /* the agent has so long for its first message; 0: it has come, or may */
};

/* Zeroed; takes the hold over. */
struct stream *stream_new(const struct stream_ops *ops, struct fleet_hold *hold);
void stream_free(struct stream *s); /* one that was not started */
struct stream_options {
	int fd;           /* to the agent; the stream's from here on */
	uint16_t request; /* that was sent, see agent_type_is_prompt; 0 = none, or others follow */
	struct span upstream_first; /* copied */
	int64_t tick_ms, idle_timeout_ms;
	int64_t whole_ms;     /* the agent's whole answer has to come in it; 0 = no bound */
	const char *protocol; /* of a WebSocket; NULL = none */
};
void stream_start(struct stream *s, struct reply *reply, const struct stream_options *options);
/* The same after a WebSocket upgrade; on failure the stream and the descriptor are gone. */
MUST_CHECK int stream_start_websocket(struct stream *s, struct request *rq, struct reply *reply,
                                      const struct stream_options *options, struct error *err);

/* Decodes into `message`, whose texts live until the arena is reset. */
MUST_CHECK int stream_decode(struct stream *s, struct span payload, const struct wire_member *shape,
                             void *message, size_t size, struct error *err);
/* The end of a command; stream_decode notes those that it decodes. See provider/command_ends.h. */
void stream_note_end(const struct stream *s, const struct agent_process *p);
/* Encodes and sends to the agent. */
MUST_CHECK int stream_send(struct relay *relay, uint16_t type, const struct wire_member *shape,
                           const void *message, struct error *err);
/* Bytes as frames of at most AGENT_DATA_MAX. */
void stream_send_bytes(struct relay *relay, uint16_t type, struct span bytes);
/* For a message type that the reply at hand has no place for. */
int stream_unexpected(uint16_t type, struct error *err);

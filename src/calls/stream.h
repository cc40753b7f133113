/* SPDX-License-Identifier: Apache-2.0 */
/* calls/stream.h — a reply that is made of an agent's messages.
 *
 * A handler sends its request to the agent, makes a stream (a struct that begins with struct
 * stream), hands it to the reply and returns. The loop thread then cuts the agent's bytes into
 * messages and calls the stream's functions, so no worker waits for a command or a file. The stream
 * owns the sandbox's hold. It gives the connection back when the agent's reply has ended. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "fleet/core/fleet_hold.h"
#include "http/server/relay.h"

struct activity_note;
struct agent_process;
struct stream;
struct stream_timing;
struct wire_member;
struct stream_ops {
	size_t size; /* of the struct that begins with struct stream */
	/* See relay_ops; NULL for none. */
	void (*on_start)(struct stream *s, struct relay *relay);
	/* Called for each message; the payload is valid until it returns. AGENT_FAILED fails the
	 * relay, unless takes_failures is set. */
	int (*on_message)(struct stream *s, struct relay *relay, uint16_t type, struct span payload,
	                  struct error *err);
	/* See relay_ops; NULL when the request has no further body. */
	int (*on_client)(struct stream *s, struct relay *relay, struct span bytes, bool last,
	                 struct error *err);
	void (*on_tick)(struct stream *s, struct relay *relay);
	/* The sandbox has ended; `err` says so. 0: the relay was finished. -1, or NULL: it fails
	 * with `err`. */
	int (*on_sandbox_end)(struct stream *s, struct relay *relay, const struct error *err);
	void (*done)(struct stream *s); /* frees what the struct holds; NULL for nothing */
	bool takes_failures;
	bool is_process; /* the messages are those of the process that the note is about */
};
struct stream {
	const struct stream_ops *ops;
	struct fleet_hold hold;
	struct arena arena; /* of the current message; reset after it */
	bool ended;         /* the agent's reply has ended: its connection can be reused */
	unsigned empty;     /* messages without content, see AGENT_EMPTY_FRAMES_MAX */
	int64_t begun_ms;   /* when the stream was started */
	int64_t first_ms;   /* time for the agent's first message; 0: no limit, or it has arrived */
	/* The call's activity, or NULL. The stream ends it, and forgets it when it was never
	 * started. The stream adds the bytes of files and, with ops->is_process, the output and the
	 * end of the process. */
	struct activity_note *note;
	bool is_started;
	struct stream_timing *timing; /* NULL: not started */
};

/* Zeroed; takes the hold over. */
struct stream *stream_new(const struct stream_ops *ops, struct fleet_hold *hold);
/* Before stream_start only. */
void stream_free(struct stream *s);
struct stream_options {
	int fd; /* to the agent; the stream closes it */
	/* Type of the sent request, see agent_type_is_prompt and _quick; 0 = no deadline. */
	uint16_t request;
	struct span upstream_first; /* copied */
	int64_t tick_ms, idle_timeout_ms;
	const char *protocol; /* subprotocol of a WebSocket; NULL = none */
};
void stream_start(struct stream *s, struct reply *reply, const struct stream_options *options);
/* The same after a WebSocket upgrade. On failure the stream is freed and the descriptor closed. */
MUST_CHECK int stream_start_websocket(struct stream *s, struct request *rq, struct reply *reply,
                                      const struct stream_options *options, struct error *err);

/* Decodes into `message`, whose texts are valid until the arena is reset. */
MUST_CHECK int stream_decode(struct stream *s, struct span payload, const struct wire_member *shape,
                             void *message, size_t size, struct error *err);
/* Records the end of a command (provider/command_ends.h). stream_decode records the ends that it
 * decodes. */
void stream_note_end(const struct stream *s, const struct agent_process *p);
/* Encodes and sends to the agent. */
MUST_CHECK int stream_send(struct relay *relay, uint16_t type, const struct wire_member *shape,
                           const void *message, struct error *err);
/* Sends bytes in frames of at most AGENT_DATA_MAX. */
void stream_send_bytes(struct relay *relay, uint16_t type, struct span bytes);
/* Fails: the agent sent a message of this type at the wrong time. Always -1. */
int stream_unexpected(uint16_t type, struct error *err);

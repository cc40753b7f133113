/* SPDX-License-Identifier: Apache-2.0 */
/* credential/passage/passage.h — a request of a sandbox and its answer, on their way through the
 * credential proxy. Loop thread.
 *
 * A passage knows what HTTP means: rules, credentials, masks, limits, refusals. A wire (wire.h)
 * knows how a version of HTTP looks as bytes. The client's wire makes a passage of each request:
 *
 *   client's wire --head, body--> passage --edited head, body--> host's wire
 *   client's wire <--edited head, masked body-- passage <--head, body-- host's wire
 *
 * Bodies wait in a queue for each direction; a wire takes no more input while a queue has
 * PASSAGE_QUEUE_MAX bytes. The client's wire owns the passage. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "credential/passage/draft.h"
#include "credential/passage/frames.h"
#include "credential/passage/mask.h"
#include "sandbox/decision.h"

#define PASSAGE_QUEUE_MAX ((size_t)128 * 1024)
#define PASSAGE_HEAD_MAX ((size_t)64 * 1024)
#define SIGNED_BODY_MAX ((size_t)256 * 1024) /* a signature needs it whole */
/* While a connection holds more, no further body is gathered. */
#define GATHERED_MAX ((size_t)2 * 1024 * 1024)

struct passage;
struct guard;
struct wire;

/* What the passages of a connection share. The owner of the connection sets all but the last
 * three groups, and `now_ms` before each call of a wire. */
struct passage_connection {
	struct guard *guard;
	const char *host;
	uint32_t address;
	struct address6 address6; /* instead of it */
	enum decision_code fault; /* of the host; told to each request */
	int64_t now_ms;           /* monotonic */
	void (*report)(void *context, const struct network_decision *d);
	void *context;
	struct wire *client, *host_wire; /* NULL: not open */
	bool host_is_http2;
	bool is_plain; /* no TLS on either side, on port 80 */

	struct list passages; /* in the order in which they came */
	unsigned passage_count;
	size_t heads_size;     /* of all passages */
	uint64_t progress;     /* grows with each request, each answer and each byte of a body */
	struct passage *spare; /* for the next request */

	uint64_t rules_used[CREDENTIAL_RULES_MAX / 64]; /* bits: counted in limits.connections */

	/* Requests of one rule since their last report. */
	const struct credential_rule *counted_rule;
	uint64_t counted;
	int64_t reported_ms;
};
void passage_connection_init(struct passage_connection *c);
/* Frees passages that are left, and reports what was counted. */
void passage_connection_done(struct passage_connection *c);
/* What its passages and wires hold. A window counts in full: its peer may fill it at any time. */
size_t passage_connection_memory(const struct passage_connection *c);

struct passage_queue {
	struct buf bytes;
	size_t sent;      /* at the front */
	size_t ready;     /* may be sent; the rest may begin a value */
	struct buf kinds; /* of each byte of a WebSocket's frames; else empty */
	bool has_ended;
};
/* What may be sent now. */
struct span passage_ready(const struct passage_queue *q);
void passage_sent(struct passage_queue *q, size_t size);
static inline size_t passage_unsent(const struct passage_queue *q)
{
	return q->bytes.size - q->sent;
}
static inline bool passage_is_drained(const struct passage_queue *q)
{
	return q->has_ended && q->sent == q->bytes.size;
}

enum request_state {
	REQUEST_GATHERED, /* its body is collected for a signature */
	REQUEST_READY,    /* the host's wire may take it */
	REQUEST_TAKEN,    /* the host's wire has sent its head */
	REQUEST_OVER,     /* refused, or the host's wire has sent all of it */
};
enum answer_state { ANSWER_NONE, ANSWER_BODY, ANSWER_TUNNEL };

/* The head of an answer as the client gets it; 1xx come before the head of the answer itself. */
struct passage_head {
	int status;
	const char *reason; /* "" = none */
	struct head_field *fields;
	size_t count;
	int64_t content_length; /* -1: not known */
	bool has_body;          /* as status and method have it: it may be empty */
	bool is_whole;          /* nothing follows the head */
	bool is_upgrade;
};

struct passage {
	struct list link;
	struct passage_connection *connection;
	struct arena arena;
	struct http_head head;              /* of the request; the client's wire fills it */
	struct draft draft;                 /* what the host's wire sends */
	const struct credential_rule *rule; /* borrowed from the guard */
	enum request_state request_state;
	enum answer_state answer_state;
	struct passage_queue request, answer;
	int64_t request_bytes;
	struct head_field *trailers, *request_trailers; /* of the answer, of the request */
	size_t trailer_count, request_trailer_count;
	char websocket_accept[64]; /* "" = none is asked for */
	size_t head_size;          /* of both heads, as far as they count for heads_size */
	bool is_masked;
	struct mask_stream masked, masked_control; /* of the answer's body; of a control frame */
	struct frame_reader frames;                /* of a WebSocket whose messages are masked */
	bool is_held;         /* bytes of the answer wait for more, or for a pause */
	bool was_begun;       /* a pause let all go but bytes that begin a value: guard_take_hold */
	bool answer_is_whole; /* with its head, which the host's wire knows */
	bool is_cut;          /* the answer never becomes whole */
	uint32_t cut_code;    /* why, as HTTP/2 has it */
	int64_t answered_ms;  /* when the last piece of the answer came */

	/* Of the wires: streams of HTTP/2 (0: none; HTTP/1.1 has 1), and bytes that the peer's
	 * window does not have back yet. */
	int32_t client_stream, host_stream;
	size_t client_unacked, host_unacked;
};

#define PASSAGE_HEADS_MAX ((size_t)512 * 1024)
/* Counts a head of this size, which the passage keeps until it ends. False when the connection's
 * passages have too much of them. */
MUST_CHECK bool passage_keep_head(struct passage *x, size_t size);
/* Appends it to the connection's passages. */
struct passage *passage_new(struct passage_connection *c);
/* The client's wire is done with it; the host's wire forgets it. */
void passage_free(struct passage *x);

/* The client's wire */

/* The head is in x->head, its text in x->arena. Refuses it, or makes the draft. */
void passage_take_request(struct passage *x);
/* A head that cannot be parsed. */
void passage_refuse(struct passage *x, enum decision_code code);
/* False when the piece is over a limit or the stated length: the request cannot go on, and is
 * refused if nothing is answered yet. */
MUST_CHECK bool passage_add_request(struct passage *x, struct span piece);
/* Keeps those that may reach the host. Call it before passage_end_request. Their text is the
 * arena's. */
void passage_take_request_trailers(struct passage *x, const struct http_head *h);
/* False when the body is shorter than stated. */
MUST_CHECK bool passage_end_request(struct passage *x);

/* The host's wire */

/* False when the answer cannot be told to the client. */
MUST_CHECK bool passage_take_answer(struct passage *x, const struct http_head *h,
                                    const char *reason);
/* False when it is over a limit. */
MUST_CHECK bool passage_add_answer(struct passage *x, struct span piece);
void passage_end_answer(struct passage *x);
/* Call it before passage_end_answer. Their text is copied. */
void passage_take_trailers(struct passage *x, const struct http_head *h);
/* The host gives no whole answer: refused with this code, or cut with a code of HTTP/2 when the
 * client has its head. */
void passage_fail(struct passage *x, enum decision_code code, uint32_t cut_code);
/* No head went to the host: the client may send the request again on another connection. */
void passage_return(struct passage *x);

/* Lets go what is held back and begins no value, if no piece came for `silent_ms`. False when a
 * later call can do no more. */
bool passage_flush(struct passage *x, int64_t silent_ms);

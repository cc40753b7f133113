/* SPDX-License-Identifier: Apache-2.0 */
/* credential/h2/session.h — what both sides of HTTP/2 share: a session of nghttp2, its output, and
 * limits against floods. Private to this folder. Loop thread. */
#pragma once

#include <nghttp2/nghttp2.h>

#include "credential/passage/passage.h"
#include "credential/passage/wire.h"
#include "credential/h2/block.h"

#define STREAMS_MAX 100
#define STREAM_WINDOW                                                                              \
	((int32_t)(320 * 1024)) /* more than SIGNED_BODY_MAX, to see what is over it */
/* A connection begins with the smallest window of the protocol, and gets the large one when it has
 * used half of that and the sandbox has room for it (guard.h). */
#define CONNECTION_WINDOW_MIN ((int32_t)65535)
#define CONNECTION_WINDOW ((int32_t)(1024 * 1024))
/* Streams that are refused by name while the sandbox holds too much; others are reset. */
#define REFUSED_STREAMS_MAX 8

/* Of a peer, in each FLOOD_MS: more ends the connection with ENHANCE_YOUR_CALM. */
#define FLOOD_MS 10000
#define RESETS_MAX 200       /* RST_STREAM, CVE-2023-44487 */
#define EMPTY_FRAMES_MAX 500 /* PING, SETTINGS, PRIORITY, DATA without bytes or end */
#define CONTINUATIONS_MAX 8  /* of one head */

struct h2_side;
struct h2_session {
	struct wire wire; /* first */
	const struct h2_side *side;
	nghttp2_session *nghttp2;
	struct h2_block block; /* the head that is on its way; heads do not interleave */
	unsigned continuations, resets, empty_frames;
	int64_t counted_since_ms;
	size_t library_memory; /* of nghttp2: states of streams, tables of HPACK, frames to send */
	size_t received;       /* bytes of bodies, until the window is the large one */
	bool is_flooded;
	bool has_farewell; /* GOAWAY was submitted */
};

static inline struct h2_session *session_of(struct wire *w)
{
	return CONTAINER_OF(w, struct h2_session, wire);
}

/* What differs between the sides. A result other than 0 is an error of nghttp2. */
struct h2_side {
	int (*on_head)(struct h2_session *s, const nghttp2_frame *frame);
	int (*on_data)(struct h2_session *s, struct passage *x, struct span piece);
	void (*on_end)(struct h2_session *s, struct passage *x);
	void (*on_close)(struct h2_session *s, struct passage *x, uint32_t code);
	struct passage_queue *(*outgoing)(struct passage *x);
	/* What follows that body. */
	size_t (*trailers)(const struct passage *x, const struct head_field **ret);
	bool is_host;
};
/* Takes `s`, which has its wire; NULL when nghttp2 refuses. */
struct wire *h2_session_open(struct h2_session *s, const struct h2_side *side);
void h2_session_free(struct wire *w);

bool h2_read(struct wire *w);
/* Adds frames to the wire's output. */
bool h2_pump(struct h2_session *s);
bool h2_wants(const struct wire *w);

/* The body of a message, from the queue that h2_side.outgoing names. */
nghttp2_data_provider h2_body(struct passage *x);
/* The passage of a stream, or NULL. */
struct passage *h2_passage(struct h2_session *s, int32_t stream);
/* Ends the stream; its passage is no longer the session's. */
void h2_reset(struct h2_session *s, int32_t stream, uint32_t code);
/* Opens the windows by bytes that `queue` does not hold any more; stream 0: it is over, and the
 * connection's window alone has to be opened. */
void h2_acknowledge(struct h2_session *s, int32_t stream, size_t *unacked,
                    const struct passage_queue *queue);
/* Opens the connection's window by all bytes of a stream. */
void h2_release(struct h2_session *s, size_t *unacked);
/* A header as nghttp2 wants it: `name` has to be in lower case. */
nghttp2_nv h2_field(const char *name, const char *value, bool is_secret);
/* Copies a name in lower case. */
const char *h2_name(struct arena *a, const char *name);

/* SPDX-License-Identifier: Apache-2.0 */
#include "credential/h2/session.h"

#include <ctype.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "credential/passage/guard.h"

#define FRAME_HEAD_SIZE 9

struct passage *h2_passage(struct h2_session *s, int32_t stream)
{
	return nghttp2_session_get_stream_user_data(s->nghttp2, stream);
}

/* nghttp2 resets a stream of which a callback fails so. */
static int fail_stream(void)
{
	return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static int on_begin_headers(UNUSED nghttp2_session *n, UNUSED const nghttp2_frame *frame,
                            void *context)
{
	struct h2_session *s = context;

	h2_block_begin(&s->block);
	return 0;
}

/* The callbacks of nghttp2 have up to eight parameters. */
#define HEADER                                                                                     \
	const uint8_t *name, size_t name_size, const uint8_t *value, size_t value_size,            \
	        UNUSED uint8_t flags

static int on_header(UNUSED nghttp2_session *n, UNUSED const nghttp2_frame *frame, HEADER,
                     void *context)
{
	struct h2_session *s = context;

	h2_block_add(&s->block, (struct span){(const char *)name, name_size},
	             (struct span){(const char *)value, value_size});
	return 0;
}

/* nghttp2 would leave the field out, and go on. */
static int on_invalid_header(UNUSED nghttp2_session *n, UNUSED const nghttp2_frame *frame, HEADER,
                             void *context)
{
	struct h2_session *s = context;

	(void)name;
	(void)name_size;
	(void)value;
	(void)value_size;
	s->block.is_refused = true;
	return 0;
}

static bool is_empty(const nghttp2_frame_hd *hd)
{
	switch (hd->type) {
	case NGHTTP2_PING:
	case NGHTTP2_SETTINGS:
	case NGHTTP2_PRIORITY:
		return true;
	case NGHTTP2_DATA:
		return hd->length == 0 && !(hd->flags & NGHTTP2_FLAG_END_STREAM);
	default:
		return false;
	}
}

/* A peer can make more work with these than they cost it. */
static int on_begin_frame(UNUSED nghttp2_session *n, const nghttp2_frame_hd *hd, void *context)
{
	struct h2_session *s = context;
	int64_t now = s->wire.connection->now_ms;

	if (now - s->counted_since_ms >= FLOOD_MS) {
		s->counted_since_ms = now;
		s->resets = s->empty_frames = 0;
	}
	s->continuations = hd->type == NGHTTP2_CONTINUATION ? s->continuations + 1 : 0;
	s->resets += hd->type == NGHTTP2_RST_STREAM;
	s->empty_frames += is_empty(hd);
	if (s->continuations <= CONTINUATIONS_MAX && s->resets <= RESETS_MAX &&
	    s->empty_frames <= EMPTY_FRAMES_MAX)
		return 0;
	(void)nghttp2_session_terminate_session(s->nghttp2, NGHTTP2_ENHANCE_YOUR_CALM);
	s->is_flooded = true;
	return NGHTTP2_ERR_CALLBACK_FAILURE;
}

/* A client can also make this side reset its streams, by frames that break the protocol. */
static int on_sent(UNUSED nghttp2_session *n, const nghttp2_frame *frame, void *context)
{
	struct h2_session *s = context;

	if (frame->hd.type == NGHTTP2_RST_STREAM)
		switch (frame->rst_stream.error_code) {
		case NGHTTP2_PROTOCOL_ERROR:
		case NGHTTP2_FLOW_CONTROL_ERROR:
		case NGHTTP2_STREAM_CLOSED:
		case NGHTTP2_FRAME_SIZE_ERROR:
			s->resets++;
			break;
		default:
			break;
		}
	return 0;
}

static int on_frame(UNUSED nghttp2_session *n, const nghttp2_frame *frame, void *context)
{
	struct h2_session *s = context;
	struct passage *x;
	int result = 0;

	/* That of a client is about pushes, which it gets none of. */
	if (frame->hd.type == NGHTTP2_GOAWAY && s->side->is_host)
		s->wire.is_closing = true;
	if (frame->hd.type == NGHTTP2_HEADERS)
		result = s->side->on_head(s, frame);
	if ((frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) ||
	    !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		return result;
	x = h2_passage(s, frame->hd.stream_id);
	if (x)
		s->side->on_end(s, x);
	return result;
}

#define PIECE const uint8_t *data, size_t size

static int on_data(UNUSED nghttp2_session *n, UNUSED uint8_t flags, int32_t stream, PIECE,
                   void *context)
{
	struct h2_session *s = context;
	struct passage *x = h2_passage(s, stream);

	s->received += size;
	if (x)
		return s->side->on_data(s, x, (struct span){(const char *)data, size});
	/* Of a stream that was let go: the connection has its bytes back. */
	(void)nghttp2_session_consume_connection(s->nghttp2, size);
	return 0;
}

static int on_close(UNUSED nghttp2_session *n, int32_t stream, uint32_t code, void *context)
{
	struct h2_session *s = context;
	struct passage *x = h2_passage(s, stream);

	if (x)
		s->side->on_close(s, x, code);
	return 0;
}

/* The end of a body that trailers follow is not the stream's end. */
static void submit_trailers(struct h2_session *s, int32_t stream, struct passage *x)
{
	const struct head_field *trailers;
	nghttp2_nv fields[HEAD_FIELDS_MAX];
	size_t count = s->side->trailers(x, &trailers);

	for (size_t i = 0; i < count; i++)
		fields[i] =
		        h2_field(h2_name(&x->arena, trailers[i].name), trailers[i].value, false);
	(void)nghttp2_submit_trailer(s->nghttp2, stream, fields, count);
}

#define ROOM UNUSED uint8_t *room, size_t size, uint32_t *flags

static ssize_t read_body(UNUSED nghttp2_session *n, int32_t stream, ROOM,
                         UNUSED nghttp2_data_source *source, void *context)
{
	struct h2_session *s = context;
	struct passage *x = h2_passage(s, stream);
	const struct passage_queue *q;
	const struct head_field *ignored;
	struct span ready;

	if (!x)
		return fail_stream();
	q = s->side->outgoing(x);
	ready = passage_ready(q);
	if (ready.size == 0 && !passage_is_drained(q))
		return NGHTTP2_ERR_DEFERRED;
	if (ready.size > size)
		ready.size = size;
	*flags |= NGHTTP2_DATA_FLAG_NO_COPY;
	if (q->has_ended && q->sent + ready.size == q->bytes.size) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		if (s->side->trailers(x, &ignored) > 0) {
			*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
			submit_trailers(s, stream, x);
		}
	}
	return (ssize_t)ready.size;
}

/* Writes the frame that read_body has promised, from the queue into the output. */
#define FRAME const uint8_t *frame_head, size_t size

static int send_body(UNUSED nghttp2_session *n, nghttp2_frame *frame, FRAME,
                     UNUSED nghttp2_data_source *source, void *context)
{
	struct h2_session *s = context;
	struct passage *x = h2_passage(s, frame->hd.stream_id);
	struct passage_queue *q;
	struct span ready;

	if (!x || frame->data.padlen > 0)
		return fail_stream();
	if (s->wire.out->size >= WIRE_OUT_MAX)
		return NGHTTP2_ERR_WOULDBLOCK;
	q = s->side->outgoing(x);
	buf_add(s->wire.out, frame_head, FRAME_HEAD_SIZE);
	ready = passage_ready(q);
	buf_add(s->wire.out, ready.data, size);
	passage_sent(q, size);
	s->wire.connection->progress += size;
	return 0;
}

nghttp2_data_provider h2_body(struct passage *x)
{
	return (nghttp2_data_provider){.source = {.ptr = x}, .read_callback = read_body};
}

static void set_calls(nghttp2_session_callbacks *calls)
{
	nghttp2_session_callbacks_set_on_begin_headers_callback(calls, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(calls, on_header);
	nghttp2_session_callbacks_set_on_invalid_header_callback(calls, on_invalid_header);
	nghttp2_session_callbacks_set_on_begin_frame_callback(calls, on_begin_frame);
	nghttp2_session_callbacks_set_on_frame_recv_callback(calls, on_frame);
	nghttp2_session_callbacks_set_on_frame_send_callback(calls, on_sent);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(calls, on_close);
	nghttp2_session_callbacks_set_send_data_callback(calls, send_body);
}

/* The memory of nghttp2 counts for the sandbox (guard.h). The state has no other place for the size
 * of a block than the C library's. */
static void *count_block(struct h2_session *s, void *block)
{
	if (!block)
		abort();
	s->library_memory += malloc_usable_size(block);
	return block;
}

static void *allocate_block(size_t size, void *context)
{
	return count_block(context, malloc(size ? size : 1));
}

static void *allocate_zeroes(size_t count, size_t size, void *context)
{
	return count_block(context, calloc(count ? count : 1, size ? size : 1));
}

static void *resize_block(void *block, size_t size, void *context)
{
	struct h2_session *s = context;

	s->library_memory -= malloc_usable_size(block);
	return count_block(s, realloc(block, size ? size : 1));
}

static void free_block(void *block, void *context)
{
	struct h2_session *s = context;

	s->library_memory -= malloc_usable_size(block);
	free(block);
}

static int open_nghttp2(struct h2_session *s)
{
	nghttp2_mem memory = {s, allocate_block, free_block, allocate_zeroes, resize_block};
	nghttp2_session_callbacks *calls = NULL;
	nghttp2_option *option = NULL;
	int result = -1;

	if (nghttp2_session_callbacks_new(&calls) == 0 && nghttp2_option_new(&option) == 0) {
		set_calls(calls);
		nghttp2_option_set_no_auto_window_update(option, 1);
		nghttp2_option_set_no_closed_streams(option, 1);
		nghttp2_option_set_peer_max_concurrent_streams(option, STREAMS_MAX);
		result = s->side->is_host ? nghttp2_session_client_new3(&s->nghttp2, calls, s,
		                                                        option, &memory)
		                          : nghttp2_session_server_new3(&s->nghttp2, calls, s,
		                                                        option, &memory);
	}
	nghttp2_session_callbacks_del(calls);
	nghttp2_option_del(option);
	return result;
}

static int greet_peer(struct h2_session *s)
{
	const nghttp2_settings_entry settings[] = {
	        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
	        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, PASSAGE_HEAD_MAX},
	        s->side->is_host ? (nghttp2_settings_entry){NGHTTP2_SETTINGS_ENABLE_PUSH, 0}
	                         : (nghttp2_settings_entry){NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
	                                                    STREAMS_MAX}};

	s->wire.window = CONNECTION_WINDOW_MIN;
	return nghttp2_submit_settings(s->nghttp2, NGHTTP2_FLAG_NONE, settings, COUNT_OF(settings));
}

static void widen_window(struct h2_session *s)
{
	if (s->wire.window >= CONNECTION_WINDOW || s->received < CONNECTION_WINDOW_MIN / 2 ||
	    !guard_has_room(s->wire.connection->guard, CONNECTION_WINDOW) ||
	    nghttp2_session_set_local_window_size(s->nghttp2, NGHTTP2_FLAG_NONE, 0,
	                                          CONNECTION_WINDOW) != 0)
		return;
	s->wire.window = CONNECTION_WINDOW;
}

static void measure_session(struct h2_session *s)
{
	s->wire.memory = sizeof(*s) + s->library_memory + h2_block_memory(&s->block);
}

struct wire *h2_session_open(struct h2_session *s, const struct h2_side *side)
{
	s->side = side;
	h2_block_begin(&s->block);
	if (open_nghttp2(s) == 0 && greet_peer(s) == 0)
		return &s->wire;
	h2_session_free(&s->wire);
	return NULL;
}

void h2_session_free(struct wire *w)
{
	struct h2_session *s = session_of(w);

	nghttp2_session_del(s->nghttp2);
	h2_block_done(&s->block);
	free(s);
}

bool h2_read(struct wire *w)
{
	struct h2_session *s = session_of(w);
	ssize_t taken = 0;

	if (w->in->size > 0 && !s->is_flooded)
		taken = nghttp2_session_mem_recv(s->nghttp2, (const uint8_t *)w->in->data,
		                                 w->in->size);

	buf_reset(w->in);
	measure_session(s);
	if (taken >= 0)
		return true;
	/* GOAWAY says why, if a callback of ours has ended it. */
	w->is_closing = true;
	return s->is_flooded && h2_pump(s);
}

bool h2_wants(const struct wire *w)
{
	return w->out->size < WIRE_OUT_MAX;
}

bool h2_pump(struct h2_session *s)
{
	widen_window(s);
	while (s->wire.out->size < WIRE_OUT_MAX) {
		size_t before = s->wire.out->size;
		const uint8_t *data;
		ssize_t size = nghttp2_session_mem_send(s->nghttp2, &data);

		if (size < 0)
			return false;
		buf_add(s->wire.out, data, (size_t)size);
		if (s->wire.out->size == before)
			break;
	}
	measure_session(s);
	return !s->wire.out->overflowed;
}

void h2_reset(struct h2_session *s, int32_t stream, uint32_t code)
{
	(void)nghttp2_session_set_stream_user_data(s->nghttp2, stream, NULL);
	(void)nghttp2_submit_rst_stream(s->nghttp2, NGHTTP2_FLAG_NONE, stream, code);
}

void h2_acknowledge(struct h2_session *s, int32_t stream, size_t *unacked,
                    const struct passage_queue *queue)
{
	size_t held = passage_unsent(queue);

	if (*unacked <= held)
		return;
	if (stream > 0)
		(void)nghttp2_session_consume(s->nghttp2, stream, *unacked - held);
	else
		(void)nghttp2_session_consume_connection(s->nghttp2, *unacked - held);
	*unacked = held;
}

void h2_release(struct h2_session *s, size_t *unacked)
{
	if (*unacked > 0)
		(void)nghttp2_session_consume_connection(s->nghttp2, *unacked);
	*unacked = 0;
}

nghttp2_nv h2_field(const char *name, const char *value, bool is_secret)
{
	return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
	                    .value = (uint8_t *)(uintptr_t)value,
	                    .namelen = strlen(name),
	                    .valuelen = strlen(value),
	                    .flags = is_secret ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE};
}

const char *h2_name(struct arena *a, const char *name)
{
	char *copy = arena_text(a, name);

	for (size_t i = 0; copy[i]; i++)
		copy[i] = (char)tolower((unsigned char)copy[i]);
	return copy;
}

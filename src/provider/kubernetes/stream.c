/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes to an agent's port through the API server: a WebSocket whose binary messages begin with the
 * number of a channel. Inside goes the tunnel of remote/tunnel.c, which has an end of each
 * direction and the agent's token; these channels have neither.
 *
 * Source of the protocol: the subresources "portforward" and "exec" of a pod, subprotocol
 * v4.channel.k8s.io. A port-forward has two channels for each port, data and errors, and each
 * begins with the port's number in two bytes. An exec has stdin, stdout, stderr and a last status.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "http/client/async.h"
#include "json/base64.h"
#include "json/json.h"
#include "provider/kubernetes/kubernetes.h"
#include "provider/remote/carrier.h"
#include "wire/tunnel.h"

#define READ_SIZE 65536
#define IN_MAX (TUNNEL_HEAD_MAX + 2 * READ_SIZE)
#define OUT_MAX (4 * READ_SIZE)
#define SAID_MAX 1024 /* bytes of an error that are kept */
#define KEY_TEXT_MAX 32
#define SUBPROTOCOL "v4.channel.k8s.io"
#define STATUS_CHANNEL 3

/* The way that a path names. */
static const struct stream_way {
	const char *word;
	char sends, receives; /* channels */
	unsigned skipped;     /* bytes at the begin of each channel */
} ways[] = {
        {"/portforward?", 0, 0, 2},
        {"/exec?", 0, 1, 0},
};

struct pod_stream {
	struct remote *remote;
	struct http_stream *under;
	struct http_stream_options above;
	const struct stream_way *way;
	char path[REMOTE_URL_MAX], host[REMOTE_URL_MAX], key[KEY_TEXT_MAX];
	char credential[REMOTE_CREDENTIAL_MAX];
	bool is_open, has_failed;
	bool wants_reads, wants_writes;
	struct tunnel_decoder decoder;
	struct buf in, out;
	struct buf channel; /* the first byte of a message */
	unsigned to_skip;   /* of the data, still */
	struct buf said;    /* on other channels */
};

static void watch_under(struct pod_stream *s)
{
	http_stream_watch(s->under, s->wants_reads, s->wants_writes || s->out.size > 0);
}

static int flush_output(struct pod_stream *s)
{
	while (s->out.size > 0) {
		ptrdiff_t sent = http_stream_send(s->under, buf_span(&s->out));

		if (sent <= 0)
			return (int)sent;
		buf_consume(&s->out, (size_t)sent);
	}
	return 0;
}

/* 1: some came; 0: none for now. */
static int receive_under(struct pod_stream *s)
{
	char *room = buf_reserve(&s->in, READ_SIZE);
	ptrdiff_t got = room ? http_stream_receive(s->under, room, READ_SIZE) : 0;

	if (got <= 0)
		return (int)got;
	buf_commit(&s->in, (size_t)got);
	return 1;
}

static void send_message(struct pod_stream *s, enum tunnel_opcode opcode, struct span payload)
{
	unsigned char mask[4];

	random_bytes(mask, sizeof(mask));
	tunnel_encode(&s->out, opcode, payload, mask);
}

static void fail_opening(struct pod_stream *s, const struct error *err)
{
	s->has_failed = true;
	s->above.on_connected(s->above.context, err);
}

static void refuse_answer(struct pod_stream *s, struct span head, int64_t status)
{
	struct span retry = tunnel_header(head, "Retry-After"), body = buf_span(&s->in);
	int64_t after_s = 0;
	struct error err = {0}, ignored = {0};

	(void)!span_parse_whole(retry, 0, 3600, &after_s, &ignored);
	span_skip(&body, head.size);
	(void)!remote_fail_status(s->remote, (int)status, body, after_s, &err);
	/* Of the pod, which is not there any more, or not yet. */
	if (status == 404 || status == 400 || status == 500)
		err.code = ERROR_UNAVAILABLE;
	fail_opening(s, &err);
}

static void take_answer(struct pod_stream *s, struct span head)
{
	char wanted[TUNNEL_ACCEPT_SIZE];
	int64_t status = 0;
	struct error err = {0};

	if (head.size < 12 || !span_starts_with(head, "HTTP/1.1 ") ||
	    span_parse_whole((struct span){head.data + 9, 3}, 100, 999, &status, &err) < 0)
		status = 0;
	if (status != 101) {
		refuse_answer(s, head, status);
		return;
	}
	tunnel_accept(span_of(s->key), wanted);
	if (!span_equals_text(tunnel_header(head, "Sec-WebSocket-Accept"), wanted) ||
	    !span_equals_text(tunnel_header(head, "Sec-WebSocket-Protocol"), SUBPROTOCOL)) {
		error_clear(&err);
		(void)FAIL(&err, ERROR_UNAVAILABLE,
		           KUBERNETES_TITLE " does not speak " SUBPROTOCOL);
		fail_opening(s, &err);
		return;
	}
	buf_consume(&s->in, head.size);
	s->is_open = true;
	s->above.on_connected(s->above.context, NULL);
}

static void open_more(struct pod_stream *s)
{
	struct error err = {0};
	size_t size;
	int got = receive_under(s);

	if (tunnel_head_is_whole(buf_span(&s->in), &size)) {
		take_answer(s, (struct span){s->in.data, size});
		return;
	}
	if (got < 0 || s->in.size > TUNNEL_HEAD_MAX || flush_output(s) < 0) {
		(void)FAIL(&err, ERROR_UNAVAILABLE, KUBERNETES_TITLE " hung up on a connection");
		fail_opening(s, &err);
		return;
	}
	http_stream_watch(s->under, true, s->out.size > 0);
}

static void on_under_ready(void *context)
{
	struct pod_stream *s = context;

	if (s->has_failed)
		return;
	if (!s->is_open) {
		open_more(s);
		return;
	}
	(void)flush_output(s); /* what is broken shows when it is read */
	watch_under(s);
	s->above.on_ready(s->above.context);
}

static void on_under_connected(void *context, const struct error *failure)
{
	struct pod_stream *s = context;
	AUTO(buf_done) struct buf key = BUF(KEY_TEXT_MAX);
	char nonce[16];

	if (failure) {
		fail_opening(s, failure);
		return;
	}
	random_bytes(nonce, sizeof(nonce));
	base64_encode(&key, (struct span){nonce, sizeof(nonce)});
	(void)snprintf(s->key, sizeof(s->key), "%s", buf_text(&key));
	buf_addf(&s->out,
	         "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: atoll\r\nConnection: Upgrade\r\n"
	         "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n"
	         "Sec-WebSocket-Protocol: " SUBPROTOCOL "\r\n%s%s\r\n",
	         s->path, s->host, s->key, s->credential, *s->credential ? "\r\n" : "");
	open_more(s);
}

static void *open_pod_stream(struct remote *r, const struct remote_reach *reach,
                             const struct http_stream_options *options)
{
	struct pod_stream *s = memory_new(sizeof(*s));
	const struct http_stream_options under = {.url = options->url,
	                                          .timeout_ms = options->timeout_ms,
	                                          .on_connected = on_under_connected,
	                                          .on_ready = on_under_ready,
	                                          .context = s};

	*s = (struct pod_stream){.remote = r,
	                         .above = *options,
	                         .in = BUF(IN_MAX),
	                         .out = BUF(OUT_MAX),
	                         .channel = BUF(1),
	                         .said = BUF(SAID_MAX)};
	for (size_t i = 0; i < COUNT_OF(ways); i++)
		if (strstr(reach->inner, ways[i].word))
			s->way = &ways[i];
	assert(s->way); /* reach_agent writes one of the words */
	s->to_skip = s->way->skipped;
	(void)snprintf(s->path, sizeof(s->path), "%s", reach->inner);
	(void)snprintf(s->host, sizeof(s->host), "%s", strstr(reach->url, "://") + 3);
	(void)snprintf(s->credential, sizeof(s->credential), "%s", reach->credential);
	s->under = http_stream_open(r->http, &under);
	return s;
}

static void free_pod_stream(void *stream)
{
	struct pod_stream *s = stream;

	if (!s)
		return;
	http_stream_free(s->under);
	explicit_bzero(s->credential, sizeof(s->credential));
	buf_done(&s->in);
	buf_done(&s->out);
	buf_done(&s->channel);
	buf_done(&s->said);
	free(s);
}

static void watch_pod_stream(void *stream, bool reads, bool writes)
{
	struct pod_stream *s = stream;

	s->wants_reads = reads;
	s->wants_writes = writes;
	watch_under(s);
}

/* -1: the API server closes. */
static int take_control(struct pod_stream *s)
{
	const struct tunnel_decoder *d = &s->decoder;

	if (d->opcode == TUNNEL_CLOSE)
		return -1;
	if (d->opcode == TUNNEL_PING && s->out.size < OUT_MAX / 2)
		send_message(s, TUNNEL_PONG, (struct span){d->small, d->small_size});
	return 0;
}

/* Data go to `room`, all else to `said`: an error of a port-forward, the error output and the
 * status of an exec, which end the stream. -1: it has ended. */
static int decode_piece(struct pod_stream *s, struct span *rest, struct buf *room, bool *ret_more)
{
	bool is_new = s->channel.size == 0,
	     is_data = !is_new && s->channel.data[0] == s->way->receives;
	struct buf *to = is_new ? &s->channel : is_data ? room : &s->said;
	enum tunnel_event event;
	struct error ignored = {0};

	if (to == &s->said && s->said.size == SAID_MAX)
		return -1;
	if (tunnel_decode(&s->decoder, rest, to, &event, &ignored) < 0 ||
	    (event == TUNNEL_HAS_SMALL && take_control(s) < 0))
		return -1;
	*ret_more = event != TUNNEL_NEEDS_MORE;
	if (event == TUNNEL_HAS_DATA && !s->decoder.has_head)
		buf_reset(&s->channel); /* the message is whole */
	return 0;
}

/* The port's number in front of the data. */
static void skip_front(struct pod_stream *s, struct buf *room)
{
	size_t skipped = room->size < s->to_skip ? room->size : s->to_skip;

	buf_consume(room, skipped);
	s->to_skip -= (unsigned)skipped;
}

static int decode_input(struct pod_stream *s, struct buf *room)
{
	struct span rest = buf_span(&s->in);
	bool more = true;
	int status = 0;

	while (more && status == 0 && rest.size > 0 && room->size < room->size_max) {
		status = decode_piece(s, &rest, room, &more);
		skip_front(s, room);
	}
	buf_consume(&s->in, s->in.size - rest.size);
	return status;
}

static ptrdiff_t receive_pod_stream(void *stream, char *bytes, size_t size)
{
	struct pod_stream *s = stream;
	AUTO(buf_done) struct buf room = BUF(size);
	int got = s->in.size < READ_SIZE ? receive_under(s) : 0;
	int status = decode_input(s, &room);

	memcpy(bytes, room.data ? room.data : "", room.size);
	if (room.size > 0)
		return (ptrdiff_t)room.size;
	return got < 0 || status < 0 ? -1 : 0;
}

static ptrdiff_t send_pod_stream(void *stream, struct span bytes)
{
	struct pod_stream *s = stream;
	AUTO(buf_done) struct buf message = BUF(READ_SIZE + 1);
	size_t size = bytes.size < READ_SIZE ? bytes.size : READ_SIZE;

	if (flush_output(s) < 0)
		return -1;
	if (s->out.size > 0) {
		watch_under(s);
		return 0;
	}
	buf_add_byte(&message, s->way->sends);
	buf_add(&message, bytes.data, size);
	send_message(s, TUNNEL_BINARY, buf_span(&message));
	return flush_output(s) < 0 ? -1 : (ptrdiff_t)size;
}

const struct remote_carrier kubernetes_carrier = {
        .open = open_pod_stream,
        .free = free_pod_stream,
        .watch = watch_pod_stream,
        .receive = receive_pod_stream,
        .send = send_pod_stream,
};

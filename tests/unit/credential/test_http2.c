/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of HTTP/2, and its wires between two peers of nghttp2. */
#include "unit.h"

#include <nghttp2/nghttp2.h>

#include "credential/authority.h"
#include "credential/h1/h1.h"
#include "credential/h2/block.h"
#include "credential/h2/h2.h"
#include "credential/h2/session.h"
#include "credential/passage/guard.h"

#define HOST "api.example.com"
#define VALUE "a-value-of-22-letters"
static struct error err;

struct pair {
	const char *name, *value;
};

static bool read_block(const struct pair *fields, bool has_body, struct arena *a,
                       struct http_head *ret)
{
	struct h2_block b = {.size = 0};
	bool result;

	h2_block_begin(&b);
	for (; fields->name; fields++)
		h2_block_add(&b, span_of(fields->name), span_of(fields->value));
	result = h2_block_request(&b, a, has_body, ret);
	h2_block_done(&b);
	return result;
}

#define BEGIN                                                                                      \
	{":method", "POST"}, {":scheme", "https"},                                                 \
	{                                                                                          \
		":authority", HOST                                                                 \
	}
#define BEGUN                                                                                      \
	BEGIN,                                                                                     \
	{                                                                                          \
		":path", "/a?b"                                                                    \
	}

TEST(a_head_becomes_the_request_that_it_means)
{
	AUTO(arena_done) struct arena a = {0};
	const struct pair fields[] = {
	        BEGUN, {"cookie", "a=b"}, {"x-a", "b"}, {"cookie", "c=d"}, {0}};
	struct http_head head;

	assert_true(read_block(fields, true, &a, &head));
	assert_string_equal(head.method, "POST");
	assert_true(span_equals_text(head.target, "/a?b"));
	assert_string_equal(head.known[HEAD_HOST], HOST);
	assert_string_equal(head_find(&head, "cookie"), "a=b; c=d");
	assert_true(head.chunked);
	assert_true(read_block(fields, false, &a, &head));
	assert_false(head.chunked);
}

TEST(heads_that_mean_two_things_are_refused)
{
	AUTO(arena_done) struct arena a = {0};
	const struct pair bad[][6] = {
	        {BEGUN, {"x-a", "b\r\nc: d"}},
	        {BEGUN, {"x\na", "b"}},
	        {BEGUN, {"X-A", "b"}},
	        {BEGUN, {"x-a", " b"}},
	        {BEGUN, {"transfer-encoding", "chunked"}},
	        {BEGUN, {"te", "gzip"}},
	        {BEGUN, {"host", "other.example.com"}},
	        {BEGUN, {"content-length", "-1"}},
	        {BEGUN, {":path", "/c"}},
	        {BEGUN, {":protocol", "websocket"}},
	        {BEGUN, {":status", "200"}},
	        {BEGIN},
	        {BEGIN, {":path", "/a HTTP/1.1"}},
	        {BEGIN, {":path", "https://x/"}},
	        {BEGIN, {"x-a", "b"}, {":path", "/a"}},
	        {{":method", "A B"}, {":scheme", "https"}, {":authority", HOST}, {":path", "/a"}},
	        {{":method", "GET"}, {":scheme", "http"}, {":authority", HOST}, {":path", "/a"}},
	        {{":method", "GET"}, {":scheme", "https"}, {":path", "/a"}},
	};
	struct http_head head;

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		if (read_block(bad[i], true, &a, &head))
			fail_msg("head %zu", i);
}

TEST(a_head_that_grows_past_its_limit_is_refused)
{
	AUTO(arena_done) struct arena a = {0};
	struct h2_block b = {.size = 0};
	struct http_head head;
	char value[1000];

	memset(value, 'a', sizeof(value));
	h2_block_begin(&b);
	h2_block_add(&b, SPAN(":status"), SPAN("200"));
	for (size_t i = 0; i < 70; i++)
		h2_block_add(&b, SPAN("x-a"), (struct span){value, sizeof(value)});
	assert_true(b.is_refused && b.lines.size < (size_t)70 * 1000);
	assert_false(h2_block_answer(&b, &a, true, &head));
	h2_block_done(&b);
}

/* A connection with a peer of nghttp2 on each side that speaks HTTP/2. */
struct peer {
	nghttp2_session *session;
	struct wire *wire;
	struct buf in, out; /* of the wire */
	struct buf body, fields;
	uint32_t reset;
	unsigned never_indexed;
	bool is_done;
};

struct world {
	struct guard *guard;
	struct passage_connection connection;
	struct peer client, host;
};

/* The callbacks of nghttp2 have up to eight parameters. */
#define HEADER                                                                                     \
	const uint8_t *name, size_t name_size, const uint8_t *value, size_t value_size,            \
	        uint8_t flags
#define PIECE const uint8_t *data, size_t size

static int on_header(UNUSED nghttp2_session *n, UNUSED const nghttp2_frame *frame, HEADER,
                     void *context)
{
	struct peer *p = context;

	buf_addf(&p->fields, "%.*s: %.*s\n", (int)name_size, (const char *)name, (int)value_size,
	         (const char *)value);
	p->never_indexed += (flags & NGHTTP2_NV_FLAG_NO_INDEX) != 0;
	return 0;
}

static int on_data(UNUSED nghttp2_session *n, UNUSED uint8_t flags, UNUSED int32_t stream, PIECE,
                   void *context)
{
	struct peer *p = context;

	buf_add(&p->body, data, size);
	return 0;
}

static int on_frame(UNUSED nghttp2_session *n, const nghttp2_frame *frame, void *context)
{
	struct peer *p = context;

	p->is_done = p->is_done || (frame->hd.type <= NGHTTP2_HEADERS &&
	                            frame->hd.flags & NGHTTP2_FLAG_END_STREAM);
	if (frame->hd.type == NGHTTP2_RST_STREAM)
		p->reset = frame->rst_stream.error_code;
	return 0;
}

static void open_peer(struct peer *p, bool is_client, int32_t window)
{
	const nghttp2_settings_entry settings[] = {
	        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, (uint32_t)window}};
	nghttp2_session_callbacks *calls;

	assert_int_equal(nghttp2_session_callbacks_new(&calls), 0);
	nghttp2_session_callbacks_set_on_header_callback(calls, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(calls, on_frame);
	assert_int_equal((is_client ? nghttp2_session_client_new
	                            : nghttp2_session_server_new)(&p->session, calls, p),
	                 0);
	nghttp2_session_callbacks_del(calls);
	assert_int_equal(nghttp2_submit_settings(p->session, 0, settings, 1), 0);
}

static void drop_report(UNUSED void *context, UNUSED const struct network_decision *d)
{
}

#define BY_HEADER "\"kind\":\"header\",\"name\":\"x-key\",\"value\":\"${credential.c.v}\""
#define BY_SIGNATURE                                                                               \
	"\"kind\":\"sigv4\",\"access_key_id\":\"${credential.c.v}\",\"secret_access_key\":"        \
	"\"${credential.c.v}\",\"services\":[\"sqs\"],\"regions\":[\"eu-west-1\"]"

static struct guard *make_guard(const char *inject)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf text = BUF(64 * 1024);
	const char *certificate, *key;
	struct guard *g = NULL;

	assert_int_equal(
	        credential_authority_make(&a, "aaaaaaaaaaaaaaaaaaaa", &certificate, &key, &err), 0);
	buf_add_text(&text,
	             "{\"sandbox\":\"aaaaaaaaaaaaaaaaaaaa\",\"credentials\":[{\"name\":\"c\","
	             "\"hosts\":[\"" HOST "\"],\"fields\":{\"v\":\"" VALUE "\"}}],"
	             "\"rules\":[{\"host\":\"" HOST "\",\"action\":\"inject\",\"inject\":[{");
	buf_addf(&text, "%s}]}],\"ca_certificate\":", inject);
	json_write_text(&text, span_of(certificate));
	buf_add_text(&text, ",\"ca_key\":");
	json_write_text(&text, span_of(key));
	buf_add_text(&text, "}");
	if (guard_new(buf_span(&text), &g, &err) < 0)
		fail_msg("%s", err.text);
	return g;
}

/* A client's window that stands for a client of HTTP/1.1. */
#define SPEAKS_HTTP1 (-1)

static void open_world_of(struct world *w, struct guard *guard, bool host_is_http2,
                          int32_t client_window)
{
	*w = (struct world){.guard = guard};
	w->connection = (struct passage_connection){.guard = w->guard,
	                                            .host = HOST,
	                                            .now_ms = 1,
	                                            .report = drop_report,
	                                            .host_is_http2 = host_is_http2};
	passage_connection_init(&w->connection);
	for (unsigned i = 0; i < 2; i++) {
		struct peer *p = i == 0 ? &w->client : &w->host;
		const struct wire base = {
		        .connection = &w->connection, .in = &p->in, .out = &p->out};

		p->in = p->out = p->body = p->fields = BUF(4 * 1024 * 1024);
		p->wire = (i == 0 && client_window == SPEAKS_HTTP1 ? h1_client_new
		           : i == 0                                ? h2_client_new
		           : host_is_http2                         ? h2_host_new
		                                                   : h1_host_new)(&base);
		assert_non_null(p->wire);
	}
	w->connection.client = w->client.wire;
	w->connection.host_wire = w->host.wire;
	if (client_window != SPEAKS_HTTP1)
		open_peer(&w->client, true, client_window);
	if (host_is_http2)
		open_peer(&w->host, false, 65535);
}

static void open_world(struct world *w, bool host_is_http2, int32_t client_window)
{
	open_world_of(w, make_guard(BY_HEADER), host_is_http2, client_window);
}

static void close_world(struct world *w)
{
	w->connection.host_wire = NULL;
	passage_connection_done(&w->connection);
	for (unsigned i = 0; i < 2; i++) {
		struct peer *p = i == 0 ? &w->client : &w->host;

		p->wire->calls->free(p->wire);
		nghttp2_session_del(p->session);
		buf_done(&p->in);
		buf_done(&p->out);
		buf_done(&p->body);
		buf_done(&p->fields);
	}
	guard_free(w->guard);
}

static void swap_frames(struct peer *p)
{
	const uint8_t *data;
	ssize_t size;

	if (!p->session)
		return;
	assert_true(nghttp2_session_mem_recv(p->session, (const uint8_t *)p->out.data,
	                                     p->out.size) >= 0);
	buf_reset(&p->out);
	while ((size = nghttp2_session_mem_send(p->session, &data)) > 0)
		buf_add(&p->in, data, (size_t)size);
}

/* Until nothing moves any more; false when the client's wire says that it is over. */
static bool run_world(struct world *w)
{
	bool goes_on = true;

	for (unsigned i = 0; i < 20 && goes_on; i++) {
		swap_frames(&w->client);
		goes_on = w->client.wire->calls->read(w->client.wire) &&
		          w->host.wire->calls->write(w->host.wire);
		swap_frames(&w->host);
		goes_on = goes_on && w->host.wire->calls->read(w->host.wire) &&
		          w->client.wire->calls->write(w->client.wire);
	}
	swap_frames(&w->client);
	return goes_on;
}

static int32_t ask(struct world *w)
{
	const nghttp2_nv fields[] = {
	        h2_field(":method", "GET", false), h2_field(":scheme", "https", false),
	        h2_field(":authority", HOST, false), h2_field(":path", "/a", false),
	        h2_field("te", "trailers", false)};

	return nghttp2_submit_request(w->client.session, NULL, fields, COUNT_OF(fields), NULL,
	                              NULL);
}

TEST(a_host_of_http1_is_asked_and_its_echo_is_masked)
{
	struct world w;

	open_world(&w, false, 65535);
	assert_int_equal(ask(&w), 1);
	assert_true(run_world(&w));
	assert_non_null(strstr(buf_text(&w.host.out), "GET /a HTTP/1.1\r\nHost: " HOST "\r\n"));
	assert_non_null(strstr(buf_text(&w.host.out), "\r\nx-key: " VALUE "\r\n"));
	buf_add_text(&w.host.in, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Echo: " VALUE
	                         "\r\n\r\n10\r\n-a-value-of-22-l\r\n6\r\netters\r\n0\r\n"
	                         "grpc-status: 0\r\nx-told: " VALUE "\r\n\r\n");
	assert_true(run_world(&w));
	assert_true(w.client.is_done);
	assert_string_equal(buf_text(&w.client.body), "-*********************");
	assert_non_null(strstr(buf_text(&w.client.fields), "x-echo: *********************\n"));
	assert_non_null(strstr(buf_text(&w.client.fields), "grpc-status: 0\n"));
	assert_null(strstr(buf_text(&w.client.fields), VALUE));
	assert_int_equal(w.connection.passage_count, 0);
	close_world(&w);
}

TEST(a_value_is_never_indexed_on_the_way_to_the_host)
{
	struct world w;

	open_world(&w, true, 65535);
	assert_int_equal(ask(&w), 1);
	assert_true(run_world(&w));
	assert_non_null(strstr(buf_text(&w.host.fields), "x-key: " VALUE "\n"));
	assert_non_null(strstr(buf_text(&w.host.fields), "te: trailers\n"));
	assert_int_equal(w.host.never_indexed, 1);
	close_world(&w);
}

TEST(a_host_waits_for_a_client_that_takes_nothing)
{
	static char block[32 * 1024];
	struct world w;
	size_t taken = 0;

	open_world(&w, false, 0);
	assert_int_equal(ask(&w), 1);
	assert_true(run_world(&w));
	buf_add_text(&w.host.in, "HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n");
	for (; taken < 10000000 && w.host.wire->calls->wants(w.host.wire); taken += sizeof(block)) {
		buf_add(&w.host.in, block, sizeof(block));
		assert_true(run_world(&w));
	}
	assert_in_range(taken, PASSAGE_QUEUE_MAX, PASSAGE_QUEUE_MAX + 4 * sizeof(block));
	close_world(&w);
}

#define GIVE                                                                                       \
	UNUSED nghttp2_session *n, UNUSED int32_t stream, uint8_t *room, size_t size,              \
	        uint32_t *flags, nghttp2_data_source *source, UNUSED void *context

static ssize_t give_zeros(GIVE)
{
	int *left = source->ptr;
	size_t given = size < (size_t)*left ? size : (size_t)*left;

	memset(room, '0', given);
	*left -= (int)given;
	if (*left == 0)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)given;
}

/* Requests whose bodies come in turns. The result: those that the host may get, or has got. */
static unsigned send_signed(struct world *w, int *left, unsigned count, int size)
{
	const nghttp2_nv fields[] = {
	        h2_field(":method", "POST", false),
	        h2_field(":scheme", "https", false),
	        h2_field(":authority", HOST, false),
	        h2_field(":path", "/a", false),
	        h2_field("authorization",
	                 "AWS4-HMAC-SHA256 Credential=AKIA/20260101/eu-west-1/sqs/aws4_request, "
	                 "SignedHeaders=host, Signature=0",
	                 false),
	        h2_field("x-amz-date", "20260101T000000Z", false)};
	unsigned whole = 0;

	for (unsigned i = 0; i < count; i++) {
		const nghttp2_data_provider body = {.source = {.ptr = &left[i]},
		                                    .read_callback = give_zeros};

		left[i] = size;
		assert_true(nghttp2_submit_request(w->client.session, NULL, fields,
		                                   COUNT_OF(fields), &body, NULL) > 0);
	}
	assert_true(run_world(w));
	LIST_EACH (&w->connection.passages, struct passage, x, link) {
		assert_int_not_equal(x->request_state, REQUEST_GATHERED);
		whole += x->request.has_ended && x->answer_state == ANSWER_NONE;
	}
	return whole;
}

TEST(bodies_that_are_gathered_do_not_wait_for_each_other)
{
	struct world w;
	int left[100];

	open_world_of(&w, make_guard(BY_SIGNATURE), false, 65535);
	assert_int_equal(send_signed(&w, left, 8, 200 * 1024), 8);
	close_world(&w);
	/* More than a connection may hold: some get an answer, none waits for ever. */
	open_world_of(&w, make_guard(BY_SIGNATURE), false, 65535);
	assert_in_range(send_signed(&w, left, 100, 200 * 1024), 1, 12);
	assert_non_null(strstr(buf_text(&w.client.fields), "x-atoll-refused: limit"));
	close_world(&w);
}

TEST(streams_that_are_reset_rapidly_end_the_connection)
{
	struct world w;
	unsigned count = 0;

	open_world(&w, true, 65535);
	for (bool goes_on = true; goes_on && count < 1000 && !w.client.wire->is_closing; count++) {
		int32_t stream = ask(&w);

		swap_frames(&w.client);
		if (stream > 0)
			(void)nghttp2_submit_rst_stream(w.client.session, 0, stream,
			                                NGHTTP2_CANCEL);
		goes_on = run_world(&w);
	}
	assert_in_range(count, RESETS_MAX, RESETS_MAX + 2);
	close_world(&w);
}

TEST(a_client_that_says_farewell_gets_its_answer)
{
	struct world w;

	open_world(&w, false, 65535);
	assert_int_equal(ask(&w), 1);
	assert_true(run_world(&w));
	assert_int_equal(nghttp2_submit_goaway(w.client.session, 0, 0, NGHTTP2_NO_ERROR, NULL, 0),
	                 0);
	assert_true(run_world(&w));
	assert_false(w.client.wire->is_closing);
	buf_add_text(&w.host.in, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
	(void)run_world(&w);
	assert_string_equal(buf_text(&w.client.body), "hi");
	close_world(&w);
}

TEST(interim_answers_without_end_are_refused)
{
	struct world w;

	open_world(&w, false, 65535);
	assert_int_equal(ask(&w), 1);
	assert_true(run_world(&w));
	for (unsigned i = 0; i < 30000 && w.connection.passage_count > 0; i++) {
		buf_add_text(&w.host.in, "HTTP/1.1 102 Processing\r\n\r\n");
		if (i % 100 == 0 && !run_world(&w))
			break;
	}
	assert_int_equal(w.connection.passage_count, 0);
	assert_non_null(
	        strstr(buf_text(&w.client.fields), "x-atoll-refused: upstream-unreachable"));
	close_world(&w);
}

TEST(a_lost_host_is_told_to_each_stream)
{
	struct world w;

	open_world(&w, true, 65535);
	assert_int_equal(ask(&w), 1);
	assert_int_equal(ask(&w), 3);
	assert_true(run_world(&w));
	assert_true(w.host.wire->calls->on_end(w.host.wire));
	assert_true(run_world(&w) || w.client.wire->is_closing);
	assert_non_null(
	        strstr(buf_text(&w.client.fields), "x-atoll-refused: upstream-unreachable"));
	assert_int_equal(w.connection.passage_count, 0);
	close_world(&w);
}

TEST(frames_about_the_connection_are_no_progress)
{
	struct world w;
	uint64_t before;

	open_world(&w, true, 65535);
	assert_true(run_world(&w));
	before = w.connection.progress;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(nghttp2_submit_ping(w.client.session, 0, NULL), 0);
		assert_int_equal(nghttp2_submit_settings(w.client.session, 0, NULL, 0), 0);
		assert_int_equal(nghttp2_submit_window_update(w.client.session, 0, 0, 1000), 0);
		assert_int_equal(nghttp2_submit_ping(w.host.session, 0, NULL), 0);
		assert_true(run_world(&w));
	}
	assert_int_equal(w.connection.progress, before);
	assert_int_equal(ask(&w), 1);
	assert_true(run_world(&w));
	assert_true(w.connection.progress > before);
	close_world(&w);
}

#define TRAILER(name_, value_)                                                                     \
	{                                                                                          \
		(uint8_t *)(uintptr_t)(name_), (uint8_t *)(uintptr_t)(value_), sizeof(name_) - 1,  \
		        sizeof(value_) - 1, 0                                                      \
	}
/* Of those that nghttp2 lets through. */
static nghttp2_nv trailers[] = {TRAILER("x-checksum", "abc"),
                                TRAILER("x-key", "mine"),
                                TRAILER("authorization", "evil"),
                                TRAILER("cookie", "evil"),
                                TRAILER("content-range", "evil"),
                                TRAILER("if-match", "evil"),
                                TRAILER("x-http-method-override", "evil"),
                                TRAILER("x-forwarded-host", "evil")};

static ssize_t give_trailers(GIVE)
{
	ssize_t given = give_zeros(n, stream, room, size, flags, source, context);

	if (!(*flags & NGHTTP2_DATA_FLAG_EOF))
		return given;
	*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
	assert_int_equal(nghttp2_submit_trailer(n, stream, trailers, COUNT_OF(trailers)), 0);
	return given;
}

static void post_with_trailers(struct world *w, int *left)
{
	const nghttp2_nv fields[] = {
	        h2_field(":method", "POST", false), h2_field(":scheme", "https", false),
	        h2_field(":authority", HOST, false), h2_field(":path", "/a", false)};
	const nghttp2_data_provider body = {.source = {.ptr = left},
	                                    .read_callback = give_trailers};

	assert_true(nghttp2_submit_request(w->client.session, NULL, fields, COUNT_OF(fields), &body,
	                                   NULL) > 0);
	assert_true(run_world(w));
}

#define CHUNKED                                                                                    \
	"POST /a HTTP/1.1\r\nHost: " HOST "\r\nTransfer-Encoding: "                                \
	"chunked\r\n\r\n3\r\n000\r\n0\r\n"
#define LINES                                                                                      \
	"X-Checksum: abc\r\nX-Key: mine\r\nAuthorization: evil\r\nContent-Range: 9\r\nIf-Match: "  \
	"9\r\n"

TEST(trailers_of_a_request_reach_a_host_of_each_version)
{
	struct world w;
	int left = 3;

	open_world(&w, true, 65535);
	post_with_trailers(&w, &left);
	assert_string_equal(buf_text(&w.host.body), "000");
	assert_non_null(strstr(buf_text(&w.host.fields), "x-checksum: abc\n"));
	assert_true(w.host.is_done);
	close_world(&w);
	left = 3;
	open_world(&w, false, 65535);
	post_with_trailers(&w, &left);
	assert_non_null(strstr(buf_text(&w.host.out), "3\r\n000\r\n0\r\nx-checksum: abc\r\n\r\n"));
	close_world(&w);
	for (unsigned i = 0; i < 2; i++) {
		open_world(&w, i == 0, SPEAKS_HTTP1);
		buf_add_text(&w.client.in, CHUNKED LINES "\r\n");
		assert_true(run_world(&w));
		assert_non_null(
		        i == 0 ? strstr(buf_text(&w.host.fields), "x-checksum: abc\n")
		               : strstr(buf_text(&w.host.out), "\r\n0\r\nX-Checksum: abc\r\n\r\n"));
		close_world(&w);
	}
}

TEST(a_trailer_says_nothing_that_a_header_may_not)
{
	static const char *const never[] = {"evil",          "mine",     "content-length: 9",
	                                    "content-range", "if-match", "Content-Range"};
	struct world w;
	int left;

	for (unsigned i = 0; i < 4; i++) {
		left = 3;
		open_world(&w, i & 1, i & 2 ? SPEAKS_HTTP1 : 65535);
		if (i & 2) {
			buf_add_text(&w.client.in, CHUNKED LINES "\r\n");
			assert_true(run_world(&w));
		} else {
			post_with_trailers(&w, &left);
		}
		assert_int_equal(w.connection.passage_count, 1);
		for (size_t j = 0; j < COUNT_OF(never); j++) {
			assert_null(strstr(buf_text(&w.host.fields), never[j]));
			assert_null(strstr(buf_text(&w.host.out), never[j]));
		}
		close_world(&w);
	}
}

TEST(trailers_have_a_limit_and_malformed_ones_go_nowhere)
{
	static char value[9000];
	struct world w;

	memset(value, 'a', sizeof(value) - 1);
	open_world(&w, false, SPEAKS_HTTP1);
	buf_add_text(&w.client.in, CHUNKED);
	for (unsigned i = 0; i < 90; i++)
		buf_addf(&w.client.in, "X-A%u: %.200s\r\n", i, value);
	assert_false(run_world(&w));
	close_world(&w);
	open_world(&w, false, SPEAKS_HTTP1);
	buf_add_text(&w.client.in, CHUNKED "X-Checksum: abc\r\nHost: a\r\nHost: b\r\n\r\n");
	(void)run_world(&w);
	assert_null(strstr(buf_text(&w.host.out), "X-Checksum"));
	close_world(&w);
	open_world(&w, true, 65535);
	trailers[0].value = (uint8_t *)value;
	trailers[0].valuelen = sizeof(value) - 1;
	post_with_trailers(&w, &(int){3});
	trailers[0].value = (uint8_t *)(uintptr_t) "abc";
	trailers[0].valuelen = 3;
	assert_false(w.host.is_done);
	assert_non_null(strstr(buf_text(&w.client.fields), "x-atoll-refused: bad-request"));
	close_world(&w);
}

TEST(a_sandbox_that_holds_too_much_is_told_and_then_cut)
{
	size_t held = 0;
	struct world w;

	open_world(&w, true, 65535);
	guard_charge(w.guard, &held, GUARD_MEMORY_MAX);
	assert_true(w.guard->is_full);
	for (unsigned i = 0; i < REFUSED_STREAMS_MAX; i++)
		assert_true(ask(&w) > 0);
	assert_true(run_world(&w));
	assert_non_null(strstr(buf_text(&w.client.fields), "x-atoll-refused: limit"));
	assert_int_equal(w.client.reset, 0);
	for (unsigned i = 0; i < REFUSED_STREAMS_MAX + 1; i++)
		assert_true(ask(&w) > 0);
	assert_true(run_world(&w));
	assert_int_equal(w.client.reset, NGHTTP2_REFUSED_STREAM);
	/* An eighth has to be free, so that it does not turn with each byte. */
	guard_charge(w.guard, &held, GUARD_MEMORY_MAX - GUARD_MEMORY_MAX / 8);
	assert_true(w.guard->is_full);
	guard_charge(w.guard, &held, 0);
	assert_false(w.guard->is_full);
	assert_int_equal(w.guard->memory, 0);
	close_world(&w);
}

/* How much the client may send after a body of this many zeros, which the host has taken. */
static int32_t window_after(size_t held, int size)
{
	size_t before = 0;
	int32_t window;
	struct world w;
	int left[1];

	open_world(&w, true, 65535);
	guard_charge(w.guard, &before, held);
	assert_int_equal(send_signed(&w, left, 1, size), 1);
	assert_true(run_world(&w));
	assert_int_equal(left[0], 0);
	window = nghttp2_session_get_remote_window_size(w.client.session);
	assert_true(passage_connection_memory(&w.connection) >=
	            (window > CONNECTION_WINDOW_MIN ? CONNECTION_WINDOW : CONNECTION_WINDOW_MIN));
	close_world(&w);
	return window;
}

TEST(a_window_grows_with_use_while_the_sandbox_has_room)
{
	assert_in_range(window_after(0, 1000), 1, CONNECTION_WINDOW_MIN);
	assert_in_range(window_after(0, 200 * 1024), CONNECTION_WINDOW / 2, CONNECTION_WINDOW);
	assert_in_range(window_after(GUARD_MEMORY_MAX - GUARD_MEMORY_MAX / 4, 200 * 1024), 1,
	                CONNECTION_WINDOW_MIN);
}

int main(void)
{
	return RUN(CASE(frames_about_the_connection_are_no_progress),
	           CASE(trailers_of_a_request_reach_a_host_of_each_version),
	           CASE(a_trailer_says_nothing_that_a_header_may_not),
	           CASE(trailers_have_a_limit_and_malformed_ones_go_nowhere),
	           CASE(a_sandbox_that_holds_too_much_is_told_and_then_cut),
	           CASE(a_window_grows_with_use_while_the_sandbox_has_room),
	           CASE(a_head_becomes_the_request_that_it_means),
	           CASE(heads_that_mean_two_things_are_refused),
	           CASE(a_head_that_grows_past_its_limit_is_refused),
	           CASE(a_host_of_http1_is_asked_and_its_echo_is_masked),
	           CASE(a_value_is_never_indexed_on_the_way_to_the_host),
	           CASE(a_host_waits_for_a_client_that_takes_nothing),
	           CASE(bodies_that_are_gathered_do_not_wait_for_each_other),
	           CASE(streams_that_are_reset_rapidly_end_the_connection),
	           CASE(a_client_that_says_farewell_gets_its_answer),
	           CASE(interim_answers_without_end_are_refused),
	           CASE(a_lost_host_is_told_to_each_stream));
}

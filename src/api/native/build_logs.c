/* SPDX-License-Identifier: Apache-2.0 */
/* The log of a build: what there is, or as it comes. It is in memory while the build runs, so a
 * stream costs no worker and no query. */
#include <inttypes.h>
#include <stdlib.h>

#include "api/native/builds.h"
#include "api/output.h"
#include "http/relay.h"

#define PAGE_BYTES ((size_t)1 << 20)
#define WHOLE_BYTES (3 * BUILD_LOG_MAX)
#define LOOK_MS 100
#define UNSENT_MAX ((size_t)128 * 1024)
#define IDLE_LOOKS 150 /* then a client is told that the stream still stands */

/* ---- shapes ---- */

struct logs_query {
	int64_t since;
	bool follow;
	const char *stream;
	uint64_t present;
};
enum logs_row { LOGS_SINCE, LOGS_FOLLOW };
static const struct json_member logs_query_members[] = {
        [LOGS_SINCE] =
                JSON_WHOLE_MEMBER(logs_query, since, .about = "first line that is wanted, from 0"),
        [LOGS_FOLLOW] = JSON_BOOL_MEMBER(logs_query, follow,
                                         .about = "of a stream: go on until the build has ended "
                                                  "(default true)"),
        JSON_TEXT_MEMBER(logs_query, stream, .max = 16,
                         .about = "result (default), sse or ndjson; else as Accept says"),
        JSON_END,
};
const struct json_shape build_logs_query = {
        .name = "BuildLogsQuery",
        .about = "Which lines, and how",
        .size = sizeof(struct logs_query),
        .members = logs_query_members,
        .present_offset = offsetof(struct logs_query, present),
};

struct logs_answer {
	struct span lines;
	int64_t next;
	const char *status;
};
static const struct json_member build_logs_shape_members[] = {
        JSON_RAW_MEMBER(logs_answer, lines,
                        .about = "list of {line, at, step, level, stream, text}"),
        JSON_WHOLE_MEMBER(logs_answer, next, .about = "what to give as since to go on"),
        JSON_TEXT_MEMBER(logs_answer, status, .about = "of the build"),
        JSON_END,
};
JSON_SHAPE(build_logs_shape, "BuildLogs", logs_answer, "Lines of a build's log");

/* ---- texts ---- */

/* Lines of NDJSON as they are, or as server-sent events. */
static void write_lines(struct buf *out, enum output_form form, struct span lines, int64_t first)
{
	struct span line;

	if (form != OUTPUT_SSE) {
		buf_add_span(out, lines);
		return;
	}
	while (span_split(&lines, '\n', &line))
		buf_addf(out, "id: %" PRId64 "\ndata: %.*s\n\n", ++first, (int)line.size,
		         line.data);
}

static const char *list_of(struct arena *a, const struct buf *lines)
{
	char *text = arena_copy(a, buf_span(lines));

	/* The last one ends the list. */
	for (size_t i = 0; i + 1 < lines->size; i++)
		if (text[i] == '\n')
			text[i] = ',';
	return arena_format(a, "[%s]", text);
}

/* ---- what there is ---- */

static int read_some(struct api *api, const char *id, int64_t since, struct buf *out,
                     int64_t *ret_next, struct error *err)
{
	struct build_log *log = fleet_build_log_open(api->fleet, id);

	if (!log)
		return fleet_build_log_load(api->fleet, id, since, out, ret_next, err);
	*ret_next = fleet_build_log_read(log, since, out).next;
	fleet_build_log_close(log);
	return 0;
}

/* The state first: lines that come after it are not missed by who goes on until it has ended. */
static int answer_page(struct request *rq, const char *id, struct reply *reply, struct error *err)
{
	const struct logs_query *q = rq->query;
	const struct fleet_ref ref = build_ref(rq);
	AUTO(buf_done) struct buf lines = BUF(PAGE_BYTES);
	struct build_record r;
	struct logs_answer out;

	if (fleet_build_find(api_of(rq)->fleet, rq->arena, &ref, &r, err) < 0 ||
	    read_some(api_of(rq), id, q->since, &lines, &out.next, err) < 0)
		return -1;
	out.status = build_state_name(r.state);
	out.lines = span_of(list_of(rq->arena, &lines));
	reply_json(reply, &build_logs_shape, &out);
	return 0;
}

static int answer_stored(struct request *rq, const char *id, int64_t since, enum output_form form,
                         struct reply *reply, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(WHOLE_BYTES);
	int64_t next = since;

	do {
		AUTO(buf_done) struct buf lines = BUF(PAGE_BYTES);

		since = next;
		if (read_some(api_of(rq), id, since, &lines, &next, err) < 0)
			return -1;
		write_lines(&text, form, buf_span(&lines), since);
	} while (next > since && !text.overflowed);
	reply_text(reply, output_content_type(form),
	           (struct span){arena_copy(rq->arena, buf_span(&text)), text.size});
	return 0;
}

/* ---- as it comes ---- */

struct log_stream {
	struct build_log *log;
	int64_t next;
	enum output_form form;
	unsigned idle;
};

static void tell(struct log_stream *s, struct relay *relay)
{
	AUTO(buf_done) struct buf lines = BUF(UNSENT_MAX);
	AUTO(buf_done) struct buf text = BUF(4 * UNSENT_MAX);
	struct build_log_position position;

	if (relay_unsent(relay) >= UNSENT_MAX)
		return;
	position = fleet_build_log_read(s->log, s->next, &lines);
	write_lines(&text, s->form, buf_span(&lines), s->next);
	s->next = position.next;
	s->idle = text.size > 0 ? 0 : s->idle + 1;
	if (s->idle == IDLE_LOOKS && s->form == OUTPUT_SSE) {
		buf_add_text(&text, ": still here\n\n");
		s->idle = 0;
	}
	if (text.size > 0)
		relay_write(relay, buf_span(&text));
	if (position.is_whole)
		relay_finish(relay);
}

static void on_start(void *state, struct relay *relay)
{
	const struct log_stream *s = state;

	relay_begin_header(relay, "Cache-Control", "no-store");
	relay_begin(relay, 200, output_content_type(s->form), -1);
}

static void on_tick(void *state, struct relay *relay)
{
	tell(state, relay);
}

static void release(void *state, UNUSED int upstream_fd, UNUSED bool clean)
{
	struct log_stream *s = state;

	fleet_build_log_close(s->log);
	free(s);
}

static const struct relay_ops log_relay = {
        .on_start = on_start, .on_tick = on_tick, .release = release};

static void answer_live(struct build_log *log, int64_t since, enum output_form form,
                        struct reply *reply)
{
	struct log_stream *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	*s = (struct log_stream){.log = log, .next = since, .form = form};
	reply_relay(reply,
	            &(struct relay_options){
	                    .upstream_fd = -1, .ops = &log_relay, .state = s, .tick_ms = LOOK_MS});
}

/* A stream that was broken off goes on behind the last event that its client has seen. */
static int read_since(struct request *rq, int64_t *ret, struct error *err)
{
	const struct logs_query *q = rq->query;
	const char *last = request_header(rq, "Last-Event-ID");

	*ret = q->since;
	if (!last || q->present >> LOGS_SINCE & 1)
		return 0;
	if (span_parse_whole(span_of(last), 0, INT64_MAX, ret, err) < 0)
		return FAIL_CONTEXT(err, "Last-Event-ID");
	return 0;
}

int build_logs_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                   struct error *err)
{
	const struct logs_query *q = rq->query;
	const struct fleet_ref ref = build_ref(rq);
	bool follows = !(q->present >> LOGS_FOLLOW & 1) || q->follow;
	struct build_log *log = NULL;
	struct build_record r;
	enum output_form form;
	int64_t since;

	if (output_form_parse(q->stream, request_header(rq, "Accept"), OUTPUT_RESULT, &form, err) <
	            0 ||
	    fleet_build_find(api_of(rq)->fleet, rq->arena, &ref, &r, err) < 0 ||
	    read_since(rq, &since, err) < 0)
		return -1;
	if (form == OUTPUT_TEXT)
		return FAIL(err, ERROR_INVALID, "stream 'text' is none that a build's log has");
	if (form == OUTPUT_RESULT)
		return answer_page(rq, r.id, reply, err);
	if (follows)
		log = fleet_build_log_open(api_of(rq)->fleet, r.id);
	if (!log)
		return answer_stored(rq, r.id, since, form, reply, err);
	answer_live(log, since, form, reply);
	return 0;
}

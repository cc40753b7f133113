/* SPDX-License-Identifier: Apache-2.0 */
/* The log of a build as a page, as NDJSON or as server-sent events. */
#include <inttypes.h>

#include "calls/build_log.h"
#include "calls/output.h"
#include "fleet/build/build.h"
#include "store/builds.h"
#include "surface/native/builds.h"
#include "surface/native/native.h"

#define PAGE_BYTES ((size_t)1 << 20)

struct build_logs_query {
	int64_t since;
	bool follow;
	const char *stream;
	uint64_t present;
};
enum build_logs_row { LOGS_SINCE, LOGS_FOLLOW };
static const struct json_member build_logs_query_members[] = {
        [LOGS_SINCE] =
                JSON_WHOLE_MEMBER(build_logs_query, since, .about = "first line to return, from 0"),
        [LOGS_FOLLOW] = JSON_BOOL_MEMBER(
                build_logs_query, follow,
                .about = "streams only: continue until the build has ended (default true)"),
        JSON_TEXT_MEMBER(
                build_logs_query, stream, .max = 16,
                .about = "result (default), sse or ndjson; without it the header Accept decides"),
};
JSON_BITS_SHAPE(build_logs_query, "BuildLogsQuery", build_logs_query,
                "Lines to return, and their format");

struct build_logs_answer {
	struct span lines;
	int64_t next;
	const char *status;
};
static const struct json_member build_logs_shape_members[] = {
        JSON_RAW_MEMBER(build_logs_answer, lines,
                        .about = "list of {line, at, step, level, stream, text}"),
        JSON_WHOLE_MEMBER(build_logs_answer, next, .about = "value of since for the next call"),
        JSON_TEXT_MEMBER(build_logs_answer, status, .about = "status of the build"),
};
JSON_SHAPE(build_logs_shape, "BuildLogs", build_logs_answer, "Lines of a build's log");

static void write_lines(struct buf *out, struct span lines, UNUSED int64_t first)
{
	buf_add_span(out, lines);
}

static void write_events(struct buf *out, struct span lines, int64_t first)
{
	struct span line;

	while (span_split(&lines, '\n', &line))
		buf_addf(out, "id: %" PRId64 "\ndata: %.*s\n\n", ++first, (int)line.size,
		         line.data);
}

static const struct build_log_format as_lines = {.content_type = "application/x-ndjson",
                                                 .write = write_lines};
static const struct build_log_format as_events = {
        .content_type = "text/event-stream", .write = write_events, .idle = ": still here\n\n"};

static const char *format_line_list(struct arena *a, const struct buf *lines)
{
	char *text = arena_copy(a, buf_span(lines));

	/* The last newline ends the list and is not replaced. */
	for (size_t i = 0; i + 1 < lines->size; i++)
		if (text[i] == '\n')
			text[i] = ',';
	return arena_format(a, "[%s]", text);
}

/* The state is read before the lines: a client that polls until the build has ended misses no line.
 */
static int reply_log_page(struct request *rq, const char *id, struct reply *reply,
                          struct error *err)
{
	const struct build_logs_query *q = rq->query;
	const struct fleet_ref ref = build_ref(rq);
	AUTO(buf_done) struct buf lines = BUF(PAGE_BYTES);
	struct build_record r;
	struct build_logs_answer out;

	if (fleet_build_find(api_of(rq)->fleet, rq->arena, &ref, &r, err) < 0 ||
	    build_log_read(rq, id, q->since, &lines, &out.next, err) < 0)
		return -1;
	out.status = build_state_name(r.state);
	out.lines = span_of(format_line_list(rq->arena, &lines));
	reply_json(reply, &build_logs_shape, &out);
	return 0;
}

/* A resumed stream continues after the last event that its client received. */
static int parse_since(struct request *rq, int64_t *ret, struct error *err)
{
	const struct build_logs_query *q = rq->query;
	const char *last = request_header(rq, "Last-Event-ID");

	*ret = q->since;
	if (!last || row_is_given(q->present, LOGS_SINCE))
		return 0;
	if (span_parse_whole(span_of(last), 0, INT64_MAX, ret, err) < 0)
		return FAIL_CONTEXT(err, "Last-Event-ID");
	return 0;
}

int build_logs_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                   struct error *err)
{
	const struct build_logs_query *q = rq->query;
	const struct fleet_ref ref = build_ref(rq);
	struct build_log_query query = {.follows = !row_is_given(q->present, LOGS_FOLLOW) ||
	                                           q->follow};
	struct build_record r;
	enum output_form form;

	if (output_form_parse(q->stream, request_header(rq, "Accept"), OUTPUT_RESULT, &form, err) <
	            0 ||
	    fleet_build_find(api_of(rq)->fleet, rq->arena, &ref, &r, err) < 0 ||
	    parse_since(rq, &query.since, err) < 0)
		return -1;
	if (form == OUTPUT_TEXT)
		return FAIL(err, ERROR_INVALID,
		            "stream 'text' is not supported for build logs; known streams: result, "
		            "sse, ndjson");
	if (form == OUTPUT_RESULT)
		return reply_log_page(rq, r.id, reply, err);
	query.id = r.id;
	query.form = form == OUTPUT_SSE ? &as_events : &as_lines;
	return build_log_answer(rq, &query, reply, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server/reply.h"

#include <string.h>
#include <strings.h>

#include "http/server/connection_state.h"
#include "http/server/exchange.h"
#include "json/json.h"

#define EVENT_STREAM "text/event-stream"

struct progress_event {
	const char *message;
	int64_t percent;
};
static const struct json_member progress_known_members[] = {
        JSON_TEXT_MEMBER(progress_event, message),
        JSON_WHOLE_MEMBER(progress_event, percent),
};
static JSON_SHAPE(progress_known, "Progress", progress_event, "What a request waits for");
static const struct json_member progress_unknown_members[] = {
        JSON_TEXT_MEMBER(progress_event, message),
};
static JSON_SHAPE(progress_unknown, "ProgressUnknown", progress_event, "What a request waits for");

/* One type of several in a list, with or without parameters. A quality of 0 is not looked for. */
bool stream_is_accepted(const struct http_exchange *ex)
{
	const char *accept = head_find(&ex->head, "Accept");

	return (ex->request.route->flags & ROUTE_PROGRESS) && accept &&
	       strcasestr(accept, EVENT_STREAM);
}

static void begin_stream(struct http_exchange *ex)
{
	struct http_connection *conn = ex->connection;
	const struct reply_head head = {
	        .status = 200,
	        .content_type = EVENT_STREAM,
	        .framing = REPLY_UNTIL_CLOSE,
	        .keep_alive = false,
	};

	if (ex->is_streamed)
		return;
	ex->is_streamed = true;
	conn->keep_alive = false;
	reply_add_header(&ex->reply.headers, "Cache-Control", "no-store");
	reply_write_head(&conn->out.queue, ex, &head);
}

/* Each line of the data is a field of its own. */
static void add_event(struct buf *out, const char *name, struct span data)
{
	struct span line;

	buf_addf(out, "event: %s\n", name);
	while (data.size) {
		(void)span_split(&data, '\n', &line);
		buf_add_text(out, "data: ");
		buf_add_span(out, line);
		buf_add_byte(out, '\n');
	}
	buf_add_byte(out, '\n');
}

void stream_progress(struct http_exchange *ex)
{
	const struct progress_event event = {ex->why.text, ex->why.awaits.percent};
	AUTO(buf_done) struct buf json = BUF(4096);

	if (!stream_is_accepted(ex) || (ex->is_streamed && strcmp(ex->told, event.message) == 0))
		return;
	begin_stream(ex);
	memcpy(ex->told, ex->why.text, sizeof(ex->told));
	json_write(&json, event.percent < 0 ? &progress_unknown : &progress_known, &event);
	add_event(&ex->connection->out.queue, "progress", buf_span(&json));
}

bool stream_ends(const struct http_exchange *ex)
{
	const struct reply *reply = &ex->reply;
	int status = reply->status ? reply->status : 200;

	if (ex->is_streamed)
		return true;
	return ex->request.route && !ex->failed && status < 300 && reply->body.size &&
	       stream_is_accepted(ex);
}

void stream_end(struct http_exchange *ex)
{
	begin_stream(ex);
	reply_tell(ex, ex->reply.status ? ex->reply.status : 200);
	add_event(&ex->connection->out.queue, ex->failed ? "error" : "result",
	          buf_span(&ex->reply.body));
}

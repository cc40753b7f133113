/* SPDX-License-Identifier: Apache-2.0 */
/* resources/subscribe, and the stream of a session that tells which sandboxes have changed. */
#include "surface/mcp/updates.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "calls/feed.h"
#include "config/config.h"
#include "edge/api.h"
#include "fleet/core/sandboxes.h"
#include "http/server/http.h"
#include "json/write.h"
#include "sandbox/events.h"
#include "store/events.h"
#include "store/sandbox_record.h"
#include "surface/mcp/fixtures.h"
#include "surface/mcp/mcp.h"
#include "surface/mcp/sessions.h"
#include "surface/mcp/surface.h"

static const char *session_of(const struct mcp *m)
{
	return request_header(m->rq, "Mcp-Session-Id");
}

static int find_watched(struct mcp *m, const char *uri, struct mcp_watch *ret, struct error *err)
{
	struct sandbox_record record;
	struct fleet_ref ref = {.project_id = api_project(m->rq)};

	if (strlen(uri) > MCP_WATCH_URI_MAX)
		return FAIL(err, ERROR_INVALID, "uri: at most %d bytes", MCP_WATCH_URI_MAX);
	memcpy(ret->uri, uri, strlen(uri) + 1);
	if (api_of(m->rq)->config->mcp_fixtures && mcp_fixture_is_resource(uri))
		return 0;
	ref.id_or_name = mcp_sandbox_of_uri(m->rq->arena, uri);
	if (!ref.id_or_name)
		return FAIL(err, ERROR_INVALID,
		            "uri: atoll://sandbox/ID is expected; files are not watched");
	if (fleet_find(api_of(m->rq)->fleet, m->rq->arena, &ref, &record, err) < 0)
		return -1;
	memcpy(ret->sandbox_id, record.id, strlen(record.id) + 1);
	return 0;
}

int mcp_resources_subscribe(struct mcp *m, struct buf *out, struct mcp_fault *fault)
{
	const char *uri = json_get_text(m->message.params, "uri", ""), *id = session_of(m);
	struct mcp_watch watch = {.sandbox_id = ""};
	struct error err;

	(void)out;
	if (!id)
		return mcp_refuse(fault, MCP_INVALID_REQUEST, 200,
		                  "a subscription needs a session over HTTP");
	if (find_watched(m, uri, &watch, &err) == 0 &&
	    mcp_sessions_watch(api_of(m->rq)->mcp->sessions, id, &watch, &err) == 0)
		return 0;
	if (err.code == ERROR_NOT_FOUND)
		return mcp_refuse(fault, MCP_NO_RESOURCE, 200, "%s", err.text);
	return mcp_refuse_error(fault, &err);
}

int mcp_resources_unsubscribe(struct mcp *m, struct buf *out, struct mcp_fault *fault)
{
	const char *uri = json_get_text(m->message.params, "uri", "");

	(void)out;
	(void)fault;
	if (session_of(m))
		mcp_sessions_unwatch(api_of(m->rq)->mcp->sessions, session_of(m), uri);
	return 0;
}

#define SUBSCRIPTION_ID "io.modelcontextprotocol/subscriptionId"
#define FIRST_MAX ((size_t)64 * 1024)

/* Freed by the end of the stream. */
struct update_stream {
	struct arena arena;
	bool wants_list;
	/* Of a session, which may change what it watches; or NULL. */
	struct mcp_sessions *sessions;
	const char *session;
	/* Of subscriptions/listen. */
	struct span id; /* JSON */
	struct mcp_watch *watches;
	unsigned count;
};

static void begin_update(struct buf *out, const struct update_stream *stream, const char *method)
{
	buf_add_text(out, "event: message\ndata: ");
	json_begin_object(out, NULL);
	json_add_text(out, "jsonrpc", "2.0");
	json_add_text(out, "method", method);
	json_begin_object(out, "params");
	if (stream->id.size == 0)
		return;
	json_begin_object(out, "_meta");
	json_add_raw(out, SUBSCRIPTION_ID, stream->id);
	json_end_object(out);
}

static void end_update(struct buf *out)
{
	json_end_object(out);
	json_end_object(out);
	buf_add_text(out, "\n\n");
}

static void write_update(struct buf *out, const struct update_stream *stream, int64_t sequence,
                         const char *method, const char *uri)
{
	/* The modern era has no resumption. */
	if (stream->session)
		buf_addf(out, "id: %" PRId64 "\n", sequence);
	begin_update(out, stream, method);
	if (uri)
		json_add_text(out, "uri", uri);
	end_update(out);
}

static unsigned find_watches(const struct update_stream *stream, const char *sandbox_id,
                             struct mcp_watch ret[MCP_WATCHES_MAX])
{
	unsigned count = 0;

	if (stream->session)
		return mcp_sessions_watched(stream->sessions, stream->session, sandbox_id, ret);
	for (unsigned i = 0; i < stream->count; i++)
		if (strcmp(stream->watches[i].sandbox_id, sandbox_id) == 0)
			ret[count++] = stream->watches[i];
	return count;
}

static void write_event(void *context, struct buf *out, const void *row)
{
	const struct event_record *r = row;
	const struct update_stream *stream = context;
	struct mcp_watch watches[MCP_WATCHES_MAX];
	unsigned count;

	if (stream->wants_list && (strcmp(r->kind, event_kind_name(EVENT_SANDBOX_CREATED)) == 0 ||
	                           strcmp(r->kind, event_kind_name(EVENT_SANDBOX_DELETED)) == 0))
		write_update(out, stream, r->sequence, "notifications/resources/list_changed",
		             NULL);
	if (!r->sandbox_id[0])
		return;
	count = find_watches(stream, r->sandbox_id, watches);
	for (unsigned i = 0; i < count; i++)
		write_update(out, stream, r->sequence, "notifications/resources/updated",
		             watches[i].uri);
}

static void end_stream(void *context)
{
	struct update_stream *stream = context;

	if (stream->session)
		mcp_sessions_end_stream(stream->sessions, stream->session);
	arena_done(&stream->arena);
	free(stream);
}

static void reply_updates(struct request *rq, struct update_stream *stream, int64_t after,
                          struct span first, struct reply *reply)
{
	const struct feed_options options = {
	        .filter = {.project_id = api_project(rq), .pattern = "sandbox.*"},
	        .form = OUTPUT_SSE,
	        .after = after,
	        .first = first,
	        .write = write_event,
	        .end = end_stream,
	        .context = stream,
	};

	api_feed_reply(api_of(rq)->feed, &options, reply);
}

int mcp_updates_reply(struct request *rq, const char *session, struct reply *reply,
                      struct error *err)
{
	struct mcp_sessions *sessions = api_of(rq)->mcp->sessions;
	const char *last = request_header(rq, "Last-Event-ID");
	struct event_bounds bounds;
	struct update_stream *stream;
	int64_t after;

	if (store_event_bounds(api_of(rq)->store, &bounds, err) < 0)
		return -1;
	after = bounds.newest;
	if (last && span_parse_whole(span_of(last), 0, bounds.newest, &after, err) < 0)
		return FAIL_CONTEXT(err, "Last-Event-ID");
	if (!mcp_sessions_begin_stream(sessions, session)) {
		(void)FAIL(err, ERROR_CONFLICT, "this session has a stream already");
		return FAIL_HINT(err, "end the other GET /mcp, or begin a session of its own");
	}
	stream = memory_new(sizeof(*stream));
	stream->sessions = sessions;
	stream->session = arena_text(&stream->arena, session);
	stream->wants_list = true;
	reply_updates(rq, stream, after, (struct span){NULL, 0}, reply);
	return 0;
}

static int read_watches(struct mcp *m, const struct json_value *uris,
                        struct mcp_watch ret[MCP_WATCHES_MAX], struct error *err)
{
	if (json_count(uris) > MCP_WATCHES_MAX)
		return FAIL(err, ERROR_LIMIT, "resourceSubscriptions: at most %d", MCP_WATCHES_MAX);
	for (size_t i = 0; i < json_count(uris); i++) {
		ret[i] = (struct mcp_watch){.sandbox_id = ""};
		if (find_watched(m, json_text(json_item_at(uris, i), ""), &ret[i], err) < 0)
			return -1;
	}
	return 0;
}

/* Says which of the wanted notifications the server has. */
static void write_acknowledgement(struct buf *out, const struct update_stream *stream)
{
	begin_update(out, stream, "notifications/subscriptions/acknowledged");
	json_begin_object(out, "notifications");
	if (stream->wants_list)
		json_add_bool(out, "resourcesListChanged", true);
	if (stream->count > 0) {
		json_begin_list(out, "resourceSubscriptions");
		for (unsigned i = 0; i < stream->count; i++)
			json_add_text(out, NULL, stream->watches[i].uri);
		json_end_list(out);
	}
	json_end_object(out);
	end_update(out);
}

int mcp_listen(struct mcp *m, struct reply *reply, struct mcp_fault *fault)
{
	const struct json_value *wanted = json_get(m->message.params, "notifications");
	const struct json_value *uris = json_get(wanted, "resourceSubscriptions");
	struct mcp_watch watches[MCP_WATCHES_MAX];
	AUTO(buf_done) struct buf first = BUF(FIRST_MAX);
	struct event_bounds bounds;
	struct update_stream *stream;
	struct error err;

	if (!wanted)
		return mcp_refuse(fault, MCP_INVALID_PARAMS, 400, "notifications is missing");
	if (read_watches(m, uris, watches, &err) < 0 ||
	    store_event_bounds(api_of(m->rq)->store, &bounds, &err) < 0)
		return mcp_refuse_error(fault, &err);
	stream = memory_new(sizeof(*stream));
	stream->wants_list = json_get_bool(wanted, "resourcesListChanged", false);
	stream->id = (struct span){arena_copy(&stream->arena, m->message.id), m->message.id.size};
	stream->count = (unsigned)json_count(uris);
	stream->watches = ARENA_ARRAY(&stream->arena, struct mcp_watch, stream->count + 1);
	memcpy(stream->watches, watches, stream->count * sizeof(*watches));
	write_acknowledgement(&first, stream);
	reply_updates(m->rq, stream, bounds.newest, buf_span(&first), reply);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/events — events in pages or as a stream. */
#include <string.h>

#include "calls/feed.h"
#include "edge/api.h"
#include "fleet/core/events.h"
#include "fleet/core/sandboxes.h"
#include "sandbox/events.h"
#include "store/events.h"
#include "store/sandbox_record.h"
#include "surface/native/native.h"
#include "surface/native/sandbox_answer.h"

#define LIMIT_USUAL 100
#define LIMIT_MAX 1000

struct events_answer {
	struct json_list items;
	int64_t after, oldest;
};
static const struct json_member events_shape_members[] = {
        JSON_LIST_MEMBER(events_answer, items, &fleet_event_shape),
        JSON_WHOLE_MEMBER(events_answer, after,
                          .about = "value of after for the next page or for a stream"),
        JSON_WHOLE_MEMBER(events_answer, oldest,
                          .about = "sequence of the oldest stored event; 0: there are no events"),
};
static JSON_SHAPE(events_shape, "EventList", events_answer, "Events, oldest first");

struct events_query {
	int64_t after, last, limit;
	int with;
	const char *sandbox, *kind, *stream;
	uint64_t present;
};
static const char *const withs[] = {"object", NULL};
enum events_row { EVENTS_AFTER, EVENTS_LAST, EVENTS_WITH };
static const struct json_member events_query_members[] = {
        [EVENTS_AFTER] =
                JSON_WHOLE_MEMBER(events_query, after, .min = 0,
                                  .about = "sequence of the last event that the client knows; a "
                                           "stream without it starts with new events"),
        [EVENTS_LAST] = JSON_WHOLE_MEMBER(
                events_query, last, .min = 1, .max = LIMIT_MAX,
                .about = "return the newest events, up to this number; instead of after"),
        [EVENTS_WITH] = JSON_CHOICE_MEMBER(
                events_query, with, .choices = withs,
                .about = "object: sandbox.* events have the sandbox as object, in its state now"),
        JSON_WHOLE_MEMBER(events_query, limit, .min = 1, .max = LIMIT_MAX,
                          .about = "events per page (default 100)"),
        JSON_TEXT_MEMBER(events_query, sandbox, .max = SANDBOX_NAME_MAX, .about = "id or name"),
        JSON_TEXT_MEMBER(events_query, kind, .max = EVENT_PATTERN_MAX,
                         .about = "sandbox.started, or sandbox.* for all kinds of a subject"),
        JSON_TEXT_MEMBER(events_query, stream, .max = 16,
                         .about = "result, sse or ndjson; without it the header Accept decides"),
};
static JSON_BITS_SHAPE(events_query, "EventsQuery", events_query, "Filter for events");

static int parse_filter(struct request *rq, struct feed_filter *ret, struct error *err)
{
	const struct events_query *q = rq->query;
	const struct fleet_ref sandbox = {api_visible_project(rq), q->sandbox};

	*ret = (struct feed_filter){.project_id = sandbox.project_id, .pattern = q->kind};
	if (q->kind && event_pattern_check(q->kind, err) < 0)
		return FAIL_CONTEXT(err, "kind");
	return api_resolve_sandbox_id(rq, &sandbox, &ret->sandbox_id, err);
}

static int add_objects(struct request *rq, const struct event_list *events,
                       struct fleet_event *items, struct error *err)
{
	struct span *objects;

	if (event_objects_read(api_of(rq), rq->arena, events, sandbox_object_write, &objects, err) <
	    0)
		return -1;
	for (size_t i = 0; i < events->count; i++)
		items[i].object = objects[i];
	return 0;
}

static int reply_events(struct request *rq, const struct event_page *page, bool with_object,
                        struct reply *reply, struct error *err)
{
	struct store *store = api_of(rq)->store;
	struct event_page settled = *page;
	struct event_bounds bounds;
	struct event_list found;
	struct fleet_event *items;
	struct events_answer out;

	if (store_event_bounds(store, &bounds, err) < 0)
		return -1;
	settled.before = bounds.newest + 1;
	if (store_event_list(store, rq->arena, &settled, &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct fleet_event, found.count);
	for (size_t i = 0; i < found.count; i++)
		items[i] = fleet_event_of(&found.items[i]);
	if (with_object && add_objects(rq, &found, items, err) < 0)
		return -1;
	out = (struct events_answer){
	        .items = {items, found.count, true},
	        .after = found.count > 0 ? items[found.count - 1].sequence : page->after,
	        .oldest = bounds.oldest,
	};
	reply_json(reply, &events_shape, &out);
	return 0;
}

static int reply_filtered_page(struct request *rq, const struct feed_filter *filter,
                               struct reply *reply, struct error *err)
{
	const struct events_query *q = rq->query;
	bool newest = row_is_given(q->present, EVENTS_LAST);
	const struct event_page page = {
	        .project_id = filter->project_id,
	        .sandbox_id = filter->sandbox_id,
	        .pattern = filter->pattern,
	        .after = q->after,
	        .limit = newest     ? q->last
	                 : q->limit ? q->limit
	                            : LIMIT_USUAL,
	        .newest = newest,
	};

	if (newest && (row_is_given(q->present, EVENTS_AFTER) || q->limit))
		return FAIL(err, ERROR_INVALID, "last cannot be combined with after or limit");
	return reply_events(rq, &page, row_is_given(q->present, EVENTS_WITH), reply, err);
}

/* The sequence before the newest `last` events, for a stream that begins with them. */
static int find_newest_start(struct request *rq, const struct feed_filter *filter, int64_t *ret,
                             struct error *err)
{
	const struct events_query *q = rq->query;
	const struct event_page page = {
	        .project_id = filter->project_id,
	        .sandbox_id = filter->sandbox_id,
	        .pattern = filter->pattern,
	        .limit = q->last,
	        .newest = true,
	};
	struct event_list found;

	if (store_event_list(api_of(rq)->store, rq->arena, &page, &found, err) < 0)
		return -1;
	if (found.count > 0)
		*ret = found.items[0].sequence - 1;
	return 0;
}

static int reply_event_stream(struct request *rq, const struct feed_options *options,
                              struct reply *reply, struct error *err)
{
	const struct events_query *q = rq->query;
	struct feed_options o = *options;
	struct event_bounds bounds;
	bool is_given = row_is_given(q->present, EVENTS_AFTER);

	if (o.form == OUTPUT_TEXT)
		return FAIL(err, ERROR_INVALID,
		            "stream 'text' is not supported for events; known streams: result, "
		            "sse, ndjson");
	o.after = q->after;
	if (store_event_bounds(api_of(rq)->store, &bounds, err) < 0 ||
	    last_event_read(rq, &is_given, &o.after, err) < 0)
		return -1;
	if (!is_given)
		o.after = bounds.newest;
	if (!is_given && row_is_given(q->present, EVENTS_LAST) &&
	    find_newest_start(rq, &o.filter, &o.after, err) < 0)
		return -1;
	/* The number comes from another server, or from before a backup was restored. */
	if (o.after > bounds.newest)
		o.after = bounds.newest;
	api_feed_reply(api_of(rq)->feed, &o, reply);
	return 0;
}

static int events_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct events_query *q = rq->query;
	struct feed_options options = {.after = 0};

	(void)body;
	if (row_is_given(q->present, EVENTS_WITH))
		options.write_object = sandbox_object_write;
	if (output_form_parse(q->stream, request_header(rq, "Accept"), OUTPUT_RESULT, &options.form,
	                      err) < 0 ||
	    parse_filter(rq, &options.filter, err) < 0)
		return -1;
	if (options.form == OUTPUT_RESULT)
		return reply_filtered_page(rq, &options.filter, reply, err);
	return reply_event_stream(rq, &options, reply, err);
}

struct sandbox_events_query {
	int64_t after, limit;
};
static const struct json_member sandbox_events_query_members[] = {
        JSON_WHOLE_MEMBER(sandbox_events_query, after, .min = 0,
                          .about = "sequence of the last event that the client knows"),
        JSON_WHOLE_MEMBER(sandbox_events_query, limit, .min = 1, .max = LIMIT_MAX,
                          .about = "default 100"),
};
static JSON_SHAPE(sandbox_events_query, "SandboxEventsQuery", sandbox_events_query,
                  "Filter for events");

static int sandbox_events(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	const struct sandbox_events_query *q = rq->query;
	const struct fleet_ref ref = {api_project(rq), request_param(rq, "id")};
	struct sandbox_record r;
	struct event_page page = {.after = q->after, .limit = q->limit ? q->limit : LIMIT_USUAL};

	(void)body;
	if (fleet_find(api_of(rq)->fleet, rq->arena, &ref, &r, err) < 0)
		return -1;
	page.sandbox_id = r.id;
	return reply_events(rq, &page, false, reply, err);
}

const struct route events_routes[] = {
        {HTTP_GET, "/v1/events", SCOPE_SANDBOX_READ, ROUTE_STANDING, .query = &events_query,
         .answer = &events_shape, .handle = events_get, .tag = "events",
         .summary = "List events, oldest first, or follow them"},
        {HTTP_GET, "/api/sandbox/instances/:id/events", SCOPE_SANDBOX_READ,
         .query = &sandbox_events_query, .answer = &events_shape, .handle = sandbox_events,
         .tag = "sandboxes", .summary = "List the events of a sandbox"},
        {.path = NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/activity — what was called in sandboxes, in pages, as a stream or as CSV. */
#include <inttypes.h>
#include <stdio.h>

#include "calls/activity_feed.h"
#include "edge/api.h"
#include "edge/csv.h"
#include "fleet/core/sandboxes.h"
#include "json/write.h"
#include "store/activity.h"
#include "store/events.h"
#include "store/sandbox_record.h"
#include "surface/native/native.h"

#define LIMIT_USUAL 100
#define LIMIT_MAX 1000

static const char *const formats[] = {"json", "csv", NULL};
static const char *const kinds[] = {"command", "code", "tool", "file", NULL};

struct activity_page_answer {
	struct json_list items;
	int64_t after, oldest;
};
static const struct json_member activity_list_members[] = {
        JSON_LIST_MEMBER(activity_page_answer, items, &activity_shape),
        JSON_WHOLE_MEMBER(activity_page_answer, after,
                          .about = "value of after for the next page or for a stream"),
        JSON_WHOLE_MEMBER(activity_page_answer, oldest,
                          .about = "sequence of the oldest stored row; 0: there are no rows"),
};
static JSON_SHAPE(activity_list, "ActivityList", activity_page_answer,
                  "Calls into sandboxes, in the order of their ends");

struct activity_query {
	int64_t after, last, limit;
	const char *sandbox, *user, *key, *conversation, *stream;
	int kind, format;
	uint64_t present;
};
enum { ACTIVITY_AFTER, ACTIVITY_LAST, ACTIVITY_KIND, ACTIVITY_FORMAT };
#define ROWS                                                                                       \
	[ACTIVITY_AFTER] = JSON_WHOLE_MEMBER(                                                      \
	        activity_query, after, .min = 0,                                                   \
	        .about = "sequence of the last row that the client knows; a stream without it "    \
	                 "starts with new rows"),                                                  \
	[ACTIVITY_LAST] = JSON_WHOLE_MEMBER(                                                       \
	        activity_query, last, .min = 1, .max = LIMIT_MAX,                                  \
	        .about = "return the newest rows, up to this number; instead of after"),           \
	[ACTIVITY_KIND] = JSON_CHOICE_MEMBER(activity_query, kind, .choices = kinds),              \
	[ACTIVITY_FORMAT] = JSON_CHOICE_MEMBER(                                                    \
	        activity_query, format, .choices = formats,                                        \
	        .about = "csv: the header Atoll-Next-Page has the value of after for the next "    \
	                 "page"),                                                                  \
	JSON_WHOLE_MEMBER(activity_query, limit, .min = 1, .max = LIMIT_MAX,                       \
	                  .about = "rows per page (default 100)"),                                 \
	JSON_TEXT_MEMBER(activity_query, user, .min = 1, .max = 128),                              \
	JSON_TEXT_MEMBER(activity_query, key, .min = 1, .max = 128, .about = "id of a key"),       \
	JSON_TEXT_MEMBER(activity_query, conversation, .min = 1, .max = 128),                      \
	JSON_TEXT_MEMBER(activity_query, stream, .max = 16,                                        \
	                 .about = "result, sse or ndjson; without it the header Accept decides")
static const struct json_member activity_query_members[] = {
        ROWS,
        JSON_TEXT_MEMBER(activity_query, sandbox, .max = SANDBOX_NAME_MAX,
                         .about = "id or name; of a deleted sandbox the id"),
};
static JSON_BITS_SHAPE(activity_query, "ActivityQuery", activity_query, "Filter for activity");
static const struct json_member sandbox_activity_query_members[] = {ROWS};
static JSON_BITS_SHAPE(sandbox_activity_query, "SandboxActivityQuery", activity_query,
                       "Filter for the activity of a sandbox");

static struct activity_page page_of(const struct activity_query *q, const struct feed_filter *f)
{
	bool newest = row_is_given(q->present, ACTIVITY_LAST);

	return (struct activity_page){
	        .filter = {f->project_id, f->sandbox_id, f->pattern, f->user_id, f->key_id,
	                   f->conversation},
	        .after = q->after,
	        .limit = newest     ? q->last
	                 : q->limit ? q->limit
	                            : LIMIT_USUAL,
	        .newest = newest,
	};
}

static const char *time_text(struct arena *a, int64_t at)
{
	AUTO(buf_done) struct buf json = BUF(64);

	json_add_time(&json, NULL, at);
	return arena_copy(a, (struct span){json.data + 1, json.size - 2}); /* without quotes */
}

static void write_csv_row(struct buf *out, struct arena *a, const struct activity_record *r)
{
	csv_text(out, time_text(a, r->at));
	csv_number(out, (double)r->sequence, 0);
	csv_text(out, r->project_id);
	csv_text(out, r->sandbox_id);
	csv_text(out, activity_kind_name(r->kind));
	csv_text(out, r->operation);
	csv_text(out, r->arguments);
	csv_text(out, r->user_id);
	csv_text(out, r->key_id);
	csv_text(out, r->conversation);
	csv_text(out, activity_outcome_name(r->outcome));
	csv_number(out, (double)r->exit_code, 0);
	csv_text(out, r->error);
	csv_number(out, (double)r->duration_ms, 0);
	csv_number(out, (double)r->output_bytes, 0);
	csv_text(out, r->head);
	csv_text(out, r->tail);
	csv_text(out, r->encoding);
	csv_text(out, r->artifacts_json);
	csv_end(out);
}

static void reply_csv(struct request *rq, const struct activity_list *found, struct reply *reply)
{
	static const char *const names[] = {"at",    "sequence",     "project",      "sandbox",
	                                    "kind",  "operation",    "arguments",    "user",
	                                    "key",   "conversation", "outcome",      "exit_code",
	                                    "error", "duration_ms",  "output_bytes", "head",
	                                    "tail",  "encoding",     "artifacts"};
	struct buf *out = reply_buf(reply, "text/csv; charset=utf-8; header=present");
	char next[24];

	for (size_t i = 0; i < COUNT_OF(names); i++)
		csv_text(out, names[i]);
	csv_end(out);
	for (size_t i = 0; i < found->count; i++)
		write_csv_row(out, rq->arena, &found->items[i]);
	reply_header(reply, "Content-Disposition", "attachment; filename=\"activity.csv\"");
	if (found->count == 0)
		return;
	(void)snprintf(next, sizeof(next), "%" PRId64, found->items[found->count - 1].sequence);
	reply_header(reply, "Atoll-Next-Page", next);
}

static int reply_rows(struct request *rq, const struct feed_filter *filter, struct reply *reply,
                      struct error *err)
{
	const struct activity_query *q = rq->query;
	struct activity_page page = page_of(q, filter);
	struct store *store = api_of(rq)->store;
	struct activity_page_answer out = {.after = q->after};
	struct event_bounds bounds;
	struct activity_list found;
	struct activity_answer *items;

	if (page.newest && (row_is_given(q->present, ACTIVITY_AFTER) || q->limit))
		return FAIL(err, ERROR_INVALID, "last cannot be combined with after or limit");
	if (store_activity_bounds(store, &bounds, err) < 0)
		return -1;
	page.before = bounds.newest + 1;
	if (store_activity_list(store, rq->arena, &page, &found, err) < 0)
		return -1;
	if (row_is_given(q->present, ACTIVITY_FORMAT) && q->format == 1) {
		reply_csv(rq, &found, reply);
		return 0;
	}
	items = ARENA_ARRAY(rq->arena, struct activity_answer, found.count + 1);
	for (size_t i = 0; i < found.count; i++)
		items[i] = activity_answer_of(rq->arena, &found.items[i]);
	out.items = (struct json_list){items, found.count, true};
	out.oldest = bounds.oldest;
	if (found.count > 0)
		out.after = items[found.count - 1].sequence;
	reply_json(reply, &activity_list, &out);
	return 0;
}

/* The sequence before the newest `last` rows, for a stream that begins with them. */
static int find_newest_start(struct request *rq, const struct feed_filter *filter, int64_t *ret,
                             struct error *err)
{
	const struct activity_page page = page_of(rq->query, filter);
	struct activity_list found;

	if (store_activity_list(api_of(rq)->store, rq->arena, &page, &found, err) < 0)
		return -1;
	if (found.count > 0)
		*ret = found.items[0].sequence - 1;
	return 0;
}

static int reply_stream(struct request *rq, struct feed_options *o, struct reply *reply,
                        struct error *err)
{
	const struct activity_query *q = rq->query;
	bool is_given = row_is_given(q->present, ACTIVITY_AFTER);
	struct event_bounds bounds;

	if (o->form == OUTPUT_TEXT)
		return FAIL(err, ERROR_INVALID,
		            "stream 'text' is not supported for activity; known streams: result, "
		            "sse, ndjson");
	if (!api_of(rq)->activity_feed)
		return FAIL(err, ERROR_UNAVAILABLE, "this server records no activity");
	o->after = q->after;
	if (store_activity_bounds(api_of(rq)->store, &bounds, err) < 0 ||
	    last_event_read(rq, &is_given, &o->after, err) < 0)
		return -1;
	if (!is_given)
		o->after = bounds.newest;
	if (!is_given && row_is_given(q->present, ACTIVITY_LAST) &&
	    find_newest_start(rq, &o->filter, &o->after, err) < 0)
		return -1;
	/* The number comes from another server, or from before a backup was restored. */
	if (o->after > bounds.newest)
		o->after = bounds.newest;
	api_feed_reply(api_of(rq)->activity_feed, o, reply);
	return 0;
}

static int reply_activity(struct request *rq, const char *sandbox_id, struct reply *reply,
                          struct error *err)
{
	const struct activity_query *q = rq->query;
	struct feed_options o = {
	        .filter =
	                {
	                        .project_id = api_visible_project(rq),
	                        .sandbox_id = sandbox_id,
	                        .pattern = row_is_given(q->present, ACTIVITY_KIND) ? kinds[q->kind]
	                                                                           : NULL,
	                        .user_id = q->user,
	                        .key_id = q->key,
	                        .conversation = q->conversation,
	                },
	};

	if (output_form_parse(q->stream, request_header(rq, "Accept"), OUTPUT_RESULT, &o.form,
	                      err) < 0)
		return -1;
	if (row_is_given(q->present, ACTIVITY_FORMAT) || o.form == OUTPUT_RESULT)
		return reply_rows(rq, &o.filter, reply, err);
	return reply_stream(rq, &o, reply, err);
}

static int activity_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	const struct activity_query *q = rq->query;
	const struct fleet_ref sandbox = {api_visible_project(rq), q->sandbox};
	const char *id;

	if (api_resolve_sandbox_id(rq, &sandbox, &id, err) < 0)
		return -1;
	return reply_activity(rq, id, reply, err);
}

/* A deleted sandbox exists as long as its rows do. */
static int check_deleted(struct request *rq, const char *id, struct error *err)
{
	const struct activity_page page = {
	        .filter = {.project_id = api_visible_project(rq), .sandbox_id = id}, .limit = 1};
	struct activity_list found;
	struct error failed;

	if (store_activity_list(api_of(rq)->store, rq->arena, &page, &found, &failed) < 0) {
		*err = failed;
		return -1;
	}
	if (found.count == 0)
		return -1;
	error_clear(err);
	return 0;
}

static int sandbox_activity(struct request *rq, UNUSED const void *body, struct reply *reply,
                            struct error *err)
{
	const struct fleet_ref ref = {api_project(rq), request_param(rq, "id")};
	struct sandbox_record r = {.id = ref.id_or_name};

	if (fleet_find(api_of(rq)->fleet, rq->arena, &ref, &r, err) < 0 &&
	    (err->code != ERROR_NOT_FOUND || check_deleted(rq, ref.id_or_name, err) < 0))
		return -1;
	return reply_activity(rq, r.id, reply, err);
}

const struct route activity_routes[] = {
        {HTTP_GET, "/v1/activity", SCOPE_SANDBOX_READ, ROUTE_STANDING, .query = &activity_query,
         .answer = &activity_list, .handle = activity_get, .tag = "activity",
         .summary = "List what was called in sandboxes, oldest first, or follow it"},
        {HTTP_GET, "/api/sandbox/instances/:id/activity", SCOPE_SANDBOX_READ, ROUTE_STANDING,
         .query = &sandbox_activity_query, .answer = &activity_list, .handle = sandbox_activity,
         .tag = "sandboxes", .summary = "List what was called in a sandbox, or follow it"},
        {.path = NULL},
};

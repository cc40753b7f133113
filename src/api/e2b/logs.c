/* SPDX-License-Identifier: Apache-2.0 */
/* What happened to a sandbox, as E2B's clients read its logs: its events. What commands say goes to
 * who runs them, and is not kept here. */
#include <strings.h>

#include "api/e2b/e2b.h"
#include "api/tables.h"
#include "store/events.h"

#define LOGS_MAX 1000

enum level { LEVEL_DEBUG, LEVEL_INFO, LEVEL_WARN, LEVEL_ERROR };
static const char *const levels[] = {"debug", "info", "warn", "error", NULL};

struct fields {
	const char *kind, *reason;
};
static const struct json_member fields_shape_members[] = {
        JSON_TEXT_MEMBER(fields, kind, .name = "event"),
        JSON_TEXT_MEMBER(fields, reason),
        JSON_END,
};
static JSON_SHAPE(fields_shape, "E2bLogFields", fields, "What kind of event it was");

struct log_entry {
	int64_t timestamp;
	int level;
	const char *message;
	struct fields fields;
};
static const struct json_member entry_shape_members[] = {
        JSON_TIME_MEMBER(log_entry, timestamp),
        JSON_CHOICE_MEMBER(log_entry, level, .choices = levels),
        JSON_TEXT_MEMBER(log_entry, message),
        JSON_OBJECT_MEMBER(log_entry, fields, &fields_shape),
        JSON_END,
};
static JSON_SHAPE(entry_shape, "E2bLogEntry", log_entry, "A line");

static const struct json_member line_shape_members[] = {
        JSON_TIME_MEMBER(log_entry, timestamp),
        JSON_TEXT_MEMBER(log_entry, message, .name = "line"),
        JSON_END,
};
static JSON_SHAPE(line_shape, "E2bLogLine", log_entry, "A line");

struct logs_answer {
	struct json_list logs, entries;
};
static const struct json_member v1_shape_members[] = {
        JSON_LIST_MEMBER(logs_answer, logs, &line_shape),
        JSON_LIST_MEMBER(logs_answer, entries, &entry_shape, .name = "logEntries"),
        JSON_END,
};
static JSON_SHAPE(v1_shape, "E2bLogs", logs_answer, "Lines");
static const struct json_member v2_shape_members[] = {
        JSON_LIST_MEMBER(logs_answer, logs, &entry_shape),
        JSON_END,
};
static JSON_SHAPE(v2_shape, "E2bLogsV2", logs_answer, "Lines");

static const char *const directions[] = {"forward", "backward", NULL};

struct logs_query {
	int64_t start, cursor, limit;
	int direction, level;
	const char *search;
};
static const struct json_member logs_query_members[] = {
        JSON_WHOLE_MEMBER(logs_query, start, .min = 0),
        JSON_WHOLE_MEMBER(logs_query, cursor, .min = 0),
        JSON_WHOLE_MEMBER(logs_query, limit, .min = 0, .max = LOGS_MAX),
        JSON_CHOICE_MEMBER(logs_query, direction, .choices = directions),
        JSON_CHOICE_MEMBER(logs_query, level, .choices = levels),
        JSON_TEXT_MEMBER(logs_query, search, .max = 256),
        JSON_END,
};
static JSON_OPEN_SHAPE(logs_query, "E2bLogsQuery", logs_query, "Which lines; times in unix ms");

static struct log_entry entry_of(const struct event_record *event)
{
	static const char failed[] = "sandbox.failed";

	return (struct log_entry){
	        .timestamp = event->at,
	        .level = strcmp(event->kind, failed) == 0 ? LEVEL_ERROR : LEVEL_INFO,
	        .message = event->text[0] ? event->text : event->kind,
	        .fields = {event->kind, event->reason},
	};
}

static bool is_wanted(const struct logs_query *q, const struct log_entry *entry)
{
	bool is_backward = q->direction == 1;

	if (entry->level < q->level || (q->search && !strcasestr(entry->message, q->search)))
		return false;
	if (q->cursor > 0 &&
	    (is_backward ? entry->timestamp > q->cursor : entry->timestamp < q->cursor))
		return false;
	return entry->timestamp >= q->start;
}

/* The newest events that there are, in the order that is asked for. */
static int find_logs(struct request *rq, struct json_list *ret, struct error *err)
{
	const struct logs_query *q = rq->query;
	size_t limit = q->limit ? (size_t)q->limit : LOGS_MAX;
	struct event_page page = {.limit = LOGS_MAX, .newest = true};
	struct sandbox_record record;
	struct event_list found;
	struct log_entry *items;

	if (e2b_find(rq, &record, err) < 0)
		return -1;
	page.project_id = record.project_id;
	page.sandbox_id = record.id;
	if (store_event_list(api_of(rq)->store, rq->arena, &page, &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct log_entry, found.count + 1);
	for (size_t i = 0; i < found.count && ret->count < limit; i++) {
		size_t at = q->direction == 1 ? found.count - 1 - i : i;
		const struct log_entry entry = entry_of(&found.items[at]);

		if (is_wanted(q, &entry))
			items[ret->count++] = entry;
	}
	ret->items = items;
	ret->present = true;
	return 0;
}

static int logs_v1(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	struct logs_answer out = {.logs = {.count = 0}};

	(void)body;
	if (find_logs(rq, &out.logs, err) < 0)
		return -1;
	out.entries = out.logs;
	reply_json(reply, &v1_shape, &out);
	return 0;
}

static int logs_v2(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	struct logs_answer out = {.logs = {.count = 0}};

	(void)body;
	if (find_logs(rq, &out.logs, err) < 0)
		return -1;
	reply_json(reply, &v2_shape, &out);
	return 0;
}

const struct route e2b_logs_routes[] = {
        {HTTP_GET, "/sandboxes/:id/logs", SCOPE_SANDBOX_READ, ROUTE_HIDDEN, .query = &logs_query,
         .handle = logs_v1, E2B_ROW},
        {HTTP_GET, "/v2/sandboxes/:id/logs", SCOPE_SANDBOX_READ, ROUTE_HIDDEN, .query = &logs_query,
         .handle = logs_v2, E2B_ROW},
        {.path = NULL},
};

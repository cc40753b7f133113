/* SPDX-License-Identifier: Apache-2.0 */
/* The logs of a sandbox: its events, also after its end, and, while it runs, the processes that its
 * agent knows. The output of commands goes to the client that runs them and is not part of the
 * logs. */
#include <inttypes.h>
#include <stdlib.h>
#include <strings.h>

#include "base/clock.h"
#include "base/log.h"
#include "fleet/core/sandboxes.h"
#include "json/json.h"
#include "json/write.h"
#include "provider/compute.h"
#include "provider/provider.h"
#include "store/events.h"
#include "store/sandbox_record.h"
#include "store/snapshots.h"
#include "surface/e2b/e2b.h"
#include "surface/e2b/routes.h"
#include "wire/agent.h"

#define LOGS_MAX 1000
#define ASK_AGENT_MS 2000
#define LINES_MAX ((size_t)2 * COMPUTE_PROCESSES_MAX)
#define COMMAND_MAX 256 /* bytes of a command that a line shows */
#define LINE_MAX (8 * ERROR_TEXT_MAX)

enum e2b_log_level { LEVEL_DEBUG, LEVEL_INFO, LEVEL_WARN, LEVEL_ERROR };
static const char *const levels[] = {"debug", "info", "warn", "error", NULL};

struct log_fields {
	const char *kind, *reason;
};
static const struct json_member fields_shape_members[] = {
        JSON_TEXT_MEMBER(log_fields, kind, .name = "event"),
        JSON_TEXT_MEMBER(log_fields, reason),
};
static JSON_SHAPE(fields_shape, "E2bLogFields", log_fields, "The kind of an event, and its reason");

struct log_entry {
	int64_t timestamp;
	int level;
	const char *message;
	const char *line; /* for the older call: the entry as JSON */
	struct log_fields fields;
	size_t order; /* order within the same millisecond */
};
static const struct json_member entry_shape_members[] = {
        JSON_TIME_MEMBER(log_entry, timestamp),
        JSON_CHOICE_MEMBER(log_entry, level, .choices = levels),
        JSON_TEXT_MEMBER(log_entry, message),
        JSON_OBJECT_MEMBER(log_entry, fields, &fields_shape),
};
static JSON_SHAPE(entry_shape, "E2bLogEntry", log_entry, "A line of a sandbox's log");

static const struct json_member line_shape_members[] = {
        JSON_TIME_MEMBER(log_entry, timestamp),
        JSON_TEXT_MEMBER(log_entry, line),
};
static JSON_SHAPE(line_shape, "E2bLogLine", log_entry, "A line of a sandbox's log");

struct e2b_logs_answer {
	struct json_list logs, entries;
};
static const struct json_member v1_shape_members[] = {
        JSON_LIST_MEMBER(e2b_logs_answer, logs, &line_shape),
        JSON_LIST_MEMBER(e2b_logs_answer, entries, &entry_shape, .name = "logEntries"),
};
static JSON_SHAPE(v1_shape, "E2bLogs", e2b_logs_answer, "The log of a sandbox");
static const struct json_member v2_shape_members[] = {
        JSON_LIST_MEMBER(e2b_logs_answer, logs, &entry_shape),
};
static JSON_SHAPE(v2_shape, "E2bLogsV2", e2b_logs_answer, "The log of a sandbox");

static const char *const directions[] = {"forward", "backward", NULL};

struct e2b_logs_query {
	int64_t start, cursor, limit;
	int direction, level;
	const char *search;
};
static const struct json_member logs_query_members[] = {
        JSON_WHOLE_MEMBER(e2b_logs_query, start, .min = 0),
        JSON_WHOLE_MEMBER(e2b_logs_query, cursor, .min = 0),
        JSON_WHOLE_MEMBER(e2b_logs_query, limit, .min = 0, .max = LOGS_MAX),
        JSON_CHOICE_MEMBER(e2b_logs_query, direction, .choices = directions),
        JSON_CHOICE_MEMBER(e2b_logs_query, level, .choices = levels),
        JSON_TEXT_MEMBER(e2b_logs_query, search, .max = 256),
};
static JSON_OPEN_SHAPE(logs_query, "E2bLogsQuery", e2b_logs_query,
                       "The lines to show; times in unix milliseconds");

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

static bool is_wanted(const struct e2b_logs_query *q, const struct log_entry *entry)
{
	bool is_backward = q->direction == 1;

	if (entry->level < q->level || (q->search && !strcasestr(entry->message, q->search)))
		return false;
	if (q->cursor > 0 &&
	    (is_backward ? entry->timestamp > q->cursor : entry->timestamp < q->cursor))
		return false;
	return entry->timestamp >= q->start;
}

struct collected_logs {
	struct arena *arena;
	struct log_entry *items;
	size_t count, capacity;
};

static void add_log_entry(struct collected_logs *c, struct log_entry entry)
{
	if (c->count == c->capacity)
		return;
	entry.order = c->count;
	c->items[c->count++] = entry;
}

static const char *command_of(struct arena *a, const struct agent_process *p)
{
	AUTO(buf_done) struct buf text = BUF((size_t)4 * COMMAND_MAX);

	for (const char **arg = p->args; *arg && text.size < COMMAND_MAX; arg++)
		buf_addf(&text, "%s%.*s", arg > p->args ? " " : "", COMMAND_MAX, *arg);
	return arena_format(a, "%.*s", COMMAND_MAX, buf_text(&text));
}

static void on_process(void *context, const struct agent_process *p)
{
	struct collected_logs *c = context;
	const char *process =
	        arena_format(c->arena, "process %" PRIu64 " (pid %" PRIu32 ")", p->process, p->pid);

	add_log_entry(c, (struct log_entry){
	                         .timestamp = (int64_t)p->started_unix_ms,
	                         .level = LEVEL_INFO,
	                         .message = arena_format(c->arena, "%s started: %s", process,
	                                                 command_of(c->arena, p)),
	                         .fields = {"process.started", ""},
	                 });
	if (p->state != AGENT_PROCESS_ENDED)
		return;
	add_log_entry(c,
	              (struct log_entry){
	                      .timestamp = (int64_t)(p->started_unix_ms + p->duration_ms),
	                      .level = LEVEL_INFO,
	                      .message = arena_format(c->arena, "%s ended with exit code %" PRId64,
	                                              process, p->exit_code),
	                      .fields = {"process.exited", ""},
	              });
}

/* E2B's command line parses each line, and filters lines by the beginning of their logger. */
static const char *line_of(struct arena *a, const struct log_entry *entry)
{
	AUTO(buf_done) struct buf out = BUF(LINE_MAX);
	const char *kind = entry->fields.kind;

	json_begin_object(&out, NULL);
	json_add_text(&out, "level", levels[entry->level]);
	json_add_span(&out, "logger", (struct span){kind, strcspn(kind, ".")});
	json_add_text(&out, "message", entry->message);
	json_add_text(&out, "event", kind);
	if (entry->fields.reason[0])
		json_add_text(&out, "reason", entry->fields.reason);
	json_end_object(&out);
	return arena_copy(a, buf_span(&out));
}

static int compare_log_entries(const void *a, const void *b)
{
	const struct log_entry *one = a, *other = b;

	if (one->timestamp != other->timestamp)
		return one->timestamp < other->timestamp ? -1 : 1;
	return one->order < other->order ? -1 : one->order > other->order;
}

static int find_sandbox(struct request *rq, struct sandbox_record *ret, struct error *err)
{
	if (e2b_sandbox_find(rq, ret, err) == 0)
		return 0;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return store_sandbox_find_ended(api_of(rq)->store, rq->arena, api_project(rq),
	                                request_param(rq, "id"), ret, err);
}

/* Oldest first. Reading logs does not count as use and wakes no sandbox. If the agent does not
 * answer, the logs contain the events only. */
static int collect_logs(struct request *rq, struct collected_logs *ret, struct error *err)
{
	struct event_page page = {.limit = LOGS_MAX, .newest = true};
	struct api *api = api_of(rq);
	struct sandbox_record record;
	struct provider *p;
	struct event_list found;
	struct error ignored = {0};

	if (find_sandbox(rq, &record, err) < 0)
		return -1;
	page.project_id = record.project_id;
	page.sandbox_id = record.id;
	if (store_event_list(api->store, rq->arena, &page, &found, err) < 0)
		return -1;
	*ret = (struct collected_logs){.arena = rq->arena, .capacity = found.count + LINES_MAX};
	ret->items = ARENA_ARRAY(rq->arena, struct log_entry, ret->capacity);
	for (size_t i = 0; i < found.count; i++)
		add_log_entry(ret, entry_of(&found.items[i]));
	if (record.actual == SANDBOX_STARTED &&
	    (sandbox_provider_find(api->fleet, record.id, &p, &ignored) < 0 ||
	     provider_require(p, PROVIDER_CAN_EXEC, &ignored) < 0 ||
	     compute_processes(p, record.id, on_process, ret, deadline_after(ASK_AGENT_MS),
	                       &ignored) < 0))
		log_debug("logs without processes", TEXT("sandbox", record.id), FAILURE(&ignored));
	qsort(ret->items, ret->count, sizeof(*ret->items), compare_log_entries);
	return 0;
}

static int find_logs(struct request *rq, bool with_lines, struct json_list *ret, struct error *err)
{
	const struct e2b_logs_query *q = rq->query;
	size_t limit = q->limit ? (size_t)q->limit : LOGS_MAX;
	struct collected_logs all;
	struct log_entry *items;

	if (collect_logs(rq, &all, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct log_entry, all.count + 1);
	for (size_t i = 0; i < all.count && ret->count < limit; i++) {
		const struct log_entry *entry =
		        &all.items[q->direction == 1 ? all.count - 1 - i : i];

		if (!is_wanted(q, entry))
			continue;
		items[ret->count] = *entry;
		if (with_lines)
			items[ret->count].line = line_of(rq->arena, entry);
		ret->count++;
	}
	ret->items = items;
	ret->present = true;
	return 0;
}

static int get_logs_v1(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	struct e2b_logs_answer out = {.logs = {.count = 0}};

	if (find_logs(rq, true, &out.logs, err) < 0)
		return -1;
	out.entries = out.logs;
	reply_json(reply, &v1_shape, &out);
	return 0;
}

static int get_logs_v2(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	struct e2b_logs_answer out = {.logs = {.count = 0}};

	if (find_logs(rq, false, &out.logs, err) < 0)
		return -1;
	reply_json(reply, &v2_shape, &out);
	return 0;
}

const struct route e2b_logs_routes[] = {
        {HTTP_GET, "/sandboxes/:id/logs", SCOPE_SANDBOX_READ, ROUTE_HIDDEN, .query = &logs_query,
         .handle = get_logs_v1, E2B_ROW},
        {HTTP_GET, "/v2/sandboxes/:id/logs", SCOPE_SANDBOX_READ, ROUTE_HIDDEN, .query = &logs_query,
         .handle = get_logs_v2, E2B_ROW},
        {.path = NULL},
};

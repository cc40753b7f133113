/* SPDX-License-Identifier: Apache-2.0 */
#include "store/jobs.h"

#include <string.h>

#include "base/bytes.h"
#include "json/write.h"
#include "sandbox/events.h"
#include "store/column_rows.h"
#include "store/event_rows.h"
#include "store/events.h"
#include "store/pages.h"
#include "store/query.h"

NAMES_OF(job_channel, JOB_CHANNEL_COUNT, [JOB_CHANNEL_NONE] = "none",
         [JOB_CHANNEL_STREAM] = "stream", [JOB_CHANNEL_WEBHOOK] = "webhook",
         [JOB_CHANNEL_SLACK] = "slack", [JOB_CHANNEL_DISCORD] = "discord",
         [JOB_CHANNEL_TELEGRAM] = "telegram", [JOB_CHANNEL_GITHUB] = "github",
         [JOB_CHANNEL_ZALO] = "zalo", [JOB_CHANNEL_PANCAKE] = "pancake")
NAMES_OF(job_state, JOB_STATE_COUNT, [JOB_RUNNING] = "running", [JOB_COMPLETED] = "completed",
         [JOB_FAILED] = "failed", [JOB_STOPPED] = "stopped")
NAMES_OF(job_delivery, JOB_DELIVERY_COUNT, [JOB_DELIVERY_NONE] = "none",
         [JOB_DELIVERY_WAITING] = "waiting", [JOB_DELIVERY_SENDING] = "sending",
         [JOB_DELIVERY_DELIVERED] = "delivered", [JOB_DELIVERY_DEAD] = "dead")
WORDS_OF(sandbox_state, SANDBOX_STATE_COUNT)

COLUMNS_OF(job_record);
COLUMNS_OF(job_ref);
COLUMNS_OF(job_page);
COLUMNS_OF(job_start);

/* Limits of an event's detail; a longer text is cut or omitted. */
#define DETAIL_MAX 6000
#define DETAIL_TAIL_MAX 2000

bool job_channel_is_chat(enum job_channel channel)
{
	return channel >= JOB_CHANNEL_SLACK && channel < JOB_CHANNEL_COUNT;
}

struct job_insertion {
	const struct job_record *record;
	unsigned running_max;
};

/* Counts the new job too, in the inserting transaction: of two concurrent inserts the second counts
 * the first. */
static int run_insert(struct store_connection *c, void *context, struct error *err)
{
	const struct job_insertion *insertion = context;
	int64_t running;

	if (query_run(c, QUERY_JOB_INSERT, insertion->record, NULL, err) < 0 ||
	    query_count(c, QUERY_JOB_COUNT_RUNNING, LOOKUP(.id = insertion->record->sandbox_id),
	                &running, err) < 0)
		return -1;
	if (running <= insertion->running_max)
		return 0;
	(void)FAIL(err, ERROR_LIMIT, "the sandbox runs %u background jobs already",
	           insertion->running_max);
	return FAIL_HINT(err, "wait for one to end, or stop one");
}

int store_job_insert(struct store *s, const struct job_record *r, unsigned running_max,
                     struct error *err)
{
	struct job_insertion insertion = {r, running_max};

	return store_change(s, run_insert, &insertion, err);
}

int store_job_started(struct store *s, const struct job_start *start, struct error *err)
{
	return ROW_OR(store_change_query(s, QUERY_JOB_STARTED, start, err),
	              FAIL(err, ERROR_CONFLICT, "job '%.40s' has another process", start->id));
}

/* Hides the end of a job until its result is recorded. */
static void hide_end(struct job_record *r)
{
	if (r->state != JOB_RUNNING)
		return;
	r->exit_code = -1;
	r->reason = r->cause = r->stdout_json = r->stderr_json = "";
	r->stdout_bytes = r->stderr_bytes = r->ended_at = 0;
}

static int not_found(const char *id, struct error *err)
{
	return FAIL(err, ERROR_NOT_FOUND, "no background job '%.40s'", id);
}

static int read_job(struct store *s, enum query_name query, const struct job_ref *ref,
                    const struct row_target *ret, struct error *err)
{
	if (ROW_OR(store_find_query(s, query, ref, ret, err), not_found(ref->id, err)) < 0)
		return -1;
	hide_end(ret->ret);
	return 0;
}

int store_job_find(struct store *s, struct arena *a, const struct job_ref *ref,
                   struct job_record *ret, struct error *err)
{
	return read_job(s, QUERY_JOB_FIND, ref, INTO(a, ret), err);
}

int store_job_look(struct store *s, struct arena *a, const char *id, struct job_record *ret,
                   struct error *err)
{
	return read_job(s, QUERY_JOB_LOOK, &(struct job_ref){.id = id}, INTO(a, ret), err);
}

int store_job_list(struct store *s, struct arena *a, const struct job_page *page,
                   struct job_list *ret, struct error *err)
{
	struct job_page copy = *page;

	copy.before = page->before > 0 ? page->before : INT64_MAX;
	copy.limit = list_limit(page->limit);
	if (store_list_query(s, QUERY_JOB_LIST, &copy, LIST_INTO(a, ret), err) < 0)
		return -1;
	for (size_t i = 0; i < ret->count; i++)
		hide_end(&ret->items[i]);
	return 0;
}

int store_job_running(struct store *s, struct arena *a, const char *after, struct job_list *ret,
                      struct error *err)
{
	return store_list_query(s, QUERY_JOB_RUNNING, LOOKUP(.id = after), LIST_INTO(a, ret), err);
}

int store_job_stopping(struct store *s, const char *id, struct error *err)
{
	return ROW_OR(store_change_query(s, QUERY_JOB_STOPPING, LOOKUP(.id = id), err),
	              FAIL(err, ERROR_CONFLICT, "background job '%.40s' has ended", id));
}

struct settlement {
	struct arena *arena;
	const char *id;
	const struct job_end *end;
	struct job_record *ret;
};

/* A member of the event's detail, as JSON; a text that is too long is not cut within an escape but
 * left out. */
static const char *detail_of(struct arena *a, const struct job_record *r)
{
	bool has_tail = *r->stdout_json && strlen(r->stdout_json) <= DETAIL_TAIL_MAX;
	AUTO(buf_done) struct buf text = BUF(DETAIL_MAX);

	json_begin_object(&text, NULL);
	json_add_text(&text, "resultId", r->id);
	json_add_text(&text, "status", job_state_name(r->state));
	json_add_whole(&text, "exitCode", r->exit_code);
	json_add_text(&text, "conversation", r->conversation);
	if (*r->cause)
		json_add_text(&text, "cause", r->cause);
	if (has_tail)
		json_add_raw(&text, "stdout", span_of(r->stdout_json));
	json_end_object(&text);
	return text.overflowed ? "{}" : arena_text(a, buf_text(&text));
}

static const char *sentence_of(struct arena *a, const struct job_record *r)
{
	if (*r->reason)
		return arena_format(a, "job %s %s: %s", r->id, job_state_name(r->state), r->reason);
	return arena_format(a, "job %s %s", r->id, job_state_name(r->state));
}

static int add_job_event(struct store_connection *c, struct arena *a, const struct job_record *r,
                         struct error *err)
{
	static const enum event_kind job_events[JOB_STATE_COUNT] = {
	        [JOB_COMPLETED] = EVENT_JOB_COMPLETED,
	        [JOB_FAILED] = EVENT_JOB_FAILED,
	        [JOB_STOPPED] = EVENT_JOB_STOPPED,
	};
	struct event_record event = {
	        .at = r->ended_at,
	        .project_id = r->project_id,
	        .sandbox_id = r->sandbox_id,
	        .kind = event_kind_name(job_events[r->state]),
	        .text = sentence_of(a, r),
	        .detail = detail_of(a, r),
	};

	if (event_add(c, &event, err) < 0)
		return -1;
	event.kind = event_kind_name(EVENT_AGENT_FINISHED);
	return r->channel == JOB_CHANNEL_WEBHOOK ? event_add(c, &event, err) : 0;
}

static void fill_end(struct job_record *r, const struct job_end *end)
{
	r->exit_code = end->exit_code;
	r->reason = end->reason ? end->reason : "";
	r->cause = end->cause ? end->cause : "";
	r->stdout_json = end->stdout_json ? end->stdout_json : "";
	r->stderr_json = end->stderr_json ? end->stderr_json : "";
	r->stdout_bytes = end->stdout_bytes;
	r->stderr_bytes = end->stderr_bytes;
	r->ended_at = end->ended_at;
}

/* The end is known, but its files are lost. */
static void fill_loss(struct arena *a, struct job_record *r, const struct job_end *loss)
{
	r->reason = arena_format(a, "%s%sits files are lost: %s", r->reason, *r->reason ? "; " : "",
	                         loss->reason);
}

static void apply_end(struct arena *a, struct job_record *r, const struct job_end *end)
{
	enum job_state state = r->told;

	if (state == JOB_RUNNING) {
		state = end->state;
		fill_end(r, end);
	} else if (end) {
		state = JOB_FAILED;
		fill_loss(a, r, end);
	}
	r->state = r->is_stopping && state == JOB_FAILED ? JOB_STOPPED : state;
	if (job_channel_is_chat(r->channel)) {
		r->delivery = JOB_DELIVERY_WAITING;
		r->delivery_at = r->ended_at;
	}
}

static int fail_ended(const char *id, struct error *err)
{
	return FAIL(err, ERROR_CONFLICT, "background job '%.40s' has ended already", id);
}

int store_job_set_reported(struct store *s, const char *id, const struct job_end *end,
                           struct error *err)
{
	struct job_record r = {.id = id, .told = end->state};

	fill_end(&r, end);
	return ROW_OR(store_change_query(s, QUERY_JOB_TOLD, &r, err), fail_ended(id, err));
}

static int run_settle(struct store_connection *c, void *context, struct error *err)
{
	const struct settlement *settlement = context;
	const struct job_ref ref = {.id = settlement->id};
	struct job_record r;
	int count = query_find(c, QUERY_JOB_FIND, &ref, INTO(settlement->arena, &r), err);

	if (count <= 0)
		return count < 0 ? -1 : not_found(settlement->id, err);
	if (r.state != JOB_RUNNING)
		return fail_ended(r.id, err);
	if (r.told == JOB_RUNNING && !settlement->end)
		return FAIL(err, ERROR_CONFLICT, "background job '%.40s' has not ended", r.id);
	apply_end(settlement->arena, &r, settlement->end);
	if (ROW_OR(query_run(c, QUERY_JOB_SETTLE, &r, NULL, err), fail_ended(r.id, err)) < 0 ||
	    add_job_event(c, settlement->arena, &r, err) < 0)
		return -1;
	*settlement->ret = r;
	return 0;
}

int store_job_finish(struct store *s, struct arena *a, const char *id, const struct job_end *end,
                     struct job_record *ret, struct error *err)
{
	struct settlement settlement = {a, id, end, ret};

	return store_change(s, run_settle, &settlement, err);
}

int store_job_remove(struct store *s, const char *id, struct error *err)
{
	return store_change_query(s, QUERY_JOB_REMOVE, LOOKUP(.id = id), err) < 0 ? -1 : 0;
}

int store_job_purge(struct store *s, int64_t ended_before, struct error *err)
{
	return store_change_query(s, QUERY_JOB_PURGE, LOOKUP(.now = ended_before), err) < 0 ? -1
	                                                                                    : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "store/artifacts.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "json/write.h"
#include "sandbox/events.h"
#include "store/column_rows.h"
#include "store/event_rows.h"
#include "store/events.h"
#include "store/pages.h"
#include "store/query.h"
#include "store/transaction_parts.h"

TEXTS_OF(artifact_state, ARTIFACT_STATE_COUNT, [ARTIFACT_MAKING] = "making",
         [ARTIFACT_READY] = "ready", [ARTIFACT_REMOVING] = "removing")

struct artifact_page {
	struct artifact_filter filter;
	struct page_position position;
};

struct artifact_sum {
	int64_t count, size_bytes;
};

struct artifact_mark {
	const char *id;
	int64_t seen_metered_at, metered_at, unbilled_nano;
};

COLUMNS_OF(artifact_record);
COLUMNS_OF(artifact_page);
COLUMNS_OF(artifact_due);
COLUMNS_OF(artifact_sum);
COLUMNS_OF(artifact_mark);

#define BATCH_MAX 100
#define DETAIL_MAX 256

static struct event_subject subject_of(const struct artifact_record *r)
{
	return (struct event_subject){
	        .project_id = r->project_id, .sandbox_id = r->sandbox_id, .name = r->path};
}

struct artifact_insertion {
	const struct artifact_record *record;
	const struct artifact_limits *limits;
};

static int refuse_more(const struct artifact_insertion *i, const struct artifact_sum *held,
                       struct error *err)
{
	const struct artifact_limits *limits = i->limits;

	if (limits->count_max > 0 && held->count > limits->count_max)
		(void)FAIL(err, ERROR_LIMIT, "the project has %lld artifacts already",
		           (long long)limits->count_max);
	else if (limits->bytes_max > 0 && held->size_bytes > limits->bytes_max)
		(void)FAIL(err, ERROR_LIMIT,
		           "'%.100s' has %lld bytes, and the project's artifacts may have %lld MiB "
		           "in all",
		           i->record->path, (long long)i->record->size_bytes,
		           (long long)(limits->bytes_max >> 20));
	else
		return 0;
	return FAIL_HINT(err, "delete some, or have artifacts_max_mb of the project raised");
}

static int run_insertion(struct store_connection *c, void *context, struct error *err)
{
	const struct artifact_insertion *insertion = context;
	AUTO(arena_done) struct arena arena = {0};
	struct artifact_sum held = {0};

	if (project_lock(c, insertion->record->project_id, err) < 0 ||
	    query_run(c, QUERY_ARTIFACT_INSERT, insertion->record, NULL, err) < 0 ||
	    query_find(c, QUERY_ARTIFACT_SUM, LOOKUP(.project_id = insertion->record->project_id),
	               INTO(&arena, &held), err) < 0)
		return -1;
	return refuse_more(insertion, &held, err);
}

int store_artifact_insert(struct store *s, const struct artifact_record *r,
                          const struct artifact_limits *limits, struct error *err)
{
	struct artifact_insertion insertion = {r, limits};

	return store_change(s, run_insertion, &insertion, err);
}

/* The event's detail names the artifact and the call that made it. */
static int tell_created(struct store_connection *c, const struct artifact_record *r,
                        struct error *err)
{
	AUTO(buf_done) struct buf detail = BUF(DETAIL_MAX);

	json_begin_object(&detail, NULL);
	json_add_text(&detail, "artifact", r->id);
	if (r->process > 0)
		json_add_whole(&detail, "process", r->process);
	if (*r->job)
		json_add_text(&detail, "resultId", r->job);
	json_end_object(&detail);
	return event_add(c,
	                 &(struct event_record){.at = clock_unix_ms(),
	                                        .project_id = r->project_id,
	                                        .sandbox_id = r->sandbox_id,
	                                        .kind = event_kind_name(EVENT_ARTIFACT_CREATED),
	                                        .text = r->path,
	                                        .detail = buf_text(&detail)},
	                 err);
}

static int run_finish(struct store_connection *c, void *context, struct error *err)
{
	const struct artifact_record *r = context;

	if (ROW_OR(query_run(c, QUERY_ARTIFACT_FINISH, r, NULL, err),
	           FAIL(err, ERROR_NOT_FOUND, "artifact '%s' is not being made any more", r->id)) <
	    0)
		return -1;
	return tell_created(c, r, err);
}

int store_artifact_finish(struct store *s, const struct artifact_record *r, struct error *err)
{
	return store_change(s, run_finish, r, err);
}

int store_artifact_find(struct store *s, struct arena *a, const char *project_id, const char *id,
                        struct artifact_record *ret, struct error *err)
{
	return ROW_OR(store_find_query(s, QUERY_ARTIFACT_FIND,
	                               LOOKUP(.project_id = project_id, .id = id), INTO(a, ret),
	                               err),
	              FAIL_MISSING(err, "artifact", id));
}

int store_artifact_list(struct store *s, struct arena *a, const struct artifact_filter *filter,
                        struct artifact_list *ret, struct error *err)
{
	struct artifact_page page = {.filter = *filter};

	if (page_begin(&page.position, filter->page, filter->limit, err) < 0)
		return -1;
	return store_list_query(s, QUERY_ARTIFACT_LIST, &page, PAGE_INTO(a, ret, &page.position),
	                        err);
}

static int run_retirement(struct store_connection *c, void *context, struct error *err)
{
	const struct record_lookup lookup = {.id = context};
	AUTO(arena_done) struct arena arena = {0};
	struct artifact_record r;
	int found = query_find(c, QUERY_ARTIFACT_FIND_ANY, &lookup, INTO(&arena, &r), err);
	struct event_subject subject;

	if (found <= 0 || r.state == ARTIFACT_REMOVING)
		return found < 0 ? -1 : 0;
	if (query_run(c, QUERY_ARTIFACT_RETIRE, &lookup, NULL, err) < 0)
		return -1;
	subject = subject_of(&r);
	return r.state == ARTIFACT_READY ? event_add_about(c, EVENT_ARTIFACT_DELETED, &subject, err)
	                                 : 0;
}

int store_artifact_retire(struct store *s, const char *id, struct error *err)
{
	return store_change(s, run_retirement, id, err);
}

int store_artifact_remove(struct store *s, const char *id, struct error *err)
{
	return store_change_query(s, QUERY_ARTIFACT_REMOVE, LOOKUP(.id = id), err) < 0 ? -1 : 0;
}

static int list_some(struct store *s, struct arena *a, enum query_name query,
                     const struct artifact_due *due, struct artifact_list *ret, struct error *err)
{
	struct artifact_due takes = *due;

	takes.limit = due->limit > 0 && due->limit < BATCH_MAX ? due->limit : BATCH_MAX;
	return store_list_query(s, query, &takes, LIST_INTO(a, ret), err);
}

int store_artifact_list_due(struct store *s, struct arena *a, const struct artifact_due *due,
                            struct artifact_list *ret, struct error *err)
{
	return list_some(s, a, QUERY_ARTIFACT_DUE, due, ret, err);
}

int store_artifact_list_unmetered(struct store *s, struct arena *a, const char *node,
                                  int64_t before, struct artifact_list *ret, struct error *err)
{
	const struct artifact_due due = {.node = node, .now = before};

	return list_some(s, a, QUERY_ARTIFACT_UNMETERED, &due, ret, err);
}

static int run_usage(struct store_connection *c, void *context, struct error *err)
{
	const struct artifact_usage *usage = context;
	const struct artifact_mark mark = {.id = usage->seen->id,
	                                   .seen_metered_at = usage->seen->metered_at,
	                                   .metered_at = usage->metered_at,
	                                   .unbilled_nano = usage->unbilled_nano};
	int marked = query_run(c, QUERY_ARTIFACT_MARK, &mark, NULL, err);

	return marked <= 0 ? marked : usage_rows_add(c, usage->rows, usage->row_count, err);
}

int store_artifact_usage_write(struct store *s, const struct artifact_usage *usage,
                               struct error *err)
{
	return store_change(s, run_usage, usage, err);
}

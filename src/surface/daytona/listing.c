/* SPDX-License-Identifier: Apache-2.0 */
/* GET /daytona/api/sandbox — lists the sandboxes that match a search. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "json/write.h"
#include "store/sandboxes.h"
#include "surface/daytona/daytona.h"
#include "surface/daytona/routes.h"

#define MB_PER_GB 1024.0

/* Values that a search may bound from below and above. Times are unix ms. */
enum sandbox_measure { CPU, MEMORY, DISK, CREATED, ACTIVE, DESTROY, MEASURE_COUNT };

static double measure_sandbox(const struct sandbox_record *r, enum sandbox_measure which)
{
	const double values[MEASURE_COUNT] = {
	        [CPU] = r->resources.cpu,
	        [MEMORY] = (double)r->resources.memory_mb / MB_PER_GB,
	        [DISK] = (double)r->resources.disk_mb / MB_PER_GB,
	        [CREATED] = (double)r->created_at,
	        [ACTIVE] = (double)(r->last_activity_at ? r->last_activity_at : r->created_at),
	        [DESTROY] = r->timeout_at ? (double)r->timeout_at : NAN,
	};

	return values[which];
}

enum list_order { NEWEST_FIRST, OLDEST_FIRST };
static const char *const orders[] = {[NEWEST_FIRST] = "desc", [OLDEST_FIRST] = "asc", NULL};

/* The row of a lower bound is 2 * measure; that of the upper bound is one more. */
enum { IS_PUBLIC = 2 * MEASURE_COUNT, IS_RECOVERABLE };
struct daytona_list_query {
	double numbers[2 * CREATED];
	const char *times[2 * MEASURE_COUNT];
	bool is_public, is_recoverable;
	const char *cursor, *id, *name, *labels, *sort;
	const char **states, **snapshots, **regions, **classes;
	int64_t limit;
	int order;
	uint64_t present;
};
#define NUMBER_ROW(row, name_)                                                                     \
	[row] = {.kind = JSON_NUMBER,                                                              \
	         .name = (name_),                                                                  \
	         .offset = offsetof(struct daytona_list_query, numbers[row]),                      \
	         .max = INT32_MAX}
#define TIME_ROW(row, name_)                                                                       \
	[row] = {.kind = JSON_TEXT,                                                                \
	         .name = (name_),                                                                  \
	         .offset = offsetof(struct daytona_list_query, times[row]),                        \
	         .max = 40}
static const struct json_member list_query_members[] = {
        NUMBER_ROW(2 * CPU, "minCpu"),
        NUMBER_ROW(2 * CPU + 1, "maxCpu"),
        NUMBER_ROW(2 * MEMORY, "minMemoryGiB"),
        NUMBER_ROW(2 * MEMORY + 1, "maxMemoryGiB"),
        NUMBER_ROW(2 * DISK, "minDiskGiB"),
        NUMBER_ROW(2 * DISK + 1, "maxDiskGiB"),
        TIME_ROW(2 * CREATED, "createdAtAfter"),
        TIME_ROW(2 * CREATED + 1, "createdAtBefore"),
        TIME_ROW(2 * ACTIVE, "lastEventAfter"),
        TIME_ROW(2 * ACTIVE + 1, "lastEventBefore"),
        TIME_ROW(2 * DESTROY, "autoDestroyAtAfter"),
        TIME_ROW(2 * DESTROY + 1, "autoDestroyAtBefore"),
        [IS_PUBLIC] = JSON_BOOL_MEMBER(daytona_list_query, is_public, .name = "isPublic"),
        [IS_RECOVERABLE] =
                JSON_BOOL_MEMBER(daytona_list_query, is_recoverable, .name = "isRecoverable"),
        JSON_TEXT_MEMBER(daytona_list_query, cursor, .max = 256),
        JSON_TEXT_MEMBER(daytona_list_query, id, .max = 64),
        JSON_TEXT_MEMBER(daytona_list_query, name, .max = 64),
        JSON_TEXT_MEMBER(daytona_list_query, labels, .max = 8192),
        JSON_TEXT_MEMBER(daytona_list_query, sort, .max = 32),
        JSON_CHOICE_MEMBER(daytona_list_query, order, .choices = orders),
        JSON_TEXT_LIST_MEMBER(daytona_list_query, states, .max = 32),
        JSON_TEXT_LIST_MEMBER(daytona_list_query, snapshots, .max = 32),
        JSON_TEXT_LIST_MEMBER(daytona_list_query, regions, .name = "regionIds", .max = 32),
        JSON_TEXT_LIST_MEMBER(daytona_list_query, classes, .name = "sandboxClasses", .max = 32),
        JSON_WHOLE_MEMBER(daytona_list_query, limit, .min = 1, .max = 1000),
};
static JSON_OPEN_BITS_SHAPE(list_query, "DaytonaListQuery", daytona_list_query,
                            "The sandboxes to list");

/* A parsed query. */
struct sandbox_search {
	const struct daytona_list_query *query;
	const struct json_value *labels;
	double bounds[2 * MEASURE_COUNT];
};

static bool has_row(const struct daytona_list_query *q, unsigned row)
{
	return q->present >> row & 1;
}

static int read_bound(const struct daytona_list_query *q, unsigned row, double *ret,
                      struct error *err)
{
	int64_t at;

	if (row < COUNT_OF(q->numbers)) {
		*ret = q->numbers[row];
		return 0;
	}
	if (!json_time_parse(span_of(q->times[row]), &at))
		return FAIL(err, ERROR_INVALID,
		            "%s: '%s' is not a time, such as 2026-01-31T12:00:00Z",
		            list_query_members[row].name, q->times[row]);
	*ret = (double)at;
	return 0;
}

static int read_search(struct request *rq, struct sandbox_search *ret, struct error *err)
{
	const struct daytona_list_query *q = rq->query;

	*ret = (struct sandbox_search){.query = q};
	if (q->sort && strcmp(q->sort, "createdAt") != 0)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "sort: this server lists sandboxes by createdAt, not by '%s'", q->sort);
	if (q->labels && json_load(rq->arena, span_of(q->labels), &ret->labels, err) < 0)
		return FAIL_CONTEXT(err, "labels");
	for (unsigned row = 0; row < COUNT_OF(ret->bounds); row++)
		if (has_row(q, row) && read_bound(q, row, &ret->bounds[row], err) < 0)
			return -1;
	return 0;
}

static bool is_one_of(const char *text, const char *const *names)
{
	if (!names)
		return true;
	for (size_t i = 0; names[i]; i++)
		if (strcmp(names[i], text) == 0)
			return true;
	return false;
}

static bool has_prefix(const char *text, const char *prefix)
{
	return !prefix || strncasecmp(text, prefix, strlen(prefix)) == 0;
}

/* Whether the sandbox has all wanted labels. */
static bool has_labels(struct arena *a, const struct sandbox_record *r,
                       const struct json_value *wanted)
{
	const struct json_value *labels;
	struct error ignored;

	if (json_load(a, span_of(r->labels_json[0] ? r->labels_json : "{}"), &labels, &ignored) < 0)
		return false;
	for (size_t i = 0; i < json_count(wanted); i++) {
		const char *key = NULL;
		const char *value = json_text(json_member_at(wanted, i, &key), NULL);
		const char *has = json_text(json_get(labels, key), NULL);

		if (!value || !has || strcmp(value, has) != 0)
			return false;
	}
	return true;
}

/* A sandbox without a value is outside of any bounds. */
static bool is_within(const struct sandbox_record *r, const struct sandbox_search *w)
{
	for (unsigned row = 0; row < COUNT_OF(w->bounds); row++) {
		double value = measure_sandbox(r, (enum sandbox_measure)(row / 2));

		if (!has_row(w->query, row))
			continue;
		if (!(row % 2 ? value <= w->bounds[row] : value >= w->bounds[row]))
			return false;
	}
	return true;
}

static bool is_wanted(struct arena *a, const struct sandbox_record *r,
                      const struct sandbox_search *w)
{
	const struct daytona_list_query *q = w->query;

	if (has_row(q, IS_PUBLIC) && q->is_public != r->preview_public)
		return false;
	/* No sandbox is recoverable: a failed one keeps no state. */
	if (has_row(q, IS_RECOVERABLE) && q->is_recoverable)
		return false;
	return has_prefix(r->id, q->id) && has_prefix(r->name, q->name) &&
	       is_one_of(daytona_state_name(r), q->states) &&
	       is_one_of(r->template_name, q->snapshots) && is_one_of(r->region, q->regions) &&
	       is_one_of(DAYTONA_CLASS, q->classes) && is_within(r, w) &&
	       has_labels(a, r, w->labels);
}

static void write_page(struct request *rq, struct buf *out, const struct sandbox_list *found,
                       const struct sandbox_search *w)
{
	json_begin_object(out, NULL);
	json_begin_list(out, "items");
	for (size_t i = 0; i < found->count; i++) {
		if (is_wanted(rq->arena, &found->items[i], w))
			daytona_sandbox_write_listed(rq, out, &found->items[i]);
	}
	json_end_list(out);
	json_add_text(out, "nextCursor", found->next_page);
	json_end_object(out);
}

/* A page may have fewer items than the limit, or none, although more pages follow. */
static int list_sandboxes(struct request *rq, UNUSED const void *body, struct reply *reply,
                          struct error *err)
{
	const struct daytona_list_query *q = rq->query;
	const struct sandbox_filter filter = {
	        .project_id = api_project(rq),
	        .state = -1,
	        .page = q->cursor,
	        .limit = q->limit ? (unsigned)q->limit : 100,
	        .ascending = q->order == OLDEST_FIRST,
	};
	struct sandbox_list found;
	struct sandbox_search search;

	if (read_search(rq, &search, err) < 0 ||
	    store_sandbox_list(api_of(rq)->store, rq->arena, &filter, &found, err) < 0)
		return -1;
	write_page(rq, reply_buf(reply, "application/json"), &found, &search);
	return 0;
}

const struct route daytona_listing_routes[] = {
        {HTTP_GET, DAYTONA_API "/sandbox", SCOPE_SANDBOX_READ, ROUTE_HIDDEN, .query = &list_query,
         .handle = list_sandboxes, .tag = "daytona", .summary = "List sandboxes by creation time"},
        {.path = NULL},
};

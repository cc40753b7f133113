/* SPDX-License-Identifier: Apache-2.0 */
/* The resources that sandboxes use now and have used recently. */
#include <math.h>

#include "base/clock.h"
#include "base/id.h"
#include "fleet/core/sandboxes.h"
#include "fleet/usage/history.h"
#include "json/json.h"
#include "json/write.h"
#include "store/sandbox_record.h"
#include "surface/e2b/e2b.h"
#include "surface/e2b/routes.h"

#define SANDBOXES_MAX 100
#define UNIX_S_MAX (INT64_MAX / 1000 - 1)

struct e2b_metric {
	int64_t timestamp, timestamp_unix, cpu_count, mem_used, mem_total, mem_cache, disk_used,
	        disk_total;
	double cpu_used;
};
static const struct json_member metric_shape_members[] = {
        JSON_TIME_MEMBER(e2b_metric, timestamp),
        JSON_WHOLE_MEMBER(e2b_metric, timestamp_unix, .name = "timestampUnix"),
        JSON_WHOLE_MEMBER(e2b_metric, cpu_count, .name = "cpuCount"),
        JSON_NUMBER_MEMBER(e2b_metric, cpu_used, .name = "cpuUsedPct"),
        JSON_WHOLE_MEMBER(e2b_metric, mem_used, .name = "memUsed"),
        JSON_WHOLE_MEMBER(e2b_metric, mem_total, .name = "memTotal"),
        JSON_WHOLE_MEMBER(e2b_metric, mem_cache, .name = "memCache"),
        JSON_WHOLE_MEMBER(e2b_metric, disk_used, .name = "diskUsed"),
        JSON_WHOLE_MEMBER(e2b_metric, disk_total, .name = "diskTotal"),
};
static JSON_SHAPE(metric_shape, "E2bMetric", e2b_metric, "The resources that a sandbox uses");

static int64_t clamp_whole(uint64_t value)
{
	return value > INT64_MAX ? 0 : (int64_t)value;
}

static struct e2b_metric metric_of(const struct sandbox_record *r, const struct fleet_history *h,
                                   const struct fleet_sample *s)
{
	return (struct e2b_metric){
	        .timestamp = s->at,
	        .timestamp_unix = s->at / 1000,
	        .cpu_count = (int64_t)ceil(r->resources.cpu),
	        .cpu_used = (double)s->cpu_percent,
	        .mem_used = clamp_whole(s->memory_bytes),
	        .mem_total = clamp_whole(h->memory_limit_bytes),
	        .disk_used = clamp_whole(s->disk_bytes),
	        .disk_total = clamp_whole(h->disk_limit_bytes),
	};
}

struct metrics_query {
	int64_t start, end;
};
static const struct json_member metrics_query_members[] = {
        JSON_WHOLE_MEMBER(metrics_query, start, .min = 0, .max = UNIX_S_MAX),
        JSON_WHOLE_MEMBER(metrics_query, end, .min = 0, .max = UNIX_S_MAX),
};
static JSON_OPEN_SHAPE(metrics_query, "E2bMetricsQuery", metrics_query,
                       "The period, in unix seconds");

static int get_metrics(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	const struct metrics_query *q = rq->query;
	/* The end includes its whole second. */
	const struct fleet_period period = {q->start * 1000, q->end ? q->end * 1000 + 999 : 0};
	struct buf *out = reply_buf(reply, "application/json");
	struct sandbox_record record;
	struct fleet_history found;

	if (q->end && q->start > q->end)
		return FAIL(err, ERROR_INVALID, "start is after end");
	if (e2b_sandbox_find(rq, &record, err) < 0 ||
	    fleet_history(api_of(rq)->fleet, rq->arena, &record, &period, &found, err) < 0)
		return -1;
	json_begin_list(out, NULL);
	for (size_t i = 0; i < found.count; i++) {
		const struct e2b_metric metric = metric_of(&record, &found, &found.items[i]);

		json_add_struct(out, NULL, &metric_shape, &metric);
	}
	json_end_list(out);
	return 0;
}

struct many_metrics_query {
	const char *ids;
};
static const struct json_member many_query_members[] = {
        JSON_TEXT_MEMBER(many_metrics_query, ids, .name = "sandbox_ids", .flags = JSON_REQUIRED,
                         .max = SANDBOXES_MAX * (ID_SIZE + 1)),
};
static JSON_OPEN_SHAPE(many_query, "E2bManyMetricsQuery", many_metrics_query,
                       "The sandboxes to measure");

/* Skips a sandbox that does not exist or does not run. */
static void add_sample(struct request *rq, struct span id, struct buf *out)
{
	const struct fleet_ref ref = {api_project(rq), arena_copy(rq->arena, id)};
	const struct fleet_period now = {clock_unix_ms(), 0};
	struct sandbox_record record;
	struct fleet_history found;
	struct e2b_metric metric;
	struct error ignored = {0};

	if (fleet_find(api_of(rq)->fleet, rq->arena, &ref, &record, &ignored) < 0 ||
	    fleet_history(api_of(rq)->fleet, rq->arena, &record, &now, &found, &ignored) < 0 ||
	    found.count == 0)
		return;
	metric = metric_of(&record, &found, &found.items[found.count - 1]);
	json_add_struct(out, ref.id_or_name, &metric_shape, &metric);
}

static int get_many_metrics(struct request *rq, UNUSED const void *body, struct reply *reply,
                            struct error *err)
{
	const struct many_metrics_query *q = rq->query;
	struct buf *out = reply_buf(reply, "application/json");
	struct span rest = span_of(q->ids), id;
	unsigned count = 0;

	json_begin_object(out, NULL);
	json_begin_object(out, "sandboxes");
	while (rest.size > 0) {
		(void)span_split(&rest, ',', &id);
		if (++count > SANDBOXES_MAX)
			return FAIL(err, ERROR_INVALID, "sandbox_ids: more than %d", SANDBOXES_MAX);
		add_sample(rq, id, out);
	}
	json_end_object(out);
	json_end_object(out);
	return 0;
}

const struct route e2b_metrics_routes[] = {
        {HTTP_GET, "/sandboxes/:id/metrics", SCOPE_SANDBOX_READ, ROUTE_HIDDEN,
         .query = &metrics_query, .handle = get_metrics, E2B_ROW},
        {HTTP_GET, "/sandboxes/metrics", SCOPE_SANDBOX_READ, ROUTE_SLOW | ROUTE_HIDDEN,
         .query = &many_query, .handle = get_many_metrics, E2B_ROW},
        {.path = NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* What sandboxes use: one sample, of the moment that it is asked for. */
#include <math.h>

#include "api/e2b/e2b.h"
#include "api/tables.h"
#include "base/clock.h"

#define SANDBOXES_MAX 100

struct metric {
	int64_t timestamp, timestamp_unix, cpu_count, mem_used, mem_total, mem_cache, disk_used,
	        disk_total;
	double cpu_used;
};
static const struct json_member metric_shape_members[] = {
        JSON_TIME_MEMBER(metric, timestamp),
        JSON_WHOLE_MEMBER(metric, timestamp_unix, .name = "timestampUnix"),
        JSON_WHOLE_MEMBER(metric, cpu_count, .name = "cpuCount"),
        JSON_NUMBER_MEMBER(metric, cpu_used, .name = "cpuUsedPct"),
        JSON_WHOLE_MEMBER(metric, mem_used, .name = "memUsed"),
        JSON_WHOLE_MEMBER(metric, mem_total, .name = "memTotal"),
        JSON_WHOLE_MEMBER(metric, mem_cache, .name = "memCache"),
        JSON_WHOLE_MEMBER(metric, disk_used, .name = "diskUsed"),
        JSON_WHOLE_MEMBER(metric, disk_total, .name = "diskTotal"),
        JSON_END,
};
static JSON_SHAPE(metric_shape, "E2bMetric", metric, "What a sandbox uses");

static int64_t whole(uint64_t value)
{
	return value > INT64_MAX ? 0 : (int64_t)value;
}

static int take_sample(struct request *rq, const struct sandbox_record *r, struct metric *ret,
                       struct error *err)
{
	struct provider_stats s;

	if (fleet_stats(api_of(rq)->fleet, r, &s, err) < 0)
		return -1;
	*ret = (struct metric){
	        .timestamp = s.sampled_unix_ms,
	        .timestamp_unix = s.sampled_unix_ms / 1000,
	        .cpu_count = (int64_t)ceil(r->resources.cpu),
	        .mem_used = whole(s.memory_bytes),
	        .mem_total = whole(s.memory_limit_bytes),
	        .disk_used = whole(s.disk_bytes),
	        .disk_total = whole(s.disk_limit_bytes),
	};
	if (s.uptime_ms > 0)
		ret->cpu_used = (double)s.cpu_usage_us / 10.0 / (double)s.uptime_ms;
	return 0;
}

struct metrics_query {
	int64_t start, end;
};
static const struct json_member metrics_query_members[] = {
        JSON_WHOLE_MEMBER(metrics_query, start, .min = 0),
        JSON_WHOLE_MEMBER(metrics_query, end, .min = 0),
        JSON_END,
};
static JSON_OPEN_SHAPE(metrics_query, "E2bMetricsQuery", metrics_query, "Of which time, in unix s");

static int metrics_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct metrics_query *q = rq->query;
	int64_t now = clock_unix_ms() / 1000;
	struct buf *out = reply_buf(reply, "application/json");
	struct sandbox_record record;
	struct metric metric;

	(void)body;
	if (e2b_find(rq, &record, err) < 0)
		return -1;
	buf_add_byte(out, '[');
	/* A second of grace for clocks that are not quite ours. */
	if (record.actual == SANDBOX_STARTED && q->start <= now + 1 &&
	    (q->end == 0 || q->end + 1 >= now)) {
		if (take_sample(rq, &record, &metric, err) < 0)
			return -1;
		json_write(out, &metric_shape, &metric);
	}
	buf_add_byte(out, ']');
	return 0;
}

struct many_query {
	const char *ids;
};
static const struct json_member many_query_members[] = {
        JSON_TEXT_MEMBER(many_query, ids, .name = "sandbox_ids", .flags = JSON_REQUIRED,
                         .max = SANDBOXES_MAX * (ID_SIZE + 1)),
        JSON_END,
};
static JSON_OPEN_SHAPE(many_query, "E2bManyMetricsQuery", many_query, "Of which sandboxes");

/* One that is gone or does not run is left out. */
static void add_sample(struct request *rq, struct span id, struct buf *out)
{
	const struct fleet_ref ref = {api_project(rq), arena_copy(rq->arena, id)};
	struct sandbox_record record;
	struct metric metric;
	struct error ignored = {0};

	if (fleet_find(api_of(rq)->fleet, rq->arena, &ref, &record, &ignored) < 0 ||
	    record.actual != SANDBOX_STARTED || take_sample(rq, &record, &metric, &ignored) < 0)
		return;
	if (out->data[out->size - 1] != '{')
		buf_add_byte(out, ',');
	json_write_text(out, id);
	buf_add_byte(out, ':');
	json_write(out, &metric_shape, &metric);
}

static int many_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct many_query *q = rq->query;
	struct buf *out = reply_buf(reply, "application/json");
	struct span rest = span_of(q->ids), id;
	unsigned count = 0;

	(void)body;
	buf_add_text(out, "{\"sandboxes\":{");
	while (rest.size > 0) {
		(void)span_split(&rest, ',', &id);
		if (++count > SANDBOXES_MAX)
			return FAIL(err, ERROR_INVALID, "sandbox_ids: more than %d", SANDBOXES_MAX);
		add_sample(rq, id, out);
	}
	buf_add_text(out, "}}");
	return 0;
}

const struct route e2b_metrics_routes[] = {
        {HTTP_GET, "/sandboxes/:id/metrics", SCOPE_SANDBOX_READ, ROUTE_HIDDEN,
         .query = &metrics_query, .handle = metrics_get, E2B_ROW},
        {HTTP_GET, "/sandboxes/metrics", SCOPE_SANDBOX_READ, ROUTE_SLOW | ROUTE_HIDDEN,
         .query = &many_query, .handle = many_get, E2B_ROW},
        {.path = NULL},
};

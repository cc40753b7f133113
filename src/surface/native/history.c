/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/instances/:id/stats/history — recent resource usage of a sandbox. */
#include "edge/api.h"
#include "fleet/core/sandboxes.h"
#include "fleet/usage/history.h"
#include "store/sandbox_record.h"
#include "surface/native/native.h"

struct sample_answer {
	int64_t at, memory_bytes, disk_bytes, pids, cpu_usage_us, network_in_bytes,
	        network_out_bytes;
	double cpu_percent;
};
static const struct json_member sample_shape_members[] = {
        JSON_TIME_MEMBER(sample_answer, at),
        JSON_NUMBER_MEMBER(sample_answer, cpu_percent,
                           .about = "percent of one vCPU since the previous sample; the first "
                                    "sample counts from the start of the sandbox"),
        JSON_WHOLE_MEMBER(sample_answer, cpu_usage_us, .about = "since the start of the sandbox"),
        JSON_WHOLE_MEMBER(sample_answer, memory_bytes),
        JSON_WHOLE_MEMBER(sample_answer, disk_bytes,
                          .about = "size of the files on top of the template; -1: unknown"),
        JSON_WHOLE_MEMBER(sample_answer, pids),
        JSON_WHOLE_MEMBER(sample_answer, network_in_bytes),
        JSON_WHOLE_MEMBER(sample_answer, network_out_bytes),
};
static JSON_SHAPE(sample_shape, "StatsSample", sample_answer,
                  "Resource usage of a sandbox at one time");

struct history_answer {
	struct json_list items;
	int64_t memory_limit_bytes, disk_limit_bytes;
};
static const struct json_member history_shape_members[] = {
        JSON_LIST_MEMBER(history_answer, items, &sample_shape, .about = "oldest first"),
        JSON_WHOLE_MEMBER(history_answer, memory_limit_bytes),
        JSON_WHOLE_MEMBER(history_answer, disk_limit_bytes),
};
static JSON_SHAPE(history_shape, "StatsHistory", history_answer,
                  "The newest samples of a sandbox; a running sandbox adds a current sample");

struct history_query {
	const char *from, *until;
};
static const struct json_member history_query_members[] = {
        JSON_TEXT_MEMBER(history_query, from, .max = 40,
                         .about = "start of the period, such as 2026-11-21T15:00:00Z (default: the "
                                  "oldest stored sample)"),
        JSON_TEXT_MEMBER(history_query, until, .max = 40,
                         .about = "end of the period (default: now)"),
};
static JSON_SHAPE(history_query, "StatsHistoryQuery", history_query, "Period of samples");

static struct json_list make_sample_answers(struct arena *a, const struct fleet_history *h)
{
	struct sample_answer *items = ARENA_ARRAY(a, struct sample_answer, h->count + 1);

	for (size_t i = 0; i < h->count; i++) {
		const struct fleet_sample *s = &h->items[i];

		items[i] = (struct sample_answer){
		        .at = s->at,
		        .cpu_percent = (double)s->cpu_percent,
		        .cpu_usage_us = whole_or_unknown(s->cpu_us),
		        .memory_bytes = whole_or_unknown(s->memory_bytes),
		        .disk_bytes = whole_or_unknown(s->disk_bytes),
		        .pids = s->pids,
		        .network_in_bytes = whole_or_unknown(s->network_in_bytes),
		        .network_out_bytes = whole_or_unknown(s->network_out_bytes),
		};
	}
	return (struct json_list){items, h->count, .present = true};
}

static int parse_period_time(const char *name, const char *text, int64_t *ret, struct error *err)
{
	if (!text || json_time_parse(span_of(text), ret))
		return 0;
	(void)FAIL(err, ERROR_INVALID, "%s: '%s' is not a time", name, text);
	error_hint(err, "2026-11-21T15:00:00Z");
	return -1;
}

static int history_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct history_query *q = rq->query;
	const struct fleet_ref ref = {api_project(rq), request_param(rq, "id")};
	struct fleet *fleet = api_of(rq)->fleet;
	struct fleet_period period = {0, 0};
	struct history_answer out;
	struct sandbox_record r;
	struct fleet_history found;

	(void)body;
	if (parse_period_time("from", q->from, &period.from, err) < 0 ||
	    parse_period_time("until", q->until, &period.until, err) < 0)
		return -1;
	if (period.until && period.from > period.until)
		return FAIL(err, ERROR_INVALID, "from is after until");
	if (fleet_find(fleet, rq->arena, &ref, &r, err) < 0 ||
	    fleet_history(fleet, rq->arena, &r, &period, &found, err) < 0)
		return -1;
	out = (struct history_answer){
	        .items = make_sample_answers(rq->arena, &found),
	        .memory_limit_bytes = whole_or_unknown(found.memory_limit_bytes),
	        .disk_limit_bytes = whole_or_unknown(found.disk_limit_bytes),
	};
	reply_json(reply, &history_shape, &out);
	return 0;
}

const struct route history_routes[] = {
        {HTTP_GET, "/api/sandbox/instances/:id/stats/history", SCOPE_SANDBOX_READ,
         .query = &history_query, .answer = &history_shape, .handle = history_get,
         .tag = "sandboxes", .summary = "List samples of a sandbox's resource usage"},
        {.path = NULL},
};

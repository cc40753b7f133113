/* SPDX-License-Identifier: Apache-2.0 */
/* Teams and their metrics. A team is the project of the key, and a key has only one. */
#include <string.h>

#include "base/clock.h"
#include "json/json.h"
#include "json/write.h"
#include "store/projects.h"
#include "store/running.h"
#include "surface/e2b/e2b.h"
#include "surface/e2b/routes.h"

#define UNIX_S_MAX (INT64_MAX / 1000 - 1)
#define PERIOD_MS (INT64_C(7) * 86400000) /* E2B's, without a start */

struct e2b_team {
	const char *team_id, *name, *api_key;
	bool is_default;
};
static const struct json_member team_shape_members[] = {
        JSON_TEXT_MEMBER(e2b_team, team_id, .name = "teamID"),
        JSON_TEXT_MEMBER(e2b_team, name),
        JSON_TEXT_MEMBER(e2b_team, api_key, .name = "apiKey"),
        JSON_BOOL_MEMBER(e2b_team, is_default, .name = "isDefault"),
};
static JSON_SHAPE(team_shape, "E2bTeam", e2b_team, "A team");

/* Clients keep the key of the answer for later calls. The store has only hashes of keys, so it is
 * the one that came with the request; "" for the login of a browser. */
static const char *own_key(struct request *rq)
{
	return arena_copy(rq->arena, account_bearer(request_header(rq, "Authorization"),
	                                            request_header(rq, "X-API-Key")));
}

static int list_teams(struct request *rq, UNUSED const void *body, struct reply *reply,
                      struct error *err)
{
	struct buf *out = reply_buf(reply, "application/json");
	struct project_record project;
	struct e2b_team team;

	if (store_project_find(api_of(rq)->store, rq->arena, api_project(rq), &project, err) < 0)
		return -1;
	team = (struct e2b_team){project.id, project.name, own_key(rq), true};
	json_begin_list(out, NULL);
	json_add_struct(out, NULL, &team_shape, &team);
	json_end_list(out);
	return 0;
}

enum team_metric { METRIC_CONCURRENT, METRIC_START_RATE };
static const char *const metric_choices[] = {
        [METRIC_CONCURRENT] = "concurrent_sandboxes",
        [METRIC_START_RATE] = "sandbox_start_rate",
        NULL,
};

struct team_metrics_query {
	int64_t start, end;
	int metric;       /* enum team_metric */
	uint64_t present; /* a start of 0 is one */
};
enum { QUERY_START, QUERY_END };
static const struct json_member team_metrics_query_members[] = {
        JSON_WHOLE_MEMBER(team_metrics_query, start, .min = 0, .max = UNIX_S_MAX),
        JSON_WHOLE_MEMBER(team_metrics_query, end, .min = 0, .max = UNIX_S_MAX),
};
static JSON_OPEN_BITS_SHAPE(team_metrics_query, "E2bTeamMetricsQuery", team_metrics_query,
                            "The period, in unix seconds");
static const struct json_member team_max_query_members[] = {
        JSON_WHOLE_MEMBER(team_metrics_query, start, .min = 0, .max = UNIX_S_MAX),
        JSON_WHOLE_MEMBER(team_metrics_query, end, .min = 0, .max = UNIX_S_MAX),
        JSON_CHOICE_MEMBER(team_metrics_query, metric, .flags = JSON_REQUIRED,
                           .choices = metric_choices),
};
static JSON_OPEN_BITS_SHAPE(team_max_query, "E2bTeamMaxQuery", team_metrics_query,
                            "The period, in unix seconds, and a metric");

static bool is_given(const struct team_metrics_query *q, unsigned row)
{
	return q->present >> row & 1;
}

static int find_history(struct request *rq, struct running_period *ret_period,
                        struct running_history *ret, struct error *err)
{
	const struct team_metrics_query *q = rq->query;
	const char *team = request_param(rq, "team");
	int64_t now = clock_unix_ms();
	struct running_period period = {.project_id = api_project(rq)};

	if (strcmp(team, period.project_id) != 0)
		return FAIL(err, ERROR_FORBIDDEN, "'%s' is not the team of this key", team);
	if (is_given(q, QUERY_START) && is_given(q, QUERY_END) && q->start > q->end)
		return FAIL(err, ERROR_INVALID, "start is after end");
	period.until = now;
	/* The end includes its whole second. */
	if (is_given(q, QUERY_END) && q->end * 1000 + 999 < now)
		period.until = q->end * 1000 + 999;
	period.from = is_given(q, QUERY_START) ? q->start * 1000 : period.until - PERIOD_MS;
	*ret_period = period;
	return store_running_history(api_of(rq)->store, rq->arena, &period, ret, err);
}

struct e2b_team_metric {
	int64_t timestamp, timestamp_unix, concurrent;
	double start_rate;
};
static const struct json_member team_metric_shape_members[] = {
        JSON_TIME_MEMBER(e2b_team_metric, timestamp),
        JSON_WHOLE_MEMBER(e2b_team_metric, timestamp_unix, .name = "timestampUnix"),
        JSON_WHOLE_MEMBER(e2b_team_metric, concurrent, .name = "concurrentSandboxes"),
        JSON_NUMBER_MEMBER(e2b_team_metric, start_rate, .name = "sandboxStartRate"),
};
static JSON_SHAPE(team_metric_shape, "E2bTeamMetric", e2b_team_metric, "The sandboxes of a team");

static double start_rate(const struct running_history *h, const struct running_sample *s)
{
	return (double)s->starts * 1000 / (double)h->step_ms;
}

static int get_team_metrics(struct request *rq, UNUSED const void *body, struct reply *reply,
                            struct error *err)
{
	struct buf *out = reply_buf(reply, "application/json");
	struct running_period period;
	struct running_history found;

	if (find_history(rq, &period, &found, err) < 0)
		return -1;
	json_begin_list(out, NULL);
	for (size_t i = 0; i < found.count; i++) {
		const struct running_sample *s = &found.items[i];
		const struct e2b_team_metric metric = {.timestamp = s->at,
		                                       .timestamp_unix = s->at / 1000,
		                                       .concurrent = s->concurrent,
		                                       .start_rate = start_rate(&found, s)};

		json_add_struct(out, NULL, &team_metric_shape, &metric);
	}
	json_end_list(out);
	return 0;
}

struct e2b_team_max {
	int64_t timestamp, timestamp_unix;
	double value;
};
static const struct json_member team_max_shape_members[] = {
        JSON_TIME_MEMBER(e2b_team_max, timestamp),
        JSON_WHOLE_MEMBER(e2b_team_max, timestamp_unix, .name = "timestampUnix"),
        JSON_NUMBER_MEMBER(e2b_team_max, value),
};
static JSON_SHAPE(team_max_shape, "E2bTeamMax", e2b_team_max, "The maximum of a metric");

/* The first time of the maximum; 0 at the end of a period without events. */
static int get_team_max(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	const struct team_metrics_query *q = rq->query;
	struct running_period period;
	struct running_history found;
	struct e2b_team_max max = {.value = -1};

	if (find_history(rq, &period, &found, err) < 0)
		return -1;
	for (size_t i = 0; i < found.count; i++) {
		const struct running_sample *s = &found.items[i];
		double value = q->metric == METRIC_START_RATE ? start_rate(&found, s)
		                                              : (double)s->concurrent;

		if (value > max.value)
			max = (struct e2b_team_max){s->at, s->at / 1000, value};
	}
	if (found.count == 0)
		max = (struct e2b_team_max){period.until, period.until / 1000, 0};
	reply_json(reply, &team_max_shape, &max);
	return 0;
}

const struct route e2b_teams_routes[] = {
        {HTTP_GET, "/teams", SCOPE_SANDBOX_READ, ROUTE_HIDDEN, .handle = list_teams, E2B_ROW},
        {HTTP_GET, "/teams/:team/metrics", SCOPE_SANDBOX_READ, ROUTE_SLOW | ROUTE_HIDDEN,
         .query = &team_metrics_query, .handle = get_team_metrics, E2B_ROW},
        {HTTP_GET, "/teams/:team/metrics/max", SCOPE_SANDBOX_READ, ROUTE_SLOW | ROUTE_HIDDEN,
         .query = &team_max_query, .handle = get_team_max, E2B_ROW},
        {.path = NULL},
};

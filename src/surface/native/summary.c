/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/summary — how much of everything a project has. */
#include "store/summary.h"

#include "base/clock.h"
#include "edge/api.h"
#include "fleet/usage/usage.h"
#include "json/json.h"
#include "store/usage.h"
#include "surface/native/native.h"

struct summary_sandboxes_answer {
	int64_t pending, creating, started, paused, stopping, stopped, archived, deleting, failed,
	        total;
};
static const struct json_member summary_sandboxes_members[] = {
        JSON_WHOLE_MEMBER(summary_sandboxes_answer, pending),
        JSON_WHOLE_MEMBER(summary_sandboxes_answer, creating),
        JSON_WHOLE_MEMBER(summary_sandboxes_answer, started),
        JSON_WHOLE_MEMBER(summary_sandboxes_answer, paused),
        JSON_WHOLE_MEMBER(summary_sandboxes_answer, stopping),
        JSON_WHOLE_MEMBER(summary_sandboxes_answer, stopped),
        JSON_WHOLE_MEMBER(summary_sandboxes_answer, archived),
        JSON_WHOLE_MEMBER(summary_sandboxes_answer, deleting),
        JSON_WHOLE_MEMBER(summary_sandboxes_answer, failed),
        JSON_WHOLE_MEMBER(summary_sandboxes_answer, total),
};
static JSON_SHAPE(summary_sandboxes, "SummarySandboxes", summary_sandboxes_answer,
                  "Sandboxes by state, without deleted ones and those of builds");

struct summary_answer {
	const char *project, *currency;
	struct summary_sandboxes_answer sandboxes;
	int64_t templates, builds_running, volumes, snapshots, jobs_running, approvals_pending;
	double cost_today;
	int64_t cost_today_micro;
};
static const struct json_member summary_shape_members[] = {
        JSON_TEXT_MEMBER(summary_answer, project),
        JSON_OBJECT_MEMBER(summary_answer, sandboxes, &summary_sandboxes),
        JSON_WHOLE_MEMBER(summary_answer, templates, .about = "also those of the server"),
        JSON_WHOLE_MEMBER(summary_answer, builds_running, .about = "also those that wait"),
        JSON_WHOLE_MEMBER(summary_answer, volumes),
        JSON_WHOLE_MEMBER(summary_answer, snapshots),
        JSON_WHOLE_MEMBER(summary_answer, jobs_running),
        JSON_WHOLE_MEMBER(summary_answer, approvals_pending),
        JSON_NUMBER_MEMBER(summary_answer, cost_today,
                           .about = "cost since midnight UTC, as it is metered by now"),
        JSON_WHOLE_MEMBER(summary_answer, cost_today_micro, .about = "exact, in millionths"),
        JSON_TEXT_MEMBER(summary_answer, currency, .about = "USD"),
};
static JSON_SHAPE(summary_shape, "Summary", summary_answer, "How much of everything a project has");

static struct summary_sandboxes_answer count_states(const struct project_summary *summary)
{
	const int64_t *by_state = summary->sandboxes;
	struct summary_sandboxes_answer answer = {
	        .pending = by_state[SANDBOX_PENDING],
	        .creating = by_state[SANDBOX_CREATING],
	        .started = by_state[SANDBOX_STARTED],
	        .paused = by_state[SANDBOX_PAUSED],
	        .stopping = by_state[SANDBOX_STOPPING],
	        .stopped = by_state[SANDBOX_STOPPED],
	        .archived = by_state[SANDBOX_ARCHIVED],
	        .deleting = by_state[SANDBOX_DELETING],
	        .failed = by_state[SANDBOX_FAILED],
	};

	for (unsigned i = 0; i < SANDBOX_STATE_COUNT; i++)
		answer.total += i == SANDBOX_DELETED ? 0 : by_state[i];
	return answer;
}

static int find_cost_today(struct request *rq, int64_t *ret_micro, struct error *err)
{
	int64_t now = clock_unix_ms();
	const struct usage_query query = {
	        .project_id = api_project(rq),
	        .from = now - now % USAGE_DAY_MS,
	        .to = now + USAGE_HOUR_MS,
	        .group = USAGE_BY_NOTHING,
	        .after_day = -1,
	        .after_name = "",
	        .limit = 1,
	};
	struct usage_sums sums;

	if (fleet_usage_sum(api_of(rq)->fleet, rq->arena, &query, &sums, err) < 0)
		return -1;
	*ret_micro = sums.count > 0 ? sums.items[0].usd_micro : 0;
	return 0;
}

static int summary_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	struct project_summary summary;
	struct summary_answer answer;
	int64_t cost_micro;

	(void)body;
	if (store_summary(api_of(rq)->store, api_project(rq), &summary, err) < 0 ||
	    find_cost_today(rq, &cost_micro, err) < 0)
		return -1;
	answer = (struct summary_answer){
	        .project = api_project(rq),
	        .sandboxes = count_states(&summary),
	        .templates = summary.counts.templates,
	        .builds_running = summary.counts.builds_running,
	        .volumes = summary.counts.volumes,
	        .snapshots = summary.counts.snapshots,
	        .jobs_running = summary.counts.jobs_running,
	        .approvals_pending = summary.counts.approvals_pending,
	        .cost_today = money_to_usd(cost_micro),
	        .cost_today_micro = cost_micro,
	        .currency = "USD",
	};
	reply_json(reply, &summary_shape, &answer);
	return 0;
}

const struct route summary_routes[] = {
        {HTTP_GET, "/v1/summary", SCOPE_SANDBOX_READ, .answer = &summary_shape,
         .handle = summary_get, .tag = "projects",
         .summary = "Count the project's sandboxes, templates, builds and other objects"},
        {.path = NULL},
};

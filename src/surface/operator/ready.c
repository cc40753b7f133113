/* SPDX-License-Identifier: Apache-2.0 */
/* GET /readyz: the result of the last readiness check (fleet/server/ready.h), or of the check in
 * progress. Runs on the loop's thread; no worker waits for it. */
#include "surface/operator/ready.h"

#include <assert.h>

#include "edge/api.h"
#include "fleet/core/sandboxes.h"
#include "fleet/server/ready.h"
#include "http/server/relay.h"
#include "json/json.h"
#include "provider/health.h"
#include "provider/set.h"

#define LOOK_MS 10
#define WAITING_MAX 256 /* requests that wait for one check */
#define ANSWER_MAX (32 * 1024)

struct readiness_check_answer {
	const char *name, *code, *reason, *cure;
	bool ok;
	double took_ms;
};
static const struct json_member check_shape_members[] = {
        JSON_TEXT_MEMBER(readiness_check_answer, name, .about = "what the check tried"),
        JSON_BOOL_MEMBER(readiness_check_answer, ok),
        JSON_NUMBER_MEMBER(readiness_check_answer, took_ms, .about = "milliseconds"),
        JSON_TEXT_MEMBER(readiness_check_answer, code, .flags = JSON_OMIT_EMPTY,
                         .about = "stable code for programs", .example = "disk_full"),
        JSON_TEXT_MEMBER(readiness_check_answer, reason, .flags = JSON_OMIT_EMPTY),
        JSON_TEXT_MEMBER(readiness_check_answer, cure, .flags = JSON_OMIT_EMPTY),
};
static JSON_SHAPE(check_shape, "ReadinessCheck", readiness_check_answer, "One readiness check");

struct readiness_failure_answer {
	const char *code, *message, *hint;
};
static const struct json_member failure_shape_members[] = {
        JSON_TEXT_MEMBER(readiness_failure_answer, code, .about = "code of the first failed check"),
        JSON_TEXT_MEMBER(readiness_failure_answer, message, .about = "reason of the failure"),
        JSON_TEXT_MEMBER(readiness_failure_answer, hint, .about = "how to fix it"),
};
static JSON_SHAPE(failure_shape, "ReadinessFailure", readiness_failure_answer,
                  "A failed check, in the form of an API error");

struct readiness_provider_answer {
	const char *name, *isolation;
	bool connected, healthy;
};
static const struct json_member provider_state_shape_members[] = {
        JSON_TEXT_MEMBER(readiness_provider_answer, name),
        JSON_TEXT_MEMBER(readiness_provider_answer, isolation),
        JSON_BOOL_MEMBER(readiness_provider_answer, connected),
        JSON_BOOL_MEMBER(readiness_provider_answer, healthy),
};
static JSON_SHAPE(provider_state_shape, "ReadinessProvider", readiness_provider_answer,
                  "The state of a provider; only the first decides about the status");

struct readiness_answer {
	const char *status, *version, *provider;
	int64_t checked_at;
	struct json_list checks, warnings, providers;
	struct readiness_failure_answer error;
};
static const struct json_member readiness_shape_members[] = {
        JSON_TEXT_MEMBER(readiness_answer, status, .about = "ready, not_ready or draining"),
        JSON_TEXT_MEMBER(readiness_answer, version),
        JSON_TEXT_MEMBER(readiness_answer, provider),
        JSON_TIME_MEMBER(readiness_answer, checked_at, .flags = JSON_OMIT_EMPTY),
        JSON_LIST_MEMBER(readiness_answer, checks, &check_shape),
        JSON_LIST_MEMBER(readiness_answer, warnings, &failure_shape, .flags = JSON_OMIT_EMPTY,
                         .about = "problems that do not prevent sandboxes, such as a missing "
                                  "default route on the host"),
        JSON_LIST_MEMBER(readiness_answer, providers, &provider_state_shape,
                         .flags = JSON_OMIT_EMPTY,
                         .about = "all providers, when the server has several"),
        JSON_OBJECT_MEMBER(readiness_answer, error, &failure_shape, .flags = JSON_OMIT_EMPTY),
};
JSON_SHAPE(readiness_shape, "Readiness", readiness_answer,
           "Whether the server can create a sandbox now; status 503 with reason and cure if not");

static struct json_list list_providers(const struct api *api,
                                       struct readiness_provider_answer *items)
{
	const struct provider_set *set = fleet_providers(api->fleet);
	unsigned count = 0;

	for (unsigned i = 0; i < provider_set_count(set); i++) {
		const struct provider_member *m = provider_set_at(set, i);
		bool is_open = provider_member_provider(m) != NULL;

		if (provider_member_has_left(m))
			continue;
		items[count++] = (struct readiness_provider_answer){
		        .name = m->name,
		        .isolation = provider_member_ops(m)->isolation,
		        .connected = is_open,
		        .healthy = is_open && provider_health_get(m->health).is_healthy,
		};
	}
	return (struct json_list){items, count > 1 ? count : 0};
}

static int write_readiness(const struct api *api, const struct ready_result *result,
                           struct buf *out)
{
	const struct ready_check *bad = ready_failure(result);
	struct readiness_check_answer checks[READY_CHECKS_MAX];
	struct readiness_failure_answer warnings[READY_WARNINGS_MAX];
	struct readiness_provider_answer provider_states[PROVIDER_MEMBERS_MAX];
	struct readiness_answer answer = {
	        .status = bad ? "not_ready" : "ready",
	        .version = ATOLL_VERSION,
	        .provider = provider_ops_of(api->provider)->name,
	        .checked_at = result->at_unix_ms,
	        .checks = {checks, result->count},
	        .warnings = {warnings, result->warning_count},
	        .providers = list_providers(api, provider_states),
	};

	for (unsigned i = 0; i < result->count; i++) {
		const struct ready_check *c = &result->checks[i];

		checks[i] = (struct readiness_check_answer){.name = c->name,
		                                            .code = c->code,
		                                            .reason = c->reason,
		                                            .cure = c->cure,
		                                            .ok = c->is_good,
		                                            .took_ms = (double)c->took_us / 1000};
	}
	for (unsigned i = 0; i < result->warning_count; i++) {
		const struct ready_check *w = &result->warnings[i];

		warnings[i] = (struct readiness_failure_answer){w->code, w->reason, w->cure};
	}
	if (bad)
		answer.error = (struct readiness_failure_answer){bad->code, bad->reason, bad->cure};
	json_write(out, &readiness_shape, &answer);
	return bad ? 503 : 200;
}

static void on_tick(void *state, struct relay *relay)
{
	AUTO(buf_done) struct buf text = BUF(ANSWER_MAX);
	const struct api *api = state;
	struct ready_result result;
	int status;

	if (!ready_get(api->fleet, &result))
		return;
	status = write_readiness(api, &result, &text);
	relay_answer(relay, status, "application/json", buf_span(&text));
}

static void release_waiting(void *state, UNUSED int upstream_fd, UNUSED bool clean)
{
	struct api *api = state;

	assert(api->ready_waiting > 0);
	api->ready_waiting--;
}

static const struct relay_ops waiting_relay = {.on_tick = on_tick, .release = release_waiting};

static int wait_for_round(struct api *api, struct reply *reply, struct error *err)
{
	if (api->ready_waiting == WAITING_MAX)
		return FAIL(err, ERROR_UNAVAILABLE,
		            "more than %d requests wait for a readiness check", WAITING_MAX);
	api->ready_waiting++;
	reply_relay(reply, &(struct relay_options){.upstream_fd = -1,
	                                           .ops = &waiting_relay,
	                                           .state = api,
	                                           .tick_ms = LOOK_MS});
	return 0;
}

static void reply_draining(const struct api *api, struct reply *reply)
{
	const struct readiness_answer answer = {
	        .status = "draining",
	        .version = ATOLL_VERSION,
	        .provider = provider_ops_of(api->provider)->name,
	        .error = {"draining",
	                  "the server is stopping: it finishes running calls and accepts no new "
	                  "ones",
	                  "try again when the server has restarted, or use another server"},
	};

	reply_status(reply, 503);
	reply_header(reply, "Retry-After", "2");
	reply_json(reply, &readiness_shape, &answer);
}

int readiness_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                  struct error *err)
{
	struct api *api = api_of(rq);
	struct ready_result result;

	if (api->is_draining) {
		reply_draining(api, reply);
		return 0;
	}
	if (!ready_get(api->fleet, &result))
		return wait_for_round(api, reply, err);
	reply_status(reply, write_readiness(api, &result, reply_buf(reply, "application/json")));
	return 0;
}

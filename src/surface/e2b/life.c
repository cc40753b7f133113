/* SPDX-License-Identifier: Apache-2.0 */
/* /sandboxes/:id/… — connect, resume, set the timeout, pause, set the network. */
#include "credential/rule.h"
#include "fleet/core/waiting.h"
#include "fleet/sandbox/egress.h"
#include "fleet/sandbox/settings.h"
#include "grant/grant.h"
#include "json/json.h"
#include "sandbox/egress.h"
#include "store/sandbox_record.h"
#include "surface/e2b/e2b.h"
#include "surface/e2b/rules.h"
#include "surface/e2b/routes.h"

#define SECOND_MS INT64_C(1000)
#define YEAR_S (365 * 24 * 3600)
#define REFRESH_MAX_S 3600
#define REFRESH_DEFAULT_S 15
#define RESUME_DEFAULT_S 15
#define CONNECT_DEFAULT_S 300

struct e2b_timeout_body {
	int64_t timeout;
	uint64_t present;
};
static const struct json_member time_request_members[] = {
        JSON_WHOLE_MEMBER(e2b_timeout_body, timeout, .flags = JSON_REQUIRED, .min = 0,
                          .max = YEAR_S),
};
static JSON_OPEN_SHAPE(time_request, "E2bTimeout", e2b_timeout_body, "Seconds from now");
struct e2b_wake_body {
	int64_t timeout;
	bool memory;
	uint64_t present;
};
enum wake_row {
	WAKE_TIMEOUT,
	WAKE_MEMORY,
};
static const struct json_member wake_request_members[] = {
        [WAKE_TIMEOUT] = JSON_WHOLE_MEMBER(e2b_wake_body, timeout, .min = 0, .max = YEAR_S),
        [WAKE_MEMORY] = JSON_BOOL_MEMBER(e2b_wake_body, memory),
};
static JSON_OPEN_BITS_SHAPE(wake_request, "E2bWake", e2b_wake_body,
                            "Seconds from now, and whether the processes are resumed");
static const struct json_member refresh_request_members[] = {
        JSON_WHOLE_MEMBER(e2b_timeout_body, timeout, .name = "duration", .min = 0,
                          .max = REFRESH_MAX_S),
};
static JSON_OPEN_BITS_SHAPE(refresh_request, "E2bRefresh", e2b_timeout_body, "Seconds from now");

static int set_timeout(struct request *rq, int64_t seconds, bool is_later,
                       struct sandbox_record *ret, struct error *err)
{
	const struct fleet_ref ref = {api_project(rq), ret->id};
	const struct fleet_timeout timeout = {seconds > 0 ? seconds * SECOND_MS : 1, is_later};

	return fleet_set_timeout(api_of(rq)->fleet, rq->arena, &ref, &timeout, ret, err);
}

static int reply_sandbox(struct request *rq, struct reply *reply, const struct sandbox_record *r)
{
	const struct e2b_sandbox out = e2b_sandbox_of(rq, r);

	reply_json(reply, &e2b_sandbox_shape, &out);
	return 0;
}

static int64_t wake_seconds(const struct e2b_wake_body *b, int64_t otherwise)
{
	return b->present >> WAKE_TIMEOUT & 1 ? b->timeout : otherwise;
}

/* Sets the timeout first, so that the sandbox is not paused again at once. */
static int wake_sandbox(struct request *rq, const struct e2b_wake_body *b, int64_t seconds,
                        struct sandbox_record *ret, struct error *err)
{
	const struct fleet_ref ref = {.project_id = api_project(rq),
	                              .id_or_name = ret->id,
	                              .awaited = api_awaited_if_parking(rq)};
	bool keeps_memory = !(b->present >> WAKE_MEMORY & 1) || b->memory;

	if (api_check_budgets(rq, err) < 0 || set_timeout(rq, seconds, false, ret, err) < 0)
		return -1;
	return (keeps_memory ? fleet_start : fleet_start_anew)(api_of(rq)->fleet, rq->arena, &ref,
	                                                       ret, err);
}

static int connect_sandbox(struct request *rq, const void *body, struct reply *reply,
                           struct error *err)
{
	const struct e2b_wake_body *b = body;
	int64_t seconds = wake_seconds(b, CONNECT_DEFAULT_S);
	struct sandbox_record record;
	bool runs;

	if (e2b_sandbox_find(rq, &record, err) < 0)
		return -1;
	/* A start that this call has awaited does not count as running before. */
	runs = record.actual == SANDBOX_STARTED && !api_awaited(rq).key;
	if ((runs ? set_timeout(rq, seconds, true, &record, err)
	          : wake_sandbox(rq, b, seconds, &record, err)) < 0)
		return -1;
	reply_status(reply, runs ? 200 : 201);
	return reply_sandbox(rq, reply, &record);
}

static int resume_sandbox(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	const struct e2b_wake_body *b = body;
	struct sandbox_record record;

	if (e2b_sandbox_find(rq, &record, err) < 0)
		return -1;
	if (record.actual == SANDBOX_STARTED)
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' is running already", record.id);
	if (wake_sandbox(rq, b, wake_seconds(b, RESUME_DEFAULT_S), &record, err) < 0)
		return -1;
	reply_status(reply, 201);
	return reply_sandbox(rq, reply, &record);
}

static int set_sandbox_timeout(struct request *rq, const void *body, struct reply *reply,
                               struct error *err)
{
	const struct e2b_timeout_body *b = body;
	struct sandbox_record record;

	if (e2b_sandbox_find(rq, &record, err) < 0 ||
	    set_timeout(rq, b->timeout, false, &record, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

static int refresh_sandbox(struct request *rq, const void *body, struct reply *reply,
                           struct error *err)
{
	const struct e2b_timeout_body *b = body;
	struct sandbox_record record;

	if (e2b_sandbox_find(rq, &record, err) < 0 ||
	    set_timeout(rq, b->present ? b->timeout : REFRESH_DEFAULT_S, true, &record, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

struct e2b_pause_body {
	bool memory;
	uint64_t present;
};
static const struct json_member pause_request_members[] = {
        JSON_BOOL_MEMBER(e2b_pause_body, memory),
};
static JSON_OPEN_BITS_SHAPE(pause_request, "E2bPause", e2b_pause_body,
                            "Whether to keep the memory");

/* A pause without memory is a stop: the files are kept, and the next start begins from them. A
 * pause of this API frees the host's memory, where the provider can. */
static int pause_sandbox(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct e2b_pause_body *b = body;
	struct fleet *fleet = api_of(rq)->fleet;
	struct fleet_ref ref = {.project_id = api_project(rq)};
	struct sandbox_record record;

	if (e2b_sandbox_find(rq, &record, err) < 0)
		return -1;
	if (record.actual != SANDBOX_STARTED)
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' is paused already", record.id);
	ref.id_or_name = record.id;
	if ((b->present && !b->memory
	             ? fleet_stop(fleet, rq->arena, &ref, &record, err)
	             : fleet_pause_for_long(fleet, rq->arena, &ref, &record, err)) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

static int set_rules(struct request *rq, const struct fleet_ref *ref, const char *egress,
                     struct credential_rules *rules, struct sandbox_record *r, struct error *err)
{
	const struct grant_change change = {api_user_id(rq), egress, rules, E2B_RULES_SOURCE};
	struct api *api = api_of(rq);

	if (rules->rules.count == 0 && !*r->rules_json)
		return fleet_set_egress(api->fleet, rq->arena, ref, egress, r, err);
	return grant_set(api->grants, rq->arena, ref, &change, r, err);
}

/* Replaces network rules and the rules of this API: one that the body does not repeat ends. The
 * values in the body are kept only for a sandbox that can have them. */
static int set_sandbox_network(struct request *rq, const void *body, struct reply *reply,
                               struct error *err)
{
	struct fleet_ref ref = {.project_id = api_project(rq)};
	struct credential_rules rules;
	struct sandbox_record record;
	struct e2b_access access;

	if (e2b_sandbox_find(rq, &record, err) < 0 ||
	    e2b_network_access(rq->arena, body, 1, &access, err) < 0)
		return -1;
	if (access.internet == 0)
		access.egress = "-" SANDBOX_EGRESS_ALL;
	if (record.network == SANDBOX_NETWORK_BLOCKED &&
	    !sandbox_egress_denies_all(access.egress)) {
		(void)FAIL(err, ERROR_UNSUPPORTED,
		           "sandbox '%s' was made without a network, which cannot be switched on",
		           record.id);
		error_hint(err, "make it with allow_internet_access true, and network.denyOut "
		                "[\"" SANDBOX_EGRESS_ALL "\"] until it may");
		return -1;
	}
	ref.id_or_name = record.id;
	if (record.network == SANDBOX_NETWORK_INTERNET &&
	    (e2b_rules_read(rq, body, &access, &rules, err) < 0 ||
	     set_rules(rq, &ref, access.egress, &rules, &record, err) < 0))
		return -1;
	reply_status(reply, 204);
	return 0;
}

#define WRITE SCOPE_SANDBOX_WRITE
const struct route e2b_life_routes[] = {
        {HTTP_POST, "/sandboxes/:id/connect", WRITE, ROUTE_SLOW | ROUTE_HIDDEN,
         .body = &wake_request, .handle = connect_sandbox, E2B_ROW},
        {HTTP_POST, "/v2/sandboxes/:id/connect", WRITE, ROUTE_SLOW | ROUTE_HIDDEN,
         .body = &wake_request, .handle = connect_sandbox, E2B_ROW},
        {HTTP_POST, "/sandboxes/:id/resume", WRITE, ROUTE_SLOW | ROUTE_HIDDEN,
         .body = &wake_request, .status = 201, .handle = resume_sandbox, E2B_ROW},
        {HTTP_POST, "/sandboxes/:id/timeout", WRITE, ROUTE_HIDDEN, .body = &time_request,
         .status = 204, .handle = set_sandbox_timeout, E2B_ROW},
        {HTTP_POST, "/sandboxes/:id/refreshes", WRITE, ROUTE_HIDDEN, .body = &refresh_request,
         .status = 204, .handle = refresh_sandbox, E2B_ROW},
        {HTTP_POST, "/sandboxes/:id/pause", WRITE, ROUTE_SLOW | ROUTE_HIDDEN,
         .body = &pause_request, .status = 204, .handle = pause_sandbox, E2B_ROW},
        {HTTP_PUT, "/sandboxes/:id/network", WRITE, ROUTE_SLOW | ROUTE_HIDDEN,
         .body = &e2b_network_shape, .status = 204, .handle = set_sandbox_network, E2B_ROW},
        {.path = NULL},
};

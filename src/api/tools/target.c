/* SPDX-License-Identifier: Apache-2.0 */
#include "api/tools/target.h"

#include "api/configs.h"
#include "api/session.h"
#include "base/clock.h"
#include "fleet/lease.h"
#include "fleet/usage.h"

#define TIMEOUT_MAX_MS (600 * INT64_C(1000))

static int check_one(const struct tools_target *w, struct error *err)
{
	unsigned count = !!w->sandbox + !!w->lease + !!w->session;

	if (count == 1 && (w->session || !w->tenant) && !(w->sandbox && w->config))
		return 0;
	(void)FAIL(err, ERROR_INVALID, "which sandbox: %s",
	           count == 0                ? "none is named"
	           : count > 1               ? "more than one is named"
	           : w->sandbox && w->config ? "config is for one that has to be made"
	                                     : "tenantId is without sessionId");
	error_hint(err, "one of sandboxId, lease, or sessionId with or without tenantId");
	return -1;
}

static int open_lease(struct request *rq, const struct tools_target *w, struct api_target *ret,
                      struct error *err)
{
	struct fleet *fleet = api_of(rq)->fleet;
	struct fleet_create make = {.key_id = api_account(rq)->key_id, .internet = -1};
	struct fleet_use use;
	const struct fleet_lease request = {
	        .project_id = api_project(rq), .key = w->lease, .make = &make, .use = &use};
	struct fleet_leased leased;

	if (lease_key_check(w->lease, err) < 0 ||
	    (w->config && api_config_apply(rq, w->config, &make, err) < 0) ||
	    api_use(rq, &use, err) < 0 ||
	    fleet_lease_hold(fleet, rq->arena, &request, &leased, &ret->hold, err) < 0)
		return -1;
	ret->record = leased.sandbox;
	store_sandbox_touch(api_of(rq)->store, ret->record.id, clock_unix_ms());
	return fleet_defaults(fleet, rq->arena, &ret->record, NULL, &ret->defaults, err);
}

static int open_target(struct request *rq, const struct tools_target *w, struct api_target *ret,
                       struct error *err)
{
	const struct lease_session session = {w->tenant ? w->tenant : "default", w->session};

	if (check_one(w, err) < 0)
		return -1;
	if (w->sandbox)
		return api_target_open_id(rq, w->sandbox, ret, err);
	return w->lease ? open_lease(rq, w, ret, err) : session_open(rq, &session, ret, err);
}

struct tool_call tools_call(struct request *rq, const struct tools_target *which)
{
	const struct config *config = api_of(rq)->config;
	int64_t timeout_ms = config->exec_timeout_ms;

	return (struct tool_call){
	        .fleet = api_of(rq)->fleet,
	        .store = api_of(rq)->store,
	        .jobs = api_of(rq)->jobs,
	        .config = config,
	        .terminals = api_of(rq)->terminals,
	        .arena = rq->arena,
	        .project_id = api_project(rq),
	        .key_id = api_account(rq)->key_id,
	        .conversation_id = which->conversation,
	        .timeout_ms = timeout_ms < TIMEOUT_MAX_MS ? timeout_ms : TIMEOUT_MAX_MS,
	        .timeout_max_ms = TIMEOUT_MAX_MS,
	        .output_limit_bytes = config->output_limit_bytes,
	        .deadline = rq->deadline,
	};
}

int tools_open(struct request *rq, const struct tools_target *which, struct api_target *ret_target,
               struct tool_call *ret, struct error *err)
{
	const struct fleet_defaults *defaults = &ret_target->defaults;

	if (open_target(rq, which, ret_target, err) < 0)
		return -1;
	*ret = tools_call(rq, which);
	ret->sandbox = &ret_target->record;
	ret->hold = &ret_target->hold;
	ret->root = defaults->workdir && defaults->workdir[0] ? defaults->workdir : "/";
	ret->user = defaults->user;
	ret->env = defaults->env;
	return 0;
}

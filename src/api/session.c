/* SPDX-License-Identifier: Apache-2.0 */
#include "api/session.h"

#include "base/clock.h"
#include "fleet/lease.h"
#include "fleet/usage.h"

/* What the session's sandbox is when it has to be made. */
static struct fleet_create create_of(const struct request *rq, struct json_map labels)
{
	const struct api *api = api_of(rq);
	/* A provider that isolates nothing cannot block either; the sandbox's record says so. */
	bool can_block = provider_ops_of(api->provider)->abilities & PROVIDER_CAN_BLOCK_NETWORK;

	return (struct fleet_create){
	        .key_id = api_account(rq)->key_id,
	        .labels = labels,
	        .internet = !can_block,
	        .idle_reap_ms = api->config->session_idle_ms,
	};
}

int session_open(struct request *rq, const struct lease_session *session, struct api_target *ret,
                 struct error *err)
{
	struct json_pair labels[] = {{"tenant_id", session->tenant},
	                             {"session_id", session->session}};
	const struct fleet_create make =
	        create_of(rq, (struct json_map){labels, COUNT_OF(labels), true});
	struct fleet *fleet = api_of(rq)->fleet;
	struct fleet_use use;
	const struct fleet_lease request = {
	        .project_id = api_project(rq),
	        .key = lease_session_key(rq->arena, session),
	        .make = &make,
	        .use = &use,
	        .sessions_max = api_of(rq)->config->sessions_max,
	};
	struct fleet_leased leased;

	if (api_use(rq, &use, err) < 0 ||
	    fleet_lease_hold(fleet, rq->arena, &request, &leased, &ret->hold, err) < 0)
		return -1;
	ret->record = leased.sandbox;
	store_sandbox_touch(api_of(rq)->store, ret->record.id, clock_unix_ms());
	return fleet_defaults(fleet, rq->arena, &ret->record, NULL, &ret->defaults, err);
}

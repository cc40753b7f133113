/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/session.h"

#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "edge/caller.h"
#include "edge/target.h"
#include "fleet/core/fleet_hold.h"
#include "fleet/core/use.h"
#include "fleet/lease/lease.h"
#include "provider/provider.h"
#include "store/sandboxes.h"

/* The request for a new sandbox of a session. */
static struct fleet_create session_create_request(const struct request *rq, struct json_map labels)
{
	const struct api *api = api_of(rq);
	/* A provider without isolation cannot block the network; the sandbox's record must say so.
	 */
	bool can_block = provider_ops_of(api->provider)->abilities & PROVIDER_CAN_BLOCK_NETWORK;

	return (struct fleet_create){
	        .key_id = api_key_id(rq),
	        .user_id = api_user_id(rq),
	        .caller = api_fleet_caller(rq),
	        .labels = labels,
	        .internet = !can_block,
	        .timeouts.idle_reap_ms = api->config->session_idle_ms,
	};
}

static int open_leased(struct request *rq, struct fleet_lease request, struct api_target *ret,
                       struct error *err)
{
	struct fleet *fleet = api_of(rq)->fleet;
	struct fleet_leased leased;
	struct fleet_hold hold;
	struct fleet_use use;

	request.project_id = api_project(rq);
	request.use = &use;
	request.parks = api_can_park(rq);
	request.awaited = api_awaited(rq);
	if (api_describe_use(rq, &use, err) < 0 ||
	    fleet_lease_hold(fleet, rq->arena, &request, &leased, &hold, err) < 0 ||
	    api_target_take(rq, &leased.sandbox, &hold, ret, err) < 0)
		return -1;
	((struct api_caller *)rq->caller)->leased_id = ret->id;
	store_sandbox_touch(api_of(rq)->store, ret->id, clock_unix_ms());
	return 0;
}

int session_open(struct request *rq, const struct lease_session *session, struct api_target *ret,
                 struct error *err)
{
	struct json_pair labels[] = {{"tenant_id", session->tenant},
	                             {"session_id", session->session}};
	const struct fleet_create make =
	        session_create_request(rq, (struct json_map){labels, COUNT_OF(labels), true});
	const struct fleet_lease request = {
	        .key = lease_session_key(rq->arena, session),
	        .make = &make,
	        .sessions_max = api_of(rq)->config->sessions_max,
	        .terms = LEASE_TERMS_NEXT, /* a new sandbox gets the server's current rules */
	};

	return open_leased(rq, request, ret, err);
}

int session_open_lease(struct request *rq, const char *key, struct api_target *ret,
                       struct error *err)
{
	const struct fleet_create make = {
	        .key_id = api_key_id(rq),
	        .user_id = api_user_id(rq),
	        .caller = api_fleet_caller(rq),
	        .internet = -1,
	};

	return open_leased(rq, (struct fleet_lease){.key = key, .make = &make}, ret, err);
}

int session_open_made(struct request *rq, const char *key, const struct fleet_create *make,
                      struct api_target *ret, struct error *err)
{
	return open_leased(rq, (struct fleet_lease){.key = key, .make = make}, ret, err);
}

int session_retry(struct request *rq, const void *body, struct reply *reply, http_handler *handle,
                  struct error *err)
{
	struct api_caller *caller = rq->caller;
	int result;

	caller->leased_id = NULL;
	result = handle(rq, body, reply, err);
	if (result == 0 || !caller->leased_id ||
	    !fleet_lease_is_gone(api_of(rq)->fleet, caller->leased_id, err))
		return result;
	log_info("the sandbox of a lease is gone: retry with a new one",
	         TEXT("sandbox", caller->leased_id), TEXT("request", rq->id));
	error_clear(err);
	return handle(rq, body, reply, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The use of a sandbox by a request, and the sandbox that its path names. */
#include <stdio.h>
#include <string.h>

#include "base/cancel.h"
#include "config/config.h"
#include "edge/caller.h"
#include "edge/hooks.h"
#include "edge/target.h"
#include "fleet/core/defaults.h"
#include "fleet/core/sandboxes.h"
#include "fleet/core/use.h"
#include "fleet/core/waiting.h"
#include "fleet/lifecycle/ephemeral.h"
#include "fleet/lifecycle/hold.h"
#include "http/server/hang_up.h"
#include "http/server/http.h"
#include "http/server/parked.h"
#include "http/server/shares.h"
#include "store/sandboxes.h"

struct api *api_of(const struct request *rq)
{
	return rq->context;
}

const struct account_caller *api_account(const struct request *rq)
{
	return &((const struct api_caller *)rq->caller)->account;
}

const char *api_project(const struct request *rq)
{
	return api_account(rq)->project_id;
}

const char *api_key_id(const struct request *rq)
{
	return api_account(rq)->key_id;
}

const char *api_user_id(const struct request *rq)
{
	return api_account(rq)->user_id;
}

const char *api_caller_name(const struct request *rq)
{
	const struct account_caller *caller = api_account(rq);

	return caller->user_id && caller->user_id[0] ? caller->user_id : caller->key_id;
}

int api_require(const struct request *rq, unsigned scope, struct error *err)
{
	return account_require(api_account(rq), scope, err);
}

bool api_can_park(const struct request *rq)
{
	return rq->exchange != NULL;
}

struct fleet_awaited api_awaited(const struct request *rq)
{
	struct request_awaited awaited = request_awaited(rq);

	return (struct fleet_awaited){awaited.key, awaited.for_ms};
}

const struct fleet_awaited *api_awaited_if_parking(struct request *rq)
{
	struct fleet_awaited *awaited;

	if (!api_can_park(rq))
		return NULL;
	awaited = ARENA_NEW(rq->arena, struct fleet_awaited);
	*awaited = api_awaited(rq);
	return awaited;
}

/* A proxy on this machine, or one that the operator named by an https address. */
static bool has_trusted_proxy(const struct request *rq)
{
	return strcmp(rq->peer, "unix") == 0 || strncmp(rq->peer, "127.", 4) == 0 ||
	       strncmp(rq->peer, "[::1]", 5) == 0 ||
	       strncmp(api_of(rq)->config->public_url, "https:", 6) == 0;
}

bool api_is_https(const struct request *rq)
{
	const char *proto = request_header(rq, "X-Forwarded-Proto");

	return rq->is_tls || (proto && strcmp(proto, "https") == 0 && has_trusted_proxy(rq));
}

const char *api_server_address(const struct request *rq)
{
	const char *host;

	if (!rq->exchange)
		return ((const struct api_caller *)rq->caller)->address;
	host = request_header(rq, "Host");
	if (!host || !host[0])
		return NULL;
	return arena_format(rq->arena, "%s://%s", api_is_https(rq) ? "https" : "http", host);
}

const char *api_public_address(const struct request *rq)
{
	const char *own = api_of(rq)->config->public_url, *address = api_server_address(rq);

	if (own[0])
		return own;
	return address ? address : "";
}

void api_request_copy(const struct request *rq, struct arena *a, struct request *ret)
{
	const struct api_caller *caller = rq->caller;
	struct api_caller *kept = ARENA_NEW(a, struct api_caller);
	const char *run = request_header(rq, "Atoll-Run"), *address = api_server_address(rq);
	const char *conversation = api_used_conversation(rq);

	*kept = *caller;
	kept->account.key_id = arena_text(a, caller->account.key_id);
	kept->account.project_id = arena_text(a, caller->account.project_id);
	kept->account.user_id = arena_text(a, caller->account.user_id);
	kept->own_project = arena_text(a, caller->own_project);
	kept->run = run ? arena_text(a, run) : NULL;
	kept->conversation = conversation ? arena_text(a, conversation) : NULL;
	kept->address = address ? arena_text(a, address) : NULL;
	kept->slot = NULL;
	kept->leased_id = NULL;
	*ret = (struct request){
	        .arena = a,
	        .method = rq->method,
	        .method_name = "",
	        .path = arena_text(a, rq->path),
	        .route = rq->route,
	        .caller = kept,
	        .context = rq->context,
	        .peer = "",
	        .deadline = rq->deadline,
	};
	memcpy(ret->id, rq->id, sizeof(ret->id));
}

const char *api_visible_project(const struct request *rq)
{
	const struct api_caller *caller = rq->caller;
	bool sees_all = caller->account.scopes & SCOPE_ADMIN;

	return sees_all && !caller->is_login && !request_header(rq, "X-Atoll-Project")
	               ? NULL
	               : api_project(rq);
}

static int find_named(struct request *rq, const struct fleet_ref *filter,
                      struct sandbox_record *ret, struct error *err)
{
	if (filter->project_id)
		return fleet_find(api_of(rq)->fleet, rq->arena, filter, ret, err);
	return store_sandbox_find_anywhere(api_of(rq)->store, rq->arena, filter->id_or_name, ret,
	                                   err);
}

int api_resolve_sandbox_id(struct request *rq, const struct fleet_ref *filter, const char **ret,
                           struct error *err)
{
	const char *id = filter->id_or_name;
	struct sandbox_record r;

	if (id && !id_is_valid(id)) {
		if (find_named(rq, filter, &r, err) < 0) {
			if (err->code == ERROR_NOT_FOUND)
				error_hint(err, "a deleted sandbox is found by its id only");
			return -1;
		}
		id = r.id;
	}
	*ret = id;
	return 0;
}

int api_may_call(struct request *rq, const struct sandbox_record *r, struct fleet_hold *hold,
                 struct error *err)
{
	const struct request_sandbox sandbox = {r->project_id, r->id};

	if (request_may_call(rq, &sandbox, err) == 0)
		return 0;
	fleet_unhold(hold);
	return -1;
}

void api_find_shares(const struct request *rq, uint64_t ret[WORKER_SHARES])
{
	const struct api_caller *caller = rq->caller;
	char peer[64];
	char *port;

	if (caller && caller->account.key_id[0]) {
		ret[WORKER_PROJECT] = worker_share_id(caller->account.project_id);
		ret[WORKER_KEY] = worker_share_id(caller->account.key_id);
		return;
	}
	if (caller && caller->share) {
		ret[WORKER_PROJECT] = worker_share_id(caller->share);
		return;
	}
	(void)snprintf(peer, sizeof(peer), "%s", rq->peer);
	port = strrchr(peer, ':');
	if (port)
		*port = '\0';
	ret[WORKER_PROJECT] = worker_share_id(peer);
}

void api_target_take_browser(struct request *rq, struct fleet_hold *hold, struct api_target *ret)
{
	struct fleet_hold *held = ARENA_NEW(rq->arena, struct fleet_hold);

	*held = *hold;
	hold->fleet = NULL;
	*ret = (struct api_target){
	        .hold = held,
	        .id = arena_text(rq->arena, held->id), /* outlives the hold */
	        .provider = held->provider,
	};
}

int api_target_take(struct request *rq, const struct sandbox_record *r, struct fleet_hold *hold,
                    struct api_target *ret, struct error *err)
{
	struct sandbox_record *record = ARENA_NEW(rq->arena, struct sandbox_record);
	struct fleet_defaults defaults;

	if (api_may_call(rq, r, hold, err) < 0)
		return -1;
	api_audit_project(rq, r->project_id);
	if (fleet_defaults(api_of(rq)->fleet, rq->arena, r, NULL, &defaults, err) < 0) {
		fleet_unhold(hold);
		return -1;
	}
	*record = *r;
	api_target_take_browser(rq, hold, ret);
	ret->record = record;
	ret->env = defaults.env;
	ret->user = defaults.user;
	ret->workdir = defaults.workdir;
	return 0;
}

int api_target_open_id(struct request *rq, const char *id, struct api_target *ret,
                       struct error *err)
{
	struct fleet_use use;
	struct fleet_ref ref = {api_project(rq), id, &use, NULL};
	struct fleet *fleet = api_of(rq)->fleet;
	struct sandbox_record r;
	struct fleet_hold hold;

	if (api_describe_use(rq, &use, err) < 0)
		return -1;
	if (!fleet_hold_warm(fleet, rq->arena, &ref, &r, &hold)) {
		if (request_may_block(rq, err) < 0)
			return -1;
		ref.awaited = api_awaited_if_parking(rq);
		if (fleet_hold(fleet, rq->arena, &ref, &r, &hold, err) < 0)
			return -1;
	}
	if (api_target_take(rq, &r, &hold, ret, err) < 0)
		return -1;
	api_target_cancel_with_client(rq);
	return 0;
}

int api_target_make(struct request *rq, const struct fleet_create *make, struct api_target *ret,
                    struct error *err)
{
	struct fleet_use use;
	const struct fleet_ephemeral call = {make, &use};
	struct sandbox_record r;
	struct fleet_hold hold;

	if (api_describe_use(rq, &use, err) < 0 ||
	    fleet_ephemeral_open(api_of(rq)->fleet, rq->arena, &call, &r, &hold, err) < 0 ||
	    api_target_take(rq, &r, &hold, ret, err) < 0)
		return -1;
	api_target_cancel_with_client(rq);
	return 0;
}

bool api_target_is_ephemeral(const struct api_target *t)
{
	return t->hold && t->hold->ending_key[0];
}

void api_target_finish_without_client(void)
{
	cancel_set_current(NULL);
}

const struct cancel *api_cancel(struct request *rq)
{
	return rq->exchange ? request_cancel(rq) : NULL;
}

/* Not before the sandbox is started: a start must be finished. */
void api_target_cancel_with_client(struct request *rq)
{
	cancel_set_current(request_cancel(rq));
}

int api_target_env(struct request *rq, const struct api_target *t, const struct json_map *extra,
                   const char ***ret, struct error *err)
{
	struct fleet_defaults defaults;

	if (fleet_defaults(api_of(rq)->fleet, rq->arena, t->record, extra, &defaults, err) < 0)
		return -1;
	*ret = defaults.env;
	return 0;
}

int api_target_open(struct request *rq, struct api_target *ret, struct error *err)
{
	return api_target_open_id(rq, request_param(rq, "id"), ret, err);
}

int api_target_look(struct request *rq, struct api_target *ret, struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);
	struct sandbox_record r;
	struct fleet_hold hold;

	if (fleet_look(api_of(rq)->fleet, rq->arena, &ref, &r, &hold, err) < 0 ||
	    api_target_take(rq, &r, &hold, ret, err) < 0)
		return -1;
	api_target_cancel_with_client(rq);
	return 0;
}

void api_target_done(struct api_target *t)
{
	cancel_set_current(NULL);
	fleet_unhold(t->hold);
}

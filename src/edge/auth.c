/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the caller of a request: its key, project and scopes. */
#include <string.h>

#include "base/clock.h"
#include "edge/audit.h"
#include "edge/caller.h"
#include "edge/cookie.h"
#include "edge/hooks.h"
#include "edge/keys.h"
#include "edge/limiter.h"
#include "edge/trace.h"
#include "edge/tickets.h"
#include "fleet/core/peers.h"
#include "fleet/core/sandboxes.h"
#include "http/server/http.h"
#include "http/server/shares.h"
#include "loop/loop.h"
#include "sign_in/sign_in.h"
#include "store/projects.h"

#define STATUS_UNAUTHENTICATED 401

/* The credentials of a request. */
struct credential {
	unsigned char hash[ACCOUNT_HASH_SIZE]; /* of the key or the login */
	bool is_login;
	const char *project; /* to act in; NULL = the key's own */
	struct span ticket;  /* used instead of the key; size 0 = none */
};

static int refuse_key(struct error *err)
{
	(void)FAIL(err, ERROR_UNAUTHENTICATED, "this key is not valid");
	error_hint(err, "send 'Authorization: Bearer KEY'; the first key is in DATA/admin.key");
	return -1;
}

static int refuse_ticket(struct error *err)
{
	(void)FAIL(err, ERROR_UNAUTHENTICATED, "this ticket is not valid");
	error_hint(err, "it is for one use within a minute: ask for another one");
	return -1;
}

int api_key_look(struct api *api, struct arena *a, const unsigned char hash[ACCOUNT_HASH_SIZE],
                 struct key_record *ret, struct error *err)
{
	if (store_key_find_by_hash(api->store, a, hash, ret, err) < 0)
		return err->code == ERROR_NOT_FOUND ? refuse_key(err) : -1;
	if (!account_hash_equals(ret->hash, hash))
		return refuse_key(err);
	ret->scopes = account_key_scopes((unsigned)ret->scopes, ret->user_id, ret->role);
	return 0;
}

static int find_key(struct request *rq, const unsigned char hash[ACCOUNT_HASH_SIZE],
                    struct key_record *ret, struct error *err)
{
	struct api *api = api_of(rq);
	int64_t now = clock_monotonic_ms();
	struct api_key_found found;

	if (api_key_cache_find(api->keys, rq->arena, hash, now, &found)) {
		*ret = found.record;
		return 0;
	}
	if (request_may_block(rq, err) < 0)
		return -1;
	if (api_key_look(api, rq->arena, hash, ret, err) < 0)
		return -1;
	api_key_cache_put(api->keys, found.ticket, ret, now);
	store_key_touch(api->store, ret->id, clock_unix_ms());
	return 0;
}

/* The caller has proved to have the key, so the error may say what happened to it. */
int api_key_check(const struct key_record *r, struct error *err)
{
	bool has_expired = r->expires_at && r->expires_at <= clock_unix_ms();

	if (!r->revoked_at && !has_expired)
		return 0;
	(void)FAIL(err, ERROR_UNAUTHENTICATED,
	           r->revoked_at ? "this key was revoked" : "this key has expired");
	error_hint(err, "ask an admin of its project for another one");
	return -1;
}

/* An admin may act in another project than the key's. */
static int choose_project(struct request *rq, const char *wanted, struct account_caller *caller,
                          struct error *err)
{
	struct project_record project;

	if (!wanted || strcmp(wanted, caller->project_id) == 0)
		return 0;
	if (account_require(caller, SCOPE_ADMIN, err) < 0 || request_may_block(rq, err) < 0 ||
	    store_project_find(api_of(rq)->store, rq->arena, wanted, &project, err) < 0)
		return -1;
	if (project.closing)
		return FAIL(err, ERROR_CONFLICT, "project '%s' is being deleted", wanted);
	caller->project_id = project.id;
	return 0;
}

/* The value of "ticket" in a query; size 0 when there is none. */
static struct span ticket_of(struct span query)
{
	struct span member, name;

	while (query.size) {
		(void)span_split(&query, '&', &member);
		(void)span_split(&member, '=', &name);
		if (span_equals_text(name, "ticket"))
			return member;
	}
	return (struct span){NULL, 0};
}

/* Reads the ticket of a browser's WebSocket. redeem_ticket uses it up after the request is
 * admitted.
 */
static int read_ticket(struct request *rq, struct span text, struct credential *ret,
                       struct error *err)
{
	struct api *api = api_of(rq);
	struct span rest = text, secret;
	struct api_ticket ticket;
	const char *node;

	if (request_may_block(rq, err) < 0)
		return -1;
	(void)span_split(&rest, '.', &secret);
	if (!api_tickets_find(api->tickets, secret, rq->path, clock_monotonic_ms(), &ticket)) {
		(void)refuse_ticket(err);
		if (api_ticket_issuer(api->fleet, rq->arena, text, rq->path, &node) &&
		    strcmp(node, fleet_node(api->fleet)) != 0)
			error_elsewhere(err, node);
		return -1;
	}
	memcpy(ret->hash, ticket.key_hash, sizeof(ret->hash));
	ret->is_login = ticket.is_login;
	ret->project = arena_text(rq->arena, ticket.project_id);
	ret->ticket = secret;
	return 0;
}

/* Whether a cookie may authorize the request: a sandbox's server answers routes of HTTP_ANY. */
static int read_cookie(struct request *rq, const struct route *route, struct credential *ret,
                       bool *ret_found, struct error *err)
{
	struct sign_in_token token;

	*ret_found = false;
	if (route->method == HTTP_ANY)
		return 0;
	if (api_cookie_read(rq, &token, ret_found, err) < 0)
		return -1;
	if (!*ret_found)
		return 0;
	memcpy(ret->hash, token.hash, sizeof(ret->hash));
	ret->is_login = true;
	ret->project = api_find_project(rq);
	return api_cookie_guard(rq, route, &token, err);
}

static int refuse_stranger(struct error *err)
{
	(void)FAIL(err, ERROR_UNAUTHENTICATED, "a key is needed");
	error_hint(err, "send 'Authorization: Bearer KEY'; the first key is in DATA/admin.key");
	return -1;
}

static int read_credential(struct request *rq, const struct route *route, struct credential *ret,
                           struct error *err)
{
	struct span text = account_bearer(request_header(rq, "Authorization"),
	                                  request_header(rq, "X-API-Key")),
	            ticket = ticket_of(rq->raw_query);
	struct account_key key;
	bool has_cookie;

	*ret = (struct credential){.is_login = false};
	if (text.size == 0 && ticket.size && route->flags & ROUTE_WEBSOCKET)
		return read_ticket(rq, ticket, ret, err);
	if (text.size == 0) {
		if (read_cookie(rq, route, ret, &has_cookie, err) < 0)
			return -1;
		return has_cookie ? 0 : refuse_stranger(err);
	}
	if (account_key_parse(text, &key, err) < 0)
		return refuse_key(err);
	memcpy(ret->hash, key.hash, sizeof(ret->hash));
	ret->project = request_header(rq, "X-Atoll-Project");
	return 0;
}

/* A caller without a key has the token of the sandbox or volume `id`. */
static int begin_audit(struct request *rq, const char *id, struct api_caller *caller,
                       struct error *err)
{
	const char *token_of = caller->account.key_id[0] ? NULL : id;

	if (api_audit_begin(rq, &caller->account, token_of, err) == 0)
		return 0;
	api_limiter_give(api_of(rq)->limiter, TAKE(caller->slot));
	return -1;
}

int api_admit_request(struct request *rq, const char *id, struct api_caller *caller,
                      struct error *err)
{
	struct api *api = api_of(rq);
	bool has_others = request_has_others_before(rq, id);

	if (caller->account.project_id[0])
		request_count_for(rq, caller->account.project_id);
	if (!has_others && api_limiter_take(api->limiter, id, &caller->slot, err) == 0) {
		if (api_rates_take(api->rates, &caller->account, err) < 0) {
			api_limiter_give(api->limiter, TAKE(caller->slot));
			return -1;
		}
		caller->slot_of = id;
		return begin_audit(rq, id, caller, err);
	}
	if (has_others) {
		(void)FAIL(err, ERROR_LIMIT, "earlier requests of this key are queued");
		error_hint(err, "wait for them to end, or raise requests_per_key_max");
	}
	return request_wait_in_queue(rq, id, err);
}

void api_release_request(struct request *rq)
{
	struct api *api = api_of(rq);
	struct api_caller *caller = rq->caller;

	if (!caller || !caller->slot)
		return;
	api_limiter_give(api->limiter, TAKE(caller->slot));
	if (api->server)
		server_advance_queue(api->server, caller->slot_of);
}

void api_readmit_request(struct request *rq)
{
	struct api_caller *caller = rq->caller;

	if (caller && caller->slot_of && !caller->slot)
		caller->slot = api_limiter_take_again(api_of(rq)->limiter, caller->slot_of);
}

bool api_queue_has_room(void *context, const char *queue)
{
	return api_limiter_has_room(((struct api *)context)->limiter, queue);
}

/* When two admitted requests have the same ticket, one of them is refused. */
static int redeem_ticket(struct request *rq, struct span ticket, struct api_caller *caller,
                         struct error *err)
{
	struct api *api = api_of(rq);
	struct api_ticket ignored;

	if (ticket.size == 0 ||
	    api_tickets_redeem(api->tickets, ticket, rq->path, clock_monotonic_ms(), &ignored))
		return 0;
	api_limiter_give(api->limiter, TAKE(caller->slot));
	api_audit_refuse(rq, STATUS_UNAUTHENTICATED);
	return refuse_ticket(err);
}

static int find_record(struct request *rq, const struct credential *credential,
                       struct key_record *ret, struct error *err)
{
	if (credential->is_login)
		return api_find_login(rq, credential->hash, credential->project, ret, err);
	return find_key(rq, credential->hash, ret, err);
}

static int check_scope(const struct api_caller *caller, const struct route *route,
                       struct error *err)
{
	if (account_require(&caller->account, route->scope, err) == 0)
		return 0;
	return caller->account.project_id[0] ? -1 : sign_in_refuse_without_project(err);
}

int api_authorize(struct request *rq, const struct route *route, struct error *err)
{
	struct api_caller *caller;
	struct credential credential;
	struct key_record record;

	/* A handler that runs again was authorized before and has its limiter slot. */
	if (rq->caller)
		return api_check_parked(rq, route, err);
	if (api_audit_is_durable(rq, route) && request_may_block(rq, err) < 0)
		return -1;
	caller = ARENA_NEW(rq->arena, struct api_caller);
	if (read_credential(rq, route, &credential, err) < 0 ||
	    find_record(rq, &credential, &record, err) < 0 || api_key_check(&record, err) < 0)
		return -1;
	memcpy(caller->key_hash, credential.hash, sizeof(caller->key_hash));
	caller->is_login = credential.is_login;
	caller->own_project = record.project_id;
	caller->account = (struct account_caller){
	        .project_id = record.project_id,
	        .key_id = record.id,
	        .user_id = record.user_id,
	        .scopes = (unsigned)record.scopes,
	        .is_login = credential.is_login,
	};
	api_audit_see(rq, &caller->account);
	if (check_scope(caller, route, err) < 0 ||
	    choose_project(rq, credential.project, &caller->account, err) < 0 ||
	    api_admit_request(rq, record.id, caller, err) < 0 ||
	    redeem_ticket(rq, credential.ticket, caller, err) < 0)
		return -1;
	if (credential.is_login && !credential.ticket.size)
		api_drop_project(rq, route);
	rq->caller = caller;
	return 0;
}

struct fleet_ref api_path_ref(const struct request *rq)
{
	return (struct fleet_ref){api_project(rq), request_param(rq, "id")};
}

int api_path_project(struct request *rq, const char **ret, struct error *err)
{
	const char *wanted = request_param(rq, "project");
	struct project_record project;

	if (strcmp(wanted, API_PROJECT_ME) == 0)
		wanted = api_project(rq);
	if (strcmp(wanted, api_project(rq)) != 0 && !(api_account(rq)->scopes & SCOPE_ADMIN))
		return FAIL_MISSING(err, "project", wanted);
	if (store_project_find(api_of(rq)->store, rq->arena, wanted, &project, err) < 0)
		return -1;
	*ret = project.id;
	return 0;
}

void api_on_done(struct request *rq, int status, int64_t took_us)
{
	struct api *api = api_of(rq);
	struct api_caller *caller = rq->caller;

	api_measure_done(rq, status, took_us);
	if (caller)
		api_audit_log(rq, caller, status);
	api_audit_done(rq, status);
	if (!caller)
		return; /* scrapes and probes are no use */
	api->last_used_ms = loop_now_ms(api->loop);
	api_release_request(rq);
}

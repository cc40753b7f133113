/* SPDX-License-Identifier: Apache-2.0 */
/* Who asks: a key, its project, its scopes. */
#include <string.h>

#include "api/caller.h"
#include "api/keys.h"
#include "api/limiter.h"
#include "base/clock.h"

static int refuse(struct error *err)
{
	/* One answer for a key that is unknown, expired or revoked. */
	(void)FAIL(err, ERROR_UNAUTHENTICATED, "this key is not valid");
	error_hint(err, "send 'Authorization: Bearer KEY'; the first key is in DATA/admin.key");
	return -1;
}

static int find_key(struct request *rq, const struct account_key *key, struct key_record *ret,
                    struct error *err)
{
	struct api *api = api_of(rq);
	int64_t now = clock_monotonic_ms();
	struct api_key_found found;

	if (api_key_cache_find(api->keys, rq->arena, key->hash, now, &found)) {
		*ret = found.record;
		return 0;
	}
	if (request_may_block(rq, err) < 0)
		return -1;
	if (store_key_find_by_hash(api->store, rq->arena, key->hash, ret, err) < 0)
		return err->code == ERROR_NOT_FOUND ? refuse(err) : -1;
	if (!account_hash_equals(ret->hash, key->hash))
		return refuse(err);
	api_key_cache_put(api->keys, found.ticket, ret, now);
	store_key_touch(api->store, ret->id, clock_unix_ms());
	return 0;
}

static int check_key(const struct key_record *r, struct error *err)
{
	if (r->revoked_at || (r->expires_at && r->expires_at <= clock_unix_ms()))
		return refuse(err);
	return 0;
}

/* An admin may act in another project than his key's. */
static int choose_project(struct request *rq, struct account_caller *caller, struct error *err)
{
	const char *wanted = request_header(rq, "X-Atoll-Project");
	struct project_record project;

	if (!wanted || strcmp(wanted, caller->project_id) == 0)
		return 0;
	if (account_require(caller, SCOPE_ADMIN, err) < 0 || request_may_block(rq, err) < 0 ||
	    store_project_find(api_of(rq)->store, rq->arena, wanted, &project, err) < 0)
		return -1;
	caller->project_id = project.id;
	return 0;
}

int api_authorize(struct request *rq, const struct route *route, struct error *err)
{
	struct span text = account_bearer(request_header(rq, "Authorization"),
	                                  request_header(rq, "X-API-Key"));
	struct api_caller *caller = ARENA_NEW(rq->arena, struct api_caller);
	struct key_record record;
	struct account_key key;

	if (text.size == 0) {
		(void)FAIL(err, ERROR_UNAUTHENTICATED, "a key is needed");
		error_hint(err,
		           "send 'Authorization: Bearer KEY'; the first key is in DATA/admin.key");
		return -1;
	}
	if (account_key_parse(text, &key, err) < 0)
		return refuse(err);
	if (find_key(rq, &key, &record, err) < 0 || check_key(&record, err) < 0)
		return -1;
	caller->account = (struct account_caller){
	        .project_id = record.project_id,
	        .key_id = record.id,
	        .scopes = (unsigned)record.scopes,
	};
	if (account_require(&caller->account, route->scope, err) < 0 ||
	    choose_project(rq, &caller->account, err) < 0 ||
	    api_limiter_take(api_of(rq)->limiter, record.id, &caller->slot, err) < 0)
		return -1;
	rq->caller = caller;
	return 0;
}

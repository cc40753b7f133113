/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/access.h"

#include <string.h>

#include "base/clock.h"
#include "edge/caller.h"
#include "edge/keys.h"
#include "http/server/http.h"
#include "http/server/parked.h"
#include "sign_in/sign_in.h"
#include "sign_in/token.h"

_Static_assert(FLEET_CALLER_HASH_SIZE == ACCOUNT_HASH_SIZE, "a caller is a key or a login");

const struct fleet_caller *api_fleet_caller(const struct request *rq)
{
	const struct api_caller *caller = rq->caller;
	struct fleet_caller *out = ARENA_NEW(rq->arena, struct fleet_caller);

	memcpy(out->hash, caller->key_hash, sizeof(out->hash));
	out->is_login = caller->is_login;
	return out;
}

static int look_up_record(struct api *api, struct arena *a, const struct api_access *access,
                          struct key_record *ret, struct error *err)
{
	const struct login_lookup login = {.hash = access->caller.hash,
	                                   .project = access->project[0] ? access->project : NULL};

	return access->caller.is_login ? api_login_look(api, a, &login, ret, err)
	                               : api_key_look(api, a, access->caller.hash, ret, err);
}

/* An admin may act in another project than the key's. */
static int judge_record(const struct key_record *record, const struct api_access *access,
                        struct account_caller *ret, struct error *err)
{
	if (api_key_check(record, err) < 0)
		return -1;
	*ret = (struct account_caller){.project_id = record->project_id,
	                               .scopes = (unsigned)record->scopes,
	                               .is_login = access->caller.is_login};
	return strcmp(record->project_id, access->project) == 0
	               ? 0
	               : account_require(ret, SCOPE_ADMIN, err);
}

/* A stranger's project is "not found" for a login. */
static int refuse_project(const struct api_access *access, struct error *err)
{
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	return FAIL(err, ERROR_FORBIDDEN, "you have no access to project '%s' now",
	            access->project);
}

int api_access_look(struct api *api, struct arena *a, const struct api_access *access,
                    struct account_caller *ret, struct error *err)
{
	struct key_record record;

	if (look_up_record(api, a, access, &record, err) < 0 ||
	    judge_record(&record, access, ret, err) < 0)
		return refuse_project(access, err);
	return 0;
}

/* The place in the cache is not that of the caller's own requests, which count as use. */
static void choose_cache_place(struct arena *a, const struct api_access *access,
                               unsigned char ret[ACCOUNT_HASH_SIZE])
{
	sign_in_hash_in_project(
	        access->caller.hash,
	        arena_format(a, "access %d %s", access->caller.is_login, access->project), ret);
}

/* `rq` NULL: on a thread that may block. */
static int check_cached(struct api *api, struct arena *a, struct request *rq,
                        const struct api_access *access, struct error *err)
{
	int64_t now = clock_monotonic_ms();
	unsigned char place[ACCOUNT_HASH_SIZE];
	struct api_key_found found;
	struct account_caller caller;

	choose_cache_place(a, access, place);
	if (!api_key_cache_find(api->keys, a, place, now, &found)) {
		if (rq && request_may_block(rq, err) < 0)
			return -1;
		if (look_up_record(api, a, access, &found.record, err) < 0)
			return refuse_project(access, err);
		memcpy(found.record.hash, place, sizeof(found.record.hash));
		api_key_cache_put(api->keys, found.ticket, &found.record, now);
	}
	if (judge_record(&found.record, access, &caller, err) < 0)
		return -1;
	return account_require(&caller, access->scope, err);
}

int api_access_check(struct api *api, struct arena *a, const struct api_access *access,
                     struct error *err)
{
	return check_cached(api, a, NULL, access, err);
}

int api_access_check_for(struct request *rq, const struct api_access *access, struct error *err)
{
	return check_cached(api_of(rq), rq->arena, rq, access, err);
}

int api_check_parked(struct request *rq, const struct route *route, struct error *err)
{
	const struct api_access access = {
	        .caller = *api_fleet_caller(rq), .project = api_project(rq), .scope = route->scope};

	return request_awaited(rq).key ? api_access_check_for(rq, &access, err) : 0;
}

bool api_access_is_lost(const struct error *err)
{
	return err->code == ERROR_UNAUTHENTICATED || err->code == ERROR_FORBIDDEN;
}

void api_access_hold(struct request *rq, const struct api_access *access)
{
	rq->lent_by = access;
}

int api_fleet_caller_check(void *context, struct arena *a, const struct fleet_caller *caller,
                           const char *project_id, struct error *err)
{
	const struct api_access access = {
	        .caller = *caller, .project = project_id, .scope = SCOPE_SANDBOX_WRITE};

	return api_access_check(context, a, &access, err);
}

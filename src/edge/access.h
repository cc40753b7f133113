/* SPDX-License-Identifier: Apache-2.0 */
/* edge/access.h — what a key or a login may do now, after its request was authorized: for open
 * streams, parked requests, creates that wait, and links that a caller has made. */
#pragma once

#include "account/account.h"
#include "base/error.h"
#include "fleet/core/caller.h"

struct api;
struct request;

/* What a key or a login is used for. */
struct api_access {
	struct fleet_caller caller;
	const char *project; /* in which it acts */
	unsigned scope;      /* that it needs there */
};

/* What the caller may do in the project; `scope` is not used. Queries the store and blocks. */
MUST_CHECK int api_access_look(struct api *api, struct arena *a, const struct api_access *access,
                               struct account_caller *ret, struct error *err);
/* Whether the caller still has the access. The answer is up to API_KEY_CACHE_MS old. Not a use of
 * the key or of the login. Blocks, except with `rq`: see request_may_block. */
MUST_CHECK int api_access_check(struct api *api, struct arena *a, const struct api_access *access,
                                struct error *err);
MUST_CHECK int api_access_check_for(struct request *rq, const struct api_access *access,
                                    struct error *err);
/* Whether the error says that access was lost, not that it could not be checked. */
bool api_access_is_lost(const struct error *err);
/* Ends this request's stream once the maker of its link has lost the access. `access` is in the
 * request's arena. */
void api_access_hold(struct request *rq, const struct api_access *access);

/* A fleet_caller_check_call; `context` is the api. */
int api_fleet_caller_check(void *context, struct arena *a, const struct fleet_caller *caller,
                           const char *project_id, struct error *err);

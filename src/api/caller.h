/* SPDX-License-Identifier: Apache-2.0 */
/* api/caller.h — who asks, and the sandbox that the path names. Private to this folder. */
#pragma once

#include "account/account.h"
#include "api/api.h"

struct api_limiter_slot;

/* request->caller of every route that is not public. */
struct api_caller {
	struct account_caller account; /* its project: the key's, or the one an admin acts in */
	unsigned char key_hash[ACCOUNT_HASH_SIZE];
	struct api_limiter_slot *slot;
};

static inline struct api *api_of(const struct request *rq)
{
	return rq->context;
}
static inline const struct account_caller *api_account(const struct request *rq)
{
	return &((const struct api_caller *)rq->caller)->account;
}
static inline const char *api_project(const struct request *rq)
{
	return api_account(rq)->project_id;
}

/* The started sandbox of ":id", held; for calls that use it. */
struct api_target {
	struct sandbox_record record;
	struct fleet_hold hold;
	struct fleet_defaults defaults; /* of its template and row, without extra environment */
};
MUST_CHECK int api_target_open(struct request *rq, struct api_target *ret, struct error *err);
/* The same for an id or name from elsewhere. */
MUST_CHECK int api_target_open_id(struct request *rq, const char *id, struct api_target *ret,
                                  struct error *err);
void api_target_done(struct api_target *t); /* zeroed is fine */

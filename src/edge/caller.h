/* SPDX-License-Identifier: Apache-2.0 */
/* edge/caller.h — the caller of a request, and the sandbox that its path names. */
#pragma once

#include "account/account.h"
#include "edge/api.h"
#include "http/server/http.h"
#include "sandbox/usage_reason.h"

struct api_limiter_slot;
struct fleet_awaited;
struct fleet_ref;
struct fleet_use;

/* request->caller of every route that is not public. */
struct api_caller {
	struct account_caller account; /* its project: the key's, or the one an admin acts in */
	unsigned char key_hash[ACCOUNT_HASH_SIZE];
	struct api_limiter_slot *slot;
	const char *slot_of;      /* owner of the slot: id of a key, a sandbox or a volume */
	const char *own_project;  /* project of the key */
	const char *subject;      /* for the audit: what the change made; or NULL */
	const char *failure;      /* the surface's name for this failure; or NULL */
	const char *leased_id;    /* sandbox that was opened for a lease; or NULL. See session.h */
	const char *run;          /* header Atoll-Run, in a copy of a request; or NULL */
	enum usage_reason reason; /* of the called tool; 0: the path decides */
	const char *address;      /* api_server_address, in a copy of a request; or NULL */
	const char *share;        /* queue of a caller without a key; or NULL */
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

/* The project whose things the caller sees in lists of the platform. NULL: all projects, for an
 * admin without X-Atoll-Project. */
const char *api_visible_project(const struct request *rq);
/* The id of the project ":project"; "me" is the caller's. Only an admin finds other projects. */
MUST_CHECK int api_path_project(struct request *rq, const char **ret, struct error *err);
#define API_PROJECT_ME "me"
/* The thing of the caller's project that ":id" names. */
struct fleet_ref api_path_ref(const struct request *rq);
/* Names of the scopes' bits, NULL-terminated. native/keys.c */
const char **api_scope_names(struct arena *a, int64_t scopes);
/* "https://host:port", by which the client reaches this server; NULL: not known. */
const char *api_server_address(const struct request *rq);
/* Whether the client speaks TLS to this server, or to a proxy in front of it. */
bool api_is_https(const struct request *rq);
/* Names the object of an administrative change for the audit. */
static inline void api_audit_subject(struct request *rq, const char *subject)
{
	((struct api_caller *)rq->caller)->subject = arena_text(rq->arena, subject);
}

/* Copies the caller, the route and the id for a call that outlives its request. Headers, parameters
 * and body are not copied. The copy uses the memory of `a`. */
void api_request_copy(const struct request *rq, struct arena *a, struct request *ret);
/* Whether the request can be parked while it awaits a change (fleet/core/waiting.h). A copy of a
 * request cannot: its thread waits. */
static inline bool api_can_park(const struct request *rq)
{
	return rq->exchange != NULL;
}
struct fleet_awaited api_awaited(const struct request *rq);
/* For fleet_ref.awaited; NULL in a copy of a request. */
const struct fleet_awaited *api_awaited_if_parking(struct request *rq);
/* Takes a limiter slot of `id` (a key, a sandbox or a volume), which api_on_done gives back.
 * Without a free slot the request waits in the queue of `id`. */
MUST_CHECK int api_admit_request(struct request *rq, const char *id, struct api_caller *caller,
                                 struct error *err);

/* How a call of a route with this path is metered; USAGE_EXEC unless the path says more. */
enum usage_reason api_use_reason(const char *path);
/* Describes the use of a sandbox for the meter: by the header Atoll-Run, the called tool, or the
 * path. The texts are the request's. */
MUST_CHECK int api_describe_use(const struct request *rq, struct fleet_use *ret, struct error *err);

/* The id of the sandbox that a filter names. A valid id is returned as it is, because deleted
 * sandboxes still have events, snapshots and usage. NULL stays NULL. Without a project the name is
 * looked up in all projects. */
MUST_CHECK int api_resolve_sandbox_id(struct request *rq, const struct fleet_ref *filter,
                                      const char **ret, struct error *err);

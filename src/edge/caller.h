/* SPDX-License-Identifier: Apache-2.0 */
/* edge/caller.h — who asks, and the sandbox that the path names. Private to this folder. */
#pragma once

#include "account/account.h"
#include "edge/api.h"
#include "fleet/fleet.h"
#include "fleet/waiting.h"
#include "sandbox/price.h"

struct api_limiter_slot;
struct fleet_use;

/* request->caller of every route that is not public. */
struct api_caller {
	struct account_caller account; /* its project: the key's, or the one an admin acts in */
	unsigned char key_hash[ACCOUNT_HASH_SIZE];
	struct api_limiter_slot *slot;
	const char *slot_of;      /* whose slot it is: a key's id, or a sandbox's, or a volume's */
	const char *own_project;  /* the key's */
	const char *subject;      /* what an administrative change made, for the audit; or NULL */
	const char *failure;      /* what clients of its surface call it when it fails; or NULL */
	const char *leased_id;    /* sandbox that was opened as a lease's; or NULL. See session.h */
	const char *run;          /* the header Atoll-Run, of api_request_copy's; or NULL */
	enum usage_reason reason; /* of the tool that is called; 0 = as the path says */
	const char *address;      /* as `run`: api_address */
	const char *share;        /* that a caller without a key is queued under; or NULL */
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

/* What a caller sees of things that a platform has: an admin who names no project sees those of
 * all, which is NULL. */
const char *api_visible_project(const struct request *rq);

/* The project of ":project", "me" being the one that the caller acts in. Only an admin of the
 * platform finds others. */
MUST_CHECK int api_path_project(struct request *rq, const char **ret, struct error *err);
#define API_PROJECT_ME "me"
/* Of the scopes' bits, NULL-terminated. native/keys.c */
const char **api_scope_names(struct arena *a, int64_t scopes);
/* A copy that outlives the request, for a call that goes on behind it: the caller, the route and
 * the id; no headers, no parameters, no body. Its memory is `a`, which it uses from here on. */
void api_request_copy(const struct request *rq, struct arena *a, struct request *ret);
/* "https://host:port", by which the client finds this server; NULL = it did not say. */
const char *api_address(const struct request *rq);
/* Whether the client speaks TLS to this server, or to a proxy in front of it. */
bool api_is_https(const struct request *rq);
/* Whether a call of the fleet may fail with what it awaits, see fleet/waiting.h: the server makes
 * it again. In a copy of a request the thread waits. */
static inline bool api_can_park(const struct request *rq)
{
	return rq->exchange != NULL;
}
struct fleet_awaited api_awaited(const struct request *rq);
/* For fleet_ref.awaited: NULL in a copy of a request. */
const struct fleet_awaited *api_awaited_if_parking(struct request *rq);
/* Names what the request made, for its line in the log. */
static inline void api_audit_subject(struct request *rq, const char *subject)
{
	((struct api_caller *)rq->caller)->subject = arena_text(rq->arena, subject);
}

/* What a call of a route with this path is metered as: it runs something unless the path says more.
 */
enum usage_reason api_use_reason(const char *path);
/* Who uses a sandbox, and for what: by the header Atoll-Run, the tool that is called, or the path.
 * Borrowed from it. */
MUST_CHECK int api_describe_use(const struct request *rq, struct fleet_use *ret, struct error *err);

/* The id that a filter means by a name or an id. One that may be an id is taken as it is: of those
 * that are gone there are events, snapshots and usage still. NULL stays NULL. Without a project a
 * name is looked for in all of them. */
MUST_CHECK int api_resolve_sandbox_id(struct request *rq, const struct fleet_ref *filter,
                                      const char **ret, struct error *err);

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
/* A place among the requests of that key (or sandbox, or volume) that run at once, for a caller
 * that is known otherwise; api_on_done gives it back. Where there is none the request waits its
 * turn. */
MUST_CHECK int api_admit_request(struct request *rq, const char *id, struct api_caller *caller,
                                 struct error *err);
/* For a sandbox that was held by other means: request_may_call. Ends the hold when it fails. */
MUST_CHECK int api_may_call(struct request *rq, const struct sandbox_record *r,
                            struct fleet_hold *hold, struct error *err);
/* Calls of this thread to an agent end when the client hangs up, where the route may: for who holds
 * a sandbox in another way. Until api_target_done. */
void api_target_cancel_with_client(struct request *rq);
void api_target_done(struct api_target *t); /* zeroed is fine */

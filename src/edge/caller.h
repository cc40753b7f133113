/* SPDX-License-Identifier: Apache-2.0 */
/* edge/caller.h — the caller of a request, as it is admitted. Most handlers need edge/api.h only.
 */
#pragma once

#include "edge/api.h"
#include "sandbox/usage_reason.h"

struct api_limiter_slot;
struct route;

/* request->caller of every route that is not public. */
struct api_caller {
	struct account_caller account; /* its project: the key's, or the one an admin acts in */
	unsigned char key_hash[ACCOUNT_HASH_SIZE]; /* of the key, or of the login's token */
	bool is_login;                             /* a browser's session, see cookie.h */
	struct api_limiter_slot *slot;
	const char *slot_of;      /* owner of the slot: id of a key, a sandbox or a volume */
	const char *own_project;  /* project of the key */
	const char *failure;      /* the surface's name for this failure; or NULL */
	const char *leased_id;    /* sandbox that was opened for a lease; or NULL. See session.h */
	const char *run;          /* header Atoll-Run, in a copy of a request; or NULL */
	const char *conversation; /* of the called tool or command, and in a copy of a request;
	                             NULL: the header Atoll-Conversation */
	enum usage_reason reason; /* of the called tool; 0: the path decides */
	const char *address;      /* api_server_address, in a copy of a request; or NULL */
	const char *share;        /* queue of a caller without a key; or NULL */
};

/* access.c: authorizes a request again that was parked, perhaps for minutes. Another one passes. */
MUST_CHECK int api_check_parked(struct request *rq, const struct route *route, struct error *err);

/* Takes a limiter slot of `id` (a key, a sandbox or a volume), which api_on_done gives back.
 * Without a free slot the request waits in the queue of `id`. */
MUST_CHECK int api_admit_request(struct request *rq, const char *id, struct api_caller *caller,
                                 struct error *err);

/* How a call of a route with this path is metered; USAGE_EXEC unless the path says more. */
enum usage_reason api_use_reason(const char *path);
/* The conversation that the request is metered for: that of the called tool or of the header. A
 * name that no budget can have counts as none. NULL: none. */
const char *api_used_conversation(const struct request *rq);

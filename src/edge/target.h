/* SPDX-License-Identifier: Apache-2.0 */
/* edge/target.h — the sandbox that the path of a request names. */
#pragma once

#include "fleet/core/defaults.h"
#include "fleet/core/fleet_hold.h"
#include "store/sandbox_record.h"

struct request;

/* A started sandbox, held while a call uses it. */
struct api_target {
	struct sandbox_record record;
	struct fleet_hold hold;
	struct fleet_defaults defaults; /* of its template and row, without extra environment */
};
/* The sandbox of ":id". */
MUST_CHECK int api_target_open(struct request *rq, struct api_target *ret, struct error *err);
/* The sandbox of this id or name. */
MUST_CHECK int api_target_open_id(struct request *rq, const char *id, struct api_target *ret,
                                  struct error *err);
void api_target_done(struct api_target *t); /* zeroed is fine */
/* request_may_call for a sandbox that was held in another way. Ends the hold when it fails. */
MUST_CHECK int api_may_call(struct request *rq, const struct sandbox_record *r,
                            struct fleet_hold *hold, struct error *err);
/* Ends this thread's calls to an agent when the client hangs up, if the route allows it, until
 * api_target_done. For a sandbox that was held in another way. */
void api_target_cancel_with_client(struct request *rq);

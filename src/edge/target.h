/* SPDX-License-Identifier: Apache-2.0 */
/* edge/target.h — the sandbox that the path of a request names. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct cancel;
struct error;
struct fleet_create;
struct fleet_hold;
struct json_map;
struct provider;
struct request;
struct sandbox_record;

/* A started sandbox, held while a call uses it; what it points to is in the request's arena. */
struct api_target {
	struct fleet_hold *hold; /* NULL: none */
	const char *id;
	struct provider *provider;
	const struct sandbox_record *record; /* NULL: the browser of a volume */
	/* What commands inherit, see fleet/core/defaults.h. */
	const char **env, *user, *workdir;
};
/* The sandbox of ":id". */
MUST_CHECK int api_target_open(struct request *rq, struct api_target *ret, struct error *err);
/* The sandbox of this id or name. */
MUST_CHECK int api_target_open_id(struct request *rq, const char *id, struct api_target *ret,
                                  struct error *err);
/* The sandbox of ":id" for a passive call, see fleet_look: nothing holds it. */
MUST_CHECK int api_target_look(struct request *rq, struct api_target *ret, struct error *err);
/* A new sandbox that ends with the target's hold. */
MUST_CHECK int api_target_make(struct request *rq, const struct fleet_create *make,
                               struct api_target *ret, struct error *err);
/* Whether the sandbox ends with the hold. */
bool api_target_is_ephemeral(const struct api_target *t);
void api_target_done(struct api_target *t); /* zeroed is fine */
/* The environment of a command: `extra` replaces values of the target's. */
MUST_CHECK int api_target_env(struct request *rq, const struct api_target *t,
                              const struct json_map *extra, const char ***ret, struct error *err);
/* request_may_call for a sandbox that was held in another way. Ends the hold when it fails. */
MUST_CHECK int api_may_call(struct request *rq, const struct sandbox_record *r,
                            struct fleet_hold *hold, struct error *err);
/* Takes over such a hold, also when it fails; checks by api_may_call. */
MUST_CHECK int api_target_take(struct request *rq, const struct sandbox_record *r,
                               struct fleet_hold *hold, struct api_target *ret, struct error *err);
/* The same for the browser of a volume, of which nothing is known but the hold. */
void api_target_take_browser(struct request *rq, struct fleet_hold *hold, struct api_target *ret);
/* Ends this thread's calls to an agent when the client hangs up, if the route allows it, until
 * api_target_done. For a sandbox that was held in another way. */
void api_target_cancel_with_client(struct request *rq);
/* Ends that: the sandbox stays, and what was begun in it is finished. */
void api_target_finish_without_client(void);
/* request_cancel; NULL for the copy of a request. */
const struct cancel *api_cancel(struct request *rq);

/* SPDX-License-Identifier: Apache-2.0 */
/* surface/daytona/daytona.h — what the files of the Daytona surface share. Private to this folder.
 *
 * Clients of Daytona are pointed here by DAYTONA_API_URL=ORIGIN/daytona/api. Control calls are
 * below /daytona/api, calls to one sandbox's toolbox below /daytona/toolbox/ID, and every answer
 * about a sandbox names that address. All of it is a translation: what a sandbox is and does is
 * said by fleet, terminal and job. What is here says it in Daytona's words: minutes, GiB, its
 * states, its errors. Members of requests that no row names are passed over, since newer clients
 * send more; what is named and cannot be done is refused. */
#pragma once

#include "edge/caller.h"
#include "json/json.h"

#define DAYTONA_API "/daytona/api"
#define DAYTONA_TOOLBOX "/daytona/toolbox"
#define DAYTONA_CLASS "container" /* of every sandbox */

/* "http://127.0.0.1:8080", as the request came. */
const char *daytona_origin(const struct request *rq);
/* The started sandbox that the path names, held. What fails then is not the toolbox's. */
MUST_CHECK int daytona_target_open(struct request *rq, struct api_target *ret, struct error *err);
/* The name that clients know this failure by; borrowed, static. */
void daytona_failure_set_name(struct request *rq, const char *name);
/* For what the surface has and this server has not. Always -1. */
int daytona_fail_unsupported(const char *what, struct error *err);

/* One sandbox, whole. */
int daytona_sandbox_reply(struct request *rq, struct reply *reply, const struct sandbox_record *r,
                          struct error *err);
/* The same, to be one of several. */
int daytona_sandbox_write(struct request *rq, struct buf *out, const struct sandbox_record *r,
                          struct error *err);
/* A list of the project's, with as many queries as for one. */
int daytona_sandboxes_write(struct request *rq, struct buf *out, const struct sandbox_list *list,
                            struct error *err);
/* What a list of them tells. */
void daytona_sandbox_write_listed(struct request *rq, struct buf *out,
                                  const struct sandbox_record *r);
const char *daytona_state_name(const struct sandbox_record *r); /* "started" */
/* As daytona_sandbox_reply, in another state than its row's; `reason` may be "". */
struct daytona_state {
	const char *name, *reason;
};
int daytona_sandbox_reply_as(struct request *rq, struct reply *reply,
                             const struct sandbox_record *r, const struct daytona_state *state,
                             struct error *err);
/* Makes one as the body of a create says, of that template. Does not wait until it has started. */
struct daytona_sandbox_request {
	struct span body;
	const char *id, *key_id, *template;
};
MUST_CHECK int daytona_sandbox_make(struct request *rq, const struct daytona_sandbox_request *birth,
                                    struct sandbox_record *ret, struct error *err);
/* A build, as the snapshot that it is to become; 0. */
struct build_record;
int daytona_build_reply(struct reply *reply, const struct build_record *r);
/* RFC 4648, section 5, without padding. */
MUST_CHECK int daytona_read_base64url(struct arena *a, struct span text, struct span *ret,
                                      struct error *err);
struct fleet_ref daytona_ref(const struct request *rq); /* of ":id" */

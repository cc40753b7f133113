/* SPDX-License-Identifier: Apache-2.0 */
/* surface/daytona/daytona.h — what the files of the Daytona surface share.
 *
 * A client of Daytona uses this server with DAYTONA_API_URL=ORIGIN/daytona/api. Control calls are
 * below /daytona/api; calls of a sandbox's toolbox are below /daytona/toolbox/ID. Every answer
 * about a sandbox contains the toolbox's address.
 *
 * The surface only translates: fleet, terminal and job decide what a sandbox is and does. The
 * surface turns that into Daytona's minutes, GiB, states and errors. Unknown members of a request
 * are ignored, because newer clients may send more. A known member whose feature Atoll does not
 * have is refused. */
#pragma once

#include "edge/api.h"
#include "http/server/http.h"
#include "json/json.h"

struct api_target;
struct reply;
struct sandbox_list;
struct sandbox_record;

#define DAYTONA_API "/daytona/api"
#define DAYTONA_TOOLBOX "/daytona/toolbox"
#define DAYTONA_CLASS "container" /* of every sandbox */

struct build_record;

/* The request's origin: "http://127.0.0.1:8080". */
const char *daytona_origin(const struct request *rq);
/* Holds the started sandbox that the path names. Its failures are reported as the API's, not as
 * the toolbox's. */
MUST_CHECK int daytona_target_open(struct request *rq, struct api_target *ret, struct error *err);
/* Writes the first file of the form in the body, whatever its part is called, and answers with
 * {"name":…,"path":…,"type":"file"}. Takes over the target's hold. */
MUST_CHECK int daytona_upload_one(struct request *rq, struct api_target *t, const char *path,
                                  struct reply *reply, struct error *err);
/* Sets the error code that clients know this failure by; borrowed, static. */
void daytona_failure_set_name(struct request *rq, const char *name);
/* Refuses a feature of Daytona that this server does not have. Always returns -1. */
int daytona_fail_unsupported(const char *feature, struct error *err);

/* sandbox_answer.c */

struct daytona_mount {
	const char *volume_id, *mount_path, *subpath;
};
extern const struct json_shape daytona_mount_shape;
extern const struct json_shape daytona_sandbox_shape; /* a whole sandbox */
/* Answers with one whole sandbox. */
int daytona_sandbox_reply(struct request *rq, struct reply *reply, const struct sandbox_record *r,
                          struct error *err);
/* Writes one whole sandbox as an element of a list. */
int daytona_sandbox_write(struct request *rq, struct buf *out, const struct sandbox_record *r,
                          struct error *err);
/* Writes a list of the project's sandboxes with a single query for all their volumes. */
int daytona_sandboxes_write(struct request *rq, struct buf *out, const struct sandbox_list *list,
                            struct error *err);
/* Writes the members that a list of sandboxes shows. */
void daytona_sandbox_write_listed(struct request *rq, struct buf *out,
                                  const struct sandbox_record *r);
const char *daytona_state_name(const struct sandbox_record *r); /* "started" */
/* As daytona_sandbox_reply, but with another state than the record's; `reason` may be "". */
struct daytona_state {
	const char *name;
	const char *reason;
};
int daytona_sandbox_reply_as(struct request *rq, struct reply *reply,
                             const struct sandbox_record *r, const struct daytona_state *state,
                             struct error *err);

/* A stored create request whose image is built now. */
struct daytona_sandbox_request {
	struct span body; /* of the create */
	const char *id;
	const char *key_id;
	const char *template;
};
/* Makes the sandbox from `template`. Does not wait until it has started. */
MUST_CHECK int daytona_sandbox_make(struct request *rq,
                                    const struct daytona_sandbox_request *wanted,
                                    struct sandbox_record *ret, struct error *err);
/* Answers with the snapshot that the build will make. Always returns 0. */
int daytona_build_reply(struct reply *reply, const struct build_record *r);
/* Answers with an object of one text: {"name":"text"}. Always returns 0. */
int daytona_reply_member(struct reply *reply, const char *name, const char *text);
/* Decodes base64url without padding (RFC 4648, section 5). */
MUST_CHECK int daytona_read_base64url(struct arena *a, struct span text, struct span *ret,
                                      struct error *err);

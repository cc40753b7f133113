/* SPDX-License-Identifier: Apache-2.0 */
/* surface/daytona/images.h — images, given as Dockerfiles, from which sandboxes and snapshots are
 * made. A build turns an image into a template.
 *
 * The create of a sandbox whose image must be built is answered at once, with the state
 * "pending_build". The first request for the sandbox after the build makes it (pending.h). */
#pragma once

#include "http/server/http.h"
#include "store/templates.h"

struct daytona_image {
	const char *template; /* its name */
	const char *build_id; /* the build that makes the template; NULL: the template exists */
};
/* Finds the template of a "buildInfo". Starts the build unless the template exists or a build of
 * the same Dockerfile runs. */
MUST_CHECK int daytona_image_find(struct request *rq, struct span build_info,
                                  struct daytona_image *ret, struct error *err);
/* Stores the create request and answers it with the state "pending_build". */
MUST_CHECK int daytona_image_reply_pending(struct request *rq, struct reply *reply,
                                           const struct daytona_image *image, const char *id,
                                           struct error *err);
/* Answers for the pending sandbox of the path's id. The caller has found no sandbox of this id and
 * passes that error in `err`; it stays if no sandbox is pending either. */
MUST_CHECK int daytona_image_reply(struct request *rq, struct reply *reply, struct error *err);
/* Removes the pending sandbox of the path's id; `err` as above. */
MUST_CHECK int daytona_image_cancel(struct request *rq, struct reply *reply, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* surface/daytona/images.h — images, as Dockerfiles, that sandboxes and snapshots are to be made
 * of: templates by steps, once they are built. Private to this folder.
 *
 * A sandbox whose image has to be built is told of at once, with the state "pending_build", and is
 * made by the first who asks for it after the build (pending.h). */
#pragma once

#include "http/http.h"

struct daytona_image {
	const char *template; /* its name */
	const char *build_id; /* that makes it; NULL: it is there */
};
/* Of a "buildInfo"; begins the build unless it, or one of just the same, is there or under way. */
MUST_CHECK int daytona_image_find(struct request *rq, struct span build_info,
                                  struct daytona_image *ret, struct error *err);
/* The answer to the create, whose body is kept. */
MUST_CHECK int daytona_image_reply_pending(struct request *rq, struct reply *reply,
                                           const struct daytona_image *image, const char *id,
                                           struct error *err);
/* For the id of the path, when there is no sandbox of it, which `err` says: how far it is, or that.
 */
MUST_CHECK int daytona_image_reply(struct request *rq, struct reply *reply, struct error *err);
/* It is not wanted any more. */
MUST_CHECK int daytona_image_cancel(struct request *rq, struct reply *reply, struct error *err);

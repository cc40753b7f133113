/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/build_upload.h — uploads of files for copy steps. */
#pragma once

#include "http/server/http.h"

struct build_upload {
	const char *project_id, *hash;
};
/* For a route with ROUTE_STREAM_BODY: answers 201 after the whole body has arrived. */
MUST_CHECK int build_upload_start(struct request *rq, const struct build_upload *files,
                                  struct reply *reply, struct error *err);

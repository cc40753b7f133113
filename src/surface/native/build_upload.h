/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/build_upload.h — files for copy steps as a request's body, whoever asks. Private
 * to this folder. */
#pragma once

#include "http/http.h"

struct build_upload {
	const char *project_id, *hash;
};
/* For a row with ROUTE_STREAM_BODY: answers 201 when all has come. */
MUST_CHECK int build_upload_start(struct request *rq, const struct build_upload *files,
                                  struct reply *reply, struct error *err);

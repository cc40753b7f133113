/* SPDX-License-Identifier: Apache-2.0 */
/* surface/daytona/bulk.h — files in multipart bodies. */
#pragma once

#include "edge/api.h"
#include "http/server/http.h"

struct api_target;

/* Writes the first file of the body, whatever its part is called, and answers with
 * {"name":…,"path":…,"type":"file"}. */
MUST_CHECK int bulk_upload_one(struct request *rq, struct api_target *t, const char *path,
                               struct reply *reply, struct error *err);

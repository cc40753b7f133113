/* SPDX-License-Identifier: Apache-2.0 */
/* surface/daytona/bulk.h — files in multipart bodies. Private to this folder. */
#pragma once

#include "edge/caller.h"

/* The first file of the body, whatever its part is called: {"name":…,"path":…,"type":"file"}. */
MUST_CHECK int bulk_upload_one(struct request *rq, struct api_target *t, const char *path,
                               struct reply *reply, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* surface/envd/files.h — /files: what its two halves share. Private to this folder. */
#pragma once

#include "surface/envd/envd.h"

struct envd_files_query {
	const char *path, *username, *signature, *signature_expiration;
};
/* upload.c: the body's files, to that user. Takes the target's hold. */
MUST_CHECK int envd_upload(struct request *rq, struct api_target *t,
                           const struct envd_files_query *q, struct reply *reply,
                           struct error *err);

/* metadata.c: what X-Metadata-* headers say, as AGENT_SET_ATTRIBUTES wants it. */
MUST_CHECK int envd_metadata_read(struct request *rq, const char **ret, struct error *err);
/* {"a":"b"} of such a text. */
void envd_metadata_write(struct buf *out, const char *attributes);

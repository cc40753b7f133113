/* SPDX-License-Identifier: Apache-2.0 */
/* surface/envd/files.h — what the calls of /files share. */
#pragma once

#include "base/error.h"

struct api_target;
struct reply;
struct request;

struct envd_files_query {
	const char *path;
	const char *username;
	const char *signature;
	const char *signature_expiration;
};
/* upload.c: writes the files of the body as the query's user. Takes over the target's hold. */
MUST_CHECK int envd_upload(struct request *rq, struct api_target *t,
                           const struct envd_files_query *q, struct reply *reply,
                           struct error *err);

/* metadata.c: the X-Metadata-* headers in the form that AGENT_SET_ATTRIBUTES needs. */
MUST_CHECK int envd_metadata_read(struct request *rq, const char **ret, struct error *err);
/* Writes such a text as {"a":"b"}. */
void envd_metadata_write(struct buf *out, const char *name, const char *attributes);

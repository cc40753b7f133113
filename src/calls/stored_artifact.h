/* SPDX-License-Identifier: Apache-2.0 */
/* calls/stored_artifact.h — an artifact as every surface answers it. */
#pragma once

#include <stdint.h>

#include "json/json.h"

struct artifact_list;
struct artifact_record;
struct request;

#define STORED_ARTIFACT_ADDRESS_S 3600

struct stored_artifact {
	const char *id, *project, *sandbox, *sandbox_name, *run, *job, *path, *name;
	const char *media_type, *sha256, *url;
	int64_t process, size, created_at, expires_at, url_expires_at;
};
extern const struct json_shape stored_artifact_shape;

/* `address_s`: how long the signed address is valid, in seconds; 0 leaves the address out. Texts
 * are borrowed from the record or allocated in the arena. */
struct stored_artifact stored_artifact_of(struct arena *a, const struct artifact_record *r,
                                          int64_t address_s);
/* How long an address for this caller is valid. 0 for a key without sandbox:write: an address opens
 * the file without a key, also after the caller's key was revoked. */
int64_t stored_artifact_address_s(const struct request *rq);
/* One JSON object of stored_artifact_shape. */
void stored_artifact_write(struct buf *out, struct arena *a, const struct artifact_record *r);
/* Items of stored_artifact_shape in the request's arena. */
struct json_list stored_artifact_items(const struct request *rq, const struct artifact_list *list);

/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/snapshots.h — snapshots in requests and answers. Accepting changes takes a
 * snapshot, too. */
#pragma once

#include "http/server/http.h"

struct snapshot_record;

extern const struct json_shape snapshot_request, snapshot_shape;
http_handler snapshot_create;
int snapshot_reply(struct reply *reply, const struct snapshot_record *r);

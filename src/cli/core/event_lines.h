/* SPDX-License-Identifier: Apache-2.0 */
/* cli/core/event_lines.h — reads NDJSON from the server as it arrives. */
#pragma once

#include "base/bytes.h"

struct json_value;
struct event_lines {
	struct arena arena; /* of the current event */
	struct buf pending; /* an incomplete line; its limit is that of a line */
};
void event_lines_done(struct event_lines *e);
/* Calls on_event for each event that `bytes` complete. */
MUST_CHECK int event_lines_add(struct event_lines *e, struct span bytes,
                               int (*on_event)(void *context, const struct json_value *event,
                                               struct error *err),
                               void *context, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/events.h — events as all surfaces show them: /v1/events, webhooks, the CLI. */
#pragma once

#include <stdint.h>

#include "base/bytes.h"

struct buf;
struct event_record;
struct json_shape;

struct fleet_event {
	int64_t sequence, at;
	const char *kind, *project, *sandbox, *reason, *text;
	struct span detail;
	struct span object; /* the sandbox as JSON; empty = not asked for */
};
extern const struct json_shape fleet_event_shape;
struct fleet_event fleet_event_of(const struct event_record *r);
/* Appends the event as one JSON object without a line break. */
void fleet_event_write(struct buf *out, const struct event_record *r);
/* The same with the object that the event is about. */
void fleet_event_write_with(struct buf *out, const struct event_record *r, struct span object);

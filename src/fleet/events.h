/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/events.h — events as all surfaces show them: /v1/events, webhooks, the CLI. */
#pragma once

#include "fleet/fleet.h"
#include "store/events.h"

struct buf;

struct fleet_event {
	int64_t sequence, at;
	const char *kind, *project, *sandbox, *reason, *text;
	struct span detail;
};
extern const struct json_shape fleet_event_shape;
struct fleet_event fleet_event_of(const struct event_record *r);
/* Appends the event as one JSON object without a line break. */
void fleet_event_write(struct buf *out, const struct event_record *r);
/* Of the tick: drops the oldest events, above the configured number and age. */
MUST_CHECK int fleet_events_purge(struct fleet *fleet, struct error *err);
/* Of the tick: records that the agent of a sandbox has become unresponsive, once each time. */
void fleet_events_add_unresponsive(struct fleet *fleet, const struct sandbox_record *r);
/* Of the tick: records commands that a limit has ended, see provider/command_ends.h. */
void fleet_events_add_ends(struct fleet *fleet);

/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/server/rounds.h — what fleet_tick and fleet_recover call. */
#pragma once

#include "base/error.h"

struct error;
struct fleet;
struct sandbox_record;

/* Destroys orphans and reconciles sandboxes that ended without a report. Each minute. */
MUST_CHECK int fleet_sweep(struct fleet *f, struct error *err);
/* Removes what failed long ago, see failed.c. Each minute. */
void failed_tick(struct fleet *f);
/* Continues removals of projects that were interrupted. Each minute, and at boot. */
void projects_finish(struct fleet *f);
/* Drops the oldest events, above the configured number and age. */
MUST_CHECK int fleet_events_purge(struct fleet *fleet, struct error *err);
/* Records that the agent of a sandbox has become unresponsive, once each time. */
void fleet_events_add_unresponsive(struct fleet *fleet, const struct sandbox_record *r);
/* Records commands that a limit has ended, see provider/command_ends.h. */
void fleet_events_add_ends(struct fleet *fleet);
/* Finishes what a thread could not, and takes the step that is due for this row. */
void sandbox_take_step(struct fleet *f, const struct sandbox_record *r);
/* Opens providers that did not answer before; their sandboxes are looked at soon. Each tick. */
void providers_tick(struct fleet *f);

/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/rounds.h — what fleet_tick and fleet_recover call, noun by noun. Unless a comment says
 * otherwise: on the ticking thread, every few seconds. A void function logs its failure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fleet/reconcile.h"
#include "fleet/retention.h"

struct fleet;
struct operation;
struct sandbox_record;

/* ---- sandboxes ---- */

/* Destroys orphans and reconciles sandboxes that ended without a report. Each minute. */
MUST_CHECK int fleet_sweep(struct fleet *f, struct error *err);
/* Reconciles the sandboxes whose end the provider has reported. Any worker. */
void ended_reconcile(struct fleet *f);
/* Gives the provider the rules and limits of the row again: after a restart the provider may hold
 * those of a change that was interrupted. */
MUST_CHECK int egress_reconcile(struct operation *op, struct error *err);
MUST_CHECK int limits_reconcile(struct operation *op, struct error *err);
/* Gives the provider the rules of all sandboxes, if it has forgotten them. Any worker. */
void egress_repeat_rules(struct fleet *f);
/* Sends services to agents that have not got them yet. */
MUST_CHECK int services_reconcile(struct fleet *f, struct error *err);
/* Repairs leases whose creator or sandbox is gone and deletes sandboxes that no lease uses. Also at
 * boot. */
MUST_CHECK int leases_reconcile(struct fleet *f, struct error *err);

/* ---- templates and pools ---- */

/* Makes the provider hold the pools that the templates ask for. Any worker. */
MUST_CHECK int pools_reconcile(struct fleet *f, struct error *err);
/* Fails builds that no process runs any more. Also at boot. */
MUST_CHECK int builds_recover(struct fleet *f, struct error *err);
void builds_tick(struct fleet *f);
/* Removes layers that no cache entry, template or build needs. Each minute. */
void layers_sweep(struct fleet *f, bool at_boot);

/* ---- files ---- */

/* With `at_boot` no other thread works on a volume, a snapshot or an artifact. Each minute. */
MUST_CHECK int volumes_reconcile(struct fleet *f, bool at_boot, struct error *err);
MUST_CHECK int mounts_reconcile(struct fleet *f, struct error *err);
MUST_CHECK int snapshots_sweep(struct fleet *f, bool at_boot, struct error *err);
/* Finishes or fails backups that a server left half done. At boot. */
MUST_CHECK int backups_reconcile(struct fleet *f, struct error *err);
/* Ends browsers that are idle; `all`: every one. */
void browsers_tidy(struct fleet *f, bool all);
/* Trims the trash and counts its entries. Each minute. */
void trash_tick(struct fleet *f);

/* ---- usage ---- */

/* Writes usage if `every_ms` have passed since the last write of this kind. `is_whole`: with
 * processor time, which only the provider knows, and with stored files. Any worker. */
MUST_CHECK int meters_write(struct fleet *f, int64_t every_ms, bool is_whole, struct error *err);
/* Lets a worker meter what is kept on disks and as backups, now and then. */
void holdings_tick(struct fleet *f);
/* Before the visits of a round: decides whether this round takes samples. */
void samples_begin(struct fleet *f);
/* For each sandbox of the round. */
void samples_add(struct fleet *f, const struct sandbox_record *r);

/* ---- the data folder ---- */

/* Beats, so that other hosts see that this server lives. */
void pairing_tick(struct fleet *f);
/* Raises the generation of store and folder if sandboxes were created or deleted. Each minute. */
void pairing_advance(struct fleet *f);
/* Writes the note of the row, unless it is written already. */
void note_row(struct fleet *f, const struct sandbox_record *r);
/* Writes the notes of all projects and templates. Each minute. */
void notes_of_owners(struct fleet *f);
/* Writes all notes again after the key of sealed texts has changed. */
void notes_check_keys(struct fleet *f);
/* Compares the clocks, see jump.h. */
void jump_check_clock(struct fleet *f);
/* Writes both clocks for the next start. Each minute, and at the end. */
void jump_write(struct fleet *f);

/* ---- the rest ---- */

/* Removes what failed long ago, see failed.c. Each minute. */
void failed_tick(struct fleet *f);
/* Continues removals of projects that were interrupted. Each minute, and at boot. */
void projects_finish(struct fleet *f);
/* Says in the store that this server lives, if it has an address. Each second, and at boot. */
void peer_tick(struct fleet *f);

/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/usage/meters.h — usage written from the meters into the store, and budgets that are spent.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct buf;
struct error;
struct fleet;
struct json_map;
struct sandbox_record;

/* usage.c */

void meters_init(struct fleet *f);
void meters_done(struct fleet *f);
/* Of the tick: writes usage if `every_ms` have passed since the last write of this kind.
 * `is_whole`: with processor time, which only the provider knows, and with stored files. Any
 * worker. */
MUST_CHECK int meters_write(struct fleet *f, int64_t every_ms, bool is_whole, struct error *err);
/* Writes what this sandbox has used until now, at the resources that it had. The caller has an
 * operation on it. */
MUST_CHECK int meters_write_use(struct fleet *f, const char *id, struct error *err);
/* Writes what its files have cost until now, before they move elsewhere. */
MUST_CHECK int meters_write_files(struct fleet *f, const char *id, struct error *err);
/* Drops what is older than it is kept. */
MUST_CHECK int meters_purge(struct fleet *f, int64_t now, struct error *err);
/* Writes what it has sent until now, before its link and counter go. Does nothing while no quota
 * limits sent bytes. Bytes that cannot be read are lost, with a warning. Waits for no round and for
 * no other sandbox. */
void meters_write_sent(struct fleet *f, const char *id);
/* The same for one that has ended by itself, whose link is gone: the bytes since its start, as its
 * provider has told them; UINT64_MAX: not known. */
void meters_write_last_sent(struct fleet *f, const char *id, uint64_t bytes);
/* A sandbox that is kept on disk gets a new link when it is resumed, whose counter begins at 0:
 * forgets what the old counter showed. Call it before the resume. */
MUST_CHECK int meters_restart_sent(struct fleet *f, const char *id, struct error *err);

/* holdings.c */

/* Writes what is kept on disks and as backups, as of `now`, into the usage log. */
MUST_CHECK int holdings_meter(struct fleet *f, int64_t now, struct error *err);
/* The same for what this sandbox keeps, as of now. */
MUST_CHECK int holdings_meter_sandbox(struct fleet *f, const char *id, struct error *err);
/* Of the tick: lets a worker meter what is kept on disks and as backups, now and then. */
void holdings_tick(struct fleet *f);

/* budgets.c */

struct spender {
	const char *project_id, *key_id;
	const char *sandbox_id; /* NULL: a sandbox that does not exist yet */
	const char *run, *conversation;
	const char *labels_json;          /* of the sandbox's row; or */
	const struct json_map *labels[2]; /* of the request for one; NULL: none */
};
/* One that uses the sandbox of this row. */
struct spender spender_of_row(const struct sandbox_record *r);
/* ERROR_BUDGET, naming the budget, if one of them is spent: of several the one that begins anew
 * last, and of those the smallest. Members that are NULL are covered by no budget. Makes no query
 * of the store. Any thread, also the loop's. */
MUST_CHECK int budgets_check(struct fleet *f, const struct spender *spender, struct error *err);
/* atoll_budget_refusals_total, atoll_quota_cut_sandboxes */
void budgets_write_metrics(const struct fleet *f, struct buf *out);
/* Reads all budgets from the store and records the warnings that are due. */
MUST_CHECK int budgets_refresh(struct fleet *f, struct error *err);

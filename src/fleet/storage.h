/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/storage.h — volumes, within this folder. Part of parts.h.
 *
 * volume.c: from nothing to a volume and back. mounts.c: which sandbox has which. attach.c: that
 * changes. browse.c: the files of one that nobody has. Whoever acts on a sandbox may go on to act
 * on its volumes, never the other way round. */
#pragma once

#include <pthread.h>

#include "fleet/volume.h"
#include "provider/volume.h"

struct operation;
struct resolved_create;
struct fleet_awaited;
struct cache_entry;

/* Sandboxes without a row, each with one volume, through which its files are read and written. */
struct browsers {
	pthread_mutex_t mutex;
	struct map by_volume; /* id -> struct browser */
};

/* ---- mounts.c ---- */

/* The request's volumes by their ids, a persistent home made if need be, into the draft. */
MUST_CHECK int mounts_resolve(struct fleet *f, struct arena *a, struct resolved_create *resolved,
                              struct error *err);
/* One that is READY, here. */
MUST_CHECK int mounts_find_volume(struct fleet *f, struct arena *a, const struct fleet_ref *ref,
                                  struct volume_record *ret, struct error *err);
/* All that one sandbox is to have. */
MUST_CHECK int mounts_check(struct arena *a, const struct mount_list *list, struct error *err);
/* From the row on, which says that it is had, nobody begins to browse what it writes. */
MUST_CHECK int mounts_end_browsing(struct operation *op, const char *volume_id, struct error *err);
/* After a conflict: waits for a sandbox that is being deleted, or one of the volumes detached from
 * it. False when there is none: the conflict stands. With `awaited` it waits 200 ms at most; then
 * it returns false, and the conflict in `err` awaits that sandbox. */
bool mounts_wait(struct fleet *f, const struct mount_list *mounts,
                 const struct fleet_awaited *awaited, struct error *err);
/* For a call that may park: acts on the volumes of a sandbox that is about to start, until
 * mounts_take or operation_end. It fails with an error that awaits them while another call uses
 * one, or, for BROWSER_CLOSE_MS, a transfer of its files. `mounts`: at least one, in the order of
 * ids. */
MUST_CHECK int mounts_reserve(struct operation *op, const struct mount_list *mounts,
                              const struct fleet_awaited *awaited, struct error *err);
/* The same for the volumes that a stopped sandbox has; fine when it has none. */
MUST_CHECK int mounts_reserve_own(struct operation *op, const struct fleet_awaited *awaited,
                                  struct error *err);
void mounts_release(struct operation *op);
/* What a sandbox that is about to start has, and nobody browses any more. From the store, or as the
 * draft has it. */
MUST_CHECK int mounts_load(struct operation *op, struct error *err);
MUST_CHECK int mounts_take(struct operation *op, const struct mount_list *mounts,
                           struct error *err);

/* ---- attach.c ---- */

/* What nobody finished. */
MUST_CHECK int mounts_reconcile(struct fleet *f, struct error *err);

/* ---- volume.c ---- */

/* This thread's work on one volume; as struct operation. */
struct volume_operation {
	struct fleet *fleet;
	struct cache_entry *entry;
	struct arena *arena;
	struct volume_record record;
};
MUST_CHECK int volume_operation_begin(struct fleet *f, struct arena *a, const char *id,
                                      int64_t deadline, struct volume_operation *ret,
                                      struct error *err);
void volume_operation_end(struct volume_operation *v); /* zeroed is fine */
struct volume_operations { /* see mounts_reserve; in the arena of the sandbox's act */
	struct volume_operation *items;
	size_t count;
};
/* Whether it is this server's provider that has it. */
MUST_CHECK int volume_check_local(const struct fleet *f, const struct volume_record *r,
                                  struct error *err);
/* Makes rows and provider agree. At boot nobody else can be at work on any. */
MUST_CHECK int volumes_reconcile(struct fleet *f, bool at_boot, struct error *err);

/* ---- browse.c ---- */

void browsers_init(struct browsers *b);
void browsers_done(struct browsers *b);
/* ERROR_CONFLICT, naming it, while a sandbox that runs, or will, has the volume. */
MUST_CHECK int volume_check_unused(const struct volume_operation *v, struct error *err);
/* The caller of these three acts on the volume. */
/* A transfer that is under way when a sandbox wants the volume has so long to end. */
#define BROWSER_CLOSE_MS 5000
/* Waits for the transfers; false when some are under way at the deadline. */
bool browser_await_transfers(struct fleet *f, const char *volume_id, int64_t deadline);
/* Ends the one of this volume, if there is one, and transfers that are under way. */
MUST_CHECK int browser_end(struct fleet *f, const char *volume_id, struct error *err);
/* The same when the transfers are over, or after BROWSER_CLOSE_MS. */
MUST_CHECK int browser_close(struct fleet *f, const char *volume_id, struct error *err);
/* Those that nobody uses; `all`: used or not. */
void browsers_tidy(struct fleet *f, bool all);
/* The provider says that a sandbox has ended. */
void browsers_on_ended(struct fleet *f, const char *sandbox_id);

/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/waiting_parts.h — who waits for what in this server's fleet. Part of parts.h. Private to
 * this folder. */
#pragma once

#include <pthread.h>

#include "base/error.h"
#include "base/list.h"

struct arena;
struct resolved_create;
struct fleet;
struct fleet_awaited;
struct work_lane;

struct background_work {
	pthread_mutex_t mutex; /* over all of this */
	void (*tell)(void *context, const char *key);
	void *context;
	struct work_lane *lane, *backup_lane;
	struct list shared; /* that callers await: shared_work.c */
	pthread_cond_t shared_done;
	struct list first_builds; /* templates whose first build is queued: templates.c */
	struct list creations;    /* rows in PENDING whose template is not ready: pending.c */
	uint64_t wakes;           /* of that list */
	bool is_ending;
};
void awaited_init(struct fleet *f);
void awaited_done(struct fleet *f);
/* What errors await by this key may have come. */
void awaited_announce(struct fleet *f, const char *key);
/* "kind:" and a digest of the name. */
void awaited_key(const char *kind, const char *name, char ret[ERROR_AWAITS_MAX]);
/* Monotonic ms: since when the caller has waited for the key; now when it has not. */
int64_t awaited_since(const struct fleet_awaited *awaited, const char *key);
/* How long a parked call rests before it looks again by itself: a quarter of what it has waited,
 * between `least_ms` and a second. Changes of this server are announced; so many calls that wait
 * for one thing cost little. */
int awaited_rest_ms(const struct fleet_awaited *awaited, const char *key, int least_ms);

/* ---- pending.c ---- */

/* The row in PENDING that the draft has become is made by a worker, when its template is ready. */
MUST_CHECK int pending_submit(struct fleet *f, struct arena *a,
                              const struct resolved_create *resolved, int64_t begun_ns,
                              struct error *err);
/* Creations whose template has changed, or may have, go on; NULL: all. */
void pending_wake(struct fleet *f, const char *template_id);
/* The workers end soon: none is submitted any more. */
void pending_close(struct fleet *f);
/* Those that wait still are given up; their rows are settled by the next start. */
void pending_end(struct fleet *f);

/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/cache.h — what this process knows of its sandboxes without asking the store.
 *
 * A slot is there while a sandbox is started, or while a thread works on it or uses it. It says
 * who acts on the sandbox (one thread at a time in this process; between processes the store's
 * compare-and-set decides), who uses it, and, when it is started, holds a copy of its row, so that
 * a command costs no query. A copy is replaced only by one of a higher version: a row that was read
 * before a move never covers the row after it. Several processes need no more than to hear of each
 * other's moves, and to drop what is older. Any thread. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/list.h"
#include "base/map.h"
#include "fleet/fleet.h"
#include "fleet/meter.h"

struct cache_entry {
	char id[ID_SIZE + 1];
	unsigned references; /* threads that know it, holds included */
	unsigned holds;
	bool has_operation;
	struct list waiters; /* who waits to act on it, in the order in which they came */
	bool is_queued;      /* somebody will act soon: not abandoned */
	bool is_called;      /* bytes have come for it while somebody acts */
	bool is_closing;     /* its actor is about to end or pause it: no new holds */
	int64_t touched_at;
	int64_t version;     /* of the newest row seen */
	struct meter *meter; /* since it was started first */
	bool is_started;
	/* When started: */
	struct arena arena;
	struct sandbox_record record;
	struct fleet_defaults defaults; /* env NULL: not worked out yet */
};

struct cache {
	pthread_mutex_t mutex;
	pthread_cond_t
	        operation_ended; /* an actor has finished, or the last hold on a closing one */
	struct map by_id;        /* all slots */
	struct map by_name;      /* "PROJECT/NAME": started ones */
	uint64_t held;
	struct meter *ended; /* of slots that are gone, not read yet */
	unsigned ended_count;
};

void cache_init(struct cache *c);
void cache_done(struct cache *c);

struct cache_entry *cache_pin(struct cache *c, const char *id);
void cache_unpin(struct cache *c, struct cache_entry *entry);

/* Waits until all who came before have operation_ended on it; false when the deadline has passed.
 */
bool cache_operation_begin(struct cache *c, struct cache_entry *entry, int64_t deadline);
/* True when bytes have come for it meanwhile, and it sleeps now. */
bool cache_operation_end(struct cache *c, struct cache_entry *entry);
/* Whether anybody acts on it or will. */
bool cache_is_busy(struct cache *c, const char *id);
/* Of a sandbox that is held: its slot, pinned and queued, if it is no longer started and nobody
 * acts on it or will; else NULL. Who acts on it hears of it when he ends. */
struct cache_entry *cache_take_sleeping(struct cache *c, const char *id);
bool cache_is_started(struct cache *c, const char *id);
void cache_set_queued(struct cache *c, struct cache_entry *entry, bool is_queued);

/* Takes a row that was read or written, if it is newer than what is there. */
void cache_update(struct cache *c, struct cache_entry *entry, const struct sandbox_record *r);

/* The pinned slot and a copy of its row; NULL when it is not known to be started. */
struct cache_entry *cache_hold(struct cache *c, struct arena *a, const char *project_id,
                               const char *id_or_name, struct sandbox_record *ret);
/* Only when its defaults are known, too. */
struct cache_entry *cache_hold_warm(struct cache *c, struct arena *a, const char *project_id,
                                    const char *id_or_name, struct sandbox_record *ret);
/* For a slot that is pinned already; false when it is not started. */
bool cache_hold_entry(struct cache *c, struct arena *a, struct cache_entry *entry,
                      struct sandbox_record *ret);
void cache_unhold(struct cache *c, const char *id);
/* True at most once a second: the store need not hear of more. */
bool cache_touch(struct cache *c, const char *id, int64_t now);
/* Counts a use of a sandbox that is held; the number is for cache_unuse, before the hold is given
 * up. */
unsigned cache_use(struct cache *c, const char *id, const struct fleet_use *use);
void cache_unuse(struct cache *c, const char *id, unsigned use);
/* Adds what the meter of a sandbox says; false when it has no slot here that was ever started. */
bool cache_meter_read(struct cache *c, const char *id, struct meter *ret);
/* The meters of slots that are gone: the caller's, by `next`. */
struct meter *cache_meters_take(struct cache *c);
uint64_t cache_held(struct cache *c);
bool cache_is_held(struct cache *c, const char *id);
/* Shuts it to new holds, unless it is held or was used after `seen`. */
bool cache_close_idle(struct cache *c, struct cache_entry *entry, int64_t seen);
/* The same, held or not. */
void cache_close(struct cache *c, struct cache_entry *entry);
/* Waits for the last hold on one that is shut; false when the deadline has passed before. */
bool cache_drain(struct cache *c, struct cache_entry *entry, int64_t deadline);
void cache_reopen(struct cache *c, struct cache_entry *entry);

/* Copies into the arena; false when they are not known. */
bool cache_defaults_get(struct cache *c, struct arena *a, const char *id,
                        struct fleet_defaults *ret);
void cache_defaults_put(struct cache *c, const char *id, const struct fleet_defaults *defaults);

void record_copy(struct arena *a, const struct sandbox_record *from, struct sandbox_record *ret);
void defaults_copy(struct arena *a, const struct fleet_defaults *from, struct fleet_defaults *ret);

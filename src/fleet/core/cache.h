/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/cache.h — rows of started sandboxes, operations and holds, in memory.
 *
 * An entry exists while its sandbox is started, or while a thread operates on it or uses it. It
 * counts the holds and lets one thread of this process operate at a time; between processes the
 * store's compare-and-set decides. While the sandbox is started, the entry has a copy of its row,
 * so that a command needs no query. Only a row of a higher version replaces a copy: a row that
 * was read before a move never replaces the row after it. Volumes have entries for their
 * operations, too. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct cache;
struct cache_entry;
struct fleet_defaults;
struct fleet_use;
struct meter;
struct sandbox_record;

void cache_init(struct cache *c);
void cache_done(struct cache *c);

struct cache_entry *cache_pin(struct cache *c, const char *id);
void cache_unpin(struct cache *c, struct cache_entry *entry);

/* Waits until all earlier operations have ended; false if the deadline passes before. */
bool cache_operation_begin(struct cache *c, struct cache_entry *entry, int64_t deadline);
/* On the thread that began it. True: bytes have arrived meanwhile, and the sandbox is asleep now.
 */
bool cache_operation_end(struct cache *c, struct cache_entry *entry);
/* Whether an operation is under way or queued. */
bool cache_is_busy(struct cache *c, const char *id);
/* For a held sandbox that is no longer started and has no operation, running or queued: its entry,
 * pinned and queued. Else NULL. A running operation learns of the bytes by cache_operation_end. */
struct cache_entry *cache_take_sleeping(struct cache *c, const char *id);
bool cache_is_started(struct cache *c, const char *id);
void cache_set_queued(struct cache *c, struct cache_entry *entry, bool is_queued);

/* Stores a row that was read or written, if it is newer than the known one. */
void cache_update(struct cache *c, struct cache_entry *entry, const struct sandbox_record *r);
/* Drops the copies of rows that `wants` names: the next call reads them from the store. Holds and
 * operations stay. */
void cache_forget_rows(struct cache *c,
                       bool (*wants)(void *context, const struct sandbox_record *r), void *context);

/* The pinned entry and a copy of its row; NULL if the sandbox is not known to be started. */
struct cache_entry *cache_hold(struct cache *c, struct arena *a, const char *project_id,
                               const char *id_or_name, struct sandbox_record *ret);
/* cache_hold that needs the defaults to be known, too. */
struct cache_entry *cache_hold_warm(struct cache *c, struct arena *a, const char *project_id,
                                    const char *id_or_name, struct sandbox_record *ret);
/* For an entry that is pinned already; false if it is not started. */
bool cache_hold_entry(struct cache *c, struct arena *a, struct cache_entry *entry,
                      struct sandbox_record *ret);
void cache_unhold(struct cache *c, const char *id);
/* True at most once a second: then the caller writes the activity to the store. */
bool cache_touch(struct cache *c, const char *id, int64_t now);
/* Counts a use of a held sandbox; returns the number for cache_unuse, to be called before the hold
 * ends. */
unsigned cache_use(struct cache *c, const char *id, const struct fleet_use *use);
void cache_unuse(struct cache *c, const char *id, unsigned use);
/* Adds the counts of a sandbox's meter; false if its entry has none. */
bool cache_meter_read(struct cache *c, const char *id, struct meter *ret);
/* Takes the meters of freed entries: a list by `next`, owned by the caller. */
struct meter *cache_meters_take(struct cache *c);
uint64_t cache_held(struct cache *c);
bool cache_is_held(struct cache *c, const char *id);
/* Refuses new holds from now on, unless the sandbox is held or was used after `seen`. */
bool cache_close_idle(struct cache *c, struct cache_entry *entry, int64_t seen);
/* The same without a condition. */
void cache_close(struct cache *c, struct cache_entry *entry);
/* Waits for the last hold on a closed entry; false if the deadline passes before. */
bool cache_drain(struct cache *c, struct cache_entry *entry, int64_t deadline);
void cache_reopen(struct cache *c, struct cache_entry *entry);

/* Copies the defaults into the arena; false if they are not known. */
bool cache_defaults_get(struct cache *c, struct arena *a, const char *id,
                        struct fleet_defaults *ret);
void cache_defaults_put(struct cache *c, const char *id, const struct fleet_defaults *defaults);

void record_copy(struct arena *a, const struct sandbox_record *from, struct sandbox_record *ret);

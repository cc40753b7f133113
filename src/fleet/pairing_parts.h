/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/pairing_parts.h — pairing.h and trash.h, for this folder only. */
#pragma once

#include "base/id.h"
#include "base/map.h"
#include "fleet/jump.h"
#include "fleet/pairing.h"
#include "fleet/trash.h"

struct pairing {
	struct jump jump;
	bool is_open;   /* false: there is nothing to compare, as in a unit test */
	bool takes_all; /* the first sweep after an adoption has no bound */
	char id[ID_SIZE + 1], boot[40];
	struct id instance; /* of this process */
	int64_t generation, beat_at;
	/* Of the ticking thread: a note's name -> version or text of what is noted; and the key of
	 * what is sealed there. */
	struct map noted;
	void *noted_key;
	uint64_t changes;    /* of sandboxes, when the generation grew last */
	atomic_bool is_lost; /* the last look found another store, or another server in our place */
};
struct trash_counts {
	atomic_uint_fast64_t orphans; /* put into the trash since the start */
	atomic_uint_fast64_t held;    /* left by the last sweep, because they were too many */
	atomic_uint_fast64_t entries, bytes;
	int64_t notes_swept_at; /* of the ticking thread; 0 = not yet */
};

/* DATA/pairing, opened by path only (O_PATH): a new descriptor, or -1. */
int pairing_open_folder(const struct fleet *f, struct error *err);
/* Whether the row is there and is ours. Before anything is removed because no row knows it. */
bool pairing_holds(struct fleet *f);
/* Of the ticking thread: tells other hosts that this server lives. */
void pairing_tick(struct fleet *f);
/* Once a minute, and at the end. */
void pairing_advance(struct fleet *f);
void pairing_leave(struct fleet *f);

/* Whether `unknown` things may be removed as orphans beside `known` ones; logs why not. */
bool orphans_may_go(struct fleet *f, size_t unknown, size_t known);
/* Into the trash; one that runs is stopped before, as long as `stop_until` allows. */
void orphan_remove(struct fleet *f, const struct provider_entry *entry, int64_t stop_until);
void orphan_snapshot_remove(struct fleet *f, const char *id);
/* Trims the trash, and counts what is in it. */
void trash_tick(struct fleet *f);

/* ---- notes.c ---- */

/* Of the ticking thread: writes what the row says, unless that is written. */
void note_row(struct fleet *f, const struct sandbox_record *r);
/* The sandbox is deleted for good. */
void note_drop(struct fleet *f, const char *id);
/* Of the ticking thread: the settings of all projects and templates. */
void notes_of_owners(struct fleet *f);
/* Of the ticking thread: removes notes of sandboxes that neither the store, nor the provider, nor
 * `trash` has. */
struct provider_trash_list;
void notes_sweep(struct fleet *f, const struct provider_trash_list *trash);
/* A row for what the provider has and no row knows. What is not known is logged. */
struct notes_made;
MUST_CHECK int note_make_row(struct fleet *f, const char *id, enum sandbox_state state,
                             struct notes_made *made, struct error *err);
/* Of the ticking thread. */
void notes_check_keys(struct fleet *f);

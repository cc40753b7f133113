/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/recovery/pairing.h — the state of the pairing of the data folder and its store (see
 * server/pair.h), and the removal of orphans. */
#pragma once

#include "base/id.h"
#include "base/map.h"
#include "fleet/core/fleet_state.h"
#include "fleet/recovery/jump.h"
#include "store/folders.h"

struct provider_entry;

struct pairing {
	struct jump jump;
	bool is_open;   /* false: there is no folder to compare, as in a unit test */
	bool takes_all; /* the first sweep after an adoption has no bound for orphans */
	char id[ID_SIZE + 1], boot[40];
	struct id instance; /* of this process */
	int64_t generation, beat_at;
	/* Of the ticking thread: name of a note -> version or hash of what is noted, and a hash of
	 * the key of its sealed texts. */
	struct map noted;
	void *noted_key;
	uint64_t changes; /* of sandboxes, when the generation was raised last */
	atomic_bool
	        is_lost; /* the last check found another store, or another server in our place */
};
struct trash_counts {
	atomic_uint_fast64_t orphans; /* moved to the trash since the start */
	atomic_uint_fast64_t held;    /* left by the last sweep, because they were too many */
	atomic_uint_fast64_t entries, bytes;
	int64_t notes_swept_at; /* of the ticking thread; 0 = not yet */
};

/* Opens DATA/pairing with O_PATH; a new descriptor, or -1. */
int pairing_open_folder(const struct fleet *f, struct error *err);
/* The folder as the operator has named it. */
const char *pairing_folder_path(const struct fleet *f);
/* DATA/pairing/store */
struct pairing_file {
	char node[ID_SIZE + 1], id[ID_SIZE + 1];
	int64_t generation;
};
/* 1: read; 0: there is none. */
MUST_CHECK int pairing_read_file(const struct fleet *f, struct pairing_file *ret,
                                 struct error *err);
MUST_CHECK int pairing_write_file(const struct fleet *f, struct error *err);
/* The row of this server, to be written. Texts are borrowed. */
struct folder_record pairing_row(const struct fleet *f);
/* Whether the row of this server still fits. Call it before anything is removed because no row
 * knows it. */
bool pairing_holds(struct fleet *f);
/* At the end of the server: raises the generation and says that the server has ended. */
void pairing_leave(struct fleet *f);

/* Beats, so that other hosts see that this server lives. */
void pairing_tick(struct fleet *f);
/* Raises the generation of store and folder if sandboxes were created or deleted. Each minute. */
void pairing_advance(struct fleet *f);

bool orphans_are_too_many(const struct fleet *f, size_t unknown, size_t known);
/* Whether `unknown` orphans may be removed beside `known` things; logs why not. */
bool orphans_may_go(struct fleet *f, size_t unknown, size_t known);
/* Moves an orphan to the trash; if it runs, stops it first, until `stop_until` at most. */
void orphan_remove(struct fleet *f, const struct provider_entry *entry, int64_t stop_until);
void orphan_snapshot_remove(struct fleet *f, const char *id);

/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/recovery/pairing.h — the pairing of the data folder and its store (see server/pair.h), and
 * the removal of orphans. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/id.h"

struct error;
struct fleet;
struct folder_record;
struct provider_entry;

/* Opens DATA/pairing with O_PATH; a new descriptor, or -1. */
int pairing_open_folder(const struct fleet *f, struct error *err);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* broker/layers/trash.h — what was removed and can be brought back for a while.
 *
 *   DATA/trash/ID                              is deleted as soon as there is time
 *   DATA/trash/kept/KIND.ID.UNTIL.REASON/…     an entry: stays until UNTIL, in unix seconds
 *     sandboxes, host-files, snapshots         folders, named after the folder they came from
 *     chain                                    of a snapshot: it and the layers below it
 *     bytes                                    a link whose text is its size, once measured
 *
 * Files of a sandbox are moved. A snapshot stays where it is, because sandboxes may lie on it: it
 * loses its mark, and the entry keeps its layers in use. The layers of a sandbox in the trash are
 * in use as well. There are few entries, so each call reads the folder. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/id.h"
#include "wire/broker_trash.h"

struct host;
struct layer_stacks;
struct trash_note;

struct trash_entry {
	enum broker_trash_kind kind;
	enum broker_trash_reason reason;
	char id[ID_SIZE + 1];
	uint64_t until_s;
	uint64_t bytes; /* UINT64_MAX: not measured yet */
};

#define TRASH_NAME_SIZE 80
/* Pure: the name of an entry, and back; `bytes` is not in the name. */
void trash_name_format(const struct trash_entry *entry, char out[TRASH_NAME_SIZE]);
bool trash_name_parse(const char *name, struct trash_entry *ret);

/* Puts the files of a sandbox that does not run into the trash. Does nothing when it has none. */
MUST_CHECK int trash_put_sandbox(struct layer_stacks *c, const char *id,
                                 const struct trash_note *note, struct error *err);
/* Does nothing when `id` is no snapshot. */
MUST_CHECK int trash_put_snapshot(struct layer_stacks *c, const char *id,
                                  const struct trash_note *note, struct error *err);
/* A folder of FOLDER_SNAPSHOTS that no stack names. */
MUST_CHECK int trash_put_layer(const struct host *host, const char *id,
                               const struct trash_note *note, struct error *err);
/* ERROR_NOT_FOUND when `id` is not in the trash, ERROR_CONFLICT when its folder exists again. */
MUST_CHECK int trash_bring_back(struct layer_stacks *c, enum broker_trash_kind kind, const char *id,
                                struct error *err);
/* Whether the trash has files of this sandbox, and so needs its layers. */
bool trash_has_sandbox(const struct host *host, const char *id);
/* Deletes an entry for good. Does nothing when it is not there. */
MUST_CHECK int trash_purge(struct layer_stacks *c, enum broker_trash_kind kind, const char *id,
                           struct error *err);
/* Deletes entries whose time is over, then the oldest while there are more than `bytes_max` bytes
 * (0: any number): deleted ones first, orphans last. `back_s` is subtracted from the wall clock. */
void trash_trim(struct layer_stacks *c, uint64_t bytes_max, uint64_t back_s);
/* Deletes entries when the disk is full, those that are due first, until `bytes` are free or an
 * entry of unknown size went. Returns how many went. */
unsigned trash_make_room(struct layer_stacks *c, uint64_t bytes);
/* At start: marks the layers of entries as in use. */
MUST_CHECK int trash_adopt(struct layer_stacks *c, struct error *err);
void trash_each(const struct host *host,
                void (*on_entry)(void *context, const struct trash_entry *entry), void *context);

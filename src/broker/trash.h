/* SPDX-License-Identifier: Apache-2.0 */
/* broker/trash.h — what was removed and can be brought back for a while. Private to this folder.
 *
 *   DATA/trash/ID                              is deleted as soon as there is time
 *   DATA/trash/kept/KIND.ID.UNTIL.REASON/…     an entry: stays until UNTIL, in unix seconds
 *     sandboxes, host-files, snapshots         folders, by the name of the folder they came from
 *     layer stack                                    of a snapshot: it and the layers below it
 *     bytes                                    a link whose text is its size, once it is measured
 *
 * Files of a sandbox are moved. A snapshot stays where it is, because sandboxes may lie on it: it
 * loses its mark, and the entry keeps its layers in use. The layers of a sandbox in the trash are
 * in use as well. Entries are few: each call reads the folder. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"
#include "broker/chains.h"
#include "wire/broker.h"

struct trash_note {
	enum broker_trash_reason reason;
	uint64_t keep_s; /* 0 = it is deleted now */
};
struct trash_entry {
	enum broker_trash_kind kind;
	enum broker_trash_reason reason;
	char id[ID_SIZE + 1];
	uint64_t until_s, bytes; /* bytes: UINT64_MAX = not measured yet */
};
#define TRASH_NAME_SIZE 80
/* Pure: an entry's name and back; `bytes` is not in it. */
void trash_name_format(const struct trash_entry *entry, char out[TRASH_NAME_SIZE]);
bool trash_name_parse(const char *name, struct trash_entry *ret);

/* The files of a sandbox that does not run. Fine when it has none. */
MUST_CHECK int trash_put_sandbox(struct layer_stacks *c, const char *id,
                                 const struct trash_note *note, struct error *err);
/* Fine when it is no snapshot. */
MUST_CHECK int trash_put_snapshot(struct layer_stacks *c, const char *id,
                                  const struct trash_note *note, struct error *err);
/* A folder of FOLDER_SNAPSHOTS that no layer stack names. */
MUST_CHECK int trash_put_layer(const struct host *host, const char *id,
                               const struct trash_note *note, struct error *err);
/* ERROR_NOT_FOUND when it is not in the trash, ERROR_CONFLICT when its place is taken. */
MUST_CHECK int trash_bring_back(struct layer_stacks *c, enum broker_trash_kind kind, const char *id,
                                struct error *err);
/* Whether the trash has files of this sandbox, and so needs its layers. */
bool trash_has_sandbox(const struct host *host, const char *id);
/* Fine when it is not there. */
MUST_CHECK int trash_purge(struct layer_stacks *c, enum broker_trash_kind kind, const char *id,
                           struct error *err);
/* Entries whose time is over go, then the oldest while there are more bytes than `bytes_max`
 * (0 = any number): those that were deleted, and orphans last. */
void trash_trim(struct layer_stacks *c, uint64_t bytes_max, uint64_t back_s);
/* The same for a disk that has no room: entries that are due first go first, until so many bytes
 * went, or one whose size is not known. Returns how many went. */
unsigned trash_make_room(struct layer_stacks *c, uint64_t bytes);
/* Those that sandboxes and snapshots in the trash need are in use. At start. */
MUST_CHECK int trash_adopt(struct layer_stacks *c, struct error *err);
void trash_each(const struct host *host,
                void (*on_entry)(void *context, const struct trash_entry *entry), void *context);
/* In a child: counts the bytes of entries that are new, for a few seconds. */
void trash_measure(const struct host *host);

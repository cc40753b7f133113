/* SPDX-License-Identifier: Apache-2.0 */
/* broker/server/trash_room.h — the trash gives way when the disk is nearly full.
 *
 * When the data folder's filesystem has less room than the bounds below, entries of the trash are
 * deleted before their time, those that are due first before the others, until enough will be free.
 * What is kept to be brought back must not make a create or a sandbox's write fail. */
#pragma once

#include <stdint.h>

#include "broker/host/host.h"
#include "broker/server/cleaner.h"

#define TRASH_ROOM_LOOK_MS 2000
/* Twice what a create needs (host_check_space), so that the trash goes before creates fail. */
#define TRASH_ROOM_BYTES (2 * HOST_SPACE_MIN_BYTES)
#define TRASH_ROOM_FILES ((uint64_t)2 * HOST_FILES_MIN)

struct broker;

struct trash_room {
	struct timer timer;
	unsigned awaited; /* the run of the cleaner that deletes the last entries */
};
void trash_room_open(struct broker *b);
void trash_room_close(struct broker *b);

/* Pure: how much room is missing. */
struct trash_lack {
	uint64_t bytes, files;
};
struct trash_lack trash_room_lack(uint64_t free_bytes, uint64_t free_files);

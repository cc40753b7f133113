/* SPDX-License-Identifier: Apache-2.0 */
/* broker/trash_room.h — the trash gives way to those who need the disk. Private to this folder.
 *
 * When the data folder's file system has less room than the bounds below, entries of the trash go
 * before their time, those that are due first before the others, until as much as is missing will
 * be free. What is kept to be brought back must not be why a create or a sandbox's write fails. */
#pragma once

#include <stdint.h>

#include "broker/event.h"
#include "broker/host.h"

#define TRASH_ROOM_LOOK_MS 2000
/* Twice what a create wants (host_check_space), so that the trash goes before creates are refused.
 */
#define TRASH_ROOM_BYTES (2 * HOST_SPACE_MIN_BYTES)
#define TRASH_ROOM_FILES ((uint64_t)2 * HOST_FILES_MIN)

struct broker;
struct trash_room {
	struct timer timer;
	unsigned awaited; /* the run of the cleaner that deletes what has gone last */
};
void trash_room_open(struct broker *b);
void trash_room_close(struct broker *b);

/* Pure: what is missing. */
struct trash_lack {
	uint64_t bytes, files;
};
struct trash_lack trash_room_lack(uint64_t free_bytes, uint64_t free_files);

/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/server/trash_room.h"

#include <sys/statvfs.h>

#include "broker/layers/trash.h"
#include "broker/server/state.h"

struct trash_lack trash_room_lack(uint64_t free_bytes, uint64_t free_files)
{
	return (struct trash_lack){
	        .bytes = free_bytes < TRASH_ROOM_BYTES ? TRASH_ROOM_BYTES - free_bytes : 0,
	        .files = free_files < TRASH_ROOM_FILES ? TRASH_ROOM_FILES - free_files : 0,
	};
}

static struct trash_lack find_lack(const struct host *host)
{
	struct statvfs status;

	if (fstatvfs(host->folders[FOLDER_DATA], &status) < 0)
		return (struct trash_lack){0, 0};
	/* btrfs and the like count no files. */
	return trash_room_lack((uint64_t)status.f_bavail * status.f_frsize,
	                       status.f_files > 0 ? status.f_favail : UINT64_MAX);
}

/* The entries that went last are being deleted, or will be: their room is not free yet. */
static bool is_deleting(const struct broker *b)
{
	const struct cleaner *c = &b->cleaner;

	return c->running ? c->begun <= b->room.awaited : c->begun < b->room.awaited;
}

static void check_room(struct broker *b)
{
	const struct trash_lack lack = find_lack(&b->host);

	if ((lack.bytes == 0 && lack.files == 0) || is_deleting(b) ||
	    trash_make_room(&b->stacks, lack.bytes) == 0)
		return;
	/* A run that has already begun may have missed them. */
	b->room.awaited = b->cleaner.begun + 1;
	cleaner_wake(b);
}

static void on_check_time(struct timer *timer)
{
	struct trash_room *room = CONTAINER_OF(timer, struct trash_room, timer);
	struct broker *b = CONTAINER_OF(room, struct broker, room);

	check_room(b);
	timer_start(&b->events, timer, TRASH_ROOM_LOOK_MS);
}

void trash_room_open(struct broker *b)
{
	list_init(&b->room.timer.item);
	b->room.timer.on_time = on_check_time;
	timer_start(&b->events, &b->room.timer, TRASH_ROOM_LOOK_MS);
}

void trash_room_close(struct broker *b)
{
	timer_stop(&b->room.timer);
}

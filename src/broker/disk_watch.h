/* SPDX-License-Identifier: Apache-2.0 */
/* broker/disk_watch.h — pauses a sandbox that takes more of the disk than it may, where nothing
 * else enforces its limit. Private to this folder.
 *
 * One statfs(2) tells by how much the data folder's file system has grown in all. Only a sandbox
 * that could have passed its limit by that, and that has used the processor, is measured, by a
 * child and one at a time. A paused or idle sandbox costs nothing. What may be written past a limit
 * is the rate times the interval below, and the time that counting takes
 * (docs/decisions/disk-limits.md). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/id.h"
#include "base/map.h"
#include "broker/event.h"
#include "broker/measure.h"

#define DISK_WATCH_MS 1000     /* between two looks … */
#define DISK_WATCH_FAST_MS 200 /* … while much is written, or a sandbox is over its limit */
/* What a sandbox that is over its limit may add after each resume, to make room. */
#define DISK_GRACE_BYTES (UINT64_C(16) << 20)
#define DISK_GRACE_INODES 1024
/* Above twice its limit and this it is not resumed. */
#define DISK_RESUME_BYTES (UINT64_C(1) << 30)

struct disk_amount {
	uint64_t bytes, inodes;
};

/* What is known of one sandbox. */
struct disk_count {
	char id[ID_SIZE + 1];
	bool is_known;                     /* it was measured, or is new */
	bool is_stopped, is_acked;         /* paused by this watch; and atolld has said so */
	bool is_final;                     /* measured since */
	struct disk_amount used;           /* when it was measured last … */
	struct disk_amount grown;          /* … and the file system's growth by then */
	struct disk_amount limit, allowed; /* allowed: the limit, or more for a while */
	uint64_t cpu_us;
	int64_t measured_ms, told_ms;
};

struct broker;
struct disk_watch {
	struct timer timer;
	struct broker_child child;
	struct map counts;                  /* id -> struct disk_count */
	struct disk_amount free_now, grown; /* by the last look; since the start … */
	struct disk_amount grown_before;    /* … until the look before that */
	int64_t looked_ms;
	bool has_looked, is_measuring;
	int report_fd;
	char id[ID_SIZE + 1]; /* what is being measured, since when */
	struct disk_amount grown_at;
	uint64_t cpu_at;
	uint64_t paused, counted, counting_us; /* ever */
	int64_t counting_since_us;
	struct broker_disk told; /* last, without its text */
};

void disk_watch_open(struct broker *b);
void disk_watch_close(struct broker *b);
/* Before a resume: ERROR_CONFLICT when it has far too much. Else it may run on, with some room. */
MUST_CHECK int disk_watch_resume(struct broker *b, const char *id, struct error *err);
/* Says what holds here to the connection that has just come. */
void disk_watch_greet(struct broker *b, uint64_t connection);
/* atolld has asked for its pause. */
void disk_watch_on_pause(struct broker *b, const char *id);

/* ---- pure ---- */

/* What has been added, wherever, between two counts of what is free. */
struct disk_amount disk_growth(struct disk_amount before, struct disk_amount now);
/* Whether it may be over what it is allowed, once the file system has grown so much in all. */
bool disk_is_suspect(const struct disk_count *count, struct disk_amount grown);
bool disk_is_over(struct disk_amount used, struct disk_amount most);
/* The limit of a disk of this size; `inodes_per_gib` 0 = none. */
struct disk_amount disk_limit(uint64_t bytes, uint64_t inodes_per_gib);

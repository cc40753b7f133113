/* SPDX-License-Identifier: Apache-2.0 */
/* broker/server/disk_watch.h — pauses a sandbox that takes more of the disk than its limit, where
 * nothing else enforces the limit.
 *
 * One statfs(2) tells by how much the data folder's filesystem has grown in all. A child measures
 * only a sandbox that may have passed its limit by that growth and has used the processor, one at a
 * time. A paused or idle sandbox costs nothing. A sandbox can write past its limit what it writes
 * in the interval below and in the time that counting takes
 * (docs/decisions/disk-limits.md). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/id.h"
#include "base/map.h"
#include "broker/host/task_start.h"
#include "broker/sandbox/disk.h"
#include "wire/broker_disk.h"

#define DISK_WATCH_MS 1000     /* between two checks … */
#define DISK_WATCH_FAST_MS 200 /* … while much is written, or a sandbox is over its limit */
/* Bytes that a sandbox over its limit may add after each resume, so that it can make room. */
#define DISK_GRACE_BYTES (UINT64_C(16) << 20)
#define DISK_GRACE_INODES 1024
/* A sandbox with more than twice its limit and this is not resumed. */
#define DISK_RESUME_BYTES (UINT64_C(1) << 30)

/* The watch's state of a sandbox. */
struct disk_count {
	char id[ID_SIZE + 1];
	bool is_known;            /* it was measured, or is new */
	bool is_stopped;          /* paused by this watch */
	bool is_acked;            /* atolld has asked for the pause, too */
	bool is_final;            /* measured since the pause */
	struct disk_amount used;  /* when it was last measured */
	struct disk_amount grown; /* the filesystem's growth by then */
	struct disk_amount limit;
	struct disk_amount allowed; /* the limit, or more for a while */
	uint64_t cpu_us;
	int64_t measured_ms, told_ms;
};

struct broker;

struct disk_watch {
	struct timer timer;
	struct broker_task task;
	struct map counts;               /* id -> struct disk_count */
	struct disk_amount free_now;     /* at the last check */
	struct disk_amount grown;        /* since the start */
	struct disk_amount grown_before; /* the same at the check before the last */
	bool has_looked, is_measuring;
	char id[ID_SIZE + 1]; /* what is being measured */
	struct disk_amount grown_at;
	uint64_t cpu_at;
	int64_t counting_since_us;
	uint64_t paused, counted, counting_us; /* ever */
	struct broker_disk told;               /* the last report, without its text */
};

void disk_watch_open(struct broker *b);
void disk_watch_close(struct broker *b);
/* Call it before a resume. ERROR_CONFLICT: the sandbox has far too much. Else it may run on, with
 * some room. */
MUST_CHECK int disk_watch_resume(struct broker *b, const char *id, struct error *err);
/* Reports to a new connection what is enforced here. */
void disk_watch_greet(struct broker *b, uint64_t connection);
/* atolld has asked for the pause of this sandbox. */
void disk_watch_on_pause(struct broker *b, const char *id);

/* Bytes added between two counts of the free space. */
struct disk_amount disk_growth(struct disk_amount before, struct disk_amount now);
/* Whether the sandbox may be over what it is allowed when the filesystem has grown by so much. */
bool disk_is_suspect(const struct disk_count *count, struct disk_amount grown);
bool disk_is_over(struct disk_amount used, struct disk_amount most);

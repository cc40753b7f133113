/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/server/disk_watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "broker/host/options.h"
#include "broker/sandbox/pause.h"
#include "broker/sandbox/sandbox.h"
#include "broker/server/state.h"
#include "broker/volume/disk_quota.h"
#include "sandbox/sandbox.h"
#include "wire/broker.h"
#include "wire/broker_kind.h"
#include "wire/task.h"

#define MEASURE_MS 10000
/* A sandbox in which only its agent has run since, and not for long. A call that writes a gigabyte
 * takes hardly more. */
#define IDLE_CPU_US 500
/* A sandbox that does something is measured again after this time: files of others that were
 * removed meanwhile hide how much it has added. */
#define AGAIN_MS 60000
#define TELL_AGAIN_MS 2000
#define ASKED_AT_ONCE 64 /* for their processor time */
#define MUCH_BYTES (UINT64_C(16) << 20)
#define MUCH_INODES 4096
#define NO_CONNECTION UINT64_MAX

static uint64_t subtract_floor(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

struct disk_amount disk_growth(struct disk_amount before, struct disk_amount now)
{
	return (struct disk_amount){subtract_floor(before.bytes, now.bytes),
	                            subtract_floor(before.inodes, now.inodes)};
}

bool disk_is_over(struct disk_amount used, struct disk_amount most)
{
	return (most.bytes > 0 && used.bytes > most.bytes) ||
	       (most.inodes > 0 && used.inodes > most.inodes);
}

bool disk_is_suspect(const struct disk_count *count, struct disk_amount grown)
{
	const struct disk_amount most = {
	        count->used.bytes + subtract_floor(grown.bytes, count->grown.bytes),
	        count->used.inodes + subtract_floor(grown.inodes, count->grown.inodes)};

	return !count->is_known || disk_is_over(most, count->allowed);
}

static struct disk_count *count_of(struct disk_watch *w, const struct sandbox *sandbox)
{
	struct disk_count *count = map_find(&w->counts, sandbox->id);
	const struct broker *b = CONTAINER_OF(w, struct broker, disk);

	if (count)
		return count;
	count = memory_new(sizeof(*count));
	memcpy(count->id, sandbox->id, sizeof(count->id));
	count->limit = disk_limit(sandbox->disk_bytes, b->host.options->disk_inodes);
	count->allowed = count->limit;
	/* A sandbox that is younger than one check interval has added nothing that the growth does
	 * not show. */
	count->is_known = !sandbox->restart && sandbox->created_unix_ms > 0 &&
	                  clock_unix_ms() - sandbox->created_unix_ms < DISK_WATCH_MS;
	count->grown = w->grown_before;
	count->measured_ms = clock_monotonic_ms();
	(void)map_put(&w->counts, count->id, count);
	return count;
}

/* The map may not change during a walk, so the walk starts over. */
static void forget_ended(struct broker *b)
{
	struct disk_watch *w = &b->disk;
	struct disk_count *count;
	const char *id;
	size_t at = 0;

	while ((count = map_next(&w->counts, &at, &id))) {
		if (sandboxes_find(&b->sandboxes, id))
			continue;
		(void)map_remove(&w->counts, id);
		free(count);
		at = 0;
	}
}

static bool is_watched(const struct sandbox *sandbox)
{
	return sandbox->phase == SANDBOX_RUNNING && broker_kind_is_isolated(sandbox->kind) &&
	       sandbox->disk_is_advisory && sandbox->disk_bytes > 0;
}

static void send_full(struct broker *b, struct disk_count *count)
{
	struct broker_ended full = {
	        .sandbox = count->id, .reason = SANDBOX_REASON_DISK, .sent_bytes = UINT64_MAX};

	count->told_ms = clock_monotonic_ms();
	server_send_all(b, BROKER_ENDED, broker_ended_shape, &full);
}

/* If the pause fails, the next check tries it again. */
static void pause_sandbox(struct broker *b, struct disk_count *count)
{
	const struct pending_reply nobody = {.connection = NO_CONNECTION};
	struct error err = {0};

	if (sandboxes_pause(&b->sandboxes, &nobody, count->id, &err) < 0) {
		log_warning("a sandbox is over its disk limit and is not paused yet",
		            TEXT("sandbox", count->id), FAILURE(&err));
		return;
	}
	fault_point("broker", "disk-paused");
	if (!count->is_stopped)
		b->disk.paused++;
	count->is_stopped = true;
	count->is_acked = count->is_final = false;
	log_info("a sandbox is paused: it is over its disk limit", TEXT("sandbox", count->id),
	         NUMBER("bytes", (int64_t)count->used.bytes),
	         NUMBER("inodes", (int64_t)count->used.inodes),
	         NUMBER("limit_bytes", (int64_t)count->limit.bytes),
	         NUMBER("limit_inodes", (int64_t)count->limit.inodes));
	/* atolld requests a pause, too, which would be refused while one is under way. */
	count->told_ms = 0;
	if (sandboxes_find(&b->sandboxes, count->id)->paused)
		send_full(b, count);
}

static int refuse_resume(const struct disk_count *count, struct error *err)
{
	error_set(err, ERROR_CONFLICT, 0, HERE,
	          "sandbox '%s' has %" PRIu64 " MiB in %" PRIu64 " files, and its limit is %" PRIu64
	          " MiB in %" PRIu64,
	          count->id, count->used.bytes >> 20, count->used.inodes, count->limit.bytes >> 20,
	          count->limit.inodes);
	return FAIL_HINT(err, "stop it, give it more disk_mb and start it, or delete it");
}

int disk_watch_resume(struct broker *b, const char *id, struct error *err)
{
	struct disk_count *count = map_find(&b->disk.counts, id);
	struct disk_amount most;

	if (!count || !count->is_known || !disk_is_over(count->used, count->limit))
		return 0;
	most = (struct disk_amount){2 * count->limit.bytes + DISK_RESUME_BYTES,
	                            2 * count->limit.inodes};
	if (disk_is_over(count->used, most))
		return refuse_resume(count, err);
	count->allowed.bytes = count->used.bytes + DISK_GRACE_BYTES;
	if (count->limit.inodes > 0)
		count->allowed.inodes = count->used.inodes + DISK_GRACE_INODES;
	count->is_stopped = false;
	return 0;
}

void disk_watch_on_pause(struct broker *b, const char *id)
{
	struct disk_count *count = map_find(&b->disk.counts, id);

	if (count)
		count->is_acked = true;
}

static struct broker_disk make_report(struct broker *b)
{
	struct disk_watch *w = &b->disk;
	struct broker_disk report = {.enforcement = disk_quota_name(&b->host),
	                             .paused_total = w->paused,
	                             .counts_total = w->counted,
	                             .counting_us_total = w->counting_us};
	const struct disk_count *count;
	const char *id;
	size_t at = 0;

	while ((count = map_next(&w->counts, &at, &id))) {
		report.watched++;
		report.over += count->is_known && disk_is_over(count->used, count->limit);
	}
	return report;
}

void disk_watch_greet(struct broker *b, uint64_t connection)
{
	const struct broker_disk report = make_report(b);

	server_send(b, connection, BROKER_DISK, broker_disk_shape, &report);
}

static void send_changes(struct broker *b)
{
	const struct broker_disk report = make_report(b), *told = &b->disk.told;

	if (report.watched == told->watched && report.over == told->over &&
	    report.paused_total == told->paused_total && report.counts_total == told->counts_total)
		return;
	b->disk.told = report;
	server_send_all(b, BROKER_DISK, broker_disk_shape, &report);
}

/* A partial count is a lower bound. */
static void take_measure(struct broker *b, const struct task_result *measured)
{
	struct disk_watch *w = &b->disk;
	struct disk_count *count = map_find(&w->counts, w->id);
	const struct sandbox *sandbox = sandboxes_find(&b->sandboxes, w->id);

	if (!count || !sandbox)
		return;
	count->used = (struct disk_amount){measured->bytes, measured->entries};
	count->is_known = true;
	count->grown = w->grown_at;
	count->cpu_us = w->cpu_at;
	count->measured_ms = clock_monotonic_ms();
	count->is_final = count->is_stopped;
	if (!disk_is_over(count->used, count->limit))
		count->allowed = count->limit;
	if (is_watched(sandbox) && !sandbox->paused && disk_is_over(count->used, count->allowed))
		pause_sandbox(b, count);
}

static void schedule_check(struct disk_watch *w, int64_t ms);

static void on_measured(struct broker_child *child, UNUSED int status)
{
	struct disk_watch *w = CONTAINER_OF(child, struct disk_watch, task.child);
	struct broker *b = CONTAINER_OF(w, struct broker, disk);
	struct task_result measured;
	struct error ignored = {0};

	if (task_take_report(&w->task, &measured, &ignored) == 0)
		take_measure(b, &measured);
	w->is_measuring = false;
	w->counted++;
	w->counting_us += (uint64_t)(clock_monotonic_ns() / 1000 - w->counting_since_us);
	send_changes(b);
	schedule_check(w, DISK_WATCH_FAST_MS);
}

static int begin_measure(struct broker *b, const char *id, uint64_t cpu_us, struct error *err)
{
	struct disk_watch *w = &b->disk;
	char deadline[24], path[64];
	const struct task_command command = {
	        .kind = TASK_MEASURE, .count = 2, .words = {deadline, path}};

	(void)snprintf(deadline, sizeof(deadline), "%" PRId64, deadline_after(MEASURE_MS));
	(void)snprintf(path, sizeof(path), "sandboxes/%s/upper", id);
	(void)snprintf(w->id, sizeof(w->id), "%s", id);
	w->grown_at = w->grown;
	w->cpu_at = cpu_us;
	w->counting_since_us = clock_monotonic_ns() / 1000;
	w->task.child.on_end = on_measured;
	if (task_start(&b->host, &b->events, &w->task, &command, err) < 0)
		return -1;
	w->is_measuring = true;
	return 0;
}

static uint64_t cpu_of(struct broker *b, const struct sandbox *sandbox)
{
	struct cgroup_usage usage = {0};
	struct error ignored = {0};
	char group[GROUP_NAME_SIZE];

	host_group_name(sandbox->slot, group);
	(void)!b->host.cgroups->ops->usage(b->host.cgroups, group, &usage, &ignored);
	return usage.cpu_us;
}

struct disk_search {
	char id[ID_SIZE + 1]; /* the one to measure: it has waited longest */
	uint64_t cpu_us;
	int64_t waits_since;
	unsigned asked;
};

static bool is_due(const struct disk_watch *w, const struct disk_count *count, int64_t now)
{
	return disk_is_suspect(count, w->grown) ||
	       (now - count->measured_ms > AGAIN_MS && w->grown.bytes != count->grown.bytes);
}

static void consider_sandbox(struct broker *b, struct sandbox *sandbox, struct disk_search *s,
                             int64_t now)
{
	struct disk_watch *w = &b->disk;
	struct disk_count *count = count_of(w, sandbox);
	uint64_t cpu_us;

	if (sandbox->paused || sandbox->pausing) {
		if (count->is_stopped && !count->is_acked && now - count->told_ms > TELL_AGAIN_MS)
			send_full(b, count);
		if (!count->is_stopped || count->is_final)
			return;
	} else if (!is_due(w, count, now)) {
		return;
	}
	if (++s->asked > ASKED_AT_ONCE)
		return;
	cpu_us = cpu_of(b, sandbox);
	if (count->is_known && !count->is_stopped && cpu_us >= count->cpu_us &&
	    cpu_us - count->cpu_us < IDLE_CPU_US) {
		count->grown = w->grown;
		return;
	}
	if (*s->id && count->measured_ms >= s->waits_since)
		return;
	memcpy(s->id, count->id, sizeof(s->id));
	s->cpu_us = cpu_us;
	s->waits_since = count->measured_ms;
}

/* Returns true when much has been added. */
static bool measure_growth(struct broker *b)
{
	struct disk_watch *w = &b->disk;
	struct disk_amount now, growth = {0, 0};
	struct statfs status;

	if (fstatfs(b->host.folders[FOLDER_SANDBOXES], &status) < 0)
		return false;
	now = (struct disk_amount){status.f_bfree * (uint64_t)status.f_bsize, status.f_ffree};
	if (w->has_looked)
		growth = disk_growth(w->free_now, now);
	w->has_looked = true;
	w->grown_before = w->grown;
	w->free_now = now;
	w->grown.bytes += growth.bytes;
	w->grown.inodes += growth.inodes;
	return growth.bytes > MUCH_BYTES || growth.inodes > MUCH_INODES;
}

static void check_sandboxes(struct broker *b)
{
	struct disk_watch *w = &b->disk;
	bool is_much = measure_growth(b);
	struct disk_search s = {.id = ""};
	struct error err = {0};
	const char *id;
	struct sandbox *sandbox;
	size_t at = 0;

	schedule_check(w, is_much ? DISK_WATCH_FAST_MS : DISK_WATCH_MS);
	if (w->is_measuring)
		return;
	forget_ended(b);
	while ((sandbox = map_next(&b->sandboxes.by_id, &at, &id)))
		if (is_watched(sandbox))
			consider_sandbox(b, sandbox, &s, clock_monotonic_ms());
	send_changes(b);
	if (*s.id && begin_measure(b, s.id, s.cpu_us, &err) < 0)
		log_warning("a sandbox's disk is not measured", TEXT("sandbox", s.id),
		            FAILURE(&err));
}

static void on_check_time(struct timer *timer)
{
	struct disk_watch *w = CONTAINER_OF(timer, struct disk_watch, timer);

	check_sandboxes(CONTAINER_OF(w, struct broker, disk));
}

static void schedule_check(struct disk_watch *w, int64_t ms)
{
	struct broker *b = CONTAINER_OF(w, struct broker, disk);

	timer_stop(&w->timer);
	w->timer.on_time = on_check_time;
	timer_start(&b->events, &w->timer, ms);
}

void disk_watch_open(struct broker *b)
{
	list_init(&b->disk.timer.item);
	if (b->host.options->disk_watch)
		check_sandboxes(b);
}

void disk_watch_close(struct broker *b)
{
	struct disk_watch *w = &b->disk;
	struct disk_count *count;
	const char *id;
	size_t at = 0;

	timer_stop(&w->timer);
	task_cancel(&w->task);
	while ((count = map_next(&w->counts, &at, &id))) {
		(void)map_remove(&w->counts, id);
		free(count);
		at = 0;
	}
	map_done(&w->counts);
}

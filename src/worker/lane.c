/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/lane.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/map.h"

const char *worker_lane_name(enum worker_lane lane)
{
	static const char *const names[] = {[WORKER_FAST] = "fast",
	                                    [WORKER_SLOW] = "slow",
	                                    [WORKER_FILES] = "files",
	                                    [WORKER_AGENT] = "agent",
	                                    [WORKER_LONG] = "long"};

	return names[lane];
}

const char *worker_share_name(enum worker_share_kind kind)
{
	static const char *const names[] = {
	        [WORKER_PROJECT] = "project", [WORKER_KEY] = "key", [WORKER_SANDBOX] = "sandbox"};

	return names[kind];
}

/* Clients choose some names, such as an IPv6 address or a session. The hash has a random key, so
 * that no client can find a name with another tenant's number. */
uint64_t worker_share_id(const char *name)
{
	uint64_t hash = map_hash(name);

	return hash ? hash : 1;
}

void lane_init(struct lane *lane, unsigned running_max, unsigned waiting_max)
{
	*lane = (struct lane){.running_max = running_max, .waiting_max = waiting_max};
	list_init(&lane->ring);
}

/* The smallest weight with which a project that is alone in the lane reaches its bound. Several
 * projects that take all they can then leave threads free: see docs/decisions/lanes-and-shares.md.
 */
void lane_bound_projects(struct lane *lane, unsigned running_max)
{
	unsigned all = lane->running_max;

	if (running_max > all)
		running_max = all;
	lane->share_running_max[WORKER_PROJECT] = running_max;
	lane->project_weight =
	        running_max == 0 ? 0 : (running_max - 1) / (all - running_max + 1) + 1;
}

static struct worker_share **bucket_of(struct lane *lane, uint64_t id)
{
	return &lane->buckets[id % LANE_BUCKETS];
}

static struct worker_share *find_share(struct lane *lane, enum worker_share_kind kind, uint64_t id)
{
	struct worker_share *share = *bucket_of(lane, id);

	while (share && (share->id != id || share->kind != kind))
		share = share->next_in_bucket;
	return share;
}

static struct worker_share *make_share(struct lane *lane, enum worker_share_kind kind, uint64_t id)
{
	struct worker_share **bucket = bucket_of(lane, id);
	struct worker_share *share = find_share(lane, kind, id);

	if (share)
		return share;
	share = memory_new(sizeof(*share));
	*share = (struct worker_share){.next_in_bucket = *bucket, .id = id, .kind = kind};
	share->last_next = &share->first;
	list_init(&share->ring_item);
	*bucket = share;
	return share;
}

static void drop_unused_share(struct lane *lane, struct worker_share *share)
{
	struct worker_share **at = bucket_of(lane, share->id);

	if (share->running > 0 || share->waiting > 0)
		return;
	while (*at != share)
		at = &(*at)->next_in_bucket;
	*at = share->next_in_bucket;
	free(share);
}

/* The server's own work has project 0, which is counted but not limited; it has no key or
 * sandbox. */
static bool is_counted(unsigned kind, uint64_t id)
{
	return kind == WORKER_PROJECT || id != 0;
}

static bool share_can_run(const struct lane *lane, const struct worker_share *share)
{
	unsigned max, room;

	if (!share || share->id == 0)
		return true;
	max = lane->share_running_max[share->kind];
	if (share->kind == WORKER_PROJECT && lane->project_weight > 0) {
		room = lane->project_weight * (lane->running_max - lane->running);
		max = max == 0 || room < max ? room : max;
		return share->running < max;
	}
	return max == 0 || share->running < max;
}

/* The same for the queue: one project may have share_waiting_max there, several together leave
 * room. */
static bool share_can_wait(const struct lane *lane, const struct worker_share *share)
{
	unsigned max = lane->share_waiting_max[share->kind],
	         room = lane->waiting_max - lane->waiting;

	if (max == 0)
		return true;
	if (share->kind == WORKER_PROJECT && room < max)
		max = room;
	return share->waiting < max;
}

static void hold_share(struct worker_share *share)
{
	if (share)
		share->running++;
}

static int check_room(struct lane *lane, const struct worker_task *task, struct error *err)
{
	if (lane->waiting >= lane->waiting_max) {
		lane->refused++;
		return FAIL(err, ERROR_UNAVAILABLE, "too much work is waiting (%u tasks)",
		            lane->waiting);
	}
	for (unsigned kind = WORKER_SHARES; kind-- > 0;) {
		uint64_t id = task->shares[kind];
		const struct worker_share *share = id ? find_share(lane, kind, id) : NULL;

		if (!share || share_can_wait(lane, share))
			continue;
		lane->refused_by[kind]++;
		return FAIL(err, ERROR_LIMIT, "%u requests of this %s run and %u wait already",
		            share->running, worker_share_name(kind), share->waiting);
	}
	return 0;
}

static void append_task(struct lane *lane, struct worker_task *task)
{
	struct worker_share *project = task->held[WORKER_PROJECT];

	if (!project->first)
		list_append(&lane->ring, &project->ring_item);
	task->next = NULL;
	*project->last_next = task;
	project->last_next = &task->next;
}

int lane_add(struct lane *lane, struct worker_task *task, struct error *err)
{
	if (check_room(lane, task, err) < 0)
		return -1;
	for (unsigned kind = 0; kind < WORKER_SHARES; kind++) {
		task->held[kind] = NULL;
		if (!is_counted(kind, task->shares[kind]))
			continue;
		task->held[kind] = make_share(lane, kind, task->shares[kind]);
		task->held[kind]->waiting++;
	}
	task->queued_ms = clock_monotonic_ms();
	task->is_waiting = true;
	append_task(lane, task);
	lane->waiting++;
	return 0;
}

/* Removes the task at *link from its project's queue and keeps its shares. */
static struct worker_task *unlink_task(struct lane *lane, struct worker_task **link)
{
	struct worker_task *task = *link;
	struct worker_share *project = task->held[WORKER_PROJECT];

	*link = task->next;
	if (project->last_next == &task->next)
		project->last_next = link;
	task->next = NULL;
	task->is_waiting = false;
	lane->waiting--;
	list_remove(&project->ring_item);
	return task;
}

static bool task_can_run(const struct lane *lane, const struct worker_task *task)
{
	return share_can_run(lane, task->held[WORKER_KEY]) &&
	       share_can_run(lane, task->held[WORKER_SANDBOX]);
}

static struct worker_task **find_in_project(const struct lane *lane, struct worker_share *project)
{
	if (!share_can_run(lane, project))
		return NULL;
	for (struct worker_task **link = &project->first; *link; link = &(*link)->next)
		if (task_can_run(lane, *link))
			return link;
	return NULL;
}

static struct worker_task **find_next(const struct lane *lane)
{
	struct worker_task **link;

	if (lane->running >= lane->running_max)
		return NULL;
	LIST_EACH (&lane->ring, struct worker_share, share, ring_item) {
		link = find_in_project(lane, share);
		if (link)
			return link;
	}
	return NULL;
}

bool lane_is_ready(const struct lane *lane)
{
	return find_next(lane) != NULL;
}

struct worker_task *lane_take(struct lane *lane, struct held_shares *ret_held)
{
	struct worker_task **link = find_next(lane), *task;
	struct worker_share *project;

	if (!link)
		return NULL;
	task = unlink_task(lane, link);
	for (unsigned kind = 0; kind < WORKER_SHARES; kind++) {
		ret_held->shares[kind] = task->held[kind];
		if (task->held[kind])
			task->held[kind]->waiting--;
		hold_share(task->held[kind]);
	}
	project = ret_held->shares[WORKER_PROJECT];
	if (project->first)
		list_append(&lane->ring, &project->ring_item);
	lane->running++;
	return task;
}

void lane_remove(struct lane *lane, struct worker_task *task)
{
	struct worker_share *project = task->held[WORKER_PROJECT];
	struct list *before = project->ring_item.previous;
	struct worker_task **link = &project->first;

	while (*link != task)
		link = &(*link)->next;
	(void)unlink_task(lane, link);
	if (project->first)
		list_insert_after(before, &project->ring_item);
	for (unsigned kind = 0; kind < WORKER_SHARES; kind++) {
		if (!task->held[kind])
			continue;
		task->held[kind]->waiting--;
		drop_unused_share(lane, task->held[kind]);
	}
}

static bool ids_can_run(struct lane *lane, const uint64_t ids[WORKER_SHARES])
{
	for (unsigned kind = 0; kind < WORKER_SHARES; kind++)
		if (ids[kind] && !share_can_run(lane, find_share(lane, kind, ids[kind])))
			return false;
	return true;
}

bool lane_enter(struct lane *lane, const uint64_t ids[WORKER_SHARES], struct held_shares *ret_held)
{
	/* A waiting task that can run takes precedence. */
	if (lane->running >= lane->running_max || !ids_can_run(lane, ids) || lane_is_ready(lane))
		return false;
	for (unsigned kind = 0; kind < WORKER_SHARES; kind++) {
		ret_held->shares[kind] =
		        is_counted(kind, ids[kind]) ? make_share(lane, kind, ids[kind]) : NULL;
		hold_share(ret_held->shares[kind]);
	}
	lane->running++;
	return true;
}

void lane_leave(struct lane *lane, const struct held_shares *held)
{
	lane->running--;
	for (unsigned kind = 0; kind < WORKER_SHARES; kind++) {
		if (!held->shares[kind])
			continue;
		held->shares[kind]->running--;
		drop_unused_share(lane, held->shares[kind]);
	}
}

struct worker_task *lane_find_expired(const struct lane *lane, int64_t before_ms)
{
	LIST_EACH (&lane->ring, struct worker_share, share, ring_item) {
		struct worker_task *task = share->first;

		while (task && !task->expire)
			task = task->next;
		if (task && task->queued_ms < before_ms)
			return task;
	}
	return NULL;
}

int64_t lane_oldest_ms(const struct lane *lane, int64_t now_ms)
{
	int64_t oldest = now_ms;

	LIST_EACH (&lane->ring, const struct worker_share, project, ring_item)
		if (project->first->queued_ms < oldest)
			oldest = project->first->queued_ms;
	return oldest;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/server/cleaner.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/network/egress.h"
#include "broker/network/flows.h"
#include "broker/network/link.h"
#include "broker/server/state.h"

/* Closing an overlay waits for the whole disk, and closing a network namespace for all processors,
 * for one as for many. So one child cleans up for many sandboxes, after the requests. */
#define CLEANER_WAITING_MAX (2 * SLOTS_MAX)
#define CLEAN_QUIET_MS 20
#define CLEAN_LATEST_MS 200

static void remove_group(struct host *host, const char *name)
{
	struct error err = {0};

	if (host->cgroups->ops->remove(host->cgroups, name, &err) < 0)
		log_error("cannot remove a cgroup", FAILURE(&err));
}

void cleaner_remove_kept(struct host *host, uint32_t slot)
{
	char name[GROUP_NAME_SIZE];

	host_kept_name(slot, name);
	remove_group(host, name);
}

static void keep_group(struct host *host, uint32_t slot)
{
	char name[GROUP_NAME_SIZE], kept[GROUP_NAME_SIZE];

	host_group_name(slot, name);
	host_kept_name(slot, kept);
	if (!host->cgroups->ops->keep(host->cgroups, name, kept))
		remove_group(host, kept);
	fault_point("broker", "group-kept");
}

void cleaner_clean_slot(struct host *host, uint32_t slot)
{
	struct error err = {0};
	char name[GROUP_NAME_SIZE];

	if (slot == SLOT_NONE)
		return;
	host_group_name(slot, name);
	remove_group(host, name);
	if (network_egress_is_set(host->network, slot) &&
	    network_egress_clear(host->network, &slot, 1, &err) < 0)
		log_error("cannot clean a slot", FAILURE(&err));
	if (host_trash(host, FOLDER_RUN_PREWARMS, name, &err) < 0 ||
	    host_trash(host, FOLDER_PREWARMS, name, &err) < 0)
		log_error("cannot remove the folders of a prewarmed sandbox", FAILURE(&err));
}

/* Clears the rules of all slots at once: each call of nft takes milliseconds. */
static int clear_rules(struct broker *b)
{
	const struct cleaner *c = &b->cleaner;
	uint32_t slots[CLEANER_BATCH];
	struct error err = {0};
	size_t count = 0;

	for (unsigned i = 0; i < c->at_work_count; i++)
		if (network_egress_is_set(b->host.network, c->at_work[i].slot))
			slots[count++] = c->at_work[i].slot;
	if (network_egress_clear(b->host.network, slots, count, &err) == 0)
		return 0;
	log_error("cannot clean slots", FAILURE(&err));
	return -1;
}

/* Connections of dead sandboxes would go on with the next sandbox that has their address. Processes
 * outside could send to it, and open connections by ports that a dead sandbox chose. The links are
 * taken down first, so that the last packets do not open a connection again. */
static void end_flows(const struct broker *b, const struct cleanup_item *items, unsigned item_count)
{
	uint32_t slots[CLEANER_BATCH];
	struct error err = {0};
	size_t count = 0;

	for (unsigned i = 0; i < item_count && b->host.network->usable; i++) {
		const struct cleanup_item *one = &items[i];

		/* While the namespace exists, a missing link means that there never was one. */
		if (one->slot == SLOT_NONE || !network_was_used(one->slot, one->net_fd < 0))
			continue;
		network_link_stop(one->slot);
		slots[count++] = one->slot;
	}
	if (network_flows_end(b->host.network, slots, count, &err) < 0)
		log_warning("what dead sandboxes have begun may come to others, going on",
		            FAILURE(&err));
}

static int run_cleaner(void *context)
{
	struct broker *b = context;
	struct cleaner *c = &b->cleaner;
	int status = clear_rules(b) < 0;
	char byte;

	end_flows(b, c->at_work, c->at_work_count);
	/* Waits until the broker has closed its copies; otherwise the broker may be the last to
	 * close them, and would wait. */
	fd_forget(&c->begin[1]);
	(void)!read(c->begin[0], &byte, 1);
	/* Closes all at once: the kernel takes down in one go what it finds. */
	for (unsigned i = 0; i < c->at_work_count; i++)
		fd_forget(&c->at_work[i].net_fd);
	for (unsigned i = 0; i < c->at_work_count; i++) {
		fd_forget(&c->at_work[i].mounts_fd);
		if (i < c->keep_count && c->at_work[i].slot != SLOT_NONE)
			keep_group(&b->host, c->at_work[i].slot);
		cleaner_clean_slot(&b->host, c->at_work[i].slot);
	}
	host_empty_trash(&b->host);
	return status;
}

void cleaner_init(struct cleaner *c)
{
	c->waiting = BUF(CLEANER_WAITING_MAX * sizeof(struct cleanup_item));
}

static unsigned count_waiting(const struct cleaner *c)
{
	return (unsigned)(c->waiting.size / sizeof(struct cleanup_item));
}

static struct cleanup_item *waiting_of(struct cleaner *c)
{
	return (void *)c->waiting.data;
}

static void close_item(struct cleanup_item *item)
{
	fd_forget(&item->net_fd);
	fd_forget(&item->mounts_fd);
}

/* A slot whose rules may still be in the kernel would give them to its next sandbox. It stays in
 * use until the next broker sweeps. */
static void release_slot(struct broker *b, uint32_t slot, bool is_clean)
{
	if (slot == SLOT_NONE || (!is_clean && network_egress_is_set(b->host.network, slot)))
		return;
	network_egress_note(b->host.network, slot, false);
	slots_release(&b->slots, slot);
}

static void on_cleaner_end(struct broker_child *child, int status)
{
	struct broker *b = CONTAINER_OF(child, struct broker, cleaner.child);
	struct cleaner *c = &b->cleaner;

	if (status < 0) {
		log_warning("a cleaner ended early");
		end_flows(b, c->at_work, c->at_work_count);
	}
	for (unsigned i = 0; i < c->keep_count; i++)
		if (c->at_work[i].slot != SLOT_NONE)
			prewarm_pool_keep(&b->prewarm_pool, c->at_work[i].slot);
	for (unsigned i = 0; i < c->at_work_count; i++)
		release_slot(b, c->at_work[i].slot, status == 0);
	c->at_work_count = 0;
	c->running = false;
	if (c->scheduled) {
		c->scheduled = false;
		cleaner_wake(b);
	}
}

static bool may_clean_later(const struct broker *b)
{
	int64_t now = clock_monotonic_ms();

	return now - b->pools.asked_ms < CLEAN_QUIET_MS &&
	       now - b->cleaner.since_ms < CLEAN_LATEST_MS &&
	       count_waiting(&b->cleaner) < CLEANER_BATCH / 2;
}

/* The child has copies of all descriptors. It is the last to close them, and waits for the kernel.
 */
static int start_cleaner(struct broker *b, struct error *err)
{
	struct cleaner *c = &b->cleaner;
	int status;

	c->begun++;
	c->begin[0] = c->begin[1] = -1;
	if (pipe2(c->begin, O_CLOEXEC) < 0)
		status = FAIL_ERRNO(err, "make a pipe");
	else
		status = child_start(&b->events, &c->child, run_cleaner, b, err);
	for (unsigned i = 0; i < c->at_work_count; i++)
		close_item(&c->at_work[i]);
	fd_forget(&c->begin[0]);
	fd_forget(&c->begin[1]);
	return status;
}

static unsigned count_to_keep(const struct broker *b)
{
	unsigned kept = b->prewarm_pool.kept_count, count = b->cleaner.at_work_count;

	if (!b->host.cgroups->ops->keep || kept >= GROUPS_KEPT_MAX)
		return 0;
	return count < GROUPS_KEPT_MAX - kept ? count : GROUPS_KEPT_MAX - kept;
}

/* The other items wait for the next run. */
static void take_batch(struct cleaner *c)
{
	unsigned count = count_waiting(c);

	if (count > CLEANER_BATCH)
		count = CLEANER_BATCH;
	if (count > 0)
		memcpy(c->at_work, c->waiting.data, count * sizeof(struct cleanup_item));
	buf_consume(&c->waiting, count * sizeof(struct cleanup_item));
	c->at_work_count = count;
	c->scheduled = c->waiting.size > 0;
}

static void on_clean_time(struct timer *timer)
{
	struct broker *b = CONTAINER_OF(timer, struct broker, cleaner.soon);
	struct cleaner *c = &b->cleaner;
	struct error err = {0};

	if (may_clean_later(b)) {
		timer_start(&b->events, &c->soon, CLEAN_QUIET_MS);
		return;
	}
	take_batch(c);
	c->keep_count = count_to_keep(b);
	c->running = true;
	c->child.on_end = on_cleaner_end;
	c->child.host = &b->host;
	if (start_cleaner(b, &err) == 0)
		return;
	log_warning("cannot start a cleaner", FAILURE(&err));
	on_cleaner_end(&c->child, -1);
}

void cleaner_wake(struct broker *b)
{
	struct cleaner *c = &b->cleaner;

	if (c->scheduled)
		return;
	c->scheduled = true;
	if (c->running)
		return;
	c->since_ms = clock_monotonic_ms();
	c->soon.on_time = on_clean_time;
	timer_start(&b->events, &c->soon, CLEAN_QUIET_MS);
}

/* The queue holds one item for each slot, and as many without a slot. Further items without a slot
 * are closed here, however long that takes. */
void cleaner_add(struct broker *b, const struct cleanup_item *item)
{
	struct cleaner *c = &b->cleaner;
	struct cleanup_item now = *item;

	if (now.slot == SLOT_NONE && count_waiting(c) >= SLOTS_MAX)
		close_item(&now);
	else if (now.slot != SLOT_NONE || now.mounts_fd >= 0)
		buf_add(&c->waiting, &now, sizeof(now));
	cleaner_wake(b);
}

void cleaner_forget(struct broker *b)
{
	struct cleaner *c = &b->cleaner;

	for (unsigned i = 0; i < count_waiting(c); i++)
		close_item(&waiting_of(c)[i]);
}

void cleaner_finish(struct broker *b)
{
	struct cleaner *c = &b->cleaner;

	/* Cleaning twice does no harm. */
	if (c->running)
		child_cancel(&c->child);
	for (unsigned i = 0; i < c->at_work_count; i++) {
		if (i < c->keep_count && c->at_work[i].slot != SLOT_NONE)
			cleaner_remove_kept(&b->host, c->at_work[i].slot);
		cleaner_clean_slot(&b->host, c->at_work[i].slot);
	}
	for (unsigned i = 0; i < b->prewarm_pool.kept_count; i++)
		cleaner_remove_kept(&b->host, b->prewarm_pool.kept[i]);
	for (unsigned i = 0; i < count_waiting(c); i++) {
		close_item(&waiting_of(c)[i]);
		cleaner_clean_slot(&b->host, waiting_of(c)[i].slot);
	}
	buf_done(&c->waiting);
	host_empty_trash(&b->host);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Removes what has no living owner: after each sandbox in a child, and once at start for whatever a
 * dead broker left. Every name here derives from a slot, so that there is one place to look. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/state.h"
#include "broker/trash.h"

/* Who lets go of an overlay waits for all of the disk, and a network namespace for all processors,
 * for one as for many: so one child does the work of many, after the requests. */
#define CLEAN_QUIET_MS 20
#define CLEAN_LATEST_MS 200

/* "s17" -> 17, else SLOT_NONE. */
static uint32_t slot_of(const char *name, const char *prefix)
{
	struct error ignored = {0};
	size_t size = strlen(prefix);
	int64_t slot;

	if (strncmp(name, prefix, size) != 0 ||
	    span_parse_whole(span_of(name + size), 0, SLOTS_MAX - 1, &slot, &ignored) < 0)
		return SLOT_NONE;
	return (uint32_t)slot;
}

static void remove_group(struct host *host, const char *name)
{
	struct error err = {0};

	if (host->cgroups.ops->remove(&host->cgroups, name, &err) < 0)
		log_error("cannot remove a cgroup", FAILURE(&err));
}

static void remove_kept(struct host *host, uint32_t slot)
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
	if (!host->cgroups.ops->keep(&host->cgroups, name, kept))
		remove_group(host, kept);
	fault_point("broker", "group-kept");
}

static void clean_slot(struct host *host, uint32_t slot)
{
	struct error err = {0};
	char name[GROUP_NAME_SIZE];

	if (slot == SLOT_NONE)
		return;
	host_group_name(slot, name);
	remove_group(host, name);
	if (network_egress_is_set(&host->network, slot) &&
	    network_egress_clear(&host->network, &slot, 1, &err) < 0)
		log_error("cannot clean a slot", FAILURE(&err));
	if (host_remove_tree(host->folders[FOLDER_RUN_PREWARMS], name, &err) < 0 ||
	    host_remove_tree(host->folders[FOLDER_PREWARMS], name, &err) < 0)
		log_error("cannot remove a cell's folders", FAILURE(&err));
}

/* ---- after each sandbox ---- */

/* Those of all at once: each call of nft takes milliseconds. */
static int clear_rules(struct broker *b)
{
	const struct cleaner *c = &b->cleaner;
	uint32_t slots[CLEANER_BATCH];
	struct error err = {0};
	size_t count = 0;

	for (unsigned i = 0; i < c->at_work_count; i++)
		if (network_egress_is_set(&b->host.network, c->at_work[i].slot))
			slots[count++] = c->at_work[i].slot;
	if (network_egress_clear(&b->host.network, slots, count, &err) == 0)
		return 0;
	log_error("cannot clean slots", FAILURE(&err));
	return -1;
}

/* What they have begun would go on to whoever has their addresses next: those outside could send to
 * him, and open connections by ports that a dead one has chosen. Their last words are not waited
 * for: the links are stopped, so that none of them begins it again. */
static void end_flows(const struct broker *b, const struct cleanup_item *items, unsigned item_count)
{
	uint32_t slots[CLEANER_BATCH];
	struct error err = {0};
	size_t count = 0;

	for (unsigned i = 0; i < item_count && b->host.network.usable; i++) {
		const struct cleanup_item *one = &items[i];

		/* With its namespace, one that has no link never had one. */
		if (one->slot == SLOT_NONE || !network_was_used(one->slot, one->net_fd < 0))
			continue;
		network_link_stop(one->slot);
		slots[count++] = one->slot;
	}
	if (network_flows_end(&b->host.network, slots, count, &err) < 0)
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
	/* Else the broker, which does so right now, may be the last to let go, and waits. */
	fd_forget(&c->begin[1]);
	(void)!read(c->begin[0], &byte, 1);
	/* All at once: the kernel takes down in one go what it finds. */
	for (unsigned i = 0; i < c->at_work_count; i++)
		fd_forget(&c->at_work[i].net_fd);
	for (unsigned i = 0; i < c->at_work_count; i++) {
		fd_forget(&c->at_work[i].mounts_fd);
		if (i < c->keep_count && c->at_work[i].slot != SLOT_NONE)
			keep_group(&b->host, c->at_work[i].slot);
		clean_slot(&b->host, c->at_work[i].slot);
	}
	host_empty_trash(&b->host);
	trash_measure(&b->host);
	return status;
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

/* One whose rules are perhaps still there would give them to its next user: it stays in use until
 * there is another broker, which sweeps. */
static void release_slot(struct broker *b, uint32_t slot, bool is_clean)
{
	if (slot == SLOT_NONE || (!is_clean && network_egress_is_set(&b->host.network, slot)))
		return;
	network_egress_note(&b->host.network, slot, false);
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

/* The child has its own of all descriptors: it will be the last to let go, and pays. */
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

	if (!b->host.cgroups.ops->keep || kept >= GROUPS_KEPT_MAX)
		return 0;
	return count < GROUPS_KEPT_MAX - kept ? count : GROUPS_KEPT_MAX - kept;
}

/* The others wait for the next one. */
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

/* As many as there are slots, each of which waits once, and as many without one: what is more of
 * those is let go of here, whatever it takes. */
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
			remove_kept(&b->host, c->at_work[i].slot);
		clean_slot(&b->host, c->at_work[i].slot);
	}
	for (unsigned i = 0; i < b->prewarm_pool.kept_count; i++)
		remove_kept(&b->host, b->prewarm_pool.kept[i]);
	for (unsigned i = 0; i < count_waiting(c); i++) {
		close_item(&waiting_of(c)[i]);
		clean_slot(&b->host, waiting_of(c)[i].slot);
	}
	buf_done(&c->waiting);
	host_empty_trash(&b->host);
}

/* ---- at start ---- */

static void sweep_group(void *context, const char *name)
{
	struct broker *b = context;
	uint32_t slot = slot_of(name, "s"), kept = slot_of(name, "k");

	if (kept != SLOT_NONE && slots_is_ours(&b->slots, kept))
		remove_kept(&b->host, kept);
	if (slot != SLOT_NONE && slots_is_ours(&b->slots, slot) && !slots_is_used(&b->slots, slot))
		clean_slot(&b->host, slot);
}

/* A link goes with its namespace; one that is left has none. */
static void sweep_links(struct broker *b)
{
	DIR *folder = opendir("/sys/class/net");
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		uint32_t slot = slot_of(entry->d_name, "atoll");

		if (slot != SLOT_NONE && slots_is_ours(&b->slots, slot) &&
		    !slots_is_used(&b->slots, slot))
			network_link_remove(slot);
	}
	if (folder)
		(void)closedir(folder);
}

struct rule_sweep {
	struct broker *broker;
	struct buf slots; /* uint32_t: nobody's */
};

static void note_rules(void *context, uint32_t slot)
{
	struct rule_sweep *sweep = context;
	struct broker *b = sweep->broker;

	if (!slots_is_ours(&b->slots, slot))
		return;
	network_egress_note(&b->host.network, slot, true);
	if (!slots_is_used(&b->slots, slot))
		buf_add(&sweep->slots, &slot, sizeof(slot));
}

/* Those of living ones are left, and known from now on. */
static void sweep_rules(struct broker *b)
{
	struct rule_sweep sweep = {b, BUF(SLOTS_MAX * sizeof(uint32_t))};
	struct host_network *n = &b->host.network;
	struct error err = {0};

	if (n->usable && (network_egress_each(note_rules, &sweep, &err) < 0 ||
	                  network_egress_clear(n, (const uint32_t *)(const void *)sweep.slots.data,
	                                       sweep.slots.size / sizeof(uint32_t), &err) < 0))
		log_error("cannot sweep the rules of networks", FAILURE(&err));
	buf_done(&sweep.slots);
}

/* What the gateway was told of living ones is removed with their rules. */
static void sweep_names(struct broker *b)
{
	struct host_network *n = &b->host.network;
	int fd = openat(n->names_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	uint32_t slot;

	while (folder && (entry = readdir(folder))) {
		if (network_names_slot(n, entry->d_name, &slot) && slots_is_ours(&b->slots, slot) &&
		    slots_is_used(&b->slots, slot))
			network_egress_note(n, slot, true);
		else if (entry->d_name[0] != '.')
			(void)unlinkat(n->names_fd, entry->d_name, 0);
	}
	if (folder)
		(void)closedir(folder);
	else
		fd_forget(&fd);
}

/* Also what was led to the gateway by rules that have ended: who removed them may have died before
 * he came to it. Of rules that are in force we are told again. */
static bool is_left_over(const void *context, const struct flow *flow)
{
	const struct broker *b = context;
	uint32_t slot;

	if (!network_slot_of(&b->host.network, flow->from, &slot) ||
	    !slots_is_ours(&b->slots, slot))
		return false;
	return !slots_is_used(&b->slots, slot) ||
	       (!network_egress_is_set(&b->host.network, slot) && network_flow_is_led(flow));
}

/* What those before us had begun. */
static void sweep_flows(const struct broker *b)
{
	struct error err = {0};

	if (b->host.network.usable && network_flows_forget(0, is_left_over, b, &err) < 0)
		log_warning("what dead sandboxes have begun may come to others, going on",
		            FAILURE(&err));
}

/* No prewarmed sandbox outlives its broker, and these folders are this data folder's alone. */
static void sweep_prewarms(struct broker *b, enum host_folder which)
{
	int fd = openat(b->host.folders[which], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	struct error ignored = {0};
	struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			(void)!host_trash(&b->host, which, entry->d_name, &ignored);
	if (folder)
		(void)closedir(folder);
	else
		fd_forget(&fd);
}

void broker_sweep(struct broker *b)
{
	struct error err = {0};

	if (cgroup_each(&b->host.cgroups, sweep_group, b, &err) < 0)
		log_error("cannot sweep the cgroups", FAILURE(&err));
	sweep_links(b);
	sweep_rules(b);
	sweep_names(b);
	sweep_flows(b);
	b->is_swept = true;
	sweep_prewarms(b, FOLDER_RUN_PREWARMS);
	sweep_prewarms(b, FOLDER_PREWARMS);
	volume_sweep(&b->host);
	cleaner_wake(b);
}

/* ---- chunks of others ---- */

struct chunk_look {
	struct broker *broker;
	uint32_t first_slot;
	bool alive;
};

static void note_processes(void *context, const char *name)
{
	struct chunk_look *look = context;
	uint32_t slot = slot_of(name, "s");
	AUTO(buf_done) struct buf text = BUF(64 * 1024);
	struct error ignored = {0};
	char path[64];

	if (slot == SLOT_NONE || slot / SLOT_CHUNK != look->first_slot / SLOT_CHUNK)
		return;
	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", name);
	for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
		int root = look->broker->host.cgroups.roots[i];

		if (root >= 0 && file_read(root, path, &text, &ignored) == 0 && text.size > 0)
			look->alive = true;
	}
}

bool chunk_is_alive(void *context, uint32_t first_slot)
{
	struct chunk_look look = {.broker = context, .first_slot = first_slot};
	struct error err = {0};

	if (cgroup_each(&look.broker->host.cgroups, note_processes, &look, &err) < 0)
		return true;
	return look.alive;
}

void chunk_on_claim(void *context, uint32_t first_slot)
{
	struct broker *b = context;

	network_claim(&b->host.network, first_slot, SLOT_CHUNK);
	/* Before that, who lives in it is not known. */
	if (b->is_swept) {
		sweep_rules(b);
		sweep_flows(b);
	}
	if (!b->host.network.usable)
		log_warning("sandboxes can have no internet", FAILURE(&b->host.network.problem));
	else if (!b->host.network.has_uplink)
		log_warning("sandboxes reach no internet: this host has no default route; they do "
		            "as soon as it has");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Removes what has no living owner, at start. */
#include "broker/server/sweep.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "broker/network/egress.h"
#include "broker/network/firewall.h"
#include "broker/network/flows.h"
#include "broker/network/link.h"
#include "broker/network/names.h"
#include "broker/server/state.h"
#include "broker/volume/volume.h"

/* "s17" -> 17; other names: SLOT_NONE. */
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

static void sweep_group(void *context, const char *name)
{
	struct broker *b = context;
	uint32_t slot = slot_of(name, "s"), kept = slot_of(name, "k");

	if (kept != SLOT_NONE && slots_is_ours(&b->slots, kept))
		cleaner_remove_kept(&b->host, kept);
	if (slot != SLOT_NONE && slots_is_ours(&b->slots, slot) && !slots_is_used(&b->slots, slot))
		cleaner_clean_slot(&b->host, slot);
}

/* A link ends with its namespace; a remaining link has no namespace. */
static void sweep_links(struct broker *b)
{
	AUTO(folder_list_done) DIR *folder = opendir("/sys/class/net");
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		uint32_t slot = slot_of(entry->d_name, "atoll");

		if (slot != SLOT_NONE && slots_is_ours(&b->slots, slot) &&
		    !slots_is_used(&b->slots, slot))
			network_link_remove(slot);
	}
}

struct rule_sweep {
	struct broker *broker;
	struct buf slots; /* of uint32_t: slots that are not in use */
};

static void note_rules(void *context, uint32_t slot)
{
	struct rule_sweep *sweep = context;
	struct broker *b = sweep->broker;

	if (!slots_is_ours(&b->slots, slot))
		return;
	network_egress_note(b->host.network, slot, true);
	if (!slots_is_used(&b->slots, slot))
		buf_add(&sweep->slots, &slot, sizeof(slot));
}

/* Removes rules of slots that are not in use, and notes the others. */
static void sweep_rules(struct broker *b)
{
	struct rule_sweep sweep = {b, BUF(SLOTS_MAX * sizeof(uint32_t))};
	struct host_network *n = b->host.network;
	struct error err = {0};

	if (n->usable && (network_egress_each(note_rules, &sweep, &err) < 0 ||
	                  network_egress_clear(n, (const uint32_t *)(const void *)sweep.slots.data,
	                                       sweep.slots.size / sizeof(uint32_t), &err) < 0))
		log_error("cannot sweep the rules of networks", FAILURE(&err));
	buf_done(&sweep.slots);
}

/* Files of slots in use stay until their rules are removed. */
static void sweep_names(struct broker *b)
{
	struct host_network *n = b->host.network;
	AUTO(folder_list_done) DIR *folder = folder_list(n->names_fd);
	struct dirent *entry;
	uint32_t slot;

	while (folder && (entry = readdir(folder))) {
		if (network_names_slot(n, entry->d_name, &slot) && slots_is_ours(&b->slots, slot) &&
		    slots_is_used(&b->slots, slot))
			network_egress_note(n, slot, true);
		else if (entry->d_name[0] != '.')
			(void)unlinkat(n->names_fd, entry->d_name, 0);
	}
}

/* Also redirected flows whose rules have ended: the broker that removed the rules may have died
 * before it came to the flows. atolld sends rules that are in force again. */
static bool is_left_over(const void *context, const struct flow *flow)
{
	const struct broker *b = context;
	uint32_t slot;

	if (!network_slot_of(b->host.network, flow->from, &slot) || !slots_is_ours(&b->slots, slot))
		return false;
	return !slots_is_used(&b->slots, slot) ||
	       (!network_egress_is_set(b->host.network, slot) && network_flow_is_led(flow));
}

/* Also those of sandboxes that have lost IPv6: all that they send is refused. */
static bool is_left_over6(const void *context, const struct flow *flow)
{
	const struct broker *b = context;
	uint32_t slot;

	return network_slot_of6(b->host.network, &flow->from6, &slot) &&
	       slots_is_ours(&b->slots, slot) &&
	       (!slots_is_used(&b->slots, slot) || !b->host.network->ipv6);
}

/* Deletes flows of sandboxes of earlier brokers. */
static void sweep_flows(const struct broker *b)
{
	const struct host_network *n = b->host.network;
	struct error err = {0};

	if (!n->usable)
		return;
	if (network_flows_forget(0, is_left_over, b, &err) < 0 ||
	    (n->has_ipv6 && network_flows_forget6(NULL, is_left_over6, b, &err) < 0))
		log_warning("what dead sandboxes have begun may come to others, going on",
		            FAILURE(&err));
}

/* No prewarmed sandbox outlives its broker, and these folders belong to this data folder alone. */
static void sweep_prewarms(struct broker *b, enum host_folder which)
{
	AUTO(folder_list_done) DIR *folder = folder_list(b->host.folders[which]);
	struct error ignored = {0};
	struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			(void)!host_trash(&b->host, which, entry->d_name, &ignored);
}

void broker_sweep(struct broker *b)
{
	struct error err = {0};

	if (cgroup_each(b->host.cgroups, sweep_group, b, &err) < 0)
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
		int root = look->broker->host.cgroups->roots[i];

		if (root >= 0 && file_read(root, path, &text, &ignored) == 0 && text.size > 0)
			look->alive = true;
	}
}

bool chunk_is_alive(void *context, uint32_t first_slot)
{
	struct chunk_look look = {.broker = context, .first_slot = first_slot};
	struct error err = {0};

	if (cgroup_each(look.broker->host.cgroups, note_processes, &look, &err) < 0)
		return true;
	return look.alive;
}

void chunk_on_claim(void *context, uint32_t first_slot)
{
	struct broker *b = context;

	network_claim(b->host.network, first_slot, SLOT_CHUNK);
	/* Before the sweep it is not known which slots are in use. */
	if (b->is_swept) {
		sweep_rules(b);
		sweep_flows(b);
	}
	if (!b->host.network->usable)
		log_warning("sandboxes can have no internet", FAILURE(&b->host.network->problem));
	else if (!b->host.network->has_uplink)
		log_warning("sandboxes reach no internet: this host has no default route; they do "
		            "as soon as it has");
}

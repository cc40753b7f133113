/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/peers.h"

#include <inttypes.h>
#include <string.h>

#include "config/config.h"
#include "fleet/core/elsewhere.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/takeover.h"
#include "store/peers.h"

#define BEAT_MS 5000
/* Includes the difference between the servers' clocks. */
#define SILENT_MS 30000

const char *fleet_node(const struct fleet *fleet)
{
	return fleet->node;
}

void peer_hand_over(struct fleet *f)
{
	if (takeover_takes_all(f))
		atomic_store(&f->is_leaving, true);
}

/* Says once that it has ended, and no more that it lives. Rows that are in memory become other
 * servers': each call reads them again, and is passed on. */
static void leave_early(struct fleet *f)
{
	if (f->peer_beat_at)
		peer_leave(f);
	f->peer_beat_at = 0;
	takeover_forget_rows(f);
}

void peer_tick(struct fleet *f)
{
	struct peer_record r = {.node = f->node, .url = f->config->peer_url};
	int64_t now = clock_monotonic_ms();
	struct error err = {0};
	int result;

	if (atomic_load(&f->is_leaving)) {
		leave_early(f);
		return;
	}
	takeover_tick(f);
	/* A server without an address says so once. */
	if (f->peer_beat_at && (!r.url[0] || now - f->peer_beat_at < BEAT_MS))
		return;
	r.seen_at = clock_unix_ms();
	result = r.url[0] ? store_peer_put(f->store, &r, &err)
	                  : store_peer_remove(f->store, r.node, &err);
	if (result == 0)
		f->peer_beat_at = now;
	else
		log_warning("other servers are not told of this one", FAILURE(&err));
}

void peer_leave(struct fleet *f)
{
	const struct peer_record r = {.node = f->node, .url = f->config->peer_url};
	struct error err = {0};

	if (r.url[0] && store_peer_put(f->store, &r, &err) < 0)
		log_warning("other servers are not told of the end", FAILURE(&err));
}

int elsewhere_fail(const struct fleet *f, const struct elsewhere *e, struct error *err)
{
	(void)FAIL(err, ERROR_CONFLICT, "%s '%s' %s on node '%s', this is node '%s'", e->what,
	           e->name, e->how, e->node, f->node);
	error_hint(err, "ask the server of that node: its DATA/node.id says so");
	error_elsewhere(err, e->node);
	return -1;
}

int fleet_peer_find(struct fleet *fleet, struct arena *a, const char *node, const char **ret_url,
                    struct error *err)
{
	int64_t now = clock_unix_ms();
	struct peer_record r;

	if (store_peer_find(fleet->store, a, node, &r, err) < 0)
		return -1;
	if (r.seen_at == 0)
		return FAIL(err, ERROR_UNAVAILABLE, "node '%s' has been stopped", node);
	if (now - r.seen_at > SILENT_MS)
		return FAIL(err, ERROR_UNAVAILABLE,
		            "node '%s' has not been heard of for %" PRId64 " s", node,
		            (now - r.seen_at) / 1000);
	*ret_url = r.url;
	return 0;
}

bool peer_is_heard(const struct peer_record *r)
{
	return r->seen_at > 0 && clock_unix_ms() - r->seen_at <= SILENT_MS;
}

int peer_is_reached(struct fleet *f, struct arena *a, const char *node, bool *ret,
                    struct error *err)
{
	struct peer_record r;

	*ret = false;
	if (!node[0])
		return 0;
	if (store_peer_find(f->store, a, node, &r, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
		return 0;
	}
	*ret = peer_is_heard(&r);
	return 0;
}

static enum fleet_node_state node_state(const struct peer_record *r, int64_t now)
{
	if (r->seen_at == 0)
		return FLEET_NODE_STOPPED;
	return now - r->seen_at > SILENT_MS ? FLEET_NODE_SILENT : FLEET_NODE_UP;
}

int fleet_nodes(struct fleet *fleet, struct arena *a, struct fleet_node_list *ret,
                struct error *err)
{
	int64_t now = clock_unix_ms();
	struct peer_list peers;
	size_t count = 1;

	if (store_peer_list(fleet->store, a, &peers, err) < 0)
		return -1;
	ret->items = ARENA_ARRAY(a, struct fleet_node_info, peers.count + 1);
	ret->items[0] = (struct fleet_node_info){
	        .node = fleet->node,
	        .url = fleet->config->peer_url,
	        .seen_at = now,
	        .is_self = true,
	};
	for (size_t i = 0; i < peers.count; i++) {
		const struct peer_record *r = &peers.items[i];

		if (strcmp(r->node, fleet->node) != 0)
			ret->items[count++] = (struct fleet_node_info){
			        .node = r->node,
			        .url = r->url,
			        .state = node_state(r, now),
			        .seen_at = r->seen_at,
			};
	}
	ret->count = count;
	return 0;
}

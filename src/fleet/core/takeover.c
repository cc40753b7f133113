/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/takeover.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "config/config.h"
#include "fleet/core/cache.h"
#include "fleet/core/elsewhere.h"
#include "fleet/core/fleet_state.h"
#include "json/json.h"
#include "json/write.h"
#include "provider/set.h"
#include "store/peers.h"
#include "store/sandbox_record.h"

#define LOOK_EVERY_MS 2000
#define PURGE_EVERY_MS 60000
#define PURGE_AFTER_MS (24 * 3600 * INT64_C(1000))

#define UNFINISHED_MS 15000
/* Servers that are gone at once; the rows of others wait for their turn. */
#define WATCHED_MAX 16

/* Of the thread of fleet_lease_tick. */
struct takeover {
	struct gone_server {
		char node[ID_SIZE + 1];
		int64_t since_ms; /* monotonic */
	} gone[WATCHED_MAX];
	unsigned gone_count;
	int64_t looked_ms, purged_ms;
	bool has_beaten;
};

struct takeover *takeover_new(void)
{
	return memory_new(sizeof(struct takeover));
}

void takeover_free(struct takeover *t)
{
	free(t);
}

static bool is_shared(const struct provider_member *m)
{
	return !provider_member_has_left(m) && provider_member_ops(m)->is_shared;
}

bool fleet_has_shared_provider(const struct fleet *fleet)
{
	for (unsigned i = 0; i < provider_set_count(fleet->providers); i++)
		if (is_shared(provider_set_at(fleet->providers, i)))
			return true;
	return false;
}

bool takeover_takes_all(const struct fleet *f)
{
	for (unsigned i = 0; i < provider_set_count(f->providers); i++) {
		const struct provider_member *m = provider_set_at(f->providers, i);

		if (!provider_member_has_left(m) && !is_shared(m))
			return false;
	}
	return true;
}

/* As a filter of rows takes it: {"NAME":"",…}. */
static const char *list_shared_providers(const struct fleet *f, struct arena *a)
{
	struct json_map names = {.pairs = ARENA_ARRAY(a, struct json_pair, PROVIDER_MEMBERS_MAX),
	                         .present = true};

	for (unsigned i = 0; i < provider_set_count(f->providers); i++) {
		const struct provider_member *m = provider_set_at(f->providers, i);

		if (is_shared(m))
			names.pairs[names.count++] = (struct json_pair){m->name, ""};
	}
	return json_format_map(a, &names);
}

static int take_rows(struct fleet *f, struct arena *a, const char *node, bool with_unfinished,
                     struct error *err)
{
	const struct sandbox_takeover takeover = {
	        .node = f->node,
	        .from = node,
	        .providers = list_shared_providers(f, a),
	        .with_unfinished = with_unfinished,
	};
	int count = store_sandbox_take_over(f->store, &takeover, err);

	if (count > 0)
		log_info("sandboxes of a server that is gone were taken over", TEXT("from", node),
		         NUMBER("sandboxes", count));
	return count;
}

int fleet_take_over(struct fleet *fleet, struct arena *a, const char *node, struct error *err)
{
	struct peer_record r;
	int64_t now = clock_unix_ms();

	if (!fleet_has_shared_provider(fleet) || strcmp(node, fleet->node) == 0)
		return 0;
	if (store_peer_find(fleet->store, a, node, &r, err) < 0)
		return -1;
	if (r.seen_at > 0) {
		int ended = store_peer_end(fleet->store, &r, err);

		if (ended < 0)
			return -1;
		if (ended > 0)
			log_warning("a server is not reached, and is taken for gone",
			            TEXT("node", node), TEXT("url", r.url),
			            NUMBER("seen_ms_ago", now - r.seen_at));
	}
	return take_rows(fleet, a, node, false, err);
}

static struct gone_server *find_gone(struct takeover *t, const char *node)
{
	for (unsigned i = 0; i < t->gone_count; i++)
		if (strcmp(t->gone[i].node, node) == 0)
			return &t->gone[i];
	return NULL;
}

static void note_server_back(struct takeover *t, const char *node)
{
	struct gone_server *gone = find_gone(t, node);

	if (gone)
		*gone = t->gone[--t->gone_count];
}

/* How long this server has known that it is gone; -1: there is no room to know it. */
static int64_t note_gone(struct takeover *t, const char *node, int64_t now)
{
	struct gone_server *gone = find_gone(t, node);

	if (gone)
		return now - gone->since_ms;
	if (t->gone_count == WATCHED_MAX || strlen(node) > ID_SIZE)
		return -1;
	gone = &t->gone[t->gone_count++];
	*gone = (struct gone_server){.since_ms = now};
	memcpy(gone->node, node, strlen(node) + 1);
	return 0;
}

/* Servers whose rows were dropped make room for others. */
static void forget_dropped(struct takeover *t, const struct peer_list *peers)
{
	for (unsigned i = 0; i < t->gone_count;) {
		bool is_listed = false;

		for (size_t j = 0; j < peers->count && !is_listed; j++)
			is_listed = strcmp(peers->items[j].node, t->gone[i].node) == 0;
		if (is_listed)
			i++;
		else
			t->gone[i] = t->gone[--t->gone_count];
	}
}

static int look_at_servers(struct fleet *f, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	int64_t now = clock_monotonic_ms();
	struct peer_list peers;

	if (store_peer_list(f->store, &arena, &peers, err) < 0)
		return -1;
	forget_dropped(f->takeover, &peers);
	for (size_t i = 0; i < peers.count; i++) {
		const struct peer_record *r = &peers.items[i];
		int64_t gone_ms;

		if (strcmp(r->node, f->node) == 0)
			continue;
		if (peer_is_heard(r)) {
			note_server_back(f->takeover, r->node);
			continue;
		}
		gone_ms = r->seen_at > 0 ? clock_unix_ms() - r->seen_at
		                         : note_gone(f->takeover, r->node, now);
		if (gone_ms >= 0 &&
		    take_rows(f, &arena, r->node, gone_ms >= UNFINISHED_MS, err) < 0)
			return -1;
	}
	return 0;
}

static bool is_of_shared_provider(void *context, const struct sandbox_record *r)
{
	const struct fleet *f = context;
	const struct provider_member *m = provider_set_find(f->providers, r->provider);

	return m && is_shared(m);
}

void takeover_forget_rows(struct fleet *f)
{
	cache_forget_rows(f->cache, is_of_shared_provider, f);
}

/* Another server could not reach this one: rows that are in memory may be that server's by now. */
static int look_at_own_row(struct fleet *f, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct peer_record r = {.seen_at = 0};

	if (!f->takeover->has_beaten) {
		f->takeover->has_beaten = f->peer_beat_at != 0;
		return 0;
	}
	if (store_peer_find(f->store, &arena, f->node, &r, err) < 0 && err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	if (peer_is_heard(&r))
		return 0;
	log_warning("other servers took this one for gone; rows are read again",
	            TEXT("node", f->node));
	takeover_forget_rows(f);
	f->peer_beat_at = 0;
	f->takeover->has_beaten = false;
	return 0;
}

void takeover_tick(struct fleet *f)
{
	struct takeover *t = f->takeover;
	int64_t now = clock_monotonic_ms();
	struct error err = {0};

	if (!f->config->peer_url[0] || !fleet_has_shared_provider(f))
		return;
	if (look_at_own_row(f, &err) < 0) {
		log_warning("whether other servers reach this one is not known", FAILURE(&err));
		return;
	}
	if (now - t->looked_ms >= LOOK_EVERY_MS) {
		t->looked_ms = now;
		if (look_at_servers(f, &err) < 0)
			log_warning("sandboxes of servers that are gone wait", FAILURE(&err));
	}
	if (now - t->purged_ms >= PURGE_EVERY_MS) {
		t->purged_ms = now;
		if (store_peer_purge(f->store, clock_unix_ms() - PURGE_AFTER_MS, &err) < 0)
			log_warning("rows of servers that are gone are kept", FAILURE(&err));
	}
}

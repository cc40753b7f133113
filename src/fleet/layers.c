/* SPDX-License-Identifier: Apache-2.0 */
/* Layers: results of steps, cached for later builds with the same step. A running build pins the
 * layers it uses. A layer that is not pinned, not cached and below no template is removed. */
#include <string.h>
#include <time.h>

#include "base/fault.h"
#include "base/log.h"
#include "fleet/build_parts.h"
#include "fleet/fleet_state.h"
#include "fleet/pairing_parts.h"
#include "fleet/rounds.h"
#include "fleet/snapshot.h"
#include "provider/snapshots.h"

#define COUNT_MAX 1000
#define SWEEP_COUNT 100
/* A new layer is in the cache soon. */
#define YOUNG_MS (10 * 60 * 1000)
#define CLAIM_LOOK_MS 1000

/* ---- pins ---- */

void layer_pin(struct fleet *f, const char *id)
{
	struct builds_in_flight *builds = f->builds;
	uintptr_t count;

	if (!*id)
		return;
	pthread_mutex_lock(&builds->mutex);
	count = (uintptr_t)map_find(&builds->pins, id);
	map_put(&builds->pins, id, (void *)(count + 1));
	pthread_mutex_unlock(&builds->mutex);
}

void layer_unpin(struct fleet *f, const char *id)
{
	struct builds_in_flight *builds = f->builds;
	uintptr_t count;

	if (!*id)
		return;
	pthread_mutex_lock(&builds->mutex);
	count = (uintptr_t)map_find(&builds->pins, id);
	if (count > 1)
		map_put(&builds->pins, id, (void *)(count - 1));
	else
		map_remove(&builds->pins, id);
	pthread_mutex_unlock(&builds->mutex);
}

static bool is_pinned(struct fleet *f, const char *id)
{
	bool pinned;

	pthread_mutex_lock(&f->builds->mutex);
	pinned = map_find(&f->builds->pins, id) != NULL;
	pthread_mutex_unlock(&f->builds->mutex);
	return pinned;
}

/* No pin can come between the check and the new state of the row. A later pin checks that state. */
static int release_unpinned(struct fleet *f, const char *id, bool *ret_is_free, struct error *err)
{
	struct builds_in_flight *builds = f->builds;
	int result = 0;

	*ret_is_free = false;
	pthread_mutex_lock(&builds->mutex);
	if (!map_find(&builds->pins, id))
		result = store_layer_release(f->store, id, ret_is_free, err);
	pthread_mutex_unlock(&builds->mutex);
	return result;
}

void layer_release(struct fleet *f, const char *id)
{
	struct error err = {0};
	bool is_free;

	if (!*id || !(f->ops->abilities & PROVIDER_CAN_SNAPSHOT))
		return;
	if (release_unpinned(f, id, &is_free, &err) < 0 ||
	    (is_free && snapshot_drop(f, id, &err) < 0))
		log_warning("a layer is left for the next sweep", TEXT("snapshot", id),
		            FAILURE(&err));
}

/* ---- one thread for one step ---- */

static const char *claim_of(const struct build *b, struct arena *a)
{
	return arena_format(a, "%s/%s", b->record.project_id, b->path.key);
}

int layer_claim(struct build *b, struct error *err)
{
	struct builds_in_flight *builds = b->fleet->builds;
	AUTO(arena_done) struct arena arena = {0};
	const char *claim = claim_of(b, &arena);
	bool is_ours = false, has_waited = false;

	pthread_mutex_lock(&builds->mutex);
	while (!build_is_cancelled(b) && clock_monotonic_ms() < b->deadline) {
		int64_t look = clock_monotonic_ms() + CLAIM_LOOK_MS;
		const struct timespec until = {.tv_sec = look / 1000,
		                               .tv_nsec = look % 1000 * 1000000};

		is_ours = !map_find(&builds->claims, claim);
		if (is_ours) {
			map_put(&builds->claims, claim, b);
			break;
		}
		has_waited = true;
		pthread_cond_timedwait(&builds->moved, &builds->mutex, &until);
	}
	pthread_mutex_unlock(&builds->mutex);
	if (has_waited)
		build_log_say(b, "another build was at the same step");
	if (is_ours)
		return 0;
	if (build_is_cancelled(b))
		return build_refuse_cancelled(b, err);
	return FAIL(err, ERROR_TIMEOUT, "another build did not finish the same step in time");
}

void layer_unclaim(struct build *b)
{
	struct builds_in_flight *builds = b->fleet->builds;
	AUTO(arena_done) struct arena arena = {0};

	pthread_mutex_lock(&builds->mutex);
	map_remove(&builds->claims, claim_of(b, &arena));
	pthread_cond_broadcast(&builds->moved);
	pthread_mutex_unlock(&builds->mutex);
}

/* ---- the cache ---- */

static struct cached_layer row_of(const struct build *b)
{
	int64_t now = clock_unix_ms();

	return (struct cached_layer){.project_id = b->record.project_id,
	                             .node = b->fleet->node,
	                             .key = b->path.key,
	                             .created_at = now,
	                             .used_at = now};
}

/* The row is pinned: whether the layer still exists. */
static int load_layer(struct build *b, const struct cached_layer *row, struct build_layer *ret,
                      struct error *err)
{
	struct snapshot_record r;

	if (store_snapshot_find(b->fleet->store, &b->arena, NULL, row->snapshot_id, &r, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
		return 0;
	}
	if (r.state != SNAPSHOT_READY)
		return 0;
	*ret = (struct build_layer){r.id, r.depth, row->size_bytes};
	return 1;
}

int layer_find(struct build *b, struct build_layer *ret, struct error *err)
{
	struct fleet *f = b->fleet;
	struct cached_layer row = row_of(b), found;
	int count = store_build_cache_find(f->store, &b->arena, &row, &found, err);

	if (count <= 0)
		return count;
	layer_pin(f, found.snapshot_id);
	count = load_layer(b, &found, ret, err);
	if (count > 0)
		return store_build_cache_touch(f->store, &row, err) < 0 ? -1 : 1;
	layer_unpin(f, found.snapshot_id);
	if (count == 0 && store_build_cache_remove(f->store, found.snapshot_id, err) < 0)
		return -1;
	return count;
}

int layer_keep(struct build *b, const struct build_layer *layer, struct error *err)
{
	struct fleet *f = b->fleet;
	struct cached_layer row = row_of(b), old;
	int count = store_build_cache_find(f->store, &b->arena, &row, &old, err);

	if (count < 0)
		return -1;
	row.snapshot_id = layer->id;
	row.size_bytes = layer->size_bytes;
	if (store_build_cache_put(f->store, &row, err) < 0)
		return -1;
	if (count > 0)
		layer_release(f, old.snapshot_id);
	fault_point("api", "build-cached");
	layers_trim(f);
	return 0;
}

static int forget_layer(struct fleet *f, const char *id, struct error *err)
{
	if (store_build_cache_remove(f->store, id, err) < 0)
		return -1;
	layer_release(f, id);
	return 0;
}

static int trim_cache(struct fleet *f, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct build_cache_filter filter = {.node = f->node, .limit = 100 * COUNT_MAX};
	struct cached_layers list;
	int64_t bytes = 0;
	size_t count;

	if (store_build_cache_list(f->store, &arena, &filter, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++)
		bytes += list.items[i].size_bytes;
	count = list.count;
	for (size_t i = 0; i < list.count; i++) {
		const struct cached_layer *layer = &list.items[i];

		if (bytes <= f->config->build_cache_bytes_max && count <= COUNT_MAX &&
		    f->config->build_cache_bytes_max > 0)
			break;
		if (is_pinned(f, layer->snapshot_id))
			continue;
		if (forget_layer(f, layer->snapshot_id, err) < 0)
			return -1;
		bytes -= layer->size_bytes;
		count--;
	}
	return 0;
}

void layers_trim(struct fleet *f)
{
	struct error err = {0};

	if (trim_cache(f, &err) < 0)
		log_warning("the cache of builds is larger than it is to be", FAILURE(&err));
}

/* ---- ends ---- */

int layers_forget(struct fleet *f, const char *template_id, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct build_cache_filter filter = {
	        .node = f->node, .template_id = template_id, .limit = 100 * COUNT_MAX};
	struct cached_layers list;

	if (store_build_cache_list(f->store, &arena, &filter, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++)
		if (forget_layer(f, list.items[i].snapshot_id, err) < 0)
			return -1;
	return 0;
}

int layers_end(struct fleet *f, const char *project_id, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct snapshot_filter filter = {
	        .project_id = project_id, .limit = SWEEP_COUNT, .with_layers = true};
	struct snapshot_list list;

	do {
		if (store_snapshot_list(f->store, &arena, &filter, &list, err) < 0)
			return -1;
		for (size_t i = 0; i < list.count; i++) {
			const struct snapshot_record *r = &list.items[i];

			if (r->kind != SNAPSHOT_LAYER)
				continue;
			if (strcmp(r->node, f->node) != 0)
				return FAIL(err, ERROR_CONFLICT,
				            "a layer of its builds is on node '%s'", r->node);
			if (forget_layer(f, r->id, err) < 0)
				return -1;
		}
		filter.page = list.next_page;
	} while (filter.page);
	return 0;
}

void layers_sweep(struct fleet *f, bool at_boot)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct layer_filter filter = {
	        .node = f->node,
	        .before = clock_unix_ms() + (at_boot ? 1 : -YOUNG_MS),
	        .limit = SWEEP_COUNT,
	};
	struct error err = {0};
	struct layer_ids ids;

	/* With a store that does not match the folder, a missing row proves nothing. */
	if (!pairing_holds(f))
		return;
	if (store_layers_unused(f->store, &arena, &filter, &ids, &err) < 0) {
		log_warning("layers that nothing needs are not seen", FAILURE(&err));
		return;
	}
	for (size_t i = 0; i < ids.count; i++)
		layer_release(f, ids.items[i]);
}

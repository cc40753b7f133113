/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of build steps: a step with an equal key takes the layer of an earlier one. */

#include "base/fault.h"
#include "base/thread.h"
#include "fleet/build/build_parts.h"
#include "fleet/core/fleet_state.h"
#include "fleet/template/layers.h"
#include "store/snapshots.h"

#define CLAIM_LOOK_MS 1000

static const char *claim_of(const struct build *b, struct arena *a)
{
	return arena_format(a, "%s/%s", b->record.project_id, b->path.key);
}

int build_claim(struct build *b, const char *name, bool *ret_waited, struct error *err)
{
	struct builds_in_flight *builds = b->fleet->builds;
	bool is_ours = false;

	*ret_waited = false;
	pthread_mutex_lock(&builds->mutex);
	while (!build_is_cancelled(b) && clock_monotonic_ms() < b->deadline) {
		int64_t look = clock_monotonic_ms() + CLAIM_LOOK_MS;

		is_ours = !map_find(&builds->claims, name);
		if (is_ours) {
			map_put(&builds->claims, name, b);
			break;
		}
		*ret_waited = true;
		thread_wait(&builds->moved, &builds->mutex, look);
	}
	pthread_mutex_unlock(&builds->mutex);
	if (is_ours)
		return 0;
	if (build_is_cancelled(b))
		return build_refuse_cancelled(b, err);
	return FAIL(err, ERROR_TIMEOUT, "another build did not finish the same step in time");
}

void build_unclaim(struct build *b, const char *name)
{
	struct builds_in_flight *builds = b->fleet->builds;

	pthread_mutex_lock(&builds->mutex);
	map_remove(&builds->claims, name);
	pthread_cond_broadcast(&builds->moved);
	pthread_mutex_unlock(&builds->mutex);
}

int layer_claim(struct build *b, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	bool has_waited;
	int result = build_claim(b, claim_of(b, &arena), &has_waited, err);

	if (has_waited)
		build_log_say(b, "another build was at the same step");
	return result;
}

void layer_unclaim(struct build *b)
{
	AUTO(arena_done) struct arena arena = {0};

	build_unclaim(b, claim_of(b, &arena));
}

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

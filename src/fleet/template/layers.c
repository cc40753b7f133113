/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/template/layers.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/thread.h"
#include "config/config.h"
#include "fleet/core/fleet_state.h"
#include "fleet/recovery/pairing.h"
#include "fleet/snapshot/snapshot.h"
#include "provider/provider.h"
#include "provider/set.h"
#include "store/builds.h"
#include "store/snapshots.h"

#define COUNT_MAX 1000
#define SWEEP_COUNT 100
/* A new layer is in the cache soon. */
#define YOUNG_MS (10 * 60 * 1000)

struct layer_pins {
	pthread_mutex_t mutex;
	struct map by_layer; /* how many builds use it just now */
};

struct layer_pins *layer_pins_new(void)
{
	struct layer_pins *pins = memory_new(sizeof(*pins));

	pthread_mutex_init(&pins->mutex, NULL);
	return pins;
}

void layer_pins_free(struct layer_pins *pins)
{
	map_done(&pins->by_layer);
	pthread_mutex_destroy(&pins->mutex);
	free(pins);
}

void layer_pin(struct fleet *f, const char *id)
{
	struct layer_pins *pins = f->pins;
	uintptr_t count;

	if (!*id)
		return;
	pthread_mutex_lock(&pins->mutex);
	count = (uintptr_t)map_find(&pins->by_layer, id);
	map_put(&pins->by_layer, id, (void *)(count + 1));
	pthread_mutex_unlock(&pins->mutex);
}

void layer_unpin(struct fleet *f, const char *id)
{
	struct layer_pins *pins = f->pins;
	uintptr_t count;

	if (!*id)
		return;
	pthread_mutex_lock(&pins->mutex);
	count = (uintptr_t)map_find(&pins->by_layer, id);
	if (count > 1)
		map_put(&pins->by_layer, id, (void *)(count - 1));
	else
		map_remove(&pins->by_layer, id);
	pthread_mutex_unlock(&pins->mutex);
}

static bool is_pinned(struct fleet *f, const char *id)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&f->pins->mutex);

	return map_find(&f->pins->by_layer, id) != NULL;
}

/* No pin can come between the check and the new state of the row. A later pin checks that state. */
static int release_unpinned(struct fleet *f, const char *id, bool *ret_is_free, struct error *err)
{
	struct layer_pins *pins = f->pins;
	int result = 0;

	*ret_is_free = false;
	pthread_mutex_lock(&pins->mutex);
	if (!map_find(&pins->by_layer, id))
		result = store_layer_release(f->store, id, ret_is_free, err);
	pthread_mutex_unlock(&pins->mutex);
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
		log_warning("the build cache exceeds its limit", FAILURE(&err));
}

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
	struct layer_list unused;

	/* With a store that does not match the folder, a missing row proves nothing. */
	if (!pairing_holds(f))
		return;
	if (store_layers_unused(f->store, &arena, &filter, &unused, &err) < 0) {
		log_warning("layers that nothing needs are not seen", FAILURE(&err));
		return;
	}
	for (size_t i = 0; i < unused.count; i++)
		layer_release(f, unused.items[i].id);
}

void template_files_gone(struct fleet *f, const char *folder)
{
	provider_set_template_gone(f->providers, folder);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/volume_operation.h"

#include <string.h>

#include "fleet/core/cache.h"
#include "fleet/core/elsewhere.h"
#include "fleet/core/operation.h"

int volume_operation_begin_new(struct volume_operation *v, const char *id, int64_t deadline,
                               struct error *err)
{
	struct cache *cache = v->fleet->cache;
	struct cache_entry *entry = cache_pin(cache, id);

	if (!cache_operation_begin(cache, entry, deadline)) {
		cache_unpin(cache, entry);
		return FAIL(err, ERROR_TIMEOUT, "volume '%s': what goes on with it takes long", id);
	}
	v->entry = entry;
	return 0;
}

int volume_operation_begin(struct fleet *f, struct arena *a, const char *id, int64_t deadline,
                           struct volume_operation *ret, struct error *err)
{
	struct volume_operation v = {.fleet = f, .arena = a};

	if (volume_operation_begin_new(&v, id, deadline, err) < 0)
		return -1;
	if (store_volume_find(f->store, a, NULL, id, &v.record, err) < 0) {
		volume_operation_end(&v);
		return -1;
	}
	*ret = v;
	return 0;
}

void volume_operation_end(struct volume_operation *v)
{
	if (!v->entry)
		return;
	cache_operation_end(v->fleet->cache, v->entry);
	cache_unpin(v->fleet->cache, v->entry);
	v->entry = NULL;
}

int volume_check_local(const struct fleet *f, const struct volume_record *r, struct error *err)
{
	if (strcmp(r->node, f->node) != 0)
		return elsewhere_fail(f, &(struct elsewhere){"volume", r->name, "is", r->node},
		                      err);
	if (strcmp(r->provider, f->primary) == 0)
		return 0;
	return FAIL(err, ERROR_UNAVAILABLE, "volume '%s' was made by provider '%s', not '%s'",
	            r->name, r->provider, f->primary);
}

void volume_operations_end(struct volume_operations *volumes)
{
	while (volumes->count > 0)
		volume_operation_end(&volumes->items[--volumes->count]);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/sandboxes.h"

#include <string.h>

#include "fleet/core/elsewhere.h"
#include "fleet/core/fleet_state.h"
#include "provider/provider.h"
#include "store/sandboxes.h"

#define PAGE_SIZE 500

bool sandbox_is_local(const struct fleet *f, const struct sandbox_record *r)
{
	return strcmp(r->node, f->node) == 0 && strcmp(r->provider, f->ops->name) == 0;
}

int sandbox_check_local(const struct fleet *f, const struct sandbox_record *r, struct error *err)
{
	if (sandbox_is_local(f, r))
		return 0;
	if (strcmp(r->node, f->node) != 0)
		return elsewhere_fail(f, &(struct elsewhere){"sandbox", r->name, "is", r->node},
		                      err);
	return FAIL(err, ERROR_UNAVAILABLE, "sandbox '%s' was made by provider '%s', not '%s'",
	            r->name, r->provider, f->ops->name);
}

bool sandbox_is_alive(const struct sandbox_record *r)
{
	return r->actual == SANDBOX_STARTED || r->actual == SANDBOX_PAUSED;
}

int refuse_state(const struct sandbox_record *r, const char *what, struct error *err)
{
	error_set(err, ERROR_CONFLICT, 0, HERE, "sandbox '%s' is %s and cannot be %s", r->name,
	          sandbox_state_name(r->actual), what);
	if (r->actual == SANDBOX_FAILED)
		error_hint(err, "%s; delete it", r->last_event);
	return -1;
}

int fleet_each_sandbox(struct fleet *f, fleet_visit *visit, void *context, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct sandbox_filter filter = {
	        .state = -1, .limit = PAGE_SIZE, .node = f->node, .with_builds = true};
	struct sandbox_list list;

	do {
		if (store_sandbox_list(f->store, &arena, &filter, &list, err) < 0)
			return -1;
		for (size_t i = 0; i < list.count; i++)
			if (sandbox_is_local(f, &list.items[i]))
				visit(f, &list.items[i], context);
		filter.page = list.next_page;
	} while (filter.page);
	return 0;
}

int fleet_find(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
               struct sandbox_record *ret, struct error *err)
{
	return store_sandbox_find(fleet->store, a, ref->project_id, ref->id_or_name, ret, err);
}

int fleet_stats(struct fleet *fleet, const struct sandbox_record *r, struct provider_stats *ret,
                struct error *err)
{
	if (sandbox_check_local(fleet, r, err) < 0 ||
	    provider_require(fleet->provider, PROVIDER_CAN_STATS, err) < 0)
		return -1;
	return fleet->ops->stats(fleet->provider, r->id, ret, err);
}

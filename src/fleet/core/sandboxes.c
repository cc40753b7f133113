/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/sandboxes.h"

#include <string.h>

#include "fleet/core/elsewhere.h"
#include "fleet/core/fleet_state.h"
#include "provider/reports.h"
#include "provider/set.h"
#include "store/sandboxes.h"

#define PAGE_SIZE 500

struct provider *sandbox_provider(const struct fleet *f, const struct sandbox_record *r)
{
	const struct provider_member *m = provider_set_find(f->providers, r->provider);

	return m ? provider_member_provider(m) : NULL;
}

struct provider_set *fleet_providers(struct fleet *f)
{
	return f->providers;
}

const struct provider_ops *sandbox_provider_ops(const struct fleet *f,
                                                const struct sandbox_record *r)
{
	const struct provider_member *m = provider_set_find(f->providers, r->provider);

	return m ? provider_member_ops(m) : provider_find(r->provider);
}

static int refuse_provider(const struct fleet *f, const struct sandbox_record *r, struct error *err)
{
	if (provider_set_find(f->providers, r->provider))
		return FAIL(err, ERROR_UNAVAILABLE,
		            "sandbox '%s' is of provider '%s', which does not answer", r->name,
		            r->provider);
	(void)FAIL(err, ERROR_UNAVAILABLE,
	           "sandbox '%s' was made by provider '%s', which this server does not have",
	           r->name, r->provider);
	return FAIL_HINT(err, "add '%s' to the option 'providers'", r->provider);
}

bool sandbox_place(const struct fleet *f, const struct sandbox_record *r,
                   struct provider_place *ret)
{
	struct provider *p = sandbox_provider(f, r);
	const struct report_ops *reports = p ? provider_ops_of(p)->reports : NULL;

	return reports && reports->place && reports->place(p, r->id, ret);
}

int sandbox_provider_find(struct fleet *f, const char *id, struct provider **ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct sandbox_record r;

	*ret = f->provider;
	if (!provider_set_has_several(f->providers))
		return 0;
	if (store_sandbox_find(f->store, &arena, NULL, id, &r, err) < 0)
		return -1;
	*ret = sandbox_provider(f, &r);
	return *ret ? 0 : refuse_provider(f, &r, err);
}

int sandbox_require(const struct fleet *f, const struct sandbox_record *r, unsigned ability,
                    struct error *err)
{
	bool is_kept = ability == PROVIDER_CAN_SNAPSHOT || ability == PROVIDER_CAN_VOLUME;
	struct provider *p = sandbox_provider(f, r);

	if (!p)
		return refuse_provider(f, r, err);
	if (provider_require(p, ability, err) < 0)
		return -1;
	if (!is_kept || provider_shares_place(p, f->provider))
		return 0;
	(void)FAIL(err, ERROR_UNSUPPORTED,
	           "sandbox '%s' is of provider '%s', and this server keeps %s only for its first "
	           "provider, '%s'",
	           r->name, r->provider, ability == PROVIDER_CAN_SNAPSHOT ? "snapshots" : "volumes",
	           f->primary);
	return FAIL_HINT(err,
	                 "use a sandbox of provider '%s', or name '%s' first in the option "
	                 "'providers'",
	                 f->primary, r->provider);
}

bool sandbox_is_local(const struct fleet *f, const struct sandbox_record *r)
{
	return strcmp(r->node, f->node) == 0 && sandbox_provider(f, r);
}

int sandbox_check_local(const struct fleet *f, const struct sandbox_record *r, struct error *err)
{
	if (sandbox_is_local(f, r))
		return 0;
	if (strcmp(r->node, f->node) != 0)
		return elsewhere_fail(f, &(struct elsewhere){"sandbox", r->name, "is", r->node},
		                      err);
	return refuse_provider(f, r, err);
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
	struct provider *p;

	if (sandbox_check_local(fleet, r, err) < 0)
		return -1;
	p = sandbox_provider(fleet, r);
	if (provider_require(p, PROVIDER_CAN_STATS, err) < 0)
		return -1;
	return provider_ops_of(p)->stats(p, r->id, ret, err);
}

bool remains_are_anothers(struct fleet *f, struct provider *p, const char *owner)
{
	AUTO(arena_done) struct arena arena = {0};
	bool is_reached = true;
	struct error err = {0};

	if (!owner[0] || strcmp(owner, f->node) == 0)
		return false;
	return !provider_ops_of(p)->is_shared ||
	       peer_is_reached(f, &arena, owner, &is_reached, &err) < 0 || is_reached;
}

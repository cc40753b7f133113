/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "fleet/core/sandboxes.h"
#include "fleet/lease/lease_parts.h"
#include "fleet/lifecycle/resolved_create.h"
#include "provider/provider.h"
#include "store/leases.h"
#include "store/sandboxes.h"

static bool has_same_resources(const struct sandbox_resources *a, const struct sandbox_resources *b)
{
	return a->cpu == b->cpu && a->memory_mb == b->memory_mb && a->disk_mb == b->disk_mb &&
	       a->pids == b->pids;
}

static bool is_alike(const struct sandbox_record *is, const struct sandbox_record *wanted)
{
	return strcmp(is->template_id, wanted->template_id) == 0 &&
	       strcmp(is->env_json, wanted->env_json) == 0 &&
	       strcmp(is->labels_json, wanted->labels_json) == 0 &&
	       is->network == wanted->network && strcmp(is->egress, wanted->egress) == 0 &&
	       strcmp(is->rules_json, wanted->rules_json) == 0 &&
	       is->persistent == wanted->persistent &&
	       has_same_resources(&is->resources, &wanted->resources);
}

/* A sandbox from a snapshot or with volumes is made again: it is rare, and comparing all of its
 * files would be slow. */
static bool is_plain(const struct fleet_create *make)
{
	return !make->snapshot && make->mount_count == 0 && !make->persistent_home &&
	       !make->workspace;
}

static int find_wanted(struct fleet *f, struct arena *a, const struct lease_record *lease,
                       const struct fleet_create *make, struct sandbox_record *ret,
                       struct error *err)
{
	struct fleet_create request = *make;
	struct resolved_create resolved = {.request = &request};

	request.project_id = lease->project_id;
	request.own_labels = lease_labels(a, &make->own_labels, lease->key);
	if (create_find_template(f, a, lease->project_id, make, &resolved.template, err) < 0 ||
	    request_resolve(f, a, &resolved, err) < 0)
		return -1;
	*ret = resolved.record;
	return 0;
}

bool lease_can_reset(struct fleet *f, struct arena *a, const struct lease_record *lease,
                     const struct fleet_create *make)
{
	struct sandbox_record is, wanted;
	struct error err = {0};

	if (!(f->ops->abilities & PROVIDER_CAN_SNAPSHOT) || !is_plain(make))
		return false;
	if (store_sandbox_find(f->store, a, lease->project_id, lease->sandbox_id, &is, &err) < 0 ||
	    find_wanted(f, a, lease, make, &wanted, &err) < 0) {
		log_debug("a lease's sandbox is not looked at", TEXT("lease", lease->key),
		          FAILURE(&err));
		return false;
	}
	return sandbox_is_local(f, &is) &&
	       sandbox_require(f, &is, PROVIDER_CAN_SNAPSHOT, &err) == 0 && is_alike(&is, &wanted);
}

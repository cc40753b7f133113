/* SPDX-License-Identifier: Apache-2.0 */
/* The volumes of a create request. */
#include <string.h>

#include "base/clock.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/volume_operation.h"
#include "fleet/core/waiting.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/resolved_create.h"
#include "fleet/volume/mounts.h"
#include "fleet/volume/volume.h"
#include "provider/provider.h"

#define HOME_PREFIX "home-"

/* The volume in READY; waits for the call that makes it. */
static int find_made(struct fleet *f, struct arena *a, const struct fleet_ref *ref,
                     struct volume_record *ret, struct error *err)
{
	AUTO(volume_operation_end) struct volume_operation v = {0};
	struct volume_record r;

	if (mounts_find_volume(f, a, ref, ret, err) == 0)
		return 0;
	if (err->code != ERROR_CONFLICT)
		return -1;
	error_clear(err);
	if (store_volume_find(f->store, a, ref->project_id, ref->id_or_name, &r, err) < 0 ||
	    volume_operation_begin(f, a, r.id, deadline_after(CALL_TIMEOUT_MS), &v, err) < 0)
		return -1;
	return mounts_find_volume(f, a, ref, ret, err);
}

/* Of concurrent calls, one creates the volume. */
static int find_or_create(struct fleet *f, struct arena *a, const struct fleet_volume *wanted,
                          struct volume_record *ret, struct error *err)
{
	const struct fleet_ref ref = {wanted->project_id, wanted->name};

	if (find_made(f, a, &ref, ret, err) == 0)
		return 0;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	if (fleet_volume_create(f, a, wanted, ret, err) == 0)
		return 0;
	if (err->code != ERROR_CONFLICT)
		return -1;
	error_clear(err);
	return find_made(f, a, &ref, ret, err);
}

static int find_home(struct fleet *f, struct arena *a, const struct fleet_create *request,
                     struct volume_record *ret, struct error *err)
{
	const struct fleet_volume home = {
	        .project_id = request->project_id,
	        .name = arena_format(a, HOME_PREFIX "%s", request->persistent_home),
	        .size_mb = request->persistent_home_mb,
	};

	return find_or_create(f, a, &home, ret, err);
}

static int find_workspace(struct fleet *f, struct arena *a, const struct fleet_create *request,
                          struct volume_record *ret, struct error *err)
{
	const struct fleet_volume wanted = {
	        .project_id = request->project_id,
	        .name = arena_format(a, FLEET_WORKSPACE_PREFIX "%s", request->workspace),
	        .workspace = request->workspace,
	};

	if (find_or_create(f, a, &wanted, ret, err) < 0)
		return -1;
	if (strcmp(ret->workspace, request->workspace) == 0)
		return 0;
	(void)FAIL(err, ERROR_CONFLICT, "volume '%s' was not made for a workspace", ret->name);
	return FAIL_HINT(err, "use another name, or delete that volume");
}

static struct mount_record *add_mount(struct resolved_create *resolved,
                                      const struct volume_record *volume, const char *path)
{
	struct mount_record *mount = &resolved->mounts.items[resolved->mounts.count++];

	*mount = (struct mount_record){.sandbox_id = resolved->record.id,
	                               .volume_id = volume->id,
	                               .path = path ? path : FLEET_MOUNT_PATH,
	                               .created_at = clock_unix_ms()};
	return mount;
}

int mounts_resolve(struct fleet *f, struct arena *a, struct resolved_create *resolved,
                   struct error *err)
{
	const struct fleet_create *request = resolved->request;
	struct provider *p = provider_route_current(&resolved->route);
	const char *workspace = provider_ops_of(p)->keeps_workspaces ? NULL : request->workspace;
	struct volume_record volume;

	if (request->mount_count == 0 && !request->persistent_home && !workspace)
		return 0;
	if (request->mount_count > SANDBOX_MOUNTS_MAX)
		return FAIL(err, ERROR_LIMIT, "a sandbox has at most %d volumes",
		            SANDBOX_MOUNTS_MAX);
	if (provider_require(p, PROVIDER_CAN_VOLUME, err) < 0)
		return -1;
	resolved->mounts.items = ARENA_ARRAY(a, struct mount_record, request->mount_count + 2);
	for (size_t i = 0; i < request->mount_count; i++) {
		const struct fleet_mount *wanted = &request->mounts[i];
		const struct fleet_ref ref = {request->project_id, wanted->volume};
		struct mount_record *mount;

		if (mounts_find_volume(f, a, &ref, &volume, err) < 0)
			return -1;
		mount = add_mount(resolved, &volume, wanted->path);
		mount->is_read_only = wanted->is_read_only;
		mount->subpath = wanted->subpath;
	}
	if (mounts_check(a, &resolved->mounts, err) < 0)
		return -1;
	if (request->persistent_home) {
		if (find_home(f, a, request, &volume, err) < 0)
			return FAIL_CONTEXT(err, "persistent home");
		(void)add_mount(resolved, &volume,
		                request->persistent_home_path ? request->persistent_home_path
		                                              : FLEET_HOME_PATH);
	}
	if (workspace) {
		if (find_workspace(f, a, request, &volume, err) < 0)
			return FAIL_CONTEXT(err, "workspace '%s'", workspace);
		(void)add_mount(resolved, &volume, request_workspace_path(a, request));
	}
	mounts_sort(&resolved->mounts);
	return mounts_check(a, &resolved->mounts, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The volumes of a create request. */
#include "fleet/core/fleet_state.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/resolved_create.h"
#include "fleet/volume/mounts.h"
#include "fleet/volume/volume.h"
#include "provider/provider.h"

#define HOME_PREFIX "home-"

/* Concurrent calls with the same key: one of them creates the volume. */
static int find_home(struct fleet *f, struct arena *a, const struct fleet_create *request,
                     struct volume_record *ret, struct error *err)
{
	const char *name = arena_format(a, HOME_PREFIX "%s", request->persistent_home);
	const struct fleet_ref ref = {request->project_id, name};
	const struct fleet_volume home = {request->project_id, name, request->persistent_home_mb};

	if (mounts_find_volume(f, a, &ref, ret, err) == 0)
		return 0;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	if (fleet_volume_create(f, a, &home, ret, err) == 0)
		return 0;
	if (err->code != ERROR_CONFLICT)
		return -1;
	error_clear(err);
	return mounts_find_volume(f, a, &ref, ret, err);
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
	struct volume_record volume;

	if (request->mount_count == 0 && !request->persistent_home)
		return 0;
	if (request->mount_count > SANDBOX_MOUNTS_MAX)
		return FAIL(err, ERROR_LIMIT, "a sandbox has at most %d volumes",
		            SANDBOX_MOUNTS_MAX);
	if (provider_require(provider_route_current(&resolved->route), PROVIDER_CAN_VOLUME, err) <
	    0)
		return -1;
	resolved->mounts.items = ARENA_ARRAY(a, struct mount_record, request->mount_count + 1);
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
	mounts_sort(&resolved->mounts);
	return mounts_check(a, &resolved->mounts, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/native/create_body.h"

#include "calls/configs.h"
#include "edge/api.h"
#include "fleet/core/labels.h"
#include "fleet/volume/volume.h"
#include "surface/native/native.h"

static int choose_internet(const struct native_create_body *b, int *ret, struct error *err)
{
	bool by_flag = row_is_given(b->present, NATIVE_CREATE_INTERNET),
	     by_name = row_is_given(b->present, NATIVE_CREATE_NETWORK);

	if (by_flag && by_name && b->internet != (b->network == SANDBOX_NETWORK_INTERNET))
		return FAIL(err, ERROR_INVALID, "internet and network contradict each other");
	if (by_flag)
		*ret = b->internet;
	else
		*ret = by_name ? b->network == SANDBOX_NETWORK_INTERNET : -1;
	return 0;
}

static int fill_mounts(struct arena *a, const struct native_create_body *b,
                       struct fleet_create *ret, struct error *err)
{
	const struct native_mount_body *items = b->volumes.items;
	struct fleet_mount *mounts = ARENA_ARRAY(a, struct fleet_mount, b->volumes.count + 1);

	if (b->persistent_disk_gb && !b->persistent_home)
		return FAIL(err, ERROR_INVALID, "persistentDiskGb is given without persistentHome");
	for (size_t i = 0; i < b->volumes.count; i++)
		mounts[i] = (struct fleet_mount){items[i].volume, items[i].path, items[i].subpath,
		                                 items[i].read_only};
	ret->mounts = b->volumes.present || b->volume ? mounts : NULL;
	ret->mount_count = b->volumes.count;
	if (b->volume)
		mounts[ret->mount_count++] = (struct fleet_mount){.volume = b->volume};
	/* Otherwise the values of the config stay. */
	if (b->persistent_home)
		ret->persistent_home = b->persistent_home;
	if (b->persistent_disk_gb)
		ret->persistent_home_mb = b->persistent_disk_gb * 1024;
	return 0;
}

int native_create_parse(struct request *rq, const struct native_create_body *b,
                        const char *home_owner, struct fleet_create *ret, struct error *err)
{
	const struct api_config_use config = {b->config, b->workspace ? b->workspace : home_owner};

	*ret = (struct fleet_create){
	        .project_id = api_project(rq),
	        .key_id = api_key_id(rq),
	        .caller = api_fleet_caller(rq),
	        .user_id = api_user_id(rq),
	        .template = b->template,
	        .image = b->image,
	        .pull = (enum fleet_pull)b->pull,
	        .snapshot = b->snapshot,
	        .provider = b->provider,
	        .isolation = b->isolation,
	        .region = b->region,
	        .labels = b->labels,
	        .env = b->env,
	        .resources = {b->resources.cpu, b->resources.memory_mb, b->resources.disk_mb,
	                      b->resources.pids},
	        .preview_off =
	                row_is_given(b->present, NATIVE_CREATE_PREVIEW) && !b->preview_enabled,
	        .preview_public = b->preview_public,
	        .persistent = b->persistent,
	        .workspace = b->workspace,
	        .workspace_root = b->workspace_root,
	        .timeout_ms = b->timeout_ms,
	        .timeouts = b->timeouts,
	        .awaited = api_awaited_if_parking(rq),
	};
	if (b->workspace_root && !b->workspace)
		return FAIL(err, ERROR_INVALID, "workspaceRoot is given without workspace");
	if (api_check_budgets(rq, err) < 0 || choose_internet(b, &ret->internet, err) < 0 ||
	    (b->config && api_config_apply(rq, &config, ret, err) < 0) ||
	    fill_mounts(rq->arena, b, ret, err) < 0)
		return -1;
	if (b->gpus > 0)
		ret->own_labels = labels_add(rq->arena, &ret->own_labels, SANDBOX_GPUS_LABEL,
		                             arena_format(rq->arena, "%d", (int)b->gpus));
	return native_egress_prepare(rq, &b->egress, ret, err);
}

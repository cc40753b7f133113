/* SPDX-License-Identifier: Apache-2.0 */
/* What a copy of a sandbox asks for: forks, and snapshots whose sandbox is deleted. */
#include "fleet/core/labels.h"
#include "fleet/lifecycle/resolved_create.h"
#include "sandbox/timeouts.h"
#include "store/secrets.h"

int request_like_sandbox(struct arena *a, const struct sandbox_record *r, struct fleet_create *ret,
                         struct error *err)
{
	struct json_map all, own;

	*ret = (struct fleet_create){
	        .project_id = r->project_id,
	        .template = r->template_id,
	        .region = r->region,
	        .resources = r->resources,
	        .internet = r->network == SANDBOX_NETWORK_INTERNET,
	        .persistent = r->persistent,
	        .preview_off = r->preview_off,
	        .preview_public = r->preview_public,
	        .traits = (unsigned)r->traits,
	        .network_json = r->network_json,
	        .egress = r->egress,
	        .timeouts = sandbox_timeouts_request(&r->timeouts),
	        .wait = true,
	};
	/* A copy without the environment would not be the same. */
	if (store_secret_check(r->env_json, err) < 0)
		return FAIL_CONTEXT(err, "environment of sandbox '%s'", r->name);
	if (text_map_of_json(a, r->labels_json, &all, err) < 0)
		return -1;
	labels_split(a, &all, &ret->labels, &own);
	ret->own_labels = labels_of_copy(a, &own);
	return text_map_of_json(a, r->env_json, &ret->env, err);
}

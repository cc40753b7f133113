/* SPDX-License-Identifier: Apache-2.0 */
/* What a copy of a sandbox asks for: forks, and snapshots whose sandbox is deleted. */
#include "fleet/core/labels.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/resolved_create.h"
#include "provider/provider.h"
#include "sandbox/isolation.h"
#include "sandbox/timeouts.h"
#include "store/secrets.h"

/* A copy is never isolated less than its source. */
static void ask_for_provider(const struct fleet *f, const struct sandbox_record *r,
                             struct fleet_create *ret)
{
	const struct provider_ops *ops = sandbox_provider_ops(f, r);

	if (ops && isolation_is_known(ops->isolation))
		ret->isolation = ops->isolation;
	if (sandbox_provider(f, r))
		ret->provider = r->provider;
}

int request_like_sandbox(const struct fleet *f, struct arena *a, const struct sandbox_record *r,
                         struct fleet_create *ret, struct error *err)
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
	        .rules_json = r->rules_json,
	        .timeouts = sandbox_timeouts_request(&r->timeouts),
	        .wait = true,
	};
	ask_for_provider(f, r, ret);
	/* A copy without the environment would not be the same. */
	if (store_secret_check(r->env_json, err) < 0)
		return FAIL_CONTEXT(err, "environment of sandbox '%s'", r->name);
	if (text_map_of_json(a, r->labels_json, &all, err) < 0)
		return -1;
	labels_split(a, &all, &ret->labels, &own);
	ret->own_labels = labels_of_copy(a, &own);
	return text_map_of_json(a, r->env_json, &ret->env, err);
}

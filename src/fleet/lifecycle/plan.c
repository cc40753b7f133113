/* SPDX-License-Identifier: Apache-2.0 */
/* A create that is planned and not made: each value, where it comes from, and which cap lowered it.
 * The values themselves are those of request_resolve. */
#include "config/config.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/project_cache.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/resolved_create.h"
#include "fleet/usage/meters_state.h"
#include "provider/provider.h"
#include "sandbox/timeouts.h"
#include "store/projects.h"

_Static_assert(SANDBOX_RESOURCE_COUNT + SANDBOX_TIMEOUT_COUNT <= FLEET_PLAN_VALUES_MAX,
               "each value has a place in the plan");

static struct fleet_plan_value plan_resource(const struct sandbox_resources *const *layers,
                                             const struct sandbox_resources *const *caps,
                                             unsigned resource)
{
	struct fleet_plan_value v = {.name = sandbox_resource_name(resource),
	                             .source = FLEET_PLAN_PLATFORM,
	                             .lowered_by = -1};
	const struct sandbox_resources built_in = SANDBOX_BUILT_IN_RESOURCES;

	for (int source = FLEET_PLAN_PLATFORM; source >= 0; source--)
		if (sandbox_resource_get(layers[source], resource) > 0) {
			v.source = (enum fleet_plan_source)source;
			v.wanted = sandbox_resource_get(layers[source], resource);
		}
	if (v.wanted <= 0)
		v.wanted = sandbox_resource_get(&built_in, resource);
	v.value = v.wanted;
	for (int source = FLEET_PLAN_PROJECT; source <= FLEET_PLAN_PLATFORM; source++) {
		double cap = sandbox_resource_get(caps[source], resource);

		if (cap > 0 && v.value > cap) {
			v.value = cap;
			v.lowered_by = source;
		}
	}
	return v;
}

static struct fleet_plan_value plan_timeout(const struct sandbox_timeouts *const *layers,
                                            const struct sandbox_timeouts *effective,
                                            enum sandbox_timeout timeout)
{
	bool is_inherited = timeout < SANDBOX_TIMEOUTS_INHERITED;
	int source = FLEET_PLAN_REQUEST;

	while (is_inherited && source < FLEET_PLAN_PLATFORM &&
	       sandbox_timeout_get(layers[source], timeout) == 0)
		source++;
	return (struct fleet_plan_value){
	        .name = sandbox_timeout_name(timeout),
	        .value = (double)sandbox_timeout_get(effective, timeout),
	        .wanted = (double)sandbox_timeout_get(effective, timeout),
	        .source = (enum fleet_plan_source)source,
	        .lowered_by = -1,
	};
}

static void plan_values(const struct fleet *f, const struct resolved_create *resolved,
                        const struct project_record *project, struct fleet_plan *plan)
{
	const struct fleet_create *request = resolved->request;
	const struct template_record *t = &resolved->template;
	const struct sandbox_resources none = {0};
	const struct sandbox_resources *const layers[FLEET_PLAN_SOURCE_COUNT] = {
	        &request->resources, &t->resources, &project->defaults, &f->config->defaults};
	const struct sandbox_resources *const caps[FLEET_PLAN_SOURCE_COUNT] = {
	        &none, &none, &project->maximums, &f->config->caps};
	const struct sandbox_timeouts *const times[FLEET_PLAN_SOURCE_COUNT] = {
	        &request->timeouts, &t->timeouts, &project->timeouts, &f->config->timeouts};

	for (unsigned i = 0; i < SANDBOX_RESOURCE_COUNT; i++)
		plan->values[plan->count++] = plan_resource(layers, caps, i);
	for (unsigned i = 0; i < SANDBOX_TIMEOUT_COUNT; i++)
		plan->values[plan->count++] = plan_timeout(times, &resolved->record.timeouts, i);
}

int fleet_plan_create(struct fleet *fleet, struct arena *a, const struct fleet_create *request,
                      struct fleet_plan *ret, struct error *err)
{
	struct resolved_create resolved = {.request = request};
	const struct sandbox_record *r = &resolved.record;
	struct project_record project;
	struct fleet_plan plan = {.count = 0};

	if (request->image) {
		(void)FAIL(err, ERROR_UNSUPPORTED,
		           "a plan of image '%.200s': the image must be pulled", request->image);
		return FAIL_HINT(err, "plan with a template, or create the sandbox");
	}
	if (create_prepare(fleet, a, &resolved, err) < 0 ||
	    request_resolve(fleet, a, &resolved, err) < 0 ||
	    project_find(fleet, a, request->project_id, &project, err) < 0 ||
	    price_active(&fleet->meters->prices, &r->resources, USAGE_HOUR_MS, &plan.hour_nano,
	                 err) < 0)
		return -1;
	plan_values(fleet, &resolved, &project, &plan);
	plan.template = r->template_name;
	plan.provider = r->provider;
	plan.isolation = provider_member_ops(resolved.route.members[0])->isolation;
	plan.region = r->region;
	plan.network = r->network;
	plan.template_source =
	        request->template || request->snapshot ? FLEET_PLAN_REQUEST : FLEET_PLAN_PLATFORM;
	plan.network_source = request->internet < 0 ? FLEET_PLAN_PLATFORM : FLEET_PLAN_REQUEST;
	plan.region_source = request->region ? FLEET_PLAN_REQUEST : FLEET_PLAN_PLATFORM;
	plan.is_template_ready = resolved.template.state == TEMPLATE_READY;
	*ret = plan;
	return 0;
}

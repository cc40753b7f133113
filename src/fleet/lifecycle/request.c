/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/id.h"
#include "config/config.h"
#include "fleet/backup/backup.h"
#include "fleet/core/caller.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/labels.h"
#include "fleet/core/project_cache.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/resolved_create.h"
#include "fleet/lifecycle/source.h"
#include "fleet/volume/volume.h"
#include "json/write.h"
#include "provider/provider.h"
#include "sandbox/egress.h"
#include "sandbox/timeouts.h"
#include "store/projects.h"

#define REGION_MAX 64
/* Longer ones than ten years are mistakes, and shorter ones cannot overflow. */
#define DURATION_MAX_MS (INT64_C(10) * 366 * 24 * 3600 * 1000)

static int check_durations(const struct fleet_create *request, struct error *err)
{
	if (request->timeout_ms < 0 || request->timeout_ms > DURATION_MAX_MS)
		return FAIL(err, ERROR_INVALID,
		            "a duration must not be negative nor longer than ten years");
	return sandbox_timeouts_check(&request->timeouts, err);
}

static int check_source(const struct fleet_create *request, struct error *err)
{
	if (!request->image && request->pull != FLEET_PULL_MISSING)
		return FAIL(err, ERROR_INVALID, "pull is of an image: give image, too");
	if (!request->image)
		return 0;
	if (request->template)
		return FAIL(err, ERROR_INVALID, "give either template or image");
	if (request->snapshot)
		return FAIL(err, ERROR_INVALID, "give either snapshot or image");
	return 0;
}

const char *request_workspace_path(struct arena *a, const struct fleet_create *request)
{
	const char *root = request->workspace_root;

	if (!request->workspace)
		return NULL;
	return arena_format(a, "%s/%s", root ? root : FLEET_WORKSPACE_ROOT, request->workspace);
}

/* The name is part of a path and of a volume's name. */
static int check_workspace(const struct fleet_create *request, struct error *err)
{
	const size_t size_max = SANDBOX_NAME_MAX - strlen(FLEET_WORKSPACE_PREFIX);

	if (!request->workspace)
		return 0;
	if (strlen(request->workspace) > size_max)
		return FAIL(err, ERROR_INVALID, "workspace '%.60s': a name has at most %zu bytes",
		            request->workspace, size_max);
	if (sandbox_name_check(request->workspace, err) < 0)
		return FAIL_CONTEXT(err, "workspace");
	return 0;
}

/* The own labels of the request, and that of its workspace. */
static struct json_map own_labels_of(struct arena *a, const struct fleet_create *request)
{
	if (!request->workspace)
		return request->own_labels;
	return labels_add(a, &request->own_labels, SANDBOX_WORKSPACE_LABEL,
	                  request_workspace_path(a, request));
}

int request_check_caller(struct fleet *fleet, struct arena *a, const struct fleet_create *request,
                         struct error *err)
{
	return fleet_caller_check(fleet, a, request->caller, request->project_id, err);
}

int request_check(const struct fleet_create *request, struct error *err)
{
	if (check_source(request, err) < 0)
		return -1;
	if (request->name && sandbox_name_check(request->name, err) < 0)
		return -1;
	if (request->region && strlen(request->region) > REGION_MAX)
		return FAIL(err, ERROR_INVALID, "a region has at most %d bytes", REGION_MAX);
	if (check_workspace(request, err) < 0 ||
	    sandbox_resources_check(&request->resources, err) < 0 ||
	    environment_check(&request->env, err) < 0 || labels_check(&request->labels, err) < 0)
		return -1;
	return check_durations(request, err);
}

static int check_gpus(const struct provider *p, const struct fleet_create *request,
                      enum sandbox_network network, struct error *err)
{
	if (labels_gpus(&request->own_labels) == 0)
		return 0;
	if (provider_require(p, PROVIDER_CAN_GPU, err) < 0)
		return FAIL_HINT(err, "provider docker gives GPUs when the option gpu_enabled "
		                      "(SANDBOX_GPU_ENABLED) is true");
	if (network == SANDBOX_NETWORK_BLOCKED ||
	    provider_require(p, PROVIDER_CAN_GPU_NETWORK, err) == 0)
		return 0;
	return FAIL_HINT(err, "ask for no network (internet: false), or set the option "
	                      "gpu_network_enabled (SANDBOX_GPU_NETWORK_ENABLED)");
}

/* Without a wish a sandbox with GPUs has a network only if the server lets it have one. */
static bool decide_internet(const struct fleet *f, const struct fleet_create *request)
{
	if (request->internet >= 0)
		return request->internet > 0;
	return f->config->internet &&
	       (labels_gpus(&request->own_labels) == 0 || f->config->gpu_network_enabled);
}

/* The providers that may make the sandbox, and the checks of the first. */
static int decide_provider(struct fleet *f, struct arena *a, struct resolved_create *resolved,
                           const struct route_subject *subject, struct error *err)
{
	struct provider *p;

	if (provider_route_find(f, a, resolved, subject, &resolved->route, err) < 0)
		return -1;
	p = provider_route_current(&resolved->route);
	if (subject->network == SANDBOX_NETWORK_BLOCKED &&
	    provider_require(p, PROVIDER_CAN_BLOCK_NETWORK, err) < 0)
		return -1;
	if (check_gpus(p, resolved->request, subject->network, err) < 0)
		return -1;
	if (subject->network != SANDBOX_NETWORK_BLOCKED && *subject->project->source_address &&
	    (provider_require(p, PROVIDER_CAN_LEAVE_BY, err) < 0 ||
	     source_check(f, subject->project->source_address, err) < 0))
		return -1;
	return egress_check(p, subject->network, resolved->request->egress, err);
}

static int64_t given_or(int64_t given, int64_t otherwise)
{
	return given > 0 ? given : otherwise;
}

static struct sandbox_resources decide_resources(const struct fleet *f,
                                                 const struct fleet_create *request,
                                                 const struct template_record *t,
                                                 const struct project_record *project)
{
	const struct sandbox_resources layers[] = {
	        request->resources,         t->resources, project->defaults, f->config->defaults,
	        SANDBOX_BUILT_IN_RESOURCES,
	};
	const struct sandbox_resources within =
	        sandbox_resources_resolve(layers, COUNT_OF(layers), &project->maximums);

	return sandbox_resources_resolve(&within, 1, &f->config->caps);
}

int egress_check(const struct provider *p, enum sandbox_network network, const char *egress,
                 struct error *err)
{
	struct egress_ranges ignored;

	if (!egress || !*egress)
		return 0;
	if (sandbox_egress_denied(egress, &ignored, err) < 0)
		return -1;
	if (network != SANDBOX_NETWORK_BLOCKED)
		return provider_require(p, PROVIDER_CAN_FILTER, err);
	if (sandbox_egress_denies_all(egress))
		return 0;
	(void)FAIL(err, ERROR_INVALID,
	           "a sandbox without a network reaches nothing, whatever its rules allow");
	return FAIL_HINT(err, "make it with the internet, and deny \"" SANDBOX_EGRESS_ALL "\"");
}

int request_resolve(struct fleet *f, struct arena *a, struct resolved_create *resolved,
                    struct error *err)
{
	const struct fleet_create *request = resolved->request;
	const struct template_record *t = &resolved->template;
	int64_t now = clock_unix_ms();
	struct id id = id_new();
	bool is_open = decide_internet(f, request);
	struct project_record project;
	struct route_subject subject = {
	        .network = is_open ? SANDBOX_NETWORK_INTERNET : SANDBOX_NETWORK_BLOCKED,
	        .project = &project,
	};
	const struct sandbox_timeouts *const layers[] = {&request->timeouts, &t->timeouts,
	                                                 &project.timeouts, &f->config->timeouts};
	const struct json_map own_labels = own_labels_of(a, request);
	struct json_map labels = labels_join(a, &request->labels, &own_labels);

	if ((request->timeouts.archive_after_ms > 0 && backup_check(f, err) < 0) ||
	    project_find(f, a, request->project_id, &project, err) < 0)
		return -1;
	subject.resources = decide_resources(f, request, t, &project);
	if (decide_provider(f, a, resolved, &subject, err) < 0)
		return -1;
	resolved->project_version = project.version;
	resolved->sandboxes_max =
	        (unsigned)given_or(project.sandboxes_max, f->config->sandboxes_max);
	resolved->record = (struct sandbox_record){
	        .id = arena_text(a, request->id ? request->id : id.text),
	        .project_id = project.id,
	        .key_id = request->key_id ? request->key_id : "",
	        .user_id = request->user_id ? request->user_id : "",
	        .name = request->name,
	        .template_id = t->id,
	        .template_name = t->name,
	        .provider = resolved->route.members[0]->name,
	        .placed = resolved->route.why,
	        .node = f->node,
	        .region = request->region ? request->region : f->config->region,
	        .labels_json = json_format_map(a, &labels),
	        .env_json = json_format_map(a, &request->env),
	        .desired = SANDBOX_STARTED,
	        .actual = SANDBOX_PENDING,
	        .resources = subject.resources,
	        .persistent = request->persistent,
	        .preview_off = request->preview_off,
	        .preview_public = request->preview_public,
	        .traits = request->traits,
	        .network_json = request->network_json ? request->network_json : "",
	        .egress = request->egress ? request->egress : "",
	        .rules_json = request->rules_json ? request->rules_json : "",
	        /* The machine's own set-uid programs must not be used in a sandbox. */
	        .privileges = strcmp(t->folder, "host") != 0,
	        .network = subject.network,
	        .timeouts = sandbox_timeouts_resolve(layers, COUNT_OF(layers)),
	        .timeout_at = request->timeout_ms > 0 ? now + request->timeout_ms : 0,
	        .created_at = now,
	        .last_activity_at = now,
	        .last_event_at = now,
	};
	return 0;
}

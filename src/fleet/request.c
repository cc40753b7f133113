/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/request.h"

#include <string.h>

#include "fleet/backup.h"
#include "fleet/egress.h"
#include "fleet/fleet_state.h"
#include "fleet/labels.h"
#include "fleet/resolved_create.h"

#define ENV_COUNT_MAX 256
#define ENV_BYTES_MAX (128 * 1024)
#define REGION_MAX 64
/* Longer ones than ten years are mistakes, and shorter ones cannot overflow. */
#define DURATION_MAX_MS (INT64_C(10) * 366 * 24 * 3600 * 1000)

int request_check_env(const struct json_map *env, struct error *err)
{
	size_t bytes = 0;

	if (env->count > ENV_COUNT_MAX)
		return FAIL(err, ERROR_LIMIT, "more than %d environment variables", ENV_COUNT_MAX);
	for (size_t i = 0; i < env->count; i++) {
		if (sandbox_env_check(env->pairs[i].key, env->pairs[i].value, err) < 0)
			return -1;
		bytes += strlen(env->pairs[i].key) + strlen(env->pairs[i].value) + 2;
	}
	if (bytes > ENV_BYTES_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "the environment is larger than %d bytes",
		            ENV_BYTES_MAX);
	return 0;
}

static int check_durations(const struct fleet_create *request, struct error *err)
{
	const int64_t durations[] = {request->timeout_ms, request->idle_reap_ms,
	                             request->lifetime_max_ms, request->archive_after_ms,
	                             request->delete_after_ms};
	const int64_t idle[] = {request->idle_pause_ms, request->idle_stop_ms};

	for (size_t i = 0; i < COUNT_OF(durations); i++)
		if (durations[i] < 0 || durations[i] > DURATION_MAX_MS)
			return FAIL(err, ERROR_INVALID,
			            "a duration must not be negative nor longer than ten years");
	for (size_t i = 0; i < COUNT_OF(idle); i++)
		if (idle[i] < -1 || idle[i] > DURATION_MAX_MS)
			return FAIL(err, ERROR_INVALID,
			            "an idle time must not be longer than ten years; -1 = never");
	return 0;
}

int request_check(const struct fleet_create *request, struct error *err)
{
	if (request->name && sandbox_name_check(request->name, err) < 0)
		return -1;
	if (request->region && strlen(request->region) > REGION_MAX)
		return FAIL(err, ERROR_INVALID, "a region has at most %d bytes", REGION_MAX);
	if (sandbox_resources_check(&request->resources, err) < 0 ||
	    request_check_env(&request->env, err) < 0 || labels_check(&request->labels, err) < 0)
		return -1;
	return check_durations(request, err);
}

const char *request_map_to_json(struct arena *a, const struct json_map *map)
{
	AUTO(buf_done) struct buf text = BUF(SIZE_MAX / 2);

	buf_add_byte(&text, '{');
	for (size_t i = 0; i < map->count; i++) {
		if (i > 0)
			buf_add_byte(&text, ',');
		json_write_text(&text, span_of(map->pairs[i].key));
		buf_add_byte(&text, ':');
		json_write_text(&text, span_of(map->pairs[i].value));
	}
	buf_add_byte(&text, '}');
	return arena_copy(a, buf_span(&text));
}

int request_map_of_json(struct arena *a, const char *text, struct json_map *ret, struct error *err)
{
	const struct json_value *value;

	if (json_load(a, span_of(text), &value, err) < 0)
		return -1;
	*ret = (struct json_map){.pairs = ARENA_ARRAY(a, struct json_pair, json_count(value) + 1),
	                         .present = true};
	for (size_t i = 0; i < json_count(value); i++) {
		const struct json_value *member = json_member_at(value, i, &ret->pairs[i].key);

		ret->pairs[i].value = json_text(member, "");
		ret->count++;
	}
	return 0;
}

static int decide_network(const struct fleet *f, int internet, enum sandbox_network *ret,
                          struct error *err)
{
	bool is_open = internet < 0 ? f->config->internet : internet > 0;

	if (!is_open && provider_require(f->provider, PROVIDER_CAN_BLOCK_NETWORK, err) < 0)
		return -1;
	*ret = is_open ? SANDBOX_NETWORK_INTERNET : SANDBOX_NETWORK_BLOCKED;
	return 0;
}

static int64_t given_or(int64_t given, int64_t otherwise)
{
	return given > 0 ? given : otherwise;
}

static struct sandbox_idle decide_idle(const struct fleet *f, const struct fleet_create *request,
                                       const struct template_record *t,
                                       const struct project_record *project)
{
	const struct sandbox_idle layers[] = {
	        {{request->idle_pause_ms, request->idle_stop_ms, request->idle_reap_ms,
	          request->lifetime_max_ms}},
	        t->idle,
	        project->idle,
	        {{f->config->idle_pause_ms, f->config->idle_stop_ms, f->config->idle_reap_ms,
	          f->config->lifetime_max_ms}},
	};

	return sandbox_idle_resolve(layers, COUNT_OF(layers));
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

int request_resolve(struct fleet *f, struct arena *a, struct resolved_create *resolved,
                    struct error *err)
{
	const struct fleet_create *request = resolved->request;
	const struct template_record *t = &resolved->template;
	int64_t now = clock_unix_ms();
	struct id id = id_new();
	enum sandbox_network network;
	struct project_record project;
	struct sandbox_idle idle;
	struct json_map labels = labels_join(a, &request->labels, &request->own_labels);

	if ((request->archive_after_ms > 0 && backup_check(f, err) < 0) ||
	    project_find(f, a, request->project_id, &project, err) < 0 ||
	    decide_network(f, request->internet, &network, err) < 0 ||
	    egress_check(f, network, request->egress, err) < 0)
		return -1;
	idle = decide_idle(f, request, t, &project);
	resolved->project_version = project.version;
	resolved->sandboxes_max =
	        (unsigned)given_or(project.sandboxes_max, f->config->sandboxes_max);
	resolved->record = (struct sandbox_record){
	        .id = arena_text(a, request->id ? request->id : id.text),
	        .project_id = project.id,
	        .key_id = request->key_id ? request->key_id : "",
	        .name = request->name,
	        .template_id = t->id,
	        .template_name = t->name,
	        .provider = f->ops->name,
	        .node = f->node,
	        .region = request->region ? request->region : f->config->region,
	        .labels_json = request_map_to_json(a, &labels),
	        .env_json = request_map_to_json(a, &request->env),
	        .desired = SANDBOX_STARTED,
	        .actual = SANDBOX_PENDING,
	        .resources = decide_resources(f, request, t, &project),
	        .persistent = request->persistent,
	        .preview_off = request->preview_off,
	        .preview_public = request->preview_public,
	        .traits = request->traits,
	        .network_json = request->network_json ? request->network_json : "",
	        .egress = request->egress ? request->egress : "",
	        /* The machine's own set-uid programs are nobody's to use in a sandbox. */
	        .privileges = strcmp(t->folder, "host") != 0,
	        .network = network,
	        .idle_pause_ms = idle.ms[SANDBOX_IDLE_PAUSE],
	        .idle_stop_ms = idle.ms[SANDBOX_IDLE_STOP],
	        .idle_reap_ms = idle.ms[SANDBOX_IDLE_REAP],
	        .lifetime_max_ms = idle.ms[SANDBOX_IDLE_LIFETIME],
	        .archive_after_ms = request->archive_after_ms,
	        .delete_after_ms = request->delete_after_ms,
	        .timeout_at = request->timeout_ms > 0 ? now + request->timeout_ms : 0,
	        .created_at = now,
	        .last_activity_at = now,
	        .last_event_at = now,
	};
	return 0;
}

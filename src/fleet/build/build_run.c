/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/path.h"
#include "config/config.h"
#include "fleet/build/build_parts.h"
#include "fleet/core/text_map.h"
#include "fleet/template/layers.h"
#include "fleet/template/templates.h"
#include "store/snapshots.h"
#include "wire/agent.h"

/* Sets a variable; later values replace earlier ones. */
static int set_env(struct build *b, const char *key, const char *value, struct error *err)
{
	struct json_map *env = &b->path.env;
	struct json_pair *pairs;

	for (size_t i = 0; i < env->count; i++) {
		if (strcmp(env->pairs[i].key, key) == 0) {
			env->pairs[i].value = value;
			return 0;
		}
	}
	pairs = ARENA_ARRAY(&b->arena, struct json_pair, env->count + 1);
	if (env->count > 0)
		memcpy(pairs, env->pairs, env->count * sizeof(*pairs));
	pairs[env->count] = (struct json_pair){key, value};
	*env = (struct json_map){pairs, env->count + 1, true};
	return environment_check(env, err);
}

static int set_source_env(struct build *b, struct error *err)
{
	const struct json_value *object;

	if (json_load(&b->arena, span_of(b->source.env_json), &object, err) < 0)
		return FAIL_CONTEXT(err, "environment of template '%s'", b->source.name);
	for (size_t i = 0; i < json_count(object); i++) {
		const char *key = NULL;
		const char *value = json_text(json_member_at(object, i, &key), "");

		if (set_env(b, key, value, err) < 0)
			return -1;
	}
	return 0;
}

static int set_workdir(struct build *b, const char *given, struct error *err)
{
	struct build_path *path = &b->path;
	const char *base = *path->workdir ? path->workdir : "/";
	const char **missing = ARENA_ARRAY(&b->arena, const char *, path->missing_count + 1);

	if (path_resolve(&b->arena, base, span_of(given), &path->workdir, err) < 0)
		return FAIL_CONTEXT(err, "path");
	if (strcmp(path->workdir, "/") == 0)
		return 0; /* never missing */
	if (path->missing_count > 0)
		memcpy(missing, path->missing, path->missing_count * sizeof(*missing));
	missing[path->missing_count++] = path->workdir;
	path->missing = missing;
	return 0;
}

/* The new layer is pinned; the layer below needs no pin any more. */
static void take_layer(struct build *b, const struct build_layer *layer)
{
	layer_unpin(b->fleet, b->path.layer);
	b->path.layer = layer->id;
	b->path.depth = layer->depth;
	b->path.size_bytes += layer->size_bytes;
	b->path.missing_count = 0;
}

static int run_command(struct build_sandbox *box, const struct build_step *step, struct error *err)
{
	struct build *b = box->build;
	const char *shell[] = {"/bin/sh", "-c", step->command, NULL};
	const struct build_command command = {
	        .args = step->args && step->args[0] ? step->args : shell,
	        .user = step->user && *step->user ? step->user : b->path.user,
	        .env = &step->env,
	        .timeout_ms = step->timeout_ms,
	};
	struct agent_process ended = {0};

	if (build_sandbox_run(box, &command, &ended, err) < 0)
		return -1;
	if (ended.timed_out)
		return FAIL(err, ERROR_TIMEOUT, "it did not end within %" PRId64 " ms",
		            step->timeout_ms);
	if (ended.exit_code == 0)
		return 0;
	b->record.exit_code = ended.exit_code;
	return FAIL(err, ERROR_CONFLICT, "it ended with status %" PRId64, ended.exit_code);
}

static int copy_files(struct build_sandbox *box, const struct build_step *step, struct error *err)
{
	struct build *b = box->build;
	const char *base = *b->path.workdir ? b->path.workdir : "/", *path;

	if (path_resolve(&b->arena, base, span_of(step->path), &path, err) < 0)
		return FAIL_CONTEXT(err, "path");
	return build_sandbox_copy(box, step, path, err);
}

/* `step` NULL: only the folders that are missing. */
static int execute_step(struct build *b, const struct build_step *step, struct build_layer *ret,
                        struct error *err)
{
	AUTO(build_sandbox_close) struct build_sandbox box = {0};

	if (build_sandbox_open(b, &box, err) < 0 || build_sandbox_make_folders(&box, err) < 0)
		return -1;
	if (step && (step->type == BUILD_RUN ? run_command(&box, step, err)
	                                     : copy_files(&box, step, err)) < 0)
		return -1;
	return build_sandbox_keep(&box, ret, err);
}

static int reach_claimed(struct build *b, const struct build_step *step, struct error *err)
{
	int64_t begun = clock_monotonic_ms();
	struct build_layer layer;
	int found = 0;

	if (!b->path.is_fresh)
		found = layer_find(b, &layer, err);
	if (found < 0)
		return -1;
	if (found > 0) {
		build_log_say(b, "cached");
		b->record.cached_count++;
		take_layer(b, &layer);
		return 0;
	}
	if (b->path.depth >= BUILD_LAYERS_MAX) {
		(void)FAIL(err, ERROR_LIMIT, "a template has at most %d layers", BUILD_LAYERS_MAX);
		return FAIL_HINT(err, "make one run step of several, with &&");
	}
	if (execute_step(b, step, &layer, err) < 0)
		return -1;
	take_layer(b, &layer);
	build_log_say(b, "done in %" PRId64 " ms", clock_monotonic_ms() - begun);
	return layer_keep(b, &layer, err);
}

/* The path's key is already that of the step. */
static int reach_step(struct build *b, const struct build_step *step, struct error *err)
{
	int result;

	if (layer_claim(b, err) < 0)
		return -1;
	result = reach_claimed(b, step, err);
	layer_unclaim(b);
	return result;
}

static int run_step(struct build *b, const struct build_step *step, struct error *err)
{
	build_key_next(b->path.key, step);
	b->path.is_fresh |= step->force;
	switch ((enum build_step_type)step->type) {
	case BUILD_RUN:
	case BUILD_COPY:
		return reach_step(b, step, err);
	case BUILD_ENV:
		for (size_t i = 0; i < step->env.count; i++)
			if (set_env(b, step->env.pairs[i].key, step->env.pairs[i].value, err) < 0)
				return -1;
		return 0;
	case BUILD_WORKDIR:
		return set_workdir(b, step->path, err);
	case BUILD_USER:
		b->path.user = step->user;
		return 0;
	case BUILD_STEP_COUNT:
		break;
	}
	return FAIL(err, ERROR_INVALID, "a step of no known type");
}

static int run_steps(struct build *b, struct error *err)
{
	const struct build_step *steps = b->spec.steps.items;

	for (size_t i = 0; i < b->spec.steps.count; i++) {
		const char *text = build_step_text(&b->arena, &steps[i]);

		b->record.step = (int64_t)i + 1;
		build_log_say(b, "[%zu/%zu] %s", i + 1, b->spec.steps.count, text);
		build_write_record(b);
		if (run_step(b, &steps[i], err) < 0)
			return FAIL_CONTEXT(err, "step %zu of %zu (%.100s)", i + 1,
			                    b->spec.steps.count, text);
	}
	return 0;
}

/* Folders that no later step has created. */
static int make_folders(struct build *b, struct error *err)
{
	const struct build_step none = {.type = BUILD_STEP_COUNT};

	if (b->path.missing_count == 0)
		return 0;
	build_key_next(b->path.key, &none);
	if (reach_step(b, NULL, err) < 0)
		return FAIL_CONTEXT(err, "make the folders");
	return 0;
}

static int find_depth(struct build *b, struct error *err)
{
	struct snapshot_record r;

	if (!*b->path.layer)
		return 0;
	if (store_snapshot_find(b->fleet->store, &b->arena, NULL, b->path.layer, &r, err) < 0)
		return FAIL_CONTEXT(err, "template '%s'", b->source.name);
	b->path.depth = r.depth;
	return 0;
}

static int find_source(struct build *b, struct error *err)
{
	const struct fleet_ref ref = {b->record.project_id, b->spec.from};
	const struct fleet_import import = {
	        .project_id = b->record.project_id,
	        .name = b->spec.from,
	        .format = IMAGE_REGISTRY,
	        .reference = b->spec.image,
	        .login = b->spec.login.username ? &b->spec.login : NULL,
	        .source_fd = -1,
	};

	bool is_there = template_find(b->fleet, &b->arena, &ref, &b->source, err) == 0;

	if (!b->spec.image || !*b->spec.image)
		return is_there ? 0 : -1;
	if (!is_there) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
		build_log_say(b, "import image '%s' as template '%s'", b->spec.image, b->spec.from);
	}
	return fleet_template_of_image(b->fleet, &b->arena, &import, b->deadline, &b->source, err);
}

static int begin_build(struct build *b, struct error *err)
{
	struct fleet *f = b->fleet;
	bool internet =
	        b->spec.present >> BUILD_SPEC_INTERNET & 1 ? b->spec.internet : f->config->internet;

	build_log_say(b, "from template '%s'", b->spec.from);
	if (find_source(b, err) < 0 ||
	    fleet_template_ready(f, &b->arena, &b->source, b->deadline, err) < 0)
		return -1;
	b->path = (struct build_path){.layer = b->source.snapshot_id,
	                              .workdir = b->source.workdir,
	                              .user = "",
	                              .is_fresh = b->spec.no_cache,
	                              .size_bytes = b->source.size_bytes};
	layer_pin(f, b->path.layer);
	build_key_first(&b->source, internet, b->path.key);
	if (set_source_env(b, err) < 0 || find_depth(b, err) < 0)
		return -1;
	return build_check_names(b, err);
}

int build_run(struct build *b, struct error *err)
{
	b->path.layer = "";
	if (begin_build(b, err) < 0 || run_steps(b, err) < 0 || make_folders(b, err) < 0 ||
	    build_check_start(b, err) < 0)
		return -1;
	if (build_is_cancelled(b))
		return build_refuse_cancelled(b, err);
	return build_make_template(b, err);
}

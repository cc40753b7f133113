/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/path.h"
#include "config/config.h"
#include "fleet/build/build_sandbox.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/sandboxes.h"
#include "fleet/core/text_map.h"
#include "fleet/template/import.h"
#include "fleet/template/layers.h"
#include "fleet/template/templates.h"
#include "store/snapshots.h"
#include "wire/agent.h"
#include "wire/agent_path.h"

#define ENV_VALUE_MAX ((size_t)64 * 1024)
#define PATH_SO_FAR "${PATH}"

/* Sets a variable; later values replace earlier ones. */
static int set_env(struct build *b, const char *key, const char *value, struct error *err)
{
	struct json_map *env = &b->path.env;
	struct json_pair *pairs;

	for (size_t i = 0; i < env->count; i++) {
		if (strcmp(env->pairs[i].key, key) == 0) {
			env->pairs[i].value = value;
			return environment_check(env, err);
		}
	}
	pairs = ARENA_ARRAY(&b->arena, struct json_pair, env->count + 1);
	if (env->count > 0)
		memcpy(pairs, env->pairs, env->count * sizeof(*pairs));
	pairs[env->count] = (struct json_pair){key, value};
	*env = (struct json_map){pairs, env->count + 1, true};
	return environment_check(env, err);
}

static const char *path_so_far(const struct build *b)
{
	const struct json_map *env = &b->path.env;

	for (size_t i = 0; i < env->count; i++)
		if (strcmp(env->pairs[i].key, "PATH") == 0)
			return env->pairs[i].value;
	return AGENT_PATH_DEFAULT;
}

/* Executes an env step. Only here is it known what PATH the template has. */
static int set_step_env(struct build *b, const struct json_map *env, struct error *err)
{
	const char *path = path_so_far(b);

	for (size_t i = 0; i < env->count; i++) {
		AUTO(buf_done) struct buf value = BUF(ENV_VALUE_MAX);
		const char *rest = env->pairs[i].value, *found;

		for (; (found = strstr(rest, PATH_SO_FAR)); rest = found + strlen(PATH_SO_FAR)) {
			buf_add(&value, rest, (size_t)(found - rest));
			buf_add_text(&value, path);
		}
		buf_add_text(&value, rest);
		if (value.overflowed)
			return FAIL(err, ERROR_TOO_LARGE, "variable '%.60s': more than %zu bytes",
			            env->pairs[i].key, ENV_VALUE_MAX);
		if (set_env(b, env->pairs[i].key, arena_copy(&b->arena, buf_span(&value)), err) < 0)
			return -1;
	}
	return 0;
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

int build_resolve_path(struct build *b, const char *path, const char **ret, struct error *err)
{
	return path_resolve(&b->arena, path_or_root(b->path.workdir), span_of(path), ret, err) < 0
	               ? FAIL_CONTEXT(err, "path")
	               : 0;
}

static int add_folder(struct build *b, const char *given, const char **ret, struct error *err)
{
	struct build_path *path = &b->path;
	const char **missing = ARENA_ARRAY(&b->arena, const char *, path->missing_count + 1);

	if (build_resolve_path(b, given, ret, err) < 0)
		return -1;
	if (strcmp(*ret, "/") == 0)
		return 0; /* never missing */
	if (path->missing_count > 0)
		memcpy(missing, path->missing, path->missing_count * sizeof(*missing));
	missing[path->missing_count++] = *ret;
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

static int run_command(struct build_sandbox *box, const struct build_step *step,
                       const struct json_map *env, struct error *err)
{
	struct build *b = box->build;
	const char *shell[] = {"/bin/sh", "-c", step->command, NULL};
	const struct build_command command = {
	        .args = step->args && step->args[0] ? step->args : shell,
	        .user = step->user && *step->user ? step->user : b->path.user,
	        .env = env,
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

static int run_mounted(struct build *b, const struct build_step *step, struct build_sandbox *box,
                       struct build_mounts *mounts, struct error *err)
{
	const struct build_root root = {.template = b->source.id,
	                                .layer = b->path.layer,
	                                .mounts = mounts->volumes,
	                                .mount_count = mounts->volume_count};

	if (build_sandbox_open_at(b, &root, box, err) < 0 ||
	    build_sandbox_make_folders(box, err) < 0 || build_mounts_place(mounts, box, err) < 0 ||
	    run_command(box, step, &mounts->env, err) < 0)
		return -1;
	return build_mounts_remove(mounts, box, err);
}

static int run_step_command(struct build *b, const struct build_step *step, struct build_layer *ret,
                            struct error *err)
{
	AUTO(build_mounts_close) struct build_mounts mounts = {.build = NULL};
	AUTO(build_sandbox_close) struct build_sandbox box = {0};

	if (build_mounts_open(b, step, &mounts, err) < 0 ||
	    run_mounted(b, step, &box, &mounts, err) < 0)
		return -1;
	return build_sandbox_keep(&box, ret, err);
}

static int copy_stage_files(struct build *b, const struct build_step *step, struct build_layer *ret,
                            struct error *err)
{
	AUTO(build_export_close) struct build_export files = {.fd = -1};
	AUTO(build_sandbox_close) struct build_sandbox box = {0};
	size_t size = strlen(step->path);
	struct build_place place = {.user = step->user,
	                            .mode = step->mode,
	                            .is_folder = size > 0 && step->path[size - 1] == '/'};

	if (build_resolve_path(b, step->path, &place.path, err) < 0 ||
	    build_export_open(b, build_find_stage(b, step->from), step->paths, &files, err) < 0 ||
	    build_sandbox_open(b, &box, err) < 0 || build_sandbox_make_folders(&box, err) < 0 ||
	    build_export_place(&box, &files, &place, err) < 0)
		return -1;
	return build_sandbox_keep(&box, ret, err);
}

static int change_files(struct build_sandbox *box, const struct build_step *step, struct error *err)
{
	struct build *b = box->build;
	struct build_unpack unpack = {.files = step->files, .user = step->user, .mode = step->mode};
	struct build_file file = {.owner = step->user ? step->user : "",
	                          .mode = build_parse_mode(step->mode),
	                          .text = span_of(step->text ? step->text : "")};

	if (build_resolve_path(b, step->path, &unpack.path, err) < 0)
		return -1;
	file.path = unpack.path;
	return step->type == BUILD_WRITE ? build_sandbox_write(box, &file, err)
	                                 : build_sandbox_unpack(box, &unpack, err);
}

/* `step` NULL: only the folders that are missing. */
static int execute_step(struct build *b, const struct build_step *step, struct build_layer *ret,
                        struct error *err)
{
	AUTO(build_sandbox_close) struct build_sandbox box = {0};

	if (step && step->type == BUILD_RUN)
		return run_step_command(b, step, ret, err);
	if (step && step->type == BUILD_COPY && step->from && *step->from)
		return copy_stage_files(b, step, ret, err);
	if (build_sandbox_open(b, &box, err) < 0 || build_sandbox_make_folders(&box, err) < 0 ||
	    (step && change_files(&box, step, err) < 0))
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

static void add_stage_keys(struct build *b, const struct build_step *step)
{
	const struct build_mount *mounts = step->mounts.items;

	if (step->from && *step->from)
		build_key_add_stage(b->path.key, &build_find_stage(b, step->from)->path);
	for (size_t i = 0; i < step->mounts.count; i++)
		if (mounts[i].from && *mounts[i].from)
			build_key_add_stage(b->path.key,
			                    &build_find_stage(b, mounts[i].from)->path);
}

static int run_step(struct build *b, const struct build_step *step, struct error *err)
{
	const char *ignored;

	build_key_next(b->path.key, step);
	add_stage_keys(b, step);
	b->path.is_fresh |= step->force;
	switch ((enum build_step_type)step->type) {
	case BUILD_RUN:
	case BUILD_COPY:
	case BUILD_WRITE:
		return reach_step(b, step, err);
	case BUILD_ENV:
		return set_step_env(b, &step->env, err);
	case BUILD_WORKDIR:
		return add_folder(b, step->path, &b->path.workdir, err);
	case BUILD_FOLDER:
		return add_folder(b, step->path, &ignored, err);
	case BUILD_USER:
		b->path.user = step->user;
		return 0;
	case BUILD_STEP_COUNT:
		break;
	}
	return FAIL(err, ERROR_INVALID, "a step of no known type");
}

static int run_steps(struct build *b, const struct json_list *list, struct error *err)
{
	const struct build_step *steps = list->items;

	for (size_t i = 0; i < list->count; i++) {
		const char *text = build_step_text(&b->arena, &steps[i]);
		int64_t number = ++b->record.step, count = b->record.step_count;

		build_log_say(b, "[%" PRId64 "/%" PRId64 "] %s", number, count, text);
		build_write_record(b);
		if (run_step(b, &steps[i], err) < 0)
			return FAIL_CONTEXT(err, "step %" PRId64 " of %" PRId64 " (%.100s)", number,
			                    count, text);
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

/* Makes the template of the image. Without a login, begin_on_template pulls it. */
static int find_image(struct build *b, const struct build_stage *stage, struct error *err)
{
	const struct fleet_image image = {b->record.project_id, stage->image, stage->from};
	const struct fleet_import import = {
	        .project_id = b->record.project_id,
	        .name = stage->from,
	        .format = IMAGE_REGISTRY,
	        .reference = stage->image,
	        .login = &b->spec.login,
	        .source_fd = -1,
	};

	build_log_say(b, "pull image '%s' as template '%s'", stage->image, stage->from);
	if (b->spec.login.username)
		return fleet_template_of_image(b->fleet, &b->arena, &import, b->deadline,
		                               &b->source, err);
	return fleet_image_template(b->fleet, &b->arena, &image, &b->source, err);
}

static int refresh_image(struct build *b, const struct build_stage *stage, struct error *err)
{
	const struct fleet_refresh refresh = {.deadline = b->deadline};

	build_log_say(b, "look for a newer image '%s'", stage->image);
	return fleet_image_refresh(b->fleet, &b->arena, &refresh, &b->source, err);
}

static int find_source(struct build *b, const struct build_stage *stage, struct error *err)
{
	const struct fleet_ref ref = {b->record.project_id, stage->from};
	bool has_image = stage->image && *stage->image;
	int result = template_find(b->fleet, &b->arena, &ref, &b->source, err);

	if (result < 0 && err->code == ERROR_NOT_FOUND && has_image) {
		error_clear(err);
		result = find_image(b, stage, err);
	} else if (result == 0 && has_image) {
		result = fleet_template_check_image(&b->source, stage->image, err);
		if (result == 0 && b->spec.pull)
			result = refresh_image(b, stage, err);
	}
	return result < 0 ? -1 : fleet_image_use(b->fleet, &b->source, err);
}

static const struct build_stage_end *find_end(const struct build *b, const char *name)
{
	for (size_t i = 0; i < b->end_count; i++)
		if (strcmp(b->ends[i].name, name) == 0)
			return &b->ends[i];
	return NULL;
}

const struct build_stage_end *build_find_stage(const struct build *b, const char *name)
{
	const struct build_stage_end *end = find_end(b, name);

	assert(end);
	return end;
}

void build_drop_stages(struct build *b)
{
	if (b->path.layer)
		layer_unpin(b->fleet, b->path.layer);
	for (size_t i = 0; i < b->end_count; i++)
		layer_unpin(b->fleet, b->ends[i].path.layer);
	b->end_count = 0;
}

static void begin_on_stage(struct build *b, const struct build_stage_end *end)
{
	struct json_map *env = &b->path.env;
	struct json_pair *pairs = ARENA_ARRAY(&b->arena, struct json_pair, end->path.env.count + 1);

	build_log_say(b, "from stage '%s'", end->name);
	b->source = end->source;
	b->path = end->path;
	if (env->count > 0)
		memcpy(pairs, env->pairs, env->count * sizeof(*pairs));
	env->pairs = pairs; /* its own: set_env changes values in place */
	layer_pin(b->fleet, b->path.layer);
}

static int begin_on_template(struct build *b, const struct build_stage *stage, struct error *err)
{
	struct fleet *f = b->fleet;
	bool internet =
	        b->spec.present >> BUILD_SPEC_INTERNET & 1 ? b->spec.internet : f->config->internet;

	build_log_say(b, "from template '%s'", stage->from);
	if (find_source(b, stage, err) < 0 ||
	    fleet_template_ready(f, &b->arena, &b->source, b->deadline, err) < 0)
		return -1;
	b->path = (struct build_path){.layer = b->source.snapshot_id,
	                              .workdir = b->source.workdir,
	                              .user = "",
	                              .is_fresh = b->spec.no_cache,
	                              .size_bytes = b->source.size_bytes};
	layer_pin(f, b->path.layer);
	build_key_first(&b->source, internet, b->path.key);
	return set_source_env(b, err) < 0 || find_depth(b, err) < 0 ? -1 : 0;
}

static int begin_stage(struct build *b, const struct build_stage *stage, struct error *err)
{
	const struct build_stage_end *end = find_end(b, stage->from);

	if (!end)
		return begin_on_template(b, stage, err);
	begin_on_stage(b, end);
	return 0;
}

static int run_stage(struct build *b, const struct build_stage *stage, struct error *err)
{
	build_log_say(b, "stage '%s'", stage->name);
	if (begin_stage(b, stage, err) < 0 || run_steps(b, &stage->steps, err) < 0 ||
	    make_folders(b, err) < 0)
		return FAIL_CONTEXT(err, "stage '%s'", stage->name);
	b->ends[b->end_count++] = (struct build_stage_end){stage->name, b->source, b->path};
	b->path.layer = ""; /* the end has the pin */
	return 0;
}

static int run_stages(struct build *b, struct error *err)
{
	const struct build_stage *stages = b->spec.stages.items;

	b->ends = ARENA_ARRAY(&b->arena, struct build_stage_end, b->spec.stages.count + 1);
	for (size_t i = 0; i < b->spec.stages.count; i++)
		if (run_stage(b, &stages[i], err) < 0)
			return -1;
	return 0;
}

int build_run(struct build *b, struct error *err)
{
	const struct build_stage last = {.from = b->spec.from, .image = b->spec.image};

	b->path.layer = "";
	for (size_t i = 0; b->spec.notes && b->spec.notes[i]; i++)
		build_log_say(b, "%s", b->spec.notes[i]);
	if (run_stages(b, err) < 0 || begin_stage(b, &last, err) < 0 ||
	    build_check_names(b, err) < 0 || run_steps(b, &b->spec.steps, err) < 0 ||
	    make_folders(b, err) < 0 || build_check_start(b, err) < 0)
		return -1;
	if (build_is_cancelled(b))
		return build_refuse_cancelled(b, err);
	return build_make_template(b, err);
}

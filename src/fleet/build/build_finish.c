/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/fault.h"
#include "fleet/build/build_sandbox.h"
#include "fleet/core/fleet_state.h"
#include "fleet/template/pool_states.h"
#include "fleet/template/recipe.h"
#include "fleet/template/templates.h"
#include "json/write.h"
#include "provider/agent_reader.h"
#include "provider/compute_run.h"
#include "provider/provider.h"

/* Time in which an entrypoint without a ready command may fail. */
#define START_CHECK_MS 1000
#define READY_EVERY_MS 500
#define READY_ONCE_MS 30000
#define READY_OUT_MAX 4096

static bool is_given(const char *text)
{
	return text && *text;
}

/* The commands of a sandbox of the template run as this user. */
static const char *user_of(const struct build *b)
{
	return *b->path.user ? b->path.user : b->source.user;
}

static const char **start_words(const struct build *b, struct arena *a)
{
	const char **words;

	if (!is_given(b->spec.start))
		return b->spec.entrypoint && b->spec.entrypoint[0] ? b->spec.entrypoint : NULL;
	words = ARENA_ARRAY(a, const char *, 4);
	words[0] = "/bin/sh";
	words[1] = "-c";
	words[2] = b->spec.start;
	return words;
}

/* A trial run of the entrypoint; its output goes to the log. */
struct start_check {
	struct build *build;
	struct build_sandbox box;
	struct agent_reader agent;
	struct build_lines lines;
	struct agent_process process;
	bool has_ended;
};

static void start_check_done(struct start_check *t)
{
	agent_reader_done(&t->agent);
	build_lines_done(&t->lines);
	build_sandbox_close(&t->box);
}

/* Reads output until `until`, or until the command ends. */
static int listen_until(struct start_check *t, int64_t until, struct error *err)
{
	int result = 1;

	while (result > 0 && !t->has_ended && deadline_poll_ms(until) != 0) {
		result = build_receive_message(t->build, &t->agent, until, err);
		if (result <= 0)
			return result;
		result = build_log_output(&t->lines, &t->agent, &t->process, err);
		if (result < 0)
			return -1;
		t->has_ended = result > 0;
		result = 1;
	}
	if (t->has_ended)
		return build_wait_until(t->build, -1, until, err) < 0 ? -1 : 0;
	return 0;
}

static int refuse_end(struct start_check *t, struct error *err)
{
	if (!t->has_ended || t->process.exit_code == 0)
		return 0;
	t->build->record.exit_code = t->process.exit_code;
	return FAIL(err, ERROR_CONFLICT, "the start command ended with status %" PRId64,
	            t->process.exit_code);
}

/* 1: it is ready. */
static int try_ready(struct start_check *t, int64_t deadline, struct error *err)
{
	struct build *b = t->build;
	AUTO(arena_done) struct arena arena = {0};
	const char *words[] = {"/bin/sh", "-c", b->spec.ready, NULL};
	const struct build_command command = {.args = words, .user = user_of(b)};
	const struct agent_exec exec = build_exec_of(b, &arena, &command);
	int64_t once = deadline_after(READY_ONCE_MS);
	const struct compute_run run = {.exec = &exec,
	                                .out_max = READY_OUT_MAX,
	                                .deadline = once < deadline ? once : deadline};
	struct compute_result result;

	if (compute_run(b->fleet->provider, t->box.id, &arena, &run, &result, err) == 0)
		return result.process.exit_code == 0;
	if (err->code != ERROR_TIMEOUT)
		return FAIL_CONTEXT(err, "ready command");
	error_clear(err);
	return 0;
}

static int wait_ready(struct start_check *t, struct error *err)
{
	struct build *b = t->build;
	int64_t timeout_ms =
	        b->spec.ready_timeout_ms > 0 ? b->spec.ready_timeout_ms : BUILD_READY_TIMEOUT_MS;
	int64_t deadline = deadline_after(timeout_ms);

	if (deadline > b->deadline)
		deadline = b->deadline;
	while (clock_monotonic_ms() < deadline) {
		int64_t next = deadline_after(READY_EVERY_MS);
		int result = try_ready(t, deadline, err);

		if (result != 0)
			return result < 0 ? -1 : 0;
		if (listen_until(t, next, err) < 0 || refuse_end(t, err) < 0)
			return -1;
	}
	return FAIL(err, ERROR_TIMEOUT, "the ready command did not succeed within %" PRId64 " ms",
	            timeout_ms);
}

static int run_start_check(struct start_check *t, const char **words, struct arena *a,
                           struct error *err)
{
	struct build *b = t->build;
	const struct build_command command = {
	        .args = words, .user = user_of(b), .flags = AGENT_EXEC_RESIDENT};
	const struct agent_exec exec = build_exec_of(b, a, &command);
	const struct compute_request request = {AGENT_EXEC, agent_exec_shape, &exec, NULL};

	if (build_sandbox_open(b, &t->box, err) < 0 ||
	    build_open_call(&t->box, &t->agent, &request, err) < 0)
		return -1;
	if (is_given(b->spec.ready))
		return wait_ready(t, err);
	if (listen_until(t, deadline_after(START_CHECK_MS), err) < 0)
		return -1;
	return refuse_end(t, err);
}

int build_check_start(struct build *b, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(start_check_done) struct start_check trial = {.build = b};
	const char **words = start_words(b, &arena);

	if (!words)
		return 0;
	build_log_say(b, is_given(b->spec.ready) ? "starting, until it is ready" : "starting");
	build_lines_init(&trial.lines, b);
	if (run_start_check(&trial, words, &arena, err) < 0)
		return FAIL_CONTEXT(err, "start '%.100s'",
		                    words[2] && is_given(b->spec.start) ? words[2] : words[0]);
	return 0;
}

/* 1: the project has a template of that name; 0: it has none. */
static int find_existing(struct build *b, const char *name, struct template_record *ret,
                         struct error *err)
{
	if (store_template_find(b->fleet->store, &b->arena, b->record.project_id, name, ret, err) ==
	    0)
		return strcmp(ret->project_id, b->record.project_id) == 0 &&
		       strcmp(ret->name, name) == 0;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return 0;
}

/* Stopped sandboxes of the template need its root filesystem. */
static int check_replaceable(const struct build *b, const struct template_record *t,
                             struct error *err)
{
	if (t->state == TEMPLATE_BUILDING)
		return FAIL(err, ERROR_CONFLICT, "template '%s' is being built", t->name);
	if (strcmp(t->folder, b->source.folder) == 0)
		return 0;
	(void)FAIL(err, ERROR_CONFLICT,
	           "there is a template '%s' already, and its root filesystem is not that of '%s'",
	           t->name, b->source.name);
	return FAIL_HINT(err, "remove it first, or choose another name");
}

static int check_name_free(struct build *b, const char *name, struct error *err)
{
	struct template_record t;
	int found = find_existing(b, name, &t, err);

	return found > 0 ? check_replaceable(b, &t, err) : found;
}

int build_check_names(struct build *b, struct error *err)
{
	for (size_t i = 0; b->spec.also && b->spec.also[i]; i++)
		if (check_name_free(b, b->spec.also[i], err) < 0)
			return -1;
	return check_name_free(b, b->record.name, err);
}

static const char *entrypoint_json(struct build *b)
{
	const struct fleet_recipe recipe = {.entrypoint = start_words(b, &b->arena)};
	struct template_record t = {0};

	recipe_apply(&b->arena, &recipe, &t);
	return t.entrypoint_json ? t.entrypoint_json : b->source.entrypoint_json;
}

/* Members that are not given are inherited from the source. */
static void describe_template(struct build *b, struct template_record *t)
{
	const struct build_resources *r = &b->spec.resources;
	const struct sandbox_resources own = {r->cpu, r->memory_mb, r->disk_mb, r->pids};
	const struct sandbox_resources layers[] = {own, b->source.resources};

	t->base_image = b->source.name;
	t->runtime = b->source.runtime;
	t->isolation = b->source.isolation;
	t->provider = b->source.provider;
	t->description = is_given(b->spec.description) ? b->spec.description : "";
	t->env_json = json_format_map(&b->arena, &b->path.env);
	t->entrypoint_json = entrypoint_json(b);
	t->ready = is_given(b->spec.ready) ? b->spec.ready : "";
	if (b->spec.ports.size > 0)
		t->ports_json = arena_copy(&b->arena, b->spec.ports);
	else
		t->ports_json = b->source.ports_json;
	t->user = user_of(b);
	t->workdir = b->path.workdir;
	t->resources =
	        sandbox_resources_resolve(layers, COUNT_OF(layers), &(struct sandbox_resources){0});
	t->snapshot_id = b->path.layer;
	t->size_bytes = b->path.size_bytes;
	t->node = b->fleet->node;
	t->is_pulled = false;
	t->updated_at = clock_unix_ms();
}

static int insert_template(struct build *b, const char *name, const char **ret_id,
                           struct error *err)
{
	struct id id = id_new();
	struct template_record t = b->source;

	t.id = arena_text(&b->arena, id.text);
	t.project_id = b->record.project_id;
	t.name = name;
	describe_template(b, &t);
	t.pool_min = t.pool_target = t.pool_max = 0;
	t.created_at = t.updated_at;
	if (store_template_insert(b->fleet->store, &t, err) < 0)
		return -1;
	*ret_id = t.id;
	return 0;
}

static int replace_template(struct build *b, struct template_record *t, const char **ret_old,
                            struct error *err)
{
	if (check_replaceable(b, t, err) < 0)
		return -1;
	*ret_old = t->snapshot_id;
	describe_template(b, t);
	return store_template_update(b->fleet->store, t, err);
}

/* A sweep removes the layers that they used before, if nothing else needs them. */
static int put_also(struct build *b, struct error *err)
{
	const char *ignored;
	struct template_record t;

	for (size_t i = 0; b->spec.also && b->spec.also[i]; i++) {
		int found = find_existing(b, b->spec.also[i], &t, err);

		if (found < 0 ||
		    (found > 0 ? replace_template(b, &t, &ignored, err)
		               : insert_template(b, b->spec.also[i], &ignored, err)) < 0)
			return FAIL_CONTEXT(err, "name '%s'", b->spec.also[i]);
	}
	return 0;
}

/* As with a derived template: if the source's row still exists, its folder does, too. */
static int check_source(struct build *b, struct error *err)
{
	struct template_record source;

	return store_template_find(b->fleet->store, &b->arena, b->source.project_id, b->source.id,
	                           &source, err);
}

int build_make_template(struct build *b, struct error *err)
{
	struct template_record t;
	int found = find_existing(b, b->record.name, &t, err);

	if (found < 0 ||
	    (found > 0 ? replace_template(b, &t, &b->replaced, err)
	               : insert_template(b, b->record.name, &b->record.template_id, err)) < 0)
		return -1;
	if (found > 0)
		b->record.template_id = t.id;
	if (put_also(b, err) < 0)
		return -1;
	templates_changed(b->fleet);
	pools_changed(b->fleet);
	fault_point("api", "build-templated");
	if (found > 0 || check_source(b, err) == 0)
		return 0;
	(void)!fleet_template_remove(b->fleet, b->record.project_id, b->record.template_id,
	                             &(struct error){0});
	b->record.template_id = "";
	return -1;
}

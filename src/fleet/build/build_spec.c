/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/path.h"
#include "fleet/build/build_parts.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/text_map.h"
#include "fleet/template/import.h"
#include "fleet/template/recipe.h"

#define COMMAND_MAX (64 * 1024)
#define USER_MAX 64
#define PATH_MAX_SIZE 1024
#define PORTS_MAX 64
#define TEXT_MAX (1024 * 1024)
#define STAGE_NAME_MAX 128
#define SECRET_MAX (64 * 1024)
#define ID_TEXT_MAX 255

static const char *const types[] = {
        [BUILD_RUN] = "run",         [BUILD_COPY] = "copy",     [BUILD_ENV] = "env",
        [BUILD_WORKDIR] = "workdir", [BUILD_USER] = "user",     [BUILD_WRITE] = "write",
        [BUILD_FOLDER] = "folder",   [BUILD_STEP_COUNT] = NULL,
};
static const char *const mount_types[] = {
        [BUILD_MOUNT_CACHE] = "cache", [BUILD_MOUNT_BIND] = "bind", [BUILD_MOUNT_SECRET] = "secret",
        [BUILD_MOUNT_TMPFS] = "tmpfs", [BUILD_MOUNT_COUNT] = NULL,
};

static const struct json_member build_mount_shape_members[] = {
        JSON_CHOICE_MEMBER(build_mount, type, .flags = JSON_REQUIRED, .choices = mount_types),
        JSON_TEXT_MEMBER(build_mount, id, .flags = JSON_OMIT_EMPTY, .max = ID_TEXT_MAX,
                         .about = "cache: its name among the project's caches; secret: which"),
        JSON_TEXT_MEMBER(build_mount, path, .flags = JSON_OMIT_EMPTY, .max = PATH_MAX_SIZE,
                         .about = "where the command finds it"),
        JSON_TEXT_MEMBER(build_mount, from, .flags = JSON_OMIT_EMPTY, .max = STAGE_NAME_MAX,
                         .about = "bind: an earlier stage"),
        JSON_TEXT_MEMBER(build_mount, source, .flags = JSON_OMIT_EMPTY, .max = PATH_MAX_SIZE,
                         .about = "bind: a file or folder of that stage"),
        JSON_TEXT_MEMBER(build_mount, files, .flags = JSON_OMIT_EMPTY, .max = BUILD_FILES_HASH_SIZE,
                         .about = "bind: instead, as in a copy step"),
        JSON_BOOL_MEMBER(build_mount, is_file, .name = "file", .flags = JSON_OMIT_EMPTY,
                         .about = "bind: files has one file, whose name is the end of path"),
        JSON_TEXT_MEMBER(build_mount, env, .flags = JSON_OMIT_EMPTY, .max = 255,
                         .about = "secret: a variable that has it"),
        JSON_TEXT_MEMBER(build_mount, user, .flags = JSON_OMIT_EMPTY, .max = USER_MAX,
                         .about = "cache, secret: the owner (default root)"),
        JSON_TEXT_MEMBER(build_mount, mode, .flags = JSON_OMIT_EMPTY, .max = 4,
                         .about = "cache, secret: octal (default 0755, 0400)"),
        JSON_BOOL_MEMBER(build_mount, required, .flags = JSON_OMIT_EMPTY,
                         .about = "secret: the request fails without it"),
};
static JSON_SHAPE(build_mount_shape, "BuildMount", build_mount,
                  "What a run step finds at a path, and its layer does not contain");

static const struct json_member build_step_shape_members[] = {
        JSON_CHOICE_MEMBER(build_step, type, .flags = JSON_REQUIRED, .choices = types),
        JSON_TEXT_MEMBER(build_step, command, .flags = JSON_OMIT_EMPTY, .max = COMMAND_MAX,
                         .about = "run: for /bin/sh -c; either this or args",
                         .example = "apt-get install -y nginx"),
        JSON_TEXT_LIST_MEMBER(build_step, args, .flags = JSON_OMIT_EMPTY, .max = 256,
                              .about = "run: a program and its arguments, without a shell"),
        JSON_TEXT_MAP_MEMBER(build_step, env, .flags = JSON_OMIT_EMPTY, .max = 256,
                             .about = "env: of what follows and of the template; ${PATH} in a "
                                      "value is the path so far; run: of this command alone"),
        JSON_TEXT_MEMBER(build_step, files, .flags = JSON_OMIT_EMPTY, .max = BUILD_FILES_HASH_SIZE,
                         .about = "copy: the name under which the files were put, see "
                                  "PUT …/builds/files/HASH"),
        JSON_TEXT_MEMBER(build_step, from, .flags = JSON_OMIT_EMPTY, .max = STAGE_NAME_MAX,
                         .about = "copy: instead, an earlier stage"),
        JSON_TEXT_LIST_MEMBER(build_step, paths, .flags = JSON_OMIT_EMPTY, .max = 256,
                              .about = "copy: files and folders of that stage; * ? and [] match"),
        JSON_TEXT_MEMBER(build_step, text, .flags = JSON_OMIT_EMPTY, .max = TEXT_MAX,
                         .about = "write: of the file"),
        JSON_LIST_MEMBER(build_step, mounts, &build_mount_shape, .flags = JSON_OMIT_EMPTY,
                         .max = BUILD_MOUNTS_MAX, .about = "run: while the command runs"),
        JSON_TEXT_MEMBER(build_step, path, .flags = JSON_OMIT_EMPTY, .max = PATH_MAX_SIZE,
                         .about = "copy: the folder that the files go to, or the name of a single "
                                  "file of a stage; write: the file; workdir, folder: the folder; "
                                  "made if missing"),
        JSON_TEXT_MEMBER(build_step, user, .flags = JSON_OMIT_EMPTY, .max = USER_MAX,
                         .about = "user: of what follows and of the template; run: of this "
                                  "command; copy, write: whom the files belong to, USER or "
                                  "USER:GROUP (default root)"),
        JSON_TEXT_MEMBER(build_step, mode, .flags = JSON_OMIT_EMPTY, .max = 4,
                         .about = "copy, write: of the files, octal; else as they were put",
                         .example = "0644"),
        JSON_WHOLE_MEMBER(build_step, timeout_ms, .flags = JSON_OMIT_EMPTY,
                          .max = BUILD_TIMEOUT_MAX_MS,
                          .about = "run: default as long as the build may take"),
        JSON_BOOL_MEMBER(build_step, force, .flags = JSON_OMIT_EMPTY,
                         .about = "execute this one and all after it, even if cached"),
};
static JSON_SHAPE(build_step_shape, "BuildStep", build_step, "One step of a build");

static const struct json_member build_stage_shape_members[] = {
        JSON_TEXT_MEMBER(build_stage, name, .flags = JSON_REQUIRED, .min = 1,
                         .max = STAGE_NAME_MAX),
        JSON_TEXT_MEMBER(build_stage, from, .flags = JSON_OMIT_EMPTY, .max = STAGE_NAME_MAX,
                         .about = "an earlier stage, or a template"),
        JSON_TEXT_MEMBER(build_stage, image, .flags = JSON_OMIT_EMPTY, .max = 512,
                         .about = "image of a registry instead of from, or from which a missing "
                                  "`from` is pulled"),
        JSON_LIST_MEMBER(build_stage, steps, &build_step_shape, .flags = JSON_OMIT_EMPTY,
                         .max = BUILD_STEPS_MAX),
};
static JSON_SHAPE(build_stage_shape, "BuildStage", build_stage,
                  "Steps before those of the template, for files that these copy");

static const struct json_member build_resources_shape_members[] = {
        JSON_NUMBER_MEMBER(build_resources, cpu, .max = 1024, .about = "vCPUs; 0 = inherited"),
        JSON_WHOLE_MEMBER(build_resources, memory_mb, .max = 1 << 24, .about = "MiB"),
        JSON_WHOLE_MEMBER(build_resources, disk_mb, .max = 1 << 28, .about = "MiB"),
        JSON_WHOLE_MEMBER(build_resources, pids, .max = 1 << 22, .about = "processes and threads"),
};
static JSON_SHAPE(build_resources_shape, "BuildResources", build_resources,
                  "Of the template's sandboxes, and of those that build it");

static const struct json_member build_login_shape_members[] = {
        JSON_TEXT_MEMBER(image_login, username, .flags = JSON_REQUIRED, .max = 256),
        JSON_TEXT_MEMBER(image_login, password, .flags = JSON_REQUIRED | JSON_SECRET, .max = 16384,
                         .about = "or a token; the server keeps neither"),
};
JSON_SHAPE(build_login_shape, "RegistryLogin", image_login, "Name and password for a registry");

static const struct json_member build_spec_shape_members[] = {
        [BUILD_SPEC_INTERNET] =
                JSON_BOOL_MEMBER(build_spec, internet, .flags = JSON_OMIT_EMPTY,
                                 .about = "whether run steps reach it; default as of a sandbox"),
        JSON_TEXT_MEMBER(build_spec, name, .flags = JSON_REQUIRED, .max = 63,
                         .about = "of the template; one that was built on the same root "
                                  "filesystem is replaced"),
        JSON_TEXT_LIST_MEMBER(build_spec, also, .flags = JSON_OMIT_EMPTY, .max = BUILD_ALSO_MAX,
                              .about = "further names for templates that are the same"),
        JSON_TEXT_MEMBER(build_spec, from, .flags = JSON_OMIT_EMPTY, .max = STAGE_NAME_MAX,
                         .about = "template, or one of the stages, to begin with",
                         .example = "base"),
        JSON_TEXT_MEMBER(build_spec, image, .flags = JSON_OMIT_EMPTY, .max = 512,
                         .about = "image of a registry instead of from, or from which a missing "
                                  "`from` is pulled",
                         .example = "docker.io/library/python:3.12"),
        JSON_OBJECT_MEMBER(build_spec, login, &build_login_shape, .flags = JSON_OMIT_EMPTY,
                           .about = "at the registry of image"),
        JSON_TEXT_MEMBER(build_spec, description, .flags = JSON_OMIT_EMPTY, .max = 1000),
        JSON_LIST_MEMBER(build_spec, steps, &build_step_shape, .flags = JSON_OMIT_EMPTY,
                         .max = BUILD_STEPS_MAX),
        JSON_LIST_MEMBER(build_spec, stages, &build_stage_shape, .flags = JSON_OMIT_EMPTY,
                         .max = BUILD_STAGES_MAX, .about = "each may use those before it"),
        JSON_TEXT_MAP_MEMBER(build_spec, secrets, .flags = JSON_OMIT_EMPTY | JSON_SECRET,
                             .max = BUILD_SECRETS_MAX,
                             .about = "by id, for mounts of run steps; never stored"),
        JSON_TEXT_LIST_MEMBER(build_spec, notes, .flags = JSON_OMIT_EMPTY, .max = BUILD_NOTES_MAX,
                              .about = "lines for the log"),
        JSON_TEXT_MEMBER(build_spec, start, .flags = JSON_OMIT_EMPTY, .max = 16384,
                         .about = "the entrypoint, for /bin/sh -c; it runs at each start of a "
                                  "sandbox"),
        JSON_TEXT_LIST_MEMBER(build_spec, entrypoint, .flags = JSON_OMIT_EMPTY, .max = 64,
                              .about = "the same as a program and its arguments, without a shell"),
        JSON_TEXT_MEMBER(build_spec, ready, .flags = JSON_OMIT_EMPTY, .max = 16384,
                         .about = "for /bin/sh -c: at the end of the build the entrypoint is "
                                  "started and this is tried until it succeeds",
                         .example = "curl -sf http://127.0.0.1:8000/health"),
        JSON_WHOLE_MEMBER(build_spec, ready_timeout_ms, .flags = JSON_OMIT_EMPTY,
                          .max = BUILD_TIMEOUT_MAX_MS,
                          .about = "then the build fails (default 60000)"),
        JSON_WHOLE_MEMBER(build_spec, timeout_ms, .flags = JSON_OMIT_EMPTY,
                          .max = BUILD_TIMEOUT_MAX_MS,
                          .about = "of all of it, once it runs (default 3600000)"),
        JSON_OBJECT_MEMBER(build_spec, resources, &build_resources_shape, .flags = JSON_OMIT_EMPTY),
        JSON_RAW_MEMBER(build_spec, ports, .flags = JSON_OMIT_EMPTY,
                        .about = "list of up to 64 numbers from 1 to 65535", .example = "[3000]"),
        JSON_BOOL_MEMBER(build_spec, no_cache, .flags = JSON_OMIT_EMPTY,
                         .about = "execute every step"),
        JSON_BOOL_MEMBER(build_spec, pull, .flags = JSON_OMIT_EMPTY,
                         .about = "ask the registries whether the tags of images have other images "
                                  "by now, and pull those"),
};
JSON_BITS_SHAPE(build_spec_shape, "BuildCreate", build_spec, "A template by steps");

enum {
	TAKES_COMMAND = 1 << 0,
	TAKES_ENV = 1 << 1,
	TAKES_FILES = 1 << 2,
	TAKES_PATH = 1 << 3,
	TAKES_USER = 1 << 4,
	TAKES_MODE = 1 << 5,
	TAKES_TIMEOUT = 1 << 6,
	TAKES_FROM = 1 << 7,
	TAKES_TEXT = 1 << 8,
	TAKES_MOUNTS = 1 << 9,
};
static const struct {
	unsigned takes, needs;
} rules[BUILD_STEP_COUNT] = {
        [BUILD_RUN] = {TAKES_COMMAND | TAKES_ENV | TAKES_USER | TAKES_TIMEOUT | TAKES_MOUNTS,
                       TAKES_COMMAND},
        [BUILD_COPY] = {TAKES_FILES | TAKES_FROM | TAKES_PATH | TAKES_USER | TAKES_MODE,
                        TAKES_PATH},
        [BUILD_WRITE] = {TAKES_TEXT | TAKES_PATH | TAKES_USER | TAKES_MODE, TAKES_PATH},
        [BUILD_FOLDER] = {TAKES_PATH, TAKES_PATH},
        [BUILD_ENV] = {TAKES_ENV, TAKES_ENV},
        [BUILD_WORKDIR] = {TAKES_PATH, TAKES_PATH},
        [BUILD_USER] = {TAKES_USER, TAKES_USER},
};

static bool is_given(const char *text)
{
	return text && *text;
}

static int check_members(const struct build_step *s, struct error *err)
{
	const struct {
		const char *name;
		unsigned bit;
		bool given;
	} members[] = {
	        {"command", TAKES_COMMAND, is_given(s->command) || (s->args && s->args[0])},
	        {"env", TAKES_ENV, s->env.count > 0},
	        {"files", TAKES_FILES, is_given(s->files)},
	        {"from", TAKES_FROM, is_given(s->from)},
	        {"paths", TAKES_FROM, s->paths && s->paths[0]},
	        {"text", TAKES_TEXT, is_given(s->text)},
	        {"mounts", TAKES_MOUNTS, s->mounts.count > 0},
	        {"path", TAKES_PATH, is_given(s->path)},
	        {"user", TAKES_USER, is_given(s->user)},
	        {"mode", TAKES_MODE, is_given(s->mode)},
	        {"timeout_ms", TAKES_TIMEOUT, s->timeout_ms > 0},
	};

	for (size_t i = 0; i < COUNT_OF(members); i++) {
		if (members[i].given && !(rules[s->type].takes & members[i].bit))
			return FAIL(err, ERROR_INVALID, "%s: a %s step has none", members[i].name,
			            types[s->type]);
		if (!members[i].given && rules[s->type].needs & members[i].bit)
			return FAIL(err, ERROR_INVALID, "%s: a %s step needs one", members[i].name,
			            types[s->type]);
	}
	if (is_given(s->command) && s->args && s->args[0])
		return FAIL(err, ERROR_INVALID, "give either command or args");
	return 0;
}

static int check_word(const char *what, const char *word, struct error *err)
{
	for (const char *c = word; c && *c; c++)
		if (*c <= ' ' || *c > '~')
			return FAIL(err, ERROR_INVALID, "%s: printable characters without spaces",
			            what);
	return 0;
}

/* Checks a path, whichever folder it is relative to. */
static int check_path(const char *path, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const char *ignored;

	if (!is_given(path))
		return 0;
	for (const char *c = path; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return FAIL(err, ERROR_INVALID, "path: no control characters");
	if (path_resolve(&arena, "/x", span_of(path), &ignored, err) < 0)
		return FAIL_CONTEXT(err, "path");
	return 0;
}

static int check_mode(const char *mode, struct error *err)
{
	if (is_given(mode) && (strlen(mode) < 3 || mode[strspn(mode, "01234567")]))
		return FAIL(err, ERROR_INVALID, "mode: three or four octal digits, like 0644");
	return 0;
}

static int check_args(const char *const *args, struct error *err)
{
	size_t bytes = 0;

	for (size_t i = 0; args && args[i]; i++)
		bytes += strlen(args[i]) + 1;
	if (bytes > COMMAND_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "args: at most %d bytes", COMMAND_MAX);
	if (args && args[0] && !args[0][0])
		return FAIL(err, ERROR_INVALID, "args[0]: the program has no name");
	return 0;
}

/* The stages that a step may name: those before `stage_count`. */
struct step_rules {
	const struct build_spec *spec;
	size_t stage_count;
};

static int check_stage_name(const struct step_rules *r, const char *name, struct error *err)
{
	const struct build_stage *stages = r->spec->stages.items;

	for (size_t i = 0; i < r->stage_count; i++)
		if (strcmp(stages[i].name, name) == 0)
			return 0;
	return FAIL(err, ERROR_INVALID, "from: '%.60s' is not an earlier stage", name);
}

/* Absolute paths of a stage; the whole of it is no folder of files. */
static int check_stage_path(const char *path, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const char *clean;

	if (check_path(path, err) < 0 || path_resolve(&arena, "/", span_of(path), &clean, err) < 0)
		return -1;
	if (strcmp(clean, "/") != 0)
		return 0;
	(void)FAIL(err, ERROR_UNSUPPORTED, "the root of a stage cannot be copied as a whole");
	return FAIL_HINT(err, "begin with that stage (FROM STAGE), or copy its folders");
}

static int check_copy(const struct step_rules *r, const struct build_step *s, struct error *err)
{
	if (is_given(s->files) == is_given(s->from))
		return FAIL(err, ERROR_INVALID, "give either files or from");
	if (is_given(s->files))
		return build_files_check(s->files, err) < 0 ? FAIL_CONTEXT(err, "files") : 0;
	if (!s->paths || !s->paths[0])
		return FAIL(err, ERROR_INVALID, "paths: none");
	for (size_t i = 0; s->paths[i]; i++)
		if (check_stage_path(s->paths[i], err) < 0)
			return FAIL_CONTEXT(err, "paths[%zu]", i);
	return check_stage_name(r, s->from, err);
}

static int check_bind(const struct step_rules *r, const struct build_mount *m, struct error *err)
{
	if (is_given(m->files) == is_given(m->from))
		return FAIL(err, ERROR_INVALID, "give either files or from");
	if (is_given(m->files))
		return build_files_check(m->files, err) < 0 ? FAIL_CONTEXT(err, "files") : 0;
	if (check_stage_path(m->source ? m->source : "", err) < 0)
		return FAIL_CONTEXT(err, "source");
	return check_stage_name(r, m->from, err);
}

static int check_secret(const struct step_rules *r, const struct build_mount *m, struct error *err)
{
	const struct json_pair pair = {m->env, ""};
	const struct json_map env = {(struct json_pair[]){pair}, 1, true};

	if (!is_given(m->id))
		return FAIL(err, ERROR_INVALID, "id: a secret needs one");
	if (is_given(m->env) && environment_check(&env, err) < 0)
		return FAIL_CONTEXT(err, "env");
	if (m->required && !text_map_find(&r->spec->secrets, m->id)) {
		(void)FAIL(err, ERROR_INVALID, "the secret '%.60s' is required and not given",
		           m->id);
		return FAIL_HINT(err, "atoll template build --secret id=%.60s,src=FILE", m->id);
	}
	return 0;
}

static int check_mount(const struct step_rules *r, const struct build_mount *m, struct error *err)
{
	bool is_secret = m->type == BUILD_MOUNT_SECRET;

	if (!is_given(m->path) && !(is_secret && is_given(m->env)))
		return FAIL(err, ERROR_INVALID, "path: needed");
	if (check_path(m->path, err) < 0 || check_word("user", m->user, err) < 0 ||
	    check_mode(m->mode, err) < 0)
		return -1;
	if (m->type == BUILD_MOUNT_CACHE && !is_given(m->id))
		return FAIL(err, ERROR_INVALID, "id: a cache needs one");
	if (m->type == BUILD_MOUNT_BIND)
		return check_bind(r, m, err);
	return is_secret ? check_secret(r, m, err) : 0;
}

static int check_step(const struct step_rules *r, const struct build_step *s, struct error *err)
{
	const struct build_mount *mounts = s->mounts.items;

	if (check_members(s, err) < 0 || check_args(s->args, err) < 0 ||
	    environment_check(&s->env, err) < 0 || check_path(s->path, err) < 0 ||
	    check_word("user", s->user, err) < 0 || check_mode(s->mode, err) < 0)
		return -1;
	if (s->mounts.count > BUILD_MOUNTS_MAX)
		return FAIL(err, ERROR_LIMIT, "mounts: at most %d", BUILD_MOUNTS_MAX);
	for (size_t i = 0; i < s->mounts.count; i++)
		if (check_mount(r, &mounts[i], err) < 0)
			return FAIL_CONTEXT(err, "mounts[%zu]", i);
	return s->type == BUILD_COPY ? check_copy(r, s, err) : 0;
}

static int check_steps(const struct step_rules *r, const struct json_list *list, struct error *err)
{
	const struct build_step *steps = list->items;

	for (size_t i = 0; i < list->count; i++)
		if (check_step(r, &steps[i], err) < 0)
			return FAIL_CONTEXT(err, "steps[%zu]", i);
	return 0;
}

static int check_ports(struct span ports, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *list;

	if (ports.size == 0)
		return 0;
	if (ports.data[0] != '[' || json_load(&arena, ports, &list, err) < 0)
		return FAIL(err, ERROR_INVALID, "ports: a list of numbers");
	if (json_count(list) > PORTS_MAX)
		return FAIL(err, ERROR_LIMIT, "ports: at most %d", PORTS_MAX);
	for (size_t i = 0; i < json_count(list); i++)
		if (json_whole(json_item_at(list, i), 0) < 1 ||
		    json_whole(json_item_at(list, i), 0) > 65535)
			return FAIL(err, ERROR_INVALID,
			            "ports[%zu]: a whole number from 1 to 65535", i);
	return 0;
}

void build_name_images(struct arena *a, struct build_spec *spec)
{
	const struct build_stage *given = spec->stages.items;
	struct build_stage *stages = ARENA_ARRAY(a, struct build_stage, spec->stages.count + 1);

	for (size_t i = 0; i < spec->stages.count; i++) {
		stages[i] = given[i];
		if (is_given(stages[i].image) && !is_given(stages[i].from))
			stages[i].from = fleet_image_name(a, stages[i].image);
	}
	spec->stages.items = stages;
	if (is_given(spec->image) && !is_given(spec->from))
		spec->from = fleet_image_name(a, spec->image);
}

static int check_source(const struct step_rules *r, const struct build_stage *stage,
                        struct error *err)
{
	struct error ignored = {0};

	if (!is_given(stage->from))
		return FAIL(err, ERROR_INVALID, "give from or image");
	/* A template or, if there is none of that name, an image. */
	if (!is_given(stage->image) || strcmp(stage->image, stage->from) == 0)
		return 0;
	if (check_stage_name(r, stage->from, &ignored) == 0)
		return FAIL(err, ERROR_INVALID, "image: '%.60s' is a stage", stage->from);
	if (image_name_check(stage->from, err) < 0)
		return FAIL_CONTEXT(err, "from");
	return image_reference_check(stage->image, err) < 0 ? FAIL_CONTEXT(err, "image") : 0;
}

static int check_stages(const struct build_spec *spec, struct error *err)
{
	const struct build_stage *stages = spec->stages.items;
	size_t steps = spec->steps.count, i;
	struct error ignored = {0};

	if (spec->stages.count > BUILD_STAGES_MAX)
		return FAIL(err, ERROR_LIMIT, "stages: at most %d", BUILD_STAGES_MAX);
	for (i = 0; i < spec->stages.count; i++) {
		const struct step_rules known = {spec, i};

		steps += stages[i].steps.count;
		if (check_stage_name(&known, stages[i].name, &ignored) == 0)
			return FAIL(err, ERROR_INVALID,
			            "stages[%zu]: there is a stage '%.60s' already", i,
			            stages[i].name);
		if (check_source(&known, &stages[i], err) < 0 ||
		    check_steps(&known, &stages[i].steps, err) < 0)
			return FAIL_CONTEXT(err, "stages[%zu]", i);
	}
	if (steps > BUILD_STEPS_MAX)
		return FAIL(err, ERROR_LIMIT, "steps: at most %d", BUILD_STEPS_MAX);
	return check_steps(&(struct step_rules){spec, i}, &spec->steps, err);
}

static int check_secrets(const struct build_spec *spec, struct error *err)
{
	const struct json_map *secrets = &spec->secrets;

	for (size_t i = 0; i < secrets->count; i++)
		if (strlen(secrets->pairs[i].key) > ID_TEXT_MAX ||
		    strlen(secrets->pairs[i].value) > SECRET_MAX)
			return FAIL(err, ERROR_TOO_LARGE,
			            "secrets: an id has at most %d bytes, a secret %d", ID_TEXT_MAX,
			            SECRET_MAX);
	return 0;
}

static int check_image(const struct build_spec *spec, struct error *err)
{
	const struct step_rules known = {spec, spec->stages.count};
	const struct build_stage last = {.from = spec->from, .image = spec->image};

	if (is_given(spec->login.username) && image_login_check(&spec->login, err) < 0)
		return FAIL_CONTEXT(err, "login");
	if (is_given(spec->login.username) && !is_given(spec->image))
		return FAIL(err, ERROR_INVALID, "login: needs an image to log in for");
	return check_source(&known, &last, err);
}

int build_spec_check(const struct fleet *fleet, const struct build_spec *spec, struct error *err)
{
	const struct sandbox_resources resources = {spec->resources.cpu, spec->resources.memory_mb,
	                                            spec->resources.disk_mb, spec->resources.pids};
	const struct fleet_recipe recipe = {.description = spec->description,
	                                    .entrypoint = spec->entrypoint,
	                                    .resources = &resources};
	bool starts = is_given(spec->start) || (spec->entrypoint && spec->entrypoint[0]);

	if (image_name_check(spec->name, err) < 0 || fleet_recipe_check(fleet, &recipe, err) < 0 ||
	    check_ports(spec->ports, err) < 0 || check_image(spec, err) < 0 ||
	    check_secrets(spec, err) < 0)
		return -1;
	for (size_t i = 0; spec->also && spec->also[i]; i++)
		if (image_name_check(spec->also[i], err) < 0)
			return FAIL_CONTEXT(err, "also[%zu]", i);
	if (is_given(spec->start) && spec->entrypoint && spec->entrypoint[0])
		return FAIL(err, ERROR_INVALID, "give either start or entrypoint");
	if (is_given(spec->ready) && !starts)
		return FAIL(err, ERROR_INVALID, "ready: needs start or entrypoint, to be ready");
	return check_stages(spec, err);
}

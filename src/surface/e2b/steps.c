/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/e2b/steps.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "surface/e2b/announced.h"

/* A copy step unpacks its files here; the next step moves them to their destination. */
#define COPY_FOLDER "/.atoll-copy"
#define READY_TIMEOUT_MS 60000

static const struct json_member e2b_step_shape_members[] = {
        JSON_TEXT_MEMBER(e2b_step, type, .flags = JSON_REQUIRED, .max = 32),
        JSON_TEXT_LIST_MEMBER(e2b_step, args, .max = 512),
        JSON_TEXT_MEMBER(e2b_step, files_hash, .name = "filesHash", .max = BUILD_FILES_HASH_SIZE),
        JSON_BOOL_MEMBER(e2b_step, force),
};
JSON_OPEN_SHAPE(e2b_step_shape, "E2bStep", e2b_step, "A step of a template");

/* Copies $1 of the archive to $2, with the owner $3 and the mode $4. A file is copied to a new name
 * or into a folder. Of a folder, or of the matches of a pattern, the content is copied. */
static const char copy_files[] =
        "set -e\n"
        "from=" COPY_FOLDER "; src=$1; to=$2\n"
        "[ -z \"$3\" ] || chown -hR \"$3\" \"$from\"\n"
        "[ -z \"$4\" ] || find \"$from\" ! -type d ! -type l -exec chmod \"$4\" {} +\n"
        "into() { mkdir -p \"$to\"; for e in \"$1\"/* \"$1\"/.[!.]* \"$1\"/..?*; do\n"
        "  if [ -e \"$e\" ] || [ -L \"$e\" ]; then cp -a \"$e\" \"$to/\"; fi; done; }\n"
        "if [ -d \"$from/$src\" ] && [ ! -L \"$from/$src\" ]; then into \"$from/$src\"\n"
        "elif [ -e \"$from/$src\" ] || [ -L \"$from/$src\" ]; then\n"
        "  case $to in */|.|..) mkdir -p \"$to\" ;; *) mkdir -p \"$(dirname \"$to\")\" ;; esac\n"
        "  cp -a \"$from/$src\" \"$to\"\n"
        "else into \"$from/$(dirname \"$src\")\"; fi\n"
        "rm -rf \"$from\"\n";

/* In the few images without timeout(1) the step's own time limit is the only one. */
static const char wait_ready[] =
        "try() { /bin/sh -c \"$1\"; }\n"
        "command -v timeout >/dev/null && try() { timeout -s KILL 30 /bin/sh -c \"$1\"; }\n"
        "until try \"$1\"; do sleep 0.5; done\n";

struct step_reader {
	struct arena *arena;
	const struct e2b_step *step;
	size_t arg_count;
	struct build_step *out;
	size_t count, capacity; /* of out */
	const char *user;       /* the user that the last USER step has set, for later steps */
};

static const char *get_argument(const struct step_reader *r, size_t i)
{
	return i < r->arg_count ? r->step->args[i] : "";
}

static struct build_step *add_step(struct step_reader *r, enum build_step_type type)
{
	struct build_step *step = &r->out[r->count++];

	assert(r->count <= r->capacity);
	step->type = (int)type;
	step->force = r->step->force;
	return step;
}

static int read_env(struct step_reader *r, struct error *err)
{
	struct build_step *step = add_step(r, BUILD_ENV);

	if (r->arg_count == 0 || r->arg_count % 2 != 0)
		return FAIL(err, ERROR_INVALID, "ENV needs pairs of a name and a value");
	step->env.pairs = ARENA_ARRAY(r->arena, struct json_pair, r->arg_count / 2);
	for (size_t i = 0; i < r->arg_count; i += 2)
		step->env.pairs[step->env.count++] =
		        (struct json_pair){get_argument(r, i), get_argument(r, i + 1)};
	step->env.present = true;
	return 0;
}

static int read_run(struct step_reader *r, struct error *err)
{
	struct build_step *step = add_step(r, BUILD_RUN);

	if (!get_argument(r, 0)[0])
		return FAIL(err, ERROR_INVALID, "RUN needs a command");
	step->args = ARENA_ARRAY(r->arena, const char *, 4);
	step->args[0] = "/bin/bash";
	step->args[1] = "-c";
	step->args[2] = get_argument(r, 0);
	step->user = get_argument(r, 1);
	return 0;
}

static int read_copy(struct step_reader *r, struct error *err)
{
	struct build_step *files = add_step(r, BUILD_COPY), *copy = add_step(r, BUILD_RUN);
	const char *words[] = {"/bin/sh",
	                       "-c",
	                       copy_files,
	                       "sh",
	                       get_argument(r, 0),
	                       get_argument(r, 1),
	                       get_argument(r, 2)[0] ? get_argument(r, 2) : r->user,
	                       get_argument(r, 3),
	                       NULL};

	if (!get_argument(r, 0)[0] || !get_argument(r, 1)[0])
		return FAIL(err, ERROR_INVALID, "COPY needs a source and a destination");
	if (!r->step->files_hash)
		return FAIL(err, ERROR_INVALID, "COPY needs a filesHash");
	files->files = r->step->files_hash;
	files->path = COPY_FOLDER;
	copy->user = "root";
	copy->args = ARENA_ARRAY(r->arena, const char *, COUNT_OF(words));
	memcpy(copy->args, words, sizeof(words));
	return 0;
}

static int read_workdir(struct step_reader *r, struct error *err)
{
	add_step(r, BUILD_WORKDIR)->path = get_argument(r, 0);
	return get_argument(r, 0)[0] ? 0 : FAIL(err, ERROR_INVALID, "WORKDIR needs a path");
}

static int read_user(struct step_reader *r, struct error *err)
{
	r->user = add_step(r, BUILD_USER)->user = get_argument(r, 0);
	return get_argument(r, 0)[0] ? 0 : FAIL(err, ERROR_INVALID, "USER needs a name");
}

static const struct {
	const char *type;
	int (*read)(struct step_reader *r, struct error *err);
} readers[] = {
        {"ENV", read_env},         {"RUN", read_run},   {"COPY", read_copy},
        {"WORKDIR", read_workdir}, {"USER", read_user},
};

static int read_step(struct step_reader *r, struct error *err)
{
	r->arg_count = 0;
	while (r->step->args && r->step->args[r->arg_count])
		r->arg_count++;
	for (size_t i = 0; i < COUNT_OF(readers); i++)
		if (strcmp(readers[i].type, r->step->type) == 0)
			return readers[i].read(r, err);
	return FAIL(err, ERROR_UNSUPPORTED, "steps of the type '%s' are not supported",
	            r->step->type);
}

int e2b_steps_read(struct arena *a, const struct json_list *steps, struct build_spec *spec,
                   struct e2b_announced_build *announced, struct error *err)
{
	const struct e2b_step *items = steps->items;
	struct step_reader r = {.arena = a, .user = ""};

	if (steps->count > BUILD_STEPS_MAX / 2)
		return FAIL(err, ERROR_LIMIT, "steps: at most %d", BUILD_STEPS_MAX / 2);
	/* A COPY becomes two steps of the build. */
	r.capacity = 2 * steps->count;
	r.out = ARENA_ARRAY(a, struct build_step, r.capacity + 1);
	for (size_t i = 0; i < steps->count; i++) {
		size_t before = r.count;

		r.step = &items[i];
		if (read_step(&r, err) < 0)
			return FAIL_CONTEXT(err, "steps[%zu]", i);
		for (size_t own = before; own < r.count; own++)
			announced->step_of[own] = (uint8_t)(i + 1);
	}
	spec->steps = (struct json_list){r.out, r.count, true};
	return 0;
}

void e2b_steps_add_ready(struct arena *a, const char *ready, struct build_spec *spec)
{
	const char *words[] = {"/bin/sh", "-c", wait_ready, "sh", ready, NULL};
	struct build_step *steps = ARENA_ARRAY(a, struct build_step, spec->steps.count + 1),
	                  *last = &steps[spec->steps.count];

	if (spec->steps.count > 0)
		memcpy(steps, spec->steps.items, spec->steps.count * sizeof(*steps));
	last->type = BUILD_RUN;
	last->args = ARENA_ARRAY(a, const char *, COUNT_OF(words));
	memcpy(last->args, words, sizeof(words));
	last->timeout_ms = READY_TIMEOUT_MS;
	spec->steps = (struct json_list){steps, spec->steps.count + 1, true};
}

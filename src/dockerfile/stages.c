/* SPDX-License-Identifier: Apache-2.0 */
/* Stages: FROM, names in --from, and which stages the result needs. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "dockerfile/translation.h"
#include "json/json.h"

#define STAGE_NAME_MAX 128

static struct docker_stage *stage_new(struct docker_translation *t)
{
	struct docker_stage *stage = ARENA_NEW(t->arena, struct docker_stage);

	*stage = (struct docker_stage){.steps = BUF(DOCKER_BODY_MAX), .ports = BUF(4096)};
	t->stages[t->stage_count++] = stage;
	return stage;
}

void docker_stages_done(struct docker_translation *t)
{
	for (unsigned i = 0; i < t->stage_count; i++) {
		buf_done(&t->stages[i]->steps);
		buf_done(&t->stages[i]->ports);
	}
}

static int check_room(const struct docker_translation *t, struct error *err)
{
	return t->stage_count == DOCKER_STAGES_MAX
	               ? FAIL(err, ERROR_INVALID, "more than %d stages", DOCKER_STAGES_MAX)
	               : 0;
}

/* By name; `with_files`: also what is not in the file. */
static struct docker_stage *find_stage(struct docker_translation *t, const char *name,
                                       bool with_files)
{
	for (unsigned i = 0; i < t->stage_count; i++)
		if (t->stages[i] != t->stage && t->stages[i]->is_files_only == with_files &&
		    strcasecmp(t->stages[i]->name, name) == 0)
			return t->stages[i];
	return NULL;
}

static struct docker_stage *find_numbered(struct docker_translation *t, const char *name)
{
	struct error ignored = {0};
	int64_t number;

	if (span_parse_whole(span_of(name), 0, DOCKER_STAGES_MAX, &number, &ignored) < 0)
		return NULL;
	for (unsigned i = 0; i < t->stage_count; i++)
		if (!t->stages[i]->is_files_only && number-- == 0)
			return t->stages[i] == t->stage ? NULL : t->stages[i];
	return NULL;
}

static void add_need(struct docker_translation *t, const struct docker_stage *needed)
{
	for (unsigned i = 0; i < t->stage_count; i++)
		if (t->stages[i] == needed)
			t->stage->needs |= UINT64_C(1) << i;
}

static bool is_image_name(const char *name)
{
	return strpbrk(name, ":/@") != NULL;
}

static int check_source(const char *name, struct error *err)
{
	if (strcasecmp(name, "scratch") != 0)
		return 0;
	return docker_refuse("an empty root filesystem (scratch)",
	                     "begin with a small template, such as minimal", err);
}

int docker_stage_named(struct docker_translation *t, const char *name, const char **ret,
                       struct error *err)
{
	struct docker_stage *found = find_stage(t, name, false);
	bool is_number = name[0] && !name[strspn(name, "0123456789")];

	if (!found && t->stage && strcasecmp(t->stage->name, name) == 0)
		return FAIL(err, ERROR_INVALID, "stage '%.60s' is this one", name);
	if (!found && is_number) {
		found = find_numbered(t, name);
		if (!found)
			return FAIL(err, ERROR_INVALID, "there is no earlier stage %.20s", name);
	}
	if (!found)
		found = find_stage(t, arena_format(t->arena, "@%s", name), true);
	if (!found) {
		if (!*name)
			return FAIL(err, ERROR_INVALID, "--from is empty");
		if (check_source(name, err) < 0 || check_room(t, err) < 0)
			return -1;
		found = stage_new(t);
		found->name = arena_format(t->arena, "@%s", name);
		found->from = arena_text(t->arena, name);
		found->may_be_image = true;
		found->is_files_only = true;
	}
	add_need(t, found);
	*ret = found->name;
	return 0;
}

static int check_name(struct docker_translation *t, const char *name, struct error *err)
{
	bool is_fine = isalpha((unsigned char)name[0]) && strlen(name) <= STAGE_NAME_MAX;

	for (const char *c = name; *c; c++)
		is_fine = is_fine && (isalnum((unsigned char)*c) || strchr("-_.", *c));
	if (!is_fine)
		return FAIL(err, ERROR_INVALID,
		            "'%.60s' is not a stage's name: a letter, then letters, digits, "
		            "'-', '_' and '.'",
		            name);
	return find_stage(t, name, false)
	               ? FAIL(err, ERROR_INVALID, "there is a stage '%.60s' already", name)
	               : 0;
}

static int check_platform(struct docker_translation *t, const struct docker_flag *flags,
                          struct error *err)
{
	const char *const own = docker_variable_get(&t->before, SPAN("TARGETPLATFORM"));
	const char *value;

	for (; flags->name; flags++) {
		if (strcmp(flags->name, "platform") != 0)
			return FAIL(err, ERROR_INVALID, "FROM has no option --%s", flags->name);
		if (docker_flag_value(t, flags, &value, err) < 0)
			return -1;
		if (*value && strcmp(value, own) != 0)
			return docker_refuse(arena_format(t->arena, "FROM --platform=%s", value),
			                     arena_format(t->arena,
			                                  "the only platform is the server's, %s",
			                                  own),
			                     err);
	}
	return 0;
}

static unsigned count_in_file(const struct docker_translation *t)
{
	unsigned count = 0;

	for (unsigned i = 0; i < t->stage_count; i++)
		count += !t->stages[i]->is_files_only;
	return count;
}

/* As with Docker, a stage on a stage has its variables, shell, ports and entrypoint. */
static void inherit_stage(struct docker_translation *t, const struct docker_stage *from)
{
	struct docker_stage *stage = t->stage;
	const struct docker_variables *vars = &from->vars;

	for (size_t i = 0; i < vars->count; i++)
		docker_variable_set(t->arena, &stage->vars, &vars->items[i]);
	buf_add_span(&stage->ports, buf_span(&from->ports));
	stage->port_count = from->port_count;
	stage->entrypoint = from->entrypoint;
	stage->command = from->command;
	stage->ready = from->ready;
	stage->shell = from->shell;
	add_need(t, from);
}

/* Only the server knows what PATH the template has: an env step takes this for the path so far. */
static const struct docker_variable path_so_far = {.name = "PATH", .value = "${PATH}"};

static int set_source(struct docker_translation *t, const char *name, struct error *err)
{
	struct docker_stage *from = find_stage(t, name, false);

	t->stage->from = from ? from->name : t->file->from ? t->file->from : name;
	if (from) {
		inherit_stage(t, from);
		return 0;
	}
	docker_variable_set(t->arena, &t->stage->vars, &path_so_far);
	t->stage->may_be_image = !t->file->from || is_image_name(t->file->from);
	if (t->file->from)
		return 0;
	return *name ? check_source(name, err)
	             : FAIL(err, ERROR_INVALID, "takes a template's name, and it is empty");
}

/* The stage is there even after a failure, so that what follows is checked, too. */
int translate_from_instruction(struct docker_translation *t, const char *rest, struct error *err)
{
	struct docker_flag flags[DOCKER_FLAGS_MAX + 1];
	const char **words;
	bool is_named;

	if (check_room(t, err) < 0)
		return -1;
	t->stage = stage_new(t);
	t->stage->name = arena_format(t->arena, "%u", count_in_file(t) - 1);
	t->stage->from = "";
	if (docker_take_flags(t, &rest, flags, err) < 0 || check_platform(t, flags, err) < 0 ||
	    docker_words(t->arena, rest, &t->before, false, &words, err) < 0)
		return -1;
	is_named = words[0] && words[1];
	if (!words[0] || (is_named && (strcasecmp(words[1], "as") != 0 || !words[2] || words[3])))
		return FAIL(err, ERROR_INVALID, "takes a template's name, or NAME AS STAGE");
	if (is_named && check_name(t, words[2], err) < 0)
		return -1;
	if (set_source(t, words[0], err) < 0)
		return -1;
	if (is_named)
		t->stage->name = words[2];
	return 0;
}

static int choose_last(struct docker_translation *t, const struct docker_stage **ret,
                       struct error *err)
{
	const char *target = t->file->target;

	*ret = t->stage;
	t->stage = NULL;
	for (unsigned i = 0; i < t->stage_count; i++)
		if (t->stages[i]->is_files_only && find_stage(t, t->stages[i]->from, false))
			return FAIL(err, ERROR_INVALID,
			            "stage '%.60s' comes after an instruction that uses it",
			            t->stages[i]->from);
	if (!target)
		return 0;
	*ret = find_stage(t, target, false);
	if (!*ret)
		*ret = find_numbered(t, target);
	return *ret ? 0
	            : FAIL(err, ERROR_INVALID, "%s has no stage '%.60s'", t->file->name, target);
}

/* The bits of all stages that `last` needs, directly or not; not its own. */
static uint64_t find_needed(const struct docker_translation *t, const struct docker_stage *last)
{
	uint64_t needed = last->needs, before = 0;

	while (needed != before) {
		before = needed;
		for (unsigned i = 0; i < t->stage_count; i++)
			if (needed >> i & 1)
				needed |= t->stages[i]->needs;
	}
	return needed;
}

static void write_source(const struct docker_stage *stage, struct buf *out)
{
	const char *image = stage->may_be_image ? stage->from : NULL;

	/* The server names the template of an image. */
	if (image && is_image_name(image)) {
		buf_add_text(out, "\"image\":");
		json_write_text(out, span_of(image));
	} else {
		buf_add_text(out, "\"from\":");
		json_write_text(out, span_of(stage->from));
		docker_add_member(out, "image", image);
	}
	buf_addf(out, ",\"steps\":[%s]", buf_text(&stage->steps));
}

static void write_stage(const struct docker_stage *stage, struct buf *out)
{
	buf_add_text(out, "{\"name\":");
	json_write_text(out, span_of(stage->name));
	buf_add_byte(out, ',');
	write_source(stage, out);
	buf_add_byte(out, '}');
}

int docker_stages_write(struct docker_translation *t, struct buf *out,
                        const struct docker_stage **ret_last, struct error *err)
{
	const struct docker_stage *last;
	unsigned count = 0;
	uint64_t needed;

	if (choose_last(t, &last, err) < 0)
		return -1;
	needed = find_needed(t, last);
	write_source(last, out);
	/* Those that are not in the file come first: any stage may need them. */
	for (unsigned i = 0; i < 2 * t->stage_count; i++) {
		unsigned index = i % t->stage_count;
		const struct docker_stage *stage = t->stages[index];

		if (!(needed >> index & 1) || stage->is_files_only != (i < t->stage_count))
			continue;
		buf_add_text(out, count++ == 0 ? ",\"stages\":[" : ",");
		write_stage(stage, out);
		if (stage->steps.overflowed)
			out->overflowed = true;
	}
	if (count > 0)
		buf_add_byte(out, ']');
	out->overflowed |= last->steps.overflowed;
	*ret_last = last;
	return 0;
}

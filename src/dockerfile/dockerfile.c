/* SPDX-License-Identifier: Apache-2.0 */
#include "dockerfile/dockerfile.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>

#include "dockerfile/translation.h"
#include "json/json.h"

#define FAILURES_MAX 100
#define LISTED_MAX 400 /* bytes of an error's text for the lines that failed */

const char *docker_skip_blanks(const char *text)
{
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

void docker_add_texts(struct buf *out, const char *const *texts)
{
	buf_add_byte(out, '[');
	for (size_t i = 0; texts[i]; i++) {
		if (i > 0)
			buf_add_byte(out, ',');
		json_write_text(out, span_of(texts[i]));
	}
	buf_add_byte(out, ']');
}

void docker_add_member(struct buf *out, const char *name, const char *value)
{
	if (!value)
		return;
	buf_addf(out, ",\"%s\":", name);
	json_write_text(out, span_of(value));
}

void docker_begin_step(struct docker_translation *t, const char *type)
{
	buf_addf(&t->stage->steps, "%s{\"type\":\"%s\"", t->stage->step_count++ > 0 ? "," : "",
	         type);
}

void docker_end_step(struct docker_translation *t)
{
	buf_add_byte(&t->stage->steps, '}');
}

void docker_note(struct docker_translation *t, const char *text)
{
	const char *note = arena_format(t->arena, "%s:%u: %s", t->file->name, t->at->line, text);

	if (t->note_count++ > 0)
		buf_add_byte(&t->notes, ',');
	json_write_text(&t->notes, span_of(note));
}

int docker_refuse(const char *what, const char *instead, struct error *err)
{
	(void)FAIL(err, ERROR_UNSUPPORTED, "%s is not supported", what);
	return FAIL_HINT(err, "%s", instead);
}

const char **docker_parse_list(struct arena *a, const char *text)
{
	struct error ignored = {0};
	const struct json_value *list;
	const char **words;

	if (text[0] != '[' || json_load(a, span_of(text), &list, &ignored) < 0)
		return NULL;
	words = ARENA_ARRAY(a, const char *, json_count(list) + 1);
	for (size_t i = 0; i < json_count(list); i++) {
		words[i] = json_text(json_item_at(list, i), NULL);
		if (!words[i])
			return NULL;
	}
	return words;
}

int docker_take_flags(struct docker_translation *t, const char **text,
                      struct docker_flag ret[DOCKER_FLAGS_MAX + 1], struct error *err)
{
	size_t count = 0;

	*text = docker_skip_blanks(*text);
	while (strncmp(*text, "--", 2) == 0) {
		const char *begin = *text + 2;
		size_t size = strcspn(begin, " \t"), name = strcspn(begin, "= \t");

		if (count == DOCKER_FLAGS_MAX)
			return FAIL(err, ERROR_INVALID, "too many options");
		ret[count].name = arena_copy(t->arena, (struct span){begin, name});
		ret[count++].value =
		        name < size ? arena_copy(t->arena,
		                                 (struct span){begin + name + 1, size - name - 1})
		                    : "";
		*text = docker_skip_blanks(begin + size);
	}
	ret[count] = (struct docker_flag){0};
	return 0;
}

int docker_flag_value(struct docker_translation *t, const struct docker_flag *flag,
                      const char **ret, struct error *err)
{
	const char **value;

	if (docker_words(t->arena, flag->value, t->stage ? &t->stage->vars : &t->before, true,
	                 &value, err) < 0)
		return -1;
	*ret = value[0];
	return 0;
}

static const struct {
	const char *name;
	translate_instruction *run;
} instructions[] = {
        {"FROM", translate_from_instruction},
        {"RUN", translate_run},
        {"COPY", translate_copy},
        {"ADD", translate_add},
        {"ENV", translate_env},
        {"ARG", translate_arg},
        {"WORKDIR", translate_workdir},
        {"USER", translate_user},
        {"SHELL", translate_shell},
        {"CMD", translate_cmd},
        {"ENTRYPOINT", translate_entrypoint},
        {"HEALTHCHECK", translate_healthcheck},
        {"EXPOSE", translate_expose},
        {"VOLUME", translate_volume},
        {"LABEL", translate_label},
        {"MAINTAINER", translate_maintainer},
        {"STOPSIGNAL", translate_stopsignal},
        {"ONBUILD", translate_onbuild},
};

static int run_instruction(struct docker_translation *t, const char *text, struct error *err)
{
	size_t size = strcspn(text, " \t");
	const char *rest = docker_skip_blanks(text + size);

	for (size_t i = 0; i < COUNT_OF(instructions); i++) {
		const char *name = instructions[i].name;

		if (!span_is_word((struct span){text, size}, name))
			continue;
		if (!t->stage && instructions[i].run != translate_from_instruction &&
		    instructions[i].run != translate_arg)
			return FAIL(err, ERROR_INVALID, "FROM must come before %s", name);
		if (instructions[i].run(t, rest, err) < 0)
			return err->code == ERROR_UNSUPPORTED ? -1 : FAIL_CONTEXT(err, "%s", name);
		return 0;
	}
	return FAIL(err, ERROR_INVALID, "'%.*s' is not an instruction", size < 40 ? (int)size : 40,
	            text);
}

/* The lines that failed: the first as it is, all as one list, and each in the notes. */
struct failures {
	struct docker_translation *translation;
	struct buf *notes;
	struct error first;
	unsigned first_line, count;
	struct buf list;
};

static void failures_done(struct failures *f)
{
	buf_done(&f->list);
}

static void add_failure(struct failures *f, unsigned line, const struct error *err)
{
	const char *end = strstr(err->text, " is not supported");
	int size = end ? (int)(end - err->text) : (int)strlen(err->text);

	if (f->count++ == 0) {
		f->first = *err;
		f->first_line = line;
	}
	buf_addf(f->notes, "%s:%u: %s%s%s\n", f->translation->file->name, line, err->text,
	         *err->hint ? "; hint: " : "", err->hint);
	buf_addf(&f->list, "%s%u", f->count > 1 ? ", " : "", line);
	if (f->list.size + (size_t)size < LISTED_MAX)
		buf_addf(&f->list, " %.*s", size, err->text);
}

static int end_failures(const struct failures *f, struct error *err)
{
	const char *name = f->translation->file->name;

	if (f->count == 0)
		return 0;
	*err = f->first;
	if (f->count == 1)
		return FAIL_CONTEXT(err, "%s:%u", name, f->first_line);
	return FAIL(err, f->first.code, "%s: %u lines cannot be built: %s", name, f->count,
	            buf_text(&f->list));
}

/* Text of one instruction may be many times as long as the instruction. */
static int check_size(const struct docker_translation *t, struct error *err)
{
	size_t size = t->notes.size;

	for (unsigned i = 0; i < t->stage_count; i++)
		size += t->stages[i]->steps.size;
	return size < DOCKER_BODY_MAX / 2
	               ? 0
	               : FAIL(err, ERROR_TOO_LARGE, "the steps have more than %zu bytes",
	                      DOCKER_BODY_MAX / 2);
}

static int on_instruction(void *context, const struct docker_instruction *instruction,
                          struct error *err)
{
	struct failures *f = context;
	struct error failure = {0};

	f->translation->at = instruction;
	if (run_instruction(f->translation, instruction->text, &failure) == 0)
		return check_size(f->translation, err);
	add_failure(f, instruction->line, &failure);
	return f->count < FAILURES_MAX ? 0 : FAIL(err, ERROR_INVALID, "and more lines fail");
}

static int run_lines(struct docker_translation *t, struct buf *notes, struct error *err)
{
	AUTO(failures_done) struct failures f = {
	        .translation = t, .notes = notes, .list = BUF(16384)};
	const struct docker_reader reader = {on_instruction, &f};
	struct error failure = {0};
	unsigned line = 0;

	if (docker_lines_read(t->arena, t->file->text, &reader, &line, &failure) < 0)
		add_failure(&f, line, &failure);
	return end_failures(&f, err);
}

/* Programs that end at once without a terminal, common as CMD of images. */
static bool is_interactive(const char *const *words)
{
	static const char *const names[] = {"bash", "sh",   "ash",    "dash",   "zsh",
	                                    "fish", "node", "python", "python3"};
	const char *name = words[0] ? strrchr(words[0], '/') : NULL;

	if (!words[0] || words[1])
		return !words[0];
	name = name ? name + 1 : words[0];
	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static void write_entrypoint(struct arena *a, const struct docker_stage *last, struct buf *out)
{
	const struct docker_command *e = &last->entrypoint, *c = &last->command;
	const char **all;
	size_t count = 0;

	if (!e->items && !c->items)
		return;
	all = ARENA_ARRAY(a, const char *, 2 * 4096);
	for (size_t i = 0; e->items && e->items[i] && count < 4096; i++)
		all[count++] = e->items[i];
	/* An entrypoint in shell form takes no arguments. */
	for (size_t i = 0; !e->is_shell && c->items && c->items[i] && count < 8191; i++)
		all[count++] = c->items[i];
	if (is_interactive(all))
		return;
	buf_add_text(out, ",\"entrypoint\":");
	docker_add_texts(out, all);
}

static int write_body(struct docker_translation *t, struct buf *out, struct error *err)
{
	const struct docker_stage *last;
	size_t before;

	buf_add_byte(out, '{');
	if (docker_stages_write(t, out, &last, err) < 0)
		return -1;
	if (t->note_count > 0)
		buf_addf(out, ",\"notes\":[%s]", buf_text(&t->notes));
	before = out->size;
	write_entrypoint(t->arena, last, out);
	if (out->size > before)
		docker_add_member(out, "ready", last->ready);
	if (last->port_count > 0)
		buf_addf(out, ",\"ports\":[%s]", buf_text(&last->ports));
	buf_add_byte(out, '}');
	if (out->overflowed || t->notes.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "%s is too large", t->file->name);
	return 0;
}

/* Variables that exist without an ARG above FROM. */
static void set_platform(struct docker_translation *t)
{
	struct utsname system = {0};
	const char *machine;

	(void)uname(&system);
	machine = strcmp(system.machine, "x86_64") == 0    ? "amd64"
	          : strcmp(system.machine, "aarch64") == 0 ? "arm64"
	                                                   : system.machine;
	const struct docker_variable all[] = {
	        {"TARGETPLATFORM", arena_format(t->arena, "linux/%s", machine), true},
	        {"BUILDPLATFORM", arena_format(t->arena, "linux/%s", machine), true},
	        {"TARGETARCH", arena_text(t->arena, machine), true},
	        {"BUILDARCH", arena_text(t->arena, machine), true},
	        {"TARGETOS", "linux", true},
	        {"BUILDOS", "linux", true},
	};

	for (size_t i = 0; i < COUNT_OF(all); i++)
		docker_variable_set(t->arena, &t->before, &all[i]);
}

static int check_build_args(const struct docker_translation *t, struct error *err)
{
	const char *const *args = t->file->build_args;

	for (size_t i = 0; args && args[i]; i++)
		if (!t->used[i])
			return FAIL(err, ERROR_INVALID,
			            "%s has no ARG for the build argument '%.60s'", t->file->name,
			            args[i]);
	return 0;
}

static void translation_done(struct docker_translation *t)
{
	docker_stages_done(t);
	buf_done(&t->notes);
}

int dockerfile_translate(struct arena *a, const struct dockerfile *file, struct buf *out,
                         struct buf *notes, struct error *err)
{
	AUTO(translation_done) struct docker_translation t = {
	        .arena = a, .file = file, .notes = BUF(DOCKER_BODY_MAX)};
	size_t args = 0;

	while (file->build_args && file->build_args[args])
		args++;
	t.used = ARENA_ARRAY(a, bool, args + 1);
	set_platform(&t);
	if (run_lines(&t, notes, err) < 0)
		return -1;
	if (!t.stage)
		return FAIL(err, ERROR_INVALID, "%s has no FROM", file->name);
	if (check_build_args(&t, err) < 0)
		return -1;
	return write_body(&t, out, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions that set something: variables, folders, users, what starts, and notes. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "dockerfile/translation.h"
#include "json/json.h"

#define PORTS_MAX 64

static int one_word(struct docker_translation *t, const char *rest, const char **ret,
                    struct error *err)
{
	const char **words;

	if (docker_words(t->arena, rest, &t->stage->vars, false, &words, err) < 0)
		return -1;
	if (!words[0] || words[1])
		return FAIL(err, ERROR_INVALID, "takes one argument");
	*ret = words[0];
	return 0;
}

static int check_name(const char *name, struct error *err)
{
	for (const char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '_')
			return FAIL(err, ERROR_INVALID, "'%.60s' is not a variable name", name);
	return *name ? 0 : FAIL(err, ERROR_INVALID, "a variable has no name");
}

static const char *given_arg(struct docker_translation *t, const char *name)
{
	const char *const *args = t->file->build_args;
	size_t size = strlen(name);

	for (size_t i = 0; args && args[i]; i++) {
		if (strncmp(args[i], name, size) == 0 && args[i][size] == '=') {
			t->used[i] = true;
			return args[i] + size + 1;
		}
	}
	return NULL;
}

int translate_arg(struct docker_translation *t, const char *rest, struct error *err)
{
	struct docker_variables *vars = t->stage ? &t->stage->vars : &t->before;
	const char **words;

	if (docker_words(t->arena, rest, vars, false, &words, err) < 0)
		return -1;
	if (!words[0])
		return FAIL(err, ERROR_INVALID, "takes NAME or NAME=value");
	for (; *words; words++) {
		struct docker_variable v = {.name = *words, .is_arg = true};
		const char *equals = strchr(*words, '=');

		if (equals)
			v.name = arena_copy(t->arena,
			                    (struct span){*words, (size_t)(equals - *words)});
		if (check_name(v.name, err) < 0)
			return -1;
		v.value = given_arg(t, v.name);
		if (!v.value && equals)
			v.value = equals + 1;
		/* An ARG repeated below FROM has the value from above. */
		if (!v.value && t->stage)
			v.value = docker_variable_get(&t->before, span_of(v.name));
		if (v.value)
			docker_variable_set(t->arena, vars, &v);
	}
	return 0;
}

static void add_variable(struct docker_translation *t, const char *name, const char *value,
                         bool first)
{
	const struct docker_variable v = {.name = name, .value = value};

	/* PATH stays the path so far (stages.c). */
	if (strcmp(name, "PATH") != 0)
		docker_variable_set(t->arena, &t->stage->vars, &v);
	if (!first)
		buf_add_byte(&t->stage->steps, ',');
	json_write_text(&t->stage->steps, span_of(name));
	buf_add_byte(&t->stage->steps, ':');
	json_write_text(&t->stage->steps, span_of(value));
}

/* Translates "ENV NAME the rest of the line". */
static int on_old_env(struct docker_translation *t, const char *rest, struct error *err)
{
	size_t size = strcspn(rest, " \t");
	const char *name = arena_copy(t->arena, (struct span){rest, size});
	const char **value;

	if (check_name(name, err) < 0 || docker_words(t->arena, docker_skip_blanks(rest + size),
	                                              &t->stage->vars, true, &value, err) < 0)
		return -1;
	docker_begin_step(t, "env");
	buf_add_text(&t->stage->steps, ",\"env\":{");
	add_variable(t, name, value[0], true);
	buf_add_byte(&t->stage->steps, '}');
	docker_end_step(t);
	return 0;
}

/* Values of one line see only variables of earlier lines. */
/* Whether a later word sets the same variable. */
static bool is_set_again(const char **words, size_t name_size)
{
	for (const char **later = words + 1; *later; later++)
		if (strncmp(*later, *words, name_size + 1) == 0)
			return true;
	return false;
}

int translate_env(struct docker_translation *t, const char *rest, struct error *err)
{
	const char **words;
	bool is_first = true;

	if (!*rest)
		return FAIL(err, ERROR_INVALID, "takes NAME=value");
	if (strcspn(rest, " \t=") == strcspn(rest, " \t"))
		return on_old_env(t, rest, err);
	if (docker_words(t->arena, rest, &t->stage->vars, false, &words, err) < 0)
		return -1;
	docker_begin_step(t, "env");
	buf_add_text(&t->stage->steps, ",\"env\":{");
	for (size_t i = 0; words[i]; i++) {
		const char *equals = strchr(words[i], '=');
		const char *name;

		if (!equals)
			return FAIL(err, ERROR_INVALID, "'%.60s' has no '='", words[i]);
		name = arena_copy(t->arena, (struct span){words[i], (size_t)(equals - words[i])});
		if (check_name(name, err) < 0)
			return -1;
		if (is_set_again(&words[i], strlen(name)))
			continue;
		add_variable(t, name, equals + 1, is_first);
		is_first = false;
	}
	buf_add_byte(&t->stage->steps, '}');
	docker_end_step(t);
	return 0;
}

int translate_workdir(struct docker_translation *t, const char *rest, struct error *err)
{
	const char **path;

	if (!*rest)
		return FAIL(err, ERROR_INVALID, "takes a folder");
	if (docker_words(t->arena, rest, &t->stage->vars, true, &path, err) < 0)
		return -1;
	docker_begin_step(t, "workdir");
	docker_add_member(&t->stage->steps, "path", path[0]);
	docker_end_step(t);
	return 0;
}

int translate_user(struct docker_translation *t, const char *rest, struct error *err)
{
	const char *user;

	if (one_word(t, rest, &user, err) < 0)
		return -1;
	docker_begin_step(t, "user");
	docker_add_member(&t->stage->steps, "user", user);
	docker_end_step(t);
	return 0;
}

static void set_words(struct docker_translation *t, const char *rest, struct docker_command *ret)
{
	static const char *const standard[] = {"/bin/sh", "-c", NULL};
	const char **list = docker_parse_list(t->arena, rest);
	const char *const *shell;
	size_t count = 0;

	*ret = (struct docker_command){.items = list};
	if (list)
		return;
	shell = t->stage->shell ? t->stage->shell : standard;
	while (shell[count])
		count++;
	ret->is_shell = true;
	ret->items = ARENA_ARRAY(t->arena, const char *, count + 2);
	memcpy(ret->items, shell, count * sizeof(*shell));
	ret->items[count] = arena_text(t->arena, rest);
	ret->items[count + 1] = NULL;
}

int translate_cmd(struct docker_translation *t, const char *rest, UNUSED struct error *err)
{
	set_words(t, rest, &t->stage->command);
	return 0;
}

/* An ENTRYPOINT discards an earlier CMD. */
int translate_entrypoint(struct docker_translation *t, const char *rest, UNUSED struct error *err)
{
	set_words(t, rest, &t->stage->entrypoint);
	t->stage->command = (struct docker_command){0};
	return 0;
}

static const char *shell_text(struct arena *a, const char *const *words)
{
	AUTO(buf_done) struct buf text = BUF(DOCKER_BODY_MAX);

	for (size_t i = 0; words[i]; i++) {
		buf_add_text(&text, i > 0 ? " '" : "'");
		for (const char *c = words[i]; *c; c++) {
			if (*c == '\'')
				buf_add_text(&text, "'\\''");
			else
				buf_add_byte(&text, *c);
		}
		buf_add_byte(&text, '\'');
	}
	return arena_copy(a, buf_span(&text));
}

int translate_healthcheck(struct docker_translation *t, const char *rest, struct error *err)
{
	struct docker_flag flags[DOCKER_FLAGS_MAX + 1];
	const char **words;

	if (docker_take_flags(t, &rest, flags, err) < 0)
		return -1;
	t->stage->ready = NULL;
	if (strcasecmp(rest, "none") == 0)
		return 0;
	if (strncasecmp(rest, "cmd", 3) != 0 || !isspace((unsigned char)rest[3]))
		return FAIL(err, ERROR_INVALID, "takes CMD and a command, or NONE");
	rest = docker_skip_blanks(rest + 3);
	words = docker_parse_list(t->arena, rest);
	t->stage->ready = words ? shell_text(t->arena, words) : arena_text(t->arena, rest);
	docker_note(t, "the check decides when the build is ready; it is not repeated later");
	return 0;
}

static int add_port(struct docker_translation *t, const char *word, struct error *err)
{
	struct span rest = span_of(word), range, first;
	int64_t from, to;
	bool is_range;

	(void)span_split(&rest, '/', &range);
	if (span_equals_text(rest, "udp")) {
		docker_note(t, "a UDP port is ignored");
		return 0;
	}
	is_range = span_split(&range, '-', &first);
	if (span_parse_whole(first, 1, 65535, &from, err) < 0)
		return FAIL_CONTEXT(err, "port");
	to = from;
	if (is_range && span_parse_whole(range, from, 65535, &to, err) < 0)
		return FAIL_CONTEXT(err, "port");
	for (; from <= to; from++) {
		if (t->stage->port_count == PORTS_MAX)
			return FAIL(err, ERROR_LIMIT, "more than %d ports", PORTS_MAX);
		buf_addf(&t->stage->ports, "%s%lld", t->stage->port_count++ > 0 ? "," : "",
		         (long long)from);
	}
	return 0;
}

int translate_expose(struct docker_translation *t, const char *rest, struct error *err)
{
	const char **words;

	if (docker_words(t->arena, rest, &t->stage->vars, false, &words, err) < 0)
		return -1;
	for (; *words; words++)
		if (add_port(t, *words, err) < 0)
			return -1;
	return 0;
}

/* The folder is made, because the programs expect it. */
int translate_volume(struct docker_translation *t, const char *rest, struct error *err)
{
	const char **words = docker_parse_list(t->arena, rest);

	if (!words && docker_words(t->arena, rest, &t->stage->vars, false, &words, err) < 0)
		return -1;
	if (!words[0])
		return FAIL(err, ERROR_INVALID, "takes a folder");
	for (; *words; words++) {
		docker_begin_step(t, "folder");
		docker_add_member(&t->stage->steps, "path", *words);
		docker_end_step(t);
	}
	docker_note(t, "VOLUME only makes the folder; attach a volume to the sandbox: atoll run "
	               "--volume NAME:PATH");
	return 0;
}

int translate_label(struct docker_translation *t, UNUSED const char *rest, UNUSED struct error *err)
{
	docker_note(t, "labels are ignored");
	return 0;
}

int translate_maintainer(struct docker_translation *t, UNUSED const char *rest,
                         UNUSED struct error *err)
{
	docker_note(t, "MAINTAINER is ignored");
	return 0;
}

int translate_stopsignal(struct docker_translation *t, const char *rest, struct error *err)
{
	const char *ignored;

	if (one_word(t, rest, &ignored, err) < 0)
		return -1;
	docker_note(t, "STOPSIGNAL is ignored: a stop sends SIGTERM, then SIGKILL");
	return 0;
}

int translate_onbuild(struct docker_translation *t, const char *rest, struct error *err)
{
	if (!*rest)
		return FAIL(err, ERROR_INVALID, "takes an instruction");
	docker_note(t, "ONBUILD is ignored: put the instruction into the Dockerfiles of templates "
	               "that begin with this one");
	return 0;
}

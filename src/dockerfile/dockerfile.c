/* SPDX-License-Identifier: Apache-2.0 */
#include "dockerfile/dockerfile.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "json/json.h"

#define BODY_MAX ((size_t)8 << 20)
#define FLAGS_MAX 8
#define PORTS_MAX 64

/* Exec form, or shell form as three words. */
struct words {
	const char **items; /* NULL = not given */
	bool is_shell;
};

struct dockerfile_translation {
	struct arena *arena;
	const struct dockerfile *file;
	unsigned line; /* where the instruction begins */
	const char *from;
	struct docker_variables vars, before; /* before: ARG above FROM */
	struct buf steps, ports;
	unsigned step_count, port_count;
	struct words entrypoint, command;
	const char *ready;
	struct buf *notes;
	bool *used; /* per element of file->build_args */
};

static void translation_done(struct dockerfile_translation *t)
{
	buf_done(&t->steps);
	buf_done(&t->ports);
}

static void add_note(struct dockerfile_translation *t, const char *text)
{
	buf_addf(t->notes, "%s:%u: %s\n", t->file->name, t->line, text);
}

static void add_texts(struct buf *out, const char *const *texts)
{
	buf_add_byte(out, '[');
	for (size_t i = 0; texts[i]; i++) {
		if (i > 0)
			buf_add_byte(out, ',');
		json_write_text(out, span_of(texts[i]));
	}
	buf_add_byte(out, ']');
}

static void add_member(struct buf *out, const char *name, const char *value)
{
	if (!value)
		return;
	buf_addf(out, ",\"%s\":", name);
	json_write_text(out, span_of(value));
}

static void begin_step(struct dockerfile_translation *t, const char *type)
{
	buf_addf(&t->steps, "%s{\"type\":\"%s\"", t->step_count++ > 0 ? "," : "", type);
}

static void end_step(struct dockerfile_translation *t)
{
	buf_add_byte(&t->steps, '}');
}

/* Parses ["a","b"]. Returns NULL if the text is not such a list: as with Docker, the shell then
 * gets it. */
static const char **parse_list(struct arena *a, const char *text)
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

/* An option "--name=value" in front of the arguments. */
struct flag {
	const char *name;
	const char *value; /* as written */
};

static const char *skip_blanks(const char *text)
{
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

static int take_flags(struct dockerfile_translation *t, const char **text, struct flag *ret,
                      struct error *err)
{
	size_t count = 0;

	*text = skip_blanks(*text);
	while (strncmp(*text, "--", 2) == 0) {
		const char *begin = *text + 2;
		size_t size = strcspn(begin, " \t"), name = strcspn(begin, "= \t");

		if (count == FLAGS_MAX)
			return FAIL(err, ERROR_INVALID, "too many options");
		ret[count].name = arena_copy(t->arena, (struct span){begin, name});
		ret[count++].value =
		        name < size ? arena_copy(t->arena,
		                                 (struct span){begin + name + 1, size - name - 1})
		                    : "";
		*text = skip_blanks(begin + size);
	}
	ret[count] = (struct flag){0};
	return 0;
}

static int refuse_feature(const char *what, const char *instead, struct error *err)
{
	(void)FAIL(err, ERROR_UNSUPPORTED, "%s is not supported", what);
	return FAIL_HINT(err, "%s", instead);
}

static int one_word(struct dockerfile_translation *t, const char *rest, const char **ret,
                    struct error *err)
{
	const char **words;

	if (docker_words(t->arena, rest, &t->vars, false, &words, err) < 0)
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

static const char *given_arg(struct dockerfile_translation *t, const char *name)
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

static int translate_arg(struct dockerfile_translation *t, const char *rest, struct error *err)
{
	struct docker_variables *vars = t->from ? &t->vars : &t->before;
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
		if (!v.value && t->from)
			v.value = docker_variable_get(&t->before, span_of(v.name));
		if (v.value)
			docker_variable_set(t->arena, vars, &v);
	}
	return 0;
}

static int translate_from_instruction(struct dockerfile_translation *t, const char *rest,
                                      struct error *err)
{
	struct flag flags[FLAGS_MAX + 1];
	const char **words;

	if (t->from)
		return refuse_feature("a second FROM",
		                      "build what it makes as a template of its own, and "
		                      "begin with that",
		                      err);
	if (take_flags(t, &rest, flags, err) < 0)
		return -1;
	if (flags[0].name)
		return refuse_feature("an option of FROM",
		                      "leave it out: the only platform is the "
		                      "server's",
		                      err);
	if (docker_words(t->arena, rest, &t->before, false, &words, err) < 0)
		return -1;
	if (!words[0] || (words[1] && (strcasecmp(words[1], "as") != 0 || !words[2] || words[3])))
		return FAIL(err, ERROR_INVALID, "takes a template's name");
	t->from = t->file->from ? t->file->from : words[0];
	if (!t->file->from && !t->file->may_name_image && strpbrk(words[0], ":/@")) {
		(void)FAIL(err, ERROR_INVALID, "'%.100s' is an image, not a template", words[0]);
		return FAIL_HINT(err, "atoll template import NAME %.100s; then --from NAME",
		                 words[0]);
	}
	return 0;
}

/* ARG variables are part of the commands' environment, but not of the template's. */
static void add_args(struct dockerfile_translation *t)
{
	unsigned count = 0;

	for (size_t i = 0; i < t->vars.count; i++) {
		const struct docker_variable *v = &t->vars.items[i];

		if (!v->is_arg)
			continue;
		buf_add_text(&t->steps, count++ == 0 ? ",\"env\":{" : ",");
		json_write_text(&t->steps, span_of(v->name));
		buf_add_byte(&t->steps, ':');
		json_write_text(&t->steps, span_of(v->value));
	}
	if (count > 0)
		buf_add_byte(&t->steps, '}');
}

static int translate_run(struct dockerfile_translation *t, const char *rest, struct error *err)
{
	struct flag flags[FLAGS_MAX + 1];
	const char **args;

	if (take_flags(t, &rest, flags, err) < 0)
		return -1;
	if (flags[0].name)
		return refuse_feature(
		        arena_format(t->arena, "RUN --%s", flags[0].name),
		        "leave it out; 'atoll template build --no-internet' cuts the network", err);
	if (!*rest)
		return FAIL(err, ERROR_INVALID, "takes a command");
	if (strncmp(rest, "<<", 2) == 0)
		return refuse_feature("a here-document", "copy a script, or join commands with &&",
		                      err);
	args = parse_list(t->arena, rest);
	begin_step(t, "run");
	if (args) {
		buf_add_text(&t->steps, ",\"args\":");
		add_texts(&t->steps, args);
	} else {
		add_member(&t->steps, "command", rest);
	}
	add_args(t);
	end_step(t);
	return 0;
}

static int check_source(const char *instruction, const char *source, struct error *err)
{
	static const char *const archives[] = {".tar",    ".tar.gz",  ".tgz",
	                                       ".tar.xz", ".tar.bz2", ".tar.zst"};
	size_t size = strlen(source);

	if (strncmp(source, "<<", 2) == 0)
		return refuse_feature("a here-document", "put it into a file of the context", err);
	if (strstr(source, "://") || strncmp(source, "git@", 4) == 0)
		return refuse_feature("ADD of a URL", "RUN curl -fsSLo FILE URL", err);
	for (size_t i = 0; strcmp(instruction, "ADD") == 0 && i < COUNT_OF(archives); i++) {
		size_t end = strlen(archives[i]);

		if (size > end && strcmp(source + size - end, archives[i]) == 0)
			return refuse_feature("ADD of an archive", "COPY it, and RUN tar -xf", err);
	}
	return 0;
}

static int copy_flag(struct dockerfile_translation *t, const struct flag *flag, const char **user,
                     const char **mode, struct error *err)
{
	const char **value;

	if (docker_words(t->arena, flag->value, &t->vars, true, &value, err) < 0)
		return -1;
	if (strcmp(flag->name, "chown") == 0) {
		*user = value[0];
		if (strchr(*user, ':'))
			return refuse_feature("a group in --chown",
			                      "give only the user: the files get "
			                      "its group",
			                      err);
		return 0;
	}
	if (strcmp(flag->name, "chmod") == 0) {
		*mode = value[0];
		return 0;
	}
	return refuse_feature(arena_format(t->arena, "the option --%s", flag->name),
	                      "use --chown or --chmod; files come only from the context", err);
}

static int add_copy_step(struct dockerfile_translation *t, const char *instruction,
                         const char *rest, struct error *err)
{
	struct flag flags[FLAGS_MAX + 1];
	const char **words, *user = NULL, *mode = NULL, *target;
	size_t count = 0;

	if (t->file->has_no_files)
		return refuse_feature(arena_format(t->arena, "%s without the files", instruction),
		                      "write them with RUN, or put them into the sandbox", err);
	if (take_flags(t, &rest, flags, err) < 0)
		return -1;
	for (const struct flag *f = flags; f->name; f++)
		if (copy_flag(t, f, &user, &mode, err) < 0)
			return -1;
	words = parse_list(t->arena, rest);
	if (!words && docker_words(t->arena, rest, &t->vars, false, &words, err) < 0)
		return -1;
	while (words[count])
		count++;
	if (count < 2)
		return FAIL(err, ERROR_INVALID, "takes sources and a target");
	target = words[--count];
	words[count] = NULL;
	for (size_t i = 0; i < count; i++)
		if (check_source(instruction, words[i], err) < 0)
			return -1;
	begin_step(t, "copy");
	buf_add_text(&t->steps, ",\"source\":");
	add_texts(&t->steps, words);
	add_member(&t->steps, "path", target);
	add_member(&t->steps, "user", user);
	add_member(&t->steps, "mode", mode);
	add_member(&t->steps, "at", arena_format(t->arena, "%s:%u", t->file->name, t->line));
	end_step(t);
	return 0;
}

static int translate_copy(struct dockerfile_translation *t, const char *rest, struct error *err)
{
	return add_copy_step(t, "COPY", rest, err);
}

static int translate_add(struct dockerfile_translation *t, const char *rest, struct error *err)
{
	return add_copy_step(t, "ADD", rest, err);
}

static void add_variable(struct dockerfile_translation *t, const char *name, const char *value,
                         bool first)
{
	const struct docker_variable v = {.name = name, .value = value};

	docker_variable_set(t->arena, &t->vars, &v);
	if (!first)
		buf_add_byte(&t->steps, ',');
	json_write_text(&t->steps, span_of(name));
	buf_add_byte(&t->steps, ':');
	json_write_text(&t->steps, span_of(value));
}

/* Translates "ENV NAME the rest of the line". */
static int on_old_env(struct dockerfile_translation *t, const char *rest, struct error *err)
{
	size_t size = strcspn(rest, " \t");
	const char *name = arena_copy(t->arena, (struct span){rest, size});
	const char **value;

	if (check_name(name, err) < 0 ||
	    docker_words(t->arena, skip_blanks(rest + size), &t->vars, true, &value, err) < 0)
		return -1;
	begin_step(t, "env");
	buf_add_text(&t->steps, ",\"env\":{");
	add_variable(t, name, value[0], true);
	buf_add_byte(&t->steps, '}');
	end_step(t);
	return 0;
}

/* Values of one line see only variables of earlier lines. */
static int translate_env(struct dockerfile_translation *t, const char *rest, struct error *err)
{
	const char **words;

	if (!*rest)
		return FAIL(err, ERROR_INVALID, "takes NAME=value");
	if (strcspn(rest, " \t=") == strcspn(rest, " \t"))
		return on_old_env(t, rest, err);
	if (docker_words(t->arena, rest, &t->vars, false, &words, err) < 0)
		return -1;
	begin_step(t, "env");
	buf_add_text(&t->steps, ",\"env\":{");
	for (size_t i = 0; words[i]; i++) {
		const char *equals = strchr(words[i], '=');
		const char *name;

		if (!equals)
			return FAIL(err, ERROR_INVALID, "'%.60s' has no '='", words[i]);
		name = arena_copy(t->arena, (struct span){words[i], (size_t)(equals - words[i])});
		if (check_name(name, err) < 0)
			return -1;
		add_variable(t, name, equals + 1, i == 0);
	}
	buf_add_byte(&t->steps, '}');
	end_step(t);
	return 0;
}

static int translate_workdir(struct dockerfile_translation *t, const char *rest, struct error *err)
{
	const char **path;

	if (!*rest)
		return FAIL(err, ERROR_INVALID, "takes a folder");
	if (docker_words(t->arena, rest, &t->vars, true, &path, err) < 0)
		return -1;
	begin_step(t, "workdir");
	add_member(&t->steps, "path", path[0]);
	end_step(t);
	return 0;
}

static int translate_user(struct dockerfile_translation *t, const char *rest, struct error *err)
{
	const char *user;

	if (one_word(t, rest, &user, err) < 0)
		return -1;
	if (strchr(user, ':'))
		return refuse_feature("a group in USER",
		                      "give only the user: its groups apply automatically", err);
	begin_step(t, "user");
	add_member(&t->steps, "user", user);
	end_step(t);
	return 0;
}

static void set_words(struct dockerfile_translation *t, const char *rest, struct words *ret)
{
	const char **list = parse_list(t->arena, rest);

	*ret = (struct words){.items = list};
	if (list)
		return;
	ret->is_shell = true;
	ret->items = ARENA_ARRAY(t->arena, const char *, 4);
	ret->items[0] = "/bin/sh";
	ret->items[1] = "-c";
	ret->items[2] = arena_text(t->arena, rest);
}

static int translate_cmd(struct dockerfile_translation *t, const char *rest,
                         UNUSED struct error *err)
{
	set_words(t, rest, &t->command);
	return 0;
}

/* An ENTRYPOINT discards an earlier CMD. */
static int translate_entrypoint(struct dockerfile_translation *t, const char *rest,
                                UNUSED struct error *err)
{
	set_words(t, rest, &t->entrypoint);
	t->command = (struct words){0};
	return 0;
}

static const char *shell_text(struct arena *a, const char *const *words)
{
	AUTO(buf_done) struct buf text = BUF(BODY_MAX);

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

static int translate_healthcheck(struct dockerfile_translation *t, const char *rest,
                                 struct error *err)
{
	struct flag flags[FLAGS_MAX + 1];
	const char **words;

	if (take_flags(t, &rest, flags, err) < 0)
		return -1;
	t->ready = NULL;
	if (strcasecmp(rest, "none") == 0)
		return 0;
	if (strncasecmp(rest, "cmd", 3) != 0 || !isspace((unsigned char)rest[3]))
		return FAIL(err, ERROR_INVALID, "takes CMD and a command, or NONE");
	rest = skip_blanks(rest + 3);
	words = parse_list(t->arena, rest);
	t->ready = words ? shell_text(t->arena, words) : arena_text(t->arena, rest);
	add_note(t, "the check decides when the build is ready; it is not repeated later");
	return 0;
}

static int add_port(struct dockerfile_translation *t, const char *word, struct error *err)
{
	struct span rest = span_of(word), range, first;
	int64_t from, to;
	bool is_range;

	(void)span_split(&rest, '/', &range);
	if (span_equals_text(rest, "udp")) {
		add_note(t, "a UDP port is ignored");
		return 0;
	}
	is_range = span_split(&range, '-', &first);
	if (span_parse_whole(first, 1, 65535, &from, err) < 0)
		return FAIL_CONTEXT(err, "port");
	to = from;
	if (is_range && span_parse_whole(range, from, 65535, &to, err) < 0)
		return FAIL_CONTEXT(err, "port");
	for (; from <= to; from++) {
		if (t->port_count == PORTS_MAX)
			return FAIL(err, ERROR_LIMIT, "more than %d ports", PORTS_MAX);
		buf_addf(&t->ports, "%s%lld", t->port_count++ > 0 ? "," : "", (long long)from);
	}
	return 0;
}

static int translate_expose(struct dockerfile_translation *t, const char *rest, struct error *err)
{
	const char **words;

	if (docker_words(t->arena, rest, &t->vars, false, &words, err) < 0)
		return -1;
	for (; *words; words++)
		if (add_port(t, *words, err) < 0)
			return -1;
	return 0;
}

static int translate_label(struct dockerfile_translation *t, UNUSED const char *rest,
                           UNUSED struct error *err)
{
	add_note(t, "labels are ignored");
	return 0;
}

static const struct {
	const char *name;
	int (*run)(struct dockerfile_translation *t, const char *rest, struct error *err);
	const char *instead; /* the hint for an instruction that is refused */
} instructions[] = {
        {"FROM", translate_from_instruction, NULL},
        {"RUN", translate_run, NULL},
        {"COPY", translate_copy, NULL},
        {"ADD", translate_add, NULL},
        {"ENV", translate_env, NULL},
        {"ARG", translate_arg, NULL},
        {"WORKDIR", translate_workdir, NULL},
        {"USER", translate_user, NULL},
        {"CMD", translate_cmd, NULL},
        {"ENTRYPOINT", translate_entrypoint, NULL},
        {"HEALTHCHECK", translate_healthcheck, NULL},
        {"EXPOSE", translate_expose, NULL},
        {"LABEL", translate_label, NULL},
        {"MAINTAINER", translate_label, NULL},
        {"SHELL", NULL, "RUN [\"bash\", \"-c\", \"…\"]"},
        {"VOLUME", NULL, "attach a volume to the sandbox: atoll run --volume NAME"},
        {"ONBUILD", NULL, "put it into the Dockerfile of the templates built on this one"},
        {"STOPSIGNAL", NULL, "leave it out: a stop sends SIGTERM, then SIGKILL"},
};

static int run_instruction(struct dockerfile_translation *t, const char *text, struct error *err)
{
	size_t size = strcspn(text, " \t");
	const char *rest = skip_blanks(text + size);

	for (size_t i = 0; i < COUNT_OF(instructions); i++) {
		const char *name = instructions[i].name;

		if (!span_is_word((struct span){text, size}, name))
			continue;
		if (!instructions[i].run)
			return refuse_feature(name, instructions[i].instead, err);
		if (!t->from && instructions[i].run != translate_from_instruction &&
		    instructions[i].run != translate_arg)
			return FAIL(err, ERROR_INVALID, "FROM must come before %s", name);
		if (instructions[i].run(t, rest, err) < 0)
			return err->code == ERROR_UNSUPPORTED ? -1 : FAIL_CONTEXT(err, "%s", name);
		return 0;
	}
	return FAIL(err, ERROR_INVALID, "'%.*s' is not an instruction", size < 40 ? (int)size : 40,
	            text);
}

static struct span trim_end(struct span line)
{
	while (line.size > 0 && isspace((unsigned char)line.data[line.size - 1]))
		line.size--;
	return line;
}

static struct span trim_line(struct span line)
{
	while (line.size > 0 && isspace((unsigned char)line.data[0])) {
		line.data++;
		line.size--;
	}
	return trim_end(line);
}

/* A line that ends with a backslash continues on the next line that is neither empty nor a
 * comment. */
static int run_lines(struct dockerfile_translation *t, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(BODY_MAX);
	struct span rest = t->file->text, line;
	unsigned number = 0;
	bool more = true, goes_on = false;

	while (more) {
		struct span content;

		more = span_split(&rest, '\n', &line);
		number++;
		content = trim_line(line);
		if (content.size == 0 || content.data[0] == '#')
			goes_on = goes_on && more;
		else {
			if (text.size == 0)
				t->line = number;
			content = text.size == 0 ? content : trim_end(line);
			goes_on = content.data[content.size - 1] == '\\';
			buf_add(&text, content.data, content.size - goes_on);
		}
		if (goes_on || text.size == 0)
			continue;
		if (run_instruction(t, buf_text(&text), err) < 0)
			return FAIL_CONTEXT(err, "%s:%u", t->file->name, t->line);
		buf_reset(&text);
	}
	if (text.size > 0)
		return FAIL(err, ERROR_INVALID, "%s:%u: the last line ends with a backslash",
		            t->file->name, t->line);
	return 0;
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

static void write_entrypoint(struct dockerfile_translation *t, struct buf *out)
{
	const struct words *e = &t->entrypoint, *c = &t->command;
	const char **all;
	size_t count = 0;

	if (!e->items && !c->items)
		return;
	all = ARENA_ARRAY(t->arena, const char *, 2 * 4096);
	for (size_t i = 0; e->items && e->items[i] && count < 4096; i++)
		all[count++] = e->items[i];
	/* An entrypoint in shell form takes no arguments. */
	for (size_t i = 0; !e->is_shell && c->items && c->items[i] && count < 8191; i++)
		all[count++] = c->items[i];
	if (is_interactive(all))
		return;
	buf_add_text(out, ",\"entrypoint\":");
	add_texts(out, all);
}

static int write_body(struct dockerfile_translation *t, struct buf *out, struct error *err)
{
	size_t before;

	buf_add_text(out, "{\"from\":");
	json_write_text(out, span_of(t->from));
	buf_addf(out, ",\"steps\":[%s]", buf_text(&t->steps));
	before = out->size;
	write_entrypoint(t, out);
	if (out->size > before)
		add_member(out, "ready", t->ready);
	if (t->port_count > 0)
		buf_addf(out, ",\"ports\":[%s]", buf_text(&t->ports));
	buf_add_byte(out, '}');
	if (out->overflowed || t->steps.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "%s is too large", t->file->name);
	return 0;
}

int dockerfile_translate(struct arena *a, const struct dockerfile *file, struct buf *out,
                         struct buf *notes, struct error *err)
{
	AUTO(translation_done) struct dockerfile_translation t = {.arena = a,
	                                                          .file = file,
	                                                          .steps = BUF(BODY_MAX),
	                                                          .ports = BUF(4096),
	                                                          .notes = notes};
	size_t args = 0;

	while (file->build_args && file->build_args[args])
		args++;
	t.used = ARENA_ARRAY(a, bool, args + 1);
	if (run_lines(&t, err) < 0)
		return -1;
	if (!t.from)
		return FAIL(err, ERROR_INVALID, "%s has no FROM", file->name);
	for (size_t i = 0; i < args; i++)
		if (!t.used[i])
			return FAIL(err, ERROR_INVALID,
			            "%s has no ARG for the build argument '%.60s'", file->name,
			            file->build_args[i]);
	return write_body(&t, out, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* RUN with its mounts and here-documents, and SHELL. */
#include <stdlib.h>
#include <string.h>

#include "dockerfile/translation.h"
#include "json/json.h"

#define COMMAND_MAX ((size_t)64 * 1024)
#define SECRETS_PATH "/run/secrets/"

/* The members of --mount=type=…,…; NULL = not given. */
struct run_mount {
	const char *type, *id, *target, *source, *from, *mode, *uid, *gid, *env, *size, *sharing;
	const char *required, *read_only, *read_write;
};

static const struct {
	const char *key;
	size_t offset;
} mount_keys[] = {
        {"type", offsetof(struct run_mount, type)},
        {"id", offsetof(struct run_mount, id)},
        {"target", offsetof(struct run_mount, target)},
        {"dst", offsetof(struct run_mount, target)},
        {"destination", offsetof(struct run_mount, target)},
        {"source", offsetof(struct run_mount, source)},
        {"src", offsetof(struct run_mount, source)},
        {"from", offsetof(struct run_mount, from)},
        {"mode", offsetof(struct run_mount, mode)},
        {"uid", offsetof(struct run_mount, uid)},
        {"gid", offsetof(struct run_mount, gid)},
        {"env", offsetof(struct run_mount, env)},
        {"size", offsetof(struct run_mount, size)},
        {"sharing", offsetof(struct run_mount, sharing)},
        {"required", offsetof(struct run_mount, required)},
        {"readonly", offsetof(struct run_mount, read_only)},
        {"ro", offsetof(struct run_mount, read_only)},
        {"rw", offsetof(struct run_mount, read_write)},
        {"readwrite", offsetof(struct run_mount, read_write)},
};

static int set_mount_key(struct arena *a, struct run_mount *m, struct span item, struct error *err)
{
	struct span value = item, key;
	bool has_value = span_split(&value, '=', &key);

	for (size_t i = 0; i < COUNT_OF(mount_keys); i++) {
		if (!span_is_word(key, mount_keys[i].key))
			continue;
		*(const char **)(void *)((char *)m + mount_keys[i].offset) =
		        has_value ? arena_copy(a, value) : "true";
		return 0;
	}
	return FAIL(err, ERROR_INVALID, "--mount has no key '%.*s'",
	            key.size < 40 ? (int)key.size : 40, key.data ? key.data : "");
}

static int parse_mount(struct docker_translation *t, const struct docker_flag *flag,
                       struct run_mount *ret, struct error *err)
{
	const char *text;
	struct span rest, item;
	bool more = true;

	if (docker_flag_value(t, flag, &text, err) < 0)
		return -1;
	*ret = (struct run_mount){.type = "bind"};
	rest = span_of(text);
	while (more) {
		more = span_split(&rest, ',', &item);
		if (set_mount_key(t->arena, ret, item, err) < 0)
			return -1;
	}
	return 0;
}

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_true(const char *value)
{
	return value && (strcmp(value, "true") == 0 || strcmp(value, "1") == 0);
}

static void add_owner(struct docker_translation *t, const struct run_mount *m)
{
	docker_add_member(&t->stage->steps, "mode", m->mode);
	if (m->uid || m->gid)
		docker_add_member(&t->stage->steps, "user",
		                  arena_format(t->arena, "%s:%s", m->uid ? m->uid : "0",
		                               m->gid ? m->gid : "0"));
}

static int add_cache(struct docker_translation *t, const struct run_mount *m, struct error *err)
{
	if (!m->target)
		return FAIL(err, ERROR_INVALID, "--mount=type=cache takes a target");
	if (m->from)
		return docker_refuse("--mount=type=cache with from", "fill the cache in a step",
		                     err);
	docker_add_member(&t->stage->steps, "id", m->id ? m->id : m->target);
	docker_add_member(&t->stage->steps, "path", m->target);
	add_owner(t, m);
	return 0;
}

static int add_bind(struct docker_translation *t, const struct run_mount *m, struct error *err)
{
	struct buf *out = &t->stage->steps;
	const char *from, *sources[] = {m->source ? m->source : ".", NULL};

	if (!m->target)
		return FAIL(err, ERROR_INVALID, "--mount=type=bind takes a target");
	if (!m->from && t->file->has_no_files)
		return docker_refuse("--mount=type=bind without the files",
		                     "write them with COPY <<EOF", err);
	if (m->from) {
		if (docker_stage_named(t, m->from, &from, err) < 0)
			return -1;
		docker_add_member(out, "from", from);
		docker_add_member(out, "source", m->source ? m->source : "/");
	} else {
		buf_add_text(out, ",\"context\":");
		docker_add_texts(out, sources);
		docker_add_member(out, "at",
		                  arena_format(t->arena, "%s:%u", t->file->name, t->at->line));
	}
	docker_add_member(out, "path", m->target);
	return 0;
}

static int add_secret(struct docker_translation *t, const struct run_mount *m, struct error *err)
{
	struct buf *out = &t->stage->steps;
	const char *id = m->id ? m->id : m->target ? last_name(m->target) : NULL;

	if (!id || !*id)
		return FAIL(err, ERROR_INVALID, "--mount=type=secret takes an id");
	docker_add_member(out, "id", id);
	if (m->target || !m->env)
		docker_add_member(out, "path",
		                  m->target ? m->target
		                            : arena_format(t->arena, SECRETS_PATH "%s", id));
	docker_add_member(out, "env", m->env);
	add_owner(t, m);
	if (is_true(m->required))
		buf_add_text(out, ",\"required\":true");
	return 0;
}

static int add_tmpfs(struct docker_translation *t, const struct run_mount *m, struct error *err)
{
	if (!m->target)
		return FAIL(err, ERROR_INVALID, "--mount=type=tmpfs takes a target");
	docker_add_member(&t->stage->steps, "path", m->target);
	return 0;
}

static int add_mount(struct docker_translation *t, const struct run_mount *m, struct error *err)
{
	static const struct {
		const char *type;
		int (*add)(struct docker_translation *t, const struct run_mount *m,
		           struct error *err);
	} types[] = {{"cache", add_cache},
	             {"bind", add_bind},
	             {"secret", add_secret},
	             {"tmpfs", add_tmpfs}};

	for (size_t i = 0; i < COUNT_OF(types); i++) {
		if (strcmp(m->type, types[i].type) != 0)
			continue;
		buf_addf(&t->stage->steps, "{\"type\":\"%s\"", m->type);
		if (types[i].add(t, m, err) < 0)
			return -1;
		buf_add_byte(&t->stage->steps, '}');
		return 0;
	}
	return docker_refuse(arena_format(t->arena, "RUN --mount=type=%s", m->type),
	                     "give a key as a secret: --mount=type=secret", err);
}

static int add_flags(struct docker_translation *t, const struct docker_flag *flags,
                     struct error *err)
{
	struct run_mount mount;
	unsigned count = 0;

	for (; flags->name; flags++) {
		if (strcmp(flags->name, "network") == 0 && strcmp(flags->value, "default") == 0)
			continue;
		if (strcmp(flags->name, "mount") != 0)
			return docker_refuse(arena_format(t->arena, "RUN --%s", flags->name),
			                     "leave it out; 'atoll template build --no-internet' "
			                     "cuts the network",
			                     err);
		if (parse_mount(t, flags, &mount, err) < 0)
			return -1;
		buf_add_text(&t->stage->steps, count++ == 0 ? ",\"mounts\":[" : ",");
		if (add_mount(t, &mount, err) < 0)
			return -1;
	}
	if (count > 0)
		buf_add_byte(&t->stage->steps, ']');
	return 0;
}

/* ARG variables are part of the commands' environment, but not of the template's. */
static void add_args(struct docker_translation *t)
{
	struct buf *out = &t->stage->steps;
	unsigned count = 0;

	for (size_t i = 0; i < t->stage->vars.count; i++) {
		const struct docker_variable *v = &t->stage->vars.items[i];

		if (!v->is_arg)
			continue;
		buf_add_text(out, count++ == 0 ? ",\"env\":{" : ",");
		json_write_text(out, span_of(v->name));
		buf_add_byte(out, ':');
		json_write_text(out, span_of(v->value));
	}
	if (count > 0)
		buf_add_byte(out, '}');
}

/* RUN <<EOF: the here-document is the command; a file of its own if it names its interpreter. */
static void add_script(const struct docker_document *document, struct buf *out)
{
	if (strncmp(document->text, "#!", 2) != 0) {
		buf_add_text(out, document->text);
		return;
	}
	buf_addf(out, "script=$(mktemp) && cat >\"$script\" <<'%s'\n%s%s\n", document->name,
	         document->text, document->name);
	buf_add_text(out, "chmod +x \"$script\"; \"$script\"; status=$?; rm -f \"$script\"; "
	                  "exit $status");
}

/* The shell gets the here-documents with the command and reads them itself. */
static int make_command(struct docker_translation *t, const char *rest, const char **ret,
                        struct error *err)
{
	const struct docker_instruction *at = t->at;
	AUTO(buf_done) struct buf text = BUF(COMMAND_MAX);

	if (at->document_count == 1 && strncmp(rest, "<<", 2) == 0 && !strpbrk(rest, " \t")) {
		add_script(&at->documents[0], &text);
	} else {
		buf_add_text(&text, rest);
		for (size_t i = 0; i < at->document_count; i++)
			buf_addf(&text, "\n%s%s", at->documents[i].text, at->documents[i].name);
		if (at->document_count > 0)
			buf_add_byte(&text, '\n');
	}
	if (text.overflowed)
		return FAIL(err, ERROR_TOO_LARGE,
		            "a command has at most %zu bytes: COPY a script instead", COMMAND_MAX);
	*ret = arena_copy(t->arena, buf_span(&text));
	return 0;
}

static int add_command(struct docker_translation *t, const char *rest, struct error *err)
{
	const char **args = t->at->document_count > 0 ? NULL : docker_parse_list(t->arena, rest);
	const char **shell = t->stage->shell, *command;
	size_t count = 0;

	if (!args) {
		if (make_command(t, rest, &command, err) < 0)
			return -1;
		if (!shell) {
			docker_add_member(&t->stage->steps, "command", command);
			return 0;
		}
		while (shell[count])
			count++;
		args = ARENA_ARRAY(t->arena, const char *, count + 2);
		memcpy(args, shell, count * sizeof(*args));
		args[count] = command;
		args[count + 1] = NULL;
	}
	buf_add_text(&t->stage->steps, ",\"args\":");
	docker_add_texts(&t->stage->steps, args);
	return 0;
}

int translate_run(struct docker_translation *t, const char *rest, struct error *err)
{
	struct docker_flag flags[DOCKER_FLAGS_MAX + 1];

	if (docker_take_flags(t, &rest, flags, err) < 0)
		return -1;
	if (!*rest)
		return FAIL(err, ERROR_INVALID, "takes a command");
	docker_begin_step(t, "run");
	if (add_command(t, rest, err) < 0 || add_flags(t, flags, err) < 0)
		return -1;
	add_args(t);
	docker_end_step(t);
	return 0;
}

int translate_shell(struct docker_translation *t, const char *rest, struct error *err)
{
	const char **words = docker_parse_list(t->arena, rest);

	if (!words || !words[0])
		return FAIL(err, ERROR_INVALID,
		            "takes a list of words, such as [\"/bin/bash\", \"-c\"]");
	t->stage->shell = words;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* COPY and ADD: from the context, from a stage, and from here-documents. */
#include <string.h>

#include "dockerfile/translation.h"

struct copy_options {
	const char *instruction;
	const char *user, *mode, *from; /* from: as written; NULL = the context */
	const char **sources, *target;
	size_t count;
};

static int check_source(const struct copy_options *o, const char *source, struct error *err)
{
	static const char *const archives[] = {".tar",    ".tar.gz",  ".tgz",
	                                       ".tar.xz", ".tar.bz2", ".tar.zst"};
	size_t size = strlen(source);

	if (strstr(source, "://") || strncmp(source, "git@", 4) == 0)
		return docker_refuse("ADD of a URL", "RUN curl -fsSLo FILE URL", err);
	for (size_t i = 0; strcmp(o->instruction, "ADD") == 0 && i < COUNT_OF(archives); i++) {
		size_t end = strlen(archives[i]);

		if (size > end && strcmp(source + size - end, archives[i]) == 0)
			return docker_refuse("ADD of an archive", "COPY it, and RUN tar -xf", err);
	}
	return 0;
}

static int set_flag(struct docker_translation *t, const struct docker_flag *flag,
                    struct copy_options *o, struct error *err)
{
	const char *value;

	if (docker_flag_value(t, flag, &value, err) < 0)
		return -1;
	if (strcmp(flag->name, "chown") == 0)
		o->user = value;
	else if (strcmp(flag->name, "chmod") == 0)
		o->mode = value;
	else if (strcmp(flag->name, "from") == 0 && strcmp(o->instruction, "COPY") == 0)
		o->from = value;
	else if (strcmp(flag->name, "link") != 0) /* --link only saves Docker work */
		return docker_refuse(arena_format(t->arena, "%s --%s", o->instruction, flag->name),
		                     "the options are --from, --chown, --chmod and --link", err);
	return 0;
}

static int parse_options(struct docker_translation *t, const char *rest, struct copy_options *ret,
                         struct error *err)
{
	struct docker_flag flags[DOCKER_FLAGS_MAX + 1];

	if (docker_take_flags(t, &rest, flags, err) < 0)
		return -1;
	for (const struct docker_flag *f = flags; f->name; f++)
		if (set_flag(t, f, ret, err) < 0)
			return -1;
	ret->sources = docker_parse_list(t->arena, rest);
	if (!ret->sources &&
	    docker_words(t->arena, rest, &t->stage->vars, false, &ret->sources, err) < 0)
		return -1;
	while (ret->sources[ret->count])
		ret->count++;
	if (ret->count < 2)
		return FAIL(err, ERROR_INVALID, "takes sources and a target");
	ret->target = ret->sources[--ret->count];
	ret->sources[ret->count] = NULL;
	return 0;
}

static void add_rest(struct docker_translation *t, const struct copy_options *o, const char *path)
{
	docker_add_member(&t->stage->steps, "path", path);
	docker_add_member(&t->stage->steps, "user", o->user);
	docker_add_member(&t->stage->steps, "mode", o->mode);
}

static int add_document(struct docker_translation *t, const struct copy_options *o,
                        const struct docker_document *document, struct error *err)
{
	const char *text = document->text, *path = o->target;
	size_t size = strlen(path);
	bool is_folder = o->count > 1 || path[size - 1] == '/' || strcmp(path, ".") == 0;

	if (strchr(document->name, '/'))
		return FAIL(err, ERROR_INVALID, "'%.60s' is not a file's name", document->name);
	if (document->expands && docker_expand(t->arena, text, &t->stage->vars, &text, err) < 0)
		return -1;
	if (is_folder)
		path = arena_format(t->arena, "%s%s%s", path, path[size - 1] == '/' ? "" : "/",
		                    document->name);
	docker_begin_step(t, "write");
	docker_add_member(&t->stage->steps, "text", text);
	add_rest(t, o, path);
	docker_end_step(t);
	return 0;
}

/* The sources that are here-documents become steps of their own; *ret_files are the others. */
static int add_documents(struct docker_translation *t, const struct copy_options *o,
                         const char ***ret_files, struct error *err)
{
	size_t documents = 0, files = 0;

	*ret_files = ARENA_ARRAY(t->arena, const char *, o->count + 1);
	for (size_t i = 0; i < o->count; i++) {
		if (strncmp(o->sources[i], "<<", 2) != 0) {
			(*ret_files)[files++] = o->sources[i];
			continue;
		}
		if (documents == t->at->document_count)
			return FAIL(err, ERROR_INVALID, "'%.60s' begins no here-document",
			            o->sources[i]);
		if (add_document(t, o, &t->at->documents[documents++], err) < 0)
			return -1;
	}
	(*ret_files)[files] = NULL;
	return 0;
}

static int add_files(struct docker_translation *t, const struct copy_options *o,
                     const char *const *files, struct error *err)
{
	const char *from;

	if (o->from) {
		if (docker_stage_named(t, o->from, &from, err) < 0)
			return -1;
		docker_begin_step(t, "copy");
		docker_add_member(&t->stage->steps, "from", from);
		buf_add_text(&t->stage->steps, ",\"paths\":");
		docker_add_texts(&t->stage->steps, files);
		add_rest(t, o, o->target);
		docker_end_step(t);
		return 0;
	}
	if (t->file->has_no_files)
		return docker_refuse(arena_format(t->arena, "%s without the files", o->instruction),
		                     "write them with COPY <<EOF, or put them into the sandbox",
		                     err);
	for (size_t i = 0; files[i]; i++)
		if (check_source(o, files[i], err) < 0)
			return -1;
	docker_begin_step(t, "copy");
	buf_add_text(&t->stage->steps, ",\"source\":");
	docker_add_texts(&t->stage->steps, files);
	add_rest(t, o, o->target);
	docker_add_member(&t->stage->steps, "at",
	                  arena_format(t->arena, "%s:%u", t->file->name, t->at->line));
	docker_end_step(t);
	return 0;
}

static int add_copy(struct docker_translation *t, const char *instruction, const char *rest,
                    struct error *err)
{
	struct copy_options o = {.instruction = instruction};
	const char **files;

	if (parse_options(t, rest, &o, err) < 0)
		return -1;
	if (!*o.target)
		return FAIL(err, ERROR_INVALID, "the target is empty");
	if (add_documents(t, &o, &files, err) < 0)
		return -1;
	return files[0] ? add_files(t, &o, files, err) : 0;
}

int translate_copy(struct docker_translation *t, const char *rest, struct error *err)
{
	return add_copy(t, "COPY", rest, err);
}

int translate_add(struct docker_translation *t, const char *rest, struct error *err)
{
	return add_copy(t, "ADD", rest, err);
}

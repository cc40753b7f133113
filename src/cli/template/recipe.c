/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/template/recipe.h"

#include <string.h>

#include "cli/core/body.h"
#include "cli/core/idle.h"
#include "cli/template/template.h"
#include "json/write.h"

#define PORTS_MAX 64
#define PORT_MAX 65535

/* The fields that --clear can empty, with their options; NULL: write_no_idle. */
static const struct recipe_field {
	const char *name, *option, *empty;
} fields[] = {
        {"description", "description", "\"\""},
        {"runtime", "runtime", "\"\""},
        {"isolation", "isolation", "\"\""},
        {"provider", "provider", "\"\""},
        {"user", "user", "\"\""},
        {"workdir", "workdir", "\"\""},
        {"env", "env", "{}"},
        {"ports", "port", "[]"},
        {"entrypoint", NULL, "[]"},
        {"warm", "warm", "[]"},
        {"resources", NULL, "{}"},
        {"pool", "pool", "{\"target\":0}"},
        {"idle", NULL, NULL},
};
static const char *const limits_options[] = {"cpu", "memory", "disk", "pids", NULL};
static const char *const texts[] = {"description", "runtime", "isolation", "provider",
                                    "user",        "workdir", NULL};

static unsigned count_limits(const struct cli_arguments *args)
{
	unsigned count = 0;

	for (const char *const *name = limits_options; *name; name++)
		count += arguments_has(args, *name);
	return count;
}

static unsigned count_idle(const struct cli_arguments *args)
{
	unsigned count = 0;

	for (size_t i = 0; i < IDLE_OPTIONS; i++)
		count += arguments_has(args, idle_options[i].option);
	return count;
}

bool recipe_needs_limits(const struct cli_arguments *args)
{
	unsigned count = count_limits(args);

	return count > 0 && count < COUNT_OF(limits_options) - 1;
}

static bool is_given(const struct cli_arguments *args, const struct recipe_field *field)
{
	if (strcmp(field->name, "entrypoint") == 0)
		return args->inner != NULL;
	if (strcmp(field->name, "resources") == 0)
		return count_limits(args) > 0;
	if (strcmp(field->name, "idle") == 0)
		return count_idle(args) > 0;
	return arguments_has(args, field->option);
}

static void write_no_idle(struct buf *out)
{
	json_begin_object(out, "idle");
	for (size_t i = 0; i < IDLE_OPTIONS; i++)
		json_add_whole(out, idle_options[i].in_ms, 0);
	json_end_object(out);
}

static const struct recipe_field *find_field(const char *name)
{
	for (unsigned i = 0; i < COUNT_OF(fields); i++) {
		if (strcmp(fields[i].name, name) == 0)
			return &fields[i];
	}
	return NULL;
}

static bool is_named_before(const struct cli_arguments *args, unsigned index)
{
	const char *name = arguments_text_at(args, "clear", index);

	for (unsigned i = 0; i < index; i++) {
		if (strcmp(arguments_text_at(args, "clear", i), name) == 0)
			return true;
	}
	return false;
}

static int write_cleared(const struct cli_arguments *args, struct buf *out, struct error *err)
{
	const char *name;

	for (unsigned i = 0; (name = arguments_text_at(args, "clear", i)); i++) {
		const struct recipe_field *field = find_field(name);

		if (!field) {
			(void)FAIL(err, ERROR_INVALID,
			           "option '--clear': '%.64s' cannot be cleared", name);
			return FAIL_HINT(err, "one of description, runtime, user, workdir, env, "
			                      "ports, entrypoint, warm, resources, pool, idle");
		}
		if (is_given(args, field))
			return FAIL(err, ERROR_INVALID, "'%s' is both set and cleared", name);
		if (is_named_before(args, i))
			continue;
		if (!field->empty)
			write_no_idle(out);
		else if (body_add_json(out, name, field->empty, err) < 0)
			return -1;
	}
	return 0;
}

static void write_texts(const struct cli_arguments *args, struct buf *out)
{
	for (const char *const *name = texts; *name; name++)
		body_add_text(out, *name, arguments_text(args, *name, NULL));
}

static int write_env(struct cli *cli, struct buf *out)
{
	const char *env;

	if (!arguments_has(&cli->args, "env"))
		return 0;
	if (session_env_json(cli->arena, arguments_list(cli, "env"), &env, cli->err) < 0)
		return -1;
	json_add_raw(out, "env", span_of(env));
	return 0;
}

static int write_ports(const struct cli_arguments *args, struct buf *out, struct error *err)
{
	const char *text;
	int64_t port;

	if (!arguments_has(args, "port"))
		return 0;
	json_begin_list(out, "ports");
	for (unsigned i = 0; (text = arguments_text_at(args, "port", i)); i++) {
		if (i == PORTS_MAX)
			return FAIL(err, ERROR_INVALID, "option '--port': at most %d", PORTS_MAX);
		if (span_parse_whole(span_of(text), 1, PORT_MAX, &port, err) < 0)
			return FAIL_CONTEXT(err, "option '--port'");
		json_add_whole(out, NULL, port);
	}
	json_end_list(out);
	return 0;
}

/* Parses "python=numpy,pandas". */
static int write_warm_one(struct arena *a, struct span text, struct buf *out, struct error *err)
{
	struct span language, name;
	bool more = span_split(&text, '=', &language);

	if (language.size == 0)
		return FAIL(err, ERROR_INVALID, "option '--warm': no language");
	json_begin_object(out, NULL);
	body_add_text(out, "language", arena_copy(a, language));
	json_begin_list(out, "imports");
	while (more) {
		more = span_split(&text, ',', &name);
		if (name.size == 0)
			return FAIL(err, ERROR_INVALID, "option '--warm': a module without a name");
		body_add_text(out, NULL, arena_copy(a, name));
	}
	json_end_list(out);
	json_end_object(out);
	return 0;
}

static int write_warm(struct cli *cli, struct buf *out)
{
	const char *text;

	if (!arguments_has(&cli->args, "warm"))
		return 0;
	json_begin_list(out, "warm");
	for (unsigned i = 0; (text = arguments_text_at(&cli->args, "warm", i)); i++) {
		if (write_warm_one(cli->arena, span_of(text), out, cli->err) < 0)
			return -1;
	}
	json_end_list(out);
	return 0;
}

static int write_limits(const struct cli_arguments *args, const struct json_value *limits,
                        struct buf *out, struct error *err)
{
	const struct sandbox_resources so_far = {
	        .cpu = json_number(json_get(limits, "cpu"), 0),
	        .memory_mb = json_get_whole(limits, "memory_mb", 0),
	        .disk_mb = json_get_whole(limits, "disk_mb", 0),
	        .pids = json_get_whole(limits, "pids", 0),
	};
	struct sandbox_resources layers[] = {{0}, so_far}, r;

	if (count_limits(args) == 0)
		return 0;
	if (resources_parse(args, &layers[0], err) < 0)
		return -1;
	r = sandbox_resources_resolve(layers, COUNT_OF(layers), &(struct sandbox_resources){0});
	resources_add(out, &r);
	return 0;
}

static int write_idle(const struct cli_arguments *args, struct buf *out, struct error *err)
{
	if (count_idle(args) == 0)
		return 0;
	json_begin_object(out, "idle");
	for (size_t i = 0; i < IDLE_OPTIONS; i++) {
		int64_t ms = 0;

		if (!arguments_has(args, idle_options[i].option))
			continue;
		if (idle_option_get(args, &idle_options[i], &ms, err) < 0)
			return -1;
		json_add_whole(out, idle_options[i].in_ms, ms);
	}
	json_end_object(out);
	return 0;
}

static int write_pool(struct cli *cli, struct buf *out)
{
	const char *text = arguments_text(&cli->args, "pool", NULL);

	if (!text)
		return 0;
	json_begin_object(out, "pool");
	if (pool_size_add(out, text, cli->err) < 0)
		return FAIL_CONTEXT(cli->err, "option '--pool'");
	json_end_object(out);
	return 0;
}

static int write_public(const struct cli_arguments *args, struct buf *out, struct error *err)
{
	const char *text = arguments_text(args, "public", NULL);

	if (!text)
		return 0;
	if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
		return FAIL(err, ERROR_INVALID, "option '--public' is not yes or no");
	json_add_bool(out, "public", strcmp(text, "yes") == 0);
	return 0;
}

int recipe_write(struct cli *cli, const struct json_value *limits, struct buf *out)
{
	const struct cli_arguments *args = &cli->args;

	write_texts(args, out);
	body_add_texts(out, "entrypoint", args->inner);
	if (write_env(cli, out) < 0 || write_ports(args, out, cli->err) < 0 ||
	    write_warm(cli, out) < 0 || write_limits(args, limits, out, cli->err) < 0 ||
	    write_pool(cli, out) < 0 || write_idle(args, out, cli->err) < 0 ||
	    write_public(args, out, cli->err) < 0)
		return -1;
	return write_cleared(args, out, cli->err);
}

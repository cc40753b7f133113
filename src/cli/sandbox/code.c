/* SPDX-License-Identifier: Apache-2.0 */
/* `atoll code`: runs a block of code in a context and prints its results. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/core/body.h"
#include "cli/sandbox/code_events.h"
#include "cli/sandbox/commands.h"
#include "cli/sandbox/create.h"
#include "cli/core/run_options.h"
#include "cli/core/server.h"
#include "cli/core/text_out.h"
#include "json/write.h"

/* The server's own limit is lower; its error names it. */
#define SOURCE_MAX ((size_t)1 << 20)
#define BODY_MAX ((size_t)8 << 20)

static int read_source(struct cli *cli, const char *path, const char **ret)
{
	AUTO(buf_done) struct buf text = BUF(SOURCE_MAX);
	bool is_stdin = strcmp(path, "-") == 0;
	int result = is_stdin ? fd_read_to_end(STDIN_FILENO, &text, cli->err)
	                      : file_read(AT_FDCWD, path, &text, cli->err);

	if (result < 0)
		return FAIL_CONTEXT(cli->err, "read the code");
	if (text.size > 0 && memchr(text.data, '\0', text.size))
		return FAIL(cli->err, ERROR_INVALID, "'%s' is not a text file", path);
	*ret = arena_copy(cli->arena, buf_span(&text));
	return 0;
}

/* Short names and file extensions. */
static const struct {
	const char *name, *language;
} names[] = {
        {"py", "python"},      {"python3", "python"},  {"js", "javascript"}, {"mjs", "javascript"},
        {"cjs", "javascript"}, {"node", "javascript"}, {"sh", "bash"},       {"ts", "typescript"},
        {"mts", "typescript"}, {"cts", "typescript"},  {"R", "r"},
};
static const char *language_of(const char *name, const char *fallback)
{
	for (size_t i = 0; name && i < COUNT_OF(names); i++)
		if (strcmp(names[i].name, name) == 0)
			return names[i].language;
	return fallback;
}

/* A call that makes its own sandbox names none. */
static bool is_ephemeral(const struct cli *cli)
{
	return arguments_has(&cli->args, "ephemeral");
}

static const char *code_path(struct cli *cli, const char *query)
{
	if (is_ephemeral(cli))
		return arena_format(cli->arena, "/v1/ephemeral/code%s", query);
	return instance_path(cli->arena, cli->args.words[0],
	                     arena_format(cli->arena, "/code%s", query));
}

static int add_settings(struct cli *cli, struct buf *body)
{
	struct create_options make;

	if (create_options_parse(cli, &make) < 0)
		return -1;
	json_begin_object(body, "sandbox");
	if (create_add(cli->arena, &make, body, cli->err) < 0)
		return -1;
	json_end_object(body);
	return 0;
}

static int check_words(struct cli *cli)
{
	static const char *const settings[] = {"template", "image",     "config",
	                                       "provider", "isolation", "workspace"};
	bool needs_name = !is_ephemeral(cli);

	if (cli->args.count < (needs_name ? 1 : 0) || cli->args.count > (needs_name ? 2 : 1)) {
		(void)FAIL(cli->err, ERROR_INVALID,
		           needs_name ? "no sandbox is given" : "--ephemeral takes only a file");
		return FAIL_HINT(cli->err, "atoll code SANDBOX [FILE], or --ephemeral [FILE]");
	}
	for (size_t i = 0; needs_name && i < COUNT_OF(settings); i++)
		if (arguments_has(&cli->args, settings[i]))
			return FAIL(cli->err, ERROR_INVALID, "--%s is of --ephemeral", settings[i]);
	return 0;
}

/* The option --language, else the context's language, else the file's extension decides. */
static int choose_language(struct cli *cli, const char *path, const char *context, const char **ret)
{
	const char *said = arguments_text(&cli->args, "language", NULL);
	const char *suffix = strrchr(path, '.');
	const struct json_value *found;

	if (said || strcmp(context, "default") == 0) {
		*ret = said ? language_of(said, said)
		            : language_of(suffix ? suffix + 1 : NULL, "python");
		return 0;
	}
	path = instance_path(cli->arena, cli->args.words[0],
	                     escaped_path(cli->arena, "/code/contexts/", context, ""));
	if (server_get(cli, path, &found) < 0)
		return -1;
	*ret = json_get_text(found, "language", "python");
	return 0;
}

static int write_body(struct cli *cli, struct buf *body)
{
	const struct cli_arguments *args = &cli->args;
	unsigned at = is_ephemeral(cli) ? 0 : 1;
	const char *path = args->count > at ? args->words[at] : "-", *env, *code, *language;
	const char *context = arguments_text(args, "context", "default");
	int64_t timeout_ms = 0;

	if (arguments_duration(args, "timeout", &timeout_ms, cli->err) < 0 ||
	    session_env_json(cli->arena, arguments_list(cli, "env"), &env, cli->err) < 0 ||
	    read_source(cli, path, &code) < 0 || cli_connect(cli) < 0 ||
	    choose_language(cli, path, context, &language) < 0)
		return -1;
	body_begin(body);
	body_add_text(body, "code", code);
	body_add_text(body, "language", language);
	body_add_text(body, "contextId", context);
	json_add_raw(body, "env", span_of(env));
	if (arguments_has(args, "record"))
		json_add_bool(body, "record", true);
	if (timeout_ms > 0)
		json_add_whole(body, "timeout_ms", timeout_ms);
	if (is_ephemeral(cli) && add_settings(cli, body) < 0)
		return -1;
	(void)body_end(body);
	if (body->overflowed)
		return FAIL(cli->err, ERROR_TOO_LARGE, "the code is too long");
	return 0;
}

static int open_folder(struct cli *cli, const char *path, int *ret)
{
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		return FAIL_ERRNO(cli->err, "make folder '%s'", path);
	*ret = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *ret < 0 ? FAIL_ERRNO(cli->err, "open folder '%s'", path) : 0;
}

static int stream_result(struct cli *cli, const struct buf *body, struct code_events *events)
{
	const struct http_call call = {
	        .method = "POST",
	        .path = code_path(cli, "?stream=ndjson"),
	        .body = buf_span(body),
	};
	struct server_stream stream = {code_events_add, events};

	if (server_stream(cli, &call, &stream) < 0)
		return -1;
	if (!events->has_ended)
		return FAIL(cli->err, ERROR_UNAVAILABLE,
		            "the server closed the stream before the code ended");
	return 0;
}

static int collect_result(struct cli *cli, const struct buf *body)
{
	const struct server_call call = {
	        .method = "POST",
	        .path = code_path(cli, ""),
	        .body = buf_text(body),
	};
	const struct json_value *answer;

	if (server_call(cli, &call, &answer) < 0)
		return -1;
	print_json(answer);
	return session_exit_status(answer);
}

static int run_code(struct cli *cli)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	AUTO(code_events_done) struct code_events events = {.folder = -1};
	const char *out = arguments_text(&cli->args, "out", NULL);

	code_events_init(&events);
	if (cli->json && out)
		return FAIL(cli->err, ERROR_INVALID, "--out and --json exclude each other");
	if (check_words(cli) < 0 || (out && open_folder(cli, out, &events.folder) < 0) ||
	    write_body(cli, &body) < 0)
		return -1;
	events.folder_name = out;
	if (cli->json)
		return collect_result(cli, &body);
	return stream_result(cli, &body, &events) < 0 ? -1 : events.status;
}

static const struct command_option options[] = {
        {"language", "LANGUAGE",
         "python, javascript, typescript, bash, r or java (default: by the context or the file)",
         .letter = 'l'},
        {"context", "ID", "context of the code (default: the language's default context)",
         .letter = 'c'},
        OPTION_EPHEMERAL,
        OPTION_TEMPLATE_OR_IMAGE,
        OPTION_CONFIG,
        OPTIONS_PROVIDER,
        OPTION_WORKSPACE,
        {"out", "DIR", "folder for pictures, tables and other forms of results", .letter = 'o',
         .completion = COMPLETE_FOLDER},
        OPTION_ENV,
        OPTION_RECORD,
        {"timeout", "DURATION", "interrupt the code after this time, such as 90s; exit status 124"},
        {0},
};

const struct cli_command command_code = {
        .name = "code",
        .usage = "[OPTION...] SANDBOX|--ephemeral [FILE]",
        .about = "run code in a context that keeps its variables",
        .more = "The code is FILE, or standard input if FILE is '-' or missing. Its output and "
                "the\n"
                "text of its results are printed immediately. The next block of the same context\n"
                "sees its variables, functions and current folder. Ctrl-C interrupts it.",
        .options = options,
        .arguments_max = 2,
        .completion = COMPLETE_SANDBOX_OR_FILE,
        .run = run_code,
};

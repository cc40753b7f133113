/* SPDX-License-Identifier: Apache-2.0 */
#include "git/run.h"

#include <string.h>

#include "git/parse.h"
#include "provider/compute_run.h"
#include "provider/provider.h"
#include "wire/agent.h"
#include "fleet/core/fleet_hold.h"

#define FIXED_ARGS 16
#define TEXT_MAX ((size_t)200)

/* For git and its child processes: English output, no prompts, no patterns, and no remote helpers
 * that a URL could name. */
static const char *const environment[] = {
        "LC_ALL=C.UTF-8",
        "GIT_TERMINAL_PROMPT=0",
        "GIT_ASKPASS=",
        "SSH_ASKPASS=",
        "GIT_EDITOR=true",
        "GIT_PAGER=cat",
        "GIT_LITERAL_PATHSPECS=1",
        "GIT_ALLOW_PROTOCOL=https:http:ssh:git:file",
        "GIT_SSH_COMMAND=ssh -o BatchMode=yes",
        NULL,
};

/* Settings of a call with a password. An empty helper removes the helpers before it. */
static const char *const login_settings[] = {
        "core.hooksPath=/dev/null",
        "core.fsmonitor=false",
        "credential.helper=",
        NULL,
};
#define HELPER                                                                                     \
	"!f() { test \"$1\" = get && printf 'username=%s\\npassword=%s\\n' "                       \
	"\"$ATOLL_GIT_USERNAME\" \"$ATOLL_GIT_PASSWORD\"; }; f"

struct git_environment {
	struct arena *arena;
	const char **items;
	size_t count;
};

static void set_variable(struct git_environment *e, const char *item)
{
	size_t size = strcspn(item, "=") + 1;

	for (size_t i = 0; i < e->count; i++) {
		if (strncmp(e->items[i], item, size) == 0) {
			e->items[i] = item;
			return;
		}
	}
	e->items[e->count++] = item;
}

static size_t count_of(const char *const *list)
{
	size_t count = 0;

	while (list && list[count])
		count++;
	return count;
}

static const char **environment_of(struct arena *a, const struct git_at *at,
                                   const struct git_invocation *what)
{
	size_t own = count_of(at->env), more = count_of(what->env);
	struct git_environment e = {.arena = a};

	e.items = ARENA_ARRAY(a, const char *, own + more + COUNT_OF(environment) + 3);
	for (size_t i = 0; i < own; i++)
		set_variable(&e, at->env[i]);
	for (size_t i = 0; environment[i]; i++)
		set_variable(&e, environment[i]);
	for (size_t i = 0; i < more; i++)
		set_variable(&e, what->env[i]);
	if (what->login) {
		set_variable(&e,
		             arena_format(a, "ATOLL_GIT_USERNAME=%s",
		                          what->login->username ? what->login->username : "git"));
		set_variable(&e, arena_format(a, "ATOLL_GIT_PASSWORD=%s", what->login->password));
	}
	return e.items;
}

static const char **args_of(struct arena *a, const struct git_at *at,
                            const struct git_invocation *what)
{
	size_t paths = count_of(what->paths), count = 0;
	const char **args = ARENA_ARRAY(a, const char *, FIXED_ARGS + GIT_ARGS_MAX + paths + 2);

	args[count++] = "git";
	if (!what->elsewhere) {
		args[count++] = "-C";
		args[count++] = at->path;
	}
	for (size_t i = 0; what->login && login_settings[i]; i++) {
		args[count++] = "-c";
		args[count++] = login_settings[i];
	}
	if (what->login) {
		args[count++] = "-c";
		args[count++] = arena_format(a, "credential.%s.helper=%s", what->server, HELPER);
	}
	for (size_t i = 0; what->args[i]; i++)
		args[count++] = what->args[i];
	if (!what->paths)
		return args;
	args[count++] = "--";
	memcpy(args + count, what->paths, paths * sizeof(*args));
	return args;
}

/* Git's own options come before the command: "-c" and its value. */
static const char *const *command_of(const struct git_invocation *what)
{
	const char *const *args = what->args;

	while (args[0] && args[1] && strcmp(args[0], "-c") == 0)
		args += 2;
	return args;
}

static bool changes_repository(const char *const *args)
{
	static const char *const commands[] = {"add",    "branch", "checkout", "clone",
	                                       "commit", "fetch",  "init",     "pull",
	                                       "push",   "reset",  "restore"};

	for (size_t i = 0; args[0] && i < COUNT_OF(commands); i++)
		if (strcmp(args[0], commands[i]) == 0)
			return true;
	return false;
}

static void tell_end(const struct git_at *at, const struct git_invocation *what,
                     const struct compute_result *result, const struct error *err)
{
	const struct git_ended ended = {command_of(what), what->paths, result, err};

	if (at->on_end && changes_repository(ended.args))
		at->on_end(at->context, &ended);
}

int git_run_any_exit(struct git_at *at, struct arena *a, const struct git_invocation *what,
                     struct compute_result *ret, struct error *err)
{
	const struct agent_exec exec = {
	        .args = args_of(a, at, what),
	        .env = environment_of(a, at, what),
	        .cwd = "/",
	        .user = at->user,
	        .stdin_bytes = what->input,
	        .label = "git",
	};
	const struct compute_run options = {
	        .exec = &exec, .out_max = GIT_OUTPUT_MAX, .deadline = at->deadline};

	at->failure = NULL;
	if (provider_require(at->hold->provider, PROVIDER_CAN_EXEC, err) < 0)
		return -1;
	if (compute_run(at->hold->provider, at->hold->id, a, &options, ret, err) == 0) {
		tell_end(at, what, ret, err);
		return 0;
	}
	tell_end(at, what, NULL, err);
	if (err->code == ERROR_NOT_FOUND && strncmp(err->text, "command not found", 17) == 0)
		return FAIL(err, ERROR_UNSUPPORTED, "there is no git in the sandbox");
	return -1;
}

/* The line with the reason, without git's prefix. */
static struct span complaint_line(struct span text)
{
	static const char *const marks[] = {"fatal: ", "error: ", "! "};
	struct span line, last = {NULL, 0};
	bool more = text.size > 0;

	while (more) {
		more = span_split(&text, '\n', &line);
		for (size_t i = 0; i < COUNT_OF(marks); i++) {
			size_t size = strlen(marks[i]);

			if (span_starts_with(span_trim(line), marks[i]))
				return (struct span){span_trim(line).data + size,
				                     span_trim(line).size - size};
		}
		if (line.size > 0)
			last = line;
	}
	return last;
}

static int fail_refused(struct git_at *at, struct arena *a, const struct compute_result *result,
                        struct error *err)
{
	struct git_complaint complaint = git_parse_complaint(result->out[1]);
	struct span line = complaint_line(result->out[1]);
	char *text;

	/* git commit and git merge print the reason on stdout. */
	if (!complaint.name && complaint.code == ERROR_INVALID)
		complaint = git_parse_complaint(result->out[0]);
	if (line.size == 0)
		line = complaint_line(result->out[0]);
	if (line.size > TEXT_MAX)
		line.size = TEXT_MAX;
	text = arena_copy(a, line);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	at->failure = complaint.name;
	return FAIL(err, complaint.code, "git: %s", text[0] ? text : "it failed without a message");
}

int git_run(struct git_at *at, struct arena *a, const struct git_invocation *what,
            struct compute_result *ret, struct error *err)
{
	if (git_run_any_exit(at, a, what, ret, err) < 0)
		return -1;
	if (ret->process.exit_code != 0)
		return fail_refused(at, a, ret, err);
	return 0;
}

int git_check_paths(const char *const *paths, struct error *err)
{
	size_t count = count_of(paths);

	if (count == 0 || count > GIT_PATHS_MAX)
		return FAIL(err, ERROR_INVALID, "files: 1 to %d of them", GIT_PATHS_MAX);
	for (size_t i = 0; i < count; i++)
		if (!paths[i][0] || strlen(paths[i]) > 4095)
			return FAIL(err, ERROR_INVALID, "files[%zu]: 1 to 4095 bytes", i);
	return 0;
}

const char *git_first_line(struct arena *a, const struct compute_result *result)
{
	struct span rest = result->out[0], line;

	(void)span_split(&rest, '\n', &line);
	return arena_copy(a, line);
}

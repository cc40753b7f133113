/* SPDX-License-Identifier: Apache-2.0 */
/* prompts/list and prompts/get: tasks that a person gives to a model with a sandbox. */
#include "surface/mcp/prompts.h"

#include <stdio.h>
#include <string.h>

#include "http/server/http.h"
#include "json/write.h"
#include "surface/mcp/fixtures.h"
#include "surface/mcp/mcp.h"

#define ARGUMENT_MAX 4096
#define TEXT_MAX ((size_t)64 * 1024)

#define SANDBOX_ARGUMENT                                                                           \
	{                                                                                          \
		.name = "sandbox", .complete = MCP_COMPLETE_SANDBOX,                               \
		.about = "id or name of the sandbox; default: the client's own"                    \
	}

static const struct mcp_prompt prompts[] = {
        {
                .name = "run_script",
                .title = "Run a script and check it",
                .about = "Run a script of the sandbox, find why it fails, and mend it",
                .arguments = {{.name = "path",
                               .about = "of the script, relative to the workspace",
                               .complete = MCP_COMPLETE_PATH,
                               .is_required = true},
                              {.name = "arguments", .about = "of the script, as in a shell"},
                              SANDBOX_ARGUMENT},
                .steps =
                        {
                                {"Run the script `{path}` in an isolated sandbox and check that it "
                                 "works."},
                                {"Pass `sandbox: {sandbox}` to each tool.", "sandbox"},
                                {"Read `{path}` with the tool `read`, to know its language, its "
                                 "inputs and its effects."},
                                {"Take a `snapshot`, so that `rollback` can undo what the script "
                                 "changes."},
                                {"Run it with `bash` and with a timeout that suits it."},
                                {"Its arguments are: `{arguments}`.", "arguments"},
                                {"A script that fails: find the cause in its output, mend it with "
                                 "`edit`, and run it again, at most three times. Install a missing "
                                 "package; do not leave out the code that needs it."},
                                {"Report the exit code, the last lines of the output, the files "
                                 "that were made, and each change with its reason."},
                        },
        },
        {
                .name = "set_up_project",
                .title = "Set up a project from git",
                .about = "Clone a repository into a sandbox, install what it needs, and run its "
                         "tests",
                .arguments = {{.name = "repository",
                               .about = "address for git clone, such as "
                                        "https://git.example.com/team/app.git",
                               .is_required = true},
                              {.name = "revision",
                               .about = "branch, tag or commit; default: the main branch"},
                              {.name = "template",
                               .about = "template of a new sandbox for it",
                               .complete = MCP_COMPLETE_TEMPLATE},
                              SANDBOX_ARGUMENT},
                .steps =
                        {
                                {"Set up the project `{repository}` in an isolated sandbox."},
                                {"Make a sandbox for it with `create_sandbox`, template "
                                 "`{template}`, with internet; pass its id as `sandbox` to each "
                                 "tool.",
                                 "template"},
                                {"Pass `sandbox: {sandbox}` to each tool.", "sandbox"},
                                {"Clone it with `git clone --depth 1`."},
                                {"Then fetch and check out `{revision}`.", "revision"},
                                {"Read its README and its build files, to learn the language, the "
                                 "package manager and the test command; do not guess them."},
                                {"Install the dependencies from the lock file, if there is one. "
                                 "Run what takes more than a minute with `background: true` and "
                                 "follow it with `async_status`."},
                                {"Run the tests. For each failure tell whether the project, the "
                                 "environment or the network causes it."},
                                {"Take a `snapshot` named after the project when the tests can "
                                 "run, so that the set-up need not be repeated."},
                                {"Report the commit, the versions of the tools, the commands that "
                                 "set it up, and the result of the tests."},
                        },
        },
        {
                .name = "serve_preview",
                .title = "Serve a preview",
                .about = "Start a web server in the sandbox and give the user a link to it",
                .arguments = {{.name = "command",
                               .about = "that starts the server; default: found in the project"},
                              {.name = "port", .about = "of the server; default: its own"},
                              SANDBOX_ARGUMENT},
                .steps =
                        {
                                {"Start a web server in the sandbox and give the user a link to "
                                 "it."},
                                {"Pass `sandbox: {sandbox}` to each tool.", "sandbox"},
                                {"The command is: `{command}`.", "command"},
                                {"Let it listen on port {port}.", "port"},
                                {"Start it with `bash` and `background: true`. It may listen on "
                                 "127.0.0.1; use a port from 1024 on."},
                                {"Wait until it answers: request it with `curl` inside, at most "
                                 "30 times, a second apart. If its job ends, read its log with "
                                 "`async_status` and mend the cause."},
                                {"Check the answer: the status, the content type, and the text "
                                 "that a user should see."},
                                {"Make a link with `preview_url` and give it to the user as it "
                                 "is. Do not open or change it; say when it expires."},
                        },
        },
        {
                .name = "try_change",
                .title = "Try a change and keep it only if it works",
                .about = "Change files, run a check, and take everything back if the check fails",
                .arguments = {{.name = "change",
                               .about = "what to change, in words",
                               .is_required = true},
                              {.name = "check",
                               .about = "command that must succeed; default: the project's tests"},
                              SANDBOX_ARGUMENT},
                .steps =
                        {
                                {"Try this change in the sandbox and keep it only if it works:\n"
                                 "{change}"},
                                {"Pass `sandbox: {sandbox}` to each tool.", "sandbox"},
                                {"Take a `snapshot` first and keep its id."},
                                {"The check is: `{check}`. Run it before the change, too, to know "
                                 "whether it succeeds without it.",
                                 "check"},
                                {"Find the files with `grep` and `glob`, and change them with "
                                 "`edit`. Change nothing else."},
                                {"Run the check. If it fails twice for the same reason, use "
                                 "`rollback` with the snapshot."},
                                {"Report the difference (`git diff`, if it is a repository), the "
                                 "output of the check, and whether the change was kept."},
                        },
        },
        {.name = NULL},
};

static const struct mcp_prompt *find_prompt(const char *name)
{
	for (const struct mcp_prompt *p = prompts; p->name; p++)
		if (strcmp(p->name, name) == 0)
			return p;
	return NULL;
}

const struct mcp_argument *mcp_prompt_argument(const char *prompt, const char *name,
                                               bool *ret_known)
{
	const struct mcp_prompt *p = find_prompt(prompt);

	*ret_known = p != NULL;
	for (size_t i = 0; p && i < MCP_PROMPT_ARGUMENTS_MAX && p->arguments[i].name; i++)
		if (strcmp(p->arguments[i].name, name) == 0)
			return &p->arguments[i];
	return NULL;
}

void mcp_write_prompt(struct buf *out, const struct mcp_prompt *p)
{
	json_begin_object(out, NULL);
	json_add_text(out, "name", p->name);
	if (p->title)
		json_add_text(out, "title", p->title);
	json_add_text(out, "description", p->about);
	json_begin_list(out, "arguments");
	for (size_t i = 0; i < MCP_PROMPT_ARGUMENTS_MAX && p->arguments[i].name; i++) {
		json_begin_object(out, NULL);
		json_add_text(out, "name", p->arguments[i].name);
		json_add_text(out, "description", p->arguments[i].about);
		json_add_bool(out, "required", p->arguments[i].is_required);
		json_end_object(out);
	}
	json_end_list(out);
	json_end_object(out);
}

int mcp_prompts_list(struct mcp *m, struct buf *out, struct mcp_fault *fault)
{
	(void)fault;
	json_begin_list(out, "prompts");
	for (const struct mcp_prompt *p = prompts; p->name; p++)
		mcp_write_prompt(out, p);
	mcp_fixtures_list(m, MCP_FIXTURE_PROMPTS, out);
	json_end_list(out);
	return 0;
}

/* The names of a prompt's arguments, for an error. */
static const char *list_arguments(struct arena *a, const struct mcp_prompt *p)
{
	const char *text = "";

	for (size_t i = 0; i < MCP_PROMPT_ARGUMENTS_MAX && p->arguments[i].name; i++)
		text = arena_format(a, "%s%s%s", text, i ? ", " : "", p->arguments[i].name);
	return text[0] ? text : "none";
}

int mcp_prompt_check(struct mcp *m, const struct mcp_prompt *p, const struct json_value *given,
                     struct mcp_fault *fault)
{
	const struct json_value *value;
	const char *key;
	bool is_known;

	for (size_t i = 0; (value = json_member_at(given, i, &key)); i++) {
		const char *text = json_text(value, NULL);

		is_known = false;
		for (size_t k = 0; k < MCP_PROMPT_ARGUMENTS_MAX && p->arguments[k].name; k++)
			is_known |= strcmp(p->arguments[k].name, key) == 0;
		if (!is_known)
			return mcp_refuse(fault, MCP_INVALID_PARAMS, 200,
			                  "no argument '%.64s' of %s; its arguments: %s", key,
			                  p->name, list_arguments(m->rq->arena, p));
		if (!text || strlen(text) > ARGUMENT_MAX)
			return mcp_refuse(fault, MCP_INVALID_PARAMS, 200,
			                  "arguments.%.64s: a text of at most %d bytes is expected",
			                  key, ARGUMENT_MAX);
	}
	for (size_t i = 0; i < MCP_PROMPT_ARGUMENTS_MAX && p->arguments[i].name; i++)
		if (p->arguments[i].is_required &&
		    !json_get_text(given, p->arguments[i].name, "")[0])
			return mcp_refuse(fault, MCP_INVALID_PARAMS, 200,
			                  "arguments.%s is missing: %s", p->arguments[i].name,
			                  p->arguments[i].about);
	return 0;
}

/* Replaces {name} by the argument. */
static void add_step(struct buf *out, const char *step, const struct json_value *given)
{
	struct span rest = span_of(step), part, name;
	char key[32];

	while (span_find(rest, '{') >= 0) {
		(void)span_split(&rest, '{', &part);
		buf_add_span(out, part);
		(void)span_split(&rest, '}', &name);
		(void)snprintf(key, sizeof(key), "%.*s", (int)name.size, name.data);
		buf_add_text(out, json_get_text(given, key, ""));
	}
	buf_add_span(out, rest);
}

static void add_text_message(struct buf *out, struct span text)
{
	json_begin_object(out, NULL);
	json_add_text(out, "role", "user");
	json_begin_object(out, "content");
	json_add_text(out, "type", "text");
	json_add_span(out, "text", text);
	json_end_object(out);
	json_end_object(out);
}

int mcp_prompts_get(struct mcp *m, struct buf *out, struct mcp_fault *fault)
{
	const char *name = json_get_text(m->message.params, "name", "");
	const struct json_value *given = json_get(m->message.params, "arguments");
	const struct mcp_prompt *p = find_prompt(name);
	AUTO(buf_done) struct buf text = BUF(TEXT_MAX);
	unsigned number = 0;

	if (!p)
		return mcp_refuse(fault, MCP_INVALID_PARAMS, 200,
		                  "unknown prompt '%.64s'; prompts/list names the known ones",
		                  name);
	if (mcp_prompt_check(m, p, given, fault) < 0)
		return -1;
	for (const struct mcp_step *step = p->steps; step->text; step++) {
		if (step->needs && !json_get_text(given, step->needs, "")[0])
			continue;
		if (number++ > 0)
			buf_addf(&text, "\n%u. ", number - 1);
		add_step(&text, step->text, given);
	}
	json_add_text(out, "description", p->about);
	json_begin_list(out, "messages");
	add_text_message(out, buf_span(&text));
	json_end_list(out);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* /daytona/toolbox/:id/process — runs commands to their end. */
#include <string.h>

#include "calls/command.h"
#include "config/config.h"
#include "edge/target.h"
#include "json/write.h"
#include "surface/daytona/daytona.h"
#include "surface/daytona/routes.h"
#include "wire/agent_cause.h"

#define BASE DAYTONA_TOOLBOX "/:id"
#define TIMEOUT_MAX_S (7 * 24 * 3600)

struct daytona_execute_body {
	const char *command, *cwd;
	struct json_map envs;
	int64_t timeout;
	uint64_t present;
};
enum { EXECUTE_TIMEOUT };
static const struct json_member execute_request_members[] = {
        [EXECUTE_TIMEOUT] = JSON_WHOLE_MEMBER(daytona_execute_body, timeout, .flags = JSON_NULLABLE,
                                              .max = TIMEOUT_MAX_S),
        JSON_TEXT_MEMBER(daytona_execute_body, command, .flags = JSON_REQUIRED),
        JSON_TEXT_MEMBER(daytona_execute_body, cwd, .flags = JSON_NULLABLE, .max = 4096),
        JSON_TEXT_MAP_MEMBER(daytona_execute_body, envs, .flags = JSON_NULLABLE | JSON_SECRET,
                             .max = 256),
};
static JSON_OPEN_BITS_SHAPE(execute_request, "DaytonaExecute", daytona_execute_body, NULL);

/* {"exitCode":0,"result":"…" without the bracket at the end; both streams are in stdout, see
 * set_line. */
static int begin_result(const struct output_collector *c, const struct agent_process *p,
                        struct buf *out, struct error *err)
{
	const char *cause = agent_process_cause(p);
	AUTO(buf_done) struct buf text = BUF(2 * (c->limit + 256));

	if (p->timed_out)
		return FAIL(err, ERROR_TIMEOUT, "command execution timeout");
	for (unsigned i = 0; i < 2; i++)
		head_tail_join(&c->streams[i], &text);
	json_begin_object(out, NULL);
	json_add_whole(out, "exitCode", p->exit_code);
	json_add_span(out, "result", buf_span(&text));
	/* Daytona has no such member: it is added only if a limit ended the command. */
	if (agent_cause_is_limit(cause))
		json_add_text(out, "cause", cause);
	return 0;
}

static int write_result(const struct output_collector *c, const struct agent_process *p,
                        struct buf *out, struct error *err)
{
	if (begin_result(c, p, out, err) < 0)
		return -1;
	json_end_object(out);
	return 0;
}

/* Daytona answers with one text in the order of writing, so the shell writes both streams to one
 * pipe. */
static void set_line(struct sandbox_command *c, struct arena *a, const char *line)
{
	command_set_line(c, a, arena_format(a, "exec 2>&1\n%s", line));
	c->line = line;
}

/* The members that both bodies have. */
struct daytona_run_options {
	const char *cwd;
	const struct json_map *envs;
	int64_t timeout_s; /* -1 = the server's default */
};

static int fill_command(struct request *rq, const struct api_target *t,
                        const struct daytona_run_options *o, struct sandbox_command *c,
                        struct error *err)
{
	if (command_set_cwd(c, rq->arena, t, o->cwd, err) < 0 ||
	    api_target_env(rq, t, o->envs, &c->exec.env, err) < 0)
		return -1;
	c->exec.user = t->user;
	c->exec.timeout_ms = (uint64_t)(o->timeout_s >= 0 ? o->timeout_s * 1000
	                                                  : api_of(rq)->config->exec_timeout_ms);
	c->form = OUTPUT_RESULT;
	c->output_limit = CONFIG_OUTPUT_LIMIT_MAX;
	return 0;
}

static int execute_command(struct request *rq, const void *body, struct reply *reply,
                           struct error *err)
{
	const struct daytona_execute_body *b = body;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct sandbox_command c = {.count = 0, .write_result = write_result};
	const struct daytona_run_options options = {
	        b->cwd, &b->envs, b->present >> EXECUTE_TIMEOUT & 1 ? b->timeout : -1};

	if (daytona_target_open(rq, &t, err) < 0 || fill_command(rq, &t, &options, &c, err) < 0)
		return -1;
	set_line(&c, rq->arena, b->command);
	return command_start(rq, &t, &c, reply, err);
}

struct daytona_code_body {
	int64_t timeout;
	const char *code;
	int language;
	const char **argv;
	struct json_map envs;
	uint64_t present;
};
enum { CODE_TIMEOUT };
static const struct json_member code_request_members[] = {
        [CODE_TIMEOUT] = JSON_WHOLE_MEMBER(daytona_code_body, timeout, .flags = JSON_NULLABLE,
                                           .max = TIMEOUT_MAX_S),
        JSON_TEXT_MEMBER(daytona_code_body, code, .flags = JSON_REQUIRED),
        JSON_CHOICE_MEMBER(daytona_code_body, language, .flags = JSON_REQUIRED,
                           .choices = command_languages),
        JSON_TEXT_LIST_MEMBER(daytona_code_body, argv, .flags = JSON_NULLABLE, .max = 1024),
        JSON_TEXT_MAP_MEMBER(daytona_code_body, envs, .flags = JSON_NULLABLE | JSON_SECRET,
                             .max = 256),
};
static JSON_OPEN_BITS_SHAPE(code_request, "DaytonaCodeRun", daytona_code_body, NULL);

static int write_code_result(const struct output_collector *c, const struct agent_process *p,
                             struct buf *out, struct error *err)
{
	if (begin_result(c, p, out, err) < 0)
		return -1;
	json_begin_object(out, "artifacts");
	json_add_texts(out, "charts", NULL);
	json_end_object(out);
	json_end_object(out);
	return 0;
}

/* Appends the arguments behind the code, in each alternative command line. */
static void add_arguments(struct sandbox_command *c, struct arena *a, const char **argv)
{
	size_t more = 0;

	while (argv && argv[more])
		more++;
	/* A warm interpreter accepts no arguments. */
	c->may_be_warm = c->may_be_warm && more == 0;
	for (unsigned i = 0; i < c->count && more > 0; i++) {
		const char **args = c->alternatives[i].args, **all;
		size_t count = 0;

		while (args[count])
			count++;
		all = ARENA_ARRAY(a, const char *, count + more + 1);
		memcpy(all, args, count * sizeof(*all));
		memcpy(all + count, argv, more * sizeof(*all));
		c->alternatives[i].args = all;
	}
}

static int run_code(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct daytona_code_body *b = body;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct sandbox_command c = {.count = 0, .write_result = write_code_result};
	const struct daytona_run_options options = {
	        NULL, &b->envs, b->present >> CODE_TIMEOUT & 1 ? b->timeout : -1};

	if (command_set_code(&c, rq->arena, (enum command_language)b->language, b->code, err) < 0 ||
	    daytona_target_open(rq, &t, err) < 0 || fill_command(rq, &t, &options, &c, err) < 0)
		return -1;
	add_arguments(&c, rq->arena, b->argv);
	return command_start(rq, &t, &c, reply, err);
}

const struct route daytona_process_routes[] = {
        {HTTP_POST, BASE "/process/execute", SCOPE_SANDBOX_WRITE, ROUTE_TRY | ROUTE_HIDDEN,
         .body = &execute_request, .handle = execute_command, .tag = "daytona",
         .summary = "Run a command to its end"},
        {HTTP_POST, BASE "/process/code-run", SCOPE_SANDBOX_WRITE, ROUTE_TRY | ROUTE_HIDDEN,
         .body = &code_request, .handle = run_code, .tag = "daytona",
         .summary = "Run a block of code to its end"},
        {.path = NULL},
};

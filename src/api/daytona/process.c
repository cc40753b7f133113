/* SPDX-License-Identifier: Apache-2.0 */
/* /daytona/toolbox/:id/process — commands that run to their end. */
#include "api/command.h"
#include "api/daytona/daytona.h"
#include "api/tables.h"

#define BASE DAYTONA_TOOLBOX "/:id"
#define TIMEOUT_MAX_S (7 * 24 * 3600)

struct execute_body {
	const char *command, *cwd;
	struct json_map envs;
	int64_t timeout;
	uint64_t present;
};
enum { EXECUTE_TIMEOUT };
static const struct json_member execute_request_members[] = {
        [EXECUTE_TIMEOUT] = JSON_WHOLE_MEMBER(execute_body, timeout, .flags = JSON_NULLABLE,
                                              .max = TIMEOUT_MAX_S),
        JSON_TEXT_MEMBER(execute_body, command, .flags = JSON_REQUIRED),
        JSON_TEXT_MEMBER(execute_body, cwd, .flags = JSON_NULLABLE, .max = 4096),
        JSON_TEXT_MAP_MEMBER(execute_body, envs, .flags = JSON_NULLABLE | JSON_SECRET, .max = 256),
        JSON_END,
};
static const struct json_shape execute_request = {
        .name = "DaytonaExecute",
        .size = sizeof(struct execute_body),
        .members = execute_request_members,
        .present_offset = offsetof(struct execute_body, present),
        .is_open = true,
};

/* {"exitCode":0,"result":"…"}; both streams are in stdout, see set_line. */
static int write_result(const struct output_collector *c, const struct agent_process *p,
                        struct buf *out, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(OUTPUT_LIMIT_MAX + 256);

	if (p->timed_out)
		return FAIL(err, ERROR_TIMEOUT, "command execution timeout");
	output_collector_join(c, AGENT_STDOUT, &text);
	if (c->streams[1].total > 0)
		output_collector_join(c, AGENT_STDERR, &text);
	buf_addf(out, "{\"exitCode\":%lld,\"result\":", (long long)p->exit_code);
	json_write_text(out, buf_span(&text));
	buf_add_byte(out, '}');
	return 0;
}

/* Daytona answers with one text, in the order of writing: so the shell has one pipe. */
static void set_line(struct command *c, struct arena *a, const char *line)
{
	command_set_line(c, a, arena_format(a, "exec 2>&1\n%s", line));
}

static int fill(struct request *rq, const struct api_target *t, const struct execute_body *b,
                struct command *c, struct error *err)
{
	struct fleet_defaults defaults;

	if (command_set_cwd(c, rq->arena, t, b->cwd, err) < 0 ||
	    fleet_defaults(api_of(rq)->fleet, rq->arena, &t->record, &b->envs, &defaults, err) < 0)
		return -1;
	c->exec.env = defaults.env;
	c->exec.user = defaults.user;
	c->exec.timeout_ms =
	        (uint64_t)(b->present >> EXECUTE_TIMEOUT & 1 ? b->timeout * 1000
	                                                     : api_of(rq)->config->exec_timeout_ms);
	c->form = OUTPUT_RESULT;
	c->output_limit = OUTPUT_LIMIT_MAX;
	c->write_result = write_result;
	return 0;
}

static int execute(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct execute_body *b = body;
	AUTO(api_target_done) struct api_target t = {.hold = {.fleet = NULL}};
	struct command c = {.count = 0};

	if (daytona_target_open(rq, &t, err) < 0 || fill(rq, &t, b, &c, err) < 0)
		return -1;
	set_line(&c, rq->arena, b->command);
	return command_start(rq, &t, &c, reply, err);
}

const struct route daytona_process_routes[] = {
        {HTTP_POST, BASE "/process/execute", SCOPE_SANDBOX_WRITE, ROUTE_TRY | ROUTE_HIDDEN,
         .body = &execute_request, .handle = execute, .tag = "daytona",
         .summary = "Run a command to its end"},
        {.path = NULL},
};

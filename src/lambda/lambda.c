/* SPDX-License-Identifier: Apache-2.0 */
#include "lambda/lambda.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "json/json.h"
#include "json/write.h"
#include "lambda/parts.h"

#define ANSWER_MAX ((size_t)6 << 20)
#define SPARE_MS 1500 /* before the service's own deadline: the answer must arrive */
#define TIMEOUT_MIN_MS 100
#define PATH_VARIABLE "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

extern char **environ;

/* What a command has of its own; those of the request come after these and replace them. */
static const char *const own_variables[] = {PATH_VARIABLE, "HOME=" TEMPORARY_ROOT, "LANG=C.UTF-8",
                                            "TMPDIR=" TEMPORARY_ROOT, NULL};

struct command_body {
	const char **args, **env;
	const char *cwd, *workspace;
	struct span input;
	int64_t timeout_ms, output_max;
};

static const struct json_member command_shape_members[] = {
        JSON_TEXT_LIST_MEMBER(command_body, args, .flags = JSON_REQUIRED, .min = 1, .max = 4096),
        JSON_TEXT_LIST_MEMBER(command_body, env, .max = 1024),
        JSON_TEXT_MEMBER(command_body, cwd, .max = 4095),
        JSON_TEXT_MEMBER(command_body, workspace, .max = 4095),
        JSON_BYTES_MEMBER(command_body, input, .name = "stdin"),
        JSON_WHOLE_MEMBER(command_body, timeout_ms, .max = COMMAND_TIMEOUT_MAX_MS),
        JSON_WHOLE_MEMBER(command_body, output_max, .max = COMMAND_OUTPUT_MAX),
};
static JSON_SHAPE(command_shape, "Command", command_body, "A command to run");

static bool is_named_before(const char *const *items, size_t count, const char *item, size_t *ret)
{
	size_t size = strcspn(item, "=");

	for (size_t i = 0; i < count; i++)
		if (strncmp(items[i], item, size) == 0 && items[i][size] == '=') {
			*ret = i;
			return true;
		}
	return false;
}

static const char **join_environment(struct arena *a, const char **given)
{
	size_t count = 0, room = COUNT_OF(own_variables), at;
	const char **all;

	for (const char **item = given; item && *item; item++)
		room++;
	all = ARENA_ARRAY(a, const char *, room);
	for (; own_variables[count]; count++)
		all[count] = own_variables[count];
	for (const char **item = given; item && *item; item++)
		all[is_named_before(all, count, *item, &at) ? at : count++] = *item;
	return all;
}

/* Until the service's deadline, less what the answer needs. */
static int64_t limit_time(int64_t wanted_ms, int64_t deadline_unix_ms)
{
	int64_t timeout_ms = wanted_ms > 0 ? wanted_ms : COMMAND_TIMEOUT_MAX_MS;
	int64_t left_ms = deadline_unix_ms - clock_unix_ms() - SPARE_MS;

	if (deadline_unix_ms > 0 && left_ms < timeout_ms)
		timeout_ms = left_ms;
	return timeout_ms > TIMEOUT_MIN_MS ? timeout_ms : TIMEOUT_MIN_MS;
}

static const char *runtime_of(const char *program)
{
	static const struct {
		const char *program, *runtime;
	} runtimes[] = {{"bash", "bash"},     {"sh", "bash"},   {"python3", "python"},
	                {"python", "python"}, {"node", "node"}, {"tsx", "node"}};
	const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;

	for (size_t i = 0; i < COUNT_OF(runtimes); i++)
		if (strcmp(runtimes[i].program, name) == 0)
			return runtimes[i].runtime;
	return "program";
}

static bool is_text(const struct buf *bytes)
{
	return span_is_utf8(buf_span(bytes)) &&
	       (bytes->size == 0 || !memchr(bytes->data, '\0', bytes->size));
}

/* A cut in the middle of a character would make text into bytes. */
static void drop_begun(struct function_end *end, size_t stream)
{
	struct buf *out = &end->out[stream];

	if (end->bytes[stream] > out->size)
		out->size -= span_begun(buf_span(out));
}

static void write_end(struct buf *out, const struct command *c, struct function_end *end)
{
	static const char *const names[] = {"stdout", "stderr"};
	static const char *const counts[] = {"stdout_bytes", "stderr_bytes"};

	drop_begun(end, 0);
	drop_begun(end, 1);
	bool is_base64 = !is_text(&end->out[0]) || !is_text(&end->out[1]);
	json_begin_object(out, NULL);
	json_add_bool(out, "ok", !end->timed_out && !end->is_missing && end->exit_code == 0);
	json_add_text(out, "runtime", runtime_of(c->args[0]));
	json_add_whole(out, "exit_code", end->is_missing ? 127 : end->exit_code);
	json_add_bool(out, "timed_out", end->timed_out);
	json_add_whole(out, "duration_ms", end->duration_ms);
	for (size_t i = 0; i < 2; i++) {
		if (is_base64)
			json_add_bytes(out, names[i], buf_span(&end->out[i]));
		else
			json_add_span(out, names[i], buf_span(&end->out[i]));
		json_add_whole(out, counts[i], (int64_t)end->bytes[i]);
	}
	if (is_base64)
		json_add_text(out, "encoding", "base64");
	if (end->signal)
		json_add_whole(out, "signal", end->signal);
	if (end->is_missing)
		json_add_text(out, "missing_program", c->args[0]);
	json_end_object(out);
}

/* Appends the answer. */
static int run_invocation(const struct runtime_answer *next, struct buf *out, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(function_end_done) struct function_end end = {0};
	struct command_body body;
	struct command c;

	if (json_parse(&arena, buf_span(&next->body), &command_shape, &body, err) < 0)
		return FAIL_CONTEXT(err, "the payload");
	c = (struct command){
	        .args = body.args,
	        .env = join_environment(&arena, body.env),
	        .cwd = body.cwd ? body.cwd : "",
	        .input = body.input,
	        .timeout_ms = limit_time(body.timeout_ms, next->deadline_unix_ms),
	        .output_max = body.output_max > 0 ? body.output_max : COMMAND_OUTPUT_MAX,
	        .workspace = body.workspace,
	};
	if (command_run(&c, &end, err) < 0)
		return -1;
	write_end(out, &c, &end);
	return out->overflowed ? FAIL(err, ERROR_TOO_LARGE, "the output is too large to be told")
	                       : 0;
}

static void write_failure(struct buf *out, const struct error *err)
{
	json_begin_object(out, NULL);
	json_add_text(out, "errorMessage", err->text);
	json_add_text(out, "errorType", "Atoll.Failed");
	json_end_object(out);
}

static int post_answer(const char *api, const char *path, const struct buf *body,
                       const char *error_type, struct error *err)
{
	const struct runtime_call call = {api, path, body, error_type};
	struct runtime_answer answer;

	if (runtime_do(&call, &answer, err) < 0)
		return -1;
	buf_done(&answer.body);
	return answer.status < 300
	               ? 0
	               : FAIL(err, ERROR_UNAVAILABLE, "the Runtime API refuses an answer with %d",
	                      answer.status);
}

/* One invocation, and all that it leaves. */
static int serve_invocation(const char *api, struct error *err)
{
	const struct runtime_call next = {.api = api, .path = "/invocation/next"};
	AUTO(buf_done) struct buf out = BUF(ANSWER_MAX);
	char path[sizeof("/invocation//response") + REQUEST_ID_MAX];
	struct runtime_answer answer;
	struct error failure = {0};

	if (runtime_do(&next, &answer, err) < 0)
		return -1;
	if (answer.status != 200 || !answer.request_id[0]) {
		buf_done(&answer.body);
		return FAIL(err, ERROR_UNAVAILABLE, "the Runtime API has no invocation: %d",
		            answer.status);
	}
	bool is_done = run_invocation(&answer, &out, &failure) == 0;
	buf_done(&answer.body);
	if (!is_done) {
		buf_reset(&out);
		write_failure(&out, &failure);
	}
	(void)snprintf(path, sizeof(path), "/invocation/%s/%s", answer.request_id,
	               is_done ? "response" : "error");
	if (post_answer(api, path, &out, is_done ? NULL : "Atoll.Failed", err) < 0)
		return -1;
	return leftovers_kill(err) < 0 ? -1 : leftovers_remove(err);
}

/* The strings lie where /proc/PID/environ shows them: overwritten, they are gone. */
static void wipe_environment(void)
{
	for (char **item = environ; item && *item; item++)
		explicit_bzero(*item, strlen(*item));
	(void)clearenv();
}

static int fail_start(const char *api, const struct error *err)
{
	AUTO(buf_done) struct buf out = BUF(4096);
	struct error second = {0};

	(void)fprintf(stderr, "atoll-lambda: %s\n", err->text);
	if (api) {
		write_failure(&out, err);
		(void)!post_answer(api, "/init/error", &out, "Atoll.Failed", &second);
	}
	return 1;
}

/* Outside of Lambda the first invocation would remove the files of a machine's user. */
static int check_place(const char *api, struct error *err)
{
	if (!api)
		return FAIL(err, ERROR_INVALID,
		            "AWS_LAMBDA_RUNTIME_API is not set: this program runs in a function at "
		            "AWS Lambda");
	if (!getenv("LAMBDA_TASK_ROOT"))
		return FAIL(err, ERROR_INVALID,
		            "LAMBDA_TASK_ROOT is not set: this is no environment of AWS Lambda, "
		            "and this program removes all files of its user below " TEMPORARY_ROOT);
	return 0;
}

int lambda_main(int argc, char **argv)
{
	const char *found = getenv("AWS_LAMBDA_RUNTIME_API");
	AUTO_FREE char *api = found ? memory_text(found) : NULL;
	struct error err = {0};

	(void)argc;
	(void)argv;
	if (check_place(api, &err) < 0)
		return fail_start(api, &err);
	wipe_environment();
	(void)signal(SIGPIPE, SIG_IGN);
	if (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) {
		(void)FAIL_ERRNO(&err, "protect this process");
		return fail_start(api, &err);
	}
	if (leftovers_remove(&err) < 0)
		return fail_start(api, &err);
	while (serve_invocation(api, &err) == 0)
		;
	(void)fprintf(stderr, "atoll-lambda: %s\n", err.text);
	return 1;
}

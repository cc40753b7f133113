/* SPDX-License-Identifier: Apache-2.0 */
/* The service's call Invoke (AWS Lambda API reference, "Invoke"), and the two documents that this
 * server and the functions of deploy/lambda exchange by it. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "http/client/async.h"
#include "json/json.h"
#include "json/write.h"
#include "provider/lambda/lambda.h"
#include "signature/signature.h"
#include "wire/agent.h"

#define ANSWER_MAX ((size_t)8 << 20) /* the service's own limit is 6 MB */
#define SPARE_MS 30000               /* a function starts, and its answer travels */
#define TRIAL_MS 10000
#define MESSAGE_MAX 300
#define ERROR_TYPE_HEADER "X-Amzn-ErrorType"

const char *lambda_function_of(const struct lambda_settings *s, const struct lambda_sandbox *of)
{
	return s->options.functions[of->workspace[0] != '\0'][of->has_network];
}

int lambda_call_sign(struct arena *a, const struct lambda_call *call, struct http_async_call *ret,
                     struct error *err)
{
	const struct lambda_options *o = &call->settings->options;
	const char *const own[] = {"Content-Type: application/json",
	                           call->is_trial ? "X-Amz-Invocation-Type: DryRun"
	                                          : "X-Amz-Invocation-Type: RequestResponse",
	                           NULL};
	const char **lines = ARENA_ARRAY(a, const char *, SIGNATURE_HEADERS_MAX + 3);
	const struct signature_key key = {o->key_id, o->secret, o->session_token};
	AUTO(buf_done) struct buf name = BUF(1024);

	signature_encode(&name, span_of(call->function), false);
	const char *path = arena_format(a, "/2015-03-31/functions/%s/invocations", buf_text(&name));
	const struct signature_request request = {.method = "POST",
	                                          .host = call->settings->host,
	                                          .path = path,
	                                          .headers = own,
	                                          .body = call->body,
	                                          .region = o->region,
	                                          .service = "lambda",
	                                          .unix_ms = clock_unix_ms()};
	if (signature_sign(a, &key, &request, lines + 2, err) < 0)
		return -1;
	lines[0] = own[0];
	lines[1] = own[1];
	*ret = (struct http_async_call){
	        .method = "POST",
	        .url = arena_format(a, "%s%s", o->endpoint, path),
	        .headers = lines,
	        .body = call->body,
	        .has_body = true,
	        .is_once = true,
	        .timeout_ms = call->is_trial ? TRIAL_MS : LAMBDA_TIMEOUT_MAX_MS + SPARE_MS,
	        .answer_max = ANSWER_MAX,
	        .wanted = ERROR_TYPE_HEADER,
	};
	return 0;
}

int lambda_command_write(struct buf *out, const struct lambda_sandbox *s,
                         const struct agent_exec *exec, struct error *err)
{
	uint64_t timeout_ms = exec->timeout_ms;

	if (timeout_ms == 0 || timeout_ms > LAMBDA_TIMEOUT_MAX_MS)
		timeout_ms = LAMBDA_TIMEOUT_MAX_MS;
	json_begin_object(out, NULL);
	json_add_texts(out, "args", (const char *const *)exec->args);
	json_add_texts(out, "env", (const char *const *)exec->env);
	json_add_text(out, "cwd", exec->cwd ? exec->cwd : "");
	json_add_bytes(out, "stdin", exec->stdin_bytes);
	json_add_whole(out, "timeout_ms", (int64_t)timeout_ms);
	json_add_whole(out, "output_max", LAMBDA_OUTPUT_MAX);
	if (s->workspace[0])
		json_add_text(out, "workspace", s->workspace);
	json_end_object(out);
	if (out->overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the command is larger than a function takes");
	return 0;
}

/* Control characters would break a log line. */
static void copy_message(char out[MESSAGE_MAX], const char *text)
{
	(void)snprintf(out, MESSAGE_MAX, "%s", text);
	for (char *at = out; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = ' ';
}

/* "ResourceNotFoundException" of "ResourceNotFoundException:http://internal.amazon.com/…" */
static void copy_type(char out[MESSAGE_MAX], const char *text)
{
	copy_message(out, text);
	out[strcspn(out, ":")] = '\0';
}

static const struct {
	int status;
	const char *type; /* of the header; NULL: any */
	enum error_code code;
	const char *cure;
} api_failures[] = {
        {404, "ResourceNotFoundException", ERROR_UNAVAILABLE,
         "deploy deploy/lambda/template.yaml in this region, and set sandbox_fn_* to the names of "
         "its functions"},
        {403, "AccessDeniedException", ERROR_UNAVAILABLE,
         "allow the key lambda:InvokeFunction for this function"},
        {403, NULL, ERROR_UNAVAILABLE,
         "check lambda_access_key_id, lambda_secret_access_key, lambda_session_token and the clock "
         "of this machine"},
        {401, NULL, ERROR_UNAVAILABLE,
         "check lambda_access_key_id, lambda_secret_access_key and lambda_session_token"},
        {429, NULL, ERROR_UNAVAILABLE, "raise the concurrency of the functions, or of the account"},
        {413, NULL, ERROR_TOO_LARGE, "a request to a function has at most 6 MB"},
};

static int fail_call(const struct lambda_call *call, const struct http_async_answer *answer,
                     const struct json_value *root, struct error *err)
{
	char type[MESSAGE_MAX], message[MESSAGE_MAX];
	const char *text = json_get_text(root, "message", json_get_text(root, "Message", ""));
	enum error_code code = answer->status >= 500 ? ERROR_UNAVAILABLE : ERROR_SYSTEM;
	const char *cure = NULL;

	copy_type(type, answer->wanted);
	copy_message(message, *text ? text : "it did not say why");
	for (size_t i = 0; i < COUNT_OF(api_failures) && !cure; i++) {
		if (api_failures[i].status != answer->status ||
		    (api_failures[i].type && strcmp(api_failures[i].type, type) != 0))
			continue;
		code = api_failures[i].code;
		cure = api_failures[i].cure;
	}
	(void)FAIL(err, code, "AWS Lambda refuses function '%.100s' with %d%s%.60s: %s",
	           call->function, answer->status, type[0] ? " " : "", type, message);
	if (answer->status == 429)
		err->retry_after_s = answer->retry_after_s > 0 ? (int)answer->retry_after_s : 1;
	return cure ? FAIL_HINT(err, "%s", cure) : -1;
}

/* The function did not live to answer. Its messages are those of AWS's runtimes. */
static int fail_function(const struct lambda_call *call, const struct json_value *root,
                         struct error *err)
{
	const char *text = json_get_text(root, "errorMessage", "it did not say why");
	const char *kind = json_get_text(root, "errorType", "");
	char message[MESSAGE_MAX], type[MESSAGE_MAX];

	copy_message(message, text);
	copy_message(type, kind);
	if (strstr(message, "timed out"))
		return FAIL(err, ERROR_TIMEOUT, "function '%.100s' reached its own time limit: %s",
		            call->function, message);
	(void)FAIL(err, ERROR_UNAVAILABLE, "function '%.100s' failed: %.60s%s%s", call->function,
	           type, type[0] ? ": " : "", message);
	if (strstr(message, "signal: killed") || strcmp(type, "Runtime.ExitError") == 0)
		return FAIL_HINT(err, "its memory, %lld MB, may be used up",
		                 (long long)call->settings->options.memory_mb);
	return -1;
}

static bool is_success(int status)
{
	return status >= 200 && status < 300;
}

int lambda_answer_check(const struct lambda_call *call, const struct http_async_answer *answer,
                        struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *root = NULL;
	struct error ignored = {0};

	if (is_success(answer->status))
		return 0;
	(void)!json_load(&arena, buf_span(&answer->body), &root, &ignored);
	return fail_call(call, answer, root, err);
}

struct function_answer {
	bool ok, timed_out;
	const char *runtime, *out, *error_text; /* stdout and stderr */
	const char *encoding;                   /* "base64": of both; absent: they are text */
	const char *missing;                    /* a program that does not exist */
	int64_t exit_code, signal, duration_ms, out_bytes, error_bytes;
};

static const struct json_member function_answer_shape_members[] = {
        JSON_BOOL_MEMBER(function_answer, ok, .flags = JSON_REQUIRED),
        JSON_TEXT_MEMBER(function_answer, runtime, .max = 64),
        JSON_WHOLE_MEMBER(function_answer, exit_code, .flags = JSON_REQUIRED, .min = 0, .max = 255),
        JSON_BOOL_MEMBER(function_answer, timed_out),
        JSON_WHOLE_MEMBER(function_answer, duration_ms),
        JSON_TEXT_MEMBER(function_answer, out, .name = "stdout"),
        JSON_TEXT_MEMBER(function_answer, error_text, .name = "stderr"),
        JSON_TEXT_MEMBER(function_answer, encoding, .max = 16),
        JSON_WHOLE_MEMBER(function_answer, signal, .max = 64),
        JSON_WHOLE_MEMBER(function_answer, out_bytes, .name = "stdout_bytes"),
        JSON_WHOLE_MEMBER(function_answer, error_bytes, .name = "stderr_bytes"),
        JSON_TEXT_MEMBER(function_answer, missing, .name = "missing_program", .max = 4096),
};
static JSON_OPEN_SHAPE(function_answer_shape, "FunctionAnswer", function_answer,
                       "What the function says of a command");

static int read_stream(struct arena *a, const char *text, bool is_base64, struct span *ret,
                       struct error *err)
{
	struct span bytes = span_of(text ? text : "");

	if (is_base64 && !json_read_base64(a, bytes, &bytes))
		return FAIL(err, ERROR_UNAVAILABLE, "its output is not base64");
	if (bytes.size > LAMBDA_OUTPUT_MAX)
		bytes.size = LAMBDA_OUTPUT_MAX;
	*ret = bytes;
	return 0;
}

static int read_result(struct arena *a, const struct function_answer *from,
                       struct lambda_result *ret, struct error *err)
{
	bool is_base64 = from->encoding && strcmp(from->encoding, "base64") == 0;
	struct lambda_result result = {.timed_out = from->timed_out,
	                               .exit_code = from->exit_code,
	                               .signal = from->signal,
	                               .duration_ms = from->duration_ms,
	                               .bytes = {from->out_bytes, from->error_bytes}};

	if (read_stream(a, from->out, is_base64, &result.out[0], err) < 0 ||
	    read_stream(a, from->error_text, is_base64, &result.out[1], err) < 0)
		return -1;
	for (size_t i = 0; i < 2; i++)
		if (result.bytes[i] < (int64_t)result.out[i].size)
			result.bytes[i] = (int64_t)result.out[i].size;
	*ret = result;
	return 0;
}

/* The text is that of an agent: calls try another program, or answer as a shell does. */
static int fail_missing(const char *program, struct error *err)
{
	return FAIL(err, ERROR_NOT_FOUND, "command not found: %.200s", program);
}

int lambda_answer_read(struct arena *a, const struct lambda_call *call,
                       const struct http_async_answer *answer, struct lambda_result *ret,
                       struct error *err)
{
	struct span body = buf_span(&answer->body);
	const struct json_value *root = NULL;
	struct function_answer said;
	struct error ignored = {0};

	(void)!json_load(a, body, &root, &ignored);
	if (!is_success(answer->status))
		return fail_call(call, answer, root, err);
	if (json_get(root, "errorMessage"))
		return fail_function(call, root, err);
	if (json_parse(a, body, &function_answer_shape, &said, err) == 0) {
		if (text_or_null(said.missing))
			return fail_missing(said.missing, err);
		if (read_result(a, &said, ret, err) == 0)
			return 0;
	}
	/* Half an answer, or a function that is not ours. */
	err->code = ERROR_UNAVAILABLE;
	(void)FAIL_CONTEXT(err, "function '%.100s' does not answer as that of deploy/lambda does",
	                   call->function);
	return -1;
}

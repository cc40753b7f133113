/* SPDX-License-Identifier: Apache-2.0 */
/* envd, E2B's daemon in a sandbox: Connect calls (https://connectrpc.com) with JSON. */
#include "provider/e2b/e2b.h"

#include <stdio.h>

#include "http/client/async.h"
#include "json/base64.h"
#include "json/json.h"
#include "json/write.h"
#include "wire/agent_reverse.h"

#define AS_ROOT "Authorization: Basic cm9vdDo=" /* "root:" */
#define ENVELOPE_HEAD 5
#define ENVELOPE_LAST 0x02 /* flag: the trailer */
#define SAID_MAX 400

struct envd_target {
	struct remote_reach reach;
	char access[REMOTE_SECRET_MAX + 32];
};

static int find_envd(struct remote *r, const struct remote_sandbox *s, struct envd_target *ret,
                     struct error *err)
{
	if (e2b_reach(r, s, E2B_ENVD_PORT, &ret->reach, err) < 0)
		return -1;
	(void)snprintf(ret->access, sizeof(ret->access), "X-Access-Token: %s", s->access);
	return 0;
}

static void add_headers(const struct envd_target *t, const struct remote_sandbox *s,
                        struct remote_call *call)
{
	size_t count = 0;

	while (call->headers[count])
		count++;
	for (size_t i = 0; i < COUNT_OF(t->reach.headers) && t->reach.headers[i][0]; i++)
		call->headers[count++] = t->reach.headers[i];
	if (s->access[0])
		call->headers[count++] = t->access;
	call->url = t->reach.url;
}

int e2b_put_file(struct remote *r, const struct remote_sandbox *s, const char *path,
                 struct span bytes, int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct envd_target target;
	struct remote_call call = {
	        .method = "POST",
	        .path = arena_format(&arena, "/files?path=%s&username=root", path),
	        .content_type = "application/octet-stream",
	        .body = bytes,
	        .deadline = deadline};

	if (find_envd(r, s, &target, err) < 0)
		return -1;
	add_headers(&target, s, &call);
	return remote_call_do(r, &call, err) < 0 ? -1 : 0;
}

static void write_start(struct buf *out, const struct remote_program *program)
{
	AUTO(buf_done) struct buf text = BUF(8192);
	const char *const args[] = {"-c", program->script, NULL};

	json_begin_object(&text, NULL);
	json_begin_object(&text, "process");
	json_add_text(&text, "cmd", "/bin/sh");
	json_add_texts(&text, "args", args);
	json_begin_object(&text, "envs");
	json_add_text(&text, AGENT_TOKEN_VARIABLE, program->token);
	json_end_object(&text);
	json_add_text(&text, "cwd", "/");
	json_end_object(&text);
	json_add_bool(&text, "stdin", false);
	json_end_object(&text);
	const unsigned char head[ENVELOPE_HEAD] = {
	        0, (unsigned char)(text.size >> 24), (unsigned char)(text.size >> 16),
	        (unsigned char)(text.size >> 8), (unsigned char)text.size};
	buf_add(out, head, sizeof(head));
	buf_add_span(out, buf_span(&text));
}

/* What the stream of a process has told. */
struct process_story {
	bool has_ended, has_trailer;
	int64_t exit_code;
	struct buf said;
	const char *failure; /* of the trailer; in the arena */
};

static void take_output(struct arena *a, const struct json_value *data, struct process_story *story)
{
	static const char *const streams[] = {"stdout", "stderr"};
	struct span bytes;

	for (size_t i = 0; i < COUNT_OF(streams); i++) {
		const char *text = json_get_text(data, streams[i], NULL);

		if (text && base64_decode(a, span_of(text), &bytes))
			buf_add_span(&story->said, bytes);
	}
}

static int take_envelope(struct arena *a, unsigned char flags, struct span text,
                         struct process_story *story, struct error *err)
{
	const struct json_value *root, *event, *end;

	if (json_load(a, text, &root, err) < 0)
		return FAIL_CONTEXT(err, "E2B's process");
	if (flags & ENVELOPE_LAST) {
		story->has_trailer = true;
		story->failure = json_get_text(json_get(root, "error"), "message", NULL);
		return 0;
	}
	event = json_get(root, "event");
	take_output(a, json_get(event, "data"), story);
	end = json_get(event, "end");
	if (end) {
		story->has_ended = true;
		story->exit_code = json_get_whole(end, "exitCode", 0);
	}
	return 0;
}

static int read_story(struct arena *a, struct span rest, struct process_story *story,
                      struct error *err)
{
	while (rest.size >= ENVELOPE_HEAD) {
		const unsigned char *head = (const unsigned char *)rest.data;
		size_t size = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 |
		              head[4];

		if (size > rest.size - ENVELOPE_HEAD)
			break;
		struct span text = {rest.data + ENVELOPE_HEAD, size};
		if (take_envelope(a, head[0], text, story, err) < 0)
			return -1;
		span_skip(&rest, ENVELOPE_HEAD + size);
	}
	return 0;
}

static int judge_story(const struct process_story *story, struct error *err)
{
	if (story->failure)
		return FAIL(err, ERROR_SYSTEM, "E2B: %s", story->failure);
	if (!story->has_ended || !story->has_trailer)
		return FAIL(err, ERROR_UNAVAILABLE, "E2B: the stream of a process broke");
	if (story->exit_code == 0)
		return 0;
	return FAIL(err, ERROR_SYSTEM, "exit status %lld: %.*s", (long long)story->exit_code,
	            (int)(story->said.size < SAID_MAX ? story->said.size : SAID_MAX),
	            buf_text(&story->said));
}

int e2b_run(struct remote *r, const struct remote_sandbox *s, const struct remote_program *program,
            struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf body = BUF(16384);
	struct process_story story = {.said = BUF(4096)};
	struct envd_target target;
	struct http_async_answer answer;

	write_start(&body, program);
	struct remote_call call = {.method = "POST",
	                           .path = "/process.Process/Start",
	                           .headers = {AS_ROOT, "Connect-Protocol-Version: 1"},
	                           .content_type = "application/connect+json",
	                           .body = buf_span(&body),
	                           .deadline = program->deadline};
	if (find_envd(r, s, &target, err) < 0)
		return -1;
	add_headers(&target, s, &call);
	if (remote_call(r, &call, &answer, err) < 0)
		return -1;
	int status = read_story(&arena, buf_span(&answer.body), &story, err);
	if (status == 0)
		status = judge_story(&story, err);
	buf_done(&answer.body);
	buf_done(&story.said);
	return status;
}

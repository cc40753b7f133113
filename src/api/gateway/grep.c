/* SPDX-License-Identifier: Apache-2.0 */
/* Searching contents: rg inside the sandbox where it is, else grep, started with an argument list
 * and never through a shell. Both print PATH NUL LINE ':' TEXT. */
#include <string.h>

#include "api/gateway/gateway.h"
#include "api/tables.h"
#include "api/text.h"
#include "base/path.h"

#define OUTPUT_MAX (4 * 1024 * 1024)
#define RUN_MS 25000
#define TEXT_MAX 1000
#define RESULTS_MAX 10000
#define RESULTS_DEFAULT 200

struct grep_body {
	struct gateway_body session;
	const char *pattern, *path, *glob;
	bool ignore_case;
	int64_t max_results;
};
static const struct json_member gateway_grep_request_members[] = {
        GATEWAY_ROWS(grep_body),
        JSON_TEXT_MEMBER(grep_body, pattern, .flags = JSON_REQUIRED, .min = 1, .max = 4096,
                         .about = "a regular expression"),
        JSON_TEXT_MEMBER(grep_body, path, .max = 4096, .about = "file or folder; else all"),
        JSON_TEXT_MEMBER(grep_body, glob, .max = 1024, .about = "only files of such a name"),
        JSON_BOOL_MEMBER(grep_body, ignore_case),
        JSON_WHOLE_MEMBER(grep_body, max_results, .min = 1, .max = RESULTS_MAX,
                          .about = "default 200"),
        JSON_END,
};
JSON_SHAPE(gateway_grep_request, "GatewayGrep", grep_body, "What to search for");

struct grep_match {
	const char *path, *text, *encoding;
	int64_t line;
};
static const struct json_member grep_match_shape_members[] = {
        JSON_TEXT_MEMBER(grep_match, path, .about = "relative to the workspace"),
        JSON_WHOLE_MEMBER(grep_match, line, .about = "from 1"),
        JSON_TEXT_MEMBER(grep_match, text, .about = "at most 1000 bytes of the line"),
        JSON_TEXT_MEMBER(grep_match, encoding, .about = "base64 when it is not UTF-8"),
        JSON_END,
};
static JSON_SHAPE(grep_match_shape, "GatewayMatch", grep_match, "A line that matches");
struct grep_answer {
	struct json_list matches;
	bool truncated;
};
static const struct json_member gateway_grep_answer_members[] = {
        JSON_LIST_MEMBER(grep_answer, matches, &grep_match_shape),
        JSON_BOOL_MEMBER(grep_answer, truncated),
        JSON_END,
};
JSON_SHAPE(gateway_grep_answer, "GatewayMatches", grep_answer, "Lines that match");

/* ---- run ---- */

static const char **rg_args(struct arena *a, const struct grep_body *b, const char *path)
{
	const char **args = ARENA_ARRAY(a, const char *, 20), **at = args;

	*at++ = "rg";
	*at++ = "--no-config";
	*at++ = "--line-number";
	*at++ = "--no-heading";
	*at++ = "--with-filename";
	*at++ = "--null";
	*at++ = "--color=never";
	*at++ = "--sort=path";
	if (b->ignore_case)
		*at++ = "--ignore-case";
	if (b->glob)
		*at++ = arena_format(a, "--glob=%s", b->glob);
	*at++ = arena_format(a, "--regexp=%s", b->pattern);
	*at++ = "--";
	*at++ = path;
	return args;
}

static const char **grep_args(struct arena *a, const struct grep_body *b, const char *path)
{
	const char **args = ARENA_ARRAY(a, const char *, 20), **at = args;

	*at++ = "grep";
	*at++ = "-rnHZIE";
	*at++ = "--color=never";
	if (b->ignore_case)
		*at++ = "-i";
	if (b->glob)
		*at++ = arena_format(a, "--include=%s", b->glob);
	*at++ = arena_format(a, "--regexp=%s", b->pattern);
	*at++ = "--";
	*at++ = path;
	return args;
}

/* A link on the command line would be followed: what it names must be inside the workspace too. */
static int check_inside(struct request *rq, const struct api_target *t,
                        const struct files_call *place, struct error *err)
{
	struct agent_file file;
	struct compute_call call = {
	        .type = AGENT_STAT,
	        .shape = agent_path_shape,
	        .message = &place->path,
	        .reply_type = AGENT_FILE,
	        .reply_shape = agent_file_shape,
	        .reply = &file,
	        .reply_size = sizeof(file),
	};

	return compute_call(t->hold.provider, t->hold.id, rq->arena, &call, rq->deadline, err);
}

static int search(struct request *rq, const struct api_target *t, const struct grep_body *b,
                  const struct files_call *place, struct compute_result *ret, struct error *err)
{
	const char *path = arena_format(rq->arena, "./%s", place->path.path);
	struct agent_exec exec = {
	        .args = rg_args(rq->arena, b, path),
	        .env = t->defaults.env,
	        .cwd = place->path.root,
	        .user = t->defaults.user,
	        .label = "grep",
	        .timeout_ms = RUN_MS,
	};
	struct compute_run run = {&exec, OUTPUT_MAX, rq->deadline};

	if (compute_run(t->hold.provider, t->hold.id, rq->arena, &run, ret, err) == 0)
		return 0;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	exec.args = grep_args(rq->arena, b, path);
	return compute_run(t->hold.provider, t->hold.id, rq->arena, &run, ret, err);
}

/* ---- answer ---- */

/* False for a line that is not of the form. */
static bool write_match(struct buf *out, struct span line, bool first)
{
	struct span path, number;

	if (!span_split(&line, '\0', &path) || !span_split(&line, ':', &number))
		return false;
	while (span_starts_with(path, "./"))
		path = (struct span){path.data + 2, path.size - 2};
	for (size_t i = 0; i < number.size; i++) {
		if (number.data[i] < '0' || number.data[i] > '9')
			return false;
	}
	if (number.size == 0 || number.size > 18)
		return false;
	if (line.size > TEXT_MAX) {
		line.size = TEXT_MAX;
		line.size -= span_begun(line);
	}
	buf_add_text(out, first ? "{\"path\":" : ",{\"path\":");
	json_write_text(out, path);
	buf_addf(out, ",\"line\":%.*s,", (int)number.size, number.data);
	text_write(out, "text", "encoding", line);
	buf_add_byte(out, '}');
	return true;
}

static void write_answer(struct buf *out, const struct compute_result *result, int64_t max)
{
	struct span rest = result->out[0], line;
	bool truncated = result->truncated[0] || result->process.timed_out;
	int64_t count = 0;

	buf_add_text(out, "{\"matches\":[");
	while (rest.size > 0 && count < max) {
		(void)span_split(&rest, '\n', &line);
		count += write_match(out, line, count == 0);
	}
	buf_addf(out, "],\"truncated\":%s}", truncated || rest.size > 0 ? "true" : "false");
}

/* The last line says it: rg draws a picture before. */
static int fail_search(const struct compute_result *result, struct error *err)
{
	struct span rest = result->out[1], line, last = SPAN("the search failed");

	while (rest.size > 0) {
		(void)span_split(&rest, '\n', &line);
		if (line.size > 0 && line.size < 200 && span_is_utf8(line))
			last = line;
	}
	return FAIL(err, ERROR_INVALID, "%.*s", (int)last.size, last.data);
}

int gateway_grep(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct grep_body *b = body;
	AUTO(api_target_done) struct api_target t = {.hold = {.fleet = NULL}};
	struct files_call place = {.type = AGENT_STAT};
	struct compute_result result;
	const char *checked;

	if (path_check_relative(rq->arena, span_of(b->path ? b->path : "."), &checked, err) < 0 ||
	    gateway_open(rq, &b->session, &t, err) < 0 ||
	    gateway_call(rq, &t, b->path, &place, err) < 0 ||
	    provider_require(t.hold.provider, PROVIDER_CAN_FILES, err) < 0 ||
	    check_inside(rq, &t, &place, err) < 0 || search(rq, &t, b, &place, &result, err) < 0)
		return -1;
	/* 0 = found, 1 = nothing found; more = an error, perhaps after matches. */
	if (result.process.exit_code > 1 && result.out[0].size == 0)
		return fail_search(&result, err);
	write_answer(reply_buf(reply, "application/json"), &result,
	             b->max_results ? b->max_results : RESULTS_DEFAULT);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/sandbox/grep: search in the contents of files (tool/search.h). */
#include "base/path.h"
#include "calls/files.h"
#include "edge/target.h"
#include "edge/text.h"
#include "json/json.h"
#include "json/write.h"
#include "surface/gateway/gateway.h"
#include "tool/search.h"
#include "wire/agent.h"

#define TEXT_MAX 1000
#define RESULTS_MAX 10000
#define RESULTS_DEFAULT 200

struct gateway_grep_body {
	struct gateway_body session;
	const char *pattern, *path, *glob;
	bool ignore_case;
	int64_t max_results;
};
static const struct json_member gateway_grep_request_members[] = {
        GATEWAY_ROWS(gateway_grep_body),
        JSON_TEXT_MEMBER(gateway_grep_body, pattern, .flags = JSON_REQUIRED, .min = 1, .max = 4096,
                         .about = "a regular expression"),
        JSON_TEXT_MEMBER(gateway_grep_body, path, .max = 4096,
                         .about = "file or folder to search (default: the workspace)"),
        JSON_TEXT_MEMBER(gateway_grep_body, glob, .max = 1024,
                         .about = "only files whose names match this pattern"),
        JSON_BOOL_MEMBER(gateway_grep_body, ignore_case),
        JSON_WHOLE_MEMBER(gateway_grep_body, max_results, .min = 1, .max = RESULTS_MAX,
                          .about = "default 200"),
};
JSON_SHAPE(gateway_grep_request, "GatewayGrep", gateway_grep_body, "Search request");

struct gateway_grep_match {
	const char *path, *text, *encoding;
	int64_t line;
};
static const struct json_member grep_match_shape_members[] = {
        JSON_TEXT_MEMBER(gateway_grep_match, path, .about = "path relative to the workspace"),
        JSON_WHOLE_MEMBER(gateway_grep_match, line, .about = "line number, from 1"),
        JSON_TEXT_MEMBER(gateway_grep_match, text, .about = "the line, cut to 1000 bytes"),
        JSON_TEXT_MEMBER(gateway_grep_match, encoding, .about = "base64 if the text is not UTF-8"),
};
static JSON_SHAPE(grep_match_shape, "GatewayMatch", gateway_grep_match, "A matching line");
struct gateway_grep_answer {
	struct json_list matches;
	bool truncated;
};
static const struct json_member gateway_grep_answer_members[] = {
        JSON_LIST_MEMBER(gateway_grep_answer, matches, &grep_match_shape),
        JSON_BOOL_MEMBER(gateway_grep_answer, truncated),
};
JSON_SHAPE(gateway_grep_answer, "GatewayMatches", gateway_grep_answer, "Matching lines");

static void write_match(struct buf *out, struct span path, struct search_line line)
{
	if (line.text.size > TEXT_MAX) {
		line.text.size = TEXT_MAX;
		line.text.size -= span_begun(line.text);
	}
	json_begin_object(out, NULL);
	json_add_span(out, "path", path);
	json_add_whole(out, "line", line.number);
	text_write(out, "text", "encoding", line.text);
	json_end_object(out);
}

static void write_answer(struct buf *out, const struct search_found *found, int64_t max)
{
	bool truncated = found->truncated;
	int64_t count = 0;

	json_begin_object(out, NULL);
	json_begin_list(out, "matches");
	for (size_t i = 0; i < found->count && !truncated; i++) {
		struct span rest = found->files[i].lines;
		struct search_line line;

		while (!truncated && search_line_next(&rest, &line)) {
			if (count < max)
				write_match(out, found->files[i].path, line);
			truncated = count++ >= max;
		}
	}
	json_end_list(out);
	json_add_bool(out, "truncated", truncated);
	json_end_object(out);
}

int gateway_grep(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct gateway_grep_body *b = body;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct search_request search = {.pattern = b->pattern,
	                                .glob = b->glob,
	                                .mode = SEARCH_CONTENT,
	                                .ignore_case = b->ignore_case};
	struct search_scope place = {.deadline = rq->deadline};
	struct files_call call = {.type = AGENT_STAT};
	struct search_found found;

	if (path_check_relative(rq->arena, span_of(b->path ? b->path : "."), &search.path, err) <
	            0 ||
	    gateway_open(rq, &b->session, &t, err) < 0 ||
	    gateway_call(rq, &t, b->path, &call, err) < 0)
		return -1;
	place.provider = t.provider;
	place.id = t.id;
	place.root = call.path.root;
	place.user = t.user;
	place.env = t.env;
	if (search_run(rq->arena, &place, &search, &found, err) < 0)
		return -1;
	write_answer(reply_buf(reply, "application/json"), &found,
	             b->max_results ? b->max_results : RESULTS_DEFAULT);
	return 0;
}

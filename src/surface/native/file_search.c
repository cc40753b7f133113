/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/instances/:id/files/search — names and lines of files that contain a text, by the
 * same search as the agent tools grep and glob (tool/search.h). */
#include <string.h>

#include "account/account.h"
#include "calls/files.h"
#include "edge/target.h"
#include "http/server/http.h"
#include "provider/compute.h"
#include "provider/provider.h"
#include "surface/native/native.h"
#include "tool/search.h"
#include "wire/agent.h"
#include "wire/agent_files.h"

#define LIMIT_MAX 1000
#define LIMIT_USUAL 200
#define LINE_MAX_BYTES 400
#define QUERY_TEXT_MAX 256

enum searched { SEARCH_BOTH, SEARCH_NAMES, SEARCH_TEXTS };
static const char *const searched_names[] = {"both", "names", "content", NULL};

struct file_search_query {
	const char *q, *path, *glob, *user;
	int in;
	int64_t limit;
	bool regex, match_case;
};
static const struct json_member file_search_query_members[] = {
        JSON_TEXT_MEMBER(file_search_query, q, .flags = JSON_REQUIRED, .min = 1,
                         .max = QUERY_TEXT_MAX, .about = "text to search for"),
        JSON_TEXT_MEMBER(file_search_query, path, .max = 4096,
                         .about = "folder to search in (default: the default folder)"),
        JSON_TEXT_MEMBER(file_search_query, glob, .min = 1, .max = 256,
                         .about = "search only files whose name matches, such as *.py"),
        JSON_TEXT_MEMBER(file_search_query, user, .max = 64),
        JSON_CHOICE_MEMBER(file_search_query, in, .choices = searched_names,
                           .about = "names, content or both (default)"),
        JSON_WHOLE_MEMBER(file_search_query, limit, .min = 1, .max = LIMIT_MAX,
                          .about = "names and lines at most, each (default 200)"),
        JSON_BOOL_MEMBER(file_search_query, regex,
                         .about = "q is a regular expression for the content; names are then not "
                                  "searched"),
        JSON_BOOL_MEMBER(file_search_query, match_case, .about = "default: case is ignored"),
};
static JSON_SHAPE(file_search_query, "FileSearchQuery", file_search_query, "A search in files");

struct file_match_answer {
	const char *path, *text;
	int64_t line;
};
static const struct json_member file_match_members[] = {
        JSON_TEXT_MEMBER(file_match_answer, path, .about = "relative to the searched folder"),
        JSON_WHOLE_MEMBER(file_match_answer, line),
        JSON_TEXT_MEMBER(file_match_answer, text, .about = "at most 400 bytes of the line"),
};
static JSON_SHAPE(file_match, "FileMatch", file_match_answer, "A line that matches");

struct file_name_answer {
	const char *path, *type;
	int64_t size, modified_at;
};
static const struct json_member file_name_members[] = {
        JSON_TEXT_MEMBER(file_name_answer, path, .about = "relative to the searched folder"),
        JSON_TEXT_MEMBER(file_name_answer, type, .about = "file, directory, symlink or other"),
        JSON_WHOLE_MEMBER(file_name_answer, size),
        JSON_TIME_MEMBER(file_name_answer, modified_at),
};
static JSON_SHAPE(file_name, "FileNameMatch", file_name_answer, "A file whose name matches");

struct file_search_answer {
	const char *path;
	struct json_list names, matches;
	bool truncated;
};
static const struct json_member file_search_members[] = {
        JSON_TEXT_MEMBER(file_search_answer, path, .about = "the searched folder"),
        JSON_LIST_MEMBER(file_search_answer, names, &file_name),
        JSON_LIST_MEMBER(file_search_answer, matches, &file_match),
        JSON_BOOL_MEMBER(file_search_answer, truncated,
                         .about = "there is more than the limit, or the search ended early"),
};
static JSON_SHAPE(file_search, "FileSearch", file_search_answer, "Found names and lines");

/* One search under way. */
struct file_search_run {
	struct request *rq;
	const struct api_target *target;
	const char *folder, *user;
	size_t limit;
	struct file_name_answer *names;
	struct file_match_answer *matches;
	size_t name_count, match_count;
	bool is_cut;
};

/* Invalid UTF-8 is replaced when the answer is written. */
static const char *copy_text(struct arena *a, struct span text)
{
	return arena_copy(a, text);
}

static int take_name(void *context, const void *reply, UNUSED struct error *err)
{
	static const char *const types[] = {"other", "file", "directory", "symlink"};
	struct file_search_run *run = context;
	const struct agent_file *file = reply;

	if (run->name_count == run->limit) {
		run->is_cut = true;
		return 0;
	}
	run->names[run->name_count++] = (struct file_name_answer){
	        .path = arena_text(run->rq->arena, file->path),
	        .type = types[file->type < COUNT_OF(types) ? file->type : AGENT_FILE_OTHER],
	        .size = (int64_t)(file->size & INT64_MAX),
	        .modified_at = file->modified_unix_ms,
	};
	return 0;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void add_literal(struct buf *out, const struct file_search_query *q)
{
	for (const char *c = q->q; *c; c++) {
		if (is_letter(*c) && !q->match_case)
			buf_addf(out, "[%c%c]", *c | 0x20, *c & ~0x20);
		else if (strchr("*?[{},\\", *c))
			buf_addf(out, "\\%c", *c);
		else
			buf_add_byte(out, *c);
	}
}

/* A pattern for names that contain the text, in any folder. Only a pattern name that begins with a
 * dot matches hidden names. */
static const char *name_pattern(struct arena *a, const struct file_search_query *q)
{
	AUTO(buf_done) struct buf out = BUF(16 * QUERY_TEXT_MAX + 32);

	buf_add_text(&out, "{**/*");
	add_literal(&out, q);
	buf_add_text(&out, "*,**/");
	if (*q->q != '.')
		buf_add_byte(&out, '.');
	if (*q->q != '.')
		buf_add_byte(&out, '*');
	add_literal(&out, q);
	buf_add_text(&out, "*}");
	return arena_copy(a, buf_span(&out));
}

static int search_names(struct file_search_run *run, const struct file_search_query *q,
                        struct error *err)
{
	struct arena *a = run->rq->arena;
	const struct agent_path path = {.path = run->folder,
	                                .user = run->user,
	                                .target = name_pattern(a, q),
	                                .size_max = run->limit + 1};
	const struct compute_file call = {AGENT_GLOB, &path, run->rq->deadline, take_name, run};

	if (strchr(q->q, '/'))
		return 0; /* a name has none */
	return compute_file(run->target->provider, run->target->id, a, &call, NULL, err);
}

/* The text as a regular expression that matches nothing else. */
static const char *quote_pattern(struct arena *a, const char *text)
{
	AUTO(buf_done) struct buf out = BUF(2 * QUERY_TEXT_MAX + 1);

	for (; *text; text++) {
		if (strchr("\\.^$*+?()[]{}|", *text))
			buf_add_byte(&out, '\\');
		buf_add_byte(&out, *text);
	}
	return arena_copy(a, buf_span(&out));
}

static void take_lines(struct file_search_run *run, const struct search_file *file)
{
	struct arena *a = run->rq->arena;
	struct span lines = file->lines;
	const char *path = copy_text(a, file->path);
	struct search_line line;

	while (search_line_next(&lines, &line)) {
		if (line.number == 0)
			continue;
		if (run->match_count == run->limit) {
			run->is_cut = true;
			return;
		}
		if (line.text.size > LINE_MAX_BYTES)
			line.text.size = LINE_MAX_BYTES;
		run->matches[run->match_count++] =
		        (struct file_match_answer){path, copy_text(a, line.text), line.number};
	}
}

static int search_texts(struct file_search_run *run, const struct file_search_query *q,
                        struct error *err)
{
	struct arena *a = run->rq->arena;
	const struct search_scope scope = {
	        .provider = run->target->provider,
	        .id = run->target->id,
	        .root = run->folder,
	        .user = run->user,
	        .env = run->target->env,
	        .deadline = run->rq->deadline,
	};
	const struct search_request search = {
	        .pattern = q->regex ? q->q : quote_pattern(a, q->q),
	        .path = ".",
	        .glob = q->glob,
	        .mode = SEARCH_CONTENT,
	        .ignore_case = !q->match_case,
	};
	struct search_found found;

	if (search_run(a, &scope, &search, &found, err) < 0)
		return -1;
	for (size_t i = 0; i < found.count; i++)
		take_lines(run, &found.files[i]);
	run->is_cut |= found.truncated;
	return 0;
}

static int files_search_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                            struct error *err)
{
	const struct file_search_query *q = rq->query;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct file_search_run run = {.rq = rq, .target = &t};
	struct file_search_answer answer;

	if (api_target_open(rq, &t, err) < 0 ||
	    provider_require(t.provider, PROVIDER_CAN_FILES, err) < 0 ||
	    files_resolve(rq, &t, q->path ? q->path : ".", &run.folder, err) < 0)
		return -1;
	run.user = q->user ? q->user : t.user;
	run.limit = q->limit ? (size_t)q->limit : LIMIT_USUAL;
	run.names = ARENA_ARRAY(rq->arena, struct file_name_answer, run.limit);
	run.matches = ARENA_ARRAY(rq->arena, struct file_match_answer, run.limit);
	if (q->in != SEARCH_TEXTS && !q->regex && search_names(&run, q, err) < 0)
		return -1;
	if (q->in != SEARCH_NAMES && search_texts(&run, q, err) < 0)
		return -1;
	answer = (struct file_search_answer){
	        .path = run.folder,
	        .names = {run.names, run.name_count, .present = true},
	        .matches = {run.matches, run.match_count, .present = true},
	        .truncated = run.is_cut,
	};
	reply_json(reply, &file_search, &answer);
	return 0;
}

const struct route file_search_routes[] = {
        {HTTP_GET, "/api/sandbox/instances/:id/files/search", SCOPE_SANDBOX_READ, ROUTE_SLOW,
         .query = &file_search_query, .answer = &file_search, .handle = files_search_get,
         .tag = "files", .summary = "Search names and contents of files"},
        {.path = NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/instances/:id/git — git in the sandbox, see git/git.h and docs/git.md. */
#include "git/git.h"

#include <string.h>

#include "calls/repository.h"
#include "edge/tables.h"

#define BASE "/api/sandbox/instances/:id/git"
#define LOG_DEFAULT 50

/* ---- shapes ---- */

#define PATH_ROW(s)                                                                                \
	JSON_TEXT_MEMBER(s, path, .max = 4096,                                                     \
	                 .about = "of the repository; relative ones are below the default "        \
	                          "folder, which it is when left out",                             \
	                 .example = "project")
#define LOGIN_ROWS(s)                                                                              \
	JSON_TEXT_MEMBER(s, username, .max = GIT_URL_MAX,                                          \
	                 .about = "with a password; default git, as tokens want it"),              \
	        JSON_TEXT_MEMBER(s, password, .flags = JSON_SECRET, .max = GIT_URL_MAX,            \
	                         .about = "or a token: for this call and its server, kept "        \
	                                  "nowhere")

struct path_body {
	const char *path;
};
static const struct json_member path_query_members[] = {PATH_ROW(path_body), JSON_END};
static JSON_SHAPE(path_query, "GitQuery", path_body, "Which repository");

struct clone_body {
	const char *path, *url, *branch, *commit, *username, *password;
	int64_t depth;
	bool insecure;
};
static const struct json_member clone_request_members[] = {
        JSON_TEXT_MEMBER(clone_body, url, .flags = JSON_REQUIRED, .min = 1, .max = GIT_URL_MAX,
                         .about = "https, http, ssh, git, file, or user@host:path",
                         .example = "https://example.com/project.git"),
        JSON_TEXT_MEMBER(clone_body, path, .flags = JSON_REQUIRED, .min = 1, .max = 4096,
                         .about = "where it is to be: nothing, or an empty folder",
                         .example = "project"),
        JSON_TEXT_MEMBER(clone_body, branch, .max = GIT_NAME_MAX, .about = "or a tag"),
        JSON_TEXT_MEMBER(clone_body, commit, .max = GIT_NAME_MAX,
                         .about = "to be checked out after it"),
        JSON_WHOLE_MEMBER(clone_body, depth, .min = 0, .max = INT32_MAX,
                          .about = "so many commits; 0 = all"),
        JSON_BOOL_MEMBER(clone_body, insecure, .about = "do not check certificates"),
        LOGIN_ROWS(clone_body),
        JSON_END,
};
static JSON_SHAPE(clone_request, "GitClone", clone_body, "What to clone");

struct file_answer {
	const char *path, *old_path, *staged, *worktree;
};
static const struct json_member file_shape_members[] = {
        JSON_TEXT_MEMBER(file_answer, path),
        JSON_TEXT_MEMBER(file_answer, old_path, .flags = JSON_NULLABLE,
                         .about = "of a rename or copy"),
        JSON_TEXT_MEMBER(file_answer, staged,
                         .about = "unchanged modified type added deleted renamed copied unmerged "
                                  "untracked"),
        JSON_TEXT_MEMBER(file_answer, worktree, .about = "the same"),
        JSON_END,
};
static JSON_SHAPE(file_shape, "GitFile", file_answer, "A file that has changed");

struct status_answer {
	const char *branch, *commit, *upstream;
	int64_t ahead, behind;
	bool clean;
	struct json_list files;
};
static const struct json_member status_shape_members[] = {
        JSON_TEXT_MEMBER(status_answer, branch, .flags = JSON_NULLABLE,
                         .about = "null when the head is detached"),
        JSON_TEXT_MEMBER(status_answer, commit, .flags = JSON_NULLABLE,
                         .about = "null before the first"),
        JSON_TEXT_MEMBER(status_answer, upstream, .flags = JSON_NULLABLE),
        JSON_WHOLE_MEMBER(status_answer, ahead, .about = "commits that the upstream has not"),
        JSON_WHOLE_MEMBER(status_answer, behind, .about = "commits that only the upstream has"),
        JSON_BOOL_MEMBER(status_answer, clean),
        JSON_LIST_MEMBER(status_answer, files, &file_shape),
        JSON_END,
};
static JSON_SHAPE(status_shape, "GitStatus", status_answer, "What has changed since the head");

struct add_body {
	const char *path;
	const char **files;
};
static const struct json_member add_request_members[] = {
        PATH_ROW(add_body),
        JSON_TEXT_LIST_MEMBER(
                add_body, files, .flags = JSON_REQUIRED, .min = 1, .max = GIT_PATHS_MAX,
                .about = "as they are, no patterns; \".\" = all", .example = "[\".\"]"),
        JSON_END,
};
static JSON_SHAPE(add_request, "GitAdd", add_body, "What to stage, deletions too");

struct commit_body {
	const char *path, *message, *author, *email;
	bool allow_empty;
};
static const struct json_member commit_request_members[] = {
        PATH_ROW(commit_body),
        JSON_TEXT_MEMBER(commit_body, message, .flags = JSON_REQUIRED, .min = 1,
                         .max = GIT_MESSAGE_MAX),
        JSON_TEXT_MEMBER(commit_body, author, .max = GIT_NAME_MAX,
                         .about = "name; default: as git is configured"),
        JSON_TEXT_MEMBER(commit_body, email, .max = GIT_NAME_MAX),
        JSON_BOOL_MEMBER(commit_body, allow_empty),
        JSON_END,
};
static JSON_SHAPE(commit_request, "GitCommitRequest", commit_body, "How to commit");

struct hash_answer {
	const char *hash;
};
static const struct json_member hash_shape_members[] = {JSON_TEXT_MEMBER(hash_answer, hash),
                                                        JSON_END};
static JSON_SHAPE(hash_shape, "GitHash", hash_answer, "The commit that was made");

struct branch_body {
	const char *path, *name;
	bool checkout;
};
static const struct json_member branch_request_members[] = {
        PATH_ROW(branch_body),
        JSON_TEXT_MEMBER(branch_body, name, .flags = JSON_REQUIRED, .min = 1, .max = GIT_NAME_MAX),
        JSON_BOOL_MEMBER(branch_body, checkout, .about = "go over to it, too"),
        JSON_END,
};
static JSON_SHAPE(branch_request, "GitBranch", branch_body, "A branch at the head");
static const struct json_member branch_query_members[] = {
        PATH_ROW(branch_body),
        JSON_TEXT_MEMBER(branch_body, name, .flags = JSON_REQUIRED, .min = 1, .max = GIT_NAME_MAX),
        JSON_END,
};
static JSON_SHAPE(branch_query, "GitBranchQuery", branch_body, "Which branch");
static const struct json_member checkout_request_members[] = {
        PATH_ROW(branch_body),
        JSON_TEXT_MEMBER(branch_body, name, .flags = JSON_REQUIRED, .min = 1, .max = GIT_NAME_MAX,
                         .about = "branch, tag or commit"),
        JSON_END,
};
static JSON_SHAPE(checkout_request, "GitCheckout", branch_body, "Where to go");

struct branches_answer {
	const char *current;
	const char **branches;
};
static const struct json_member branches_shape_members[] = {
        JSON_TEXT_MEMBER(branches_answer, current, .flags = JSON_NULLABLE),
        JSON_TEXT_LIST_MEMBER(branches_answer, branches),
        JSON_END,
};
static JSON_SHAPE(branches_shape, "GitBranches", branches_answer, "The local branches");

struct exchange_body {
	const char *path, *remote, *branch, *username, *password;
	bool set_upstream;
};
static const struct json_member push_request_members[] = {
        PATH_ROW(exchange_body),
        JSON_TEXT_MEMBER(exchange_body, remote, .max = GIT_NAME_MAX, .about = "default origin"),
        JSON_TEXT_MEMBER(exchange_body, branch, .max = GIT_NAME_MAX,
                         .about = "default: the one at hand"),
        JSON_BOOL_MEMBER(exchange_body, set_upstream),
        LOGIN_ROWS(exchange_body),
        JSON_END,
};
static JSON_SHAPE(push_request, "GitPush", exchange_body, "What to push, and where to");
static const struct json_member pull_request_members[] = {
        PATH_ROW(exchange_body),
        JSON_TEXT_MEMBER(exchange_body, remote, .max = GIT_NAME_MAX, .about = "default origin"),
        JSON_TEXT_MEMBER(exchange_body, branch, .max = GIT_NAME_MAX,
                         .about = "default: the upstream of the one at hand"),
        LOGIN_ROWS(exchange_body),
        JSON_END,
};
static JSON_SHAPE(pull_request, "GitPull", exchange_body, "What to pull and merge");

struct commit_answer {
	const char *hash, *author, *email, *message;
	int64_t at;
};
static const struct json_member commit_shape_members[] = {
        JSON_TEXT_MEMBER(commit_answer, hash),  JSON_TEXT_MEMBER(commit_answer, author),
        JSON_TEXT_MEMBER(commit_answer, email), JSON_TEXT_MEMBER(commit_answer, message),
        JSON_TIME_MEMBER(commit_answer, at),    JSON_END,
};
static JSON_SHAPE(commit_shape, "GitCommit", commit_answer, "A commit");
struct log_answer {
	struct json_list items;
};
static const struct json_member log_shape_members[] = {
        JSON_LIST_MEMBER(log_answer, items, &commit_shape), JSON_END};
static JSON_SHAPE(log_shape, "GitLog", log_answer, "Commits, newest first");
struct log_query {
	const char *path;
	int64_t limit;
};
static const struct json_member log_query_members[] = {
        PATH_ROW(log_query),
        JSON_WHOLE_MEMBER(log_query, limit, .min = 1, .max = GIT_COMMITS_MAX,
                          .about = "commits at most (default 50)"),
        JSON_END,
};
static JSON_SHAPE(log_query, "GitLogQuery", log_query, "Which commits");

struct diff_query {
	const char *path, *from, *to;
	const char **file;
	bool staged;
};
static const struct json_member diff_query_members[] = {
        PATH_ROW(diff_query),
        JSON_TEXT_MEMBER(diff_query, from, .max = GIT_NAME_MAX,
                         .about = "branch or commit; else the index"),
        JSON_TEXT_MEMBER(diff_query, to, .max = GIT_NAME_MAX, .about = "else the files"),
        JSON_TEXT_LIST_MEMBER(diff_query, file, .max = GIT_PATHS_MAX, .about = "only these"),
        JSON_BOOL_MEMBER(diff_query, staged, .about = "the index against the head"),
        JSON_END,
};
static JSON_SHAPE(diff_query, "GitDiffQuery", diff_query, "What to compare");

/* ---- handlers ---- */

struct place {
	struct api_target target;
	struct git_at at;
};

static void place_done(struct place *p)
{
	api_target_done(&p->target);
}
#define PLACE AUTO(place_done) struct place

static int open_place(struct request *rq, const char *path, struct place *ret, struct error *err)
{
	if (api_target_open(rq, &ret->target, err) < 0)
		return -1;
	return repository_locate(rq, &ret->target, path, &ret->at, err);
}

static int answer_nothing(struct reply *reply)
{
	reply_status(reply, 204);
	return 0;
}

static int clone(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct clone_body *b = body;
	const struct git_clone what = {.url = b->url,
	                               .branch = b->branch,
	                               .commit = b->commit,
	                               .depth = b->depth,
	                               .insecure = b->insecure,
	                               .login = {b->username, b->password}};
	PLACE p = {.at = {.path = NULL}};

	if (open_place(rq, b->path, &p, err) < 0 || git_clone(&p.at, rq->arena, &what, err) < 0)
		return -1;
	return answer_nothing(reply);
}

static const struct {
	char letter;
	const char *name;
} states[] = {
        {' ', "unchanged"}, {'?', "untracked"}, {'M', "modified"},
        {'T', "type"},      {'A', "added"},     {'D', "deleted"},
        {'R', "renamed"},   {'C', "copied"},    {'U', "unmerged"},
};

static const char *state_of(char letter)
{
	for (size_t i = 0; i < COUNT_OF(states); i++)
		if (states[i].letter == letter)
			return states[i].name;
	return "unchanged";
}

static const char *or_null(const char *text)
{
	return text[0] ? text : NULL;
}

static int status(struct request *rq, UNUSED const void *body, struct reply *reply,
                  struct error *err)
{
	const struct path_body *q = rq->query;
	PLACE p = {.at = {.path = NULL}};
	struct file_answer *files;
	struct git_status found;
	struct status_answer out;

	if (open_place(rq, q->path, &p, err) < 0 || git_status(&p.at, rq->arena, &found, err) < 0)
		return -1;
	files = ARENA_ARRAY(rq->arena, struct file_answer, found.count);
	for (size_t i = 0; i < found.count; i++)
		files[i] = (struct file_answer){
		        found.files[i].path, or_null(found.files[i].old_path),
		        state_of(found.files[i].staged), state_of(found.files[i].worktree)};
	out = (struct status_answer){
	        .branch = or_null(found.branch),
	        .commit = or_null(found.commit),
	        .upstream = or_null(found.upstream),
	        .ahead = found.ahead,
	        .behind = found.behind,
	        .clean = found.count == 0,
	        .files = {files, found.count, true},
	};
	reply_json(reply, &status_shape, &out);
	return 0;
}

static int add(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct add_body *b = body;
	PLACE p = {.at = {.path = NULL}};

	if (open_place(rq, b->path, &p, err) < 0 || git_add(&p.at, rq->arena, b->files, err) < 0)
		return -1;
	return answer_nothing(reply);
}

static int commit(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct commit_body *b = body;
	const struct git_commit_request what = {b->message, b->author, b->email, b->allow_empty};
	PLACE p = {.at = {.path = NULL}};
	struct hash_answer out;

	if (open_place(rq, b->path, &p, err) < 0 ||
	    git_commit(&p.at, rq->arena, &what, &out.hash, err) < 0)
		return -1;
	reply_json(reply, &hash_shape, &out);
	return 0;
}

static int branches(struct request *rq, UNUSED const void *body, struct reply *reply,
                    struct error *err)
{
	const struct path_body *q = rq->query;
	PLACE p = {.at = {.path = NULL}};
	struct git_branches found;
	struct branches_answer out;

	if (open_place(rq, q->path, &p, err) < 0 || git_branches(&p.at, rq->arena, &found, err) < 0)
		return -1;
	out = (struct branches_answer){or_null(found.current), found.names};
	reply_json(reply, &branches_shape, &out);
	return 0;
}

static int branch_create(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct branch_body *b = body;
	PLACE p = {.at = {.path = NULL}};

	if (open_place(rq, b->path, &p, err) < 0 ||
	    git_branch_create(&p.at, rq->arena, b->name, b->checkout, err) < 0)
		return -1;
	return answer_nothing(reply);
}

static int branch_delete(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	const struct branch_body *q = rq->query;
	PLACE p = {.at = {.path = NULL}};

	if (open_place(rq, q->path, &p, err) < 0 ||
	    git_branch_delete(&p.at, rq->arena, q->name, err) < 0)
		return -1;
	return answer_nothing(reply);
}

static int checkout(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct branch_body *b = body;
	PLACE p = {.at = {.path = NULL}};

	if (open_place(rq, b->path, &p, err) < 0 ||
	    git_checkout(&p.at, rq->arena, b->name, err) < 0)
		return -1;
	return answer_nothing(reply);
}

static struct git_exchange exchange_of(const struct exchange_body *b)
{
	return (struct git_exchange){
	        b->remote, b->branch, b->set_upstream, {b->username, b->password}};
}

static int push(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct exchange_body *b = body;
	const struct git_exchange what = exchange_of(b);
	PLACE p = {.at = {.path = NULL}};

	if (open_place(rq, b->path, &p, err) < 0 || git_push(&p.at, rq->arena, &what, err) < 0)
		return -1;
	return answer_nothing(reply);
}

static int pull(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct exchange_body *b = body;
	const struct git_exchange what = exchange_of(b);
	PLACE p = {.at = {.path = NULL}};

	if (open_place(rq, b->path, &p, err) < 0 || git_pull(&p.at, rq->arena, &what, err) < 0)
		return -1;
	return answer_nothing(reply);
}

static int commits(struct request *rq, UNUSED const void *body, struct reply *reply,
                   struct error *err)
{
	const struct log_query *q = rq->query;
	PLACE p = {.at = {.path = NULL}};
	struct commit_answer *items;
	struct git_log found;
	struct log_answer out;

	if (open_place(rq, q->path, &p, err) < 0 ||
	    git_log(&p.at, rq->arena, q->limit ? q->limit : LOG_DEFAULT, &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct commit_answer, found.count);
	for (size_t i = 0; i < found.count; i++)
		items[i] = (struct commit_answer){found.items[i].hash, found.items[i].author,
		                                  found.items[i].email, found.items[i].message,
		                                  found.items[i].at};
	out.items = (struct json_list){items, found.count, true};
	reply_json(reply, &log_shape, &out);
	return 0;
}

static int diff(struct request *rq, UNUSED const void *body, struct reply *reply, struct error *err)
{
	const struct diff_query *q = rq->query;
	const struct git_diff what = {q->from, q->to, q->staged, q->file};
	PLACE p = {.at = {.path = NULL}};
	bool truncated;
	struct span text;

	if (open_place(rq, q->path, &p, err) < 0 ||
	    git_diff(&p.at, rq->arena, &what, &text, &truncated, err) < 0)
		return -1;
	if (truncated)
		reply_header(reply, "Atoll-Truncated", "true");
	reply_text(reply, "text/x-diff; charset=utf-8", text);
	return 0;
}

#define TAG .tag = "git"
const struct route git_routes[] = {
        {HTTP_POST, BASE "/clone", SCOPE_SANDBOX_WRITE, ROUTE_SLOW, .body = &clone_request,
         .status = 204, .handle = clone, TAG, .summary = "Clone a repository into a sandbox"},
        {HTTP_GET, BASE "/status", SCOPE_SANDBOX_READ, .query = &path_query,
         .answer = &status_shape, .handle = status, TAG, .summary = "What has changed"},
        {HTTP_GET, BASE "/diff", SCOPE_SANDBOX_READ, .query = &diff_query, .handle = diff, TAG,
         .summary = "Changes as a patch; the header Atoll-Truncated tells of one that was cut"},
        {HTTP_GET, BASE "/log", SCOPE_SANDBOX_READ, .query = &log_query, .answer = &log_shape,
         .handle = commits, TAG, .summary = "Commits, newest first"},
        {HTTP_POST, BASE "/add", SCOPE_SANDBOX_WRITE, .body = &add_request, .status = 204,
         .handle = add, TAG, .summary = "Stage files"},
        {HTTP_POST, BASE "/commit", SCOPE_SANDBOX_WRITE, .body = &commit_request,
         .answer = &hash_shape, .handle = commit, TAG, .summary = "Commit what is staged"},
        {HTTP_GET, BASE "/branches", SCOPE_SANDBOX_READ, .query = &path_query,
         .answer = &branches_shape, .handle = branches, TAG, .summary = "List branches"},
        {HTTP_POST, BASE "/branches", SCOPE_SANDBOX_WRITE, .body = &branch_request, .status = 204,
         .handle = branch_create, TAG, .summary = "Make a branch"},
        {HTTP_DELETE, BASE "/branches", SCOPE_SANDBOX_WRITE, .query = &branch_query, .status = 204,
         .handle = branch_delete, TAG, .summary = "Delete a branch, merged or not"},
        {HTTP_POST, BASE "/checkout", SCOPE_SANDBOX_WRITE, .body = &checkout_request, .status = 204,
         .handle = checkout, TAG, .summary = "Go over to a branch or commit"},
        {HTTP_POST, BASE "/push", SCOPE_SANDBOX_WRITE, ROUTE_SLOW, .body = &push_request,
         .status = 204, .handle = push, TAG, .summary = "Push a branch"},
        {HTTP_POST, BASE "/pull", SCOPE_SANDBOX_WRITE, ROUTE_SLOW, .body = &pull_request,
         .status = 204, .handle = pull, TAG, .summary = "Pull and merge a branch"},
        {.path = NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/instances/:id/git — git in a sandbox (git/git.h, docs/use/git.md). */
#include <string.h>

#include "calls/repository.h"
#include "edge/target.h"
#include "git/git.h"
#include "surface/native/native.h"

#define BASE "/api/sandbox/instances/:id/git"
#define LOG_DEFAULT 50

#define PATH_ROW(s)                                                                                \
	JSON_TEXT_MEMBER(s, path, .max = 4096,                                                     \
	                 .about = "path of the repository; a relative path is below the default "  \
	                          "folder; default: the default folder itself",                    \
	                 .example = "project")
#define LOGIN_ROWS(s)                                                                              \
	JSON_TEXT_MEMBER(s, username, .max = GIT_URL_MAX,                                          \
	                 .about = "user name for the password; default git, which servers accept " \
	                          "with tokens"),                                                  \
	        JSON_TEXT_MEMBER(s, password, .flags = JSON_SECRET, .max = GIT_URL_MAX,            \
	                         .about = "password or token for this call and its server; it is " \
	                                  "not stored")

struct git_path_body {
	const char *path;
};
static const struct json_member path_query_members[] = {PATH_ROW(git_path_body)};
static JSON_SHAPE(path_query, "GitQuery", git_path_body, "A repository");

struct git_clone_body {
	const char *path, *url, *branch, *commit, *username, *password;
	int64_t depth;
	bool insecure;
};
static const struct json_member clone_request_members[] = {
        JSON_TEXT_MEMBER(git_clone_body, url, .flags = JSON_REQUIRED, .min = 1, .max = GIT_URL_MAX,
                         .about = "https, http, ssh, git, file, or user@host:path",
                         .example = "https://example.com/project.git"),
        JSON_TEXT_MEMBER(
                git_clone_body, path, .flags = JSON_REQUIRED, .min = 1, .max = 4096,
                .about = "target of the clone: a path that does not exist, or an empty folder",
                .example = "project"),
        JSON_TEXT_MEMBER(git_clone_body, branch, .max = GIT_NAME_MAX, .about = "branch or tag"),
        JSON_TEXT_MEMBER(git_clone_body, commit, .max = GIT_NAME_MAX,
                         .about = "commit to check out after the clone"),
        JSON_WHOLE_MEMBER(git_clone_body, depth, .min = 0, .max = INT32_MAX,
                          .about = "number of commits to fetch; 0: all"),
        JSON_BOOL_MEMBER(git_clone_body, insecure, .about = "do not check certificates"),
        LOGIN_ROWS(git_clone_body),
};
static JSON_SHAPE(clone_request, "GitClone", git_clone_body, "What to clone, and where");

struct git_file_answer {
	const char *path, *old_path, *staged, *worktree;
};
static const struct json_member file_shape_members[] = {
        JSON_TEXT_MEMBER(git_file_answer, path),
        JSON_TEXT_MEMBER(git_file_answer, old_path, .flags = JSON_NULLABLE,
                         .about = "old path of a rename or copy"),
        JSON_TEXT_MEMBER(git_file_answer, staged,
                         .about = "unchanged, modified, type, added, deleted, renamed, copied, "
                                  "unmerged or untracked"),
        JSON_TEXT_MEMBER(git_file_answer, worktree, .about = "same values as staged"),
};
static JSON_SHAPE(file_shape, "GitFile", git_file_answer, "A file with changes");

struct git_status_answer {
	const char *branch, *commit, *upstream;
	int64_t ahead, behind;
	bool clean;
	struct json_list files;
};
static const struct json_member status_shape_members[] = {
        JSON_TEXT_MEMBER(git_status_answer, branch, .flags = JSON_NULLABLE,
                         .about = "null if HEAD is detached"),
        JSON_TEXT_MEMBER(git_status_answer, commit, .flags = JSON_NULLABLE,
                         .about = "null before the first commit"),
        JSON_TEXT_MEMBER(git_status_answer, upstream, .flags = JSON_NULLABLE),
        JSON_WHOLE_MEMBER(git_status_answer, ahead,
                          .about = "commits that the upstream branch lacks"),
        JSON_WHOLE_MEMBER(git_status_answer, behind,
                          .about = "commits that only the upstream branch has"),
        JSON_BOOL_MEMBER(git_status_answer, clean),
        JSON_LIST_MEMBER(git_status_answer, files, &file_shape),
};
static JSON_SHAPE(status_shape, "GitStatus", git_status_answer, "The state of the working tree");

struct git_add_body {
	const char *path;
	const char **files;
};
static const struct json_member add_request_members[] = {
        PATH_ROW(git_add_body),
        JSON_TEXT_LIST_MEMBER(
                git_add_body, files, .flags = JSON_REQUIRED, .min = 1, .max = GIT_PATHS_MAX,
                .about = "paths without patterns; \".\" stages everything", .example = "[\".\"]"),
};
static JSON_SHAPE(add_request, "GitAdd", git_add_body,
                  "Files to stage; deleted files are staged, too");

struct git_commit_body {
	const char *path, *message, *author, *email;
	bool allow_empty;
};
static const struct json_member commit_request_members[] = {
        PATH_ROW(git_commit_body),
        JSON_TEXT_MEMBER(git_commit_body, message, .flags = JSON_REQUIRED, .min = 1,
                         .max = GIT_MESSAGE_MAX),
        JSON_TEXT_MEMBER(git_commit_body, author, .max = GIT_NAME_MAX,
                         .about = "name of the author (default: the configuration of git)"),
        JSON_TEXT_MEMBER(git_commit_body, email, .max = GIT_NAME_MAX),
        JSON_BOOL_MEMBER(git_commit_body, allow_empty),
};
static JSON_SHAPE(commit_request, "GitCommitRequest", git_commit_body, "Options of a commit");

struct git_hash_answer {
	const char *hash;
};
static const struct json_member hash_shape_members[] = {JSON_TEXT_MEMBER(git_hash_answer, hash)};
static JSON_SHAPE(hash_shape, "GitHash", git_hash_answer, "The new commit");

struct git_branch_body {
	const char *path, *name;
	bool checkout;
};
static const struct json_member branch_request_members[] = {
        PATH_ROW(git_branch_body),
        JSON_TEXT_MEMBER(git_branch_body, name, .flags = JSON_REQUIRED, .min = 1,
                         .max = GIT_NAME_MAX),
        JSON_BOOL_MEMBER(git_branch_body, checkout, .about = "check the branch out"),
};
static JSON_SHAPE(branch_request, "GitBranch", git_branch_body, "A branch to create at HEAD");
static const struct json_member branch_query_members[] = {
        PATH_ROW(git_branch_body),
        JSON_TEXT_MEMBER(git_branch_body, name, .flags = JSON_REQUIRED, .min = 1,
                         .max = GIT_NAME_MAX),
};
static JSON_SHAPE(branch_query, "GitBranchQuery", git_branch_body, "A branch to delete");
static const struct json_member checkout_request_members[] = {
        PATH_ROW(git_branch_body),
        JSON_TEXT_MEMBER(git_branch_body, name, .flags = JSON_REQUIRED, .min = 1,
                         .max = GIT_NAME_MAX, .about = "branch, tag or commit"),
};
static JSON_SHAPE(checkout_request, "GitCheckout", git_branch_body, "What to check out");

struct git_branches_answer {
	const char *current;
	const char **branches;
};
static const struct json_member branches_shape_members[] = {
        JSON_TEXT_MEMBER(git_branches_answer, current, .flags = JSON_NULLABLE),
        JSON_TEXT_LIST_MEMBER(git_branches_answer, branches),
};
static JSON_SHAPE(branches_shape, "GitBranches", git_branches_answer, "Local branches");

struct git_exchange_body {
	const char *path, *remote, *branch, *username, *password;
	bool set_upstream;
};
static const struct json_member push_request_members[] = {
        PATH_ROW(git_exchange_body),
        JSON_TEXT_MEMBER(git_exchange_body, remote, .max = GIT_NAME_MAX, .about = "default origin"),
        JSON_TEXT_MEMBER(git_exchange_body, branch, .max = GIT_NAME_MAX,
                         .about = "default: the current branch"),
        JSON_BOOL_MEMBER(git_exchange_body, set_upstream),
        LOGIN_ROWS(git_exchange_body),
};
static JSON_SHAPE(push_request, "GitPush", git_exchange_body, "What to push");
static const struct json_member pull_request_members[] = {
        PATH_ROW(git_exchange_body),
        JSON_TEXT_MEMBER(git_exchange_body, remote, .max = GIT_NAME_MAX, .about = "default origin"),
        JSON_TEXT_MEMBER(git_exchange_body, branch, .max = GIT_NAME_MAX,
                         .about = "default: the upstream of the current branch"),
        LOGIN_ROWS(git_exchange_body),
};
static JSON_SHAPE(pull_request, "GitPull", git_exchange_body, "What to pull and merge");

struct git_commit_answer {
	const char *hash, *author, *email, *message;
	int64_t at;
};
static const struct json_member commit_shape_members[] = {
        JSON_TEXT_MEMBER(git_commit_answer, hash), JSON_TEXT_MEMBER(git_commit_answer, author),
        JSON_TEXT_MEMBER(git_commit_answer, email), JSON_TEXT_MEMBER(git_commit_answer, message),
        JSON_TIME_MEMBER(git_commit_answer, at)};
static JSON_SHAPE(commit_shape, "GitCommit", git_commit_answer, "A commit");
static const struct json_member log_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &commit_shape)};
static JSON_SHAPE(log_shape, "GitLog", list_answer, "Commits, newest first");
struct git_log_query {
	const char *path;
	int64_t limit;
};
static const struct json_member git_log_query_members[] = {
        PATH_ROW(git_log_query),
        JSON_WHOLE_MEMBER(git_log_query, limit, .min = 1, .max = GIT_COMMITS_MAX,
                          .about = "maximum number of commits (default 50)"),
};
static JSON_SHAPE(git_log_query, "GitLogQuery", git_log_query, "Filter for commits");

struct git_diff_query {
	const char *path, *from, *to;
	const char **file;
	bool staged;
};
static const struct json_member git_diff_query_members[] = {
        PATH_ROW(git_diff_query),
        JSON_TEXT_MEMBER(git_diff_query, from, .max = GIT_NAME_MAX,
                         .about = "branch or commit (default: the index)"),
        JSON_TEXT_MEMBER(git_diff_query, to, .max = GIT_NAME_MAX,
                         .about = "branch or commit (default: the working tree)"),
        JSON_TEXT_LIST_MEMBER(git_diff_query, file, .max = GIT_PATHS_MAX,
                              .about = "only these files"),
        JSON_BOOL_MEMBER(git_diff_query, staged, .about = "compare the index with HEAD"),
};
static JSON_SHAPE(git_diff_query, "GitDiffQuery", git_diff_query, "What to compare");

struct git_target {
	struct api_target target;
	struct git_at at;
};

static void git_target_done(struct git_target *p)
{
	api_target_done(&p->target);
}
#define PLACE AUTO(git_target_done) struct git_target

static int open_repository(struct request *rq, const char *path, struct git_target *ret,
                           struct error *err)
{
	if (api_target_open(rq, &ret->target, err) < 0)
		return -1;
	return repository_locate(rq, &ret->target, path, &ret->at, err);
}

static int reply_no_content(struct reply *reply)
{
	reply_status(reply, 204);
	return 0;
}

static int clone_repository(struct request *rq, const void *body, struct reply *reply,
                            struct error *err)
{
	const struct git_clone_body *b = body;
	const struct git_clone options = {.url = b->url,
	                                  .branch = b->branch,
	                                  .commit = b->commit,
	                                  .depth = b->depth,
	                                  .insecure = b->insecure,
	                                  .login = {b->username, b->password}};
	PLACE p = {.at = {.path = NULL}};

	if (open_repository(rq, b->path, &p, err) < 0 ||
	    git_clone(&p.at, rq->arena, &options, err) < 0)
		return -1;
	return reply_no_content(reply);
}

static const struct {
	char letter;
	const char *name;
} states[] = {
        {' ', "unchanged"}, {'?', "untracked"}, {'M', "modified"},
        {'T', "type"},      {'A', "added"},     {'D', "deleted"},
        {'R', "renamed"},   {'C', "copied"},    {'U', "unmerged"},
};

static const char *file_state_name(char letter)
{
	for (size_t i = 0; i < COUNT_OF(states); i++)
		if (states[i].letter == letter)
			return states[i].name;
	return "unchanged";
}

static int read_status(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	const struct git_path_body *q = rq->query;
	PLACE p = {.at = {.path = NULL}};
	struct git_file_answer *files;
	struct git_status found;
	struct git_status_answer out;

	if (open_repository(rq, q->path, &p, err) < 0 ||
	    git_status(&p.at, rq->arena, &found, err) < 0)
		return -1;
	files = ARENA_ARRAY(rq->arena, struct git_file_answer, found.count);
	for (size_t i = 0; i < found.count; i++)
		files[i] = (struct git_file_answer){found.files[i].path,
		                                    text_or_null(found.files[i].old_path),
		                                    file_state_name(found.files[i].staged),
		                                    file_state_name(found.files[i].worktree)};
	out = (struct git_status_answer){
	        .branch = text_or_null(found.branch),
	        .commit = text_or_null(found.commit),
	        .upstream = text_or_null(found.upstream),
	        .ahead = found.ahead,
	        .behind = found.behind,
	        .clean = found.count == 0,
	        .files = {files, found.count, true},
	};
	reply_json(reply, &status_shape, &out);
	return 0;
}

static int stage_files(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct git_add_body *b = body;
	PLACE p = {.at = {.path = NULL}};

	if (open_repository(rq, b->path, &p, err) < 0 ||
	    git_add(&p.at, rq->arena, b->files, err) < 0)
		return -1;
	return reply_no_content(reply);
}

static int commit_files(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	const struct git_commit_body *b = body;
	const struct git_commit_request options = {b->message, b->author, b->email, b->allow_empty};
	PLACE p = {.at = {.path = NULL}};
	struct git_hash_answer out;

	if (open_repository(rq, b->path, &p, err) < 0 ||
	    git_commit(&p.at, rq->arena, &options, &out.hash, err) < 0)
		return -1;
	reply_json(reply, &hash_shape, &out);
	return 0;
}

static int list_branches(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	const struct git_path_body *q = rq->query;
	PLACE p = {.at = {.path = NULL}};
	struct git_branches found;
	struct git_branches_answer out;

	if (open_repository(rq, q->path, &p, err) < 0 ||
	    git_branches(&p.at, rq->arena, &found, err) < 0)
		return -1;
	out = (struct git_branches_answer){text_or_null(found.current), found.names};
	reply_json(reply, &branches_shape, &out);
	return 0;
}

static int branch_create(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct git_branch_body *b = body;
	PLACE p = {.at = {.path = NULL}};

	if (open_repository(rq, b->path, &p, err) < 0 ||
	    git_branch_create(&p.at, rq->arena, b->name, b->checkout, err) < 0)
		return -1;
	return reply_no_content(reply);
}

static int branch_delete(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	const struct git_branch_body *q = rq->query;
	PLACE p = {.at = {.path = NULL}};

	if (open_repository(rq, q->path, &p, err) < 0 ||
	    git_branch_delete(&p.at, rq->arena, q->name, err) < 0)
		return -1;
	return reply_no_content(reply);
}

static int checkout_branch(struct request *rq, const void *body, struct reply *reply,
                           struct error *err)
{
	const struct git_branch_body *b = body;
	PLACE p = {.at = {.path = NULL}};

	if (open_repository(rq, b->path, &p, err) < 0 ||
	    git_checkout(&p.at, rq->arena, b->name, err) < 0)
		return -1;
	return reply_no_content(reply);
}

static struct git_exchange make_exchange(const struct git_exchange_body *b)
{
	return (struct git_exchange){
	        b->remote, b->branch, b->set_upstream, {b->username, b->password}};
}

static int push_branch(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct git_exchange_body *b = body;
	const struct git_exchange options = make_exchange(b);
	PLACE p = {.at = {.path = NULL}};

	if (open_repository(rq, b->path, &p, err) < 0 ||
	    git_push(&p.at, rq->arena, &options, err) < 0)
		return -1;
	return reply_no_content(reply);
}

static int pull_branch(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct git_exchange_body *b = body;
	const struct git_exchange options = make_exchange(b);
	PLACE p = {.at = {.path = NULL}};

	if (open_repository(rq, b->path, &p, err) < 0 ||
	    git_pull(&p.at, rq->arena, &options, err) < 0)
		return -1;
	return reply_no_content(reply);
}

static int list_commits(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	const struct git_log_query *q = rq->query;
	PLACE p = {.at = {.path = NULL}};
	struct git_commit_answer *items;
	struct git_log found;

	if (open_repository(rq, q->path, &p, err) < 0 ||
	    git_log(&p.at, rq->arena, q->limit ? q->limit : LOG_DEFAULT, &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct git_commit_answer, found.count);
	for (size_t i = 0; i < found.count; i++)
		items[i] = (struct git_commit_answer){found.items[i].hash, found.items[i].author,
		                                      found.items[i].email, found.items[i].message,
		                                      found.items[i].at};
	reply_list(reply, &log_shape, items, found.count);
	return 0;
}

static int read_diff(struct request *rq, UNUSED const void *body, struct reply *reply,
                     struct error *err)
{
	const struct git_diff_query *q = rq->query;
	const struct git_diff options = {q->from, q->to, q->staged, q->file};
	PLACE p = {.at = {.path = NULL}};
	bool truncated;
	struct span text;

	if (open_repository(rq, q->path, &p, err) < 0 ||
	    git_diff(&p.at, rq->arena, &options, &text, &truncated, err) < 0)
		return -1;
	if (truncated)
		reply_header(reply, "Atoll-Truncated", "true");
	reply_text(reply, "text/x-diff; charset=utf-8", text);
	return 0;
}

#define TAG .tag = "git"
const struct route git_routes[] = {
        {HTTP_POST, BASE "/clone", SCOPE_SANDBOX_WRITE, ROUTE_SLOW, .body = &clone_request,
         .status = 204, .handle = clone_repository, TAG,
         .summary = "Clone a repository into a sandbox"},
        {HTTP_GET, BASE "/status", SCOPE_SANDBOX_READ, .query = &path_query,
         .answer = &status_shape, .handle = read_status, TAG,
         .summary = "Get the state of a repository"},
        {HTTP_GET, BASE "/diff", SCOPE_SANDBOX_READ, .query = &git_diff_query, .handle = read_diff,
         TAG,
         .summary = "Get changes as a patch; the header Atoll-Truncated marks a shortened patch"},
        {HTTP_GET, BASE "/log", SCOPE_SANDBOX_READ, .query = &git_log_query, .answer = &log_shape,
         .handle = list_commits, TAG, .summary = "Commits, newest first"},
        {HTTP_POST, BASE "/add", SCOPE_SANDBOX_WRITE, .body = &add_request, .status = 204,
         .handle = stage_files, TAG, .summary = "Stage files"},
        {HTTP_POST, BASE "/commit", SCOPE_SANDBOX_WRITE, .body = &commit_request,
         .answer = &hash_shape, .handle = commit_files, TAG, .summary = "Commit staged files"},
        {HTTP_GET, BASE "/branches", SCOPE_SANDBOX_READ, .query = &path_query,
         .answer = &branches_shape, .handle = list_branches, TAG, .summary = "List branches"},
        {HTTP_POST, BASE "/branches", SCOPE_SANDBOX_WRITE, .body = &branch_request, .status = 204,
         .handle = branch_create, TAG, .summary = "Create a branch"},
        {HTTP_DELETE, BASE "/branches", SCOPE_SANDBOX_WRITE, .query = &branch_query, .status = 204,
         .handle = branch_delete, TAG, .summary = "Delete a branch, merged or unmerged"},
        {HTTP_POST, BASE "/checkout", SCOPE_SANDBOX_WRITE, .body = &checkout_request, .status = 204,
         .handle = checkout_branch, TAG, .summary = "Check out a branch or commit"},
        {HTTP_POST, BASE "/push", SCOPE_SANDBOX_WRITE, ROUTE_SLOW, .body = &push_request,
         .status = 204, .handle = push_branch, TAG, .summary = "Push a branch"},
        {HTTP_POST, BASE "/pull", SCOPE_SANDBOX_WRITE, ROUTE_SLOW, .body = &pull_request,
         .status = 204, .handle = pull_branch, TAG, .summary = "Pull and merge a branch"},
        {.path = NULL},
};

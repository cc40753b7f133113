/* SPDX-License-Identifier: Apache-2.0 */
/* /daytona/toolbox/:id/git — git in the sandbox, see git/git.h. */
#include <string.h>

#include "calls/repository.h"
#include "edge/target.h"
#include "git/git.h"
#include "json/write.h"
#include "surface/daytona/daytona.h"
#include "surface/daytona/routes.h"

#define BASE DAYTONA_TOOLBOX "/:id/git"
#define HISTORY_MAX 1000

/* The members of all bodies and queries; each row table uses some of them. */
struct git_body {
	const char *path, *url, *branch, *commit, *username, *password, *remote, *name, *message,
	        *author, *email, *mode, *target, *source, *key, *value, *scope, *host, *protocol;
	const char **files;
	int64_t depth;
	bool insecure, set_upstream, allow_empty, bare, staged, worktree, fetch, overwrite;
};
#define TEXT_ROW(m, ...) JSON_TEXT_MEMBER(git_body, m, __VA_ARGS__)
#define MAYBE(m, ...) TEXT_ROW(m, .flags = JSON_NULLABLE, __VA_ARGS__)
#define FLAG_ROW(m, ...) JSON_BOOL_MEMBER(git_body, m, .flags = JSON_NULLABLE, __VA_ARGS__)
#define PATH_ROW TEXT_ROW(path, .flags = JSON_REQUIRED, .min = 1, .max = 4096)
#define LOGIN_ROWS MAYBE(username), TEXT_ROW(password, .flags = JSON_NULLABLE | JSON_SECRET)
#define FILES_ROW                                                                                  \
	JSON_TEXT_LIST_MEMBER(git_body, files, .flags = JSON_NULLABLE, .max = GIT_PATHS_MAX)
#define BODY(variable, name_, ...)                                                                 \
	static const struct json_member variable##_members[] = {__VA_ARGS__};                      \
	static JSON_OPEN_SHAPE(variable, name_, git_body, "A git call")

BODY(path_query, "DaytonaGitQuery", PATH_ROW);
BODY(clone_request, "DaytonaGitClone", PATH_ROW, TEXT_ROW(url, .flags = JSON_REQUIRED),
     MAYBE(branch), MAYBE(commit, .name = "commit_id"), LOGIN_ROWS,
     JSON_WHOLE_MEMBER(git_body, depth, .flags = JSON_NULLABLE, .max = INT32_MAX),
     FLAG_ROW(insecure, .name = "insecure_skip_tls"));
BODY(add_request, "DaytonaGitAdd", PATH_ROW, FILES_ROW);
BODY(commit_request, "DaytonaGitCommit", PATH_ROW, TEXT_ROW(message, .flags = JSON_REQUIRED),
     MAYBE(author), MAYBE(email), FLAG_ROW(allow_empty));
BODY(branch_request, "DaytonaGitBranch", PATH_ROW, TEXT_ROW(name, .flags = JSON_REQUIRED));
BODY(checkout_request, "DaytonaGitCheckout", PATH_ROW, TEXT_ROW(branch, .flags = JSON_REQUIRED));
BODY(exchange_request, "DaytonaGitExchange", PATH_ROW, MAYBE(remote), MAYBE(branch), LOGIN_ROWS,
     FLAG_ROW(set_upstream));
BODY(init_request, "DaytonaGitInit", PATH_ROW, MAYBE(branch, .name = "initial_branch"),
     FLAG_ROW(bare));
BODY(reset_request, "DaytonaGitReset", PATH_ROW, MAYBE(mode), MAYBE(target), FILES_ROW);
BODY(restore_request, "DaytonaGitRestore", PATH_ROW, MAYBE(source), FILES_ROW, FLAG_ROW(staged),
     FLAG_ROW(worktree));
BODY(remote_request, "DaytonaGitRemote", PATH_ROW, TEXT_ROW(name, .flags = JSON_REQUIRED),
     TEXT_ROW(url, .flags = JSON_REQUIRED), FLAG_ROW(fetch), FLAG_ROW(overwrite));
BODY(config_query, "DaytonaGitConfigQuery", MAYBE(path, .max = 4096),
     TEXT_ROW(key, .flags = JSON_REQUIRED), MAYBE(scope));
BODY(config_request, "DaytonaGitConfig", MAYBE(path, .max = 4096),
     TEXT_ROW(key, .flags = JSON_REQUIRED), TEXT_ROW(value, .flags = JSON_REQUIRED), MAYBE(scope));
BODY(user_request, "DaytonaGitUser", MAYBE(path, .max = 4096),
     TEXT_ROW(name, .flags = JSON_REQUIRED), TEXT_ROW(email, .flags = JSON_REQUIRED), MAYBE(scope));
BODY(login_request, "DaytonaGitLogin", TEXT_ROW(username, .flags = JSON_REQUIRED),
     TEXT_ROW(password, .flags = JSON_REQUIRED | JSON_SECRET), MAYBE(host), MAYBE(protocol));

struct git_repository {
	struct api_target target;
	struct git_at at;
};

static void git_repository_done(struct git_repository *p)
{
	api_target_done(&p->target);
}
#define REPOSITORY AUTO(git_repository_done) struct git_repository

static int open_repository(struct request *rq, const struct git_body *b, struct git_repository *ret,
                           struct error *err)
{
	if (daytona_target_open(rq, &ret->target, err) < 0)
		return -1;
	return repository_locate(rq, &ret->target, b->path, &ret->at, err);
}

/* Passes on the result; a refusal by git gets Daytona's code for it. */
static int record_failure(struct request *rq, const struct git_repository *p, int result)
{
	if (result < 0 && p->at.failure)
		daytona_failure_set_name(rq, p->at.failure);
	return result;
}

/* A call whose answer is empty. */
typedef int git_call(struct git_at *at, struct arena *a, const struct git_body *b,
                     struct error *err);

static int run_call(struct request *rq, const struct git_body *b, git_call *call, struct error *err)
{
	REPOSITORY p = {.at = {.path = NULL}};

	if (open_repository(rq, b, &p, err) < 0)
		return -1;
	return record_failure(rq, &p, call(&p.at, rq->arena, b, err));
}

static int call_clone(struct git_at *at, struct arena *a, const struct git_body *b,
                      struct error *err)
{
	return git_clone(at, a,
	                 &(struct git_clone){.url = b->url,
	                                     .branch = b->branch,
	                                     .commit = b->commit,
	                                     .depth = b->depth,
	                                     .insecure = b->insecure,
	                                     .login = {b->username, b->password}},
	                 err);
}

static int call_add(struct git_at *at, struct arena *a, const struct git_body *b, struct error *err)
{
	return git_add(at, a, b->files, err);
}

/* Daytona's call also checks out the new branch. */
static int call_branch(struct git_at *at, struct arena *a, const struct git_body *b,
                       struct error *err)
{
	return git_branch_create(at, a, b->name, true, err);
}

static int call_delete(struct git_at *at, struct arena *a, const struct git_body *b,
                       struct error *err)
{
	return git_branch_delete(at, a, b->name, err);
}

static int call_checkout(struct git_at *at, struct arena *a, const struct git_body *b,
                         struct error *err)
{
	return git_checkout(at, a, b->branch, err);
}

static struct git_exchange exchange_of(const struct git_body *b)
{
	return (struct git_exchange){
	        b->remote, b->branch, b->set_upstream, {b->username, b->password}};
}

static int call_push(struct git_at *at, struct arena *a, const struct git_body *b,
                     struct error *err)
{
	const struct git_exchange exchange = exchange_of(b);

	return git_push(at, a, &exchange, err);
}

static int call_pull(struct git_at *at, struct arena *a, const struct git_body *b,
                     struct error *err)
{
	const struct git_exchange exchange = exchange_of(b);

	return git_pull(at, a, &exchange, err);
}

static int call_init(struct git_at *at, struct arena *a, const struct git_body *b,
                     struct error *err)
{
	return git_init(at, a, b->bare, b->branch, err);
}

static int call_reset(struct git_at *at, struct arena *a, const struct git_body *b,
                      struct error *err)
{
	return git_reset(at, a, &(struct git_reset){b->mode, b->target, b->files}, err);
}

static int call_restore(struct git_at *at, struct arena *a, const struct git_body *b,
                        struct error *err)
{
	return git_restore(at, a,
	                   &(struct git_restore){b->files, b->source, b->staged, b->worktree}, err);
}

static int call_remote(struct git_at *at, struct arena *a, const struct git_body *b,
                       struct error *err)
{
	return git_remote_add(
	        at, a, &(struct git_remote_add){b->name, b->url, b->overwrite, b->fetch}, err);
}

static int call_config(struct git_at *at, struct arena *a, const struct git_body *b,
                       struct error *err)
{
	return git_config_set(at, a, &(struct git_setting){b->scope, b->key, b->value}, err);
}

static int call_user(struct git_at *at, struct arena *a, const struct git_body *b,
                     struct error *err)
{
	if (git_config_set(at, a, &(struct git_setting){b->scope, "user.name", b->name}, err) < 0)
		return -1;
	return git_config_set(at, a, &(struct git_setting){b->scope, "user.email", b->email}, err);
}

static int call_login(struct git_at *at, struct arena *a, const struct git_body *b,
                      struct error *err)
{
	return git_login_store(
	        at, a, &(struct git_credential){b->protocol, b->host, {b->username, b->password}},
	        err);
}

/* The calls by method and path. */
static const struct {
	enum http_method method;
	const char *path;
	int status;
	git_call *call;
} calls[] = {
        {HTTP_POST, BASE "/clone", 200, call_clone},
        {HTTP_POST, BASE "/add", 200, call_add},
        {HTTP_POST, BASE "/branches", 201, call_branch},
        {HTTP_DELETE, BASE "/branches", 204, call_delete},
        {HTTP_POST, BASE "/checkout", 200, call_checkout},
        {HTTP_POST, BASE "/push", 200, call_push},
        {HTTP_POST, BASE "/pull", 200, call_pull},
        {HTTP_POST, BASE "/init", 201, call_init},
        {HTTP_POST, BASE "/reset", 200, call_reset},
        {HTTP_POST, BASE "/restore", 200, call_restore},
        {HTTP_POST, BASE "/remotes", 201, call_remote},
        {HTTP_POST, BASE "/config", 200, call_config},
        {HTTP_POST, BASE "/config/user", 200, call_user},
        {HTTP_POST, BASE "/credentials", 200, call_login},
};

static int handle_call(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	for (size_t i = 0; i < COUNT_OF(calls); i++) {
		if (calls[i].method != rq->route->method ||
		    strcmp(calls[i].path, rq->route->path) != 0)
			continue;
		if (run_call(rq, body, calls[i].call, err) < 0)
			return -1;
		reply_status(reply, calls[i].status);
		return 0;
	}
	return FAIL(err, ERROR_SYSTEM, "no call for '%s'", rq->route->path);
}

static int commit_staged(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct git_body *b = body;
	const struct git_commit_request request = {b->message, b->author, b->email, b->allow_empty};
	REPOSITORY p = {.at = {.path = NULL}};
	const char *hash;

	if (open_repository(rq, b, &p, err) < 0 ||
	    record_failure(rq, &p, git_commit(&p.at, rq->arena, &request, &hash, err)) < 0)
		return -1;
	return daytona_reply_member(reply, "hash", hash);
}

static const struct {
	char letter;
	const char *name;
} states[] = {
        {' ', "Unmodified"}, {'?', "Untracked"}, {'M', "Modified"},
        {'T', "Modified"},   {'A', "Added"},     {'D', "Deleted"},
        {'R', "Renamed"},    {'C', "Copied"},    {'U', "Updated but unmerged"},
};

static const char *state_of(char letter)
{
	for (size_t i = 0; i < COUNT_OF(states); i++)
		if (states[i].letter == letter)
			return states[i].name;
	return "Unmodified";
}

static void write_status(struct buf *out, const struct git_status *s)
{
	json_begin_object(out, NULL);
	json_add_text(out, "currentBranch", s->branch);
	json_add_whole(out, "ahead", s->ahead);
	json_add_whole(out, "behind", s->behind);
	json_add_bool(out, "branchPublished", s->has_upstream);
	json_add_bool(out, "detached", !s->branch[0]);
	json_add_text(out, "upstream", s->upstream);
	json_begin_list(out, "fileStatus");
	for (size_t i = 0; i < s->count; i++) {
		const struct git_file *f = &s->files[i];

		json_begin_object(out, NULL);
		json_add_text(out, "name", f->path);
		json_add_text(out, "staging", state_of(f->staged));
		json_add_text(out, "worktree", state_of(f->worktree));
		json_add_text(out, "extra", f->old_path);
		json_end_object(out);
	}
	json_end_list(out);
	json_end_object(out);
}

static int get_status(struct request *rq, UNUSED const void *body, struct reply *reply,
                      struct error *err)
{
	REPOSITORY p = {.at = {.path = NULL}};
	struct git_status found;

	if (open_repository(rq, rq->query, &p, err) < 0 ||
	    record_failure(rq, &p, git_status(&p.at, rq->arena, &found, err)) < 0)
		return -1;
	write_status(reply_buf(reply, "application/json"), &found);
	return 0;
}

static int list_branches(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	struct buf *out = reply_buf(reply, "application/json");
	REPOSITORY p = {.at = {.path = NULL}};
	struct git_branches found;

	if (open_repository(rq, rq->query, &p, err) < 0 ||
	    record_failure(rq, &p, git_branches(&p.at, rq->arena, &found, err)) < 0)
		return -1;
	json_begin_object(out, NULL);
	json_add_text(out, "current", found.current);
	json_add_texts(out, "branches", found.names);
	json_end_object(out);
	return 0;
}

static void write_commit(struct buf *out, const struct git_commit *c)
{
	json_begin_object(out, NULL);
	json_add_text(out, "hash", c->hash);
	json_add_text(out, "author", c->author);
	json_add_text(out, "email", c->email);
	json_add_text(out, "message", c->message);
	json_add_epoch_time(out, "timestamp", c->at);
	json_end_object(out);
}

static int list_commits(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	struct buf *out = reply_buf(reply, "application/json");
	REPOSITORY p = {.at = {.path = NULL}};
	struct git_log found;

	if (open_repository(rq, rq->query, &p, err) < 0 ||
	    record_failure(rq, &p, git_log(&p.at, rq->arena, HISTORY_MAX, &found, err)) < 0)
		return -1;
	json_begin_list(out, NULL);
	for (size_t i = 0; i < found.count; i++)
		write_commit(out, &found.items[i]);
	json_end_list(out);
	return 0;
}

static const struct json_member remote_members[] = {
        JSON_TEXT_MEMBER(git_remote, name),
        JSON_TEXT_MEMBER(git_remote, url),
};
static JSON_SHAPE(remote, "DaytonaGitRemoteInfo", git_remote, "A remote repository");

static int list_remotes(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	struct buf *out = reply_buf(reply, "application/json");
	REPOSITORY p = {.at = {.path = NULL}};
	struct git_remotes found;

	if (open_repository(rq, rq->query, &p, err) < 0 ||
	    record_failure(rq, &p, git_remotes(&p.at, rq->arena, &found, err)) < 0)
		return -1;
	json_begin_object(out, NULL);
	json_add_structs(out, "remotes", &remote,
	                 &(struct json_list){found.items, found.count, true});
	json_end_object(out);
	return 0;
}

static int get_config(struct request *rq, UNUSED const void *body, struct reply *reply,
                      struct error *err)
{
	const struct git_body *q = rq->query;
	const struct git_setting setting = {.scope = q->scope, .key = q->key};
	struct buf *out = reply_buf(reply, "application/json");
	REPOSITORY p = {.at = {.path = NULL}};
	const char *value;

	if (open_repository(rq, q, &p, err) < 0 ||
	    record_failure(rq, &p, git_config_get(&p.at, rq->arena, &setting, &value, err)) < 0)
		return -1;
	json_begin_object(out, NULL);
	if (value)
		json_add_text(out, "value", value);
	json_end_object(out);
	return 0;
}

#define READ SCOPE_SANDBOX_READ, ROUTE_HIDDEN
#define SLOW SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_HIDDEN
#define TAG .tag = "daytona"
const struct route daytona_git_routes[] = {
        {HTTP_POST, BASE "/clone", SLOW, .body = &clone_request, .handle = handle_call, TAG,
         .summary = "Clone a repository"},
        {HTTP_GET, BASE "/status", READ, .query = &path_query, .handle = get_status, TAG,
         .summary = "Show what has changed"},
        {HTTP_POST, BASE "/add", SLOW, .body = &add_request, .handle = handle_call, TAG,
         .summary = "Stage files"},
        {HTTP_POST, BASE "/commit", SLOW, .body = &commit_request, .handle = commit_staged, TAG,
         .summary = "Commit the staged changes"},
        {HTTP_GET, BASE "/branches", READ, .query = &path_query, .handle = list_branches, TAG,
         .summary = "List branches"},
        {HTTP_POST, BASE "/branches", SLOW, .body = &branch_request, .handle = handle_call, TAG,
         .summary = "Create a branch and check it out"},
        {HTTP_DELETE, BASE "/branches", SLOW, .body = &branch_request, .handle = handle_call, TAG,
         .summary = "Delete a branch"},
        {HTTP_POST, BASE "/checkout", SLOW, .body = &checkout_request, .handle = handle_call, TAG,
         .summary = "Check out a branch or commit"},
        {HTTP_POST, BASE "/push", SLOW, .body = &exchange_request, .handle = handle_call, TAG,
         .summary = "Push"},
        {HTTP_POST, BASE "/pull", SLOW, .body = &exchange_request, .handle = handle_call, TAG,
         .summary = "Pull"},
        {HTTP_GET, BASE "/history", READ, .query = &path_query, .handle = list_commits, TAG,
         .summary = "List commits, newest first"},
        {HTTP_POST, BASE "/init", SLOW, .body = &init_request, .handle = handle_call, TAG,
         .summary = "Create a repository"},
        {HTTP_POST, BASE "/reset", SLOW, .body = &reset_request, .handle = handle_call, TAG,
         .summary = "Reset the head, the index and the files"},
        {HTTP_POST, BASE "/restore", SLOW, .body = &restore_request, .handle = handle_call, TAG,
         .summary = "Restore files"},
        {HTTP_GET, BASE "/remotes", READ, .query = &path_query, .handle = list_remotes, TAG,
         .summary = "List remotes"},
        {HTTP_POST, BASE "/remotes", SLOW, .body = &remote_request, .handle = handle_call, TAG,
         .summary = "Add a remote"},
        {HTTP_GET, BASE "/config", READ, .query = &config_query, .handle = get_config, TAG,
         .summary = "Get a setting"},
        {HTTP_POST, BASE "/config", SLOW, .body = &config_request, .handle = handle_call, TAG,
         .summary = "Change a setting"},
        {HTTP_POST, BASE "/config/user", SLOW, .body = &user_request, .handle = handle_call, TAG,
         .summary = "Set the name and email of the committer"},
        {HTTP_POST, BASE "/credentials", SLOW, .body = &login_request, .handle = handle_call, TAG,
         .summary = "Store a login for later calls"},
        {.path = NULL},
};

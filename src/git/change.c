/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "git/git.h"
#include "git/parse.h"
#include "git/run.h"
#include "provider/compute_run.h"

static int run_without_output(struct git_at *at, struct arena *a, const struct git_invocation *what,
                              struct error *err)
{
	struct compute_result ignored;

	return git_run(at, a, what, &ignored, err);
}

int git_init(struct git_at *at, struct arena *a, bool bare, const char *branch, struct error *err)
{
	static const char *const none[] = {NULL};
	struct git_invocation what = {
	        .args = {"init", "--quiet"}, .elsewhere = true, .paths = none};
	const char *paths[] = {at->path, NULL};
	size_t count = 2;

	if (branch && branch[0]) {
		if (git_check_name(branch, "initial branch", err) < 0)
			return -1;
		what.args[count++] = arena_format(a, "--initial-branch=%s", branch);
	}
	if (bare)
		what.args[count++] = "--bare";
	what.paths = paths;
	return run_without_output(at, a, &what, err);
}

int git_add(struct git_at *at, struct arena *a, const char *const *paths, struct error *err)
{
	const struct git_invocation what = {.args = {"add", "--all"}, .paths = paths};

	if (git_check_paths(paths, err) < 0)
		return -1;
	return run_without_output(at, a, &what, err);
}

static int check_person(const char *text, const char *what, struct error *err)
{
	if (!text || (strlen(text) <= GIT_NAME_MAX && !strpbrk(text, "<>\n\r")))
		return 0;
	return FAIL(err, ERROR_INVALID, "%s: at most %d characters, no '<', '>' or line feed", what,
	            GIT_NAME_MAX);
}

/* By the environment, where a name may start with any character. */
static void set_person(struct arena *a, const struct git_commit_request *c, const char **env)
{
	size_t count = 0;

	if (c->author && c->author[0]) {
		env[count++] = arena_format(a, "GIT_AUTHOR_NAME=%s", c->author);
		env[count++] = arena_format(a, "GIT_COMMITTER_NAME=%s", c->author);
	}
	if (c->email && c->email[0]) {
		env[count++] = arena_format(a, "GIT_AUTHOR_EMAIL=%s", c->email);
		env[count] = arena_format(a, "GIT_COMMITTER_EMAIL=%s", c->email);
	}
}

int git_commit(struct git_at *at, struct arena *a, const struct git_commit_request *what,
               const char **ret_hash, struct error *err)
{
	struct git_invocation commit = {.args = {"commit", "--quiet", "--no-gpg-sign", "--file=-"},
	                                .input = span_of(what->message)};
	const struct git_invocation head = {.args = {"rev-parse", "--verify", "HEAD"}};
	struct compute_result result;

	if (check_person(what->author, "author", err) < 0 ||
	    check_person(what->email, "email", err) < 0)
		return -1;
	if (!what->message[0] || strlen(what->message) > GIT_MESSAGE_MAX)
		return FAIL(err, ERROR_INVALID, "message: 1 to %zu bytes", GIT_MESSAGE_MAX);
	if (what->allow_empty)
		commit.args[4] = "--allow-empty";
	set_person(a, what, commit.env);
	if (run_without_output(at, a, &commit, err) < 0 || git_run(at, a, &head, &result, err) < 0)
		return -1;
	*ret_hash = git_first_line(a, &result);
	return 0;
}

int git_branch_create(struct git_at *at, struct arena *a, const char *name, bool checkout,
                      struct error *err)
{
	const struct git_invocation make = {.args = {"branch", "--no-track", "--", name}};
	const struct git_invocation go = {
	        .args = {"checkout", "--quiet", "--no-track", "-b", name}};

	if (git_check_name(name, "name", err) < 0)
		return -1;
	return run_without_output(at, a, checkout ? &go : &make, err);
}

int git_branch_delete(struct git_at *at, struct arena *a, const char *name, struct error *err)
{
	const struct git_invocation what = {.args = {"branch", "--quiet", "-D", "--", name}};

	if (git_check_name(name, "name", err) < 0)
		return -1;
	return run_without_output(at, a, &what, err);
}

int git_checkout(struct git_at *at, struct arena *a, const char *name, struct error *err)
{
	const struct git_invocation what = {.args = {"checkout", "--quiet", name, "--"}};

	if (git_check_name(name, "branch", err) < 0)
		return -1;
	return run_without_output(at, a, &what, err);
}

static int check_mode(const char *mode, struct error *err)
{
	static const char *const modes[] = {"soft", "mixed", "hard", "merge", "keep"};

	for (size_t i = 0; i < COUNT_OF(modes); i++)
		if (strcmp(modes[i], mode) == 0)
			return 0;
	return FAIL(err, ERROR_INVALID, "mode: soft, mixed, hard, merge or keep");
}

int git_reset(struct git_at *at, struct arena *a, const struct git_reset *what, struct error *err)
{
	const char *mode = what->mode && what->mode[0] ? what->mode : "mixed",
	           *target = what->target && what->target[0] ? what->target : "HEAD";
	struct git_invocation reset = {.args = {"reset", "--quiet"}};
	bool has_paths = what->paths && what->paths[0];

	if (check_mode(mode, err) < 0 || git_check_name(target, "target", err) < 0 ||
	    (has_paths && git_check_paths(what->paths, err) < 0))
		return -1;
	if (has_paths && strcmp(mode, "mixed") != 0)
		return FAIL(err, ERROR_INVALID, "mode: with files only mixed");
	if (has_paths) {
		reset.args[2] = target;
		reset.paths = what->paths;
	} else {
		reset.args[2] = arena_format(a, "--%s", mode);
		reset.args[3] = target;
	}
	return run_without_output(at, a, &reset, err);
}

int git_restore(struct git_at *at, struct arena *a, const struct git_restore *what,
                struct error *err)
{
	struct git_invocation restore = {.args = {"restore", "--quiet"}, .paths = what->paths};
	size_t count = 2;

	if (git_check_paths(what->paths, err) < 0)
		return -1;
	if (what->source && what->source[0]) {
		if (git_check_name(what->source, "source", err) < 0)
			return -1;
		restore.args[count++] = arena_format(a, "--source=%s", what->source);
	}
	if (what->staged)
		restore.args[count++] = "--staged";
	if (what->worktree || !what->staged)
		restore.args[count++] = "--worktree";
	return run_without_output(at, a, &restore, err);
}

/* "--global"; for local the repository. */
static int set_scope(struct git_at *at, const struct git_setting *what, struct git_invocation *run,
                     struct error *err)
{
	static const struct {
		const char *name, *option;
	} scopes[] = {{"global", "--global"}, {"local", "--local"}, {"system", "--system"}};
	const char *scope = what->scope && what->scope[0] ? what->scope : "global";

	for (const char *c = what->key; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f || *c == '=')
			return FAIL(err, ERROR_INVALID, "key: no blanks or '='");
	if (what->key[0] == '-' || !strchr(what->key, '.') || strlen(what->key) > GIT_NAME_MAX)
		return FAIL(err, ERROR_INVALID, "key: like user.name");
	for (size_t i = 0; i < COUNT_OF(scopes); i++) {
		if (strcmp(scopes[i].name, scope) != 0)
			continue;
		run->args[1] = scopes[i].option;
		run->elsewhere = strcmp(scope, "local") != 0;
		if (!run->elsewhere && !at->path)
			return FAIL(err, ERROR_INVALID, "path: needed for the scope local");
		return 0;
	}
	return FAIL(err, ERROR_INVALID, "scope: global, local or system");
}

int git_config_get(struct git_at *at, struct arena *a, const struct git_setting *what,
                   const char **ret, struct error *err)
{
	struct git_invocation get = {.args = {"config", "", "-z", "--get", what->key}};
	struct compute_result result;
	struct span rest, value;

	if (set_scope(at, what, &get, err) < 0 || git_run_any_exit(at, a, &get, &result, err) < 0)
		return -1;
	*ret = NULL;
	if (result.process.exit_code == 1)
		return 0;
	if (result.process.exit_code != 0)
		return git_run(at, a, &get, &result, err);
	rest = result.out[0];
	(void)span_split(&rest, '\0', &value);
	*ret = arena_copy(a, value);
	return 0;
}

int git_config_set(struct git_at *at, struct arena *a, const struct git_setting *what,
                   struct error *err)
{
	struct git_invocation set = {
	        .args = {"config", "", "--replace-all", what->key, what->value}};

	if (set_scope(at, what, &set, err) < 0)
		return -1;
	if (what->value[0] == '-')
		return FAIL(err, ERROR_INVALID, "value: no '-' in front");
	if (strlen(what->value) > GIT_URL_MAX)
		return FAIL(err, ERROR_INVALID, "value: at most %d bytes", GIT_URL_MAX);
	return run_without_output(at, a, &set, err);
}

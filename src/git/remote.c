/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "git/git.h"
#include "git/parse.h"
#include "git/run.h"
#include "provider/compute_run.h"

static bool has_login(const struct git_login *login)
{
	return login->password && login->password[0];
}

/* Credentials are passed in lines and in environment variables. */
static int check_login(const struct git_login *login, struct error *err)
{
	const char *texts[] = {login->username, login->password};

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (texts[i] && (strpbrk(texts[i], "\n\r") || strlen(texts[i]) > GIT_URL_MAX))
			return FAIL(err, ERROR_INVALID,
			            "username, password: at most %d bytes, no line feed",
			            GIT_URL_MAX);
	if (login->username && login->username[0] && !has_login(login))
		return FAIL(err, ERROR_INVALID, "username: it goes with a password");
	return 0;
}

/* Restricts the password to this server, also after a redirect. */
static int set_login(struct arena *a, const struct git_login *login, const char *url,
                     struct git_invocation *run, struct error *err)
{
	if (check_login(login, err) < 0)
		return -1;
	if (!has_login(login))
		return 0;
	run->server = git_server_of(a, url);
	if (!run->server)
		return FAIL(err, ERROR_INVALID, "password: only for addresses by https or http");
	run->login = login;
	return 0;
}

static int checkout_commit(struct git_at *at, struct arena *a, const char *commit,
                           struct error *err)
{
	const struct git_invocation what = {
	        .args = {"checkout", "--quiet", "--detach", commit, "--"}};
	struct compute_result ignored;

	return git_run(at, a, &what, &ignored, err);
}

int git_clone(struct git_at *at, struct arena *a, const struct git_clone *what, struct error *err)
{
	const char *paths[] = {what->url, at->path, NULL};
	struct git_invocation clone = {
	        .args = {"clone", "--quiet"}, .paths = paths, .elsewhere = true};
	struct compute_result ignored;
	size_t count = 2;

	if (git_check_url(what->url, err) < 0 ||
	    set_login(a, &what->login, what->url, &clone, err) < 0)
		return -1;
	if (what->branch && what->branch[0]) {
		if (git_check_name(what->branch, "branch", err) < 0)
			return -1;
		clone.args[count++] = arena_format(a, "--branch=%s", what->branch);
	}
	if (what->commit && what->commit[0] && git_check_name(what->commit, "commit", err) < 0)
		return -1;
	if (what->depth > 0)
		clone.args[count++] = arena_format(a, "--depth=%lld", (long long)what->depth);
	if (what->insecure)
		clone.env[0] = "GIT_SSL_NO_VERIFY=1";
	if (git_run(at, a, &clone, &ignored, err) < 0)
		return -1;
	return what->commit && what->commit[0] ? checkout_commit(at, a, what->commit, err) : 0;
}

static const char *remote_of(const struct git_exchange *what)
{
	return what->remote && what->remote[0] ? what->remote : "origin";
}

/* The URL of the remote, by the repository's configuration. */
static int find_url(struct git_at *at, struct arena *a, const struct git_exchange *what,
                    bool for_push, const char **ret, struct error *err)
{
	const struct git_invocation ask = {
	        .args = {"remote", "get-url", for_push ? "--push" : "--all", remote_of(what)}};
	struct compute_result result;

	if (git_check_name(remote_of(what), "remote", err) < 0 ||
	    (what->branch && what->branch[0] && git_check_name(what->branch, "branch", err) < 0) ||
	    git_run(at, a, &ask, &result, err) < 0)
		return -1;
	*ret = git_first_line(a, &result);
	return 0;
}

int git_push(struct git_at *at, struct arena *a, const struct git_exchange *what, struct error *err)
{
	struct git_invocation push = {.args = {"push", "--quiet"}};
	struct compute_result ignored;
	const char *url;
	size_t count = 2;

	if (find_url(at, a, what, true, &url, err) < 0 ||
	    set_login(a, &what->login, url, &push, err) < 0)
		return -1;
	if (what->set_upstream)
		push.args[count++] = "--set-upstream";
	push.args[count++] = remote_of(what);
	push.args[count] = what->branch && what->branch[0] ? what->branch : "HEAD";
	return git_run(at, a, &push, &ignored, err);
}

int git_pull(struct git_at *at, struct arena *a, const struct git_exchange *what, struct error *err)
{
	struct git_invocation pull = {.args = {"-c", "pull.rebase=false", "pull", "--quiet",
	                                       "--no-edit", "--no-gpg-sign", remote_of(what),
	                                       what->branch}};
	struct compute_result ignored;
	const char *url;

	if (what->branch && !what->branch[0])
		pull.args[7] = NULL;
	if (find_url(at, a, what, false, &url, err) < 0 ||
	    set_login(a, &what->login, url, &pull, err) < 0)
		return -1;
	return git_run(at, a, &pull, &ignored, err);
}

int git_remote_add(struct git_at *at, struct arena *a, const struct git_remote_add *what,
                   struct error *err)
{
	const struct git_invocation add = {.args = {"remote", "add", "--", what->name, what->url}};
	const struct git_invocation set = {
	        .args = {"remote", "set-url", "--", what->name, what->url}};
	const struct git_invocation fetch = {.args = {"fetch", "--quiet", "--", what->name}};
	struct compute_result ignored;

	if (git_check_name(what->name, "name", err) < 0 || git_check_url(what->url, err) < 0)
		return -1;
	if (git_run(at, a, &add, &ignored, err) < 0) {
		if (!what->overwrite || err->code != ERROR_CONFLICT)
			return -1;
		error_clear(err);
		if (git_run(at, a, &set, &ignored, err) < 0)
			return -1;
	}
	return what->fetch ? git_run(at, a, &fetch, &ignored, err) : 0;
}

#define KEPT_S "86400"

static int check_word(const char *text, const char *what, struct error *err)
{
	if (text[0] && strlen(text) <= GIT_NAME_MAX && !strpbrk(text, " \n\r\t/@"))
		return 0;
	return FAIL(err, ERROR_INVALID, "%s: a name, no blanks, '/' or '@'", what);
}

int git_login_store(struct git_at *at, struct arena *a, const struct git_credential *what,
                    struct error *err)
{
	const char *protocol = what->protocol && what->protocol[0] ? what->protocol : "https",
	           *host = what->host && what->host[0] ? what->host : "github.com";
	const struct git_setting helper = {.key = "credential.helper",
	                                   .value = "cache --timeout=" KEPT_S};
	struct git_invocation approve = {.args = {"-c", "credential.helper=", "-c",
	                                          "credential.helper=cache --timeout=" KEPT_S,
	                                          "credential", "approve"},
	                                 .elsewhere = true};
	struct compute_result ignored;

	if (check_login(&what->login, err) < 0 || check_word(protocol, "protocol", err) < 0 ||
	    check_word(host, "host", err) < 0)
		return -1;
	if (!has_login(&what->login))
		return FAIL(err, ERROR_INVALID, "password: required");
	approve.input = span_of(arena_format(
	        a, "protocol=%s\nhost=%s\nusername=%s\npassword=%s\n\n", protocol, host,
	        what->login.username && what->login.username[0] ? what->login.username : "git",
	        what->login.password));
	if (git_config_set(at, a, &helper, err) < 0)
		return -1;
	return git_run(at, a, &approve, &ignored, err);
}

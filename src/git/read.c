/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "git/git.h"
#include "git/parse.h"
#include "git/run.h"
#include "provider/compute_run.h"

static int check_complete(const struct compute_result *result, struct error *err)
{
	if (!result->truncated[0])
		return 0;
	return FAIL(err, ERROR_TOO_LARGE, "git has more than %zu bytes to say", GIT_OUTPUT_MAX);
}

int git_status(struct git_at *at, struct arena *a, struct git_status *ret, struct error *err)
{
	const struct git_invocation what = {.args = {"--no-optional-locks", "status",
	                                             "--porcelain=v2", "-z", "--branch",
	                                             "--untracked-files=all"}};
	struct compute_result result;

	if (git_run(at, a, &what, &result, err) < 0 || check_complete(&result, err) < 0)
		return -1;
	return git_parse_status(a, result.out[0], ret, err);
}

/* Each line is "*name" or " name": a name of a branch has neither blanks nor line feeds. */
int git_branches(struct git_at *at, struct arena *a, struct git_branches *ret, struct error *err)
{
	const struct git_invocation what = {
	        .args = {"for-each-ref", "--format=%(HEAD)%(refname:lstrip=2)", "refs/heads"}};
	struct compute_result result;
	struct span rest, line;
	size_t count = 0;

	if (git_run(at, a, &what, &result, err) < 0 || check_complete(&result, err) < 0)
		return -1;
	rest = result.out[0];
	for (size_t i = 0; i < rest.size; i++)
		count += rest.data[i] == '\n';
	*ret = (struct git_branches){ARENA_ARRAY(a, const char *, count + 1), ""};
	count = 0;
	while (span_split(&rest, '\n', &line)) {
		const char *name;

		if (line.size < 2 || (line.data[0] != '*' && line.data[0] != ' '))
			return FAIL(err, ERROR_SYSTEM, "git's list of branches is malformed");
		name = arena_copy(a, (struct span){line.data + 1, line.size - 1});
		ret->names[count++] = name;
		if (line.data[0] == '*')
			ret->current = name;
	}
	return 0;
}

int git_log(struct git_at *at, struct arena *a, int64_t max, struct git_log *ret, struct error *err)
{
	const struct git_invocation head = {.args = {"rev-parse", "--verify", "--quiet", "HEAD"}};
	const struct git_invocation repository = {.args = {"rev-parse", "--git-dir"}};
	const struct git_invocation what = {.args = {"-c", "log.showSignature=false", "log", "-z",
	                                             "--no-color", "--no-decorate", GIT_LOG_FORM,
	                                             arena_format(a, "--max-count=%d", (int)max),
	                                             "HEAD"}};
	struct compute_result result;

	if (max < 1 || max > GIT_COMMITS_MAX)
		return FAIL(err, ERROR_INVALID, "limit: 1 to %d commits", GIT_COMMITS_MAX);
	*ret = (struct git_log){.count = 0};
	if (git_run_any_exit(at, a, &head, &result, err) < 0)
		return -1;
	if (result.process.exit_code != 0)
		return git_run(at, a, &repository, &result, err);
	if (git_run(at, a, &what, &result, err) < 0 || check_complete(&result, err) < 0)
		return -1;
	return git_parse_log(a, result.out[0], ret, err);
}

int git_diff(struct git_at *at, struct arena *a, const struct git_diff *what, struct span *ret,
             bool *ret_truncated, struct error *err)
{
	static const char *const none[] = {NULL};
	struct git_invocation diff = {
	        .args = {"diff", "--no-color", "--no-ext-diff", "--no-textconv"},
	        .paths = what->paths ? what->paths : none};
	struct compute_result result;
	size_t count = 4;

	if ((what->from && git_check_name(what->from, "from", err) < 0) ||
	    (what->to && git_check_name(what->to, "to", err) < 0) ||
	    (what->paths && git_check_paths(what->paths, err) < 0))
		return -1;
	if (what->to && !what->from)
		return FAIL(err, ERROR_INVALID, "to: it goes with from");
	if (what->staged)
		diff.args[count++] = "--cached";
	if (what->from)
		diff.args[count++] = what->from;
	if (what->to)
		diff.args[count++] = what->to;
	if (git_run(at, a, &diff, &result, err) < 0)
		return -1;
	*ret = result.out[0];
	*ret_truncated = result.truncated[0];
	return 0;
}

/* Records of "remote.NAME.url\nVALUE". */
int git_remotes(struct git_at *at, struct arena *a, struct git_remotes *ret, struct error *err)
{
	static const char before[] = "remote.", behind[] = ".url";
	const struct git_invocation check = {.args = {"rev-parse", "--git-dir"}};
	const struct git_invocation what = {
	        .args = {"config", "--local", "-z", "--get-regexp", "^remote\\..*\\.url$"}};
	struct compute_result result;
	struct span rest, record, key;
	size_t count = 0;

	if (git_run(at, a, &check, &result, err) < 0 ||
	    git_run_any_exit(at, a, &what, &result, err) < 0 || check_complete(&result, err) < 0)
		return -1;
	rest = result.out[0];
	for (size_t i = 0; i < rest.size; i++)
		count += rest.data[i] == '\0';
	*ret = (struct git_remotes){.items = ARENA_ARRAY(a, struct git_remote, count + 1)};
	while (span_split(&rest, '\0', &record)) {
		if (!span_split(&record, '\n', &key) ||
		    key.size < sizeof(before) + sizeof(behind) - 1 ||
		    !span_starts_with(key, before))
			return FAIL(err, ERROR_SYSTEM, "git's list of remotes is malformed");
		key.data += sizeof(before) - 1;
		key.size -= sizeof(before) - 1 + sizeof(behind) - 1;
		ret->items[ret->count++] =
		        (struct git_remote){arena_copy(a, key), arena_copy(a, record)};
	}
	return 0;
}

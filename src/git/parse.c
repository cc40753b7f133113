/* SPDX-License-Identifier: Apache-2.0 */
#include "git/parse.h"

#include <string.h>

#define HASH_MAX 64

static int fail_malformed(const char *what, struct error *err)
{
	return FAIL(err, ERROR_SYSTEM, "git's answer is not as it should be: %s", what);
}

static bool is_hash(struct span text)
{
	if (text.size != 40 && text.size != HASH_MAX)
		return false;
	for (size_t i = 0; i < text.size; i++)
		if (hex_digit_value(text.data[i]) < 0)
			return false;
	return true;
}

static bool cut_prefix(struct span *text, const char *prefix)
{
	size_t size = strlen(prefix);

	if (!span_starts_with(*text, prefix))
		return false;
	span_skip(text, size);
	return true;
}

/* "+2 -1" */
static int parse_ahead(struct span text, struct git_status *ret, struct error *err)
{
	struct span ahead;

	if (!span_split(&text, ' ', &ahead) || !cut_prefix(&ahead, "+") ||
	    !cut_prefix(&text, "-") ||
	    span_parse_whole(ahead, 0, INT32_MAX, &ret->ahead, err) < 0 ||
	    span_parse_whole(text, 0, INT32_MAX, &ret->behind, err) < 0)
		return fail_malformed("branch.ab", err);
	ret->has_upstream = true;
	return 0;
}

/* The text after "# ". Unknown lines are ignored, as git's documentation asks for. */
static int parse_header(struct arena *a, struct span text, struct git_status *ret,
                        struct error *err)
{
	if (cut_prefix(&text, "branch.oid ")) {
		if (!span_equals_text(text, "(initial)") && !is_hash(text))
			return fail_malformed("branch.oid", err);
		ret->commit = is_hash(text) ? arena_copy(a, text) : "";
	} else if (cut_prefix(&text, "branch.head ")) {
		ret->branch = span_equals_text(text, "(detached)") ? "" : arena_copy(a, text);
	} else if (cut_prefix(&text, "branch.upstream ")) {
		ret->upstream = arena_copy(a, text);
	} else if (cut_prefix(&text, "branch.ab ")) {
		return parse_ahead(text, ret, err);
	}
	return 0;
}

static char letter_of(char c)
{
	return (char)(c == '.' ? ' ' : c);
}

static bool is_letter(char c)
{
	return strchr(".MTADRCU", c) != NULL && c != '\0';
}

/* Kinds of entries, and the number of fields before the path. */
static const struct {
	char kind;
	unsigned fields;
	bool has_old_path, is_unmerged;
} kinds[] = {
        {'1', 7, false, false},
        {'2', 8, true, false},
        {'u', 9, false, true},
};

/* The text after the kind: "XY sub … path". The old path is a separate record. */
static int parse_entry(struct arena *a, unsigned kind, struct span text, struct span *rest,
                       struct git_file *ret, struct error *err)
{
	struct span field, old;

	if (text.size < 3 || !is_letter(text.data[0]) || !is_letter(text.data[1]))
		return fail_malformed("an entry's letters", err);
	ret->staged = kinds[kind].is_unmerged ? 'U' : letter_of(text.data[0]);
	ret->worktree = kinds[kind].is_unmerged ? 'U' : letter_of(text.data[1]);
	for (unsigned i = 0; i < kinds[kind].fields; i++)
		if (!span_split(&text, ' ', &field))
			return fail_malformed("an entry's fields", err);
	if (text.size == 0)
		return fail_malformed("an entry's path", err);
	ret->path = arena_copy(a, text);
	ret->old_path = "";
	if (!kinds[kind].has_old_path)
		return 0;
	if (!span_split(rest, '\0', &old) || old.size == 0)
		return fail_malformed("an entry's old path", err);
	ret->old_path = arena_copy(a, old);
	return 0;
}

/* 1 for a file, 0 for another line. */
static int parse_record(struct arena *a, struct span record, struct span *rest,
                        struct git_status *ret, struct error *err)
{
	struct git_file *file = &ret->files[ret->count];

	if (cut_prefix(&record, "# "))
		return parse_header(a, record, ret, err);
	if (cut_prefix(&record, "? ")) {
		*file = (struct git_file){arena_copy(a, record), "", '?', '?'};
		return record.size > 0 ? 1 : fail_malformed("an untracked path", err);
	}
	for (unsigned i = 0; i < COUNT_OF(kinds); i++) {
		if (record.size < 2 || record.data[0] != kinds[i].kind || record.data[1] != ' ')
			continue;
		span_skip(&record, 2);
		return parse_entry(a, i, record, rest, file, err) < 0 ? -1 : 1;
	}
	return fail_malformed("an entry of an unknown kind", err);
}

int git_parse_status(struct arena *a, struct span text, struct git_status *ret, struct error *err)
{
	struct git_status status = {.branch = "", .commit = "", .upstream = ""};
	size_t records = 0;
	struct span record;

	for (size_t i = 0; i < text.size; i++)
		records += text.data[i] == '\0';
	status.files = ARENA_ARRAY(a, struct git_file, records + 1);
	while (text.size > 0) {
		int is_file;

		if (!span_split(&text, '\0', &record))
			return fail_malformed("it ends early", err);
		is_file = parse_record(a, record, &text, &status, err);
		if (is_file < 0)
			return -1;
		status.count += (size_t)is_file;
	}
	*ret = status;
	return 0;
}

enum { LOG_HASH, LOG_AUTHOR, LOG_EMAIL, LOG_TIME, LOG_MESSAGE, LOG_FIELDS };

static int parse_commit(struct arena *a, const struct span fields[LOG_FIELDS],
                        struct git_commit *ret, struct error *err)
{
	struct span message = fields[LOG_MESSAGE];
	int64_t seconds;

	if (!is_hash(fields[LOG_HASH]))
		return fail_malformed("a commit's hash", err);
	if (span_parse_whole(fields[LOG_TIME], 0, INT64_MAX / 1000, &seconds, err) < 0)
		return fail_malformed("a commit's time", err);
	while (message.size > 0 && message.data[message.size - 1] == '\n')
		message.size--;
	*ret = (struct git_commit){
	        .hash = arena_copy(a, fields[LOG_HASH]),
	        .author = arena_copy(a, fields[LOG_AUTHOR]),
	        .email = arena_copy(a, fields[LOG_EMAIL]),
	        .message = arena_copy(a, message),
	        .at = seconds * 1000,
	};
	return 0;
}

int git_parse_log(struct arena *a, struct span text, struct git_log *ret, struct error *err)
{
	struct span fields[LOG_FIELDS];
	size_t ends = 0;

	for (size_t i = 0; i < text.size; i++)
		ends += text.data[i] == '\0';
	if (ends % LOG_FIELDS != 0)
		return fail_malformed("a commit's fields", err);
	*ret = (struct git_log){.items = ARENA_ARRAY(a, struct git_commit, ends / LOG_FIELDS + 1)};
	while (text.size > 0) {
		for (unsigned i = 0; i < LOG_FIELDS; i++)
			if (!span_split(&text, '\0', &fields[i]))
				return fail_malformed("it ends early", err);
		if (parse_commit(a, fields, &ret->items[ret->count], err) < 0)
			return -1;
		ret->count++;
	}
	return 0;
}

static const struct {
	const char *text, *name;
	enum error_code code;
} complaints[] = {
        {"detected dubious ownership", NULL, ERROR_FORBIDDEN},
        {"not a git repository", "GIT_REPO_NOT_FOUND", ERROR_NOT_FOUND},
        {"cannot change to", "GIT_REPO_NOT_FOUND", ERROR_NOT_FOUND},
        {"Authentication failed", "GIT_AUTH_FAILED", ERROR_FORBIDDEN},
        {"could not read Username", "GIT_AUTH_FAILED", ERROR_FORBIDDEN},
        {"could not read Password", "GIT_AUTH_FAILED", ERROR_FORBIDDEN},
        {"error: 403", "GIT_AUTH_FAILED", ERROR_FORBIDDEN},
        {"Permission denied (publickey", "GIT_AUTH_FAILED", ERROR_FORBIDDEN},
        {"[remote rejected]", "GIT_REMOTE_REJECTED", ERROR_CONFLICT},
        {"[rejected]", "GIT_PUSH_REJECTED", ERROR_CONFLICT},
        {"would be overwritten", "GIT_DIRTY_WORKTREE", ERROR_CONFLICT},
        {"CONFLICT (", "GIT_MERGE_CONFLICT", ERROR_CONFLICT},
        {"have diverged", "GIT_MERGE_CONFLICT", ERROR_CONFLICT},
        {"you need to resolve your current index", "GIT_MERGE_CONFLICT", ERROR_CONFLICT},
        {"unmerged files", "GIT_MERGE_CONFLICT", ERROR_CONFLICT},
        {"Remote branch", "GIT_BRANCH_NOT_FOUND", ERROR_NOT_FOUND},
        {"couldn't find remote ref", "GIT_BRANCH_NOT_FOUND", ERROR_NOT_FOUND},
        {"does not match any", "GIT_BRANCH_NOT_FOUND", ERROR_NOT_FOUND},
        {"invalid reference", "GIT_BRANCH_NOT_FOUND", ERROR_NOT_FOUND},
        {"not a valid object name", "GIT_BRANCH_NOT_FOUND", ERROR_NOT_FOUND},
        {"bad revision", "GIT_BRANCH_NOT_FOUND", ERROR_NOT_FOUND},
        {"unknown revision", "GIT_BRANCH_NOT_FOUND", ERROR_NOT_FOUND},
        {"error: branch '", "GIT_BRANCH_NOT_FOUND", ERROR_NOT_FOUND},
        {"a branch named '", "GIT_BRANCH_EXISTS", ERROR_CONFLICT},
        {"already exists", NULL, ERROR_CONFLICT},
        {"pathspec", NULL, ERROR_NOT_FOUND},
        {"No such remote", NULL, ERROR_NOT_FOUND},
        {"nothing to commit", NULL, ERROR_CONFLICT},
        {"nothing added to commit", NULL, ERROR_CONFLICT},
        {"no changes added to commit", NULL, ERROR_CONFLICT},
        {"' not found", "GIT_REPO_NOT_FOUND", ERROR_NOT_FOUND},
        {"does not exist", "GIT_REPO_NOT_FOUND", ERROR_NOT_FOUND},
        {"does not appear to be a git repository", "GIT_REPO_NOT_FOUND", ERROR_NOT_FOUND},
        {"unable to access", "GIT_TRANSPORT_FAILED", ERROR_UNAVAILABLE},
        {"Could not read from remote", "GIT_TRANSPORT_FAILED", ERROR_UNAVAILABLE},
        {"Could not resolve host", "GIT_TRANSPORT_FAILED", ERROR_UNAVAILABLE},
        {"No space left on device", NULL, ERROR_NO_SPACE},
};

struct git_complaint git_parse_complaint(struct span text)
{
	for (size_t i = 0; i < COUNT_OF(complaints) && text.size > 0; i++)
		if (memmem(text.data, text.size, complaints[i].text, strlen(complaints[i].text)))
			return (struct git_complaint){complaints[i].name, complaints[i].code};
	return (struct git_complaint){NULL, ERROR_INVALID};
}

int git_check_name(const char *name, const char *what, struct error *err)
{
	size_t size = strlen(name);

	if (size == 0 || size > GIT_NAME_MAX || name[0] == '-')
		return FAIL(err, ERROR_INVALID, "%s: 1 to %d characters, no '-' in front", what,
		            GIT_NAME_MAX);
	for (const char *c = name; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f)
			return FAIL(err, ERROR_INVALID, "%s: no blanks or control characters",
			            what);
	return 0;
}

static const char *const schemes[] = {"https://", "http://", "ssh://", "git://", "file://"};

/* The text after "SCHEME://"; NULL for an address without a scheme. */
static const char *behind_scheme(const char *url)
{
	for (size_t i = 0; i < COUNT_OF(schemes); i++)
		if (strncmp(url, schemes[i], strlen(schemes[i])) == 0)
			return url + strlen(schemes[i]);
	return NULL;
}

int git_check_url(const char *url, struct error *err)
{
	const char *rest = behind_scheme(url), *at;
	size_t size = strlen(url), authority;

	for (const char *c = url; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f)
			return FAIL(err, ERROR_INVALID, "url: no blanks or control characters");
	if (size == 0 || size > GIT_URL_MAX || url[0] == '-')
		return FAIL(err, ERROR_INVALID, "url: 1 to %d characters, no '-' in front",
		            GIT_URL_MAX);
	/* user@host:path, and paths; "transport::address" would run a program. */
	if (!rest && (strstr(url, "::") || strstr(url, "://")))
		return FAIL(err, ERROR_INVALID,
		            "url: https, http, ssh, git, file, or user@host:path");
	if (!rest)
		return 0;
	authority = strcspn(rest, "/?#");
	at = memrchr(rest, '@', authority);
	if (at && memchr(rest, ':', (size_t)(at - rest))) {
		(void)FAIL(err, ERROR_INVALID, "url: it holds a password, which git would keep");
		return FAIL_HINT(err, "give username and password beside it");
	}
	return 0;
}

const char *git_server_of(struct arena *a, const char *url)
{
	const char *rest = behind_scheme(url), *at;
	size_t authority;

	if (!rest || strncmp(url, "http", 4) != 0)
		return NULL;
	authority = strcspn(rest, "/?#");
	at = memrchr(rest, '@', authority);
	if (at) {
		authority -= (size_t)(at + 1 - rest);
		return arena_format(a, "%s%.*s", url[4] == 's' ? "https://" : "http://",
		                    (int)authority, at + 1);
	}
	return arena_copy(a, (struct span){url, (size_t)(rest - url) + authority});
}

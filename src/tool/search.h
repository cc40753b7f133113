/* SPDX-License-Identifier: Apache-2.0 */
/* tool/search.h — searching the contents of files: rg inside the sandbox where it is, else grep,
 * started with an argument list and never through a shell; where there is neither, the agent
 * searches itself. Two surfaces use it. */
#pragma once

#include "provider/provider.h"

enum search_mode { SEARCH_FILES, SEARCH_CONTENT, SEARCH_COUNT };

struct search_request {
	const char *pattern;
	const char *path; /* by path_check_relative: below the root */
	const char *glob; /* only files of such a name; or NULL */
	const char *type; /* only files of this type of rg's; or NULL */
	enum search_mode mode;
	bool ignore_case, multiline;
	int64_t before, after; /* lines of context */
};
/* Where, and by whom. */
struct search_scope {
	struct provider *provider;
	const char *id, *root, *user;
	const char **env;
	int64_t deadline;
	const struct cancel *cancel; /* or NULL */
};
/* What one file gave, in the order of paths. */
struct search_file {
	struct span path;
	struct span lines; /* SEARCH_CONTENT: for search_line_next */
	int64_t count;     /* SEARCH_COUNT */
};
struct search_found {
	struct search_file *files; /* in the arena */
	size_t count;
	bool truncated; /* not all was looked at, or kept */
};
#define SEARCH_PATTERN_MAX 4096
/* A pattern, type or glob that cannot be is ERROR_INVALID, with what rg says. */
MUST_CHECK int search_run(struct arena *a, const struct search_scope *place,
                          const struct search_request *search, struct search_found *ret,
                          struct error *err);

/* A pattern as rg takes it in the words of POSIX, for those who have no rg: classes such as \d,
 * lazy repeats and groups that are not kept are put otherwise; ERROR_UNSUPPORTED names what cannot
 * be. */
MUST_CHECK int search_pattern_to_posix(struct arena *a, const char *pattern, const char **ret,
                                       struct error *err);

struct search_line {
	int64_t number;   /* 0 = a gap between lines of context */
	struct span text; /* without line feed */
	bool is_context;
};
bool search_line_next(struct span *rest, struct search_line *ret);

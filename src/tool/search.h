/* SPDX-License-Identifier: Apache-2.0 */
/* tool/search.h — searches the contents of files in a sandbox: with rg, else grep, started with an
 * argument list and never through a shell. Without both programs the agent searches. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct cancel;
struct provider;

enum search_mode { SEARCH_FILES, SEARCH_CONTENT, SEARCH_COUNT };

struct search_request {
	const char *pattern;
	const char *path; /* relative to the root, by path_check_relative */
	const char *glob; /* only files whose name matches; or NULL */
	const char *type; /* only files of this type, as rg names types; or NULL */
	enum search_mode mode;
	bool ignore_case, multiline;
	int64_t before, after; /* lines of context */
};
/* The sandbox, the folder and the user of a search. */
struct search_scope {
	struct provider *provider;
	const char *id, *root, *user;
	const char **env;
	int64_t deadline;
	const struct cancel *cancel; /* or NULL */
};
/* The result for one file. */
struct search_file {
	struct span path;
	struct span lines; /* SEARCH_CONTENT: for search_line_next */
	int64_t count;     /* SEARCH_COUNT */
};
struct search_found {
	struct search_file *files; /* sorted by path, in the arena */
	size_t count;
	bool truncated; /* the search ended early, or results were cut */
};
#define SEARCH_PATTERN_MAX 4096
/* ERROR_INVALID, with the program's message, for an invalid pattern, type or glob. */
MUST_CHECK int search_run(struct arena *a, const struct search_scope *place,
                          const struct search_request *search, struct search_found *ret,
                          struct error *err);

/* Translates a pattern of rg to a POSIX extended regular expression, for grep and the agent:
 * classes such as \d, lazy repeats and non-capturing groups. ERROR_UNSUPPORTED names a construct
 * that POSIX does not have. */
MUST_CHECK int search_pattern_to_posix(struct arena *a, const char *pattern, const char **ret,
                                       struct error *err);

struct search_line {
	int64_t number;   /* 0 = a gap between blocks of lines */
	struct span text; /* without line feed */
	bool is_context;
};
bool search_line_next(struct span *rest, struct search_line *ret);

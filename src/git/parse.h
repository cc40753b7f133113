/* SPDX-License-Identifier: Apache-2.0 */
/* git/parse.h — what git prints, taken apart. Part of the folder's contract; pure. Input is
 * untrusted: what is not as git documents it is ERROR_SYSTEM, and never guessed at. */
#pragma once

#include "git/git.h"

/* Of "git status --porcelain=v2 -z --branch". */
MUST_CHECK int git_parse_status(struct arena *a, struct span text, struct git_status *ret,
                                struct error *err);
/* Of "git log -z" in the form GIT_LOG_FORM. */
#define GIT_LOG_FORM "--format=%H%x00%an%x00%ae%x00%at%x00%B"
MUST_CHECK int git_parse_log(struct arena *a, struct span text, struct git_log *ret,
                             struct error *err);
/* What its complaint means: a name that clients know, and a code. */
struct git_complaint {
	const char *name; /* NULL: none of those */
	enum error_code code;
};
struct git_complaint git_parse_complaint(struct span text);

/* A branch, remote or commit: no '-' in front, no blanks or control characters. */
MUST_CHECK int git_check_name(const char *name, const char *what, struct error *err);
/* http, https, ssh, git, file, or what scp understands; no password in it. */
MUST_CHECK int git_check_url(const char *url, struct error *err);
/* "https://host:port" of an address by HTTP; NULL for others. */
const char *git_server_of(struct arena *a, const char *url);

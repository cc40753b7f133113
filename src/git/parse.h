/* SPDX-License-Identifier: Apache-2.0 */
/* git/parse.h — parses the output of git. Pure. Input is untrusted: output that does not have the
 * form that git documents is ERROR_SYSTEM. */
#pragma once

#include "base/error.h"
#include "git/git.h"

/* Of "git status --porcelain=v2 -z --branch". */
MUST_CHECK int git_parse_status(struct arena *a, struct span text, struct git_status *ret,
                                struct error *err);
/* Of "git log -z" in the form GIT_LOG_FORM. */
#define GIT_LOG_FORM "--format=%H%x00%an%x00%ae%x00%at%x00%B"
MUST_CHECK int git_parse_log(struct arena *a, struct span text, struct git_log *ret,
                             struct error *err);
/* The meaning of an error message of git: a name that clients know, and a code. */
struct git_complaint {
	const char *name; /* NULL: clients have no name for it */
	enum error_code code;
};
struct git_complaint git_parse_complaint(struct span text);

/* A branch, remote or commit: no '-' at the start, no blanks or control characters. */
MUST_CHECK int git_check_name(const char *name, const char *what, struct error *err);
/* http, https, ssh, git, file, or the form of scp; without a password. */
MUST_CHECK int git_check_url(const char *url, struct error *err);
/* "https://host:port" of an http or https URL; NULL for others. */
const char *git_server_of(struct arena *a, const char *url);

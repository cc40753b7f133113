/* SPDX-License-Identifier: Apache-2.0 */
/* tool/artifacts.h — stores the files that a command left in a folder of the workspace. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct job_record;
struct json_list;
struct json_shape;
struct tool_call;
struct tool_result;

#define TOOL_ARTIFACTS_ABOUT                                                                       \
	"folder: files made or changed in it are stored, also after the sandbox is deleted, and "  \
	"have links for the user"

struct tool_changed_files {
	const char *folder; /* as the call named it, checked; NULL: no file is stored */
	int64_t since;      /* unix ms: when the command began */
	int64_t process;
};
struct tool_artifact {
	const char *id, *path, *media_type, *url;
	int64_t size;
};
extern const struct json_shape tool_artifact_shape;
MUST_CHECK int tool_check_artifacts(const struct tool_call *call, const char *folder,
                                    struct error *err);
/* Stores the files, and adds a text that lists them to the result. */
void tool_keep_artifacts(const struct tool_call *call, const struct tool_changed_files *left,
                         struct json_list *ret, struct tool_result *result);
/* For a background job, whose files are stored at its end. */
struct job_keep tool_job_keep(const struct tool_call *call, const char *folder);
/* Lists the stored files of a job that has ended. */
MUST_CHECK int tool_add_job_artifacts(const struct tool_call *call, const struct job_record *r,
                                      struct json_list *ret, struct tool_result *result,
                                      struct error *err);

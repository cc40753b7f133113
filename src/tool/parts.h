/* SPDX-License-Identifier: Apache-2.0 */
/* tool/parts.h — what the files of this folder share. Private to it. */
#pragma once

#include "tool/tool.h"

struct agent_file;
struct agent_path;

extern const struct tool bash_tool, read_tool, write_tool, edit_tool, glob_tool, grep_tool,
        list_files_tool, async_status_tool, snapshot_tool, rollback_tool, preview_url_tool;

extern const struct tool load_skill_tool, create_sandbox_tool, list_sandboxes_tool,
        delete_sandbox_tool;
extern const struct tool execute_command_tool, terminal_operator_tool, run_code_tool;

/* A path of the workspace for the agent; NULL is the workspace itself. */
MUST_CHECK int tool_resolve_path(const struct tool_call *call, const char *path,
                                 struct agent_path *ret, struct error *err);

/* How long a call may wait: `asked`, refused when that is longer than any call may take; when none
 * is asked for, `otherwise`, or as long as a call may take. */
MUST_CHECK int tool_wait_ms(const struct tool_call *call, int64_t asked, int64_t otherwise,
                            int64_t *ret, struct error *err);

/* Fine when the call may go on, or ret->pending. */
MUST_CHECK int tool_await_approval(const struct tool *tool, const struct tool_call *call,
                                   struct span input, struct tool_result *ret, struct error *err);

/* ---- exec.c: a command, run to its end ---- */

struct tool_exec {
	const char **const *alternatives; /* arguments: the first whose program is there runs */
	unsigned count;
	const char *label;
	int64_t timeout_ms;
	size_t output_max; /* of each, and of both */
};
struct tool_exec_result {
	struct agent_process process;
	struct span both, out[2]; /* as they came; stdout, stderr */
	uint64_t cut_count;       /* bytes of `both` that are missing */
};
MUST_CHECK int tool_exec(const struct tool_call *call, const struct tool_exec *exec,
                         struct tool_exec_result *ret, struct error *err);

/* ---- artifacts.c: what a command left ---- */

struct tool_changed_files {
	const char *folder; /* as the call named it, checked; NULL = nothing is kept */
	int64_t since;      /* unix ms: when the command began */
	int64_t process;
};
extern const struct json_shape tool_artifact_shape;
MUST_CHECK int tool_check_artifacts(const struct tool_call *call, const char *folder,
                                    struct error *err);
/* Adds a text that tells of them. */
void tool_keep_artifacts(const struct tool_call *call, const struct tool_changed_files *left,
                         struct json_list *ret, struct tool_result *result);
/* Of a command in the background: they are kept at its end, and told of by its status. */
struct job_keep tool_job_keep(const struct tool_call *call, const char *folder);
MUST_CHECK int tool_add_job_artifacts(const struct tool_call *call, const struct job_record *r,
                                      struct json_list *ret, struct tool_result *result,
                                      struct error *err);
#define TOOL_ARTIFACTS_ABOUT                                                                       \
	"folder: its files that are made or changed are kept when the sandbox is gone, and "       \
	"have links for the user"

/* "https://host:port": by which the caller came, else this server's own. */
const char *tool_server_address(const struct tool_call *call);

/* ---- contents.c: a file, as it comes ---- */

struct tool_file_reader {
	/* Returns 1 for enough, -1 for a failure. */
	int (*on_bytes)(void *context, const struct agent_file *file, struct span bytes,
	                struct error *err);
	void *context;
};
MUST_CHECK int tool_read_file(const struct tool_call *call, const char *path,
                              const struct tool_file_reader *reading, struct agent_file *ret,
                              struct error *err);
/* Replaces it at once: whoever reads sees the old content or the new. One that is there keeps its
 * mode and owner; missing folders are made. */
MUST_CHECK int tool_write_file(const struct tool_call *call, const char *path, struct span content,
                               struct agent_file *ret, struct error *err);

/* ---- edit.c ---- */

struct text_edit {
	struct span old_text, new_text;
	bool all;
};
struct text_edit_result {
	int64_t count, line; /* places; the first one's line */
};
/* Appends `content` with the edit done. In a file all of whose lines end in CRLF, so do those of
 * both texts. Refuses a text that is not there, or that is there more than once without `all`. */
MUST_CHECK int edit_apply(struct span content, const struct text_edit *edit, struct buf *out,
                          struct text_edit_result *ret, struct error *err);

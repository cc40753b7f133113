/* SPDX-License-Identifier: Apache-2.0 */
/* tool/builtin.h — the tools of this folder, for the list in tools.c, and what they share: the
 * paths, waits and approvals of a call, and the files of the workspace. */
#pragma once

#include <stdint.h>

#include "base/bytes.h"
#include "json/json.h"

struct agent_file;
struct agent_path;
struct decision_watch;
struct tool;
struct tool_call;
struct tool_result;

/* Commands and code. */
extern const struct tool bash_tool;
extern const struct tool run_code_tool;
extern const struct tool async_status_tool;
extern const struct tool execute_command_tool;
extern const struct tool terminal_operator_tool;

/* Files of the workspace. */
extern const struct tool read_tool;
extern const struct tool write_tool;
extern const struct tool edit_tool;
extern const struct tool glob_tool;
extern const struct tool grep_tool;
extern const struct tool list_files_tool;
extern const struct tool load_skill_tool;

/* Network rules. */
extern const struct tool request_access_tool;

/* Credentials. */
extern const struct tool activate_credential_tool;
extern const struct tool list_credentials_tool;

/* Sandboxes. */
extern const struct tool snapshot_tool;
extern const struct tool rollback_tool;
extern const struct tool preview_url_tool;
extern const struct tool create_sandbox_tool;
extern const struct tool list_sandboxes_tool;
extern const struct tool delete_sandbox_tool;

/* Resolves a path of the workspace for the agent; NULL is the workspace itself. */
MUST_CHECK int tool_resolve_path(const struct tool_call *call, const char *path,
                                 struct agent_path *ret, struct error *err);

/* How long a call waits. `asked` 0: `otherwise`, but at most timeout_max_ms. ERROR_INVALID when
 * `asked` is longer than timeout_max_ms. */
MUST_CHECK int tool_wait_ms(const struct tool_call *call, int64_t asked, int64_t otherwise,
                            int64_t *ret, struct error *err);

/* Waits for the approval of a call. Sets ret->pending when there is no decision in time. */
MUST_CHECK int tool_await_approval(const struct tool *tool, const struct tool_call *call,
                                   struct span input, struct tool_result *ret, struct error *err);

/* Watches what network rules refuse from now on. */
struct decision_watch tool_watch_network(const struct tool_call *call);
/* Adds a line for each refusal to the result, if there is room; the same as a list of
 * network_refusal_shape. */
struct json_list tool_add_refusals(const struct tool_call *call, const struct decision_watch *w,
                                   struct tool_result *ret);

/* "https://host:port": as the caller reaches this server, else this server's own address. */
const char *tool_server_address(const struct tool_call *call);

struct tool_file_reader {
	/* Returns 1 to stop reading, -1 for a failure, else 0. */
	int (*on_bytes)(void *context, const struct agent_file *file, struct span bytes,
	                struct error *err);
	void *context;
};
MUST_CHECK int tool_read_file(const struct tool_call *call, const char *path,
                              const struct tool_file_reader *reading, struct agent_file *ret,
                              struct error *err);
/* Replaces the file atomically. An existing file keeps its mode and owner; missing folders are
 * made. */
MUST_CHECK int tool_write_file(const struct tool_call *call, const char *path, struct span content,
                               struct agent_file *ret, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* tool/builtin.h — the tools of this folder, for the list in tools.c. */
#pragma once

struct tool;

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

/* Sandboxes. */
extern const struct tool snapshot_tool;
extern const struct tool rollback_tool;
extern const struct tool preview_url_tool;
extern const struct tool create_sandbox_tool;
extern const struct tool list_sandboxes_tool;
extern const struct tool delete_sandbox_tool;

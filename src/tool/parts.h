/* SPDX-License-Identifier: Apache-2.0 */
/* tool/parts.h — what the files of this folder share. Private to it. */
#pragma once

#include "tool/tool.h"

extern const struct tool bash_tool, read_tool;

/* A path of the workspace for the agent; NULL is the workspace itself. */
MUST_CHECK int tool_path(const struct tool_call *call, const char *path, struct agent_path *ret,
                         struct error *err);

/* ---- exec.c: a command, run to its end ---- */

struct tool_exec {
	const char **const *alternatives; /* arguments: the first whose program is there runs */
	unsigned count;
	const char *label;
	int64_t timeout_ms;
	size_t output_max; /* of each, and of both */
};
struct tool_ended {
	struct agent_process process;
	struct span both, out[2]; /* as they came; stdout, stderr */
	uint64_t cut_count;       /* bytes of `both` that are missing */
};
MUST_CHECK int tool_exec(const struct tool_call *call, const struct tool_exec *exec,
                         struct tool_ended *ret, struct error *err);

/* ---- contents.c: a file, as it comes ---- */

struct tool_reading {
	/* Returns 1 for enough, -1 for a failure. */
	int (*on_bytes)(void *context, const struct agent_file *file, struct span bytes,
	                struct error *err);
	void *context;
};
MUST_CHECK int tool_read_file(const struct tool_call *call, const char *path,
                              const struct tool_reading *reading, struct agent_file *ret,
                              struct error *err);

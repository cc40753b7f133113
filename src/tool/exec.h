/* SPDX-License-Identifier: Apache-2.0 */
/* tool/exec.h — runs a command to its end. */
#pragma once

#include "base/span.h"
#include "wire/agent.h"

struct tool_call;

struct tool_exec {
	const char **const *alternatives; /* argument lists; the first existing program runs */
	unsigned count;
	const char *label;
	int64_t timeout_ms;
	size_t output_max; /* bytes of each stream, and of both together */
};
struct tool_exec_result {
	struct agent_process process;
	struct span both, out[2]; /* both streams in order; stdout, stderr */
	uint64_t cut_count;       /* bytes that were cut from `both` */
};
MUST_CHECK int tool_exec(const struct tool_call *call, const struct tool_exec *exec,
                         struct tool_exec_result *ret, struct error *err);

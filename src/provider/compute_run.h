/* SPDX-License-Identifier: Apache-2.0 */
/* provider/compute_run.h — runs a command to its end and collects its output, for the server's own
 * commands (grep, tool calls). Part of the contract of provider.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "wire/agent.h"

struct cancel;
struct provider;

struct compute_result {
	struct agent_process process;
	struct span out[2]; /* stdout and stderr, in the arena, at most out_max bytes each */
	bool truncated[2];
};
struct compute_run {
	const struct agent_exec *exec;
	size_t out_max;
	int64_t deadline;            /* the command is killed then */
	const struct cancel *cancel; /* kills the command, too; or NULL */
	/* Gets each piece of output in place of compute_result.out; or NULL. */
	int (*on_output)(void *context, const struct agent_output *o, struct error *err);
	void *context;
};
MUST_CHECK int compute_run(struct provider *p, const char *id, struct arena *a,
                           const struct compute_run *run, struct compute_result *ret,
                           struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/exec.h"

#include <string.h>

#include "base/head_tail.h"
#include "provider/compute_run.h"
#include "provider/provider.h"
#include "tool/tool.h"
#include "fleet/core/fleet_hold.h"

/* The output of both streams in order, and of each stream. */
struct exec_output {
	const struct tool_call *call;
	struct head_tail both, out[2];
};

static void exec_output_done(struct exec_output *g)
{
	head_tail_done(&g->both);
	head_tail_done(&g->out[0]);
	head_tail_done(&g->out[1]);
}

static int on_output(void *context, const struct agent_output *o, UNUSED struct error *err)
{
	struct exec_output *g = context;

	if (g->call->on_progress)
		g->call->on_progress(g->call->progress_context, o->bytes);
	head_tail_add(&g->both, g->both.total, o->bytes);
	head_tail_add(&g->out[o->stream == AGENT_STDERR], o->offset, o->bytes);
	return 0;
}

static struct span join_output(struct arena *a, const struct head_tail *k)
{
	AUTO(buf_done) struct buf text = BUF(2 * k->half + 256);

	head_tail_join(k, &text);
	return (struct span){arena_copy(a, buf_span(&text)), text.size};
}

/* The agent answers NOT_FOUND for users and folders too. */
static bool is_missing_program(const struct error *err)
{
	return err->code == ERROR_NOT_FOUND && strncmp(err->text, "command not found", 17) == 0;
}

static int run_alternatives(const struct tool_call *call, const struct tool_exec *exec,
                            struct exec_output *g, struct agent_process *ret, struct error *err)
{
	struct agent_exec message = {
	        .env = call->env,
	        .user = call->user,
	        .cwd = call->root,
	        .label = exec->label,
	        .timeout_ms = (uint64_t)exec->timeout_ms,
	};
	const struct compute_run options = {
	        .exec = &message,
	        .deadline = call->deadline,
	        .cancel = call->cancel,
	        .on_output = on_output,
	        .context = g,
	};
	struct compute_result result;

	for (unsigned i = 0; i < exec->count; i++) {
		error_clear(err);
		message.args = exec->alternatives[i];
		if (compute_run(call->hold->provider, call->hold->id, call->arena, &options,
		                &result, err) == 0) {
			*ret = result.process;
			return 0;
		}
		if (!is_missing_program(err))
			return -1;
	}
	return -1;
}

int tool_exec(const struct tool_call *call, const struct tool_exec *exec,
              struct tool_exec_result *ret, struct error *err)
{
	AUTO(exec_output_done) struct exec_output g = {.call = call};

	head_tail_init(&g.both, exec->output_max);
	head_tail_init(&g.out[0], exec->output_max);
	head_tail_init(&g.out[1], exec->output_max);
	if (provider_require(call->hold->provider, PROVIDER_CAN_EXEC, err) < 0 ||
	    run_alternatives(call, exec, &g, &ret->process, err) < 0)
		return -1;
	ret->both = join_output(call->arena, &g.both);
	ret->out[0] = join_output(call->arena, &g.out[0]);
	ret->out[1] = join_output(call->arena, &g.out[1]);
	ret->cut_count = head_tail_cut_count(&g.both);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/snapshot/flatten.h"

#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "broker/host/host.h"
#include "broker/layers/stacks.h"
#include "broker/sandbox/sandbox.h"
#include "broker/sandbox/sandboxes.h"
#include "broker/snapshot/snapshot.h"

/* Whether the stack may be replaced now. A sandbox that keeps replaced layers mounted keeps its
 * stack until it has another root, because the link has room for one stack. */
static bool may_replace(const struct flattening *f, const char *sandbox_id)
{
	const struct sandbox *sandbox = sandboxes_find(f->sandboxes, sandbox_id);

	if (snapshots_is_busy(f->snapshots, sandbox_id))
		return false;
	return !sandbox || (sandbox->phase == SANDBOX_RUNNING &&
	                    !layer_stacks_is_pinned(f->sandboxes->stacks, sandbox_id));
}

static bool on_replace(void *context, const char *sandbox_id, const struct layer_stack *old)
{
	struct flattening *f = context;
	struct error err = {0};

	if (!may_replace(f, sandbox_id)) {
		if (!layer_stacks_is_pinned(f->sandboxes->stacks, sandbox_id))
			memcpy(f->postponed, sandbox_id, sizeof(f->postponed));
		return false;
	}
	if (!sandboxes_find(f->sandboxes, sandbox_id))
		return true;
	if (layer_stacks_pin(f->sandboxes->stacks, sandbox_id, old, &err) < 0) {
		log_warning("a layer stack stays long", TEXT("sandbox", sandbox_id), FAILURE(&err));
		return false;
	}
	return true;
}

static void end_merge(struct flattening *f)
{
	f->is_running = false;
	layer_stacks_set_role(f->sandboxes->stacks, f->merged, LAYER_STACK_MERGED, NULL);
}

static void on_merge_end(struct broker_child *child, UNUSED int status)
{
	struct flattening *f = CONTAINER_OF(child, struct flattening, task.child);
	struct error problem = {0}, err = {0};
	bool is_merged = task_take_report(&f->task, NULL, &problem) == 0;

	if (!is_merged)
		log_warning("layers are not merged", TEXT("layer", f->stack.ids[0]),
		            FAILURE(&problem));
	f->postponed[0] = '\0';
	if (is_merged)
		layer_stacks_replace(f->sandboxes->stacks, f->stack.ids[0], f->merged, on_replace,
		                     f);
	else if (host_trash(f->sandboxes->host, FOLDER_SNAPSHOTS, f->merged, &err) < 0)
		log_warning("half a layer is left until the next start", FAILURE(&err));
	fault_point("broker", "flatten-replaced");
	if (*f->postponed)
		(void)map_remove(&f->tried, f->stack.ids[0]);
	end_merge(f);
	flattening_check(f);
}

/* Called with each stack. The lower layers are those that it shares with others; the top one is the
 * newest. */
static bool is_wanted(void *context, const char *sandbox_id, const struct layer_stack *stack)
{
	const struct flattening *f = context;

	return stack->count > FLATTEN_LONG && !map_find(&f->tried, stack->ids[1]) &&
	       (!sandbox_id || may_replace(f, sandbox_id));
}

/* The sandbox may be gone by now, or may have mounted layers that keep it from another stack. */
static bool is_postponed(const struct flattening *f)
{
	const struct layer_stack *stack = layer_stacks_of(f->sandboxes->stacks, f->postponed);

	return stack && stack->count > FLATTEN_LONG &&
	       !layer_stacks_is_pinned(f->sandboxes->stacks, f->postponed);
}

static int start_merge(struct flattening *f, struct error *err)
{
	struct task_command command = {.kind = TASK_MERGE, .is_idle = true, .words = {f->merged}};

	for (command.count = 1; command.count <= f->stack.count; command.count++)
		command.words[command.count] = f->stack.ids[command.count - 1];
	f->task.child.on_end = on_merge_end;
	return task_start(f->sandboxes->host, f->sandboxes->events, &f->task, &command, err);
}

void flattening_check(struct flattening *f)
{
	struct id id = id_new();
	struct error err = {0};
	struct layer_stack stack;

	f->is_due = false;
	if (*f->postponed && !is_postponed(f))
		f->postponed[0] = '\0';
	if (f->is_running || !layer_stacks_search(f->sandboxes->stacks, is_wanted, f, &stack))
		return;
	f->stack.count = stack.count - 1;
	memcpy(f->stack.ids, stack.ids[1], f->stack.count * sizeof(stack.ids[0]));
	memcpy(f->merged, id.text, sizeof(f->merged));
	(void)map_put(&f->tried, f->stack.ids[0], f);
	layer_stacks_set_role(f->sandboxes->stacks, f->merged, LAYER_STACK_MERGED, &f->stack);
	f->is_running = true;
	if (start_merge(f, &err) == 0)
		return;
	log_warning("layers are not merged", FAILURE(&err));
	end_merge(f);
}

void flattening_on_change(struct flattening *f)
{
	f->is_due = *f->postponed;
}

void flattening_init(struct flattening *f, struct sandboxes *sandboxes, struct snapshots *snapshots)
{
	*f = (struct flattening){.sandboxes = sandboxes, .snapshots = snapshots};
}

void flattening_close(struct flattening *f)
{
	struct error ignored = {0};

	if (f->is_running) {
		task_cancel(&f->task);
		(void)!host_trash(f->sandboxes->host, FOLDER_SNAPSHOTS, f->merged, &ignored);
		end_merge(f);
	}
	map_done(&f->tried);
}

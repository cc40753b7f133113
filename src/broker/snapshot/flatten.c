/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/snapshot/flatten.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/log.h"
#include "broker/layers/folder.h"
#include "broker/layers/merge.h"
#include "broker/sandbox/sandboxes.h"

#define ENTRIES_MAX 2000000
#define DEPTH_MAX 500
#define SECONDS_MAX 600 /* of processor time, then the child ends */

/* ---- layers that are mounted ---- */

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

/* ---- the child ---- */

static int open_layer(const struct host *host, const char *id, int *ret_fd, struct error *err)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/upper", id);
	*ret_fd = openat(host->folders[FOLDER_SNAPSHOTS], path,
	                 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open layer '%s'", id) : 0;
}

/* The child exits soon, which closes the descriptors. */
static int merge_stack(const struct flattening *f, struct error *err)
{
	static const struct merge_limits limits = {ENTRIES_MAX, DEPTH_MAX};
	static const struct layer_stack none = {.count = 0};
	const struct host *host = f->sandboxes->host;
	int layers[LAYER_STACK_MAX], to;

	for (unsigned i = 0; i < f->stack.count; i++)
		if (open_layer(host, f->stack.ids[i], &layers[i], err) < 0)
			return -1;
	if (layer_folder_make(
	            host, FOLDER_SNAPSHOTS, f->merged,
	            &(struct layer_folder){.stack = &none, .like = layers[0], .is_linked = true},
	            err) < 0 ||
	    open_layer(host, f->merged, &to, err) < 0)
		return -1;
	fault_point("broker", "flatten-folder");
	if (merge_layers(layers, f->stack.count, to, &limits, err) < 0)
		return -1;
	fault_point("broker", "flatten-merged");
	return syncfs(to) < 0 ? FAIL_ERRNO(err, "bring a layer to the disk") : 0;
}

static int run_merge(void *context)
{
	const struct flattening *f = context;
	const struct rlimit limit = {SECONDS_MAX, SECONDS_MAX};
	struct error err = {0};

	(void)umask(0);
	child_give_way();
	(void)setrlimit(RLIMIT_CPU, &limit);
	if (merge_stack(f, &err) == 0)
		return 0;
	log_warning("layers are not merged", TEXT("layer", f->stack.ids[0]), FAILURE(&err));
	return 1;
}

/* ---- one after the other ---- */

static void end_merge(struct flattening *f)
{
	f->is_running = false;
	layer_stacks_set_role(f->sandboxes->stacks, f->merged, LAYER_STACK_MERGED, NULL);
}

static void on_merge_end(struct broker_child *child, int status)
{
	struct flattening *f = CONTAINER_OF(child, struct flattening, child);
	struct error err = {0};

	f->postponed[0] = '\0';
	if (status == 0)
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
	f->child.on_end = on_merge_end;
	if (child_start(f->sandboxes->events, &f->child, run_merge, f, &err) == 0)
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
		child_cancel(&f->child);
		(void)!host_trash(f->sandboxes->host, FOLDER_SNAPSHOTS, f->merged, &ignored);
		end_merge(f);
	}
	map_done(&f->tried);
}

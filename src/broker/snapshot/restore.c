/* SPDX-License-Identifier: Apache-2.0 */
/* BROKER_RESTORE. */
#include <sys/stat.h>

#include "base/fault.h"
#include "broker/layers/folder.h"
#include "broker/layers/stack.h"
#include "broker/layers/stacks.h"
#include "broker/sandbox/sandboxes.h"
#include "broker/snapshot/snapshot.h"
#include "wire/broker_snapshot.h"

static int check_restorable(struct snapshots *s, const struct broker_snapshot *request,
                            struct error *err)
{
	if (sandboxes_find(s->sandboxes, request->sandbox))
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' is not stopped", request->sandbox);
	if (snapshots_is_busy(s, request->sandbox))
		return FAIL(err, ERROR_CONFLICT, "a snapshot of '%s' is being taken",
		            request->sandbox);
	return layer_folder_check(s->host, request->sandbox, err);
}

int snapshots_can_restore(struct snapshots *s, const struct broker_snapshot *request,
                          struct error *err)
{
	AUTO_CLOSE int upper = -1;
	struct layer_stack stack;

	if (layer_folder_check(s->host, request->sandbox, err) < 0 ||
	    layer_stacks_find_origin(s->stacks, request->sandbox, request->snapshot, &stack, err) <
	            0)
		return -1;
	return stack.count > 0 ? layer_folder_open_upper(s->host, FOLDER_SNAPSHOTS, stack.ids[0],
	                                                 &upper, err)
	                       : 0;
}

/* Only few files are made, so the broker does it itself. The folder lies among the prewarmed ones
 * until the swap, where the next start sweeps it. */
int snapshots_restore(struct snapshots *s, const struct broker_snapshot *request, struct error *err)
{
	struct host *host = s->host;
	struct id name = id_new();
	struct error ignored = {0};
	AUTO_CLOSE int upper = -1;
	const struct layer_stack *own = layer_stacks_of(s->stacks, request->sandbox);
	struct layer_stack stack, none = {.count = 0};
	char origin[LAYER_STACK_TEXT_SIZE];
	mode_t mask;
	int status;

	if (check_restorable(s, request, err) < 0 ||
	    layer_stacks_find_origin(s->stacks, request->sandbox, request->snapshot, &stack, err) <
	            0 ||
	    (stack.count > 0 &&
	     layer_folder_open_upper(host, FOLDER_SNAPSHOTS, stack.ids[0], &upper, err) < 0) ||
	    layer_stack_origin(host->folders[FOLDER_SANDBOXES], request->sandbox, own ? own : &none,
	                       origin, err) < 0)
		return -1;
	mask = umask(0);
	status = layer_folder_make(host, FOLDER_PREWARMS, name.text,
	                           &(struct layer_folder){&stack, upper, origin}, err);
	(void)umask(mask);
	fault_point("broker", "restore-folder");
	if (status == 0)
		status = layer_folder_swap(host, request->sandbox, FOLDER_PREWARMS, name.text, err);
	if (status == 0)
		layer_stacks_reread(s->stacks, request->sandbox);
	fault_point("broker", "restore-swapped");
	(void)!host_trash(host, FOLDER_PREWARMS, name.text, &ignored);
	return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The final names of a sandbox: files, run folder and state. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/fault.h"
#include "broker/host/host.h"
#include "broker/layers/stack.h"
#include "broker/sandbox/run_state.h"
#include "broker/sandbox/sandbox.h"
#include "broker/sandbox/sandboxes.h"
#include "broker/sandbox/setup.h"

/* Writes the layer stack; a sandbox without layers has none. */
static int write_stack(const struct sandbox *sandbox, const char *prewarm, struct error *err)
{
	const struct layer_stack *stack = sandbox_stack_of(sandbox);
	char path[64];

	if (!stack)
		return 0;
	(void)snprintf(path, sizeof(path), "%s/" LAYER_STACK_LINK, prewarm);
	return layer_stack_write(sandbox->sandboxes->host->folders[FOLDER_PREWARMS], path, stack,
	                         err);
}

int sandbox_write_notes(struct sandbox *sandbox, struct error *err)
{
	AUTO_CLOSE int folder = -1;
	char name[GROUP_NAME_SIZE];

	host_group_name(sandbox->slot, name);
	folder = openat(sandbox->sandboxes->host->folders[FOLDER_RUN_PREWARMS], name,
	                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return FAIL_ERRNO(err, "open the run folder of '%s'", sandbox->id);
	if (run_state_write(sandbox, folder, err) < 0)
		return -1;
	fault_point("broker", "state");
	return sandbox->restart ? 0 : write_stack(sandbox, name, err);
}

/* The files get their name first. If the broker dies in between, they are those of a stopped
 * sandbox, and the next start sweeps the processes as a prewarmed sandbox. */
int sandbox_publish(struct sandbox *sandbox, struct error *err)
{
	const struct host *host = sandbox->sandboxes->host;
	char name[GROUP_NAME_SIZE];

	if (sandbox->claiming ? run_state_update(sandbox, err) < 0
	                      : sandbox_write_notes(sandbox, err) < 0)
		return -1;
	host_group_name(sandbox->slot, name);
	if (!sandbox->restart && renameat(host->folders[FOLDER_PREWARMS], name,
	                                  host->folders[FOLDER_SANDBOXES], sandbox->id) < 0)
		return FAIL_ERRNO(err, "name the files of '%s'", sandbox->id);
	fault_point("broker", "files");
	if (renameat(host->folders[FOLDER_RUN_PREWARMS], name, host->folders[FOLDER_RUN_SANDBOXES],
	             sandbox->id) < 0)
		return FAIL_ERRNO(err, "name the run folder of '%s'", sandbox->id);
	fault_point("broker", "run-folder");
	return 0;
}

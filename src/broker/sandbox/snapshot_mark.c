/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/sandbox/snapshot_mark.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "broker/host/host.h"
#include "broker/sandbox/sandbox.h"
#include "broker/sandbox/sandboxes.h"

bool sandbox_release_snapshot(struct sandbox *sandbox, int run_folder)
{
	struct cgroup_host *cgroups = sandbox->sandboxes->host->cgroups;
	char mark[16] = "", group[GROUP_NAME_SIZE];
	struct error err = {0};
	bool lives;

	if (readlinkat(run_folder, SNAPSHOT_MARK, mark, sizeof(mark) - 1) < 0)
		return true;
	lives = strcmp(mark, SNAPSHOT_SWITCHING) != 0;
	log_warning("a snapshot was cut short", TEXT("sandbox", sandbox->id), TEXT("while", mark));
	if (!lives && pidfd_signal(sandbox->pidfd, SIGKILL, &err) < 0)
		log_error("cannot end a sandbox", TEXT("sandbox", sandbox->id), FAILURE(&err));
	host_group_name(sandbox->slot, group);
	if (strcmp(mark, SNAPSHOT_PAUSED) != 0 &&
	    cgroups->ops->freeze(cgroups, group, false, &err) < 0)
		log_error("cannot let a sandbox go on", TEXT("sandbox", sandbox->id),
		          FAILURE(&err));
	(void)unlinkat(run_folder, SNAPSHOT_MARK, 0);
	return lives;
}

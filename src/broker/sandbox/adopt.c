/* SPDX-License-Identifier: Apache-2.0 */
/* Adopts the sandboxes of an earlier broker. */
#include <fcntl.h>

#include "base/fd.h"
#include "base/log.h"
#include "broker/host/host.h"
#include "broker/host/slots.h"
#include "broker/layers/stacks.h"
#include "broker/network/egress.h"
#include "broker/sandbox/pause.h"
#include "broker/sandbox/probe.h"
#include "broker/sandbox/run_state.h"
#include "broker/sandbox/sandbox.h"
#include "broker/sandbox/sandboxes.h"
#include "broker/sandbox/snapshot_mark.h"
#include "wire/broker_kind.h"

static int release_snapshot(struct sandbox *sandbox, int folder, struct error *err)
{
	if (sandbox_release_snapshot(sandbox, folder))
		return 0;
	return FAIL(err, ERROR_UNAVAILABLE, "it was between two roots when the broker ended");
}

/* A sandbox without burst works, but less evenly. */
static void allow_burst(const struct sandbox *sandbox)
{
	struct cgroup_host *cgroups = sandbox->sandboxes->host->cgroups;
	char group[GROUP_NAME_SIZE];
	struct error err = {0};

	host_group_name(sandbox->slot, group);
	if (cgroups->ops->allow_burst(cgroups, group, &err) < 0)
		log_warning("cannot let a sandbox save processor time",
		            TEXT("sandbox", sandbox->id), FAILURE(&err));
}

static int adopt_sandbox(struct sandboxes *b, const char *id, struct error *err)
{
	AUTO_CLOSE int folder = openat(b->host->folders[FOLDER_RUN_SANDBOXES], id,
	                               O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct sandbox *sandbox;

	if (folder < 0)
		return FAIL_ERRNO(err, "open the run folder");
	sandbox = sandbox_new(b, id);
	if (run_state_read(sandbox, folder, err) < 0 ||
	    release_snapshot(sandbox, folder, err) < 0 ||
	    slots_adopt(b->slots, sandbox->slot, err) < 0 ||
	    watch_start(b->events, &sandbox->process, sandbox->pidfd, err) < 0) {
		sandbox_free(sandbox);
		return -1;
	}
	sandbox->phase = SANDBOX_RUNNING;
	/* The earlier broker may have ended before it had ended these connections. */
	if (sandbox->has_left_by_source)
		sandbox->left_by = NETWORK_LEFT_BY_ANY;
	sandbox_find_paused(sandbox);
	sandbox_note_oom_kills(sandbox);
	if (broker_kind_is_isolated(sandbox->kind))
		allow_burst(sandbox);
	(void)map_put(&b->by_id, sandbox->id, sandbox);
	if (probe_is_id(sandbox->id)) {
		sandbox->remove_files = true;
		sandbox_kill(sandbox);
	}
	return 0;
}

int sandboxes_adopt(struct sandboxes *b, struct error *err)
{
	AUTO(folder_list_done) DIR *folder = folder_list(b->host->folders[FOLDER_RUN_SANDBOXES]);
	struct dirent *entry;

	if (!folder)
		return FAIL_ERRNO(err, "list the running sandboxes");
	while ((entry = readdir(folder))) {
		struct error lost = {0};

		if (entry->d_name[0] == '.')
			continue;
		if (id_is_valid(entry->d_name) && adopt_sandbox(b, entry->d_name, &lost) == 0)
			continue;
		log_info("sandbox is gone", TEXT("sandbox", entry->d_name), FAILURE(&lost));
		layer_stacks_unpin(b->stacks, entry->d_name);
		(void)!host_trash(b->host, FOLDER_RUN_SANDBOXES, entry->d_name, &lost);
	}
	probes_sweep(b);
	return 0;
}

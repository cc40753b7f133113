/* SPDX-License-Identifier: Apache-2.0 */
/* The sandboxes of a broker before this one. */
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "broker/box.h"
#include "broker/flatten.h"
#include "broker/probe.h"
#include "broker/snapshot.h"

static int adopt_released(struct box *box, int folder, struct error *err)
{
	if (snapshot_release(box, folder))
		return 0;
	return FAIL(err, ERROR_UNAVAILABLE, "it was between two roots when the broker ended");
}

/* A sandbox without burst works, only less evenly. */
static void allow_burst(const struct box *box)
{
	struct cgroup_host *cgroups = &box->boxes->host->cgroups;
	char group[GROUP_NAME_SIZE];
	struct error err = {0};

	host_group_name(box->slot, group);
	if (cgroups->ops->allow_burst(cgroups, group, &err) < 0)
		log_warning("cannot let a sandbox save processor time", TEXT("sandbox", box->id),
		            FAILURE(&err));
}

static int adopt_one(struct boxes *b, const char *id, struct error *err)
{
	AUTO_CLOSE int folder = openat(b->host->folders[FOLDER_RUN_SANDBOXES], id,
	                               O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct box *box;

	if (folder < 0)
		return FAIL_ERRNO(err, "open the run folder");
	box = box_new(b, id);
	if (box_state_read(box, folder, err) < 0 || adopt_released(box, folder, err) < 0 ||
	    slots_adopt(b->slots, box->slot, err) < 0 ||
	    watch_start(b->events, &box->process, box->pidfd, err) < 0) {
		box_free(box);
		return -1;
	}
	box->state = BOX_RUNNING;
	box_find_paused(box);
	box_note_oom_kills(box);
	if (box->kind == BROKER_NATIVE)
		allow_burst(box);
	(void)map_put(&b->by_id, box->id, box);
	if (probe_is_id(box->id)) {
		box->remove_files = true;
		box_kill(box);
	}
	return 0;
}

int boxes_adopt(struct boxes *b, struct error *err)
{
	int fd = openat(b->host->folders[FOLDER_RUN_SANDBOXES], ".",
	                O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!folder) {
		fd_forget(&fd);
		return FAIL_ERRNO(err, "list the running sandboxes");
	}
	while ((entry = readdir(folder))) {
		struct error lost = {0};

		if (entry->d_name[0] == '.')
			continue;
		if (id_is_valid(entry->d_name) && adopt_one(b, entry->d_name, &lost) == 0)
			continue;
		log_info("sandbox is gone", TEXT("sandbox", entry->d_name), FAILURE(&lost));
		flattening_unpin(b->chains, entry->d_name);
		(void)!host_trash(b->host, FOLDER_RUN_SANDBOXES, entry->d_name, &lost);
	}
	(void)closedir(folder);
	probes_sweep(b);
	return 0;
}

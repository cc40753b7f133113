/* SPDX-License-Identifier: Apache-2.0 */
/* broker/host/host.h — what the broker holds of this host for all sandboxes: options, folders,
 * cgroups, network, and the mounts that sandboxes share.
 *
 *   DATA/cells/sSLOT/{upper,work}      a prewarmed sandbox's; one rename makes it a sandbox's when
 *   DATA/sandboxes/ID/{upper,work}     it is complete: a folder with this name is always complete
 *   DATA/run/cells/sSLOT/agent.sock    the same for what lives only as long as the processes do
 *   DATA/run/sandboxes/ID/{state,agent.sock}
 *   DATA/run/names/ADDRESS             egress rules with host names; see network/names.h
 *   DATA/host-files/ID                 a sandbox's without isolation; atolld's user owns them
 *   DATA/snapshots/ID/…                layers; see layers/stacks.h
 *   DATA/volumes/ID                    a volume; made as new.ID, so ID is always complete
 *   DATA/trash/…                       deleted as soon as there is time
 *   DATA/trash/kept/…                  can be brought back for a while; see layers/trash.h */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct broker_options;
struct cgroup_host;
struct host_network;

enum host_folder {
	FOLDER_DATA,
	FOLDER_TEMPLATES,
	FOLDER_PREWARMS,
	FOLDER_SANDBOXES,
	FOLDER_HOST_FILES,
	FOLDER_VOLUMES,
	FOLDER_TRASH,
	FOLDER_KEPT,
	FOLDER_RUN,
	FOLDER_RUN_PREWARMS,
	FOLDER_RUN_SANDBOXES,
	FOLDER_RUN_NAMES,
	FOLDER_LAYERS,
	FOLDER_SNAPSHOTS,
	FOLDER_COUNT,
};

struct host {
	const struct broker_options *options;
	char data_path[4096]; /* resolved */
	int folders[FOLDER_COUNT];
	uint32_t layers;          /* bits of enum launch_layer: shared mounts that are kept */
	const char *sudo_lib_dir; /* of LAYER_SUDO_LIB */
	int agent_fd;             /* program, as it was at the start */
	int launcher_fd;          /* channel to atoll-launch (host/launcher.h) */
	int lock_fd;              /* one broker for each data folder */
	char boot_id[64];
	bool can_limit_disk;    /* by images; see volume/image.h */
	bool has_project_quota; /* see host/disk_folder.h */
	struct cgroup_host *cgroups;
	struct host_network *network;
};

/* The folder's path below the data folder. */
const char *host_folder_path(enum host_folder folder);
/* Part of host_open: fills host->network. */
MUST_CHECK int host_network_open(struct host *host, struct error *err);
/* Opens everything but the shared mounts, and fills `network`; both structs stay the caller's. The
 * error says what this host lacks. */
MUST_CHECK int host_open(struct host *host, const struct broker_options *options,
                         struct host_network *network, struct error *err);
void host_close(struct host *host);
/* One more than the highest descriptor in `host`; higher ones belong to sandboxes or requests. */
int host_fd_end(const struct host *host);

#define HOST_SPACE_MIN_BYTES (UINT64_C(256) << 20)
#define HOST_FILES_MIN 10000
/* Fails when the data folder's filesystem is nearly full. */
MUST_CHECK int host_check_space(const struct host *host, struct error *err);
/* For a new sandbox: fails when descriptors are scarce, and with new files as host_check_space. */
MUST_CHECK int host_check_room(const struct host *host, bool with_files, struct error *err);

/* delete.c: a folder moves to DATA/trash by one rename; the cleaner deletes it later */

/* Moves the folder to the trash. Does nothing when it is missing. */
MUST_CHECK int host_trash(const struct host *host, enum host_folder folder, const char *name,
                          struct error *err);
/* Moves all files that a sandbox wrote to the trash. */
MUST_CHECK int host_trash_files(const struct host *host, const char *id, struct error *err);
/* Deletes what is in the trash, but for entries that can be brought back, which are measured.
 * Waits: call it in a child. */
void host_empty_trash(const struct host *host);

#define GROUP_NAME_SIZE 16
/* "sSLOT": the name of the slot's cgroup, and of its folders until the sandbox has an id. */
void host_group_name(uint32_t slot, char out[GROUP_NAME_SIZE]);
/* "kSLOT": the name of the slot's last cgroup while it waits to be reused. */
void host_kept_name(uint32_t slot, char out[GROUP_NAME_SIZE]);

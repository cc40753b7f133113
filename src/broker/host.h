/* SPDX-License-Identifier: Apache-2.0 */
/* broker/host.h — what the broker holds of this host for all sandboxes: options, folders, cgroups,
 * and the mounts that sandboxes share. Private to this folder.
 *
 *   DATA/cells/sSLOT/{upper,work}      of a half-made sandbox; becomes, by one rename when all is
 *   DATA/sandboxes/ID/{upper,work}     well, a sandbox's: what has this name is whole
 *   DATA/run/cells/sSLOT/agent.sock    the same for what lives only as long as the processes do
 *   DATA/run/sandboxes/ID/{state,agent.sock}
 *   DATA/run/names/ADDRESS             its rules, if hosts' names are in them: see egress_names.c
 *   DATA/host-files/ID                 files of a sandbox without isolation, atolld's user's
 *   DATA/snapshots/ID/…                see layer_stacks.h
 *   DATA/volumes/ID                    what outlives sandboxes; made as new.ID, so whole as well
 *   DATA/trash/…                       whatever is to be deleted, whenever there is time
 *   DATA/trash/kept/…                  what can be brought back for a while, see trash.h */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "broker/network.h"
#include "isolation/isolation.h"

enum disk_quota {
	DISK_QUOTA_OFF,
	DISK_QUOTA_ON, /* images, where they work */
	DISK_QUOTA_AUTO,
	DISK_QUOTA_PROJECT,
	DISK_QUOTA_IMAGE,
	DISK_QUOTA_COUNT,
};

struct broker_options {
	const char *data, *agent, *image;
	uid_t uid; /* of atolld */
	gid_t gid;
	unsigned cells;                    /* kept ready, of each kind */
	unsigned pool_automatic, pool_max; /* see pool.h */
	enum disk_quota disk_quota;        /* as asked for; what it comes to is the host's */
	bool disk_watch;
	unsigned disk_inodes;      /* of each GiB of a disk limit; 0 = as many as there are */
	bool registry_private;     /* images may be pulled from the host's own network */
	unsigned io_mbps;          /* 0 = an equal share is all */
	unsigned orphan_timeout_s; /* a sandbox that hears of no broker for so long ends; 0 = never
	                            */
	unsigned orphans_keep_s;   /* of layers that no layer stack names, in the trash */
	const char *subnet, *allow;
	struct network_gateway gateway;
};
/* Prints what is wrong itself. */
MUST_CHECK int broker_options_parse(struct broker_options *ret, int argc, char **argv,
                                    struct error *err);

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

/* Mounts that are cloned for each sandbox; -1 = this host has nothing of the kind. They have their
 * place below DATA/run/layers in a mount namespace that only the broker has: kernels before 6.15
 * clone nothing that has no place. */
enum host_layer {
	LAYER_DEV,
	LAYER_SYS,
	LAYER_ROOT, /* of the template "host" */
	LAYER_USR,
	LAYER_SUDO,
	LAYER_SUDO_LIB,
	LAYER_COUNT,
};

struct host {
	struct broker_options options;
	char data_path[4096]; /* resolved */
	int folders[FOLDER_COUNT];
	int layers[LAYER_COUNT];
	const char *sudo_lib_dir; /* of LAYER_SUDO_LIB */
	int agent_fd;
	int names_fd; /* our own UTS namespace */
	int lock_fd;  /* one broker per data folder */
	char boot_id[64];
	bool can_limit_disk;    /* by images, see image.h … */
	bool has_project_quota; /* … or by quotas, see disk_folder.h */
	struct cgroup_host cgroups;
	struct cgroup_io io; /* of each sandbox */
	struct host_network network;
};

/* Everything, or an error that says what this host lacks. */
MUST_CHECK int host_open(struct host *host, const struct broker_options *options,
                         struct error *err);
void host_close(struct host *host);
/* Above all descriptors that it has; those that come later are of single sandboxes, or requests. */
int host_fd_end(const struct host *host);
/* In layers.c. */
MUST_CHECK int host_layers_make(struct host *host, struct error *err);
/* Fails when the data folder's filesystem is nearly full. */
#define HOST_SPACE_MIN_BYTES (UINT64_C(256) << 20)
#define HOST_FILES_MIN 10000
MUST_CHECK int host_check_space(const struct host *host, struct error *err);
/* For a sandbox that is begun: the same if it gets new files, and enough descriptors. */
MUST_CHECK int host_check_room(const struct host *host, bool with_files, struct error *err);

/* The root of a sandbox: a template below, snapshots on it, its own files on top. In layers.c. */
struct layer_stack;
struct root_options {
	const char *template_name;
	const struct layer_stack *stack; /* NULL: none */
	int upper_fd;           /* the folder with upper and work, or what it lies in … */
	const char *upper_name; /* … under this name; NULL: it is a mount of its own */
	int ids_fd, stored_fd;  /* user namespaces: maps of the template's and of stored files */
	/* Who closes a layer waits for the kernel, 0.05 ms each: it may be somebody else. NULL: it
	 * is closed. */
	void (*let_go)(void *context, int layer_fd);
	void *context;
};
MUST_CHECK int host_root_open(const struct host *host, const struct root_options *options,
                              int *ret_fd, struct error *err);
/* The same layers to read: `upper_name` is one more of them, or NULL for none, and so is the
 * template. */
MUST_CHECK int host_tree_open(const struct host *host, const struct root_options *options,
                              int *ret_fd, struct error *err);

#define GROUP_NAME_SIZE 16
void host_group_name(uint32_t slot, char out[GROUP_NAME_SIZE]);
/* Of the cgroup that the last one in this slot had, and that waits for another. */
void host_kept_name(uint32_t slot, char out[GROUP_NAME_SIZE]);
/* A folder with everything in it, never following a link. Fine when missing. */
MUST_CHECK int host_remove_tree(int folder, const char *name, struct error *err);
/* Out of sight at once, deleted later. Fine when missing. */
MUST_CHECK int host_trash(const struct host *host, enum host_folder folder, const char *name,
                          struct error *err);
/* All that a sandbox wrote. */
MUST_CHECK int host_trash_files(const struct host *host, const char *id, struct error *err);
void host_empty_trash(const struct host *host);

/* SPDX-License-Identifier: Apache-2.0 */
/* wire/launch.h — what the broker and the program atoll-launch say to each other.
 *
 * atoll-launch (launch/launch.h) keeps every privilege and does for the broker the few things that
 * need it: mounts, namespaces, agents, tasks. A channel is a SOCK_SEQPACKET socket pair. The broker
 * sends a request, a struct with the descriptors that it names, and waits for the answer. Both
 * programs are of one build, so structs go as they are in memory. The server trusts nothing in a
 * request: it checks sizes, counts, texts and the number of descriptors.
 *
 * The process of the main channel only does what takes microseconds. A child of the broker that
 * needs longer work opens a channel of its own, which a process of its own serves
 * (LAUNCH_CHANNEL). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The descriptor of the broker's end of the main channel when the broker starts. */
#define LAUNCH_FD 3

enum launch_kind {
	LAUNCH_CHANNEL,   /* a new channel -> its end */
	LAUNCH_HOLD,      /* [lock]: keeps this descriptor open as long as the server lives */
	LAUNCH_MOUNT,     /* launch_mount, [maps, parts] -> a detached mount, clones of layers */
	LAUNCH_SHARED,    /* launch_shared, [tmpfs to keep] -> the tmpfs to fill */
	LAUNCH_ID_MAP,    /* launch_id_map -> a user namespace (isolation/ids.h) */
	LAUNCH_DEVICES,   /* limits the devices of all sandboxes, in cgroup v1 */
	LAUNCH_AGENT,     /* launch_agent, [listen, setup, group or events] -> see launch_agent */
	LAUNCH_HOSTNAME,  /* launch_hostname, [pidfd] */
	LAUNCH_WAIT,      /* [pidfd] of an agent or task that has ended -> launch_answer.ended */
	LAUNCH_TASK,      /* launch_task, [descriptors for the program] -> pidfd */
	LAUNCH_PROCESS,   /* launch_process -> the file or namespace of a process */
	LAUNCH_IMAGE,     /* launch_image, [image] -> its mount; EWOULDBLOCK: it is mounted */
	LAUNCH_QUOTA,     /* launch_quota, [folder] */
	LAUNCH_READ_ONLY, /* launch_read_only, [mount namespace]: of the root in it */
	LAUNCH_REPLACE,   /* launch_replace, [mount namespace, new root] -> the old root */
	LAUNCH_ATTACH, /* launch_attach, [mount namespace, volume unless it is attached]; ends the
	                  channel */
	LAUNCH_DETACH, /* launch_attach, [mount namespace]; ends the channel */
	LAUNCH_KIND_COUNT,
};

/* A request is this head and the struct of its kind. */
struct launch_head {
	uint32_t kind, unused;
};
/* The size of the struct; 0: the kind has none. */
size_t launch_request_size(enum launch_kind kind);

#define LAUNCH_PATH_MAX 160
#define LAUNCH_PARTS_MAX 67 /* the layers of a stack, a template, an upper layer */

enum launch_map { LAUNCH_MAP_NONE, LAUNCH_MAP_IDS, LAUNCH_MAP_STORED, LAUNCH_MAP_COUNT };

/* A folder to clone the mount of: a path below the data folder, in which no link is followed, or a
 * descriptor of the request. */
struct launch_part {
	char path[LAUNCH_PATH_MAX];
	int32_t fd;          /* number of the descriptor in the request; -1: the path */
	uint32_t map;        /* enum launch_map */
	uint64_t attributes; /* MOUNT_ATTR_* */
	uint32_t is_mount;   /* the descriptor is a detached mount: it is used itself, not cloned */
	uint32_t unused;
};

/* One part without an upper layer is the mount itself; more become an overlay. The answer has the
 * mount, unless there is no part, and then the clones in the order of enum launch_layer. */
struct launch_mount {
	int32_t maps[LAUNCH_MAP_COUNT]; /* numbers of descriptors */
	uint32_t has_upper;             /* the last part has the folders upper and work */
	uint64_t attributes;            /* of an overlay */
	uint32_t layers;                /* bits of enum launch_layer: those to clone */
	uint32_t count;
	struct launch_part parts[LAUNCH_PARTS_MAX]; /* the topmost lower first, then the upper */
};

/* The mounts that sandboxes share (launch/shared.c), attached below DATA/run/layers in the mount
 * namespace of the broker and atoll-launch: kernels before 6.15 clone no detached mount. */
enum launch_layer {
	LAYER_DEV,
	LAYER_SYS,
	LAYER_ROOT, /* of the template "host" */
	LAYER_USR,
	LAYER_SUDO,
	LAYER_SUDO_LIB,
	LAYER_RUNSC,
	LAYER_AGENT, /* for sandboxes in gVisor */
	LAYER_KVM,   /* LAYER_DEV and /dev/kvm */
	LAYER_COUNT,
};

/* A tmpfs is made, filled by a task, and kept by a second request. A part of the host is cloned and
 * kept at once. */
struct launch_shared {
	uint32_t layer; /* enum launch_layer */
	uint32_t path;  /* the part of the host: its number in the server's table */
};

struct launch_id_map {
	uint32_t slot;
};

/* Descriptors: listen, setup, then the group for clone3 if has_group, then two of events if
 * has_events. The answer: pidfd, user namespace, map of stored files, mount namespace, network
 * namespace, and a pipe: the agent starts when a byte is written to it, and ends when it is closed
 * without one. Before that the caller puts the process into its cgroups. Addresses may be zeros. */
struct launch_agent {
	uint32_t slot;
	uint32_t has_group, has_events;
	uint32_t address, has_ipv6; /* of the link, in host byte order; of the host's kernel */
	uint8_t address6[16];       /* of the link */
};

/* The outer end of a sandbox's link, and the sandbox's next hop: NETWORK_GATEWAY of
 * broker/network/network.h. */
#define LAUNCH_LINK "atoll%u" /* slot */
#define LAUNCH_LINK_INDEX_FIRST (1 << 20)
#define LAUNCH_GATEWAY 0xa9fe0101u

/* What atoll-launch starts, with which privileges: launch/task.c. */
enum task_kind {
	TASK_MEASURE,
	TASK_TRASH,
	TASK_MERGE,
	TASK_COPY,
	TASK_USERS,
	TASK_IMAGE_MAKE,
	TASK_IMAGE_GROW,
	TASK_FILL,
	TASK_MEMORY,
	TASK_NFT,   /* the program nft, not atoll-task */
	TASK_IMAGE, /* atoll-image */
	TASK_KIND_COUNT,
};
#define TASK_LAYERS_MAX 64
#define LAUNCH_WORDS_MAX (TASK_LAYERS_MAX + 1)
#define LAUNCH_TASK_FDS_MAX 6

struct launch_hostname {
	char name[65];
};
enum launch_file {
	LAUNCH_FILE_ROOT, /* O_PATH, for statfs */
	LAUNCH_FILE_USER_NAMESPACE,
	LAUNCH_FILE_MOUNT_NAMESPACE,
	LAUNCH_FILE_NETWORK_NAMESPACE,
	LAUNCH_FILE_COUNT,
};

struct launch_process {
	int32_t pid;
	uint32_t file; /* enum launch_file */
};

struct launch_image {
	uint32_t shared; /* it may be mounted already, and is then mounted once more */
};

enum launch_quota_verb {
	LAUNCH_QUOTA_PROBE,
	LAUNCH_QUOTA_BEGIN,
	LAUNCH_QUOTA_LIMIT,
	LAUNCH_QUOTA_COUNT
};

/* isolation/project_quota.h. */
struct launch_quota {
	uint32_t verb;
	uint64_t bytes, inodes; /* the limit; zeros: none */
};

struct launch_read_only {
	uint32_t read_only;
};
#define LAUNCH_SUBMOUNTS_MAX 64
#define LAUNCH_SUBMOUNT_MAX 256

/* What is mounted below the old root moves to the new one. Answer: launch_answer.is_broken. */
struct launch_replace {
	uint32_t count;
	char paths[LAUNCH_SUBMOUNTS_MAX][LAUNCH_SUBMOUNT_MAX];
};

struct launch_attach {
	char path[1024];
	uint32_t forced;
	int64_t mount; /* what is attached there already; -1: nothing */
};

struct launch_answer {
	struct error err; /* ERROR_NONE: done; `where` is of the other program and not used */
	int32_t pid;      /* LAUNCH_AGENT, LAUNCH_TASK */
	uint64_t start_time;
	struct {
		int32_t pid, code, status; /* as in siginfo_t; zeros: not its child */
	} ended;
	uint32_t is_broken; /* the sandbox is between two roots: kill it */
};

/* SPDX-License-Identifier: Apache-2.0 */
/* isolation/plan.h — the plan of a sandbox: an ordered array of steps that the agent applies. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "wire/wire.h"

enum step_kind {
	STEP_END,
	STEP_PREPARE,  /* make a filesystem `type` with `options`, keep it as number `value` */
	STEP_ROOT,     /* the mount `fd` becomes the root; the old root and all below it goes */
	STEP_FOLDER,   /* mkdir `target` and its parents, mode `flags`, owner `value` */
	STEP_FILE,     /* `target` shows the text `source`, mode `flags`, from a file below
	                  ISOLATION_FILES; an empty file replaces a `target` that is no file */
	STEP_ATTACH,   /* move the detached mount `fd`, or the prepared one `value`, to `target` */
	STEP_MOUNT,    /* a new filesystem `type` with `options` at `target`, flags MOUNT_ATTR_* */
	STEP_READONLY, /* `target` becomes a read-only mount of itself */
	STEP_MASK,     /* the empty file or folder in the folder `source` covers `target` */
	STEP_COVER,    /* the file `source` covers `target`, read-only where it is so itself */
	STEP_SHOW,     /* a mask over each file and folder directly below `target` whose name is no
	                  number and is not in `options` */
	STEP_TEXT,     /* the new file `target` has the text `source`, mode `flags` */
	STEP_LINK,     /* the second name `target` of the file `source` */
	STEP_KEEP,     /* the mounts at and below `target`, attributes `flags`, become the prepared
	                  mount `value` */
	STEP_POKE,     /* write `source` to the kernel's file `target` */
	STEP_HOSTNAME, /* `source` */
	STEP_RLIMIT,   /* resource `flags` = `value`, soft and hard, never above what is set */
	STEP_KEYRING,  /* a new empty session keyring */
	STEP_NO_PRIVILEGES, /* set-uid programs and file capabilities have no effect any more */
	STEP_SECCOMP,       /* the filter of seccomp_table.c */
	STEP_CAPABILITIES,  /* keep only those of isolation_capabilities; undumpable from here on */
	STEP_ENCLOSE, /* from here on the agent only starts gVisor, in which another agent runs;
	                 `value` 1: gVisor passes its sockets to the kernel */
	STEP_KIND_COUNT,
};

#define STEP_TEXT_MAX 4096
#define STEP_SOURCE_MAX 16384
#define ISOLATION_FILES "/run/atoll"

struct setup_step {
	uint32_t kind; /* enum step_kind */
	uint32_t fd;   /* number of a descriptor of the plan, or ISOLATION_FD_NONE */
	uint64_t value;
	const char *source, *target, *type, *options;
	uint32_t flags;
	/* 1: skipped when `target` or the kernel's part is missing; 2: may fail. */
	uint32_t optional;
};
extern const struct wire_member setup_step_shape[];

/* Where the plan of a sandbox in gVisor puts things: gVisor's program, its state and its bundle.
 * The last is a path inside gVisor. */
#define ENCLOSURE_PROGRAM "/runsc"
#define ENCLOSURE_STATE "/state"
#define ENCLOSURE_BUNDLE "/bundle"
#define ENCLOSURE_VOLUMES ENCLOSURE_BUNDLE "/volumes"
#define ENCLOSURE_AGENT ISOLATION_FILES "/agent"
#define ENCLOSURE_NAMESPACES "8"
#define ENCLOSURE_NAMESPACES_FILE "/proc/sys/user/max_user_namespaces"

#define ISOLATION_FD_NONE UINT32_MAX
#define PLAN_STEPS_MAX 96
#define PLAN_FDS_MAX WIRE_FDS_MAX

struct setup_plan {
	struct setup_step steps[PLAN_STEPS_MAX];
	unsigned count;
	uint32_t fds[PLAN_FDS_MAX]; /* the spec's descriptors in the order of their first use */
	unsigned fd_count;
	struct arena *arena; /* of the texts */
};

/* Every descriptor is ISOLATION_FD_NONE or that of a detached mount. */
struct isolation_spec {
	const char *hostname;
	const char *machine_id;  /* 32 hexadecimal digits, of /etc/machine-id */
	const char *project_dir; /* made if missing, owned by uid and gid 1000 */
	const char *resolv_conf; /* text; "" when the network is blocked */
	uint64_t memory_bytes, disk_bytes, pids;
	bool host_template;    /* the machine's own /usr under a synthetic root */
	bool no_privileges;    /* set-uid programs have no effect inside */
	bool disk_is_advisory; /* no hard limit: limit at least each single file */
	bool started_before;   /* the files exist: do not make the project's folder again */
	bool internet;
	uint32_t root_fd, dev_fd, sys_fd;
	uint32_t usr_fd, sudo_fd, sudo_lib_fd; /* of the host template */
	uint32_t runsc_fd, agent_fd;           /* runsc_fd: the sandbox runs in gVisor */
	const char *sudo_lib_dir;              /* where sudo_lib_fd is attached */
	uint32_t volume_count, volume_fds[PLAN_FDS_MAX];
	const char *volume_paths[PLAN_FDS_MAX];
};
MUST_CHECK int isolation_plan(struct arena *a, const struct isolation_spec *spec,
                              struct setup_plan *ret, struct error *err);
void plan_print(struct buf *out, const struct setup_plan *plan);

/* The plan before that one: /proc with its masks, the files that replace the host's, and the
 * sandbox's own cgroup. It is the same for all sandboxes, so the agent applies it while it waits
 * for a create, below the root that it was born with. */
enum isolation_cgroups {
	ISOLATION_CGROUPS_V1,
	ISOLATION_CGROUPS_V1_JOINED, /* cpu and cpuacct are one tree */
	ISOLATION_CGROUPS_V2,
};
MUST_CHECK int isolation_plan_kernel(enum isolation_cgroups cgroups, struct setup_plan *ret,
                                     struct error *err);
/* How this process's controllers are mounted; from /proc/self/cgroup. */
enum isolation_cgroups isolation_cgroups_find(void);
/* Where that plan puts those files, as long as the agent has its first root, and the number of the
 * prepared mount through which they can be written. */
#define ISOLATION_VIEWS "/sys"
#define ISOLATION_PREPARED_VIEWS 1

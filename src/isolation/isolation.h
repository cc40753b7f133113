/* SPDX-License-Identifier: Apache-2.0 */
/* isolation/isolation.h — Linux primitives, and the plan of a sandbox.
 *
 * Plan, then apply: isolation_plan turns a description into an ordered array of steps, without
 * touching anything; `atoll plan` prints it, unit tests read it, and the agent, as process 1 of its
 * new namespaces, applies it in one loop (isolation_apply) before it takes any request. What needs
 * the host's root (layers, cgroups, the network) is done by the broker beforehand, with the calls
 * further down, and comes in as descriptors of detached mounts. Nothing here keeps state. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "isolation/cgroups.h"
#include "isolation/views.h"
#include "wire/wire.h"

enum step_kind {
	STEP_END,
	STEP_PREPARE,  /* make a filesystem `type` with `options`, keep it as number `value` */
	STEP_ROOT,     /* the mount `fd` becomes the root; the old root and all below it is gone */
	STEP_FOLDER,   /* mkdir `target` and its parents, mode `flags`, owner `value` */
	STEP_FILE,     /* `target` shows the text `source`, mode `flags`, from a file below
	                  ISOLATION_FILES; what is no file there is replaced by an empty one */
	STEP_ATTACH,   /* move the detached mount `fd`, or the prepared one `value`, to `target` */
	STEP_MOUNT,    /* a new filesystem `type` with `options` at `target`, flags MOUNT_ATTR_* */
	STEP_READONLY, /* `target` becomes a read-only mount of itself */
	STEP_MASK,     /* what is empty in the folder `source` over a file or over a folder */
	STEP_COVER,    /* the file `source` over `target`, read-only where it is so itself */
	STEP_SHOW,     /* a mask over each file and folder directly below `target` that has no
	                  number for a name and is not named in `options` */
	STEP_TEXT,     /* the new file `target` has the text `source`, mode `flags` */
	STEP_LINK,     /* the second name `target` of the file `source` */
	STEP_KEEP,     /* the mounts at and below `target`, attributes `flags`, become the prepared
	                  mount `value` */
	STEP_POKE,     /* write `source` to the kernel's file `target` */
	STEP_HOSTNAME, /* `source` */
	STEP_RLIMIT,   /* resource `flags` = `value`, soft and hard, never above what is set */
	STEP_KEYRING,  /* a new empty session keyring */
	STEP_NO_PRIVILEGES, /* set-uid programs and file capabilities gain nothing any more */
	STEP_SECCOMP,       /* the filter of seccomp_table.c */
	STEP_CAPABILITIES,  /* keep only those of isolation_capabilities; undumpable from here on */
	STEP_KIND_COUNT,
};

#define STEP_TEXT_MAX 4096
#define ISOLATION_FILES "/run/atoll"
struct setup_step {
	uint32_t kind; /* enum step_kind */
	uint32_t fd;   /* number of a descriptor of the plan, or ISOLATION_FD_NONE */
	uint64_t value;
	const char *source, *target, *type, *options;
	uint32_t flags;
	uint32_t optional; /* 1: skipped when `target` or the kernel's part is missing; 2: may fail
	                    */
};
extern const struct wire_member setup_step_shape[];

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
	bool no_privileges;    /* set-uid programs have no power inside */
	bool disk_is_advisory; /* no hard limit: bound at least each single file */
	bool started_before;   /* files are there: do not make the project's folder again */
	uint32_t root_fd, dev_fd, sys_fd;
	uint32_t usr_fd, sudo_fd, sudo_lib_fd; /* of the host template */
	const char *sudo_lib_dir;              /* the place of the last */
	uint32_t volume_count, volume_fds[PLAN_FDS_MAX];
	const char *volume_paths[PLAN_FDS_MAX];
};
MUST_CHECK int isolation_plan(struct arena *a, const struct isolation_spec *spec,
                              struct setup_plan *ret, struct error *err);
void plan_print(struct buf *out, const struct setup_plan *plan);
/* In the agent, once for each of its two plans. `fds` as the plan numbers them; closed by the
 * callee. `prepared` carries mounts from the first plan to the second. */
#define ISOLATION_PREPARED_MAX 4
struct isolation_prepared {
	int fds[ISOLATION_PREPARED_MAX]; /* -1: none */
};
#define ISOLATION_PREPARED_NONE ((struct isolation_prepared){{-1, -1, -1, -1}})
MUST_CHECK int isolation_apply(const struct setup_plan *plan, const int *fds, unsigned fd_count,
                               struct isolation_prepared *prepared, struct error *err);
void isolation_prepared_close(struct isolation_prepared *prepared);

/* The plan before that: /proc with its masks, the files that stand for the host's, and the
 * sandbox's own cgroup. It is the same for all sandboxes, so that the agent applies it while its
 * cell waits for a create, below the root that it was born with. */
enum isolation_cgroups {
	ISOLATION_CGROUPS_V1,
	ISOLATION_CGROUPS_V1_JOINED, /* cpu and cpuacct are one tree */
	ISOLATION_CGROUPS_V2,
};
MUST_CHECK int isolation_plan_kernel(enum isolation_cgroups cgroups, struct setup_plan *ret,
                                     struct error *err);
/* How this process's controllers are mounted; from /proc/self/cgroup. */
enum isolation_cgroups isolation_cgroups_find(void);
/* Where that plan puts those files, as long as the agent has its first root; the prepared mount of
 * this number can be written to. */
#define ISOLATION_VIEWS "/sys"
#define ISOLATION_PREPARED_VIEWS 1

/* Who a sandbox is, as its files say it: what is set up for nobody in particular gets them when it
 * is somebody's. They are opened in the agent, after isolation_apply and before anything else runs
 * in there, and written by whom it hands them to; the host name itself is set by the same. */
#define ISOLATION_IDENTITY_FILES 3
struct isolation_identity {
	const char *hostname, *machine_id;
};
MUST_CHECK int isolation_identity_open(int ret_fds[ISOLATION_IDENTITY_FILES], struct error *err);
MUST_CHECK int isolation_identify(const int fds[ISOLATION_IDENTITY_FILES],
                                  const struct isolation_identity *identity, struct error *err);

/* Bit set of the capabilities that root inside may have (none of them reaches outside). */
uint64_t isolation_capabilities(void);
/* Loads the filter into the calling thread; needs CAP_SYS_ADMIN or no_new_privs. */
MUST_CHECK int seccomp_load(struct error *err);

/* ---- ids ---- */

/* A sandbox has the host's ids id_base(slot) … +65535. On disk its files belong to
 * ID_STORED … +65535, ids that are nobody's, so that files outlive their slot. ID_STORED_HOST is
 * what the host's own root becomes there. */
#define ID_COUNT 65536u
#define ID_FIRST (1u << 24)
#define ID_STORED 0x70000000u
#define ID_STORED_HOST (ID_STORED + ID_COUNT)
#define SLOTS_MAX ((ID_STORED - ID_FIRST) / ID_COUNT)
static inline uint32_t id_base(uint32_t slot)
{
	return ID_FIRST + slot * ID_COUNT;
}
/* A namespace that exists only as a map for layers: stored ids to those of the slot. */
MUST_CHECK int id_map_open(uint32_t slot, int *ret_fd, struct error *err);
/* Writes the maps of a process that was just cloned into a new user namespace. */
MUST_CHECK int id_map_write(pid_t pid, uint32_t slot, struct error *err);

/* ---- layers: detached mounts, seen by nobody until they are moved into place ---- */

struct layer_options {
	uint64_t attributes; /* MOUNT_ATTR_* */
	int map_fd;          /* user namespace to map ids with, or -1 */
	bool recursive;
};
/* A clone of the tree at `path`, relative to `folder`. */
MUST_CHECK int layer_open(int folder, const char *path, const struct layer_options *options,
                          int *ret_fd, struct error *err);
/* A new filesystem. Options as for mount(8); a NULL type of `overlay` is none. */
MUST_CHECK int layer_make(const char *type, const char *options, uint64_t attributes, int *ret_fd,
                          struct error *err);
/* The same for a layer that nobody else has: no clone. */
MUST_CHECK int layer_set(int fd, const struct layer_options *options, struct error *err);
/* `lowers` (the topmost first) and `upper` are layers; `upper` holds the folders upper and work.
 * Before Linux 6.15 overlayfs takes only mounts that have a place: they get one below the folder
 * `scratch` for a moment, in the caller's own mount namespace. */
#define OVERLAY_LOWERS_MAX 66
struct overlay_options {
	const int *lowers;
	unsigned lower_count;
	int upper; /* -1: none, for reading alone; then there are two lowers at least */
	int scratch;
};
MUST_CHECK int layer_overlay(const struct overlay_options *options, int *ret_fd, struct error *err);
/* That second way by itself, for tests. */
MUST_CHECK int layer_overlay_placed(const struct overlay_options *options, int *ret_fd,
                                    struct error *err);

/* ---- what this host can do ---- */

/* ERROR_UNSUPPORTED, naming what is missing (kernel 5.19, user namespaces, overlay …). */
MUST_CHECK int isolation_check_host(struct error *err);

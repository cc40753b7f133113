/* SPDX-License-Identifier: Apache-2.0 */
/* isolation/isolation.h — Linux primitives, and the plan of a sandbox.
 *
 * Plan, then apply: isolation_plan turns a description into an ordered array of steps, without
 * touching anything; `atoll plan` prints it, unit tests read it, and the agent, as process 1 of its
 * new namespaces, applies it in one loop (isolation_apply) before it takes any request. What needs
 * the host's root (detached mounts, cgroups, the network) is done by the broker beforehand and
 * comes in as descriptors. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "wire/wire.h"

enum step_kind {
	STEP_END,
	STEP_ATTACH,   /* move the detached mount `fd` to `target` */
	STEP_MOUNT,    /* a new filesystem `type` with `options` at `target` */
	STEP_BIND,     /* `source` to `target`, inside the new root */
	STEP_READONLY, /* remount `target` read-only */
	STEP_MASK,   /* hide `target`: /dev/null over a file, an empty read-only tmpfs over a folder
	              */
	STEP_FOLDER, /* mkdir `target` */
	STEP_LINK,   /* symlink `source` at `target` */
	STEP_FILE,   /* write `source` (text) to `target` */
	STEP_PIVOT,  /* make the mount at `target` the root and drop the old one */
	STEP_HOSTNAME,   /* `source` */
	STEP_RLIMIT,     /* `source` = name, `value` */
	STEP_BOUND_CAPS, /* keep only the capabilities of isolation_capabilities in the bounding set
	                  */
	STEP_SECCOMP,    /* load the filter `source` */
	STEP_KEYRING,    /* a new empty session keyring */
	STEP_KIND_COUNT,
};

#define STEP_TEXT_MAX 1024
struct setup_step {
	uint32_t kind; /* enum step_kind */
	uint32_t fd;   /* index among the descriptors that come with the plan */
	uint64_t value;
	const char *source, *target, *type, *options;
	uint32_t flags;    /* MS_* for MOUNT, mode for FOLDER and FILE */
	uint32_t optional; /* 1: a missing target is no error (masks of files that this kernel
	                      lacks) */
};
extern const struct wire_member setup_step_shape[];

#define PLAN_STEPS_MAX 96
struct plan {
	struct setup_step steps[PLAN_STEPS_MAX];
	unsigned count;
	struct arena *arena; /* of the texts */
};

struct isolation_spec {
	const char *hostname;
	const char *project_dir; /* made if missing, owned by the template's user */
	const char *resolv_conf; /* text; "" when the network is blocked */
	uint64_t memory_bytes, disk_bytes, pids;
	bool host_template; /* the machine's own /usr under a synthetic root */
	/* indices of descriptors; FD_NONE = not given */
	uint32_t root_fd, dev_fd, usr_fd, cpu_fd;
};
#define ISOLATION_FD_NONE UINT32_MAX
MUST_CHECK int isolation_plan(struct arena *a, const struct isolation_spec *spec, struct plan *ret,
                              struct error *err);
void plan_print(struct buf *out, const struct plan *plan);
/* In the agent, once. `fds` as the plan numbers them; closed by the callee. */
MUST_CHECK int isolation_apply(const struct plan *plan, const int *fds, unsigned fd_count,
                               struct error *err);

/* Bit set of the capabilities that root inside may have (none of them reaches outside). */
uint64_t isolation_capabilities(void);

/* SPDX-License-Identifier: Apache-2.0 */
/* broker/layers/root.h — the root filesystem of a sandbox: a template below, snapshots on it, the
 * sandbox's own files on top. atoll-launch makes the mounts (LAUNCH_MOUNT). */
#pragma once

#include "base/error.h"
#include "broker/host/host.h"
#include "wire/launch.h"

struct layer_stack;

struct root_options {
	const char *template_name;
	const struct layer_stack *stack; /* NULL: none */
	int upper_fd; /* a detached mount with upper and work; -1: the folder that follows */
	enum host_folder upper_folder;
	const char *upper_name;
	int ids_fd, stored_fd; /* user namespaces: maps of the template's and of stored files */
	uint64_t attributes;   /* MOUNT_ATTR_* of the result */
	uint32_t layers;       /* bits of enum launch_layer: clones to make with it */
};
/* A root and the clones of the shared mounts; -1: none. */
struct root_mounts {
	int root;
	int layers[LAYER_COUNT];
};
#define ROOT_MOUNTS_NONE ((struct root_mounts){-1, {-1, -1, -1, -1, -1, -1, -1, -1, -1}})

/* The overlay as a detached mount, and clones of `layers`. */
MUST_CHECK int host_root_open(const struct host *host, const struct root_options *options,
                              struct root_mounts *ret, struct error *err);
/* The same layers, for reading only and without clones. `upper_name` NULL: without an upper layer;
 * `template_name` NULL: without a template. */
MUST_CHECK int host_tree_open(const struct host *host, const struct root_options *options,
                              int *ret_fd, struct error *err);
/* The shared mounts that a sandbox of this template may need. */
uint32_t host_root_layers(const struct host *host, const char *template_name);
/* What a sandbox in gVisor needs besides. */
#define GVISOR_LAYERS (1u << LAYER_RUNSC | 1u << LAYER_AGENT)
/* False: gVisor was not installed when the broker started; `err` says how to get it. */
bool host_has_gvisor(const struct host *host, struct error *err);
/* False: this machine had no /dev/kvm when the broker started. */
bool host_has_kvm(const struct host *host, struct error *err);
/* Takes descriptors in the order of an answer to LAUNCH_MOUNT. */
MUST_CHECK int root_mounts_take(struct root_mounts *m, uint32_t layers, const int *fds,
                                unsigned count);
/* The same descriptors in that order. Returns their number. */
unsigned root_mounts_list(const struct root_mounts *m, int *ret_fds);
void root_mounts_close(struct root_mounts *m);

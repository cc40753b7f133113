/* SPDX-License-Identifier: Apache-2.0 */
/* isolation/cgroup.h — what cgroup.c and the two kinds of tree share. Private to this folder. */
#pragma once

#include "isolation/isolation.h"

#define CGROUP_ALL "atoll"     /* our part of each tree */
#define CGROUP_PARKED "parked" /* in version 1's freezer: never anybody's */

extern const struct cgroup_ops cgroup_v1_ops, cgroup_v1_hybrid_ops, cgroup_v2_ops;
/* Names of the controllers' folders and mounts in version 1, by enum cgroup_controller. */
extern const char *const cgroup_controllers[CGROUP_CONTROLLER_COUNT];

/* Reads "key value" or a bare value from a group's file. A missing key leaves *ret alone. */
MUST_CHECK int cgroup_read(int root, const char *group, const char *file, uint64_t *ret,
                           struct error *err);
MUST_CHECK int cgroup_read_key(int root, const char *group, const char *file, const char *key,
                               uint64_t *ret, struct error *err);
MUST_CHECK int cgroup_write(int root, const char *group, const char *file, uint64_t value,
                            struct error *err);
/* Kills what is listed in cgroup.procs until nothing is, then removes the folder. */
MUST_CHECK int cgroup_empty_and_remove(int root, const char *group, struct error *err);

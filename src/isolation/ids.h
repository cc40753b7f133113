/* SPDX-License-Identifier: Apache-2.0 */
/* isolation/ids.h — user and group ids of sandboxes, and the user namespaces that map them.
 *
 * A sandbox has the host's ids id_base(slot) … +65535. On disk its files belong to
 * ID_STORED … +65535, ids that no user has, so that files outlive their slot. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define ID_COUNT 65536u
#define ID_FIRST (1u << 24)
#define ID_STORED 0x70000000u
#define ID_STORED_HOST (ID_STORED + ID_COUNT) /* the id on disk of the host's own root */
#define SLOTS_MAX ((ID_STORED - ID_FIRST) / ID_COUNT)
#define SLOT_NONE UINT32_MAX

static inline uint32_t id_base(uint32_t slot)
{
	return ID_FIRST + slot * ID_COUNT;
}
/* A user namespace that exists only as a map for layers: from stored ids to those of the slot. */
MUST_CHECK int id_map_open(uint32_t slot, int *ret_fd, struct error *err);
/* Writes the maps of a process that was just cloned into a new user namespace. */
MUST_CHECK int id_map_write(pid_t pid, uint32_t slot, struct error *err);

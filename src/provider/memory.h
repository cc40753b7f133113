/* SPDX-License-Identifier: Apache-2.0 */
/* provider/memory.h — the memory of sandboxes on disk, of a provider with
 * PROVIDER_CAN_KEEP_MEMORY. The rules of provider.h apply.
 *
 * A sandbox whose memory is on disk uses no memory of the host. It counts as paused, although the
 * provider lists it as files only, and outlives a restart of the host. stop, start and destroy
 * discard the memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct provider;
struct provider_created;
struct sandbox_spec;

struct memory_ops {
	/* Pauses the sandbox, which may be paused already, and moves its memory to the disk. When
	 * that fails the sandbox runs. Succeeds when the memory is there already. */
	int (*keep)(struct provider *p, const char *id, int64_t deadline, struct error *err);
	/* Continues it. When that fails the memory is still on disk. */
	int (*resume)(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
	              struct error *err);
	/* Whether its memory is on disk. Never waits. */
	bool (*is_kept)(struct provider *p, const char *id);
};

/* SPDX-License-Identifier: Apache-2.0 */
/* broker/host/slots.h — the slot: the number from which the ids, cgroup, link and address of a
 * sandbox on this host derive.
 *
 * Slots are unique on the whole host, across all servers on it. A broker claims chunks of
 * SLOT_CHUNK slots by a lock on /run/atoll/chunks/NN. The lock ends with the broker; the path of
 * the data folder stays in the file, so that a restarted broker gets its chunks back. A broker
 * takes over the chunk of another server only when that broker is gone and nothing in the chunk is
 * alive. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "isolation/ids.h"

#define SLOT_CHUNK 1024u
#define SLOT_CHUNKS_MAX (SLOTS_MAX / SLOT_CHUNK)

struct slots {
	int folder;
	int locks[SLOT_CHUNKS_MAX]; /* -1: the chunk is not ours */
	char owner[4096];
	unsigned char used[SLOTS_MAX / 8 + 1];
	uint32_t next; /* where the search starts: a slot rests before it is used again */
	/* Whether anything lives in the chunk. */
	bool (*is_alive)(void *context, uint32_t first_slot);
	/* Called when the chunk has been claimed, before its slots are used. */
	void (*on_claim)(void *context, uint32_t first_slot);
	void *context;
};

/* Makes `folder` if it is missing; `owner` is the path of the data folder. Claims the chunks that
 * this owner had before, or else one chunk. The callbacks must be set. */
MUST_CHECK int slots_open(struct slots *s, const char *folder, const char *owner,
                          struct error *err);
void slots_close(struct slots *s);
/* A free slot; claims another chunk if necessary. */
MUST_CHECK int slots_take(struct slots *s, uint32_t *ret, struct error *err);
/* Marks the slot of an adopted sandbox as used. Fails when it is not in our chunks or is in use. */
MUST_CHECK int slots_adopt(struct slots *s, uint32_t slot, struct error *err);
void slots_release(struct slots *s, uint32_t slot);
bool slots_is_ours(const struct slots *s, uint32_t slot);
bool slots_is_used(const struct slots *s, uint32_t slot);

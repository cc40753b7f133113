/* SPDX-License-Identifier: Apache-2.0 */
/* broker/slots.h — the number from which everything of a sandbox on this host derives: ids, cgroup,
 * link, address. Private to this folder.
 *
 * Slots are unique on the whole host, over several instances of Atoll: chunks of SLOT_CHUNK are
 * claimed by a lock on /run/atoll/chunks/NN, which ends with the broker, and by the data folder's
 * path in it, which stays: a restarted broker gets its chunks back. Somebody else's chunk is taken
 * over only when its broker is gone and nothing of it is alive. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "isolation/isolation.h"

#define SLOT_CHUNK 1024u
#define SLOT_CHUNKS_MAX (SLOTS_MAX / SLOT_CHUNK)
#define SLOT_NONE UINT32_MAX

struct slots {
	int folder;
	int locks[SLOT_CHUNKS_MAX]; /* -1 = not ours */
	char owner[4096];
	unsigned char used[SLOTS_MAX / 8 + 1];
	uint32_t next; /* round and round: a slot rests before it is used again */
	/* Whether anything lives in the chunk, and its sweep before we use it; then it is ours. */
	bool (*is_alive)(void *context, uint32_t first_slot);
	void (*on_claim)(void *context, uint32_t first_slot);
	void *context;
};

/* `folder` is made if missing; `owner` is the data folder. Claims what was this owner's before, or
 * else one chunk. The callbacks must be set. */
MUST_CHECK int slots_open(struct slots *s, const char *folder, const char *owner,
                          struct error *err);
void slots_close(struct slots *s);
/* A free slot, from a new chunk if need be. */
MUST_CHECK int slots_take(struct slots *s, uint32_t *ret, struct error *err);
/* A known one of an adopted sandbox; fails when it is not in our chunks or in use. */
MUST_CHECK int slots_adopt(struct slots *s, uint32_t slot, struct error *err);
void slots_release(struct slots *s, uint32_t slot);
bool slots_is_ours(const struct slots *s, uint32_t slot);
bool slots_is_used(const struct slots *s, uint32_t slot);

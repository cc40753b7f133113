/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/recovery/pairing_state.h — the state of the pairing, and the counts of the trash. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"
#include "base/map.h"
#include "fleet/recovery/jump.h"

struct pairing {
	struct jump jump;
	bool is_open;   /* false: there is no folder to compare, as in a unit test */
	bool takes_all; /* the first sweep after an adoption has no bound for orphans */
	char id[ID_SIZE + 1], boot[40];
	struct id instance; /* of this process */
	int64_t generation, beat_at;
	/* Of the ticking thread: name of a note -> version or hash of what is noted, and a hash of
	 * the key of its sealed texts. */
	struct map noted;
	void *noted_key;
	uint64_t changes; /* of sandboxes, when the generation was raised last */
	atomic_bool
	        is_lost; /* the last check found another store, or another server in our place */
};
struct trash_counts {
	atomic_uint_fast64_t orphans; /* moved to the trash since the start */
	atomic_uint_fast64_t held;    /* left by the last sweep, because they were too many */
	atomic_uint_fast64_t entries, bytes;
	int64_t notes_swept_at; /* of the ticking thread; 0 = not yet */
};

/* SPDX-License-Identifier: Apache-2.0 */
/* provider/entries.h — the sandboxes that a provider has, as provider_ops.list returns them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id.h"

struct provider_entry {
	char id[ID_SIZE + 1];
	bool running; /* false: only files are left */
	bool paused;  /* implies running */
	/* From the spec, while the sandbox runs; "" and 0 when not known. */
	char owner[ID_SIZE + 1];
	int64_t lease_epoch;
	unsigned member; /* of the set, see provider/set.h; a provider leaves it 0 */
};
struct provider_list {
	struct provider_entry *entries; /* in the arena */
	size_t count;
};

/* SPDX-License-Identifier: Apache-2.0 */
/* base/nearest.h — the known name that is nearest to a wrong one, for hints.
 *
 * Start with the name that is wrong, offer each known name, read `found`. Borrows all names. */
#pragma once

#include <stddef.h>

#include "base/bytes.h"

struct nearest {
	struct span name;
	const char *found; /* NULL: none is near enough */
	size_t edits;      /* of `found` */
};

/* Takes the offer if no earlier one is as near. An edit inserts, deletes or replaces a byte or
 * swaps two neighbours; near enough is one edit, two if the name has more than four bytes. */
void nearest_offer(struct nearest *nearest, const char *offer);

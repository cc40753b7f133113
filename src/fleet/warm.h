/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/warm.h — interpreters that the sandboxes of a template keep ready, with modules imported,
 * so that `code` calls pay for neither. Part of the fleet's contract, see fleet.h. */
#pragma once

#include <stddef.h>

struct fleet_warm_one {
	const char *language;       /* "python", "javascript" */
	const char *const *imports; /* NULL-terminated; NULL = none */
};
struct fleet_warm {
	const struct fleet_warm_one *items;
	size_t count;
};

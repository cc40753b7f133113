/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/template/warm.h — warm interpreters: sandboxes of a template keep them ready, with modules
 * imported, so that `code` calls need not wait for either. */
#pragma once

#include <stddef.h>

#include "fleet/template/recipe.h"

struct fleet_warm_one {
	const char *language;       /* "python", "javascript" */
	const char *const *imports; /* NULL-terminated; NULL: none */
};
struct fleet_warm {
	const struct fleet_warm_one *items;
	size_t count;
};

/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/server/projects.h — the removal of a project with all that it owns. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct error;
struct fleet;

/* With `with_sandboxes` false: ERROR_CONFLICT while the project has any. A removal that has begun
 * cannot be undone: after a failure the project stays closed, and the next call continues. */
MUST_CHECK int fleet_project_remove(struct fleet *fleet, const char *id, bool with_sandboxes,
                                    struct error *err);

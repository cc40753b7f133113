/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/network.h — which addresses a sandbox may reach, as a call's body says it. Private to
 * this folder. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"

/* NULL-terminated lists, or NULL. */
bool egress_is_said(const char *const *allow, const char *const *deny);
/* Who only says what may be reached means that nothing else may. */
const char *egress_json(struct arena *a, const char *const *allow, const char *const *deny);

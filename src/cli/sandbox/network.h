/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/network.h — network rules in the body of a call. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"

/* Whether any rule is given. The lists are NULL-terminated or NULL. */
bool egress_is_said(const char *const *allow, const char *const *deny);
/* Allow rules alone deny all other addresses. */
const char *egress_json(struct arena *a, const char *const *allow, const char *const *deny);

/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/network.h — network rules in the body of a call. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

/* Whether any rule is given. The lists are NULL-terminated or NULL. */
bool egress_is_said(const char *const *allow, const char *const *deny);
/* Adds the members of the rules. Allow rules alone deny all other addresses. */
void egress_add(struct buf *body, const char *const *allow, const char *const *deny);

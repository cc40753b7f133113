/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/isolation.h — the levels of isolation, in their order: none < namespaces < gvisor <
 * microvm. `remote` is apart: the sandbox runs on a machine that this server does not know. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

extern const char *const isolation_choices[]; /* NULL-terminated */
/* Whether a provider that gives `given` satisfies a request for at least `least`; NULL = any. */
bool isolation_suffices(const char *given, const char *least);
bool isolation_is_known(const char *name);
/* ERROR_INVALID, which lists the levels, for an unknown one. */
MUST_CHECK int isolation_check(const char *name, struct error *err);

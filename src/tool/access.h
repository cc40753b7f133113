/* SPDX-License-Identifier: Apache-2.0 */
/* tool/access.h — requests that a sandbox's network rules allow a host (store/approvals.h). The
 * tool request_access and the mode "ask" make them; a person allows or refuses them.
 *
 * To allow one adds its host to the rules at once: what was refused works when it is tried again.
 * The approval moves from pending to approved, the rules change, and it moves to used. A process
 * that is killed in between leaves an approved one, which can be allowed again. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct approval_record;
struct arena;
struct fleet;
struct store;
struct tool_decision;

struct access_context {
	struct fleet *fleet;
	struct store *store;
	struct arena *arena;
};
/* Whether the approval is such a request. */
bool access_is_request(const struct approval_record *r);
/* The host of a request; ERROR_INVALID when its input is none. */
MUST_CHECK int access_host(struct arena *a, const struct approval_record *r, const char **ret,
                           struct error *err);
/* Decides on a request that is pending, or applies one that is approved. `sandbox_id`: whose
 * request it has to be; NULL = any. */
MUST_CHECK int access_decide(const struct access_context *c, const struct tool_decision *d,
                             const char *sandbox_id, struct approval_record *ret,
                             struct error *err);
/* Changes the rules for an approved request, and notes that it was used. */
MUST_CHECK int access_apply(const struct access_context *c, struct approval_record *r,
                            struct error *err);

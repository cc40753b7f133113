/* SPDX-License-Identifier: Apache-2.0 */
/* tool/activation.h — requests to use a credential in a sandbox. The tool activate_credential makes
 * them; a person allows or refuses them.
 *
 * To allow one makes a consent (store/consents.h) for the version and the hosts that the request
 * names, and the credential works at once. If either has changed since, the request is refused and
 * has to be made again. The approval moves from pending to approved, the consent is written, and it
 * moves to used. A process that is killed in between leaves an approved one, which the tool's next
 * call or another click finishes. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

#define ACTIVATION_HOUR_MS (INT64_C(3600) * 1000) /* of a conversation's consent */

struct approval_record;
struct arena;
struct grants;
struct store;
struct tool_decision;

struct activation_context {
	struct store *store;
	struct grants *grants;
	struct arena *arena;
	const char *user_id; /* of the person who decides; "" = a key without one */
};
bool activation_is_request(const struct approval_record *r);
/* Decides on a request that is pending, or finishes one that is approved. A user's credential is
 * allowed by that user only. */
MUST_CHECK int activation_decide(const struct activation_context *c, const struct tool_decision *d,
                                 struct approval_record *ret, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* broker/sandbox/egress.h — the addresses that a sandbox may reach. */
#pragma once

#include "base/error.h"

struct pending_reply;
struct sandbox;
struct sandboxes;

/* Sets the rules of a new sandbox, before anything of its owner runs. */
MUST_CHECK int sandbox_apply_egress(struct sandbox *sandbox, struct error *err);
/* BROKER_EGRESS: replaces all rules of a running sandbox. They are in force when the call returns.
 * The reply comes, unless the call fails, when the connections that they refuse are ended. */
MUST_CHECK int sandboxes_set_egress(struct sandboxes *b, const struct pending_reply *reply,
                                    const char *id, const char *egress, struct error *err);
/* The sandbox is dead: cancels the child that ends connections, and sends its replies. */
void sandbox_end_egress(struct sandbox *sandbox);

/* SPDX-License-Identifier: Apache-2.0 */
/* broker/sandbox/egress.h — the addresses that a sandbox may reach. */
#pragma once

#include "broker/host/child.h"

struct sandbox;
struct sandboxes;

#define EGRESS_CUT_REPLIES_MAX 4

/* The rules have changed, and a child ends the connections that they refuse. */
struct egress_cut {
	struct sandbox *sandbox;
	struct broker_child child;
	/* The first `begun` wait for the running child, the others for the next one. */
	struct pending_reply replies[EGRESS_CUT_REPLIES_MAX];
	unsigned reply_count, begun;
};

/* Sets the rules of a new sandbox, before anything of its owner runs. */
MUST_CHECK int sandbox_apply_egress(struct sandbox *sandbox, struct error *err);
/* BROKER_EGRESS: replaces all rules of a running sandbox. They are in force when the call returns.
 * The reply comes, unless the call fails, when the connections that they refuse are ended. */
MUST_CHECK int sandboxes_set_egress(struct sandboxes *b, const struct pending_reply *reply,
                                    const char *id, const char *egress, struct error *err);
/* The sandbox is dead: cancels the child that ends connections, and sends its replies. */
void sandbox_end_egress(struct sandbox *sandbox);
/* Without replies. */
void sandbox_free_egress(struct sandbox *sandbox);

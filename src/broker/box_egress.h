/* SPDX-License-Identifier: Apache-2.0 */
/* broker/box_egress.h — whom a sandbox may reach. Private to this folder. */
#pragma once

#include "broker/event.h"
#include "broker/owed.h"

#define EGRESS_CUT_REPLIES_MAX 4

struct sandbox;
struct sandboxes;

/* Other rules hold, and what goes on against them is being ended. */
struct egress_cut {
	struct broker_child child;
	/* Who waits; the first `begun` for the child that is at work, the others for the next. */
	struct pending_reply replies[EGRESS_CUT_REPLIES_MAX];
	unsigned reply_count, begun;
};

/* From now on it reaches no more than it may: before anything of its owner's runs. */
MUST_CHECK int sandbox_apply_egress(struct sandbox *sandbox, struct error *err);
/* BROKER_EGRESS: other rules for one that runs, all at once. They hold when it returns; the answer
 * comes, unless it fails, when what is under way against them is cut. */
MUST_CHECK int sandboxes_set_egress(struct sandboxes *b, const struct pending_reply *reply,
                                    const char *id, const char *egress, struct error *err);
/* It is dead: nothing under way comes to it, and whoever waits for that is answered. */
void sandbox_end_egress(struct sandbox *sandbox);

/* SPDX-License-Identifier: Apache-2.0 */
/* broker/box_egress.h — whom a sandbox may reach. Private to this folder. */
#pragma once

#include "broker/event.h"
#include "broker/owed.h"

#define CUT_OWED_MAX 4

struct box;
struct boxes;

/* Other rules hold, and what goes on against them is being ended. */
struct box_cut {
	struct job job;
	/* Who waits; the first `begun` for the child that is at work, the others for the next. */
	struct owed owed[CUT_OWED_MAX];
	unsigned owed_count, begun;
};

/* From now on it reaches no more than it may: before anything of its owner's runs. */
MUST_CHECK int box_filter(struct box *box, struct error *err);
/* BROKER_EGRESS: other rules for one that runs, all at once. They hold when it returns; the answer
 * comes, unless it fails, when what is under way against them is cut. */
MUST_CHECK int boxes_filter(struct boxes *b, const struct owed *owed, const char *id,
                            const char *egress, struct error *err);
/* It is dead: nothing under way comes to it, and whoever waits for that is answered. */
void box_filter_end(struct box *box);

/* SPDX-License-Identifier: Apache-2.0 */
/* broker/sandbox/mounts.h — the detached mounts that the plan of a sandbox attaches. */
#pragma once

#include "base/error.h"
#include "broker/layers/root.h"
#include "broker/sandbox/review.h"

struct sandbox;

struct setup_mounts {
	struct root_mounts root;
	struct review_trees trees;
};
#define SETUP_MOUNTS_NONE ((struct setup_mounts){ROOT_MOUNTS_NONE, {{-1, -1, -1, -1}}})

MUST_CHECK int setup_mounts_open(struct sandbox *sandbox, struct setup_mounts *m,
                                 struct error *err);
void setup_mounts_close(struct setup_mounts *m);

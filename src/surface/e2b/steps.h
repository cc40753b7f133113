/* SPDX-License-Identifier: Apache-2.0 */
/* surface/e2b/steps.h — E2B's steps of a template as ours. Private to this folder. */
#pragma once

#include "surface/e2b/announced.h"

struct e2b_step {
	const char *type;
	const char **args;
	const char *files_hash;
	bool force;
};
extern const struct json_shape e2b_step_shape;

/* Fills spec->steps, and the draft's step_of. */
MUST_CHECK int e2b_steps_read(struct arena *a, const struct json_list *steps,
                              struct build_spec *spec, struct e2b_announced_build *draft,
                              struct error *err);
/* As a last step: what has to succeed within a minute, where nothing is started before it. A try
 * that hangs is ended after half of that. */
void e2b_steps_add_ready(struct arena *a, const char *ready, struct build_spec *spec);

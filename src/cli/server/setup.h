/* SPDX-License-Identifier: Apache-2.0 */
/* cli/server/setup.h — the parts of 'atoll setup'. Private to this folder. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

struct cli;
struct diagnosis_check;

/* setup_checks.c: what a server needs besides the abilities of the host (diagnosis.h). */
unsigned setup_checks(const struct diagnosis_check **ret);

/* setup_steps.c */
#define SETUP_UNIT "atoll.service"
#define SETUP_UNIT_DATA "/var/lib/atoll" /* of the unit */

enum setup_state { SETUP_KEPT, SETUP_DONE, SETUP_SKIPPED };
struct machine_step {
	const char *name;
	enum setup_state state;
	const char *text;
};
struct machine_setup {
	struct cli *cli;
	const char *data, *config; /* absolute paths: the data folder, the configuration */
	struct machine_step steps[8];
	unsigned step_count;
	bool is_unit_started;
};
/* Makes what is missing, and changes nothing that is there. */
MUST_CHECK int setup_make(struct machine_setup *s, struct error *err);

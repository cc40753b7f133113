/* SPDX-License-Identifier: Apache-2.0 */
/* cli/server/diagnosis.h — the abilities of a host: a table of checks, most of which try the
 * feature. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"

enum verdict {
	VERDICT_GOOD,
	VERDICT_LESS, /* Atoll runs, with fewer features */
	VERDICT_BAD,  /* no isolated sandboxes */
};

struct diagnosis_check {
	const char *name;
	enum verdict otherwise; /* the verdict if the check fails */
	/* Returns true if the feature works; *found describes the finding. */
	bool (*look)(struct arena *a, const char *data_dir, const char **found);
	const char *without; /* the consequence of a failure */
};

struct diagnosis {
	const struct diagnosis_check *check;
	enum verdict verdict;
	const char *found;
};

unsigned diagnosis_count(void);
/* Fills diagnosis_count() entries. */
unsigned diagnosis_make(struct arena *a, const char *data_dir, struct diagnosis *out);
bool diagnosis_is_able(const struct diagnosis *list, unsigned count);

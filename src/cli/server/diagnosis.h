/* SPDX-License-Identifier: Apache-2.0 */
/* cli/server/diagnosis.h — what a host can do: a table of checks, most of which try the thing.
 * Private to this folder. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"

enum verdict {
	VERDICT_GOOD,
	VERDICT_LESS, /* Atoll runs, with less */
	VERDICT_BAD,  /* no isolated sandboxes */
};

struct diagnosis_check {
	const char *name;
	enum verdict otherwise; /* the verdict when it fails */
	/* True when all is well; *found says what was seen. */
	bool (*look)(struct arena *a, const char *data_dir, const char **found);
	const char *without; /* what it means when it is not there */
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

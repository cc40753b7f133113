/* SPDX-License-Identifier: Apache-2.0 */
/* cli/server/diagnosis.h — the abilities of a host: a table of checks, most of which try the
 * feature. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

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

/* Makes the checks of a table. */
void diagnosis_run(struct arena *a, const char *data_dir, const struct diagnosis_check *table,
                   unsigned count, struct diagnosis *out);
/* The nearest existing folder: the data folder may not exist yet. */
const char *diagnosis_existing_part(struct arena *a, const char *path);
/* A line for each check, and one for what a failed check means. */
void diagnosis_add_text(const struct diagnosis *list, unsigned count, struct buf *out);
/* The member "checks". */
void diagnosis_add_json(const struct diagnosis *list, unsigned count, struct buf *out);

/* The table of 'atoll doctor'. */
unsigned diagnosis_count(void);
/* Fills diagnosis_count() entries. */
unsigned diagnosis_make(struct arena *a, const char *data_dir, struct diagnosis *out);
bool diagnosis_is_able(const struct diagnosis *list, unsigned count);

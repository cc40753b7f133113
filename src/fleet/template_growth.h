/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/template_growth.h — an import while it grows, beside what its project may keep. Within this
 * folder. The row in BUILDING has the size that the import has reached, so that imports that run at
 * the same time, on any server, count each other. */
#pragma once

#include "fleet/storage_limit.h"

struct template_growth {
	struct fleet *fleet;
	struct storage_claim claim; /* the texts are the record's */
	int64_t room;               /* when it began; INT64_MAX = no limit */
	int64_t looked_at;          /* monotonic */
	bool is_exceeded;           /* it is to be given up … */
	struct error what;          /* … because of this */
};

/* ERROR_LIMIT when there is no room at all. `ret_size_max`: as of struct provider_template. */
MUST_CHECK int template_growth_begin(struct template_growth *g, struct fleet *f,
                                     const struct template_record *t, uint64_t *ret_size_max,
                                     struct error *err);
/* It has become so large. */
void template_growth_update(struct template_growth *g, int64_t bytes);
/* It has failed: an error that comes from the limit says what the project keeps. */
void template_growth_explain(const struct template_growth *g, struct error *err);
/* Before it is READY: its size is written down, and then all that there is is counted, what others
 * are still making included. Of two that are done at once one sees the other, or both do. */
MUST_CHECK int template_growth_finish(struct fleet *f, const struct template_record *t,
                                      struct error *err);

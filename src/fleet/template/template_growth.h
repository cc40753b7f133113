/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/template/template_growth.h — the size of a running import against the storage limit of its
 * project. The row in BUILDING holds the size that the import has reached: imports at the same
 * time, on any server, count each other. */
#pragma once

#include "base/error.h"
#include "fleet/usage/storage_limit.h"

struct fleet;
struct template_record;

struct template_growth {
	struct fleet *fleet;
	struct storage_claim claim; /* the texts are the record's */
	int64_t room;               /* at the begin; INT64_MAX = no limit */
	int64_t looked_at;          /* monotonic */
	bool is_exceeded;           /* abort the import */
	struct error what;          /* the reason, if is_exceeded */
};

/* ERROR_LIMIT if no room is left. `ret_size_max`: as in struct provider_template. */
MUST_CHECK int template_growth_begin(struct template_growth *g, struct fleet *f,
                                     const struct template_record *t, uint64_t *ret_size_max,
                                     struct error *err);
/* The import has reached this size. */
void template_growth_update(struct template_growth *g, int64_t bytes);
/* After a failure: an error because of the limit gets the text about the project's storage. */
void template_growth_explain(const struct template_growth *g, struct error *err);
/* Before the import is READY: records its size, then checks the limit, counting other running
 * additions. Of two that finish at the same time at least one sees the other. */
MUST_CHECK int template_growth_finish(struct fleet *f, const struct template_record *t,
                                      struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/template/templates.h — templates: the default ones, first builds, removal. Recipes are in
 * recipe.h, imports in import.h, builds by steps in build.h. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "fleet/core/template_cache.h"

struct fleet;
struct fleet_awaited;

/* Adds the default templates that are missing; *ret_added counts them. */
MUST_CHECK int fleet_templates_seed(struct fleet *fleet, unsigned *ret_added, struct error *err);
/* Returns when the root filesystem of the template exists: builds it on first use, or waits for the
 * build that runs, until `deadline`. state_text of the record tells the progress. An image is
 * pulled in the same way (import.h). */
MUST_CHECK int fleet_template_ready(struct fleet *fleet, struct arena *a, struct template_record *t,
                                    int64_t deadline, struct error *err);
struct template_need {
	const char *project_id;              /* of the caller */
	const struct fleet_awaited *awaited; /* as in fleet_ref; a pull that it has awaited, and
	                                      * that failed, is not tried again */
};
/* fleet_template_ready that does not wait: queues the build of a missing template, and fails with
 * an error that awaits the template (waiting.h). */
MUST_CHECK int fleet_template_require(struct fleet *fleet, struct arena *a,
                                      struct template_record *t, const struct template_need *need,
                                      struct error *err);
/* ERROR_CONFLICT while a sandbox uses the template. */
MUST_CHECK int fleet_template_remove(struct fleet *fleet, const char *project_id,
                                     const char *name_or_id, struct error *err);

/* At boot: resets templates whose build was interrupted, fails interrupted imports. */
MUST_CHECK int templates_recover(struct fleet *f, struct error *err);
/* Removes pulled images that nothing uses: those that failed, those that have not been used for
 * image_keep, and the least recently used above image_cache_bytes_max. Each minute. */
void images_sweep(struct fleet *f);

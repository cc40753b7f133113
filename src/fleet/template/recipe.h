/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/template/recipe.h — the settings that a template gives its sandboxes. */
#pragma once

#include "json/json.h"

struct fleet;
struct fleet_pool_size;
struct fleet_ref;
struct fleet_warm;
struct sandbox_resources;
struct sandbox_timeouts;
struct template_record;

/* Whether other projects find a template by its id. */
enum recipe_visibility { RECIPE_AS_IT_IS, RECIPE_PUBLIC, RECIPE_PRIVATE };
/* NULL, or a map that is not `present`: not given. The value stays as it is, or as the image or the
 * source template has it. */
struct fleet_recipe {
	const char *description, *runtime, *user, *workdir;
	/* Of its sandboxes: the least isolation, and the provider; "" = none. The caller checks
	 * that a provider can meet both. */
	const char *isolation, *provider;
	struct json_map env;
	const char *const *entrypoint; /* NULL-terminated */
	const int64_t *ports;
	size_t port_count;
	const struct sandbox_resources *resources; /* 0 = inherited */
	const struct fleet_pool_size *pool;        /* see fleet/template/pools.h */
	const struct fleet_warm *warm;             /* see fleet/template/warm.h */
	const struct sandbox_timeouts *timeouts;   /* see sandbox_timeouts_change */
	enum recipe_visibility visibility;
};
MUST_CHECK int fleet_recipe_check(const struct fleet *fleet, const struct fleet_recipe *recipe,
                                  struct error *err);
/* Applies to sandboxes that are created from then on. An existing sandbox gets the new entrypoint
 * when it starts again. It gets the other settings after a restart of the server at the latest.
 * Refuses templates of other projects; a NULL project is the operator of the server. */
MUST_CHECK int fleet_template_change(struct fleet *fleet, struct arena *a,
                                     const struct fleet_ref *ref, const struct fleet_recipe *recipe,
                                     struct template_record *ret, struct error *err);
struct fleet_derive {
	const char *project_id, *name, *from;
	const struct fleet_recipe *recipe;
};
/* Adds a template on the root filesystem of another template, which is built first if need be. The
 * folder stays until the last template that uses it is removed. */
MUST_CHECK int fleet_template_derive(struct fleet *fleet, struct arena *a,
                                     const struct fleet_derive *request,
                                     struct template_record *ret, struct error *err);

/* Writes the given members of a checked recipe into the record; texts are borrowed. */
void recipe_apply(struct arena *a, const struct fleet_recipe *recipe, struct template_record *t);

/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/defaults.h — what commands of a sandbox inherit, from its template and its row. */
#pragma once

#include "base/error.h"

struct arena;
struct error;
struct fleet;
struct json_map;
struct sandbox_record;
struct template_record;

/* The environment is a list of "KEY=value" texts, NULL-terminated. Values of the row replace those
 * of the template; values of `extra` replace both. */
struct fleet_defaults {
	const char **env, *user, *workdir;
};
MUST_CHECK int fleet_defaults(struct fleet *fleet, struct arena *a, const struct sandbox_record *r,
                              const struct json_map *extra, struct fleet_defaults *ret,
                              struct error *err);
/* Of a sandbox that does not exist yet: nothing is cached. */
MUST_CHECK int defaults_compute(const struct fleet *f, struct arena *a,
                                const struct sandbox_record *r, const struct template_record *t,
                                struct fleet_defaults *ret, struct error *err);

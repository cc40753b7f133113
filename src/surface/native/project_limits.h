/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/project_limits.h — a project's limits for sandboxes, for the routes of projects
 * and of settings. */
#pragma once

#include "edge/api.h"
#include "json/json.h"
#include "sandbox/sandbox.h"

struct project_record;

struct resource_limits {
	double cpu;
	int64_t memory_mb, disk_mb, pids;
};
extern const struct json_shape resource_limits_shape;

static inline struct resource_limits resource_limits_from(const struct sandbox_resources *r)
{
	return (struct resource_limits){r->cpu, r->memory_mb, r->disk_mb, r->pids};
}
static inline struct sandbox_resources resource_limits_to(const struct resource_limits *l)
{
	return (struct sandbox_resources){l->cpu, l->memory_mb, l->disk_mb, l->pids};
}

/* New limits of a project; NULL: unchanged. */
struct resource_limits_change {
	const struct resource_limits *defaults, *maximums;
	const struct sandbox_resources *caps; /* the platform's upper bounds */
};
/* Checks that the defaults lie within the maximums, and both within the caps. */
MUST_CHECK int resource_limits_apply(const struct resource_limits_change *change,
                                     struct project_record *r, struct error *err);

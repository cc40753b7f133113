/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/usage/figures.h — current resource usage of many sandboxes.
 *
 * A sandbox is sampled at most every FLEET_FIGURES_EVERY_MS, for all callers together: a caller
 * that comes earlier gets the figures that another one has got. Sampling wakes nothing and is no
 * use of the sandbox. Nothing is sampled while nobody asks. Any thread. */
#pragma once

#include <stddef.h>

#include "provider/provider.h"
#include "sandbox/sandbox.h"

struct arena;
struct fleet;

#define FLEET_FIGURES_EVERY_MS 2000

struct fleet_figure {
	const char *id, *name;
	enum sandbox_state state;
	struct provider_stats stats;
	double cpu_percent; /* of one vCPU, since the sample before, or since the start */
};
struct fleet_figures {
	struct fleet_figure *items;
	size_t count;
	const char *next_page; /* NULL at the end */
};
struct fleet_figures_query {
	const char *project_id;
	const char *const *ids; /* names or ids, NULL-terminated; NULL = all */
	const char *page;
	unsigned limit; /* 1..1000 */
};
/* Started and paused sandboxes of this server, newest first. Those that end meanwhile are left out;
 * a provider that does not answer fails the call. */
MUST_CHECK int fleet_figures(struct fleet *fleet, struct arena *a,
                             const struct fleet_figures_query *query, struct fleet_figures *ret,
                             struct error *err);

/* The samples between two calls. */
struct figure_samples;
struct figure_samples *figure_samples_new(void);
void figure_samples_free(struct figure_samples *s);

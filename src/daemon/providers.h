/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/providers.h — the providers of the configuration are opened, and the broker is awaited. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "provider/set.h"
#include "provider/shared.h"

struct arena;
struct config;
struct store;

/* A wait for a broker that is starting. */
struct broker_wait {
	int64_t began_ms, deadline, said_ms;
};
/* With a supervisor the wait is long: either the broker lives or the supervisor ends this process,
 * and under high load the broker's start takes minutes. */
struct broker_wait broker_wait_begin(bool is_watched);
/* Returns false when the wait has lasted too long. */
bool broker_wait_moment(struct broker_wait *w, const struct error *why);

struct config_provider;

/* Where the options of providers come from. */
struct provider_sources {
	const struct config *config;
	struct provider_options shared;  /* what does not come from the configuration */
	struct provider_shared identity; /* of providers_share */
};
/* Fills in shared.shared. When the store cannot tell it, it stays NULL, and a provider that needs
 * it refuses to open. The sources stay where they are from now on. */
void providers_share(struct provider_sources *sources, struct store *store);
/* Adds a member without opening it, or changes that of a stored provider; it may run while the
 * server does, on one thread at a time. `version`: of a stored provider's row, whose secrets are
 * values; 0: of the configuration, whose secrets are references. */
MUST_CHECK int providers_add(struct provider_set *set, const struct provider_sources *sources,
                             const struct config_provider *p, int64_t version, struct error *err);
/* The set of the configuration's providers; none is open yet. The caller frees the set, also after
 * a failure. */
MUST_CHECK int providers_open(struct arena *a, const struct provider_sources *sources,
                              struct provider_set **ret, struct error *err);
/* Opens the primary, whose broker starts at the same time and may not be ready yet, and then the
 * others that answer. */
MUST_CHECK int providers_open_primary(struct provider_set *set, struct broker_wait *wait,
                                      struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/server/stored_providers.h — providers and routing rules of the store: every server on it
 * reads them in each tick, and adds and removes members of its provider set. A member leaves only
 * because its row says that it was removed. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct arena;
struct fleet;
struct fleet_options;

/* Of the open and the close of the fleet. */
void stored_providers_begin(struct fleet *f, const struct fleet_options *options);
void stored_providers_end(struct fleet *f);
/* Makes the provider set and the rules those of the store. Providers are opened by
 * stored_providers_open. */
MUST_CHECK int stored_providers_refresh(struct fleet *f, struct error *err);
/* The same, but reads only what another server may have changed. */
MUST_CHECK int stored_providers_tick(struct fleet *f, struct error *err);
/* Opens members that are not open; returns how many it opened. 0 while another thread does. */
unsigned stored_providers_open(struct fleet *f);
/* Notes what the sandboxes of each provider have cost, every few seconds. */
void stored_providers_note_costs(struct fleet *f);
/* Why this server cannot use the stored provider `name`; NULL: it can. */
const char *stored_provider_problem(struct fleet *f, struct arena *a, const char *name);

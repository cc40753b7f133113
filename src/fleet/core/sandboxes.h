/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/sandboxes.h — rows of sandboxes: find, visit, and the check that one is here. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "fleet/core/ref.h"

struct arena;
struct error;
struct fleet;
struct provider_stats;
struct sandbox_record;

MUST_CHECK int fleet_find(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                          struct sandbox_record *ret, struct error *err);
MUST_CHECK int fleet_stats(struct fleet *fleet, const struct sandbox_record *r,
                           struct provider_stats *ret, struct error *err);

typedef void fleet_visit(struct fleet *f, const struct sandbox_record *r, void *context);
/* Visits each row of this server and provider that is not deleted. */
MUST_CHECK int fleet_each_sandbox(struct fleet *f, fleet_visit *visit, void *context,
                                  struct error *err);
/* Whether the sandbox belongs to this server and its provider. */
bool sandbox_is_local(const struct fleet *f, const struct sandbox_record *r);
MUST_CHECK int sandbox_check_local(const struct fleet *f, const struct sandbox_record *r,
                                   struct error *err);
/* Started or paused: its processes exist. */
bool sandbox_is_alive(const struct sandbox_record *r);
/* "sandbox 'x' is stopped and cannot be paused"; returns -1. */
int refuse_state(const struct sandbox_record *r, const char *what, struct error *err);

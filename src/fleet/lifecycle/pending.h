/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lifecycle/pending.h — creates that were answered before they are done. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct arena;
struct error;
struct fleet;
struct resolved_create;

/* A worker creates the sandbox of this row in PENDING once its template is ready. */
MUST_CHECK int pending_submit(struct fleet *f, struct arena *a,
                              const struct resolved_create *resolved, int64_t begun_ns,
                              struct error *err);
/* Drops the creations that still wait; the next start reconciles their rows. */
void pending_end(struct fleet *f);

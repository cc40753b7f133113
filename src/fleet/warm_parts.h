/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/warm_parts.h — warm.c for the rest of this folder. */
#pragma once

#include "fleet/parts.h"
#include "fleet/warm.h"

MUST_CHECK int warm_check(const struct fleet *f, const struct fleet_recipe *recipe,
                          struct error *err);
const char *warm_to_json(struct arena *a, const struct fleet_warm *warm);
/* Names what a template's sandboxes keep, as it is now: no other template, and no earlier state of
 * this one, has the same name. "" = nothing. */
const char *warm_name(struct arena *a, const struct template_record *t);
/* What is told to the agent of a sandbox that is nobody's yet, frames; empty when it keeps nothing
 * or when that would be too long. */
MUST_CHECK int warm_wish(const struct fleet *f, struct arena *a, const struct template_record *t,
                         struct span *ret, struct error *err);
/* Has the agent of a sandbox that runs keep the interpreters that its template wishes for. Without
 * them all works, more slowly: a failure is logged. */
void warm_start(struct operation *op, const struct template_record *t);

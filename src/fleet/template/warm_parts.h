/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/template/warm_parts.h — warm interpreters, for the other files of this folder. */
#pragma once

#include "base/error.h"

struct arena;
struct error;
struct fleet;
struct fleet_recipe;
struct fleet_warm;
struct operation;
struct span;
struct template_record;

MUST_CHECK int warm_check(const struct fleet *f, const struct fleet_recipe *recipe,
                          struct error *err);
const char *warm_to_json(struct arena *a, const struct fleet_warm *warm);
/* A name for the warm interpreters of a template in its present state; no other template and no
 * earlier state has the same. "" = it has none. */
const char *warm_name(struct arena *a, const struct template_record *t);
/* Frames for the agent of a prepared sandbox that has no owner yet. Empty if the template has no
 * warm interpreters, or if the frames would be too long. */
MUST_CHECK int warm_wish(const struct fleet *f, struct arena *a, const struct template_record *t,
                         struct span *ret, struct error *err);
/* Makes the agent of a running sandbox keep the interpreters of its template. A failure is only
 * logged: everything works without them, more slowly. */
void warm_start(struct operation *op, const struct template_record *t);

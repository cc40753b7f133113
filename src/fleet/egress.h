/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/egress.h — which addresses a sandbox may reach. sandbox/egress.h turns the rules into a
 * text. */
#pragma once

#include "fleet/fleet.h"
#include "sandbox/egress.h"

/* Replaces all rules; "" = none. They apply at once to a started or paused sandbox, its open
 * connections included, and otherwise from the next start. A sandbox without a network accepts only
 * rules that deny everything. */
MUST_CHECK int fleet_set_egress(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                                const char *egress, struct sandbox_record *ret, struct error *err);

/* ---- within this folder ---- */

/* Checks the rules of a request: the provider can filter, and there is a network. NULL or "" = no
 * rules. */
MUST_CHECK int egress_check(const struct fleet *f, enum sandbox_network network, const char *egress,
                            struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/elsewhere.h — what another server on the same store has. Private to this folder. */
#pragma once

#include "fleet/peers.h"

/* "sandbox 'a' is on node 'x', this is node 'y'", and that the other one can do it. Returns -1. */
struct elsewhere {
	const char *what, *name, *how; /* "sandbox", its name, "is" */
	const char *node;
};
int elsewhere_fail(const struct fleet *f, const struct elsewhere *e, struct error *err);
/* Whether another server can be asked. Fails when that is not known: to take it for gone then would
 * make a second sandbox beside its own. */
MUST_CHECK int peer_is_reached(struct fleet *f, struct arena *a, const char *node, bool *ret,
                               struct error *err);
/* Says in the store that this one lives, if it has an address, and not more often than need be.
 * Called each second. One without an address takes back what it said before. */
void peer_tick(struct fleet *f);
/* Says that it has ended. */
void peer_leave(struct fleet *f);

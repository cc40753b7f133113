/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/elsewhere.h — what belongs to another server on the same store. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct arena;
struct error;
struct fleet;
struct peer_record;
struct takeover;

/* "sandbox 'a' is on node 'x', this is node 'y'": the caller may pass the request on. Returns -1.
 */
struct elsewhere {
	const char *what, *name, *how; /* "sandbox", its name, "is" */
	const char *node;
};
int elsewhere_fail(const struct fleet *f, const struct elsewhere *e, struct error *err);
/* Whether the server of `node` answers requests. Fails if that is not known: a server that is
 * wrongly taken for gone would lead to two sandboxes for one lease. */
MUST_CHECK int peer_is_reached(struct fleet *f, struct arena *a, const char *node, bool *ret,
                               struct error *err);
/* What this server knows of those that are gone (takeover.h). */
struct takeover *takeover_new(void);
void takeover_free(struct takeover *t); /* NULL is fine */
/* Whether it has said lately that it lives. */
bool peer_is_heard(const struct peer_record *r);
/* Says in the store that this server lives, if it has an address. Each second, and at boot. */
void peer_tick(struct fleet *f);
/* Says in the store that this server has ended. */
void peer_leave(struct fleet *f);
/* The same soon, see fleet_hand_over. */
void peer_hand_over(struct fleet *f);

/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/takeover.h — a server takes the sandboxes of another that is gone.
 *
 * Only sandboxes of shared providers (provider/shared.h) move, and only from a server that has an
 * address: their rows get another node, and whatever runs in them goes on. The compare-and-set of
 * the store decides which server gets a row.
 *
 *   a request for a sandbox of server A reaches server B
 *     B passes it on to A ............................ A answers
 *     A has ended, is silent, or cannot be connected:
 *       B writes that A has ended, takes A's rows, and serves the request itself
 *
 * A server that was only cut off from B reads within a second that it is said to have ended. It
 * then forgets its copies of rows, says that it lives, and passes requests for what it lost on to
 * B. Rows between two states are taken when their server has been gone for 15 s: a server that
 * lives finishes them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct fleet;

/* The server `node` was not reached: writes that it has ended and takes what rests. Returns how
 * many rows; 0 also when no provider is shared, or another server was faster. Queries the store. */
MUST_CHECK int fleet_take_over(struct fleet *fleet, struct arena *a, const char *node,
                               struct error *err);
/* Whether a provider of this server is shared. */
bool fleet_has_shared_provider(const struct fleet *fleet);
/* Whether all are: nothing of this server is lost to others when it ends. */
bool takeover_takes_all(const struct fleet *f);
/* Rows of shared providers in memory may be another server's by now: they are read again. */
void takeover_forget_rows(struct fleet *f);

/* Each second: takes the rows of servers that are gone, and notices when this server was taken for
 * gone. For peer_tick. */
void takeover_tick(struct fleet *f);

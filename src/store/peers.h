/* SPDX-License-Identifier: Apache-2.0 */
/* store/peers.h — servers on this store that others reach, and how. Part of store.h.
 *
 * A row is a server's own: it alone writes it, from its configuration, and says every few seconds
 * that it lives. */
#pragma once

#include "store/store.h"

struct peer_record {
	const char *node;
	const char *url; /* as config_peer_parse takes it */
	int64_t seen_at; /* 0: it has ended */
};
/* Makes or replaces its row. */
MUST_CHECK int store_peer_put(struct store *s, const struct peer_record *r, struct error *err);
/* One without an address is no peer. Also when there is no row. */
MUST_CHECK int store_peer_remove(struct store *s, const char *node, struct error *err);
MUST_CHECK int store_peer_find(struct store *s, struct arena *a, const char *node,
                               struct peer_record *ret, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* store/peers.h — the addresses of the servers that share this store.
 *
 * Each server writes only its own row, from its configuration, and refreshes it every few
 * seconds. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct error;
struct store;

struct peer_record {
	const char *node;
	const char *url; /* as config_peer_parse accepts it */
	int64_t seen_at; /* 0: the server has ended */
};
struct peer_list {
	struct peer_record *items;
	size_t count;
};
/* Inserts or replaces the row of a server. */
MUST_CHECK int store_peer_put(struct store *s, const struct peer_record *r, struct error *err);
/* For a server without an address. No error without a row. */
MUST_CHECK int store_peer_remove(struct store *s, const char *node, struct error *err);
MUST_CHECK int store_peer_find(struct store *s, struct arena *a, const char *node,
                               struct peer_record *ret, struct error *err);
/* At most 1000, by name. */
MUST_CHECK int store_peer_list(struct store *s, struct arena *a, struct peer_list *ret,
                               struct error *err);

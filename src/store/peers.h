/* SPDX-License-Identifier: Apache-2.0 */
/* store/peers.h — the addresses of the servers that share this store.
 *
 * Each server writes its own row, from its configuration, and refreshes it every few seconds.
 * Another server may write that it has ended, when it cannot be reached. */
#pragma once

#include <stdbool.h>
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
/* Writes that the server has ended, if its row still says `r->seen_at`. Returns whether it did. */
MUST_CHECK int store_peer_end(struct store *s, const struct peer_record *r, struct error *err);
/* Drops rows of servers that were seen last before `before` and have no sandbox, snapshot, volume
 * or backup. */
MUST_CHECK int store_peer_purge(struct store *s, int64_t before, struct error *err);
/* At most 1000, by name. */
MUST_CHECK int store_peer_list(struct store *s, struct arena *a, struct peer_list *ret,
                               struct error *err);

/* Rows of sandboxes of a server that is gone become another server's. */
struct sandbox_takeover {
	const char *node, *from; /* the server that gets the rows, and the one that had them */
	const char *providers;   /* JSON object whose members name the providers */
	bool with_unfinished;    /* those in between two states, too */
};
/* Returns the number of rows. */
MUST_CHECK int store_sandbox_take_over(struct store *s, const struct sandbox_takeover *takeover,
                                       struct error *err);

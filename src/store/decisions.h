/* SPDX-License-Identifier: Apache-2.0 */
/* store/decisions.h — network decisions (sandbox/decision.h) of sandboxes, coalesced: a row counts
 * equal decisions of about a second.
 *
 * Rows have one order for all servers, by `sequence`, as events have. decision/decision.h writes
 * them in batches. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct event_bounds;
struct event_retention;
struct store;

struct decision_record {
	int64_t sequence, at;
	const char *project_id, *sandbox_id;
	const char *verdict, *code, *protocol;          /* names of sandbox/decision.h */
	const char *host, *address, *rule, *credential; /* "" = none */
	int64_t port, count, bytes_in, bytes_out;
};
struct decision_list {
	struct decision_record *items; /* oldest first */
	size_t count;
};

/* A row of count 0 adds its bytes to the newest row about its host. */
struct decision_addition {
	struct decision_record record; /* without sequence and project */
	bool tells;                    /* adds an event egress.denied or egress.allowed, too */
};
struct decision_batch {
	const struct decision_addition *items;
	size_t count;
};
/* One transaction, which does not wait for the disk. The store sets sequence and project; it skips
 * rows of sandboxes that it does not know. */
MUST_CHECK int store_decision_add(struct store *s, const struct decision_batch *batch,
                                  struct error *err);

/* Selects rows of a sandbox; NULL = any. `host` is a name or an address. */
struct decision_page {
	const char *project_id, *sandbox_id, *verdict, *code, *protocol, *host;
	int64_t after, before; /* exclusive; before 0 = no bound */
	int64_t limit;         /* 1..1000 */
	bool newest;           /* the last `limit` rows instead of the first */
};
MUST_CHECK int store_decision_list(struct store *s, struct arena *a,
                                   const struct decision_page *page, struct decision_list *ret,
                                   struct error *err);
/* As store_event_bounds and store_event_purge. */
MUST_CHECK int store_decision_bounds(struct store *s, struct event_bounds *ret, struct error *err);
MUST_CHECK int store_decision_purge(struct store *s, const struct event_retention *keep,
                                    bool *ret_more, struct error *err);
/* Drops the oldest rows of a sandbox beyond `count_max`. */
MUST_CHECK int store_decision_trim(struct store *s, const char *sandbox_id, int64_t count_max,
                                   struct error *err);

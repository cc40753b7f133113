/* SPDX-License-Identifier: Apache-2.0 */
/* store/events.h — what happened, in one order for the whole server. Part of store.h's contract.
 *
 * Every change of state leaves its event in the transaction that makes it, so neither is there
 * without the other. Numbers grow and are never given twice; some may be missing. Old events are
 * purged, the newest one never. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

struct event_record {
	int64_t sequence, at;
	const char *project_id; /* "" = the server's own, for its operator */
	const char *sandbox_id; /* "" = of no sandbox */
	const char *kind;       /* of sandbox/events.h */
	const char *reason;     /* "" = none */
	const char *text;
	const char *detail; /* JSON for programs; "" = none */
};

struct event_list {
	struct event_record *items; /* oldest first */
	size_t count;
};

/* Which events; NULL = any. */
struct event_page {
	const char *project_id, *sandbox_id;
	const char *pattern;   /* as of event_pattern_check */
	int64_t after, before; /* exclusive; before 0 = no bound */
	int64_t limit;         /* 1..1000 */
	bool newest;           /* the last so many of them, else the first */
};
MUST_CHECK int store_event_list(struct store *s, struct arena *a, const struct event_page *page,
                                struct event_list *ret, struct error *err);
/* For what no other call of the store tells by itself. `sequence` is given by the store. */
MUST_CHECK int store_event_add(struct store *s, const struct event_record *event,
                               struct error *err);

/* Zeros while there is none. Of several servers' events a lower number may be committed after a
 * higher one: `newest` is then the last before the first number that may still come. Who reads on
 * and on reads no further than that, and misses nothing. */
struct event_bounds {
	int64_t oldest, newest; /* sequences */
	int64_t oldest_at;
};
MUST_CHECK int store_event_bounds(struct store *s, struct event_bounds *ret, struct error *err);
/* Drops those that came before `before`, and the oldest beyond `count_max`: a few thousand per
 * call; *ret_more tells whether there are more. */
struct event_retention {
	int64_t before, count_max;
};
MUST_CHECK int store_event_purge(struct store *s, const struct event_retention *keep,
                                 bool *ret_more, struct error *err);

/* Called on the thread that has changed something, after events have been committed and before its
 * call returns: must be short and must not call the store. The struct is the caller's and must live
 * until it is removed. */
struct event_watcher {
	void (*on_events)(void *context);
	void *context;
	struct event_watcher *next; /* the store's own */
};
void store_event_watch(struct store *s, struct event_watcher *w);
/* When it returns, it is called no more. */
void store_event_unwatch(struct store *s, struct event_watcher *w);

/* SPDX-License-Identifier: Apache-2.0 */
/* store/events.h — the event log, in a single order for the whole server.
 *
 * Every state change adds its event in the same transaction. Sequence numbers grow and are never
 * reused; some may be missing. Old events are purged, but never the newest. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct error;
struct store;

struct event_record {
	int64_t sequence, at;
	const char *project_id; /* "" = an event of the server, for its operator */
	const char *sandbox_id; /* "" = no sandbox */
	const char *kind;       /* as in sandbox/events.h */
	const char *reason;     /* "" = none */
	const char *text;
	const char *detail; /* JSON for programs; "" = none */
};

struct event_list {
	struct event_record *items; /* oldest first */
	size_t count;
};

/* Selects events; NULL = any. */
struct event_page {
	const char *project_id, *sandbox_id;
	const char *pattern;   /* as event_pattern_check accepts it */
	int64_t after, before; /* exclusive; before 0 = no bound */
	int64_t limit;         /* 1..1000 */
	bool newest;           /* the last `limit` events instead of the first */
};
MUST_CHECK int store_event_list(struct store *s, struct arena *a, const struct event_page *page,
                                struct event_list *ret, struct error *err);
/* Adds an event that belongs to no other call of the store. The store sets `sequence`. */
MUST_CHECK int store_event_add(struct store *s, const struct event_record *event,
                               struct error *err);

/* Zeros without events. With several servers a lower number may be committed after a higher one:
 * `newest` is the last number before the first that may still appear. A reader that stops at
 * `newest` misses nothing. */
struct event_bounds {
	int64_t oldest, newest; /* sequences */
	int64_t oldest_at;
};
MUST_CHECK int store_event_bounds(struct store *s, struct event_bounds *ret, struct error *err);
/* Drops events before `before`, and the oldest beyond `count_max`: a few thousand per call;
 * *ret_more is true when more remain. */
struct event_retention {
	int64_t before, count_max;
};
MUST_CHECK int store_event_purge(struct store *s, const struct event_retention *keep,
                                 bool *ret_more, struct error *err);

/* on_events is called on the changing thread, after events were committed and before its store call
 * returns. It must be short and must not call the store. The caller owns the struct and keeps it
 * until it is removed. */
struct event_watcher {
	void (*on_events)(void *context);
	void *context;
	struct event_watcher *next; /* used by the store */
};
void store_event_watch(struct store *s, struct event_watcher *w);
/* on_events is not called after this returns. */
void store_event_unwatch(struct store *s, struct event_watcher *w);

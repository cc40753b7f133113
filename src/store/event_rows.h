/* SPDX-License-Identifier: Apache-2.0 */
/* store/event_rows.h — adds events in the transactions of other nouns. */
#pragma once

#include <stdint.h>

#include "sandbox/events.h"
#include "store/events.h"
#include "store/queries.h"

struct store_connection;
struct event_watchers;
struct store;

/* Adds an event in a transaction; watchers are notified after the commit. */
MUST_CHECK int event_add(struct store_connection *c, const struct event_record *event,
                         struct error *err);
/* An event of the current time without a reason. */
struct event_subject {
	const char *project_id, *sandbox_id; /* sandbox_id NULL = no sandbox */
	const char *name;                    /* name of the changed object */
};
MUST_CHECK int event_add_about(struct store_connection *c, enum event_kind kind,
                               const struct event_subject *subject, struct error *err);

/* credentials.c: an event about a credential. */
struct credential_record;
MUST_CHECK int credential_tell(struct store_connection *c, enum event_kind kind,
                               const struct credential_record *r, struct error *err);

/* A log whose rows have growing numbers, such as the events. Some numbers are missing; the newest
 * row is never purged. */
struct numbered_log {
	enum query_name bounds, gap, purge;
};
/* As store_event_bounds and store_event_purge. */
MUST_CHECK int numbered_log_bounds(struct store *s, const struct numbered_log *log,
                                   struct event_bounds *ret, struct error *err);
MUST_CHECK int numbered_log_purge(struct store *s, const struct numbered_log *log,
                                  const struct event_retention *keep, bool *ret_more,
                                  struct error *err);

struct event_watchers *event_watchers_new(void);
void event_watchers_free(struct event_watchers *w);
/* Number of events added so far, committed or not. */
uint64_t event_watchers_count(struct event_watchers *w);
void event_watchers_notify(struct event_watchers *w);

/* SPDX-License-Identifier: Apache-2.0 */
/* store/event_rows.h — adds events in the transactions of other nouns. */
#pragma once

#include <stdint.h>

#include "sandbox/events.h"
#include "store/events.h"

struct store_connection;
struct event_watchers;

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

struct event_watchers *event_watchers_new(void);
void event_watchers_free(struct event_watchers *w);
/* Number of events added so far, committed or not. */
uint64_t event_watchers_count(struct event_watchers *w);
void event_watchers_notify(struct event_watchers *w);

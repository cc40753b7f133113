/* SPDX-License-Identifier: Apache-2.0 */
/* store/webhooks.h — who is told of events, and what is still to be told. Part of store.h's
 * contract.
 *
 * A delivery is a row from the moment that its event has been looked at until some days after its
 * end. A cursor says up to which event that has been done: it moves in the transaction that adds
 * the deliveries, by compare and set, so that of several servers one adds them, once. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

struct webhook_record {
	const char *id, *project_id;
	const char *url, *secret;
	const char *patterns;   /* of events, with blanks between */
	const char *state_text; /* why it is not enabled; "" = nothing to say */
	bool enabled;
	int64_t after; /* events up to this one came before it was enabled */
	int64_t created_at, updated_at;
	int64_t waiting, dead; /* deliveries; not written */
};

struct webhook_list {
	struct webhook_record *items; /* oldest first */
	size_t count;
};

/* ERROR_LIMIT when the project has webhooks_max already. Its `after` is the newest event. */
MUST_CHECK int store_webhook_insert(struct store *s, const struct webhook_record *r,
                                    unsigned webhooks_max, struct error *err);
MUST_CHECK int store_webhook_find(struct store *s, struct arena *a, const char *project_id,
                                  const char *id, struct webhook_record *ret, struct error *err);
/* project_id NULL = all. */
MUST_CHECK int store_webhook_list(struct store *s, struct arena *a, const char *project_id,
                                  struct webhook_list *ret, struct error *err);
/* URL, secret, patterns, state text and whether it is enabled; from when it is enabled again, only
 * newer events count. */
MUST_CHECK int store_webhook_update(struct store *s, const struct webhook_record *r,
                                    struct error *err);
/* Its state text, and that it is not enabled. */
MUST_CHECK int store_webhook_disable(struct store *s, const struct webhook_record *r,
                                     struct error *err);
/* With its deliveries. */
MUST_CHECK int store_webhook_remove(struct store *s, const char *project_id, const char *id,
                                    struct error *err);

/* ---- from events to deliveries ---- */

enum delivery_state { DELIVERY_WAITING, DELIVERY_DELIVERED, DELIVERY_DEAD, DELIVERY_STATE_COUNT };
const char *delivery_state_name(enum delivery_state state);

struct delivery_record {
	const char *id, *webhook_id;
	int64_t sequence; /* of its event */
	const char *kind, *body;
	enum delivery_state state;
	int64_t attempts; /* begun */
	int64_t status;   /* of the last answer; 0 = none came */
	const char *error;
	int64_t created_at, next_at, ended_at;
};

struct delivery_list {
	struct delivery_record *items;
	size_t count;
};

struct webhook_cursor {
	int64_t sequence;   /* events up to it have been looked at */
	int64_t generation; /* changes with every change of a webhook */
};
MUST_CHECK int store_webhook_cursor(struct store *s, struct webhook_cursor *ret, struct error *err);
struct webhook_dispatch {
	struct webhook_cursor from; /* ERROR_CONFLICT when it is another one by now */
	int64_t to;
	const struct delivery_record *items;
	size_t count;
};
MUST_CHECK int store_webhook_dispatch(struct store *s, const struct webhook_dispatch *d,
                                      struct error *err);

/* ---- deliveries ---- */

/* The oldest that is due; ERROR_NOT_FOUND when there is none. */
MUST_CHECK int store_delivery_next(struct store *s, struct arena *a, const char *webhook_id,
                                   int64_t now, struct delivery_record *ret, struct error *err);
/* When the next one will be due; 0 when none waits. */
MUST_CHECK int store_delivery_next_at(struct store *s, const char *webhook_id, int64_t *ret,
                                      struct error *err);
/* Begins an attempt: whoever counts it up has it until `until`, when it is due again should he have
 * gone. ERROR_CONFLICT when somebody else was faster. */
struct delivery_claim {
	const char *id;
	int64_t attempts; /* as read; one more from now on */
	int64_t until;
	const char *node; /* the server's */
};
MUST_CHECK int store_delivery_claim(struct store *s, const struct delivery_claim *claim,
                                    struct error *err);
/* What a server had claimed that is no more is due now. */
MUST_CHECK int store_delivery_release(struct store *s, const char *node, int64_t now,
                                      struct error *err);
/* Ends the attempt of that number: to WAITING for another one at next_at. */
struct delivery_end {
	const char *id;
	int64_t attempts;
	enum delivery_state state;
	int64_t status, next_at, now;
	const char *error;
};
MUST_CHECK int store_delivery_end(struct store *s, const struct delivery_end *end,
                                  struct error *err);
/* From any state to WAITING, due now, as if it were new; counts as a change of the webhook. */
struct delivery_ref {
	const char *webhook_id, *id;
	int64_t now;
};
MUST_CHECK int store_delivery_retry(struct store *s, const struct delivery_ref *ref,
                                    struct error *err);
struct delivery_page {
	const char *webhook_id;
	const char *state; /* NULL = any */
	int64_t before;    /* of an event's sequence; 0 = no bound */
	int64_t limit;     /* 1..1000 */
};
/* Newest first. */
MUST_CHECK int store_delivery_list(struct store *s, struct arena *a,
                                   const struct delivery_page *page, struct delivery_list *ret,
                                   struct error *err);
/* Drops what ended before these times: a few thousand per call. */
struct delivery_retention {
	int64_t delivered_before, dead_before;
};
MUST_CHECK int store_delivery_purge(struct store *s, const struct delivery_retention *keep,
                                    struct error *err);

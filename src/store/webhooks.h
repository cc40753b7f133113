/* SPDX-License-Identifier: Apache-2.0 */
/* store/webhooks.h — webhooks and their deliveries.
 *
 * A delivery row exists from the moment its event was processed until some days after its end. A
 * cursor holds the last processed event. It moves in the transaction that adds the deliveries, by
 * compare and set, so exactly one of several servers adds them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct error;
struct store;

struct webhook_record {
	const char *id, *project_id;
	const char *url, *secret;
	const char *patterns;   /* event patterns, separated by blanks */
	const char *state_text; /* why it is disabled; "" = no reason */
	bool enabled;
	int64_t after; /* events up to this one are not delivered */
	int64_t created_at, updated_at;
	int64_t waiting, dead; /* counts of deliveries; read-only */
};

struct webhook_list {
	struct webhook_record *items; /* oldest first */
	size_t count;
};

/* ERROR_LIMIT when the project has webhooks_max webhooks already. `after` becomes the newest
 * event. */
MUST_CHECK int store_webhook_insert(struct store *s, const struct webhook_record *r,
                                    unsigned webhooks_max, struct error *err);
MUST_CHECK int store_webhook_find(struct store *s, struct arena *a, const char *project_id,
                                  const char *id, struct webhook_record *ret, struct error *err);
/* project_id NULL = all. */
MUST_CHECK int store_webhook_list(struct store *s, struct arena *a, const char *project_id,
                                  struct webhook_list *ret, struct error *err);
/* Writes URL, secret, patterns, state_text and enabled; after it is enabled again, only newer
 * events are delivered. */
MUST_CHECK int store_webhook_update(struct store *s, const struct webhook_record *r,
                                    struct error *err);
/* Disables it with its state_text. */
MUST_CHECK int store_webhook_disable(struct store *s, const struct webhook_record *r,
                                     struct error *err);
/* Removes it with its deliveries. */
MUST_CHECK int store_webhook_remove(struct store *s, const char *project_id, const char *id,
                                    struct error *err);

enum delivery_state { DELIVERY_WAITING, DELIVERY_DELIVERED, DELIVERY_DEAD, DELIVERY_STATE_COUNT };
const char *delivery_state_name(enum delivery_state state);

struct delivery_record {
	const char *id, *webhook_id;
	int64_t sequence; /* sequence of its event */
	const char *kind, *body;
	enum delivery_state state;
	int64_t attempts; /* started attempts */
	int64_t status;   /* HTTP status of the last answer; 0 = none */
	const char *error;
	int64_t created_at, next_at, ended_at;
};

struct delivery_list {
	struct delivery_record *items;
	size_t count;
};

struct webhook_cursor {
	int64_t sequence;   /* the last processed event */
	int64_t generation; /* changes with every change of a webhook */
};
MUST_CHECK int store_webhook_cursor(struct store *s, struct webhook_cursor *ret, struct error *err);
struct webhook_dispatch {
	struct webhook_cursor from; /* ERROR_CONFLICT when the cursor has moved */
	int64_t to;
	const struct delivery_record *items;
	size_t count;
};
MUST_CHECK int store_webhook_dispatch(struct store *s, const struct webhook_dispatch *d,
                                      struct error *err);

/* The oldest due delivery; ERROR_NOT_FOUND without one. */
MUST_CHECK int store_delivery_next(struct store *s, struct arena *a, const char *webhook_id,
                                   int64_t now, struct delivery_record *ret, struct error *err);
/* When the next delivery is due; 0 = none. */
MUST_CHECK int store_delivery_next_at(struct store *s, const char *webhook_id, int64_t *ret,
                                      struct error *err);
/* Claims an attempt by incrementing `attempts`. The claim lasts until `until`; then the delivery is
 * due again. ERROR_CONFLICT when another server was faster. */
struct delivery_claim {
	const char *id;
	int64_t attempts; /* as read; the claim adds 1 */
	int64_t until;
	const char *node; /* the claiming server */
};
MUST_CHECK int store_delivery_claim(struct store *s, const struct delivery_claim *claim,
                                    struct error *err);
/* Makes the claims of an ended server due now. */
MUST_CHECK int store_delivery_release(struct store *s, const char *node, int64_t now,
                                      struct error *err);
/* Ends the attempt with that number; WAITING means another attempt at next_at. */
struct delivery_end {
	const char *id;
	int64_t attempts;
	enum delivery_state state;
	int64_t status, next_at, now;
	const char *error;
};
MUST_CHECK int store_delivery_end(struct store *s, const struct delivery_end *end,
                                  struct error *err);
/* Moves any state to WAITING, due now, like a new delivery; counts as a change of the webhook. */
struct delivery_ref {
	const char *webhook_id, *id;
	int64_t now;
};
MUST_CHECK int store_delivery_retry(struct store *s, const struct delivery_ref *ref,
                                    struct error *err);
/* The same for the oldest dead deliveries of a webhook, at most 1000 per call; `id` is not used.
 * Returns their number. */
MUST_CHECK int store_delivery_retry_dead(struct store *s, const struct delivery_ref *ref,
                                         struct error *err);
struct delivery_page {
	const char *webhook_id;
	const char *state; /* NULL = any */
	int64_t before;    /* last event sequence of the previous page; 0 = first page */
	int64_t limit;     /* 1..1000 */
};
/* Newest first. */
MUST_CHECK int store_delivery_list(struct store *s, struct arena *a,
                                   const struct delivery_page *page, struct delivery_list *ret,
                                   struct error *err);
/* Drops deliveries that ended before these times: a few thousand per call. */
struct delivery_retention {
	int64_t delivered_before, dead_before;
};
MUST_CHECK int store_delivery_purge(struct store *s, const struct delivery_retention *keep,
                                    struct error *err);

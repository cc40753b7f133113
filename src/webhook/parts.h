/* SPDX-License-Identifier: Apache-2.0 */
/* webhook/parts.h — what the files of this folder share. Private to it.
 *
 * webhook.c: the thread, and when it does what. dispatch.c: from events to deliveries. delivery.c:
 * one attempt. signature.c: pure parts. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/id.h"
#include "store/events.h"
#include "store/webhooks.h"
#include "webhook/webhook.h"
#include "worker/worker.h"

/* Of one webhook; with more it is disabled, for somebody should look. */
#define WAITING_MAX 10000

/* Attempts at once, and those of one project: a receiver may take all of an attempt's time. */
#define UNDER_WAY_MAX 32
#define UNDER_WAY_PROJECT_MAX 4

/* The thread's own. */
struct hook {
	struct webhook_record record;
	bool is_busy;     /* an attempt is under way */
	int64_t failures; /* attempts since the last that succeeded */
	int64_t look_at;  /* unix ms: nothing is due before */
};

/* One attempt: made by the thread, run by a worker, and handed back. */
struct delivery_attempt {
	struct delivery_attempt *next;
	struct worker_task task;
	struct webhooks *webhooks;
	struct arena arena; /* of these texts */
	const char *url, *secret;
	struct delivery_record delivery;
	bool succeeded;
};

struct webhooks {
	const struct config *config;
	struct store *store;
	const char *node;
	struct event_watcher watcher;
	struct worker_pool *workers; /* NULL until there is something to deliver */
	pthread_t thread;
	bool has_thread;
	atomic_bool is_cancelled;
	atomic_bool has_hooks; /* that are enabled: else events wake nobody */

	pthread_mutex_t mutex; /* over the rest of this block */
	pthread_cond_t wake;
	bool is_woken, is_stopping;
	struct delivery_attempt *finished;

	/* the thread's own */
	struct arena arena; /* of the hooks */
	struct hook *hooks;
	size_t hook_count;
	bool is_loaded;
	struct webhook_cursor cursor; /* as the store has it; its generation is the hooks' */
	int64_t seen;                 /* events up to it have been looked at */
	unsigned under_way;
	size_t turn;       /* whose turn it is to be first */
	int64_t purged_at; /* monotonic */
};

/* ---- dispatch.c ---- */

MUST_CHECK int webhooks_dispatch(struct webhooks *w, struct error *err);
MUST_CHECK int hooks_load(struct webhooks *w, struct error *err);
struct hook *hook_find(struct webhooks *w, const char *id);

/* ---- delivery.c ---- */

/* Begins the next attempt of the hook, if one is due; else sets when to look again. */
MUST_CHECK int delivery_begin(struct webhooks *w, struct hook *hook, struct error *err);
void attempt_free(struct delivery_attempt *a);
/* webhook.c: from the worker back to the thread. */
void attempt_finish(struct delivery_attempt *a);

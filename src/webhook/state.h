/* SPDX-License-Identifier: Apache-2.0 */
/* webhook/state.h — the state of webhooks, and the steps of their thread. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/bytes.h"
#include "store/events.h"
#include "store/webhooks.h"
#include "webhook/webhook.h"
#include "worker/worker.h"

/* Waiting deliveries of a webhook; with more it is disabled, so that its owner looks at it. */
#define WAITING_MAX 10000

/* Attempts at once, in all and of one project: a slow receiver may use all of an attempt's time. */
#define UNDER_WAY_MAX 32
#define UNDER_WAY_PROJECT_MAX 4

/* A webhook and its state. Used by the thread only. */
struct hook {
	struct webhook_record record;
	bool is_busy;     /* an attempt is under way */
	int64_t failures; /* attempts since the last that succeeded */
	int64_t look_at;  /* unix ms; no delivery is due before */
};

/* One attempt: made by the thread, run by a worker, and handed back. */
struct delivery_attempt {
	struct delivery_attempt *next;
	struct worker_task task;
	struct webhooks *webhooks;
	struct arena arena; /* of the texts below */
	const char *url, *secret;
	struct delivery_record delivery;
	bool succeeded;
};

struct webhooks {
	const struct config *config;
	struct store *store;
	const char *node;
	struct event_watcher watcher;
	struct worker_pool *workers; /* NULL until the first delivery */
	pthread_t thread;
	bool has_thread;
	atomic_bool is_cancelled;
	atomic_bool has_hooks; /* enabled ones; without any, events do not wake the thread */

	pthread_mutex_t mutex; /* guards the rest of this block */
	pthread_cond_t wake;
	bool is_woken, is_stopping;
	struct delivery_attempt *finished;

	/* used by the thread only */
	struct arena arena; /* of the hooks */
	struct hook *hooks;
	size_t hook_count;
	bool is_loaded;
	struct webhook_cursor cursor; /* as in the store; `hooks` have its generation */
	int64_t seen;                 /* events up to here were dispatched */
	unsigned under_way;
	size_t next_hook;  /* index of the hook to look at first, so that all get their share */
	int64_t purged_at; /* monotonic */
};

/* dispatch.c */

MUST_CHECK int webhooks_dispatch(struct webhooks *w, struct error *err);
MUST_CHECK int hooks_load(struct webhooks *w, struct error *err);
struct hook *hook_find(struct webhooks *w, const char *id);

/* delivery.c */

/* Begins the next attempt of the hook if a delivery is due; else sets when to look again. */
MUST_CHECK int delivery_begin(struct webhooks *w, struct hook *hook, struct error *err);
void attempt_free(struct delivery_attempt *a);
/* Hands the attempt from the worker back to the thread. webhook.c */
void attempt_finish(struct delivery_attempt *a);

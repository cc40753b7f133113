/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/id.h"
#include "base/log.h"
#include "config/config.h"
#include "http/client/outbound.h"
#include "json/write.h"
#include "store/secrets.h"
#include "webhook/state.h"

#define SEND_MS 10000
/* When another server may retry an attempt that never ended: longer than any attempt lasts. */
#define CLAIM_MS 15000
#define WORKERS_QUEUE_MAX 64

static int send_once(struct delivery_attempt *a, int64_t now, int *ret_status, struct error *err)
{
	const struct delivery_record *d = &a->delivery;
	struct span body = span_of(d->body);
	char signature[WEBHOOK_SIGNATURE_SIZE];
	const char *headers[6] = {"Content-Type: application/json"};
	const struct outbound_post post = {
	        .url = a->url,
	        .headers = headers,
	        .body = body,
	        .timeout_ms = SEND_MS,
	        .allow_private = a->webhooks->config->webhook_allow_private,
	        .cancelled = &a->webhooks->is_cancelled,
	};

	if (store_secret_check(a->secret, err) < 0)
		return FAIL_CONTEXT(err, "its secret");
	webhook_sign(a->secret, now / 1000, body, signature);
	headers[1] = arena_format(&a->arena, "Atoll-Event-Id: %" PRId64, d->sequence);
	headers[2] = arena_format(&a->arena, "Atoll-Delivery: %s", d->id);
	headers[3] = arena_format(&a->arena, "Atoll-Timestamp: %" PRId64, now / 1000);
	headers[4] = arena_format(&a->arena, "Atoll-Signature: %s", signature);
	return outbound_post(&post, ret_status, err);
}

static const char *test_body(struct arena *a, const struct webhook_record *r, int64_t now)
{
	AUTO(buf_done) struct buf out = BUF(4096);

	json_begin_object(&out, NULL);
	json_add_whole(&out, "sequence", 0);
	json_add_text(&out, "kind", "webhook.test");
	json_add_text(&out, "project", r->project_id);
	json_add_text(&out, "webhook", r->id);
	json_add_epoch_time(&out, "at", now);
	json_add_text(&out, "text", "a test");
	json_end_object(&out);
	return arena_copy(a, buf_span(&out));
}

int webhook_send_test(struct webhooks *w, const struct webhook_record *r, struct webhook_test *ret,
                      struct error *err)
{
	int64_t now = clock_unix_ms(), begun = clock_monotonic_ms();
	struct delivery_attempt a = {.webhooks = w, .url = r->url, .secret = r->secret};
	struct error failed = {0};
	struct id id = id_new();

	if (atomic_load(&w->is_cancelled))
		return FAIL(err, ERROR_UNAVAILABLE, "the server stops");
	a.delivery = (struct delivery_record){.id = id.text, .body = test_body(&a.arena, r, now)};
	*ret = (struct webhook_test){.status = 0};
	if (send_once(&a, now, &ret->status, &failed) < 0)
		ret->status = 0;
	ret->took_ms = clock_monotonic_ms() - begun;
	if (failed.code != ERROR_NONE)
		(void)snprintf(ret->error, sizeof(ret->error), "%s", failed.text);
	else if (ret->status < 200 || ret->status > 299)
		(void)snprintf(ret->error, sizeof(ret->error), "the status is not 2xx");
	arena_done(&a.arena);
	return 0;
}

static struct delivery_end judge_attempt(struct delivery_attempt *a, int status, struct error *err)
{
	const struct config *config = a->webhooks->config;
	int64_t now = clock_unix_ms();
	struct delivery_end end = {.id = a->delivery.id,
	                           .attempts = a->delivery.attempts + 1,
	                           .status = status,
	                           .now = now,
	                           .error = ""};

	a->succeeded = status >= 200 && status < 300;
	if (a->succeeded) {
		end.state = DELIVERY_DELIVERED;
		return end;
	}
	end.error = err->code != ERROR_NONE ? err->text : "the status is not 2xx";
	end.state = end.attempts >= config->webhook_tries ? DELIVERY_DEAD : DELIVERY_WAITING;
	if (end.state == DELIVERY_WAITING)
		end.next_at = now + webhook_wait_ms(config->webhook_retry_ms, end.attempts);
	/* The attempt was cut short because this server stops. */
	if (atomic_load(&a->webhooks->is_cancelled)) {
		end.state = DELIVERY_WAITING;
		end.next_at = now;
	}
	return end;
}

static void run_attempt(struct worker_task *task)
{
	struct delivery_attempt *a = CONTAINER_OF(task, struct delivery_attempt, task);
	struct error err = {0}, failed = {0};
	struct delivery_end end;
	int status = 0;

	if (send_once(a, clock_unix_ms(), &status, &err) < 0)
		status = 0;
	fault_point("api", "webhook-sent");
	end = judge_attempt(a, status, &err);
	/* A conflict: a caller has removed the webhook, or has asked for a retry. */
	if (store_delivery_end(a->webhooks->store, &end, &failed) < 0 &&
	    failed.code != ERROR_CONFLICT)
		log_warning("a delivery will be repeated", TEXT("delivery", a->delivery.id),
		            FAILURE(&failed));
	if (end.state == DELIVERY_DEAD)
		log_warning("a delivery is given up", TEXT("delivery", a->delivery.id),
		            TEXT("webhook", a->delivery.webhook_id), TEXT("why", end.error),
		            NUMBER("status", status));
	attempt_finish(a);
}

void attempt_free(struct delivery_attempt *a)
{
	arena_done(&a->arena);
	free(a);
}

static int start_workers(struct webhooks *w, struct error *err)
{
	/* Started on first use. Attempts run in the lane for agents; the pool needs two more
	 * threads.
	 */
	const struct worker_options options = {
	        .threads = 2, .queue_max = WORKERS_QUEUE_MAX, .agent_threads = UNDER_WAY_MAX};

	return w->workers ? 0 : worker_pool_start(&options, &w->workers, err);
}

/* Claims the delivery and hands it to a worker. When that fails, the delivery is due again after
 * the claim ends. */
static int submit_attempt(struct webhooks *w, struct hook *hook, struct delivery_attempt *a,
                          struct error *err)
{
	const struct delivery_claim claim = {.id = a->delivery.id,
	                                     .attempts = a->delivery.attempts,
	                                     .until = clock_unix_ms() + CLAIM_MS,
	                                     .node = w->node};

	if (start_workers(w, err) < 0 || store_delivery_claim(w->store, &claim, err) < 0)
		return -1;
	fault_point("api", "webhook-claimed");
	a->webhooks = w;
	a->url = arena_text(&a->arena, hook->record.url);
	a->secret = arena_text(&a->arena, hook->record.secret);
	a->task = (struct worker_task){.lane = WORKER_AGENT, .run = run_attempt};
	if (worker_submit(w->workers, &a->task, err) < 0)
		return -1;
	hook->is_busy = true;
	w->under_way++;
	return 0;
}

static int schedule_next_look(struct webhooks *w, struct hook *hook, struct error *err)
{
	int64_t at;

	error_clear(err);
	if (store_delivery_next_at(w->store, hook->record.id, &at, err) < 0)
		return -1;
	hook->look_at = at > 0 ? at : INT64_MAX;
	return 0;
}

int delivery_begin(struct webhooks *w, struct hook *hook, struct error *err)
{
	struct delivery_attempt *a = memory_new(sizeof(*a));

	if (store_delivery_next(w->store, &a->arena, hook->record.id, clock_unix_ms(), &a->delivery,
	                        err) == 0 &&
	    submit_attempt(w, hook, a, err) == 0)
		return 0;
	attempt_free(a);
	/* No delivery is due, or another server has claimed it. */
	if (err->code == ERROR_NOT_FOUND || err->code == ERROR_CONFLICT)
		return schedule_next_look(w, hook, err);
	return -1;
}

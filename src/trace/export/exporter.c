/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/export/export.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "http/client/async.h"
#include "json/json.h"
#include "trace/trace.h"

#define BATCH_MAX 512
#define BATCH_WAIT_MS 1000
#define BODY_MAX ((size_t)16 << 20)
#define ANSWER_MAX ((size_t)64 << 10)
#define TRIES_MAX 3
#define RETRY_MS 1000 /* doubles */
#define RETRY_AFTER_MAX_MS 10000
#define CLOSE_MS 2000

struct otlp_exporter {
	struct arena arena;
	const char *urls[OTLP_SIGNAL_COUNT];
	const char *const *headers;
	struct otlp_resource resource;
	int64_t timeout_ms, started_unix_ms;
	struct http_async *async;
	struct cancel cancel;
	struct trace_record *batch; /* of the thread */
	bool has_failed;            /* of the thread: the log says so once, until a call succeeds */

	pthread_mutex_t mutex; /* guards the rest of this block */
	pthread_cond_t changed;
	struct buf metrics; /* not sent yet; empty: none */
	bool is_stopping, is_done;

	atomic_uint_fast64_t sent[OTLP_SIGNAL_COUNT], dropped[OTLP_SIGNAL_COUNT],
	        failed_calls[OTLP_SIGNAL_COUNT];
	pthread_t thread;
};

const char *otlp_signal_name(enum otlp_signal signal)
{
	return signal == OTLP_TRACES ? "traces" : "metrics";
}

static bool is_stopping(struct otlp_exporter *e)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&e->mutex);

	return e->is_stopping;
}

/* Ends early when the exporter stops. */
static void wait_for_retry(struct otlp_exporter *e, int64_t wait_ms)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&e->mutex);
	int64_t deadline = deadline_after(wait_ms);

	while (!e->is_stopping && deadline_poll_ms(deadline) != 0)
		thread_wait(&e->changed, &e->mutex, deadline);
}

/* A collector may take a batch and refuse some of its items; 64-bit numbers are texts, too. */
static uint64_t count_rejected(const struct buf *body)
{
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	static const char *const names[] = {"rejectedSpans", "rejectedDataPoints"};
	const struct json_value *answer;
	struct error ignored;
	int64_t count = 0;

	if (body->size == 0 || json_load(&a, buf_span(body), &answer, &ignored) < 0)
		return 0;
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		const struct json_value *v = json_get(json_get(answer, "partialSuccess"), names[i]);
		const char *text = json_text(v, NULL);

		count = json_whole(v, count);
		if (text)
			(void)!span_parse_whole(span_of(text), 0, INT64_MAX, &count, &ignored);
	}
	return count > 0 ? (uint64_t)count : 0;
}

struct taken {
	uint64_t rejected;
	int64_t wait_ms; /* before the next try; 0: the collector has not said */
};

/* 0: taken; 1: try again; -1: never. */
static int send_once(struct otlp_exporter *e, enum otlp_signal signal, const struct buf *body,
                     struct taken *ret, struct error *err)
{
	struct http_async_answer answer = {.status = 0};
	const struct http_async_call call = {
	        .method = "POST",
	        .url = e->urls[signal],
	        .headers = e->headers,
	        .body = buf_span(body),
	        .has_body = true,
	        .timeout_ms = is_stopping(e) ? CLOSE_MS : e->timeout_ms,
	        .answer_max = ANSWER_MAX,
	};

	if (http_async_wait(e->async, &call, deadline_after(call.timeout_ms), &answer, err) < 0)
		return 1;
	if (answer.status >= 200 && answer.status < 300)
		ret->rejected = count_rejected(&answer.body);
	buf_done(&answer.body);
	if (answer.status >= 200 && answer.status < 300)
		return 0;
	(void)FAIL(err, ERROR_UNAVAILABLE, "the collector answered %d", answer.status);
	ret->wait_ms = answer.retry_after_s * 1000;
	return answer.status == 429 || answer.status == 502 || answer.status == 503 ||
	                       answer.status == 504
	               ? 1
	               : -1;
}

static void tell_failure(struct otlp_exporter *e, enum otlp_signal signal, const struct error *err)
{
	atomic_fetch_add(&e->failed_calls[signal], 1);
	if (!e->has_failed)
		log_warning("the OpenTelemetry collector does not take what is sent",
		            TEXT("url", e->urls[signal]), FAILURE(err));
	e->has_failed = true;
}

/* `count` items are in the body. */
static void send_body(struct otlp_exporter *e, enum otlp_signal signal, const struct buf *body,
                      uint64_t count)
{
	struct taken taken = {.rejected = 0};
	int64_t wait_ms = RETRY_MS;
	int result = -1;

	for (unsigned tries = 0; tries < TRIES_MAX && !body->overflowed; tries++) {
		struct error err = {0};

		result = send_once(e, signal, body, &taken, &err);
		if (result == 0)
			break;
		tell_failure(e, signal, &err);
		if (result < 0 || tries + 1 == TRIES_MAX || is_stopping(e))
			break;
		if (taken.wait_ms > RETRY_AFTER_MAX_MS)
			taken.wait_ms = RETRY_AFTER_MAX_MS;
		wait_for_retry(e, taken.wait_ms > wait_ms ? taken.wait_ms : wait_ms);
		wait_ms *= 2;
	}
	if (result != 0) {
		atomic_fetch_add(&e->dropped[signal], count);
		return;
	}
	if (taken.rejected > count)
		taken.rejected = count;
	atomic_fetch_add(&e->dropped[signal], taken.rejected);
	atomic_fetch_add(&e->sent[signal], count - taken.rejected);
	if (e->has_failed)
		log_info("the OpenTelemetry collector answers again");
	e->has_failed = false;
}

static void send_spans(struct otlp_exporter *e, size_t count)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);

	otlp_write_spans(&body, &e->resource, e->batch, count);
	send_body(e, OTLP_TRACES, &body, count);
}

static void send_metrics(struct otlp_exporter *e)
{
	AUTO(buf_done) struct buf text = BUF(0), body = BUF(BODY_MAX);

	(void)pthread_mutex_lock(&e->mutex);
	text = e->metrics;
	e->metrics = BUF(0);
	(void)pthread_mutex_unlock(&e->mutex);
	if (text.size == 0)
		return;
	otlp_write_metrics(&body, &e->resource, buf_span(&text), e->started_unix_ms,
	                   clock_unix_ms());
	send_body(e, OTLP_METRICS, &body, 1);
}

static void *run_exporter(void *context)
{
	struct otlp_exporter *e = context;
	size_t count;
	bool stops;

	cancel_set_current(&e->cancel);
	do {
		stops = is_stopping(e);
		count = trace_take(e->batch, BATCH_MAX, deadline_after(BATCH_WAIT_MS));
		if (count > 0)
			send_spans(e, count);
		send_metrics(e);
	} while (!cancel_is_said(&e->cancel) && (!stops || count > 0));
	cancel_set_current(NULL);
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&e->mutex);

	e->is_done = true;
	(void)pthread_cond_broadcast(&e->changed);
	return NULL;
}

static const char *url_of(struct arena *a, const char *endpoint, enum otlp_signal signal)
{
	size_t size = strlen(endpoint);

	while (size > 0 && endpoint[size - 1] == '/')
		size--;
	return arena_format(a, "%.*s/v1/%s", (int)size, endpoint, otlp_signal_name(signal));
}

static const char *const *copy_headers(struct arena *a, const char *const *headers)
{
	size_t count = 0;
	const char **copy;

	while (headers && headers[count])
		count++;
	copy = ARENA_ARRAY(a, const char *, count + 2);
	copy[0] = "Content-Type: application/json";
	for (size_t i = 0; i < count; i++)
		copy[i + 1] = arena_text(a, headers[i]);
	return copy;
}

static struct otlp_exporter *new_exporter(const struct otlp_options *o)
{
	struct otlp_exporter *e = memory_new(sizeof(*e));
	struct arena *a = &e->arena;

	for (unsigned i = 0; i < OTLP_SIGNAL_COUNT; i++)
		e->urls[i] = url_of(a, o->endpoint, (enum otlp_signal)i);
	e->headers = copy_headers(a, o->headers);
	e->resource = (struct otlp_resource){arena_text(a, o->resource.service_name),
	                                     arena_text(a, o->resource.service_version),
	                                     arena_text(a, o->resource.instance_id)};
	e->timeout_ms = o->timeout_ms;
	e->started_unix_ms = clock_unix_ms();
	e->batch = memory_array(BATCH_MAX, sizeof(*e->batch));
	e->cancel.fd = -1;
	(void)pthread_mutex_init(&e->mutex, NULL);
	thread_condition_init(&e->changed);
	return e;
}

static void free_exporter(struct otlp_exporter *e)
{
	http_async_close(e->async);
	if (e->cancel.fd >= 0)
		cancel_done(&e->cancel);
	buf_done(&e->metrics);
	(void)pthread_cond_destroy(&e->changed);
	(void)pthread_mutex_destroy(&e->mutex);
	arena_done(&e->arena);
	free(e->batch);
	free(e);
}

int otlp_open(const struct otlp_options *options, struct otlp_exporter **ret, struct error *err)
{
	struct otlp_exporter *e = new_exporter(options);
	int result = cancel_init(&e->cancel, err);

	if (result == 0)
		result = http_async_open("otlp", &e->async, err);
	if (result == 0) {
		errno = thread_start(&e->thread, NULL, run_exporter, e);
		if (errno)
			result = FAIL_ERRNO(err, "start the exporter's thread");
	}
	if (result < 0) {
		free_exporter(e);
		return FAIL_CONTEXT(err, "OpenTelemetry");
	}
	*ret = e;
	return 0;
}

void otlp_close(struct otlp_exporter *e)
{
	int64_t deadline = deadline_after(CLOSE_MS);

	if (!e)
		return;
	trace_wake();
	(void)pthread_mutex_lock(&e->mutex);
	e->is_stopping = true;
	(void)pthread_cond_broadcast(&e->changed);
	while (!e->is_done && deadline_poll_ms(deadline) != 0)
		thread_wait(&e->changed, &e->mutex, deadline);
	(void)pthread_mutex_unlock(&e->mutex);
	cancel_say(&e->cancel);
	(void)pthread_join(e->thread, NULL);
	free_exporter(e);
}

void otlp_push_metrics(struct otlp_exporter *e, struct buf *text)
{
	AUTO(buf_done) struct buf old = BUF(0);

	(void)pthread_mutex_lock(&e->mutex);
	old = e->metrics;
	e->metrics = *text;
	(void)pthread_mutex_unlock(&e->mutex);
	*text = BUF(text->size_max);
	if (old.size > 0)
		atomic_fetch_add(&e->dropped[OTLP_METRICS], 1);
}

struct otlp_counts otlp_counts_get(struct otlp_exporter *e)
{
	struct otlp_counts c = {.sent = {0}};

	for (unsigned i = 0; e && i < OTLP_SIGNAL_COUNT; i++) {
		c.sent[i] = atomic_load(&e->sent[i]);
		c.dropped[i] = atomic_load(&e->dropped[i]);
		c.failed_calls[i] = atomic_load(&e->failed_calls[i]);
	}
	return c;
}

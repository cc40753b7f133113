/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/timing.h"

#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"

/* Upper bounds; the last bucket counts longer durations. */
static const int64_t bounds_us[TIMING_BOUNDS] = {
        100,    250,    500,    1000,    2500,    5000,    10000,    25000,   50000,
        100000, 250000, 500000, 1000000, 2500000, 5000000, 10000000, 60000000};
#define BUCKETS (TIMING_BOUNDS + 1)
#define OPERATIONS_MAX 64 /* of one layer; there are fewer, and later ones are not counted */

struct timing {
	atomic_uint_fast64_t buckets[BUCKETS];
	atomic_uint_fast64_t sum_us;
};

/* A row is filled once and never changes; a reader sees a row whose name it sees. */
struct operation_row {
	_Atomic(const char *) name;
	struct timing timing;
	atomic_uint_fast64_t failures;
};
static struct operation_row operations[TRACE_LAYER_COUNT][OPERATIONS_MAX];
static atomic_int in_progress[TRACE_LAYER_COUNT];

struct timing *timing_new(void)
{
	return memory_new(sizeof(struct timing));
}

void timing_free(struct timing *t)
{
	free(t);
}

void timing_add(struct timing *t, int64_t took_us)
{
	size_t bucket = 0;

	while (bucket < TIMING_BOUNDS && took_us > bounds_us[bucket])
		bucket++;
	atomic_fetch_add_explicit(&t->buckets[bucket], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&t->sum_us, (uint_fast64_t)took_us, memory_order_relaxed);
}

static int64_t find_quantile(const uint64_t counts[BUCKETS], uint64_t total, unsigned percent)
{
	uint64_t below = 0;
	size_t bucket = 0;

	while (bucket < TIMING_BOUNDS - 1 && (below + counts[bucket]) * 100 < total * percent)
		below += counts[bucket++];
	return total ? bounds_us[bucket] : 0;
}

struct timing_sum timing_sum_get(const struct timing *t)
{
	struct timing_sum sum = {
	        .total_us = (int64_t)atomic_load_explicit(&t->sum_us, memory_order_relaxed)};
	uint64_t counts[BUCKETS];

	for (size_t i = 0; i < BUCKETS; i++) {
		counts[i] = atomic_load_explicit(&t->buckets[i], memory_order_relaxed);
		sum.count += counts[i];
	}
	sum.p50_us = find_quantile(counts, sum.count, 50);
	sum.p99_us = find_quantile(counts, sum.count, 99);
	return sum;
}

void timing_write_head(const char *name, const char *help, struct buf *out)
{
	buf_addf(out, "# HELP %s %s\n# TYPE %s histogram\n", name, help, name);
}

void timing_write_series(const struct timing *t, const char *name, const char *label,
                         struct buf *out)
{
	const char *comma = *label ? "," : "", *open = *label ? "{" : "",
	           *close = *label ? "}" : "";
	uint64_t total = 0;

	for (size_t i = 0; i < BUCKETS; i++) {
		total += atomic_load_explicit(&t->buckets[i], memory_order_relaxed);
		if (i < TIMING_BOUNDS)
			buf_addf(out, "%s_bucket{%s%sle=\"%g\"} %" PRIu64 "\n", name, label, comma,
			         (double)bounds_us[i] / 1e6, total);
		else
			buf_addf(out, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", name, label,
			         comma, total);
	}
	buf_addf(out, "%s_sum%s%s%s %.6f\n%s_count%s%s%s %" PRIu64 "\n", name, open, label, close,
	         (double)atomic_load_explicit(&t->sum_us, memory_order_relaxed) / 1e6, name, open,
	         label, close, total);
}

/* The same operation may be named by literals at several addresses. */
static struct operation_row *find_operation(enum trace_layer layer, const char *operation)
{
	assert(layer < TRACE_LAYER_COUNT);
	for (size_t i = 0; i < OPERATIONS_MAX; i++) {
		struct operation_row *row = &operations[layer][i];
		const char *name = atomic_load_explicit(&row->name, memory_order_acquire);

		if (!name && atomic_compare_exchange_strong(&row->name, &name, operation))
			return row;
		if (name == operation || strcmp(name, operation) == 0)
			return row;
	}
	return NULL;
}

void timed_begin(struct timed_call *call, enum trace_layer layer, const char *operation)
{
	call->layer = layer;
	call->operation = operation;
	call->begun_ns = clock_monotonic_ns();
	atomic_fetch_add_explicit(&in_progress[layer], 1, memory_order_relaxed);
	trace_begin(&call->span, layer, operation);
}

void timing_note(enum trace_layer layer, const char *operation, int64_t begun_ns, bool has_failed)
{
	struct operation_row *row = find_operation(layer, operation);

	if (row)
		timing_add(&row->timing, (clock_monotonic_ns() - begun_ns) / 1000);
	if (row && has_failed)
		atomic_fetch_add_explicit(&row->failures, 1, memory_order_relaxed);
}

void timed_end(struct timed_call *call, const struct error *err)
{
	timing_note(call->layer, call->operation, call->begun_ns, err != NULL);
	atomic_fetch_sub_explicit(&in_progress[call->layer], 1, memory_order_relaxed);
	trace_end(&call->span, &(struct trace_end){.err = err});
}

static void write_layer(enum trace_layer layer, struct buf *out)
{
	AUTO(buf_done) struct buf name = BUF(128), help = BUF(256), label = BUF(256);
	struct operation_row *rows = operations[layer];
	const char *operation;

	if (!atomic_load_explicit(&rows[0].name, memory_order_acquire))
		return;
	buf_addf(out,
	         "# HELP atoll_%s_calls Calls to the %s that run or wait.\n# TYPE atoll_%s_calls "
	         "gauge\natoll_%s_calls %d\n",
	         trace_layer_name(layer), trace_layer_name(layer), trace_layer_name(layer),
	         trace_layer_name(layer),
	         atomic_load_explicit(&in_progress[layer], memory_order_relaxed));
	buf_addf(&name, "atoll_%s_call_seconds", trace_layer_name(layer));
	buf_addf(&help, "Time of calls to the %s, by operation.", trace_layer_name(layer));
	timing_write_head(buf_text(&name), buf_text(&help), out);
	for (size_t i = 0; i < OPERATIONS_MAX && (operation = rows[i].name); i++) {
		buf_reset(&label);
		buf_addf(&label, "operation=\"%s\"", operation);
		timing_write_series(&rows[i].timing, buf_text(&name), buf_text(&label), out);
	}
	buf_reset(&name);
	buf_addf(&name, "atoll_%s_call_failures_total", trace_layer_name(layer));
	buf_addf(out, "# HELP %s Calls to the %s that failed.\n# TYPE %s counter\n",
	         buf_text(&name), trace_layer_name(layer), buf_text(&name));
	for (size_t i = 0; i < OPERATIONS_MAX && (operation = rows[i].name); i++)
		buf_addf(out, "%s{operation=\"%s\"} %" PRIu64 "\n", buf_text(&name), operation,
		         (uint64_t)atomic_load_explicit(&rows[i].failures, memory_order_relaxed));
}

void timing_write(struct buf *out)
{
	for (unsigned layer = 0; layer < TRACE_LAYER_COUNT; layer++)
		write_layer((enum trace_layer)layer, out);
}

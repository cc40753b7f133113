/* SPDX-License-Identifier: Apache-2.0 */
/* trace/timing.h — how long calls take: histograms by layer and operation, and a span when the
 * thread's request is traced. Any thread. */
#pragma once

#include <stdint.h>

#include "trace/trace.h"

/* A call of one layer, on the stack or in the struct of the call. */
struct timed_call {
	struct trace_span span;
	int64_t begun_ns; /* monotonic */
	enum trace_layer layer;
	const char *operation;
};
/* `operation` has static storage. */
void timed_begin(struct timed_call *call, enum trace_layer layer, const char *operation);
/* `err` NULL: it succeeded. Each begun call ends once; on any thread. */
void timed_end(struct timed_call *call, const struct error *err);

/* Counts a call that has no struct timed_call, and makes no span. */
void timing_note(enum trace_layer layer, const char *operation, int64_t begun_ns, bool has_failed);

/* Prometheus metrics: histograms atoll_LAYER_call_seconds{operation="…"}, counters of failures, and
 * gauges atoll_LAYER_calls of the calls that run or wait. */
void timing_write(struct buf *out);

/* A histogram in microseconds with fixed buckets. */
#define TIMING_BOUNDS 17
struct timing;
struct timing *timing_new(void);
void timing_free(struct timing *t); /* NULL is fine */
void timing_add(struct timing *t, int64_t took_us);
struct timing_sum {
	uint64_t count;
	int64_t total_us, p50_us, p99_us; /* a quantile is the upper bound of its bucket */
};
struct timing_sum timing_sum_get(const struct timing *t);
/* The series of one histogram; `label` is `name="value"` or "". Without HELP and TYPE. */
void timing_write_series(const struct timing *t, const char *name, const char *label,
                         struct buf *out);
void timing_write_head(const char *name, const char *help, struct buf *out);

/* SPDX-License-Identifier: Apache-2.0 */
/* trace/export/export.h — sends spans and metrics to an OpenTelemetry collector: OTLP over HTTP
 * with JSON bodies.
 *
 * One thread takes ended spans from the ring of trace/trace.h, and a text of metrics when there is
 * a new one. No other thread waits for the collector. A batch that the collector does not take
 * after some tries is dropped and counted; meanwhile the ring fills, and later spans are dropped
 * and counted. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct otlp_exporter;
struct trace_record;

/* What the process is called in all that is sent. */
struct otlp_resource {
	const char *service_name, *service_version, *instance_id;
};
struct otlp_options {
	const char *endpoint;       /* "/v1/traces" and "/v1/metrics" are appended */
	const char *const *headers; /* "Name: value" lines, NULL-terminated */
	struct otlp_resource resource;
	int64_t timeout_ms; /* of one call */
};
/* After trace_open. Copies all texts. */
MUST_CHECK int otlp_open(const struct otlp_options *options, struct otlp_exporter **ret,
                         struct error *err);
/* Sends what waits, for two seconds at most. NULL is fine. */
void otlp_close(struct otlp_exporter *e);
/* Takes the memory of `text`, metrics in Prometheus' text form, and sends them soon. A text that
 * was not sent yet is replaced, and counts as dropped. Any thread; never waits. */
void otlp_push_metrics(struct otlp_exporter *e, struct buf *text);

enum otlp_signal { OTLP_TRACES, OTLP_METRICS, OTLP_SIGNAL_COUNT };
const char *otlp_signal_name(enum otlp_signal signal); /* "traces", "metrics" */
struct otlp_counts {
	uint64_t sent[OTLP_SIGNAL_COUNT]; /* spans, and texts of metrics */
	uint64_t dropped[OTLP_SIGNAL_COUNT], failed_calls[OTLP_SIGNAL_COUNT];
};
struct otlp_counts otlp_counts_get(struct otlp_exporter *e); /* zeroes for NULL */

/* Write the bodies of the calls. */
void otlp_write_spans(struct buf *out, const struct otlp_resource *resource,
                      const struct trace_record *records, size_t count);
/* `text` as /metrics has it. Lines that it does not understand are left out. */
void otlp_write_metrics(struct buf *out, const struct otlp_resource *resource, struct span text,
                        int64_t started_unix_ms, int64_t now_unix_ms);

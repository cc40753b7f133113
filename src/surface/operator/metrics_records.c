/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of activity, audit and OpenTelemetry. */
#include <inttypes.h>

#include "activity/activity.h"
#include "audit/log/log.h"
#include "surface/operator/metrics_parts.h"
#include "trace/export/export.h"
#include "trace/trace.h"

static void write_count_metric(struct buf *out, const char *name, const char *help, uint64_t value)
{
	metric_write(out, name, "counter", help, value);
}

static void write_level_metric(struct buf *out, const char *name, const char *help, uint64_t value)
{
	metric_write(out, name, "gauge", help, value);
}

void metrics_write_activity(struct buf *out, struct activity_log *log)
{
	struct activity_counts c = {0};

	if (log)
		c = activity_log_counts(log);
	write_count_metric(out, "atoll_activity_rows_total",
	                   "Rows of activity written to the store.", c.written);
	write_count_metric(out, "atoll_activity_dropped_total",
	                   "Rows of activity dropped, because the store was slower than the calls.",
	                   c.dropped);
	write_level_metric(out, "atoll_activity_queue", "Rows of activity that wait for the store.",
	                   c.queued);
}

void metrics_write_audit(struct buf *out, struct audit_log *log)
{
	struct audit_counts c = {0};

	if (log)
		c = audit_log_counts(log);
	write_count_metric(out, "atoll_audit_rows_total",
	                   "Rows appended to the audit by this server.", c.written);
	write_count_metric(out, "atoll_audit_dropped_total",
	                   "Events that have no row in the audit: the queue was full, or the store "
	                   "refused the row.",
	                   c.dropped);
	write_count_metric(
	        out, "atoll_audit_unspooled_total",
	        "Events that a kill of the server could have lost, because the spool was not "
	        "written.",
	        c.unspooled);
	write_count_metric(
	        out, "atoll_audit_strangers_total",
	        "Refusals of callers without a key, and uses of links, that have no row: "
	        "there were too many in a minute.",
	        c.strangers);
	write_count_metric(out, "atoll_audit_append_failures_total",
	                   "Batches that the store did not take at once.", c.failed);
	write_count_metric(out, "atoll_audit_checkpoints_total",
	                   "Checkpoints signed by this server.", c.checkpoints);
	write_level_metric(out, "atoll_audit_checkpoint_timestamp_seconds",
	                   "When this server signed its last checkpoint; 0: not since its start.",
	                   (uint64_t)(c.checkpoint_at / 1000));
	write_level_metric(out, "atoll_audit_sequence", "Newest row that this server has appended.",
	                   (uint64_t)c.sequence);
	write_level_metric(out, "atoll_audit_queue", "Events that wait for the store.", c.queued);
	write_level_metric(out, "atoll_audit_open", "Audited requests that are not answered yet.",
	                   c.open);
}

/* `of`: an array by signal. */
static void write_signals(struct buf *out, const char *name, const char *help, const uint64_t *of)
{
	buf_addf(out, "# HELP %s %s\n# TYPE %s counter\n", name, help, name);
	for (unsigned i = 0; i < OTLP_SIGNAL_COUNT; i++)
		buf_addf(out, "%s{signal=\"%s\"} %" PRIu64 "\n", name,
		         otlp_signal_name((enum otlp_signal)i), of[i]);
}

void metrics_write_otlp(struct buf *out, struct otlp_exporter *exporter)
{
	const struct otlp_counts sent = otlp_counts_get(exporter);
	const struct trace_counts spans = trace_counts_get();

	if (!exporter)
		return;
	write_count_metric(out, "atoll_trace_spans_total", "Spans that ended.", spans.ended);
	write_count_metric(out, "atoll_trace_spans_dropped_total",
	                   "Spans dropped because otlp_spans_max spans waited.", spans.dropped);
	write_level_metric(out, "atoll_trace_queue", "Spans that wait for the collector.",
	                   spans.queued);
	write_signals(out, "atoll_otlp_sent_total",
	              "Spans, and exports of all metrics, that the collector took.", sent.sent);
	write_signals(out, "atoll_otlp_dropped_total",
	              "Spans, and exports of all metrics, that the collector did not take.",
	              sent.dropped);
	write_signals(out, "atoll_otlp_failed_calls_total", "Calls to the collector that failed.",
	              sent.failed_calls);
}

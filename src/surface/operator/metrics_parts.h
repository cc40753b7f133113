/* SPDX-License-Identifier: Apache-2.0 */
/* surface/operator/metrics_parts.h — private: parts of /metrics. */
#pragma once

#include <stdint.h>

struct activity_log;
struct audit_log;
struct buf;
struct otlp_exporter;

/* A metric without labels; `type` is counter or gauge. */
void metric_write(struct buf *out, const char *name, const char *type, const char *help,
                  uint64_t value);
/* The same of microseconds, written as seconds. */
void metric_write_seconds(struct buf *out, const char *name, const char *type, const char *help,
                          uint64_t us);
/* metrics_records.c; a log may be NULL. */
void metrics_write_activity(struct buf *out, struct activity_log *log);
void metrics_write_audit(struct buf *out, struct audit_log *log);
/* Nothing when OpenTelemetry is off. */
void metrics_write_otlp(struct buf *out, struct otlp_exporter *exporter);

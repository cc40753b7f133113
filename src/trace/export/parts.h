/* SPDX-License-Identifier: Apache-2.0 */
/* trace/export/parts.h — pieces of OTLP's JSON. Private. */
#pragma once

#include <stdint.h>

struct buf;
struct otlp_resource;

/* {"key":…,"value":{"stringValue":…}} */
void otlp_add_text(struct buf *out, const char *key, const char *text);
/* The members "resource" and, begun, "scopeSpans" or "scopeMetrics" with their "scope". */
void otlp_begin_scope(struct buf *out, const struct otlp_resource *resource, const char *list);
/* A 64-bit number, which OTLP's JSON writes as a text. */
void otlp_add_whole(struct buf *out, const char *name, uint64_t whole);

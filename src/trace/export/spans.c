/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "base/bytes.h"
#include "json/write.h"
#include "trace/export/export.h"
#include "trace/export/parts.h"
#include "trace/trace.h"

#define KIND_SERVER 2
#define KIND_CLIENT 3
#define STATUS_ERROR 2

void otlp_add_whole(struct buf *out, const char *name, uint64_t whole)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, whole);
	json_add_text(out, name, text);
}

static void begin_attribute(struct buf *out, const char *key)
{
	json_begin_object(out, NULL);
	json_add_text(out, "key", key);
	json_begin_object(out, "value");
}

static void end_attribute(struct buf *out)
{
	json_end_object(out);
	json_end_object(out);
}

/* A text may have been cut inside a character. */
void otlp_add_text(struct buf *out, const char *key, const char *text)
{
	begin_attribute(out, key);
	json_add_span(out, "stringValue", span_of(text));
	end_attribute(out);
}

void otlp_begin_scope(struct buf *out, const struct otlp_resource *resource, const char *list)
{
	json_begin_object(out, "resource");
	json_begin_list(out, "attributes");
	otlp_add_text(out, "service.name", resource->service_name);
	otlp_add_text(out, "service.version", resource->service_version);
	otlp_add_text(out, "service.instance.id", resource->instance_id);
	json_end_list(out);
	json_end_object(out);
	json_begin_list(out, list);
	json_begin_object(out, NULL);
	json_begin_object(out, "scope");
	json_add_text(out, "name", "atoll");
	json_add_text(out, "version", resource->service_version);
	json_end_object(out);
}

static void add_id(struct buf *out, const char *name, const unsigned char *id, size_t size)
{
	char digits[2 * TRACE_ID_SIZE + 1];

	hex_encode(id, size, digits);
	json_add_text(out, name, digits);
}

static bool has_parent(const struct trace_record *r)
{
	for (size_t i = 0; i < TRACE_SPAN_ID_SIZE; i++)
		if (r->parent_id[i])
			return true;
	return false;
}

static void write_attributes(struct buf *out, const struct trace_record *r)
{
	json_begin_list(out, "attributes");
	otlp_add_text(out, "atoll.layer", trace_layer_name(r->layer));
	for (unsigned i = 0; i < r->attribute_count; i++) {
		const struct trace_attribute *a = &r->attributes[i];

		if (a->text) {
			otlp_add_text(out, a->key, a->text);
			continue;
		}
		begin_attribute(out, a->key);
		otlp_add_whole(out, "intValue", (uint64_t)a->number);
		end_attribute(out);
	}
	json_end_list(out);
}

static void write_span(struct buf *out, const struct trace_record *r)
{
	json_begin_object(out, NULL);
	add_id(out, "traceId", r->trace_id, TRACE_ID_SIZE);
	add_id(out, "spanId", r->id, TRACE_SPAN_ID_SIZE);
	if (has_parent(r))
		add_id(out, "parentSpanId", r->parent_id, TRACE_SPAN_ID_SIZE);
	json_add_span(out, "name", span_of(r->name));
	json_add_whole(out, "kind", r->layer == TRACE_HTTP ? KIND_SERVER : KIND_CLIENT);
	otlp_add_whole(out, "startTimeUnixNano", (uint64_t)r->begun_ns);
	/* The clock may have been set back meanwhile. */
	otlp_add_whole(out, "endTimeUnixNano",
	               (uint64_t)(r->ended_ns > r->begun_ns ? r->ended_ns : r->begun_ns));
	write_attributes(out, r);
	json_begin_object(out, "status");
	if (r->has_failed) {
		json_add_whole(out, "code", STATUS_ERROR);
		json_add_span(out, "message", span_of(r->failure));
	}
	json_end_object(out);
	json_end_object(out);
}

void otlp_write_spans(struct buf *out, const struct otlp_resource *resource,
                      const struct trace_record *records, size_t count)
{
	json_begin_object(out, NULL);
	json_begin_list(out, "resourceSpans");
	json_begin_object(out, NULL);
	otlp_begin_scope(out, resource, "scopeSpans");
	json_begin_list(out, "spans");
	for (size_t i = 0; i < count; i++)
		write_span(out, &records[i]);
	json_end_list(out);
	json_end_object(out);
	json_end_list(out);
	json_end_object(out);
	json_end_list(out);
	json_end_object(out);
}

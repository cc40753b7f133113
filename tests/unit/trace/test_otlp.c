/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/bytes.h"
#include "json/json.h"
#include "trace/export/export.h"
#include "trace/trace.h"
#include "unit.h"

static const struct otlp_resource resource = {"atoll", "1.2", "node1"};

static const struct json_value *load(struct arena *a, const struct buf *out)
{
	const struct json_value *v;
	struct error err = {0};

	assert_false(out->overflowed);
	assert_int_equal(json_load(a, buf_span(out), &v, &err), 0);
	return v;
}

static const struct json_value *first(const struct json_value *v, const char *list)
{
	return json_item_at(json_get(v, list), 0);
}

TEST(a_span_is_written_as_the_protocol_wants)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf out = BUF(1 << 20);
	struct trace_record r = {.trace_id = {0xAB},
	                         .id = {1},
	                         .begun_ns = 2000000000000000001,
	                         .ended_ns = 2000000000000000000,
	                         .has_failed = true,
	                         .name = "GET \xC3",
	                         .failure = "a \"quote\""};
	const struct json_value *span, *all;

	otlp_write_spans(&out, &resource, &r, 1);
	all = first(load(&a, &out), "resourceSpans");
	span = first(first(all, "scopeSpans"), "spans");
	assert_string_equal(json_get_text(span, "traceId", ""), "ab000000000000000000000000000000");
	assert_string_equal(json_get_text(span, "spanId", ""), "0100000000000000");
	assert_null(json_get(span, "parentSpanId"));
	assert_string_equal(json_get_text(span, "name", ""), "GET \xEF\xBF\xBD");
	assert_string_equal(json_get_text(span, "endTimeUnixNano", ""), "2000000000000000001");
	assert_int_equal(json_get_whole(json_get(span, "status"), "code", 0), 2);
	assert_string_equal(json_get_text(json_get(span, "status"), "message", ""), "a \"quote\"");
	assert_int_equal(json_get_whole(span, "kind", 0), 2);
	assert_string_equal(
	        json_get_text(json_get(first(json_get(all, "resource"), "attributes"), "value"),
	                      "stringValue", ""),
	        "atoll");
}

static const char text[] =
        "# HELP a_total Some.\n# TYPE a_total counter\na_total{by=\"x\"} 3\na_total{by=\"y z\"} 4\n"
        "what is this\n"
        "# HELP b_seconds Time.\n# TYPE b_seconds histogram\n"
        "b_seconds_bucket{op=\"GET /v1/{id}\",le=\"0.1\"} 1\n"
        "b_seconds_bucket{op=\"GET /v1/{id}\",le=\"+Inf\"} 3\n"
        "b_seconds_sum{op=\"GET /v1/{id}\"} 2.5\nb_seconds_count{op=\"GET /v1/{id}\"} 3\n"
        "b_seconds_bucket{op=\"B\",le=\"0.1\"} 0\nb_seconds_bucket{op=\"B\",le=\"+Inf\"} 0\n"
        "b_seconds_sum{op=\"B\"} 0\nb_seconds_count{op=\"B\"} 0\n"
        "# TYPE c_bytes gauge\nc_bytes 7.5";

TEST(metrics_keep_their_names_types_and_values)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf out = BUF(1 << 20);
	const struct json_value *metrics, *m, *point;

	otlp_write_metrics(&out, &resource, span_of(text), 1000, 2000);
	metrics = json_get(first(first(load(&a, &out), "resourceMetrics"), "scopeMetrics"),
	                   "metrics");
	assert_int_equal(json_count(metrics), 3);
	m = json_item_at(metrics, 0);
	assert_string_equal(json_get_text(m, "name", ""), "a_total");
	assert_string_equal(json_get_text(m, "description", ""), "Some.");
	assert_true(json_get_bool(json_get(m, "sum"), "isMonotonic", false));
	assert_int_equal(json_count(json_get(json_get(m, "sum"), "dataPoints")), 2);
	point = json_item_at(json_get(json_get(m, "sum"), "dataPoints"), 1);
	assert_true(json_number(json_get(point, "asDouble"), 0) > 3.9);
	assert_string_equal(
	        json_get_text(json_get(first(point, "attributes"), "value"), "stringValue", ""),
	        "y z");
	assert_string_equal(json_get_text(point, "timeUnixNano", ""), "2000000000");
	m = json_item_at(metrics, 1);
	assert_string_equal(json_get_text(m, "unit", ""), "s");
	assert_int_equal(json_count(json_get(json_get(m, "histogram"), "dataPoints")), 2);
	point = first(json_get(m, "histogram"), "dataPoints");
	assert_string_equal(json_get_text(point, "count", ""), "3");
	assert_int_equal(json_count(json_get(point, "bucketCounts")), 2);
	assert_string_equal(json_text(json_item_at(json_get(point, "bucketCounts"), 1), ""), "2");
	assert_int_equal(json_count(json_get(point, "explicitBounds")), 1);
	assert_string_equal(
	        json_get_text(json_get(first(point, "attributes"), "value"), "stringValue", ""),
	        "GET /v1/{id}");
	m = json_item_at(metrics, 2);
	assert_string_equal(json_get_text(m, "unit", ""), "By");
	assert_int_equal(json_count(json_get(json_get(m, "gauge"), "dataPoints")), 1);
}

TEST(no_metrics_are_an_empty_list)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf out = BUF(1 << 20);

	otlp_write_metrics(&out, &resource, span_of("# TYPE"), 0, 0);
	assert_non_null(load(&a, &out));
}

int main(void)
{
	return RUN(CASE(a_span_is_written_as_the_protocol_wants),
	           CASE(metrics_keep_their_names_types_and_values),
	           CASE(no_metrics_are_an_empty_list));
}

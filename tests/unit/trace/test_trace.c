/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "trace/timing.h"
#include "trace/trace.h"
#include "unit.h"

#define PARENT "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

static void open_ring(size_t size, double ratio)
{
	trace_open(&(struct trace_options){size, ratio});
}

static size_t take_all(struct trace_record *ret, size_t max)
{
	return trace_take(ret, max, deadline_after(0));
}

TEST(headers_of_the_recommendation_are_read)
{
	static const struct {
		const char *text;
		bool is_valid, is_sampled;
	} rows[] = {
	        {PARENT, true, true},
	        {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", true, false},
	        {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03", true, true},
	        {"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what", true, true},
	        {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what", false, false},
	        {"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.what", false, false},
	        {"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false, false},
	        {"00-00000000000000000000000000000000-b7ad6b7169203331-01", false, false},
	        {"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false, false},
	        {"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", false, false},
	        {"00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01", false, false},
	        {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331", false, false},
	        {"00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false, false},
	        {"", false, false},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct trace_span span = {.is_recorded = false};

		assert_int_equal(trace_parse_parent(rows[i].text, &span), rows[i].is_valid);
		assert_int_equal(span.is_recorded, rows[i].is_sampled);
	}
}

TEST(without_an_exporter_nothing_is_made)
{
	struct trace_span request, child;
	char line[TRACE_LINE_SIZE];

	trace_accept(&request, PARENT);
	assert_false(request.is_known);
	(void)trace_swap(&request);
	trace_begin(&child, TRACE_STORE, "read");
	assert_false(child.is_recorded);
	assert_false(trace_format_line(line));
	trace_end(&child, &(struct trace_end){.name = NULL});
	(void)trace_swap(NULL);
}

TEST(a_child_has_the_trace_and_the_parent_of_its_thread)
{
	struct trace_span request, child, lost;
	struct error err = {.code = ERROR_TIMEOUT, .text = "too late"};
	struct trace_record r[4];
	char line[TRACE_LINE_SIZE];

	open_ring(8, 0);
	trace_accept(&request, PARENT);
	assert_null(trace_swap(&request));
	trace_begin(&child, TRACE_STORE, "read");
	assert_true(trace_format_line(line));
	assert_memory_equal(line, "traceparent: 00-0af7651916cd43dd8448eb211c80319c-", 49);
	assert_string_equal(line + strlen(line) - 3, "-01");
	assert_ptr_equal(trace_swap(NULL), &request);
	trace_begin(&lost, TRACE_STORE, "read");
	trace_end(&lost, &(struct trace_end){.name = NULL});
	trace_end(&child, &(struct trace_end){.err = &err});
	trace_end(&child, &(struct trace_end){.err = &err});
	const struct trace_attribute attributes[] = {{.key = "status", .number = 200},
	                                             {.key = "empty", .text = ""},
	                                             {.key = "path", .text = "/v1"},
	                                             {.key = NULL}};
	trace_end(&request, &(struct trace_end){.name = "GET /v1", .attributes = attributes});
	assert_int_equal(take_all(r, 4), 2);
	assert_string_equal(r[0].name, "store read");
	assert_true(r[0].has_failed);
	assert_string_equal(r[0].failure, "too late");
	assert_memory_equal(r[0].parent_id, r[1].id, TRACE_SPAN_ID_SIZE);
	assert_memory_equal(r[0].trace_id, r[1].trace_id, TRACE_ID_SIZE);
	assert_string_equal(r[1].name, "GET /v1");
	assert_int_equal(r[1].attribute_count, 2);
	assert_int_equal(r[1].attributes[0].number, 200);
	assert_string_equal(r[1].attributes[1].text, "/v1");
	assert_true(r[1].attributes[1].text >= r[1].texts);
	assert_true(r[1].attributes[1].text < r[1].texts + sizeof(r[1].texts));
	trace_close();
}

TEST(the_ratio_decides_of_traces_that_begin_here)
{
	unsigned count = 0;

	open_ring(8, 0.25);
	for (unsigned i = 0; i < 4000; i++) {
		struct trace_span span;

		trace_accept(&span, i % 2 ? NULL : "no parent");
		assert_true(span.is_known);
		count += span.is_recorded;
	}
	assert_in_range(count, 800, 1200);
	trace_close();
}

TEST(a_full_ring_drops_and_counts)
{
	struct trace_record *r = memory_array(8, sizeof(*r));

	open_ring(4, 1);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 6; i++) {
			struct trace_span span;

			trace_accept(&span, NULL);
			trace_end(&span, &(struct trace_end){.name = "x"});
		}
		assert_int_equal(take_all(r, 3), 3);
		assert_int_equal(take_all(r, 8), 1);
	}
	assert_int_equal(trace_counts_get().ended, 18);
	assert_int_equal(trace_counts_get().dropped, 6);
	assert_int_equal(trace_counts_get().queued, 0);
	trace_close();
	free(r);
}

TEST(a_waiting_exporter_is_woken)
{
	struct trace_record r[1];

	open_ring(4, 1);
	trace_wake();
	assert_int_equal(trace_take(r, 1, DEADLINE_NEVER), 0);
	trace_close();
}

TEST(calls_are_counted_by_operation)
{
	AUTO(buf_done) struct buf out = BUF(1 << 20);
	struct error err = {.code = ERROR_SYSTEM};
	struct timed_call a, b;
	char copy[] = "create";

	timed_begin(&a, TRACE_BROKER, "create");
	timed_begin(&b, TRACE_BROKER, copy);
	timing_write(&out);
	timed_end(&a, NULL);
	timed_end(&b, &err);
	buf_reset(&out);
	timing_write(&out);
	assert_non_null(strstr(out.data, "atoll_broker_calls 0\n"));
	assert_non_null(
	        strstr(out.data, "atoll_broker_call_seconds_count{operation=\"create\"} 2\n"));
	assert_non_null(
	        strstr(out.data, "atoll_broker_call_failures_total{operation=\"create\"} 1\n"));
	assert_null(strstr(out.data, "atoll_agent"));
}

int main(void)
{
	return RUN(CASE(headers_of_the_recommendation_are_read),
	           CASE(without_an_exporter_nothing_is_made),
	           CASE(a_child_has_the_trace_and_the_parent_of_its_thread),
	           CASE(the_ratio_decides_of_traces_that_begin_here),
	           CASE(a_full_ring_drops_and_counts), CASE(a_waiting_exporter_is_woken),
	           CASE(calls_are_counted_by_operation));
}

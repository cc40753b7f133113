/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "edge/meter.h"
#include "http/server/http.h"
#include "unit.h"

static void assert_writes(const struct api_meter *m, const char *line)
{
	AUTO(buf_done) struct buf out = BUF(1 << 20);

	api_meter_write(m, &out);
	assert_false(out.overflowed);
	if (!strstr(buf_text(&out), line))
		fail_msg("'%s' is not in:\n%s", line, buf_text(&out));
}

TEST(buckets_count_all_that_is_not_longer)
{
	struct api_meter *m = api_meter_new();

	static const struct route route = {HTTP_GET, "/v1/things/:id"};

	api_meter_request(m, &route, 0);
	api_meter_request(m, &route, 100);
	api_meter_request(m, &route, 101);
	api_meter_request(m, &route, INT64_C(3600000000));
	api_meter_request(m, NULL, 100);
	assert_writes(m, "atoll_http_request_seconds_bucket{operation=\"GET "
	                 "/v1/things/:id\",le=\"0.0001\"} 2\n");
	assert_writes(m, "atoll_http_request_seconds_bucket{operation=\"GET "
	                 "/v1/things/:id\",le=\"0.00025\"} 3\n");
	assert_writes(m, "atoll_http_request_seconds_bucket{operation=\"GET "
	                 "/v1/things/:id\",le=\"60\"} 3\n");
	assert_writes(m, "atoll_http_request_seconds_bucket{operation=\"GET "
	                 "/v1/things/:id\",le=\"+Inf\"} 4\n");
	assert_writes(
	        m,
	        "atoll_http_request_seconds_sum{operation=\"GET /v1/things/:id\"} 3600.000201\n");
	assert_writes(m, "atoll_http_request_seconds_count{operation=\"GET /v1/things/:id\"} 4\n");
	assert_writes(m, "atoll_http_request_seconds_count{operation=\"unknown\"} 1\n");
	assert_int_equal(api_meter_requests(m).count, 5);
	assert_writes(m, "atoll_store_ping_seconds_count 0\n");
	api_meter_free(m);
}

TEST(calls_to_the_store_that_fail_are_counted)
{
	struct api_meter *m = api_meter_new();

	api_meter_store(m, 5, false);
	api_meter_store(m, 5, true);
	assert_writes(m, "atoll_store_ping_failures_total 1\n");
	assert_writes(m, "atoll_store_ping_seconds_count 2\n");
	api_meter_free(m);
}

int main(void)
{
	return RUN(CASE(buckets_count_all_that_is_not_longer),
	           CASE(calls_to_the_store_that_fail_are_counted));
}

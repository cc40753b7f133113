/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of /v1/events over a real socket: what is new, what was missed, who may see it, and
 * clients that are slow or go away. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "account/account.h"
#include "base/fd.h"
#include "edge/api.h"
#include "http/server/failure.h"
#include "http/server/http.h"
#include "store/events.h"
#include "unit.h"
#include "unit/api/harness.h"

static struct harness harness;
static FILE *left_open[8];

static int64_t newest(void)
{
	struct event_bounds bounds;
	struct error err;

	assert_int_equal(store_event_bounds(harness.store, &bounds, &err), 0);
	return bounds.newest;
}

static void add(const char *project, const char *kind, const char *text)
{
	struct error err;

	assert_int_equal(
	        store_event_add(harness.store,
	                        &(struct event_record){
	                                .at = 1, .project_id = project, .kind = kind, .text = text},
	                        &err),
	        0);
}

/* One that waits; `query` begins with '?' or is empty. */
static FILE *open_stream(const char *query, const char *key, const char *headers)
{
	const struct sockaddr_in address = {
	        .sin_family = AF_INET,
	        .sin_port = htons(harness.port),
	        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	const struct timeval limit = {.tv_sec = 20};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* With less than a few segments a window may open by probes alone, 10 KB a second. */
	const int small = 128 * 1024;
	FILE *stream;
	char line[256];

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	dprintf(fd, "GET /v1/events%s HTTP/1.0\r\nHost: test\r\nAuthorization: Bearer %s\r\n%s\r\n",
	        query, key, headers);
	stream = fdopen(fd, "r");
	assert_non_null(stream);
	do
		assert_non_null(fgets(line, sizeof(line), stream));
	while (strcmp(line, "\r\n") != 0);
	return stream;
}

/* The next line that begins so, without that. */
static void read_line(FILE *stream, const char *start, char *out, int size)
{
	do
		assert_non_null(fgets(out, size, stream));
	while (strncmp(out, start, strlen(start)) != 0);
	out[strcspn(out, "\n")] = '\0';
	memmove(out, out + strlen(start), strlen(out + strlen(start)) + 1);
}

#define SSE "Accept: text/event-stream\r\n"

static void expect(FILE *stream, int64_t number, const char *kind)
{
	char line[1024];

	read_line(stream, "id: ", line, sizeof(line));
	assert_int_equal(strtoll(line, NULL, 10), number);
	read_line(stream, "event: ", line, sizeof(line));
	assert_string_equal(line, kind);
	read_line(stream, "data: ", line, sizeof(line));
	assert_non_null(strstr(line, kind));
}

TEST(a_stream_tells_what_was_missed_and_then_what_comes)
{
	int64_t first = newest() + 1;
	char id[128];
	FILE *stream;

	add("default", "sandbox.started", "one");
	add("default", "sandbox.stopped", "two");
	(void)snprintf(id, sizeof(id), SSE "Last-Event-ID: %" PRId64 "\r\n", first);
	stream = open_stream("", harness.admin, id);
	expect(stream, first + 1, "sandbox.stopped");
	add("default", "sandbox.failed", "three");
	expect(stream, first + 2, "sandbox.failed");
	add("default", "sandbox.deleted", "four");
	expect(stream, first + 3, "sandbox.deleted");
	(void)fclose(stream);
}

TEST(a_stream_without_a_number_begins_with_what_comes)
{
	FILE *stream;
	char line[256];

	add("default", "sandbox.started", "before");
	stream = open_stream("?stream=sse", harness.admin, "");
	read_line(stream, "retry: ", line, sizeof(line));
	add("default", "sandbox.failed", "after");
	expect(stream, newest(), "sandbox.failed");
	(void)fclose(stream);
	stream = open_stream("?stream=sse&last=2", harness.admin, "");
	expect(stream, newest() - 1, "sandbox.started");
	expect(stream, newest(), "sandbox.failed");
	(void)fclose(stream);
}

TEST(a_stream_has_only_what_its_filter_and_its_project_let_it)
{
	char other[64];
	FILE *theirs, *failed;
	int64_t after;

	harness_key(&harness, "other", SCOPE_SANDBOX_READ, other);
	after = newest();
	theirs = open_stream("?stream=sse", other, "");
	failed = open_stream("?stream=sse&kind=sandbox.failed", harness.admin, "");
	add("default", "sandbox.started", "not theirs");
	add("other", "sandbox.started", "theirs");
	add("default", "sandbox.failed", "not theirs");
	add("other", "sandbox.failed", "of all");
	expect(theirs, after + 2, "sandbox.started");
	expect(theirs, after + 4, "sandbox.failed");
	expect(failed, after + 3, "sandbox.failed");
	expect(failed, after + 4, "sandbox.failed");
	(void)fclose(theirs);
	(void)fclose(failed);
}

TEST(lines_of_json_are_a_form_of_a_stream_too)
{
	FILE *stream = open_stream("?stream=ndjson", harness.admin, "");
	char line[512];

	add("", "sandbox.started", "\"quoted\"");
	read_line(stream, "{\"sequence\":", line, sizeof(line));
	assert_int_equal(strtoll(line, NULL, 10), newest());
	assert_non_null(strstr(line, "\"project\":null"));
	assert_non_null(strstr(line, "\"text\":\"\\\"quoted\\\"\"}"));
	(void)fclose(stream);
}

TEST(a_slow_client_loses_nothing_and_keeps_nobody)
{
	enum { COUNT = 4000 };
	int64_t first = newest() + 1;
	FILE *slow = open_stream("?stream=sse", harness.admin, "");
	FILE *quick = open_stream("?stream=sse&kind=sandbox.deleted", harness.admin, "");
	char text[512], line[1024];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (int i = 0; i < COUNT; i++)
		add("default", "sandbox.started", text);
	add("default", "sandbox.deleted", "last");
	expect(quick, first + COUNT, "sandbox.deleted");
	for (int i = 0; i <= COUNT; i++) {
		read_line(slow, "id: ", line, sizeof(line));
		assert_int_equal(strtoll(line, NULL, 10), first + i);
	}
	(void)fclose(slow);
	(void)fclose(quick);
}

TEST(clients_that_go_away_take_nothing_along)
{
	for (int i = 0; i < 20; i++) {
		FILE *stream = open_stream("?stream=sse&after=0", harness.admin, "");

		add("default", "sandbox.started", "while they go");
		(void)fclose(stream);
	}
	add("default", "sandbox.started", "afterwards");
}

TEST(what_is_not_kept_any_more_is_told)
{
	int64_t known = newest() - 5;
	struct error err;
	char query[64], line[256], expected[128];
	bool more = true;
	FILE *stream;

	while (more)
		assert_int_equal(
		        store_event_purge(harness.store,
		                          &(struct event_retention){.before = 0, .count_max = 2},
		                          &more, &err),
		        0);
	(void)snprintf(query, sizeof(query), "?stream=sse&after=%" PRId64, known);
	stream = open_stream(query, harness.admin, "");
	read_line(stream, "event: ", line, sizeof(line));
	assert_string_equal(line, "lost");
	read_line(stream, "data: ", line, sizeof(line));
	(void)snprintf(expected, sizeof(expected),
	               "{\"event\":\"lost\",\"after\":%" PRId64 ",\"oldest\":%" PRId64 "}", known,
	               newest() - 1);
	assert_string_equal(line, expected);
	expect(stream, newest() - 1, "sandbox.started");
	(void)fclose(stream);
}

/* The harness closes with streams and readings under way. */
TEST(a_server_that_ends_lets_its_streams_go)
{
	for (size_t i = 0; i < COUNT_OF(left_open); i++)
		left_open[i] = open_stream("?stream=sse&after=0", harness.admin, "");
}

static int set_up(void **state)
{
	(void)state;
	harness_open(&harness);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	harness_close(&harness);
	for (size_t i = 0; i < COUNT_OF(left_open); i++)
		if (left_open[i])
			(void)fclose(left_open[i]);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        CASE(a_stream_tells_what_was_missed_and_then_what_comes),
	        CASE(a_stream_without_a_number_begins_with_what_comes),
	        CASE(a_stream_has_only_what_its_filter_and_its_project_let_it),
	        CASE(lines_of_json_are_a_form_of_a_stream_too),
	        CASE(a_slow_client_loses_nothing_and_keeps_nobody),
	        CASE(clients_that_go_away_take_nothing_along),
	        CASE(what_is_not_kept_any_more_is_told),
	        CASE(a_server_that_ends_lets_its_streams_go),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

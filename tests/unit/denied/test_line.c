/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "denied/denied.h"
#include "json/json.h"
#include "store/decisions.h"
#include "unit.h"

static struct decision_record refusal_of(const char *host, const char *code)
{
	return (struct decision_record){.at = INT64_C(1790000000000),
	                                .code = code,
	                                .protocol = "tls",
	                                .host = host,
	                                .address = "",
	                                .rule = "",
	                                .credential = "",
	                                .port = 443,
	                                .count = 2};
}

static const struct json_value *read_line(struct arena *a, struct span *rest)
{
	const struct json_value *value;
	struct span line;
	struct error err = {0};

	assert_true(span_split(rest, '\n', &line));
	assert_int_equal(json_load(a, line, &value, &err), 0);
	return value;
}

TEST(a_refused_host_says_how_to_ask)
{
	struct decision_record rows[] = {refusal_of("api.test", "host-not-allowed"),
	                                 refusal_of("own.test", "rule-denied")};
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf out = BUF(DENIED_BYTES_MAX);
	const struct json_value *line, *ask;
	struct span rest;

	rows[1].rule = "no-gists";
	denied_add_lines(&out, &(struct decision_list){rows, 2});
	rest = buf_span(&out);
	line = read_line(&a, &rest);
	assert_string_equal(json_get_text(line, "host", ""), "api.test");
	assert_string_equal(json_get_text(line, "code", ""), "host-not-allowed");
	assert_int_equal(json_get_whole(line, "count", 0), 2);
	assert_string_equal(json_get_text(line, "message", ""),
	                    "refused: api.test:443 (no rule allows it), 2 times. Ask with the tool "
	                    "request_access, or use another way.");
	ask = json_get(line, "ask");
	assert_string_equal(json_get_text(ask, "tool", ""), "request_access");
	assert_string_equal(json_get_text(ask, "host", ""), "api.test");
	assert_int_equal(json_get_whole(ask, "port", 0), 443);
	line = read_line(&a, &rest);
	assert_string_equal(json_get_text(line, "rule", ""), "no-gists");
	assert_null(json_get_text(json_get(line, "ask"), "tool", NULL));
	assert_int_equal(rest.size, 0);
}

TEST(an_address_is_asked_for_by_its_address)
{
	struct decision_record row = refusal_of("", "address-denied");
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf out = BUF(DENIED_BYTES_MAX);
	const struct json_value *line;
	struct span rest;

	row.address = "198.51.100.7";
	row.port = 22;
	denied_add_lines(&out, &(struct decision_list){&row, 1});
	rest = buf_span(&out);
	line = read_line(&a, &rest);
	assert_string_equal(json_get_text(json_get(line, "ask"), "host", ""), "198.51.100.7");
	assert_non_null(strstr(json_get_text(line, "message", ""), "refused: 198.51.100.7:22"));
}

/* A row of a newer server has names that this one does not know. */
TEST(unknown_names_and_no_target_are_written_without_a_way_to_ask)
{
	struct decision_record row = refusal_of("", "invented-later");
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf out = BUF(DENIED_BYTES_MAX);
	const struct json_value *line;
	struct span rest;

	row.protocol = "invented";
	row.port = 0;
	denied_add_lines(&out, &(struct decision_list){&row, 1});
	rest = buf_span(&out);
	line = read_line(&a, &rest);
	assert_string_equal(json_get_text(line, "code", ""), "invented-later");
	assert_null(json_get_text(json_get(line, "ask"), "tool", NULL));
}

TEST(the_file_has_a_limit)
{
	enum { ROWS = 2000 };
	static struct decision_record rows[ROWS];
	AUTO(buf_done) struct buf out = BUF(DENIED_BYTES_MAX);

	for (unsigned i = 0; i < ROWS; i++)
		rows[i] = refusal_of("a-name-that-is-long-enough-to-fill-the-file.example.com",
		                     "host-not-allowed");
	denied_add_lines(&out, &(struct decision_list){rows, ROWS});
	assert_false(out.overflowed);
	assert_true(out.size <= DENIED_BYTES_MAX && out.size > DENIED_BYTES_MAX / 2);
	assert_int_equal(out.data[out.size - 1], '\n');
}

int main(void)
{
	return RUN(CASE(a_refused_host_says_how_to_ask),
	           CASE(an_address_is_asked_for_by_its_address),
	           CASE(unknown_names_and_no_target_are_written_without_a_way_to_ask),
	           CASE(the_file_has_a_limit));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "json/json.h"

struct filter {
	const char *name;
	int64_t limit, since;
	double cpu;
	bool wait;
	int order;
	const char **label;
	uint64_t present;
};

static const char *const orders[] = {"up", "down", NULL};
static const struct json_member filter_shape_members[] = {
        JSON_TEXT_MEMBER(filter, name, .max = 8),
        JSON_WHOLE_MEMBER(filter, limit, .min = 1, .max = 100),
        JSON_WHOLE_MEMBER(filter, since, .min = INT64_MIN),
        JSON_NUMBER_MEMBER(filter, cpu),
        JSON_BOOL_MEMBER(filter, wait),
        JSON_CHOICE_MEMBER(filter, order, .choices = orders),
        JSON_TEXT_LIST_MEMBER(filter, label, .max = 2),
};
static JSON_BITS_SHAPE(filter_shape, "Filter", filter, NULL);
static struct arena arena;

static int release(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

static struct filter parsed(const char *query)
{
	struct filter f;
	struct error err = {0};

	if (json_parse_query(&arena, span_of(query), &filter_shape, &f, &err) < 0)
		fail_msg("%s: %s", query, err.text);
	return f;
}

static void assert_refused(const char *query, const char *why)
{
	struct filter f;
	struct error err = {0};

	assert_int_equal(json_parse_query(&arena, span_of(query), &filter_shape, &f, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_string_equal(err.text, why);
}

TEST(every_kind_is_read)
{
	struct filter f = parsed("name=a&limit=7&since=-3&cpu=1.5&wait=false&order=down&label=x&"
	                         "label=y%3Dz");

	assert_string_equal(f.name, "a");
	assert_int_equal(f.limit, 7);
	assert_int_equal(f.since, -3);
	assert_true(f.cpu > 1.4 && f.cpu < 1.6);
	assert_false(f.wait);
	assert_int_equal(f.order, 1);
	assert_string_equal(f.label[1], "y=z");
	assert_null(f.label[2]);
	assert_int_equal(f.present, 127);
}

TEST(nothing_is_an_empty_query)
{
	assert_int_equal(parsed("").present, 0);
	assert_int_equal(parsed("&&").present, 0);
}

TEST(percent_and_plus_are_decoded)
{
	assert_string_equal(parsed("name=a+b%2B").name, "a b+");
	assert_string_equal(parsed("n%61me=%C3%A9").name, "é");
	assert_string_equal(parsed("name").name, "");
	assert_true(parsed("wait=1").wait);
}

TEST(what_is_wrong_is_refused_with_its_name)
{
	assert_refused("name=%4", "query: '%' is not followed by two hexadecimal digits");
	assert_refused("name=%zz", "query: '%' is not followed by two hexadecimal digits");
	assert_refused("name=%00", "query: NUL is not allowed");
	assert_refused("name=%ff", "query: not valid UTF-8");
	assert_refused("nam=a", "nam: unknown member");
	assert_refused("name=a&name=b", "name: given twice");
	assert_refused("name=123456789", "name: expected text of at most 8 bytes");
	assert_refused("limit=101", "limit: expected a whole number between 1 and 100");
	assert_refused("limit=", "limit: expected a whole number between 1 and 100");
	assert_refused("limit=5x", "limit: expected a whole number between 1 and 100");
	assert_refused("limit=99999999999999999999",
	               "limit: expected a whole number between 1 and 100");
	assert_refused("cpu=inf", "cpu: expected a number of at least 0");
	assert_refused("cpu=1e999", "cpu: expected a number of at least 0");
	assert_refused("cpu=--1", "cpu: expected a number of at least 0");
	assert_refused("wait=yes", "wait: expected true or false");
	assert_refused("order=left", "order: expected one of up, down");
	assert_refused("label=1&label=2&label=3",
	               "label: expected a list of texts of at most 2 items");
}

TEST(the_number_of_parts_is_limited)
{
	char query[300];

	memset(query, '&', sizeof(query) - 1);
	query[sizeof(query) - 1] = '\0';
	assert_refused(query, "query: more than 256 parts");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        CASE(every_kind_is_read),
	        CASE(nothing_is_an_empty_query),
	        CASE(percent_and_plus_are_decoded),
	        CASE(what_is_wrong_is_refused_with_its_name),
	        CASE(the_number_of_parts_is_limited),
	};

	return cmocka_run_group_tests(tests, NULL, release);
}

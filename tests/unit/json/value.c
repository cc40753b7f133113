/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "json/json.h"

static struct arena arena;

static int release(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

static const struct json_value *loaded(const char *text)
{
	const struct json_value *v = NULL;
	struct error err = {0};

	if (json_load(&arena, span_of(text), &v, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	return v;
}

TEST(members_and_items_are_found)
{
	const struct json_value *v = loaded("{\"a\":[1,2.5,\"t\",true,null],\"b\":{}}");
	const struct json_value *list = json_get(v, "a");
	const char *key = NULL;

	assert_int_equal(json_count(v), 2);
	assert_int_equal(json_count(list), 5);
	assert_int_equal(json_whole(json_item_at(list, 0), 0), 1);
	assert_true(json_number(json_item_at(list, 0), 0) > 0.9);
	assert_true(json_number(json_item_at(list, 1), 0) > 2.4);
	assert_string_equal(json_text(json_item_at(list, 2), NULL), "t");
	assert_true(json_bool(json_item_at(list, 3), false));
	assert_non_null(json_member_at(v, 1, &key));
	assert_string_equal(key, "b");
	assert_string_equal(json_texts(&arena, list)[2], "t");
	assert_string_equal(json_texts(&arena, list)[4], "");
	assert_null(json_texts(&arena, list)[5]);
	assert_null(json_texts(&arena, NULL)[0]);
}

TEST(what_is_missing_or_another_type_gives_the_fallback)
{
	const struct json_value *v = loaded("{\"a\":[]}");
	const char *key = NULL;

	assert_null(json_get(v, "b"));
	assert_null(json_get(NULL, "b"));
	assert_null(json_get(json_get(v, "a"), "b"));
	assert_null(json_item_at(v, 0));
	assert_null(json_item_at(json_get(v, "a"), 0));
	assert_null(json_member_at(v, 1, &key));
	assert_int_equal(json_count(NULL), 0);
	assert_int_equal(json_whole(v, 7), 7);
	assert_true(json_number(NULL, 1) > 0.9);
	assert_string_equal(json_text(v, "f"), "f");
	assert_true(json_bool(v, true));
}

TEST(values_are_printed_compact_or_indented)
{
	const struct json_value *v =
	        loaded(" { \"a\" : [ 1, {\"b\":\"\\n\"} ], \"c\":[], \"d\":-0.5 } ");
	AUTO(buf_done) struct buf compact = BUF(256), indented = BUF(256);

	json_print(&compact, v, 0);
	assert_string_equal(buf_text(&compact), "{\"a\":[1,{\"b\":\"\\n\"}],\"c\":[],\"d\":-0.5}");
	json_print(&indented, v, 2);
	assert_string_equal(buf_text(&indented),
	                    "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"\\n\"\n    }\n  ],\n"
	                    "  \"c\": [],\n  \"d\": -0.5\n}");
}

TEST(any_value_may_be_outermost_but_nothing_is_none)
{
	const struct json_value *v;
	struct error err;

	assert_int_equal(json_whole(loaded("3"), 0), 3);
	assert_string_equal(json_text(loaded("\"x\""), ""), "x");
	assert_int_equal(json_load(&arena, SPAN(""), &v, &err), -1);
	assert_int_equal(json_load(&arena, SPAN("{\"a\":}"), &v, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        CASE(members_and_items_are_found),
	        CASE(what_is_missing_or_another_type_gives_the_fallback),
	        CASE(values_are_printed_compact_or_indented),
	        CASE(any_value_may_be_outermost_but_nothing_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, release);
}

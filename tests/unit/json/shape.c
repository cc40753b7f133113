/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "machine.h"

static struct arena arena;

static int release(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

static struct machine parsed(const char *text)
{
	struct machine m;
	struct error err = {0};

	if (json_parse(&arena, span_of(text), &machine_shape, &m, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	return m;
}

static void assert_refused(const char *text, const char *why)
{
	struct machine m;
	struct error err = {0};

	assert_int_equal(json_parse(&arena, span_of(text), &machine_shape, &m, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_string_equal(err.text, why);
}

TEST(every_kind_is_read_into_its_member)
{
	struct machine m =
	        parsed("{\"name\":\"a1\",\"stdin\":\"AGE=\",\"uptime_ms\":5,\"exit_code\":-1,"
	               "\"load\":0.25,\"persistent\":true,\"network\":\"internet\","
	               "\"args\":[\"x\",\"y\"],\"env\":{\"A\":\"1\"},"
	               "\"limits\":{\"cpu\":2,\"pids\":64},"
	               "\"ports\":[{\"number\":80,\"name\":null},{\"number\":443}],"
	               "\"extra\":{\"b\":[1,2.5,null]},"
	               "\"created_at\":\"2026-11-21T02:25:00.123Z\"}");

	assert_string_equal(m.name, "a1");
	assert_null(m.password);
	assert_int_equal(m.stdin_bytes.size, 2);
	assert_memory_equal(m.stdin_bytes.data, "\0a", 2);
	assert_int_equal(m.uptime_ms, 5);
	assert_int_equal(m.exit_code, -1);
	assert_true(m.load > 0.24 && m.load < 0.26);
	assert_true(m.persistent);
	assert_int_equal(m.network, 1);
	assert_string_equal(m.args[1], "y");
	assert_null(m.args[2]);
	assert_int_equal(m.env.count, 1);
	assert_string_equal(m.env.pairs[0].value, "1");
	assert_true(m.limits.cpu > 1.9 && m.limits.pids == 64);
	assert_int_equal(m.ports.count, 2);
	assert_int_equal(((struct port *)m.ports.items)[1].number, 443);
	assert_true(span_equals_text(m.extra, "{\"b\":[1,2.5,null]}"));
	assert_int_equal(m.created_at, 1795227900123);
}

TEST(the_bits_say_which_members_were_present)
{
	assert_int_equal(parsed("{\"name\":\"a\"}").present, 1);
	assert_int_equal(parsed("{\"name\":\"a\",\"persistent\":false}").present, 1 | 1 << 6);
	assert_int_equal(parsed("{\"name\":\"a\",\"exit_code\":null}").present, 1);
}

TEST(an_empty_body_is_an_empty_object)
{
	struct limits limits;
	struct error err;

	assert_int_equal(json_parse(&arena, SPAN(""), &limits_shape, &limits, &err), 0);
	assert_int_equal(limits.pids, 0);
	assert_refused("", "name: required");
}

TEST(errors_name_the_path_and_what_would_be_right)
{
	assert_refused("{}", "name: required");
	assert_refused("{\"name\":\"\"}", "name: expected text of 1 to 8 bytes");
	assert_refused("{\"name\":\"123456789\"}", "name: expected text of 1 to 8 bytes");
	assert_refused("{\"name\":null}", "name: expected text of 1 to 8 bytes");
	assert_refused("{\"name\":\"a\",\"password\":1}", "password: expected text");
	assert_refused("{\"name\":\"a\",\"stdin\":\"!\"}",
	               "stdin: expected base64 text of at most 6 bytes");
	assert_refused("{\"name\":\"a\",\"uptime_ms\":-1}",
	               "uptime_ms: expected a whole number of at least 0");
	assert_refused("{\"name\":\"a\",\"exit_code\":256}",
	               "exit_code: expected a whole number between -1 and 255");
	assert_refused("{\"name\":\"a\",\"exit_code\":1.5}",
	               "exit_code: expected a whole number between -1 and 255");
	assert_refused("{\"name\":\"a\",\"persistent\":\"yes\"}",
	               "persistent: expected true or false");
	assert_refused("{\"name\":\"a\",\"network\":\"lan\"}",
	               "network: expected one of blocked, internet");
	assert_refused("{\"name\":\"a\",\"limits\":{\"cpu\":1025}}",
	               "limits.cpu: expected a number between 0 and 1024");
	assert_refused("{\"name\":\"a\",\"limits\":[]}", "limits: expected an object");
	assert_refused("{\"name\":\"a\",\"args\":[\"x\",2]}", "args[1]: expected text");
	assert_refused("{\"name\":\"a\",\"args\":[\"\",\"\",\"\",\"\"]}",
	               "args: expected a list of texts of at most 3 items");
	assert_refused("{\"name\":\"a\",\"env\":{\"A\":1}}", "env.A: expected text");
	assert_refused("{\"name\":\"a\",\"ports\":[{\"number\":1},{\"number\":0}]}",
	               "ports[1].number: expected a whole number between 1 and 65535");
	assert_refused("{\"name\":\"a\",\"ports\":[{}]}", "ports[0].number: required");
	assert_refused("{\"name\":\"a\",\"ports\":[1]}", "ports[0]: expected an object");
}

TEST(an_unknown_member_is_refused_with_those_that_are_known)
{
	struct machine m;
	struct error err = {0};
	struct span text = SPAN("{\"limits\":{\"shares\":1}}");

	assert_int_equal(json_parse(&arena, text, &machine_shape, &m, &err), -1);
	assert_string_equal(err.text, "limits.shares: unknown member");
	assert_string_equal(err.hint, "known here: cpu, pids");
}

static void assert_meant(const char *text, const char *meant)
{
	struct machine m;
	struct error err = {0};
	char hint[ERROR_HINT_MAX];

	(void)snprintf(hint, sizeof(hint), "did you mean '%s'?", meant);
	assert_int_equal(json_parse(&arena, span_of(text), &machine_shape, &m, &err), -1);
	assert_non_null(strstr(err.text, ": unknown member"));
	assert_string_equal(err.hint, hint);
}

TEST(an_unknown_member_is_answered_with_the_one_that_was_meant)
{
	assert_meant("{\"nmae\":\"a\"}", "name");
	assert_meant("{\"Name\":\"a\"}", "name");
	assert_meant("{\"cpu\":1}", "limits.cpu");
	assert_meant("{\"cpus\":1}", "limits.cpu");
	assert_meant("{\"limits\":{\"cpuu\":1}}", "limits.cpu");
	assert_meant("{\"uptime\":1}", "uptime_ms");
	assert_meant("{\"ports\":[{\"number\":80},{\"numbr\":443}]}", "ports[1].number");
}

TEST(the_items_of_a_list_are_not_meant)
{
	struct machine m;
	struct error err = {0};

	assert_int_equal(json_parse(&arena, SPAN("{\"number\":80}"), &machine_shape, &m, &err), -1);
	assert_true(strncmp(err.hint, "known here: name, ", 18) == 0);
}

TEST(a_member_is_taken_in_either_spelling)
{
	struct machine m = parsed("{\"name\":\"a\",\"uptimeMs\":7,\"createdAt\":"
	                          "\"2026-11-21T02:25:00.123Z\",\"exit_code\":3}");

	assert_int_equal(m.uptime_ms, 7);
	assert_int_equal(m.created_at, 1795227900123);
	assert_int_equal(m.exit_code, 3);
	m = parsed("{\"name\":\"a\",\"uptimeMs\":7,\"uptime_ms\":7}");
	assert_int_equal(m.uptime_ms, 7);
	assert_refused("{\"name\":\"a\",\"uptimeMs\":7,\"uptime_ms\":8}",
	               "uptime_ms: is something else than in its other spelling");
	assert_refused("{\"name\":\"a\",\"uptime_ms\":8,\"uptimeMs\":7}",
	               "uptimeMs: is something else than in its other spelling");
	assert_refused("{\"name\":\"a\",\"uptimems\":7}", "uptimems: unknown member");
	assert_refused("{\"name\":\"a\",\"uptime_Ms\":7}", "uptime_Ms: unknown member");
	assert_refused("{\"name\":\"a\",\"uptimeMS\":7}", "uptimeMS: unknown member");
	assert_refused("{\"Name\":\"a\"}", "Name: unknown member");
}

struct spelled {
	int64_t memory_mb, memory_again, cpu;
};

static const struct json_member spelled_shape_members[] = {
        JSON_WHOLE_MEMBER(spelled, memory_mb),
        JSON_WHOLE_MEMBER(spelled, cpu),
        JSON_WHOLE_MEMBER(spelled, memory_again, .name = "memoryMb"),
};
static JSON_SHAPE(spelled_shape, "Spelled", spelled, NULL);

struct around {
	struct spelled inner;
	struct json_list items;
};

static const struct json_member around_object_members[] = {
        JSON_OBJECT_MEMBER(around, inner, &spelled_shape),
};
static JSON_SHAPE(around_object, "AroundObject", around, NULL);
static const struct json_member around_list_members[] = {
        JSON_LIST_MEMBER(around, items, &spelled_shape),
};
static JSON_SHAPE(around_list, "AroundList", around, NULL);

TEST(a_member_with_two_rows_is_found)
{
	struct json_shape shape = spelled_shape;

	assert_null(json_shape_duplicate(&machine_shape));
	assert_ptr_equal(json_shape_duplicate(&shape), &spelled_shape_members[2]);
	assert_ptr_equal(json_shape_duplicate(&around_object), &spelled_shape_members[2]);
	assert_ptr_equal(json_shape_duplicate(&around_list), &spelled_shape_members[2]);
	shape.member_count = 2;
	assert_null(json_shape_duplicate(&shape));
	shape.member_count = 3;
	shape.is_open = true;
	assert_null(json_shape_duplicate(&shape));
}

TEST(an_open_shape_passes_over_what_it_does_not_know)
{
	struct json_shape open = machine_shape;
	struct machine m;
	struct error err = {0};
	struct span text = SPAN("{\"tomorrow\":[{}],\"name\":\"a\"}");

	open.is_open = true;
	assert_int_equal(json_parse(&arena, text, &open, &m, &err), 0);
	assert_string_equal(m.name, "a");
	/* What it knows is held to its rules, and what lies in it to its own. */
	assert_int_equal(json_parse(&arena, SPAN("{\"name\":1}"), &open, &m, &err), -1);
	text = SPAN("{\"name\":\"a\",\"limits\":{\"cpuu\":1}}");
	assert_int_equal(json_parse(&arena, text, &open, &m, &err), -1);
}

TEST(text_that_is_not_json_is_refused_without_quoting_it)
{
	assert_refused("[]", "expected a JSON object");
	assert_refused("{\"password\":\"hunter2\" x",
	               "not valid JSON at line 1, column 23: '}' expected");
	assert_refused("{\"name\":\"a\"} {}",
	               "not valid JSON at line 1, column 14: end of file expected");
	assert_refused("{\"name\":\"a\",\"name\":\"b\"}",
	               "not valid JSON at line 1, column 18: duplicate object key");
	assert_refused("{\"name\":\"\\u0000\"}",
	               "not valid here at line 1, column 16: a text may not hold the character "
	               "U+0000 (\\u0000)");
	assert_refused("{\"name\":\"\xff\"}",
	               "not valid JSON at line 1, column 9: unable to decode byte 0xff");
	assert_refused("{\"uptime_ms\":9223372036854775808}",
	               "not valid JSON at line 1, column 32: too big integer");
}

TEST(depth_is_limited_before_the_text_is_parsed)
{
	char text[2048];
	struct machine m;
	struct error err;

	snprintf(text, sizeof(text), "{\"name\":\"[[\\\"{{\",\"extra\":%.31s1%.31s}",
	         "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
	assert_int_equal(json_parse(&arena, span_of(text), &machine_shape, &m, &err), 0);
	memset(text, '[', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_refused(text, "JSON is nested deeper than 32 levels");
}

TEST(the_number_of_values_is_limited_before_the_text_is_parsed)
{
	size_t size = 400003;
	char *text = arena_alloc(&arena, size);
	struct machine m;
	struct error err = {0};

	memset(text, ',', size);
	text[0] = '[';
	assert_int_equal(json_parse(&arena, (struct span){text, size}, &machine_shape, &m, &err),
	                 -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
}

TEST(whole_numbers_may_be_written_with_a_point)
{
	assert_int_equal(parsed("{\"name\":\"a\",\"uptime_ms\":5.0}").uptime_ms, 5);
	assert_int_equal(parsed("{\"name\":\"a\",\"uptime_ms\":9223372036854775807}").uptime_ms,
	                 INT64_MAX);
	assert_refused("{\"name\":\"a\",\"uptime_ms\":1e300}",
	               "uptime_ms: expected a whole number of at least 0");
}

TEST(base64_is_strict)
{
	static const char *const wrong[] = {
	        "A", "AA", "AAA", "A===", "====", "AB==", "AAB=", "AA=A", "AA A"};
	static const struct {
		const char *text, *bytes;
	} right[] = {
	        {"", ""}, {"Zg==", "f"}, {"Zm8=", "fo"}, {"Zm9v", "foo"}, {"+/+/", "\xfb\xff\xbf"}};
	char text[64];

	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		snprintf(text, sizeof(text), "{\"name\":\"a\",\"stdin\":\"%s\"}", wrong[i]);
		assert_refused(text, "stdin: expected base64 text of at most 6 bytes");
	}
	for (size_t i = 0; i < COUNT_OF(right); i++) {
		snprintf(text, sizeof(text), "{\"name\":\"a\",\"stdin\":\"%s\"}", right[i].text);
		assert_true(span_equals_text(parsed(text).stdin_bytes, right[i].bytes));
	}
}

TEST(times_are_rfc_3339)
{
	static const char *const wrong[] = {
	        "2026-11-21",
	        "2026-02-30T00:00:00Z",
	        "2026-11-21T24:00:00Z",
	        "2026-11-21T02:25:00",
	        "2026-11-21T02:25:00.Z",
	        "2026-11-21T02:25:00+0100",
	        "1960-01-01T00:00:00Z",
	        "2026-11-21T02:25:00Zx",
	        "1970-01-01T00:00:00+01:00",
	        "9999-12-31T23:59:59-01:00",
	        "2026-00-21T02:25:00Z",
	        "",
	};
	static const struct {
		const char *text;
		int64_t ms;
	} right[] = {
	        {"1970-01-01T00:00:01Z", 1000},
	        {"1970-01-01T00:00:00.0019999Z", 1},
	        {"2026-11-21T03:25:00.5+01:00", 1795227900500},
	        {"2026-11-20T21:55:00-04:30", 1795227900000},
	};
	char text[96];

	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		snprintf(text, sizeof(text), "{\"name\":\"a\",\"created_at\":\"%s\"}", wrong[i]);
		assert_refused(
		        text, "created_at: expected an RFC 3339 time such as 2026-01-31T12:00:00Z");
	}
	for (size_t i = 0; i < COUNT_OF(right); i++) {
		snprintf(text, sizeof(text), "{\"name\":\"a\",\"created_at\":\"%s\"}",
		         right[i].text);
		assert_int_equal(parsed(text).created_at, right[i].ms);
	}
}

TEST(null_is_refused_unless_the_row_allows_it)
{
	assert_refused("{\"name\":\"a\",\"uptime_ms\":null}",
	               "uptime_ms: expected a whole number of at least 0");
	assert_int_equal(parsed("{\"name\":\"a\",\"created_at\":null}").created_at, 0);
	assert_true(span_equals_text(parsed("{\"name\":\"a\",\"extra\":null}").extra, "null"));
}

TEST(an_open_shape_passes_over_what_it_does_not_know_and_what_is_null)
{
	struct json_shape open = machine_shape;
	struct machine m;
	struct error err = {0};

	open.is_open = true;
	assert_int_equal(json_parse(&arena,
	                            SPAN("{\"name\":\"a\",\"newer\":{\"x\":[1]},\"uptime_ms\":null,"
	                                 "\"args\":null}"),
	                            &open, &m, &err),
	                 0);
	assert_string_equal(m.name, "a");
	assert_null(m.args);
	assert_int_equal(json_parse(&arena, SPAN("{\"name\":5}"), &open, &m, &err), -1);
	assert_int_equal(json_parse(&arena, SPAN("{}"), &open, &m, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        CASE(every_kind_is_read_into_its_member),
	        CASE(the_bits_say_which_members_were_present),
	        CASE(an_empty_body_is_an_empty_object),
	        CASE(errors_name_the_path_and_what_would_be_right),
	        CASE(an_unknown_member_is_refused_with_those_that_are_known),
	        CASE(an_unknown_member_is_answered_with_the_one_that_was_meant),
	        CASE(the_items_of_a_list_are_not_meant),
	        CASE(a_member_is_taken_in_either_spelling),
	        CASE(a_member_with_two_rows_is_found),
	        CASE(an_open_shape_passes_over_what_it_does_not_know),
	        CASE(text_that_is_not_json_is_refused_without_quoting_it),
	        CASE(depth_is_limited_before_the_text_is_parsed),
	        CASE(the_number_of_values_is_limited_before_the_text_is_parsed),
	        CASE(whole_numbers_may_be_written_with_a_point),
	        CASE(base64_is_strict),
	        CASE(times_are_rfc_3339),
	        CASE(null_is_refused_unless_the_row_allows_it),
	        CASE(an_open_shape_passes_over_what_it_does_not_know_and_what_is_null),
	};

	return cmocka_run_group_tests(tests, NULL, release);
}

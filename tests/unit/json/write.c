/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <math.h>

#include "json/write.h"
#include "machine.h"

static void assert_written(const struct machine *m, const char *expected)
{
	AUTO(buf_done) struct buf out = BUF(4096);

	json_write(&out, &machine_shape, m);
	assert_string_equal(buf_text(&out), expected);
}

static void assert_text(struct span text, const char *expected)
{
	AUTO(buf_done) struct buf out = BUF(4096);

	json_write_text(&out, text);
	assert_string_equal(buf_text(&out), expected);
}

TEST(empty_members_are_left_out_or_written_as_their_flags_say)
{
	assert_written(&(struct machine){.name = "a"},
	               "{\"name\":\"a\",\"exit_code\":null,\"network\":\"blocked\"}");
	assert_written(
	        &(struct machine){.network = 1, .present = 1 << 4 | 1 << 6},
	        "{\"name\":\"\",\"exit_code\":0,\"persistent\":false,\"network\":\"internet\"}");
}

TEST(every_kind_is_written)
{
	const char *args[] = {"x", "", NULL};
	struct json_pair pair = {"A", "1"};
	struct port ports[] = {{80, NULL}, {443, "tls"}};
	struct machine m = {
	        .name = "a",
	        .stdin_bytes = SPAN("fo\0"),
	        .uptime_ms = INT64_MIN,
	        .load = 0.1,
	        .persistent = true,
	        .args = args,
	        .env = {&pair, 1, true},
	        .limits = {.cpu = 2},
	        .ports = {ports, 2, true},
	        .extra = SPAN("[1]"),
	        .created_at = 1795227900123,
	};

	assert_written(
	        &m, "{\"name\":\"a\",\"stdin\":\"Zm8A\",\"uptime_ms\":-9223372036854775808,"
	            "\"exit_code\":null,\"load\":0.1,\"persistent\":true,\"network\":\"blocked\","
	            "\"args\":[\"x\",\"\"],\"env\":{\"A\":\"1\"},\"limits\":{\"cpu\":2,\"pids\":0},"
	            "\"ports\":[{\"number\":80,\"name\":null},{\"number\":443,\"name\":\"tls\"}],"
	            "\"extra\":[1],\"created_at\":\"2026-11-21T02:25:00.123Z\"}");
}

TEST(without_bits_a_zero_is_a_value)
{
	static const struct json_member shape_members[] = {
	        JSON_WHOLE_MEMBER(port, number, .flags = JSON_NULLABLE),
	        JSON_TEXT_MEMBER(port, name),
	};
	static JSON_SHAPE(shape, "Port", port, NULL);
	AUTO(buf_done) struct buf out = BUF(64);

	json_write(&out, &shape, &(struct port){0});
	assert_string_equal(buf_text(&out), "{\"number\":0,\"name\":\"\"}");
}

TEST(numbers_are_as_short_as_they_can_be)
{
	static const struct {
		double number;
		const char *text;
	} cases[] = {{0.5, "0.5"},
	             {1e300, "1e+300"},
	             {1.0 / 3, "0.3333333333333333"},
	             {NAN, "null"},
	             {-INFINITY, "null"}};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		AUTO(buf_done) struct buf out = BUF(128), expected = BUF(128);

		json_write(&out, &limits_shape, &(struct limits){.cpu = cases[i].number});
		buf_addf(&expected, "{\"cpu\":%s,\"pids\":0}", cases[i].text);
		assert_string_equal(buf_text(&out), buf_text(&expected));
	}
}

TEST(text_is_escaped)
{
	assert_text(SPAN(""), "\"\"");
	assert_text(SPAN("a\"\\/\b\f\n\r\t\x01\x7f\0"),
	            "\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u007f\xef\xbf\xbd\"");
	assert_text(SPAN("é€\xf0\x9f\x98\x80"), "\"é€\xf0\x9f\x98\x80\"");
}

TEST(bad_utf_8_becomes_replacement_characters)
{
	assert_text(SPAN("\xff"), "\"\xef\xbf\xbd\"");
	assert_text(SPAN("\xc3"), "\"\xef\xbf\xbd\"");
	assert_text(SPAN("\xe2\x82x"), "\"\xef\xbf\xbd\xef\xbf\xbdx\"");
	assert_text(SPAN("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	assert_text(SPAN("\x80\xc3\xa9"), "\"\xef\xbf\xbdé\"");
}

TEST(a_full_buffer_only_overflows)
{
	AUTO(buf_done) struct buf out = BUF(16);

	json_write(&out, &machine_shape, &(struct machine){.name = "a"});
	assert_true(out.overflowed);
	assert_true(out.size <= 16);
}

TEST(pieces_get_their_commas)
{
	const char *const words[] = {"a", "b\"", NULL};
	struct port ports[] = {{80, NULL}, {443, "tls"}};
	const struct json_list list = {.items = ports, .count = 2};
	AUTO(buf_done) struct buf out = BUF(4096);

	buf_add_text(&out, "data: ");
	json_begin_object(&out, NULL);
	json_add_text(&out, "text", "a\n");
	json_add_text(&out, "no \"text\"", NULL);
	json_add_bytes(&out, "bytes", SPAN("fo\0"));
	json_begin_list(&out, "list");
	json_add_whole(&out, NULL, -1);
	json_add_number(&out, NULL, 0.5);
	json_add_bool(&out, NULL, true);
	json_add_null(&out, NULL);
	json_begin_object(&out, NULL);
	json_end_object(&out);
	json_end_list(&out);
	json_add_time(&out, "never", 0);
	json_add_time(&out, "at", 1795227900123);
	json_add_raw(&out, "raw", SPAN("[1] \n"));
	json_add_raw(&out, "empty", SPAN(""));
	json_add_texts(&out, "words", words);
	json_add_texts(&out, "none", NULL);
	json_add_structs(&out, "ports", &port_shape, &list);
	json_end_object(&out);
	buf_add_byte(&out, '\n');
	json_begin_object(&out, NULL);
	json_end_object(&out);
	assert_string_equal(
	        buf_text(&out),
	        "data: {\"text\":\"a\\n\",\"no \\\"text\\\"\":null,\"bytes\":\"Zm8A\","
	        "\"list\":[-1,0.5,true,null,{}],\"never\":null,"
	        "\"at\":\"2026-11-21T02:25:00.123Z\",\"raw\":[1],\"empty\":null,"
	        "\"words\":[\"a\",\"b\\\"\"],\"none\":[],\"ports\":[{\"number\":80,\"name\":null},"
	        "{\"number\":443,\"name\":\"tls\"}]}\n{}");
}

TEST(texts_and_maps_are_formatted_in_the_arena)
{
	const char *const words[] = {"a", "b", NULL};
	struct json_pair pairs[] = {{"A", "1"}, {"B", NULL}};
	const struct json_map map = {.pairs = pairs, .count = 2};
	AUTO(arena_done) struct arena a = {0};

	assert_string_equal(json_format_texts(&a, words), "[\"a\",\"b\"]");
	assert_string_equal(json_format_texts(&a, NULL), "[]");
	assert_string_equal(json_format_map(&a, &map), "{\"A\":\"1\",\"B\":\"\"}");
}

TEST(chosen_members_are_written_alone)
{
	const struct machine m = {.name = "a", .network = 1};
	AUTO(buf_done) struct buf out = BUF(4096);
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	uint64_t members;

	assert_int_equal(json_parse_members(&a, "network, name", &machine_shape, &members, &err),
	                 0);
	json_write_members(&out, &machine_shape, &m, members);
	assert_string_equal(buf_text(&out), "{\"name\":\"a\",\"network\":\"internet\"}");
	assert_int_equal(json_parse_members(&a, "exitCode", &machine_shape, &members, &err), 0);
	buf_reset(&out);
	json_write_members(&out, &machine_shape, &m, members);
	assert_string_equal(buf_text(&out), "{\"exit_code\":null}");
}

TEST(unknown_and_missing_members_are_refused)
{
	static const char *const lists[] = {"", ",", "nam", "name,,network", "name network"};
	AUTO(arena_done) struct arena a = {0};
	uint64_t members = 7;

	for (size_t i = 0; i < COUNT_OF(lists); i++) {
		struct error err = {0};

		assert_int_equal(json_parse_members(&a, lists[i], &machine_shape, &members, &err),
		                 -1);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_int_equal(members, 7);
	}
}

int main(void)
{
	return RUN(CASE(chosen_members_are_written_alone),
	           CASE(unknown_and_missing_members_are_refused),
	           CASE(empty_members_are_left_out_or_written_as_their_flags_say),
	           CASE(every_kind_is_written), CASE(without_bits_a_zero_is_a_value),
	           CASE(numbers_are_as_short_as_they_can_be), CASE(text_is_escaped),
	           CASE(bad_utf_8_becomes_replacement_characters),
	           CASE(a_full_buffer_only_overflows), CASE(pieces_get_their_commas),
	           CASE(texts_and_maps_are_formatted_in_the_arena));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "machine.h"

static void assert_contains(const struct buf *out, const char *part)
{
	if (!strstr(buf_text(out), part))
		fail_msg("no %s in %s", part, buf_text(out));
}

TEST(a_shape_is_an_object_that_refuses_unknown_members)
{
	AUTO(buf_done) struct buf out = BUF(4096);

	json_write_schema(&out, &limits_shape);
	assert_string_equal(
	        buf_text(&out),
	        "{\"type\":\"object\",\"description\":\"What it may use\",\"properties\":{"
	        "\"cpu\":{\"type\":\"number\",\"format\":\"double\",\"minimum\":0,\"maximum\":1024,"
	        "\"description\":\"vCPUs\",\"examples\":[0.5]},"
	        "\"pids\":{\"type\":\"integer\",\"format\":\"int64\",\"minimum\":8,\"maximum\":"
	        "4096}},"
	        "\"additionalProperties\":false}");
}

TEST(every_kind_has_its_type)
{
	AUTO(buf_done) struct buf out = BUF(8192);

	json_write_schema(&out, &machine_shape);
	assert_contains(&out, "\"name\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":8,"
	                      "\"description\":\"A \\\"name\\\"\",\"examples\":[\"a1\"]}");
	assert_contains(&out, "\"password\":{\"type\":\"string\",\"writeOnly\":true,"
	                      "\"x-omitted-when-empty\":true}");
	assert_contains(&out, "\"stdin\":{\"type\":\"string\",\"contentEncoding\":\"base64\","
	                      "\"x-omitted-when-empty\":true}");
	assert_contains(&out, "\"exit_code\":{\"type\":[\"integer\",\"null\"],\"format\":\"int64\","
	                      "\"minimum\":-1,\"maximum\":255}");
	assert_contains(&out,
	                "\"network\":{\"type\":\"string\",\"enum\":[\"blocked\",\"internet\"]}");
	assert_contains(&out, "\"args\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
	                      "\"maxItems\":3,\"x-omitted-when-empty\":true}");
	assert_contains(&out, "\"limits\":{\"allOf\":[{\"$ref\":\"#/components/schemas/Limits\"}],"
	                      "\"x-omitted-when-empty\":true}");
	assert_contains(&out, "\"ports\":{\"type\":\"array\",\"items\":"
	                      "{\"$ref\":\"#/components/schemas/Port\"},\"maxItems\":2,"
	                      "\"x-omitted-when-empty\":true}");
	assert_contains(&out, "\"extra\":{\"x-omitted-when-empty\":true}");
	assert_contains(&out, "\"created_at\":{\"type\":[\"string\",\"null\"],"
	                      "\"format\":\"date-time\",\"x-omitted-when-empty\":true}");
	assert_contains(&out, "\"required\":[\"name\"]");
}

TEST(nullable_objects_and_choices_say_so)
{
	struct both {
		struct limits limits;
		int network;
	};
	static const struct json_member both_members[] = {
	        JSON_OBJECT_MEMBER(both, limits, &limits_shape, .flags = JSON_NULLABLE),
	        JSON_CHOICE_MEMBER(both, network, .flags = JSON_NULLABLE, .choices = networks),
	};
	static JSON_SHAPE(both, "Both", both, NULL);
	AUTO(buf_done) struct buf out = BUF(4096);

	json_write_schema(&out, &both);
	assert_contains(&out, "{\"anyOf\":[{\"$ref\":\"#/components/schemas/Limits\"},"
	                      "{\"type\":\"null\"}]}");
	assert_contains(&out, "{\"type\":[\"string\",\"null\"],"
	                      "\"enum\":[\"blocked\",\"internet\",null]}");
}

TEST(a_schema_is_json)
{
	AUTO(buf_done) struct buf out = BUF(8192);
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *v;
	struct error err;

	json_write_schema(&out, &machine_shape);
	assert_int_equal(json_load(&arena, buf_span(&out), &v, &err), 0);
	assert_int_equal(json_count(json_get(v, "properties")), 14);
}

int main(void)
{
	return RUN(CASE(a_shape_is_an_object_that_refuses_unknown_members),
	           CASE(every_kind_has_its_type), CASE(nullable_objects_and_choices_say_so),
	           CASE(a_schema_is_json));
}

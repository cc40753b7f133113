/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/api.h"
#include "base/id.h"
#include "config/config.h"
#include "edge/api.h"
#include "edge/hooks.h"
#include "http/server/failure.h"
#include "surface/e2b/e2b.h"
#include "unit.h"

static struct arena arena;

TEST(a_builds_uuid_has_its_id_and_a_mark)
{
	static const uint32_t marks[] = {0, 1, 0xABCDEF1, (1U << E2B_MARK_BITS) - 1};
	struct error err;

	for (size_t i = 0; i < COUNT_OF(marks); i++) {
		const struct id id = id_new();
		const char *text = e2b_uuid_format(&arena, id.text, marks[i]);
		uint32_t mark = 99;
		struct id back;

		assert_int_equal(strlen(text), 36);
		assert_int_equal(strspn(text, "0123456789abcdef-"), 36);
		assert_int_equal(e2b_uuid_parse(text, &back, &mark, &err), 0);
		assert_string_equal(back.text, id.text);
		assert_int_equal(mark, marks[i]);
	}
	arena_done(&arena);
}

TEST(an_invalid_uuid_names_no_build)
{
	static const char *const wrong[] = {
	        "",
	        "x",
	        "00000000-0000-0000-0000-00000000000",
	        "00000000-0000-0000-0000-0000000000000",
	        "zz000000-0000-0000-0000-000000000000",
	        "000000000000000000000000000000000000",
	        "------------------------------------",
	};

	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		struct error err = {0};
		uint32_t mark;
		struct id id;

		assert_int_equal(e2b_uuid_parse(wrong[i], &id, &mark, &err), -1);
		assert_int_equal(err.code, ERROR_NOT_FOUND);
	}
}

static void expect_origin(const char *configured, const char *origin, const char *answer)
{
	struct config config = {.cors_origins = configured};
	struct api api = {.config = &config};
	const char *found = api_allow_origin(&api, origin);

	if (answer)
		assert_string_equal(found, answer);
	else
		assert_null(found);
}

TEST(pages_of_listed_origins_may_read_replies)
{
	expect_origin("*", "https://anybody", "*");
	expect_origin("https://a.example, http://localhost:3000", "http://localhost:3000",
	              "http://localhost:3000");
	expect_origin("https://a.example", "https://a.example", "https://a.example");
	expect_origin("https://a.example", "https://a.example:444", NULL);
	expect_origin("https://a.example", "http://a.example", NULL);
	expect_origin("https://a.example", "null", NULL);
	expect_origin("", "", NULL);
	expect_origin("https://a.example", "*", NULL);
}

int main(void)
{
	return RUN(CASE(a_builds_uuid_has_its_id_and_a_mark), CASE(an_invalid_uuid_names_no_build),
	           CASE(pages_of_listed_origins_may_read_replies));
}

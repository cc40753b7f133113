/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/skill.h"

#include <string.h>

#include "unit.h"

TEST(a_skills_name_is_a_short_word)
{
	static const char *const bad[] = {"", "-a", "A", "a_b", "a/b", "..", "a b", "\xc3\xa9"};
	char longest[SKILL_NAME_MAX + 2];
	struct error err;

	memset(longest, 'a', sizeof(longest) - 1);
	longest[SKILL_NAME_MAX + 1] = '\0';
	assert_int_equal(skill_name_check("pdf-2", &err), 0);
	assert_int_equal(skill_name_check(longest + 1, &err), 0);
	assert_int_equal(skill_name_check(longest, &err), -1);
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		assert_int_equal(skill_name_check(bad[i], &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
}

/* The error of a bundle with these files and SKILL.md, or of these alone. */
static enum error_code check(const char *first, const char *second, int64_t *ret_size)
{
	AUTO(arena_done) struct arena a = {0};
	struct skill_file files[] = {{first, SPAN("abc")}, {second, SPAN("de")}};
	const struct skill_bundle bundle = {{files, second ? 2 : 1, true}};
	struct error err = {0};

	return skill_bundle_check(&a, &bundle, ret_size, &err) < 0 ? err.code : ERROR_NONE;
}

TEST(a_bundle_has_a_main_file_and_stays_in_its_folder)
{
	int64_t size = 0;

	assert_int_equal(check("SKILL.md", NULL, &size), ERROR_NONE);
	assert_int_equal(size, 3);
	assert_int_equal(check("scripts/run.py", "./SKILL.md", &size), ERROR_NONE);
	assert_int_equal(size, 5);
	assert_int_equal(check("a.md", "deep/SKILL.md", &size), ERROR_INVALID);
	assert_int_equal(check("SKILL.md", "./SKILL.md", &size), ERROR_INVALID);
	assert_int_equal(check("SKILL.md", "../a", &size), ERROR_INVALID);
	assert_int_equal(check("SKILL.md", "a/../../b", &size), ERROR_INVALID);
	assert_int_equal(check("SKILL.md", "/etc/passwd", &size), ERROR_INVALID);
	assert_int_equal(check("SKILL.md", ".", &size), ERROR_INVALID);
}

TEST(a_bundle_has_a_largest_size)
{
	AUTO(arena_done) struct arena a = {0};
	static char bytes[SKILL_SIZE_MAX + 1];
	struct skill_file file = {"SKILL.md", {bytes, SKILL_SIZE_MAX}};
	const struct skill_bundle bundle = {{&file, 1, true}};
	struct error err = {0};
	int64_t size;

	assert_int_equal(skill_bundle_check(&a, &bundle, &size, &err), 0);
	assert_int_equal(size, SKILL_SIZE_MAX);
	file.content.size++;
	assert_int_equal(skill_bundle_check(&a, &bundle, &size, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
}

int main(void)
{
	return RUN(CASE(a_skills_name_is_a_short_word),
	           CASE(a_bundle_has_a_main_file_and_stays_in_its_folder),
	           CASE(a_bundle_has_a_largest_size));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "base/bytes.h"

static int fail_deep(struct error *err)
{
	errno = ENOENT;
	return FAIL_ERRNO(err, "open '%s'", "/nowhere");
}

TEST(a_failure_says_what_where_and_why)
{
	struct error err;

	assert_int_equal(fail_deep(&err), -1);
	assert_int_equal(FAIL_CONTEXT(&err, "start sandbox '%s'", "a1"), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_int_equal(err.sys_errno, ENOENT);
	assert_non_null(strstr(err.where, "test_error.c:"));
	assert_string_equal(err.text,
	                    "start sandbox 'a1': open '/nowhere': No such file or directory");
	assert_string_equal(err.hint, "");
}

TEST(a_new_failure_drops_the_old_hint)
{
	struct error err;

	(void)FAIL(&err, ERROR_INVALID, "first");
	error_hint(&err, "do %d", 2);
	assert_string_equal(err.hint, "do 2");
	(void)FAIL(&err, ERROR_LIMIT, "second");
	assert_string_equal(err.hint, "");
	error_clear(&err);
	assert_int_equal(err.code, ERROR_NONE);
	assert_string_equal(err.text, "");
}

TEST(an_error_may_be_made_from_its_own_text)
{
	struct error err;

	(void)FAIL(&err, ERROR_INVALID, "inner");
	(void)FAIL(&err, ERROR_SYSTEM, "outer (%s)", err.text);
	assert_string_equal(err.text, "outer (inner)");
	error_context(&err, "again %s", err.text);
	assert_string_equal(err.text, "again outer (inner): outer (inner)");
	error_hint(&err, "%s", err.text);
	assert_string_equal(err.hint, err.text);
}

TEST(an_error_may_name_another_server_until_it_is_another_error)
{
	struct error err;

	(void)FAIL(&err, ERROR_CONFLICT, "sandbox 'a' is on node 'x'");
	assert_string_equal(err.node, "");
	error_elsewhere(&err, "x");
	error_context(&err, "start");
	error_hint(&err, "ask it");
	assert_string_equal(err.node, "x");
	error_elsewhere(&err, "a name that is longer than any name of a server may be");
	assert_int_equal(strlen(err.node), ERROR_NODE_MAX - 1);
	(void)FAIL(&err, ERROR_NOT_FOUND, "no sandbox");
	assert_string_equal(err.node, "");
}

TEST(a_long_text_is_cut_between_characters)
{
	char long_text[2 * ERROR_TEXT_MAX];

	for (unsigned shift = 0; shift < 4; shift++) {
		struct error err;

		memset(long_text, 'a', sizeof(long_text));
		for (size_t at = shift; at + 4 < sizeof(long_text); at += 3)
			memcpy(long_text + at, "\xE2\x82\xAC", 3);
		long_text[sizeof(long_text) - 1] = '\0';
		(void)FAIL(&err, ERROR_INVALID, "%s", long_text);
		assert_true(strlen(err.text) >= ERROR_TEXT_MAX - 4);
		assert_true(span_is_utf8(span_of(err.text)));
		error_hint(&err, "%s", long_text);
		assert_true(span_is_utf8(span_of(err.hint)));
		error_context(&err, "ab");
		assert_true(span_is_utf8(span_of(err.text)));
	}
}

TEST(the_kind_of_a_missing_object_is_told_until_another_error)
{
	struct error err;

	assert_int_equal(FAIL_MISSING(&err, "sandbox", "a1"), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_string_equal(err.text, "no sandbox 'a1'");
	assert_string_equal(err.resource, "sandbox");
	error_context(&err, "start");
	assert_string_equal(err.resource, "sandbox");
	(void)FAIL(&err, ERROR_NOT_FOUND, "no file");
	assert_string_equal(err.resource, "");
}

TEST(an_unknown_errno_is_named_by_number)
{
	struct error err;

	errno = 4000;
	(void)FAIL_ERRNO(&err, "try");
	assert_string_equal(err.text, "try: errno 4000");
	assert_int_equal(err.code, ERROR_SYSTEM);
}

TEST(every_code_has_a_name_that_leads_back_to_it)
{
	for (unsigned i = 0; i < ERROR_CODE_COUNT; i++) {
		const struct error_kind *kind = error_kind_get((enum error_code)i);

		assert_non_null(kind->name);
		assert_int_equal(error_code_parse(kind->name), i);
		if (i == ERROR_NONE)
			continue;
		assert_in_range(kind->http_status, 400, 599);
		assert_in_range(kind->exit_status, 120, 125);
	}
	assert_int_equal(error_code_parse("no such name"), ERROR_SYSTEM);
	assert_string_equal(error_kind_get((enum error_code)99)->name, "internal");
}

TEST(common_errnos_have_codes)
{
	assert_int_equal(error_code_of(EACCES), ERROR_FORBIDDEN);
	assert_int_equal(error_code_of(EEXIST), ERROR_CONFLICT);
	assert_int_equal(error_code_of(ENOSPC), ERROR_NO_SPACE);
	assert_int_equal(error_code_of(EDQUOT), ERROR_NO_SPACE);
	assert_int_equal(error_kind_get(ERROR_NO_SPACE)->http_status, 507);
	assert_int_equal(error_code_of(ECONNREFUSED), ERROR_UNAVAILABLE);
	assert_int_equal(error_code_of(EIO), ERROR_SYSTEM);
}

int main(void)
{
	return RUN(CASE(a_failure_says_what_where_and_why), CASE(a_new_failure_drops_the_old_hint),
	           CASE(an_error_may_be_made_from_its_own_text),
	           CASE(an_error_may_name_another_server_until_it_is_another_error),
	           CASE(a_long_text_is_cut_between_characters),
	           CASE(the_kind_of_a_missing_object_is_told_until_another_error),
	           CASE(an_unknown_errno_is_named_by_number),
	           CASE(every_code_has_a_name_that_leads_back_to_it),
	           CASE(common_errnos_have_codes));
}

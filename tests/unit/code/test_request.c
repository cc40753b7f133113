/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "code/code.h"
#include "json/json.h"
#include "unit.h"
#include "wire/wire.h"

#define NONCE "0123456789abcdef"

TEST(a_request_tells_the_sizes_of_its_parts)
{
	AUTO(buf_done) struct buf out = BUF(1024);
	struct json_pair pairs[] = {{"A", "b c"}, {"D", ""}};
	const struct json_map env = {pairs, 2, true};

	code_write_request(&out, &(struct code_request){CODE_PYTHON, NONCE, "print(1)", &env});
	assert_int_equal(out.size, 35 + 8 + 6 + 3);
	assert_memory_equal(out.data, NONCE " 00000008 00000009\nprint(1)A=b c\0D=\0", out.size);
}

TEST(a_request_to_a_shell_is_lines_that_say_what_was_asked_for)
{
	AUTO(buf_done) struct buf out = BUF(1024);
	struct json_pair pairs[] = {{"A", "it's"}};
	const struct json_map env = {pairs, 1, true};

	code_write_request(&out, &(struct code_request){CODE_BASH, NONCE, "echo '$A'\nls", &env});
	assert_string_equal(buf_text(&out),
	                    "__atoll_begin " NONCE "\n__atoll_keep A\nexport A='it'\\''s'\n"
	                    "eval 'echo '\\''$A'\\''\nls' </dev/null\n__atoll_status=$?\n"
	                    "eval \"$__atoll_env\"\n__atoll_end " NONCE " $__atoll_status\n");
}

/* Quotes grow to four bytes each: what is accepted must still go as one message, whole. */
TEST(the_longest_code_is_one_message)
{
	AUTO(buf_done) struct buf out = BUF(WIRE_PAYLOAD_MAX);
	AUTO_FREE char *code = malloc(CODE_SOURCE_MAX + 2);
	struct error err;

	assert_non_null(code);
	memset(code, 'x', CODE_SOURCE_MAX + 1);
	code[CODE_SOURCE_MAX + 1] = '\0';
	assert_int_equal(code_source_check(CODE_PYTHON, code, NULL, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	code[CODE_SOURCE_MAX] = '\0';
	assert_int_equal(code_source_check(CODE_PYTHON, code, NULL, &err), 0);
	code_write_request(&out, &(struct code_request){CODE_PYTHON, NONCE, code, NULL});
	assert_false(out.overflowed);
	memset(code, '\'', CODE_SOURCE_MAX);
	assert_int_equal(code_source_check(CODE_BASH, code, NULL, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
}

TEST(names_of_variables_are_names)
{
	static const char *const bad[] = {"", "1A", "A-B", "A=B", "A B", "\xc3\xa4"};
	struct json_pair pair = {.value = "v"};
	const struct json_map env = {&pair, 1, true};
	struct error err;

	for (unsigned i = 0; i < COUNT_OF(bad); i++) {
		pair.key = bad[i];
		assert_int_equal(code_source_check(CODE_PYTHON, "", &env, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
	pair.key = "_A1";
	assert_int_equal(code_source_check(CODE_PYTHON, "", &env, &err), 0);
}

TEST(languages_have_short_names_and_others_are_refused_by_name)
{
	enum code_language language;
	struct error err;

	assert_int_equal(code_language_parse("js", &language, &err), 0);
	assert_int_equal(language, CODE_JAVASCRIPT);
	assert_int_equal(code_language_parse("python", &language, &err), 0);
	assert_int_equal(language, CODE_PYTHON);
	assert_int_equal(code_language_parse("ts", &language, &err), 0);
	assert_int_equal(language, CODE_TYPESCRIPT);
	for (unsigned i = 0; code_languages[i]; i++) {
		assert_int_equal(code_language_parse(code_languages[i], &language, &err), 0);
		assert_int_equal(language, i);
		assert_non_null(code_programs[i]);
		assert_non_null(strstr(CODE_LANGUAGES, code_languages[i]));
	}
	assert_int_equal(code_language_parse("perl", &language, &err), -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	assert_non_null(strstr(err.text, "'perl'"));
	assert_non_null(strstr(err.hint, CODE_LANGUAGES));
}

TEST(nonces_are_new)
{
	char a[CODE_NONCE_SIZE], b[CODE_NONCE_SIZE];

	code_new_nonce(a);
	code_new_nonce(b);
	assert_int_equal(strlen(a), CODE_NONCE_SIZE - 1);
	assert_int_equal(strspn(a, "0123456789abcdef"), CODE_NONCE_SIZE - 1);
	assert_string_not_equal(a, b);
}

int main(void)
{
	return RUN(CASE(a_request_tells_the_sizes_of_its_parts),
	           CASE(a_request_to_a_shell_is_lines_that_say_what_was_asked_for),
	           CASE(the_longest_code_is_one_message), CASE(names_of_variables_are_names),
	           CASE(languages_have_short_names_and_others_are_refused_by_name),
	           CASE(nonces_are_new));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "sandbox/credential.h"

#define assert_done(call) assert_int_equal((call), 0)
#define assert_refused(call, code_)                                                                \
	do {                                                                                       \
		error_clear(&err);                                                                 \
		assert_int_equal((call), -1);                                                      \
		assert_int_equal(err.code, (code_));                                               \
	} while (0)

static int format_one(const char *host)
{
	AUTO(arena_done) struct arena a = {0};
	const char *const hosts[] = {host, NULL};
	const char *text;
	struct error err = {0};

	return credential_hosts_format(&a, CREDENTIAL_TOKEN, hosts, &text, &err);
}

TEST(a_name_is_lower_case_and_short)
{
	char long_name[CREDENTIAL_NAME_MAX + 2];
	struct error err = {0};

	memset(long_name, 'a', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	assert_done(credential_name_check("github", &err));
	assert_done(credential_name_check("4-you", &err));
	assert_done(credential_name_check(long_name + 1, &err));
	assert_refused(credential_name_check(long_name, &err), ERROR_INVALID);
	assert_refused(credential_name_check("", &err), ERROR_INVALID);
	assert_refused(credential_name_check("-a", &err), ERROR_INVALID);
	assert_refused(credential_name_check("GitHub", &err), ERROR_INVALID);
	assert_refused(credential_name_check("a.b", &err), ERROR_INVALID);
	assert_refused(credential_name_check("a}", &err), ERROR_INVALID);
}

TEST(fields_are_those_of_the_kind)
{
	const struct credential_field token = {"token", "x"}, user = {"username", "u"},
	                              password = {"password", "p"}, own = {"x_key", "v"};
	const struct credential_field both[] = {user, password}, more[] = {token, own};
	struct error err = {0};

	assert_done(credential_fields_check(CREDENTIAL_TOKEN, &token, 1, &err));
	assert_done(credential_fields_check(CREDENTIAL_BASIC, both, 2, &err));
	assert_done(credential_fields_check(CREDENTIAL_CUSTOM, more, 2, &err));
	assert_refused(credential_fields_check(CREDENTIAL_BASIC, both, 1, &err), ERROR_INVALID);
	assert_non_null(strstr(err.text, "'password'"));
	assert_refused(credential_fields_check(CREDENTIAL_TOKEN, more, 2, &err), ERROR_INVALID);
	assert_non_null(strstr(err.text, "x_key"));
	assert_refused(credential_fields_check(CREDENTIAL_CUSTOM, NULL, 0, &err), ERROR_INVALID);
	assert_refused(credential_fields_check(CREDENTIAL_AWS, &token, 1, &err), ERROR_INVALID);
}

TEST(a_value_is_printable_and_is_in_no_error)
{
	static const char *const bad[] = {"", "hunter2\n", "hunter2\r\nX: y", "hunter\xc3\xa9",
	                                  "a\tb"};
	char long_value[CREDENTIAL_FIELD_VALUE_MAX + 2];
	struct credential_field field = {"token", long_value};
	struct error err = {0};

	memset(long_value, 'a', sizeof(long_value) - 1);
	long_value[sizeof(long_value) - 1] = '\0';
	assert_refused(credential_fields_check(CREDENTIAL_TOKEN, &field, 1, &err), ERROR_INVALID);
	field.value++;
	assert_done(credential_fields_check(CREDENTIAL_TOKEN, &field, 1, &err));
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		field.value = bad[i];
		assert_refused(credential_fields_check(CREDENTIAL_TOKEN, &field, 1, &err),
		               ERROR_INVALID);
		assert_null(strstr(err.text, "hunter"));
	}
	field = (struct credential_field){"To-ken", "x"};
	assert_refused(credential_fields_check(CREDENTIAL_CUSTOM, &field, 1, &err), ERROR_INVALID);
}

TEST(all_values_together_have_a_limit)
{
	struct credential_field fields[CREDENTIAL_FIELD_COUNT_MAX + 1];
	char value[CREDENTIAL_FIELD_VALUE_MAX + 1], names[COUNT_OF(fields)][8];
	struct error err = {0};

	memset(value, 'v', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	for (size_t i = 0; i < COUNT_OF(fields); i++) {
		snprintf(names[i], sizeof(names[i]), "f%zu", i);
		fields[i] = (struct credential_field){names[i], value};
	}
	assert_done(credential_fields_check(CREDENTIAL_CUSTOM, fields, 4, &err));
	assert_refused(credential_fields_check(CREDENTIAL_CUSTOM, fields, 5, &err), ERROR_INVALID);
	for (size_t i = 0; i < COUNT_OF(fields); i++)
		fields[i].value = "v";
	assert_done(credential_fields_check(CREDENTIAL_CUSTOM, fields, CREDENTIAL_FIELD_COUNT_MAX,
	                                    &err));
	assert_refused(credential_fields_check(CREDENTIAL_CUSTOM, fields, COUNT_OF(fields), &err),
	               ERROR_INVALID);
}

TEST(hosts_become_one_text)
{
	AUTO(arena_done) struct arena a = {0};
	const char *const hosts[] = {"API.Example.com.", "*.example.org", NULL};
	const char *const none[] = {NULL};
	const char *text, **list;
	struct error err = {0};

	assert_done(credential_hosts_format(&a, CREDENTIAL_TOKEN, hosts, &text, &err));
	assert_string_equal(text, "api.example.com *.example.org");
	list = credential_hosts_split(&a, text);
	assert_string_equal(list[0], "api.example.com");
	assert_string_equal(list[1], "*.example.org");
	assert_null(list[2]);
	assert_refused(credential_hosts_format(&a, CREDENTIAL_TOKEN, none, &text, &err),
	               ERROR_INVALID);
	assert_refused(credential_hosts_format(&a, CREDENTIAL_TOKEN, NULL, &text, &err),
	               ERROR_INVALID);
}

TEST(a_host_is_a_name_and_no_wildcard_of_strangers)
{
	static const char *const bad[] = {
	        "",
	        "127.0.0.1",
	        "example.com:443",
	        "https://example.com",
	        "*",
	        "*.com",
	        "*.github.io",
	        "*.s3.amazonaws.com",
	        "a.*.com",
	        "example.com/x",
	        "[::1]",
	        "*.co.uk",
	        "exam ple.com",
	};
	AUTO(arena_done) struct arena a = {0};
	const char *const amazon[] = {"*.amazonaws.com", NULL};
	const char *text;
	struct error err = {0};

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(format_one(bad[i]), -1);
	assert_int_equal(format_one("*.example.co.uk"), 0);
	assert_int_equal(format_one("me.github.io"), 0);
	assert_done(credential_hosts_format(&a, CREDENTIAL_AWS, amazon, &text, &err));
}

TEST(hosts_cover_what_is_as_narrow)
{
	const char *text = "api.example.com *.example.org";

	assert_true(credential_hosts_cover(text, SPAN("api.example.com")));
	assert_true(credential_hosts_cover(text, SPAN("a.example.org")));
	assert_true(credential_hosts_cover(text, SPAN("a.b.example.org")));
	assert_true(credential_hosts_cover(text, SPAN("*.example.org")));
	assert_true(credential_hosts_cover(text, SPAN("*.a.example.org")));
	assert_false(credential_hosts_cover(text, SPAN("example.org")));
	assert_false(credential_hosts_cover(text, SPAN("badexample.org")));
	assert_false(credential_hosts_cover(text, SPAN("*.example.com")));
	assert_false(credential_hosts_cover(text, SPAN("example.com")));
	assert_false(credential_hosts_cover("", SPAN("example.com")));
}

static int format_environment(const char *name, const char *field, const char *value,
                              const char **ret)
{
	static struct arena a;
	const struct credential_field variable = {name, field}, password = {"password", value};
	const struct credential_environment wish = {&variable, 1, &password, 1};
	struct error err = {0};

	return credential_environment_format(&a, &wish, ret, &err) < 0 ? (int)err.code : 0;
}

TEST(a_variable_is_harmless_and_has_a_field_that_can_be_masked)
{
	static const char *const refused[] = {
	        "PATH",       "LD_PRELOAD", "SSL_CERT_FILE", "HTTPS_PROXY", "GIT_SSH_COMMAND",
	        "PYTHONPATH", "BASH_ENV",   "lower",         "1A",          "",
	        "A B",        "A=B",        "PROMPT_COMMAND"};
	struct span rest, name, field;
	const char *text;

	assert_int_equal(format_environment("PGPASSWORD", "password", "12345678", &text), 0);
	assert_string_equal(text, "PGPASSWORD=password");
	rest = span_of(text);
	assert_true(credential_environment_next(&rest, &name, &field));
	assert_true(span_equals_text(name, "PGPASSWORD") && span_equals_text(field, "password"));
	assert_false(credential_environment_next(&rest, &name, &field));
	for (size_t i = 0; i < COUNT_OF(refused); i++)
		assert_int_equal(format_environment(refused[i], "password", "12345678", &text),
		                 ERROR_INVALID);
	assert_int_equal(format_environment("A", "other", "12345678", &text), ERROR_INVALID);
	assert_int_equal(format_environment("A", "password", "1234567", &text), ERROR_INVALID);
}

int main(void)
{
	return RUN(CASE(a_name_is_lower_case_and_short), CASE(fields_are_those_of_the_kind),
	           CASE(a_value_is_printable_and_is_in_no_error),
	           CASE(all_values_together_have_a_limit), CASE(hosts_become_one_text),
	           CASE(a_host_is_a_name_and_no_wildcard_of_strangers),
	           CASE(hosts_cover_what_is_as_narrow),
	           CASE(a_variable_is_harmless_and_has_a_field_that_can_be_masked));
}

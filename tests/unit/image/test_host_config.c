/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "image/host_config.h"

static const char *filter(const char *text, const char *const *names)
{
	static struct buf out;

	buf_done(&out);
	out = BUF(4096);
	host_filter_settings(span_of(text), names, &out);
	return buf_text(&out);
}

TEST(only_listed_settings_are_copied)
{
	assert_string_equal(filter("registry=https://npm.example/\n"
	                           "//npm.example/:_authToken=secret\n"
	                           "_auth=secret\nemail=a\n"
	                           "@mine:registry = https://mine.example/\n",
	                           host_npm_settings),
	                    "registry=https://npm.example/\n"
	                    "@mine:registry = https://mine.example/\n");
	assert_string_equal(filter("[global]\nindex-url = https://pip.example/simple\ncert = /x\n",
	                           host_pip_settings),
	                    "index-url = https://pip.example/simple\n");
}

TEST(a_value_with_credentials_is_not_copied)
{
	assert_string_equal(
	        filter("registry=https://me:secret@npm.example/\nproxy=http://p.example\n"
	               "https-proxy=http://me@p.example",
	               host_npm_settings),
	        "proxy=http://p.example\n");
	assert_true(host_has_credentials(SPAN("http://a:b@c")));
	assert_false(host_has_credentials(SPAN("http://c/")));
}

TEST(lines_that_are_no_settings_are_passed_over)
{
	assert_string_equal(filter("", host_npm_settings), "");
	assert_string_equal(filter("\n\n# registry\nregistry\n=x\n; a=b", host_npm_settings), "");
	assert_string_equal(filter(":registry=x\nxregistry=y\n", host_npm_settings), "");
}

int main(void)
{
	return RUN(CASE(only_listed_settings_are_copied),
	           CASE(a_value_with_credentials_is_not_copied),
	           CASE(lines_that_are_no_settings_are_passed_over));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What of a client's headers stays beside those that a rule puts in. */
#include "credential/passage/draft.h"

#include <string.h>

#include "unit.h"

#define VALUE "the-value"

static void draft(struct arena *a, const char *rule_text, const char *fields, struct buf *out)
{
	const char *text = arena_format(
	        a,
	        "{\"sandbox\":\"aaaaaaaaaaaaaaaaaaaa\",\"ca_certificate\":\"x\",\"ca_key\":\"y\","
	        "\"credentials\":[{\"name\":\"c\",\"hosts\":[\"api.test\"],\"fields\":{\"v\":"
	        "\"" VALUE "\"}}],\"rules\":[{\"host\":\"api.test\",\"action\":\"inject\",%s}]}",
	        rule_text);
	char *head_text = arena_format(a, "GET / HTTP/1.1\r\nHost: api.test\r\n%s\r\n", fields);
	struct credential_set set;
	struct error err = {0};
	struct http_head head;
	struct draft d;

	assert_int_equal(credential_set_parse(a, span_of(text), &set, &err), 0);
	assert_int_equal(head_parse(head_text, strlen(head_text), &head), FAULT_NONE);
	draft_begin(&d, a, &head, "api.test");
	d.set = &set;
	d.rule = set.rules.items;
	assert_int_equal(draft_inject(&d, &err), 0);
	draft_write(out, &d);
}

static void expect(const char *rule, const char *fields, const char *has, const char *lacks)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf out = BUF(64 * 1024);

	draft(&a, rule, fields, &out);
	assert_non_null(strstr(buf_text(&out), has));
	assert_null(strstr(buf_text(&out), lacks));
}

TEST(a_header_with_underscores_does_not_stand_beside_an_injected_one)
{
	const char *always = "\"inject\":[{\"kind\":\"header\",\"name\":\"X-Api-Key\",\"value\":"
	                     "\"${credential.c.v}\"}]",
	           *absent = "\"inject\":[{\"kind\":\"header\",\"name\":\"X-Api-Key\",\"value\":"
	                     "\"${credential.c.v}\",\"when\":\"absent\"}]",
	           *under = "\"inject\":[{\"kind\":\"header\",\"name\":\"X_Api_Key\",\"value\":"
	                    "\"${credential.c.v}\"}]";

	expect(always, "x_api_key: mine\r\nX-API_KEY: mine\r\nX-Api-Key: mine\r\nX_Other: yes\r\n",
	       "X-Api-Key: " VALUE "\r\n", "mine");
	expect(always, "X_Other: yes\r\n", "X_Other: yes", "mine");
	expect(absent, "X_Api-Key: mine\r\n", "X-Api-Key: " VALUE "\r\n", "mine");
	expect(absent, "X-Api-Key: own\r\nX_Api_Key: mine\r\n", "X-Api-Key: own", "mine");
	expect(under, "X-Api-Key: mine\r\n", "X_Api_Key: " VALUE "\r\n", "mine");
}

TEST(a_placeholder_s_header_has_no_second_one_with_underscores)
{
	const char *named = "\"inject\":[{\"kind\":\"placeholder\",\"marker\":\"the-marker\","
	                    "\"value\":\"${credential.c.v}\",\"in\":[\"header:x-key\"]}]",
	           *any = "\"inject\":[{\"kind\":\"placeholder\",\"marker\":\"the-marker\","
	                  "\"value\":\"${credential.c.v}\",\"in\":[\"header:*\"]}]";

	expect(named, "X_Key: mine\r\nX-Key: the-marker\r\n", "X-Key: " VALUE, "mine");
	expect(any, "X_Key: mine\r\nX-Key: the-marker\r\n", "X-Key: " VALUE, "mine");
	expect(any, "X_Key: the-marker\r\nX-Key: the-marker\r\nZ: the-marker\r\n", "Z: " VALUE,
	       "the-marker");
}

TEST(what_a_rule_or_the_proxy_removes_is_removed_with_underscores_too)
{
	const char *removes = "\"remove\":[\"X-Forwarded-User\"],\"inject\":[{\"kind\":\"header\","
	                      "\"name\":\"a\",\"value\":\"${credential.c.v}\"}]";

	expect(removes,
	       "X_Forwarded_User: mine\r\nX_HTTP_Method_Override: mine\r\nproxy_authorization: "
	       "mine\r\n",
	       "a: " VALUE, "mine");
}

TEST(names_are_compared_as_servers_of_CGI_do)
{
	static const char *const names[] = {"x-key", "a", NULL};

	assert_true(draft_is_same_name("X_kEy", "x-KEY"));
	assert_false(draft_is_same_name("x-key", "x-key2"));
	assert_false(draft_is_same_name("x-key2", "x-key"));
	assert_false(draft_is_same_name("xkey", "x-key"));
	assert_false(draft_is_same_name("", "x"));
	assert_true(draft_name_is_of("x_key", names));
	assert_false(draft_name_is_of("b", names));
	assert_false(draft_name_is_of("b", NULL));
}

int main(void)
{
	return RUN(CASE(a_header_with_underscores_does_not_stand_beside_an_injected_one),
	           CASE(a_placeholder_s_header_has_no_second_one_with_underscores),
	           CASE(what_a_rule_or_the_proxy_removes_is_removed_with_underscores_too),
	           CASE(names_are_compared_as_servers_of_CGI_do));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "credential/authority.h"
#include "credential/passage/guard.h"
#include "http/tls/tls.h"

#define RULE                                                                                       \
	"{\"id\":\"api\",\"host\":\"*.example.com\",\"action\":\"inject\",\"inject\":[{\"kind\":"  \
	"\"header\",\"name\":\"x-key\",\"value\":\"${credential.c.v}\"}]}"

static struct error err;

static void write_set(struct buf *out, const char *rules, const char *more)
{
	AUTO(arena_done) struct arena a = {0};
	const char *certificate, *key;

	assert_int_equal(
	        credential_authority_make(&a, "aaaaaaaaaaaaaaaaaaaa", &certificate, &key, &err), 0);
	buf_addf(out,
	         "{\"sandbox\":\"aaaaaaaaaaaaaaaaaaaa\",\"credentials\":[{\"name\":\"c\","
	         "\"hosts\":[\"a.example.com\"],\"fields\":{\"v\":\"a-long-value\"}%s}],"
	         "\"rules\":[%s],\"ca_certificate\":",
	         more, rules);
	json_write_text(out, span_of(certificate));
	buf_add_text(out, ",\"ca_key\":");
	json_write_text(out, span_of(key));
	buf_add_text(out, "}");
}

static struct guard *make_guard(const char *rules, const char *more)
{
	AUTO(buf_done) struct buf text = BUF(64 * 1024);
	struct guard *g = NULL;

	write_set(&text, rules, more);
	if (guard_new(buf_span(&text), &g, &err) < 0)
		fail_msg("%s", err.text);
	return g;
}

TEST(a_credential_is_used_only_for_its_own_hosts_and_time)
{
	struct guard *g = make_guard(RULE, "");
	const struct credential_rule *rule = credential_rule_at(&g->rules, 0);

	assert_int_equal(guard_may_use(g, rule, "a.example.com", 1000), DECISION_OK);
	assert_int_equal(guard_may_use(g, rule, "b.example.com", 1000), DECISION_CREDENTIAL_HOST);
	guard_free(g);
	g = make_guard(RULE, ",\"expires_at\":\"2026-01-01T00:00:00Z\"");
	rule = credential_rule_at(&g->rules, 0);
	assert_int_equal(guard_may_use(g, rule, "a.example.com", INT64_C(1767225599999)),
	                 DECISION_OK);
	assert_int_equal(guard_may_use(g, rule, "a.example.com", INT64_C(1767225600000)),
	                 DECISION_CREDENTIAL_EXPIRED);
	guard_free(g);
}

TEST(the_first_rule_that_says_so_decides_about_http2)
{
	struct guard *g = make_guard("{\"host\":\"a.example.com\",\"action\":\"allow\"},"
	                             "{\"host\":\"*.example.com\",\"action\":\"allow\","
	                             "\"upstream\":{\"http2\":\"never\"}},"
	                             "{\"host\":\"a.example.com\",\"action\":\"allow\","
	                             "\"upstream\":{\"http2\":\"always\"}}",
	                             "");

	assert_int_equal(guard_http2(g, "a.example.com"), HTTP2_NEVER);
	assert_int_equal(guard_http2(g, "b.other.com"), HTTP2_AS_CLIENT);
	guard_free(g);
}

TEST(a_rate_gives_its_burst_and_then_its_pace)
{
	const struct credential_limits limits = {.requests_per_second = 10, .burst = 3};
	struct rule_use use = {.requests = 0};
	unsigned taken = 0;

	for (unsigned i = 0; i < 10; i++)
		taken += guard_take_request(&use, &limits, 5000);
	assert_int_equal(taken, 3);
	assert_false(guard_take_request(&use, &limits, 5099));
	assert_true(guard_take_request(&use, &limits, 5100));
	assert_false(guard_take_request(&use, &limits, 5100));
	for (taken = 0; guard_take_request(&use, &limits, INT64_C(1) << 40);)
		taken++;
	assert_int_equal(taken, 3);
}

TEST(a_number_of_requests_and_of_bytes_ends)
{
	const struct credential_limits requests = {.requests = 2}, bytes = {.bytes_in = 10};
	struct rule_use use = {.requests = 0};

	assert_true(guard_take_request(&use, &requests, 1));
	assert_true(guard_take_request(&use, &requests, 1));
	assert_false(guard_take_request(&use, &requests, INT64_C(1) << 40));
	use.bytes_in = 10;
	assert_false(guard_take_request(&use, &bytes, 1));
}

TEST(a_new_set_does_not_give_limits_anew)
{
	struct guard *before =
	        make_guard(RULE ",{\"id\":\"two\",\"host\":\"b.org\",\"action\":\"deny\"}", "");
	struct guard *g =
	        make_guard("{\"id\":\"two\",\"host\":\"b.org\",\"action\":\"deny\"},"
	                   "{\"id\":\"new\",\"host\":\"b.org\",\"action\":\"deny\"}," RULE,
	                   "");
	const struct credential_limits limits = {.requests = 1};

	assert_true(guard_take_request(&before->uses[0], &limits, 1));
	before->uses[1].bytes_in = 7;
	before->uses[0].connections = 3;
	guard_inherit(g, before);
	assert_false(guard_take_request(&g->uses[2], &limits, 1));
	assert_int_equal(g->uses[0].bytes_in, 7);
	assert_int_equal(g->uses[2].connections, 0);
	assert_true(guard_take_request(&g->uses[1], &limits, 1));
	guard_free(before);
	guard_free(g);
}

TEST(few_pauses_show_whether_a_guess_is_right)
{
	struct guard *g = make_guard(RULE, "");

	for (unsigned i = 0; i < GUARD_HOLDS_MAX; i++)
		assert_true(guard_take_hold(g));
	assert_false(guard_take_hold(g));
	guard_end_hold(g);
	assert_true(guard_take_hold(g));
	assert_false(guard_take_hold(g));
	guard_free(g);
}

TEST(each_name_has_a_certificate_of_its_own_and_few_are_kept)
{
	struct guard *g = make_guard(RULE, "");
	char name[64];

	assert_ptr_equal(guard_leaf(g, "a.example.com"), guard_leaf(g, "a.example.com"));
	assert_ptr_not_equal(guard_leaf(g, "a.example.com"), guard_leaf(g, "b.example.com"));
	for (unsigned i = 0; i < 1100; i++) {
		(void)snprintf(name, sizeof(name), "n%u.example.com", i);
		assert_non_null(guard_leaf(g, name));
	}
	assert_true(g->leaves.count <= 256);
	assert_null(guard_leaf(g, "not a name"));
	guard_free(g);
}

TEST(an_authority_that_cannot_sign_is_refused)
{
	AUTO(buf_done) struct buf text = BUF(64 * 1024);
	struct guard *g;

	buf_add_text(&text, "{\"sandbox\":\"aaaaaaaaaaaaaaaaaaaa\",\"credentials\":[],\"rules\":[],"
	                    "\"ca_certificate\":\"none\",\"ca_key\":\"none\"}");
	assert_int_equal(guard_new(buf_span(&text), &g, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
}

TEST(a_bundle_ends_with_the_authority)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf bundle = BUF(CREDENTIAL_BUNDLE_MAX);
	const char *first, *second, *key;
	struct tls_context *context;

	assert_int_equal(credential_authority_make(&a, "aaaaaaaaaaaaaaaaaaaa", &first, &key, &err),
	                 0);
	assert_int_equal(credential_authority_make(&a, "aaaaaaaaaaaaaaaaaaaa", &second, &key, &err),
	                 0);
	assert_string_not_equal(first, second);
	credential_bundle_write(&bundle, first);
	assert_true(span_ends_with_word(buf_span(&bundle), span_of(first)));
	assert_int_equal(tls_client_context_of(buf_span(&bundle), &context, &err), 0);
	tls_context_free(context);
	assert_int_equal(tls_client_context_of(SPAN("nothing"), &context, &err), -1);
}

TEST(a_sandbox_tells_so_many_decisions_in_a_second)
{
	struct guard *g = make_guard(RULE, "");

	for (unsigned i = 0; i < GUARD_REPORTS_MAX; i++)
		assert_true(guard_take_report(g, 5000));
	assert_false(guard_take_report(g, 5999));
	assert_true(guard_take_report(g, 6000));
	guard_free(g);
}

int main(void)
{
	return RUN(CASE(a_sandbox_tells_so_many_decisions_in_a_second),
	           CASE(a_credential_is_used_only_for_its_own_hosts_and_time),
	           CASE(the_first_rule_that_says_so_decides_about_http2),
	           CASE(a_rate_gives_its_burst_and_then_its_pace),
	           CASE(a_number_of_requests_and_of_bytes_ends),
	           CASE(a_new_set_does_not_give_limits_anew),
	           CASE(few_pauses_show_whether_a_guess_is_right),
	           CASE(each_name_has_a_certificate_of_its_own_and_few_are_kept),
	           CASE(an_authority_that_cannot_sign_is_refused),
	           CASE(a_bundle_ends_with_the_authority));
}

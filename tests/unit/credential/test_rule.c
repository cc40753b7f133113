/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "credential/rule.h"

#define GITHUB                                                                                     \
	"{\"id\":\"api\",\"host\":\"API.GitHub.com.\",\"action\":\"inject\","                      \
	"\"match\":{\"methods\":[\"GET\"],\"path\":{\"glob\":\"/repos/*/issues/**\"}},"            \
	"\"inject\":[{\"kind\":\"header\",\"name\":\"authorization\","                             \
	"\"value\":\"Bearer ${credential.github.token}\"}]}"

static struct error err;

static struct credential_rules parse(struct arena *a, const char *text)
{
	struct credential_rules rules;

	if (credential_rules_parse(a, span_of(text), &rules, NULL, &err) < 0)
		fail_msg("%s", err.text);
	return rules;
}

static const char *find(const struct credential_rules *rules, const char *method, const char *host,
                        const char *path, const char *query)
{
	const struct credential_request_field headers[] = {{SPAN("X-Team"), SPAN(" red ")},
	                                                   {SPAN("x-two"), SPAN("1")},
	                                                   {SPAN("x-two"), SPAN("2")}};
	const struct credential_request request = {.host = span_of(host),
	                                           .method = span_of(method),
	                                           .path = span_of(path),
	                                           .query = span_of(query),
	                                           .headers = headers,
	                                           .header_count = COUNT_OF(headers)};
	const struct credential_rule *rule = credential_rules_find(rules, &request);

	return rule ? rule->id : "";
}

TEST(a_rule_is_completed_and_written_as_it_was)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf text = BUF(4096);
	struct credential_rules rules = parse(&a, "[" GITHUB ",{\"host\":\"*.x.org\","
	                                          "\"action\":\"deny\"}]");

	assert_int_equal(rules.rules.count, 2);
	assert_string_equal(credential_rule_at(&rules, 0)->host, "api.github.com");
	assert_int_equal(credential_rule_at(&rules, 0)->port, 443);
	assert_string_equal(credential_rule_at(&rules, 1)->id, "r2");
	credential_rules_write(&text, &rules);
	rules = parse(&a, buf_text(&text));
	assert_string_equal(credential_rule_at(&rules, 1)->host, "*.x.org");
	assert_int_equal(credential_rule_at(&rules, 1)->action, CREDENTIAL_DENY);
	assert_int_equal(credential_rule_at(&rules, 0)->inject.count, 1);
}

TEST(the_first_rule_that_holds_decides)
{
	AUTO(arena_done) struct arena a = {0};
	struct credential_rules rules =
	        parse(&a, "[{\"id\":\"no\",\"host\":\"api.github.com\",\"action\":\"deny\","
	                  "\"match\":{\"path\":{\"exact\":\"/repos/a/issues/9\"}}}," GITHUB
	                  ",{\"id\":\"rest\",\"host\":\"*.github.com\",\"action\":\"allow\"}]");

	assert_string_equal(find(&rules, "GET", "api.github.com", "/repos/a/issues/9", ""), "no");
	assert_string_equal(find(&rules, "GET", "API.github.com", "/repos/a/issues/8/x", ""),
	                    "api");
	assert_string_equal(find(&rules, "POST", "api.github.com", "/repos/a/issues/8", ""),
	                    "rest");
	assert_string_equal(find(&rules, "GET", "api.github.com", "/repos/a/b/issues/8", ""),
	                    "rest");
	assert_string_equal(find(&rules, "GET", "github.com", "/repos/a/issues/8", ""), "");
	assert_string_equal(find(&rules, "GET", "xapi.github.com.evil.org", "/", ""), "");
	assert_true(credential_rules_decrypt(&rules, SPAN("a.github.com"), CREDENTIAL_HTTPS));
	assert_false(credential_rules_decrypt(&rules, SPAN("a.github.com"), CREDENTIAL_HTTP));
	assert_false(credential_rules_decrypt(&rules, SPAN("github.com"), CREDENTIAL_HTTPS));
}

TEST(a_malformed_escape_ends_the_search)
{
	AUTO(arena_done) struct arena a = {0};
	struct credential_rules rules;
	const char *paths[] = {"/%", "/%4", "/%zz", "/a%g1b"};

	assert_int_equal(credential_rules_parse(&a,
	                                        SPAN("[{\"host\":\"h.org\",\"action\":\"allow\","
	                                             "\"match\":{\"path\":{\"exact\":\"/b\"}}}]"),
	                                        &rules, NULL, &err),
	                 0);
	for (size_t i = 0; i < COUNT_OF(paths); i++) {
		const struct credential_request request = {
		        .host = SPAN("h.org"), .method = SPAN("GET"), .path = span_of(paths[i])};

		assert_null(credential_rules_find(&rules, &request));
	}
}

TEST(an_escaped_letter_does_not_avoid_a_rule)
{
	AUTO(arena_done) struct arena a = {0};
	struct credential_rules rules =
	        parse(&a, "[{\"id\":\"no\",\"host\":\"h.org\",\"action\":\"deny\","
	                  "\"match\":{\"path\":{\"prefix\":\"/gists\"}}}]");

	assert_string_equal(find(&rules, "POST", "h.org", "/%67ists", ""), "no");
	assert_string_equal(find(&rules, "POST", "h.org", "/gists/1", ""), "no");
	assert_string_equal(find(&rules, "POST", "h.org", "/gistsx", ""), "");
}

TEST(an_escaped_slash_does_not_avoid_a_rule)
{
	AUTO(arena_done) struct arena a = {0};
	struct credential_rules rules =
	        parse(&a, "[{\"id\":\"no\",\"host\":\"h.org\",\"action\":\"deny\","
	                  "\"match\":{\"path\":{\"glob\":\"/v1/*/keys**\"}}},"
	                  "{\"id\":\"aware\",\"host\":\"h.org\",\"action\":\"deny\","
	                  "\"match\":{\"path\":{\"prefix\":\"/v2/hooks\"},"
	                  "\"encoded_slash\":true}},"
	                  "{\"id\":\"rest\",\"host\":\"h.org\",\"action\":\"allow\","
	                  "\"match\":{\"encoded_slash\":true}}]");

	assert_string_equal(find(&rules, "POST", "h.org", "/v1/a/keys", ""), "no");
	assert_string_equal(find(&rules, "POST", "h.org", "/v1/a%2fkeys", ""), "no");
	assert_string_equal(find(&rules, "POST", "h.org", "/v1%2Fa%2Fkeys%2F1", ""), "no");
	assert_string_equal(find(&rules, "GET", "h.org", "/v1/a%2Fb/files", ""), "rest");
	/* This rule says what an escaped slash is. */
	assert_string_equal(find(&rules, "GET", "h.org", "/v2/hooks", ""), "aware");
	assert_string_equal(find(&rules, "GET", "h.org", "/v2%2Fhooks", ""), "rest");
}

TEST(queries_and_headers_have_to_hold_in_every_value)
{
	AUTO(arena_done) struct arena a = {0};
	struct credential_rules rules =
	        parse(&a, "[{\"id\":\"red\",\"host\":\"h.org\",\"action\":\"allow\",\"match\":{"
	                  "\"query\":[{\"name\":\"a\",\"exact\":\"x y\"}],"
	                  "\"headers\":[{\"name\":\"x-team\",\"exact\":\"red\"},"
	                  "{\"name\":\"x-none\",\"present\":false}]}},"
	                  "{\"id\":\"two\",\"host\":\"h.org\",\"action\":\"allow\",\"match\":{"
	                  "\"headers\":[{\"name\":\"x-two\",\"exact\":\"2\"}]}},"
	                  "{\"id\":\"no\",\"host\":\"h.org\",\"action\":\"deny\",\"match\":{"
	                  "\"headers\":[{\"name\":\"x-two\",\"exact\":\"2\"}]}}]");

	assert_string_equal(find(&rules, "GET", "h.org", "/", "b=1&%61=x+y"), "red");
	assert_string_equal(find(&rules, "GET", "h.org", "/", "a=x+y&a=z"), "no");
	assert_string_equal(find(&rules, "GET", "h.org", "/", ""), "no");
}

TEST(paths_that_servers_read_differently_are_faults)
{
	static const char *const bad[] = {"",        "x",       "//",           "/a//b",   "/.",
	                                  "/..",     "/a/../b", "/a/%2e%2e/b",  "/a/.%2E", "/..;/a",
	                                  "/..;x=1", "/a\\b",   "/%5c",         "/%00",    "/a%0d",
	                                  "/%2f",    "/%252e",  "/%25%32%65/x", "/%",      "/%g1",
	                                  "/a#b",    "/%2e/a"};
	static const char *const good[] = {"/",     "/a/",      "/...",     "/a.b/..c",
	                                   "/a;b",  "/a%20b",   "/%41",     "/a%25",
	                                   "/.git", "/a:b@c,d", "/%c3%a4/x"};

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		if (!credential_path_fault(span_of(bad[i]), false))
			fail_msg("'%s' has no fault", bad[i]);
	for (size_t i = 0; i < COUNT_OF(good); i++)
		if (credential_path_fault(span_of(good[i]), false))
			fail_msg("'%s': %s", good[i],
			         credential_path_fault(span_of(good[i]), false));
	assert_null(credential_path_fault(SPAN("/@scope%2Fname"), true));
	assert_non_null(credential_path_fault(SPAN("/a%2F..%2fb"), true));
}

TEST(a_rule_without_tls_says_so_itself)
{
#define DENY "[{\"host\":\"a.b\",\"action\":\"deny\","
	static const char *const texts[] = {
	        DENY "\"port\":80}]", DENY "\"port\":443,\"scheme\":\"http\"}]",
	        DENY "\"port\":8080,\"scheme\":\"http\"}]",
	        DENY "\"port\":80,\"scheme\":\"https\"}]",
	        DENY "\"scheme\":\"http\",\"upstream\":{\"http2\":\"always\"}}]"};
	AUTO(arena_done) struct arena a = {0};
	struct credential_request request = {.host = SPAN("a.b"),
	                                     .method = SPAN("GET"),
	                                     .path = SPAN("/"),
	                                     .scheme = CREDENTIAL_HTTP};
	struct credential_rules rules;

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		assert_int_equal(credential_rules_parse(&a, span_of(texts[i]), &rules, NULL, &err),
		                 -1);
	assert_int_equal(credential_rules_parse(
	                         &a,
	                         SPAN("[{\"id\":\"tls\",\"host\":\"a.b\",\"action\":\"deny\"},"
	                              "{\"id\":\"plain\",\"host\":\"a.b\",\"action\":"
	                              "\"allow\",\"scheme\":\"http\"}]"),
	                         &rules, NULL, &err),
	                 0);
	assert_int_equal(credential_rule_at(&rules, 1)->port, 80);
	assert_string_equal(credential_rules_find(&rules, &request)->id, "plain");
	request.scheme = CREDENTIAL_HTTPS;
	assert_string_equal(credential_rules_find(&rules, &request)->id, "tls");
}

TEST(all_faults_are_told_with_their_places)
{
	AUTO(arena_done) struct arena a = {0};
	struct credential_faults faults;
	struct credential_rules rules;
	const char *text = "[{\"host\":\"1.2.3.4\",\"port\":80,\"action\":\"inject\"},"
	                   "{\"id\":\"A\",\"host\":\"h.org\",\"action\":\"allow\",\"match\":{"
	                   "\"path\":{\"exact\":\"/a\",\"glob\":\"/b\"},\"methods\":[\"CONNECT\"],"
	                   "\"query\":[{\"name\":\"x\"}]}},"
	                   "{\"host\":\"h.org\",\"action\":\"inject\",\"inject\":["
	                   "{\"kind\":\"header\",\"name\":\"Host\",\"value\":\"${credential.a}\"},"
	                   "{\"kind\":\"placeholder\",\"marker\":\"x\",\"value\":\"v\","
	                   "\"in\":[\"header:User-Agent\"]}]}]";

	assert_int_equal(credential_rules_parse(&a, span_of(text), &rules, &faults, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_int_equal(faults.count, 11);
	assert_string_equal(faults.items[0].pointer, "/rules/0/host");
	assert_string_equal(faults.items[1].pointer, "/rules/0/port");
	assert_string_equal(faults.items[2].pointer, "/rules/0/inject");
	assert_string_equal(faults.items[3].pointer, "/rules/1/id");
	assert_string_equal(faults.items[10].pointer, "/rules/2/inject/1");
	assert_int_equal(credential_rules_parse(&a, SPAN("[{\"host\":1}]"), &rules, &faults, &err),
	                 -1);
	assert_int_equal(faults.count, 1);
}

TEST(a_header_that_servers_repeat_has_no_marker)
{
	static const char *const repeated[] = {"User-Agent", "accept-language", "Sec-Fetch-Site",
	                                       "If-Match", "X-Forwarded-For"};

	for (size_t i = 0; i < COUNT_OF(repeated); i++)
		assert_true(credential_header_is_repeated(repeated[i]));
	assert_false(credential_header_is_repeated("authorization"));
	assert_false(credential_header_is_repeated("x-api-key"));
}

TEST(templates_are_filled_once)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf out = BUF(256);
	struct credential_set set;
	const char *text = "{\"sandbox\":\"aaaaaaaaaaaaaaaaaaaa\",\"rules\":[" GITHUB "],"
	                   "\"credentials\":[{\"name\":\"github\",\"hosts\":[\"api.github.com\"],"
	                   "\"fields\":{\"token\":\"${credential.github.token}\"}}],"
	                   "\"ca_certificate\":\"x\",\"ca_key\":\"y\"}";

	if (credential_set_parse(&a, span_of(text), &set, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(credential_fill(&out, &set, "Bearer ${credential.github.token}!", &err),
	                 0);
	assert_string_equal(buf_text(&out), "Bearer ${credential.github.token}!");
	assert_int_equal(credential_fill(&out, &set, "${credential.other.token}", &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_int_equal(credential_references("a${credential.x.y}${credential.z.w}b", NULL, 0), 2);
	assert_int_equal(credential_references("${credential.x.y", NULL, 0), -1);
	assert_int_equal(credential_references("${credential.${credential.x.y}.z}", NULL, 0), -1);
	assert_int_equal(credential_references("${other.x}", NULL, 0), -1);
	assert_int_equal(credential_references("costs $5 {a}", NULL, 0), 0);
}

TEST(a_set_needs_what_its_rules_name)
{
	AUTO(arena_done) struct arena a = {0};
	struct credential_set set;
	const char *missing = "{\"sandbox\":\"aaaaaaaaaaaaaaaaaaaa\",\"rules\":[" GITHUB "],"
	                      "\"credentials\":[],\"ca_certificate\":\"x\",\"ca_key\":\"y\"}";
	const char *split = "{\"sandbox\":\"aaaaaaaaaaaaaaaaaaaa\",\"rules\":[" GITHUB "],"
	                    "\"credentials\":[{\"name\":\"github\",\"hosts\":[\"api.github.com\"],"
	                    "\"fields\":{\"token\":\"a\\r\\nb: c\"}}],"
	                    "\"ca_certificate\":\"x\",\"ca_key\":\"y\"}";

	assert_int_equal(credential_set_parse(&a, span_of(missing), &set, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_int_equal(credential_set_parse(&a, span_of(split), &set, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
}

TEST(a_host_of_a_rule_lies_within_the_hosts_of_its_credential)
{
	assert_true(credential_host_covers("a.org", "A.org"));
	assert_true(credential_host_covers("*.a.org", "x.a.org"));
	assert_true(credential_host_covers("*.a.org", "*.a.org"));
	assert_true(credential_host_covers("*.a.org", "*.b.a.org"));
	assert_false(credential_host_covers("*.a.org", "a.org"));
	assert_false(credential_host_covers("*.b.a.org", "*.a.org"));
	assert_false(credential_host_covers("x.a.org", "*.a.org"));
}

TEST(a_glob_of_many_stars_ends_soon)
{
	AUTO(arena_done) struct arena a = {0};
	struct credential_rules rules =
	        parse(&a, "[{\"host\":\"h.org\",\"action\":\"allow\",\"match\":{\"path\":{\"glob\":"
	                  "\"/**a**a**a**a**a**a**a**a**a**a**b\"}}}]");
	char path[2048] = "/";

	memset(path + 1, 'a', sizeof(path) - 2);
	path[sizeof(path) - 1] = '\0';
	assert_string_equal(find(&rules, "GET", "h.org", path, ""), "");
}

TEST(a_rule_that_refuses_holds_for_what_servers_take_for_the_same)
{
	AUTO(arena_done) struct arena a = {0};
	struct credential_rules rules =
	        parse(&a, "[{\"id\":\"exact\",\"host\":\"h.org\",\"action\":\"deny\",\"match\":{"
	                  "\"path\":{\"exact\":\"/v1/token\"}}},"
	                  "{\"id\":\"prefix\",\"host\":\"h.org\",\"action\":\"deny\",\"match\":{"
	                  "\"path\":{\"prefix\":\"/Admin\"}}},"
	                  "{\"id\":\"glob\",\"host\":\"h.org\",\"action\":\"deny\",\"match\":{"
	                  "\"path\":{\"glob\":\"/*/keys\"}}},"
	                  "{\"id\":\"aware\",\"host\":\"h.org\",\"action\":\"deny\",\"match\":{"
	                  "\"path\":{\"exact\":\"/a/b\"},\"encoded_slash\":true}},"
	                  "{\"id\":\"method\",\"host\":\"h.org\",\"action\":\"deny\",\"match\":{"
	                  "\"methods\":[\"DELETE\"]}},"
	                  "{\"id\":\"query\",\"host\":\"h.org\",\"action\":\"deny\",\"match\":{"
	                  "\"query\":[{\"name\":\"do\",\"exact\":\"drop\"}]}},"
	                  "{\"id\":\"rest\",\"host\":\"h.org\",\"action\":\"allow\"}]");
	static const char *const cases[][2] = {
	        {"/v1/token", "exact"},      {"/v1/token/", "exact"},
	        {"/v1/Token", "exact"},      {"/v1/token;a=b", "exact"},
	        {"/v1;x/token", "exact"},    {"/v1/token.json", "exact"},
	        {"/v1/token.JSON", "exact"}, {"/v1/token.xml/", "exact"},
	        {"/v1%2ftoken;a", "exact"},  {"/v1/tokens", "rest"},
	        {"/v1/token.jsonx", "rest"}, {"/admin", "prefix"},
	        {"/ADMIN/x", "prefix"},      {"/admin;x=1", "prefix"},
	        {"/admin;x=1/y", "prefix"},  {"/admin.json", "prefix"},
	        {"/administer", "rest"},     {"/me/KEYS", "glob"},
	        {"/me/keys;v=2", "glob"},    {"/me/keys/", "glob"},
	        {"/me/keys.json", "glob"},   {"/me/you/keys", "rest"},
	        {"/a/b;c", "aware"},         {"/a%2Fb", "rest"},
	        {"/a%2Fb;c", "rest"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_string_equal(find(&rules, "GET", "h.org", cases[i][0], ""), cases[i][1]);
	assert_string_equal(find(&rules, "delete", "h.org", "/", ""), "method");
	assert_string_equal(find(&rules, "GET", "h.org", "/", "a=1;do=drop"), "query");
	assert_string_equal(find(&rules, "GET", "h.org", "/", "do=drop;a=1"), "query");
	assert_string_equal(find(&rules, "GET", "h.org", "/", "a=1;do=dro"), "rest");
}

TEST(a_rule_that_gives_something_holds_for_exactly_what_it_says)
{
	AUTO(arena_done) struct arena a = {0};
	struct credential_rules rules =
	        parse(&a, "[{\"id\":\"exact\",\"host\":\"h.org\",\"action\":\"allow\",\"match\":{"
	                  "\"methods\":[\"GET\"],\"path\":{\"exact\":\"/v1/token\"}}}]");

	assert_string_equal(find(&rules, "GET", "h.org", "/v1/token", ""), "exact");
	assert_string_equal(find(&rules, "get", "h.org", "/v1/token", ""), "");
	assert_string_equal(find(&rules, "GET", "h.org", "/v1/Token", ""), "");
	assert_string_equal(find(&rules, "GET", "h.org", "/v1/token/", ""), "");
	assert_string_equal(find(&rules, "GET", "h.org", "/v1/token;a", ""), "");
}

TEST(a_low_line_in_a_header_is_a_hyphen)
{
	AUTO(arena_done) struct arena a = {0};
	struct credential_rules rules =
	        parse(&a, "[{\"id\":\"no\",\"host\":\"h.org\",\"action\":\"deny\",\"match\":{"
	                  "\"headers\":[{\"name\":\"x-as-admin\",\"exact\":\"1\"}]}}]");
	const struct credential_request_field headers[] = {{SPAN("X_As-Admin"), SPAN("1")}};
	const struct credential_request request = {.host = SPAN("h.org"),
	                                           .method = SPAN("GET"),
	                                           .path = SPAN("/"),
	                                           .headers = headers,
	                                           .header_count = 1};

	assert_non_null(credential_rules_find(&rules, &request));
}

/* The proxy has one thread for all sandboxes. */
TEST(many_rules_that_compare_for_long_take_little_time)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf text = BUF(CREDENTIAL_RULES_TEXT_MAX);
	char path[8000] = "/", query[8000] = "a=";
	struct credential_rules rules;
	int64_t begun_ms;

	buf_add_text(&text, "[");
	for (unsigned i = 0; i < 120; i++)
		buf_addf(&text,
		         "%s{\"host\":\"h.org\",\"action\":\"allow\",\"match\":{\"path\":{\"glob\":"
		         "\"/**a**a**a**a**a**a**a**a**a**a**b%u\"}}}",
		         i > 0 ? "," : "", i);
	buf_add_text(&text, ",{\"id\":\"last\",\"host\":\"h.org\",\"action\":\"deny\",\"match\":{"
	                    "\"path\":{\"glob\":\"/**z**\"}}}]");
	rules = parse(&a, buf_text(&text));
	memset(path + 1, 'a', sizeof(path) - 2);
	path[sizeof(path) - 1] = '\0';
	memset(query + 2, 'b', sizeof(query) - 3);
	query[sizeof(query) - 1] = '\0';
	begun_ms = unit_cpu_ms();
	/* What could not be compared any more holds for the rule that refuses. */
	for (unsigned i = 0; i < 4; i++)
		assert_string_equal(find(&rules, "GET", "h.org", path, query), "last");
	assert_true(unit_cpu_ms() - begun_ms < 1000);
}

int main(void)
{
	return RUN(CASE(a_rule_is_completed_and_written_as_it_was),
	           CASE(the_first_rule_that_holds_decides),
	           CASE(a_malformed_escape_ends_the_search),
	           CASE(an_escaped_letter_does_not_avoid_a_rule),
	           CASE(an_escaped_slash_does_not_avoid_a_rule),
	           CASE(queries_and_headers_have_to_hold_in_every_value),
	           CASE(paths_that_servers_read_differently_are_faults),
	           CASE(a_rule_without_tls_says_so_itself),
	           CASE(all_faults_are_told_with_their_places),
	           CASE(a_header_that_servers_repeat_has_no_marker),
	           CASE(templates_are_filled_once), CASE(a_set_needs_what_its_rules_name),
	           CASE(a_host_of_a_rule_lies_within_the_hosts_of_its_credential),
	           CASE(a_glob_of_many_stars_ends_soon),
	           CASE(a_rule_that_refuses_holds_for_what_servers_take_for_the_same),
	           CASE(a_rule_that_gives_something_holds_for_exactly_what_it_says),
	           CASE(a_low_line_in_a_header_is_a_hyphen),
	           CASE(many_rules_that_compare_for_long_take_little_time));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "sandbox/egress.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char *text_of(struct arena *a, const char *const *allow, const char *const *deny)
{
	const struct sandbox_egress lists = {.allow = allow, .deny = deny};
	struct error err = {0};
	const char *text;

	assert_int_equal(sandbox_egress_format(a, &lists, &text, &err), 0);
	return text;
}

/* "1.1.1.1-1.1.1.4 …" */
static const char *denied_by(struct arena *a, const char *text)
{
	AUTO(buf_done) struct buf out = BUF(64 * 1024);
	struct egress_ranges denied;
	struct error err = {0};

	assert_int_equal(sandbox_egress_denied(text, &denied, &err), 0);
	for (size_t i = 0; i < denied.count; i++) {
		const uint32_t ends[] = {denied.items[i].first, denied.items[i].last};

		for (unsigned j = 0; j < 2; j++)
			buf_addf(&out, "%s%u.%u.%u.%u",
			         j   ? "-"
			         : i ? " "
			             : "",
			         ends[j] >> 24, ends[j] >> 16 & 255, ends[j] >> 8 & 255,
			         ends[j] & 255);
	}
	return arena_copy(a, buf_span(&out));
}

/* "10.0.0.0/8,11.0.0.0/32": the blocks of what the text leaves. */
static const char *allowed_by(struct arena *a, const char *text)
{
	AUTO(buf_done) struct buf out = BUF(64 * 1024);
	struct egress_ranges allowed;
	struct error err = {0};
	char block[EGRESS_BLOCK_SIZE];

	assert_int_equal(sandbox_egress_allowed(text, &allowed, &err), 0);
	for (size_t i = 0; i < allowed.count; i++)
		for (uint64_t at = allowed.items[i].first;
		     egress_range_next_block(&allowed.items[i], &at, block);)
			buf_addf(&out, "%s%s", out.size ? "," : "", block);
	return arena_copy(a, buf_span(&out));
}

TEST(what_is_left_is_told_in_the_fewest_blocks)
{
	AUTO(arena_done) struct arena a = {0};
	static const struct {
		const char *text, *blocks;
	} cases[] = {
	        {"", "0.0.0.0/0"},
	        {"-0.0.0.0/0", ""},
	        {"+1.1.1.1 -0.0.0.0/0", "1.1.1.1/32"},
	        {"+10.0.0.0/8 +192.168.1.0/24 +example.com -0.0.0.0/0",
	         "10.0.0.0/8,192.168.1.0/24"},
	        {"+1.1.1.1 +1.1.1.2 -0.0.0.0/0", "1.1.1.1/32,1.1.1.2/32"},
	        {"-0.0.0.0/1", "128.0.0.0/1"},
	        {"-128.0.0.0/1", "0.0.0.0/1"},
	        {"-0.0.0.0", "0.0.0.1/32,0.0.0.2/31,0.0.0.4/30,0.0.0.8/29,0.0.0.16/28,0.0.0.32/27,"
	                     "0.0.0.64/26,0.0.0.128/25,0.0.1.0/24,0.0.2.0/23,0.0.4.0/22,0.0.8.0/21,"
	                     "0.0.16.0/20,0.0.32.0/19,0.0.64.0/18,0.0.128.0/17,0.1.0.0/16,"
	                     "0.2.0.0/15,0.4.0.0/14,0.8.0.0/13,0.16.0.0/12,0.32.0.0/11,0.64.0.0/10,"
	                     "0.128.0.0/9,1.0.0.0/8,2.0.0.0/7,4.0.0.0/6,8.0.0.0/5,16.0.0.0/4,"
	                     "32.0.0.0/3,64.0.0.0/2,128.0.0.0/1"},
	        {"-64.0.0.0/2 -255.255.255.255/32 +65.0.0.0/8 -192.0.0.0/2",
	         "0.0.0.0/2,65.0.0.0/8,128.0.0.0/2"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_string_equal(allowed_by(&a, cases[i].text), cases[i].blocks);
}

TEST(a_malformed_text_leaves_nothing_untold)
{
	struct egress_ranges allowed = {.count = 7};
	struct error err = {0};

	assert_int_equal(sandbox_egress_allowed("-1.2.3", &allowed, &err), -1);
	assert_int_equal(allowed.count, 7);
}

TEST(no_rules_are_an_empty_text_and_deny_nothing)
{
	AUTO(arena_done) struct arena a = {0};

	assert_string_equal(text_of(&a, NULL, NULL), "");
	assert_string_equal(denied_by(&a, ""), "");
	assert_false(sandbox_egress_denies_all(""));
}

TEST(rules_are_kept_as_one_text_and_read_again_as_two_lists)
{
	AUTO(arena_done) struct arena a = {0};
	const char *text = text_of(&a, LIST("1.1.1.1", "fd00::/8"), LIST("0.0.0.0/0"));
	struct sandbox_egress lists;
	struct error err = {0};

	assert_string_equal(text, "+1.1.1.1 +fd00::/8 -0.0.0.0/0");
	assert_int_equal(sandbox_egress_parse(&a, text, &lists, &err), 0);
	assert_string_equal(lists.allow[0], "1.1.1.1");
	assert_string_equal(lists.allow[1], "fd00::/8");
	assert_null(lists.allow[2]);
	assert_string_equal(lists.deny[0], "0.0.0.0/0");
	assert_null(lists.deny[1]);
}

TEST(what_is_allowed_alone_denies_nothing)
{
	AUTO(arena_done) struct arena a = {0};

	assert_string_equal(denied_by(&a, text_of(&a, LIST("1.1.1.1"), NULL)), "");
}

TEST(allowed_goes_before_denied_whichever_is_the_narrower)
{
	AUTO(arena_done) struct arena a = {0};

	assert_string_equal(denied_by(&a, "+1.1.1.1 -0.0.0.0/0"),
	                    "0.0.0.0-1.1.1.0 1.1.1.2-255.255.255.255");
	assert_string_equal(denied_by(&a, "+0.0.0.0/0 -1.1.1.1"), "");
	assert_string_equal(denied_by(&a, "+1.0.0.0/8 -1.1.1.1 -2.2.2.2"), "2.2.2.2-2.2.2.2");
	assert_string_equal(denied_by(&a, "+0.0.0.0/1 -0.0.0.0/0"), "128.0.0.0-255.255.255.255");
	assert_string_equal(denied_by(&a, "+128.0.0.0/1 -0.0.0.0/0"), "0.0.0.0-127.255.255.255");
	assert_string_equal(denied_by(&a, "+0.0.0.0 +255.255.255.255 -0.0.0.0/0"),
	                    "0.0.0.1-255.255.255.254");
}

TEST(ranges_come_in_order_and_those_that_touch_become_one)
{
	AUTO(arena_done) struct arena a = {0};

	assert_string_equal(denied_by(&a, "-9.9.9.9 -1.1.1.0/31 -1.1.1.2 -1.1.1.0/30 -9.9.9.9"),
	                    "1.1.1.0-1.1.1.3 9.9.9.9-9.9.9.9");
	assert_string_equal(denied_by(&a, "-255.255.255.255 -255.255.255.254 -0.0.0.0"),
	                    "0.0.0.0-0.0.0.0 255.255.255.254-255.255.255.255");
	assert_string_equal(denied_by(&a, "+5.5.5.5 +5.5.5.4 -5.5.5.0/29"),
	                    "5.5.5.0-5.5.5.3 5.5.5.6-5.5.5.7");
}

TEST(bits_behind_the_prefix_do_not_count)
{
	AUTO(arena_done) struct arena a = {0};

	assert_string_equal(denied_by(&a, "-10.1.2.3/8"), "10.0.0.0-10.255.255.255");
}

TEST(ipv6_is_checked_and_changes_nothing)
{
	AUTO(arena_done) struct arena a = {0};

	assert_string_equal(denied_by(&a, text_of(&a, LIST("2606:4700::1"), LIST("::/0"))), "");
}

TEST(all_is_denied_when_nothing_is_left)
{
	assert_true(sandbox_egress_denies_all("-0.0.0.0/0"));
	assert_true(sandbox_egress_denies_all("-128.0.0.0/1 -0.0.0.0/1"));
	assert_false(sandbox_egress_denies_all("+2600::1 -0.0.0.0/0"));
	assert_true(sandbox_egress_denies_all("-0.0.0.0/0 -2600::/16"));
	assert_false(sandbox_egress_denies_all("-::/0"));
	assert_false(sandbox_egress_denies_all("+1.1.1.1 -0.0.0.0/0"));
	assert_false(sandbox_egress_denies_all("-0.0.0.0/1"));
	assert_false(sandbox_egress_denies_all("nonsense"));
}

TEST(what_is_no_address_is_refused_with_its_place)
{
	static const char *const bad[] = {"",
	                                  "1.1.1",
	                                  "1.1.1.1/33",
	                                  "1.1.1.1/",
	                                  "1.1.1.1/-1",
	                                  "1.1.1.1/8/8",
	                                  " 1.1.1.1",
	                                  "1.1.1.1 ",
	                                  "1.1.1.1 -2.2.2.2",
	                                  "fd00::/129",
	                                  "fd00:::1",
	                                  "1.1.1.1:80",
	                                  "http://1.1.1.1",
	                                  "300.1.1.1",
	                                  "1.1.1.1/00000000000000000000000000000000000000000008"};
	AUTO(arena_done) struct arena a = {0};
	const char *text;

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		const struct sandbox_egress lists = {.allow = LIST("1.1.1.1", bad[i]),
		                                     .allow_name = "allowOut"};
		struct error err = {0};

		assert_int_equal(sandbox_egress_format(&a, &lists, &text, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_non_null(strstr(err.text, "allowOut[1]"));
		assert_non_null(strstr(err.hint, "10.0.0.0/8"));
	}
}

TEST(names_of_hosts_are_allowed_where_all_else_is_denied)
{
	AUTO(arena_done) struct arena a = {0};
	const char *text = text_of(&a, LIST("Example.com", "1.1.1.1", "*.example.org"),
	                           LIST("10.0.0.0/8", "0.0.0.0/0"));
	const struct sandbox_egress lists = {.allow = LIST("1.1.1.1", "example.com"),
	                                     .deny = LIST("0.0.0.0/1"),
	                                     .allow_name = "out"};
	struct sandbox_egress again;
	struct error err = {0};

	assert_string_equal(text, "+Example.com +1.1.1.1 +*.example.org -10.0.0.0/8 -0.0.0.0/0");
	assert_int_equal(sandbox_egress_parse(&a, text, &again, &err), 0);
	assert_string_equal(again.allow[2], "*.example.org");
	assert_string_equal(denied_by(&a, text), "0.0.0.0-1.1.1.0 1.1.1.2-255.255.255.255");
	assert_true(sandbox_egress_has_names(text));
	assert_false(sandbox_egress_has_names("+1.1.1.1 -0.0.0.0/0"));
	assert_false(sandbox_egress_has_names(""));
	assert_false(sandbox_egress_denies_all("+example.com -0.0.0.0/0"));
	assert_int_equal(sandbox_egress_format(&a, &lists, &text, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_non_null(strstr(err.text, "out has 'example.com'"));
	assert_non_null(strstr(err.hint, "0.0.0.0/0"));
}

TEST(a_name_is_never_denied)
{
	static const char *const names[] = {"example.com", "*.example.com", "localhost"};
	AUTO(arena_done) struct arena a = {0};
	const char *text;

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		const struct sandbox_egress lists = {.deny = LIST(names[i])};
		struct error err = {0};

		assert_int_equal(sandbox_egress_format(&a, &lists, &text, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_non_null(strstr(err.text, "can only be allowed"));
	}
}

TEST(a_name_is_allowed_in_either_case_and_a_wildcard_means_what_is_below)
{
	static const char text[] = "+Example.com +*.Example.org +1.1.1.1 -0.0.0.0/0";
	static const char *const yes[] = {"example.com", "EXAMPLE.COM", "a.example.org",
	                                  "A.b.example.ORG"};
	static const char *const no[] = {"",
	                                 "a.example.com",
	                                 "example.org",
	                                 ".example.org",
	                                 "xexample.org",
	                                 "example.com.",
	                                 "*",
	                                 "*.example.org",
	                                 "example.co",
	                                 "1.1.1.1",
	                                 "example.org.b",
	                                 "xample.com"};

	for (size_t i = 0; i < COUNT_OF(yes); i++)
		assert_true(sandbox_egress_allows_name(text, span_of(yes[i])));
	for (size_t i = 0; i < COUNT_OF(no); i++)
		assert_false(sandbox_egress_allows_name(text, span_of(no[i])));
	assert_false(sandbox_egress_allows_name("", SPAN("example.com")));
	assert_false(sandbox_egress_allows_name("-example.com", SPAN("example.com")));
}

TEST(what_is_a_name_of_a_host_is_known)
{
	static const char *const yes[] = {"a", "xn--bcher-kva.example", "a-b.c_d.e1", "1.a",
	                                  "localhost"};
	static const char *const no[] = {"",          ".",   "a.",  ".a",    "a..b",    "-a",
	                                 "a-",        "a b", "1",   "a.1",   "1.2.3.4", "a/b",
	                                 "b\xc3\xbc", "*",   "*.",  "*.*.a", "a.*.b",   "*a",
	                                 "a:80",      "a@b", "**.a"};
	char label[65] = "", name[300] = "";

	for (size_t i = 0; i < COUNT_OF(yes); i++)
		assert_true(egress_name_is_valid(span_of(yes[i])));
	for (size_t i = 0; i < COUNT_OF(no); i++)
		assert_false(egress_name_is_valid(span_of(no[i])));
	assert_true(egress_name_is_valid(SPAN("*.a")));
	assert_false(host_name_is_valid(SPAN("*.a")));
	memset(label, 'a', 64);
	assert_false(host_name_is_valid(span_of(label)));
	label[63] = '\0';
	assert_true(host_name_is_valid(span_of(label)));
	for (unsigned i = 0; i < SANDBOX_HOST_NAME_MAX; i++)
		name[i] = i % 2 ? '.' : 'a';
	assert_true(host_name_is_valid(span_of(name)));
	name[SANDBOX_HOST_NAME_MAX] = '.';
	name[SANDBOX_HOST_NAME_MAX + 1] = 'a';
	assert_false(host_name_is_valid(span_of(name)));
}

TEST(as_many_names_as_there_may_be_are_kept)
{
	const char *entries[SANDBOX_EGRESS_NAMES_MAX + 2] = {0};
	const struct sandbox_egress lists = {.allow = entries, .deny = LIST(SANDBOX_EGRESS_ALL)};
	AUTO(arena_done) struct arena a = {0};
	char name[SANDBOX_HOST_NAME_MAX + 1] = "";
	struct sandbox_egress again;
	struct error err = {0};
	const char *text;

	for (unsigned i = 0; i < SANDBOX_HOST_NAME_MAX; i++)
		name[i] = i % 2 ? '.' : 'a';
	for (unsigned i = 0; i < SANDBOX_EGRESS_NAMES_MAX; i++)
		entries[i] = name;
	assert_int_equal(sandbox_egress_format(&a, &lists, &text, &err), 0);
	assert_int_equal(sandbox_egress_parse(&a, text, &again, &err), 0);
	assert_string_equal(again.allow[SANDBOX_EGRESS_NAMES_MAX - 1], name);
	entries[SANDBOX_EGRESS_NAMES_MAX] = "a.b";
	assert_int_equal(sandbox_egress_format(&a, &lists, &text, &err), -1);
	assert_non_null(strstr(err.text, "allow has more than 256 names"));
}

TEST(what_no_sandbox_may_reach_is_known)
{
	static const uint32_t yes[] = {0x00000001, 0x0a000001, 0x64400001, 0x7f000001, 0xa9fea9fe,
	                               0xac1fffff, 0xc0a80001, 0xe0000001, 0xffffffff};
	static const uint32_t no[] = {0x01010101, 0x09ffffff, 0x0b000000, 0x643fffff, 0x64800000,
	                              0xa9fdffff, 0xa9ff0000, 0xac200000, 0xc6120001, 0xdfffffff};
	struct egress_range range;

	for (size_t i = 0; i < COUNT_OF(yes); i++)
		assert_true(egress_is_refused(yes[i]));
	for (size_t i = 0; i < COUNT_OF(no); i++)
		assert_false(egress_is_refused(no[i]));
	assert_true(egress_refused_range(0, &range));
	assert_false(egress_refused_range(8, &range));
	assert_true(egress_range_parse(SPAN("10.0.0.0/8"), &range));
	assert_int_equal(range.last, 0x0affffff);
	assert_false(egress_range_parse(SPAN("fd00::/8"), &range));
}

TEST(each_list_has_its_limit_and_the_longest_of_both_are_kept)
{
	const char *entries[SANDBOX_EGRESS_MAX + 2] = {0};
	const struct sandbox_egress lists = {.allow = entries, .deny = entries};
	AUTO(arena_done) struct arena a = {0};
	struct sandbox_egress again;
	struct error err = {0};
	const char *text;

	for (unsigned i = 0; i < SANDBOX_EGRESS_MAX; i++)
		entries[i] = "1111:2222:3333:4444:5555:6666:123.123.123.123/128";
	assert_int_equal(sandbox_egress_format(&a, &lists, &text, &err), 0);
	assert_int_equal(sandbox_egress_parse(&a, text, &again, &err), 0);
	assert_string_equal(again.deny[SANDBOX_EGRESS_MAX - 1], entries[0]);
	entries[SANDBOX_EGRESS_MAX] = "1.1.1.1";
	assert_int_equal(sandbox_egress_format(&a, &lists, &text, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_non_null(strstr(err.text, "allow has more than 100"));
}

TEST(as_many_holes_as_there_may_be_fit_into_the_result)
{
	AUTO(buf_done) struct buf text = BUF(SANDBOX_EGRESS_TEXT_MAX);
	struct egress_ranges denied;
	struct error err = {0};

	for (unsigned i = 0; i < SANDBOX_EGRESS_MAX; i++)
		buf_addf(&text, "-%u.0.0.0/8 +%u.1.0.0/16 ", 2 * i, 2 * i);
	text.size--;
	assert_int_equal(sandbox_egress_denied(buf_text(&text), &denied, &err), 0);
	assert_int_equal(denied.count, 2 * SANDBOX_EGRESS_MAX);
	assert_int_equal(denied.items[0].last, 0x0000ffff);
	assert_int_equal(denied.items[1].first, 0x00020000);
}

TEST(a_range_has_both_its_ends)
{
	struct egress_range range;

	assert_true(egress_range_parse(SPAN("10.1.0.0/16"), &range));
	assert_true(egress_range_has(&range, 0x0a010000));
	assert_true(egress_range_has(&range, 0x0a01ffff));
	assert_false(egress_range_has(&range, 0x0a00ffff));
	assert_false(egress_range_has(&range, 0x0a020000));
}

TEST(a_text_that_is_malformed_is_refused)
{
	static const char *const bad[] = {
	        "1.1.1.1",           "+", "+1.1.1.1  -2.2.2.2", "*1.1.1.1",
	        "+1.1.1.1,-2.2.2.2", " ", "+1.1.1.1\n"};
	AUTO(arena_done) struct arena a = {0};
	struct egress_ranges denied;
	struct sandbox_egress lists;

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct error err = {0};

		assert_int_equal(sandbox_egress_denied(bad[i], &denied, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		error_clear(&err);
		assert_int_equal(sandbox_egress_parse(&a, bad[i], &lists, &err), -1);
	}
}

TEST(a_text_with_too_many_rules_is_refused)
{
	AUTO(buf_done) struct buf text = BUF(SANDBOX_EGRESS_TEXT_MAX);
	AUTO(arena_done) struct arena a = {0};
	struct egress_ranges denied;
	struct sandbox_egress lists;
	struct error err = {0};

	for (unsigned i = 0; i <= SANDBOX_EGRESS_MAX; i++)
		buf_addf(&text, "%s-1.1.1.1", i > 0 ? " " : "");
	assert_int_equal(sandbox_egress_denied(buf_text(&text), &denied, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	error_clear(&err);
	assert_int_equal(sandbox_egress_parse(&a, buf_text(&text), &lists, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
}

TEST(a_mark_is_about_tls_or_about_http)
{
	const char *const marks[] = {"a.example.com", "*.example.org:80", NULL};
	const char *const bad[] = {"a.example.com:81", NULL};
	AUTO(arena_done) struct arena a = {0};
	struct sandbox_egress lists;
	struct error err = {0};
	const char *text;

	assert_int_equal(sandbox_egress_mark(&a, "+a.example.com -0.0.0.0/0", marks, &text, &err),
	                 0);
	assert_string_equal(text, "+a.example.com -0.0.0.0/0 !a.example.com !*.example.org:80");
	assert_true(sandbox_egress_decrypts(text, SPAN("A.example.com"), false));
	assert_false(sandbox_egress_decrypts(text, SPAN("a.example.com"), true));
	assert_true(sandbox_egress_decrypts(text, SPAN("b.example.org"), true));
	assert_false(sandbox_egress_decrypts(text, SPAN("b.example.org"), false));
	assert_int_equal(sandbox_egress_parse(&a, text, &lists, &err), 0);
	assert_string_equal(lists.decrypted[1], "*.example.org:80");
	assert_int_equal(sandbox_egress_mark(&a, text, bad, &text, &err), -1);
}

TEST(a_source_address_comes_first_and_is_no_rule)
{
	AUTO(arena_done) struct arena a = {0};
	static const char *const bad[] = {
	        "", "@", "@ -1.1.1.1", "@1.1.1", "@1.1.1.0/24", "@x", "-1.1.1.1 @9.9.9.9"};
	const char *text = sandbox_egress_leave_by(&a, "203.0.113.9", "-1.1.1.1 ~watch");
	struct egress_ranges denied;
	struct error err = {0};

	assert_string_equal(text, "@203.0.113.9 -1.1.1.1 ~watch");
	assert_int_equal(sandbox_egress_source(text), 0xcb007109);
	assert_int_equal(sandbox_egress_mode(text), EGRESS_WATCH);
	assert_int_equal(sandbox_egress_denied(text, &denied, &err), 0);
	assert_int_equal(denied.count, 1);
	text = sandbox_egress_leave_by(&a, "203.0.113.9", "");
	assert_string_equal(text, "@203.0.113.9");
	assert_int_equal(sandbox_egress_source(text), 0xcb007109);
	assert_int_equal(sandbox_egress_denied(text, &denied, &err), 0);
	assert_int_equal(denied.count, 0);
	assert_string_equal(sandbox_egress_leave_by(&a, "", "-1.1.1.1"), "-1.1.1.1");
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(sandbox_egress_source(bad[i]), 0);
}

#define CUT "egress_mb_per_day/project/lab/50/2026-11-29T00:00:00.000Z"

TEST(a_cut_denies_all_whatever_the_rules_say)
{
	static const char *const rules[] = {"", "+1.1.1.1 -0.0.0.0/0", "-9.9.9.9 ~watch",
	                                    "+a.test -0.0.0.0/0 !a.test ~ask"};
	AUTO(arena_done) struct arena a = {0};
	struct sandbox_egress lists;
	struct error err = {0};
	const char *ignored;

	for (size_t i = 0; i < COUNT_OF(rules); i++) {
		const char *text = sandbox_egress_under(&a, rules[i], CUT);

		assert_string_equal(denied_by(&a, text), "0.0.0.0-255.255.255.255");
		assert_string_equal(allowed_by(&a, text), "");
		assert_int_equal(sandbox_egress_mode(text), EGRESS_ENFORCE);
		assert_false(sandbox_egress_allows_name(text, SPAN("a.test")));
		assert_true(span_equals_text(sandbox_egress_cut(text), CUT));
		assert_ptr_equal(sandbox_egress_under(&a, rules[i], ""), rules[i]);
		assert_int_equal(sandbox_egress_cut(rules[i]).size, 0);
	}
	/* Callers' entries cannot be one. */
	lists = (struct sandbox_egress){.deny = LIST("^" CUT)};
	assert_int_equal(sandbox_egress_format(&a, &lists, &ignored, &err), -1);
	assert_int_equal(sandbox_egress_parse(&a, "^" CUT " +a.test -0.0.0.0/0", &lists, &err), 0);
	assert_string_equal(lists.allow[0], "a.test");
}

TEST(the_reason_of_a_cut_is_bounded_and_readable)
{
	AUTO(buf_done) struct buf text = BUF(512);
	struct egress_quota quota = {"project", "lab", 50, 1795910400000};
	char cut[SANDBOX_EGRESS_CUT_MAX + 1], subject[300];
	struct egress_ranges ignored;
	struct error err = {0};

	egress_cut_format(cut, &quota);
	assert_string_equal(cut, CUT);
	egress_cut_describe(&text, span_of(cut));
	assert_string_equal(buf_text(&text),
	                    "quota egress_mb_per_day of project 'lab' is used up: 50 MB a day; the "
	                    "network comes back at 2026-11-29T00:00:00.000Z");
	memset(subject, 'x', sizeof(subject));
	subject[sizeof(subject) - 1] = '\0';
	quota = (struct egress_quota){"organization", subject, 999999999.5, 1795910400000};
	egress_cut_format(cut, &quota);
	assert_true(egress_cut_is_valid(span_of(cut)));
	assert_int_equal(strlen(cut), SANDBOX_EGRESS_CUT_MAX);
	for (size_t i = 0; i < strlen(CUT); i++)
		(void)egress_cut_is_valid((struct span){CUT, i});
	assert_false(egress_cut_is_valid(SPAN("")));
	assert_false(egress_cut_is_valid(SPAN("egress_mb_per_day/user/lab/50/x")));
	assert_false(egress_cut_is_valid(SPAN("cpu/project/lab/50/x")));
	assert_false(egress_cut_is_valid(SPAN("egress_mb_per_day/project/la\"b/50/x")));
	assert_false(egress_cut_is_valid(SPAN("egress_mb_per_day/project/lab/50/x/y")));
	assert_int_equal(sandbox_egress_denied("^nonsense -9.9.9.9", &ignored, &err), -1);
}

int main(void)
{
	return RUN(CASE(no_rules_are_an_empty_text_and_deny_nothing),
	           CASE(what_is_left_is_told_in_the_fewest_blocks),
	           CASE(a_malformed_text_leaves_nothing_untold),
	           CASE(rules_are_kept_as_one_text_and_read_again_as_two_lists),
	           CASE(what_is_allowed_alone_denies_nothing),
	           CASE(allowed_goes_before_denied_whichever_is_the_narrower),
	           CASE(ranges_come_in_order_and_those_that_touch_become_one),
	           CASE(bits_behind_the_prefix_do_not_count),
	           CASE(ipv6_is_checked_and_changes_nothing),
	           CASE(all_is_denied_when_nothing_is_left),
	           CASE(what_is_no_address_is_refused_with_its_place),
	           CASE(names_of_hosts_are_allowed_where_all_else_is_denied),
	           CASE(a_name_is_never_denied),
	           CASE(a_name_is_allowed_in_either_case_and_a_wildcard_means_what_is_below),
	           CASE(what_is_a_name_of_a_host_is_known),
	           CASE(as_many_names_as_there_may_be_are_kept),
	           CASE(what_no_sandbox_may_reach_is_known),
	           CASE(each_list_has_its_limit_and_the_longest_of_both_are_kept),
	           CASE(as_many_holes_as_there_may_be_fit_into_the_result),
	           CASE(a_range_has_both_its_ends), CASE(a_text_that_is_malformed_is_refused),
	           CASE(a_text_with_too_many_rules_is_refused),
	           CASE(a_mark_is_about_tls_or_about_http),
	           CASE(a_source_address_comes_first_and_is_no_rule),
	           CASE(a_cut_denies_all_whatever_the_rules_say),
	           CASE(the_reason_of_a_cut_is_bounded_and_readable));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "unit.h"

#include "http/rewrite/rewrite.h"

static const struct rewrite_place place = {
        .prefix = SPAN("/p/5173"), .document = SPAN("/a/b?c=\"d\""), .port = 5173};
static const struct rewrite_place host_place = {.document = SPAN("/"), .port = 5173};

typedef void rewrite(struct buf *out, struct span value, const struct rewrite_place *place);

static void becomes(rewrite *run, const char *from, const char *to)
{
	AUTO(buf_done) struct buf out = BUF(4096);

	run(&out, span_of(from), &place);
	buf_add_byte(&out, '\0');
	assert_string_equal(out.data, to);
}

TEST(an_address_at_the_root_moves_below_the_prefix)
{
	becomes(rewrite_url, "/", "/p/5173/");
	becomes(rewrite_url, "/x?y#z", "/p/5173/x?y#z");
	becomes(rewrite_url, " \n/x", "/p/5173/x");
	becomes(rewrite_url, "http://localhost:5173", "/p/5173/");
	becomes(rewrite_url, "https://LOCALHOST:5173/x", "/p/5173/x");
	becomes(rewrite_url, "http://127.0.0.1:5173?x", "/p/5173/?x");
	becomes(rewrite_url, "//[::1]:5173/x", "/p/5173/x");
}

TEST(an_address_that_is_right_or_of_another_host_stays)
{
	static const char *const texts[] = {
	        "",          "x/y",          "#a",         "?q",
	        "//other/x", "/\\other",     "http://o/x", "http://localhost:51730/x",
	        "data:,x",   "javascript:x", "mailto:a@b", "http://localhost:5173.other/",
	        "/p/5173/x", "/p/5173",      "/p/5173?x",  "http://localhost:5173@other/",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		becomes(rewrite_url, texts[i], texts[i]);
	becomes(rewrite_url, "/p/51730", "/p/5173/p/51730");
}

TEST(at_a_host_of_its_own_only_the_host_goes)
{
	AUTO(buf_done) struct buf out = BUF(4096);

	rewrite_url(&out, SPAN("http://localhost:5173/x"), &host_place);
	rewrite_url(&out, SPAN("/y"), &host_place);
	assert_true(span_equals_text(buf_span(&out), "/x/y"));
}

TEST(headers_that_hold_addresses_are_rewritten)
{
	becomes(rewrite_refresh, "5; url=/x", "5; url=/p/5173/x");
	becomes(rewrite_refresh, "0;URL='/x'", "0;URL='/p/5173/x'");
	becomes(rewrite_refresh, "5", "5");
	becomes(rewrite_link, "</a.css>; rel=preload, <b>, </c>; t=\"</d>\"",
	        "</p/5173/a.css>; rel=preload, <b>, </p/5173/c>; t=\"</d>\"");
	becomes(rewrite_link, "</a", "</a");
}

TEST(a_cookie_stays_below_the_prefix_and_with_the_host)
{
	becomes(rewrite_cookie, "a=b; Path=/; Domain=localhost; HttpOnly",
	        "a=b; Path=/p/5173/; HttpOnly");
	becomes(rewrite_cookie, "a=b; path=/x;Secure", "a=b; Path=/p/5173/x; Secure");
	becomes(rewrite_cookie, "a=b", "a=b");
	becomes(rewrite_cookie, "a=domain=x;domain=y", "a=domain=x");
	/* As a browser reads it. */
	becomes(rewrite_cookie, "a=b ; Path = / ;\tDOMAIN =x; domain;;", "a=b; Path=/p/5173/");
	becomes(rewrite_cookie, "a=b; path=/../..; path =/x",
	        "a=b; Path=/p/5173/../..; Path=/p/5173/x");
	becomes(rewrite_cookie, "a=b; Path=; path; Path=\"/\"", "a=b; Path=; path; Path=\"/\"");
	becomes(rewrite_cookie, "", "");
}

static void page_in_pieces(const char *from, size_t piece, enum rewriter_kind kind, struct buf *out)
{
	struct rewriter r;

	rewriter_init(&r, &place, kind);
	for (size_t at = 0; at < strlen(from); at += piece)
		rewriter_take(&r,
		              (struct span){from + at,
		                            strlen(from) - at < piece ? strlen(from) - at : piece},
		              out);
	rewriter_end(&r, out);
	rewriter_done(&r);
	buf_add_byte(out, '\0');
}

/* In pieces of any size. */
static void page_becomes(const char *from, const char *to)
{
	for (size_t piece = 1; piece <= strlen(from) + 1; piece++) {
		AUTO(buf_done) struct buf out = BUF(1 << 16);

		page_in_pieces(from, piece, REWRITER_PART, &out);
		assert_string_equal(out.data, to);
	}
}

TEST(attributes_that_hold_addresses_are_rewritten)
{
	page_becomes("<a href=\"/x\">/x</a>", "<a href=\"/p/5173/x\">/x</a>");
	page_becomes("<IMG ALT='/x' SRC='/y' >", "<IMG ALT='/x' SRC='/p/5173/y' >");
	page_becomes("<script src=/x.js></script>", "<script src=/p/5173/x.js></script>");
	page_becomes("<img srcset=\"/a 1x, b 2x,/c\">",
	             "<img srcset=\"/p/5173/a 1x, b 2x,/p/5173/c\">");
	page_becomes("<form action = '/f'><use xlink:href=#a>",
	             "<form action = '/p/5173/f'><use xlink:href=#a>");
	page_becomes("<meta http-equiv=refresh content='0;url=/x'><meta content='/x'>",
	             "<meta http-equiv=refresh content='0;url=/p/5173/x'><meta content='/x'>");
	/* Of two the first one counts. */
	page_becomes("<meta content='0;url=/x' content='0;url=/y' http-equiv=refresh>",
	             "<meta content='0;url=/p/5173/x' content='0;url=/y' http-equiv=refresh>");
	page_becomes("<base href='/app/'>", "<base href='/p/5173/app/'>");
	page_becomes(
	        "<object data=/x><INPUT formaction=/y><video poster=/z><my-video poster=/z src=/v>",
	        "<object data=/p/5173/x><INPUT formaction=/p/5173/y><video poster=/p/5173/z>"
	        "<my-video poster=/z src=/p/5173/v>");
	page_becomes("<div data=/x action=/y ping=/z><tr background=/x>",
	             "<div data=/x action=/y ping=/z><tr background=/x>");
	page_becomes(
	        "<p style=\"background:url(/x)\"><style>a{b:url('/y')}</style>url(/z)",
	        "<p "
	        "style=\"background:url(/p/5173/x)\"><style>a{b:url('/p/5173/y')}</style>url(/z)");
	page_becomes("<style>url(/x<b</style><style>@import \"/y\"</style>",
	             "<style>url(/x<b</style><style>@import \"/p/5173/y\"</style>");
}

TEST(what_is_no_tag_stays_as_it_is)
{
	static const char *const texts[] = {
	        "a < b <3 <a",
	        "<!-- <a href='/x'> -- > --><!doctype html>",
	        "<!---->",
	        "<script>x='<a href=\"/x\">'</scripty></script >",
	        "<style><a href='/x'></style>",
	        "<textarea><a href='/x'></TEXTAREA>",
	        "<title><a href='/x'></title>",
	        "<a title='> href=\"/x\"' b>",
	        "<",
	        "<a href='/x",
	        "</a href='/x'>",
	        "<<!-",
	        "<!-x",
	        "<?xml href='/x'?>",
	        "<script><",
	        "<script></scr",
	        "<a href>",
	        "<a href=>",
	        "<a =>",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		page_becomes(texts[i], texts[i]);
	page_becomes("<!--><a href=/x>", "<!--><a href=/p/5173/x>");
	page_becomes("<<a href=/x>", "<<a href=/p/5173/x>");
	page_becomes("<script></script><a href=/x>", "<script></script><a href=/p/5173/x>");
}

TEST(a_page_gets_a_base_before_its_first_address)
{
	AUTO(buf_done) struct buf out = BUF(1 << 16);

	page_in_pieces("<html><head><meta charset=u><title>t</title><link href=/l></head>", 7,
	               REWRITER_PAGE, &out);
	assert_non_null(
	        strstr(out.data, "</title><base href=\"/p/5173/a/b?c=&quot;d&quot;\"><script>"));
	assert_non_null(strstr(out.data, "var p=\"/p/5173\";"));
	assert_non_null(strstr(out.data, "</script><link href=/p/5173/l>"));
	assert_null(strstr(out.data, "importmap"));
}

TEST(a_base_of_the_page_itself_wins)
{
	AUTO(buf_done) struct buf out = BUF(1 << 16);

	page_in_pieces("<head><base href=\"/app/\"><script src=x></script>", 64, REWRITER_PAGE,
	               &out);
	assert_true(span_starts_with(buf_span(&out), "<head><base href=\"/p/5173/app/\"><script>"));
	assert_null(strstr(out.data + 20, "<base"));
}

static bool gets_a_base(const char *from)
{
	bool has_base = false;

	for (size_t piece = 1; piece <= strlen(from); piece++) {
		AUTO(buf_done) struct buf out = BUF(1 << 16);

		page_in_pieces(from, piece, REWRITER_ANY, &out);
		assert_true(piece == 1 || has_base == (strstr(out.data, "<base href") != NULL));
		has_base = strstr(out.data, "<base href") != NULL;
	}
	return has_base;
}

TEST(what_nobody_asked_for_as_a_page_is_one_if_it_says_so)
{
	assert_true(gets_a_base("<!DOCTYPE html><title>t</title><p>x"));
	assert_true(gets_a_base("\n<!-- c --><HTML lang=en><p>x"));
	assert_true(gets_a_base("<head><link href=/l></head>"));
	assert_true(gets_a_base("<body><p>x"));
	assert_false(gets_a_base("<p>x</p><a href=/html>y</a>"));
	assert_false(gets_a_base("<!-- <!doctype html> --><tr><td>x"));
	assert_false(gets_a_base("<header><p>x"));
	assert_false(gets_a_base("<5 <!5"));
}

TEST(imports_are_led_below_the_prefix_unless_the_page_has_a_map)
{
	AUTO(buf_done) struct buf with = BUF(1 << 16);
	AUTO(buf_done) struct buf without = BUF(1 << 16);

	page_in_pieces("<script type=importmap>{}</script><script type=module src=/m></script>", 5,
	               REWRITER_PAGE, &with);
	page_in_pieces(
	        "<p><script type=\"module\">import '/m'</script><script type=module></script>", 5,
	        REWRITER_PAGE, &without);
	assert_null(strstr(with.data, "\"imports\""));
	char *map = strstr(without.data,
	                   "<script type=\"importmap\">{\"imports\":{\"/\":\"/p/5173/\","
	                   "\"/p/5173/\":\"/p/5173/\"}}</script><script type=\"module\">");
	assert_non_null(map);
	assert_null(strstr(map + 30, "importmap"));
}

TEST(a_tag_that_is_too_long_goes_through_unchanged)
{
	static char text[REWRITE_TAG_MAX + 200];
	AUTO(buf_done) struct buf out = BUF(1 << 18);

	memset(text, 'a', sizeof(text) - 1);
	memcpy(text, "<img href='/x' src='", 20);
	memcpy(text + sizeof(text) - 40, "'><a href=/y>b</a>                     ", 39);
	page_in_pieces(text, 1000, REWRITER_PART, &out);
	assert_true(span_starts_with(buf_span(&out), "<img href='/x' src='"));
	assert_non_null(strstr(out.data, "<a href=/p/5173/y>"));
}

/* ---- policies ---- */

/* "@" stands for the hashes of what is put in. */
static void policy_becomes(const char *from, const char *to)
{
	AUTO(buf_done) struct buf both = BUF(4096);
	AUTO(buf_done) struct buf wanted = BUF(1 << 16);
	struct span hashes;

	rewrite_csp(&both, SPAN("script-src a"), &place);
	hashes = (struct span){both.data + 12, both.size - 12};
	for (; *to; to++) {
		if (*to == '@')
			buf_add_span(&wanted, hashes);
		else
			buf_add_byte(&wanted, *to);
	}
	becomes(rewrite_csp, from, buf_text(&wanted));
}

TEST(a_policy_lets_in_the_very_text_that_is_put_into_the_page)
{
	AUTO(buf_done) struct buf out = BUF(1 << 16);
	struct rewrite_place none = {.prefix = SPAN("/p/1"), .port = 1};

	/* The map for "/p/1", and its SHA-256 as another program has it. */
	rewrite_add_imports(&out, none.prefix);
	assert_string_equal(out.data, "{\"imports\":{\"/\":\"/p/1/\",\"/p/1/\":\"/p/1/\"}}");
	buf_reset(&out);
	rewrite_csp(&out, SPAN("script-src 'self'"), &none);
	assert_true(span_starts_with(buf_span(&out), "script-src 'self' 'sha256-"));
	assert_non_null(strstr(out.data, " 'sha256-YJ0CvLwGErOgf29olMHVcMDPAzXCL5v+sDj6D1IA4Kk='"));
}

TEST(a_hash_joins_the_list_that_scripts_of_the_page_are_held_to)
{
	policy_becomes("script-src 'self'", "script-src 'self'@");
	policy_becomes("default-src 'self'", "default-src 'self'@");
	policy_becomes("default-src 'none'; script-src x;img-src *",
	               "default-src 'none'; script-src x@;img-src *");
	policy_becomes("script-src x; SCRIPT-SRC-ELEM y ;", "script-src x; SCRIPT-SRC-ELEM y @;");
	policy_becomes("script-src 'nonce-x' 'unsafe-inline'",
	               "script-src 'nonce-x' 'unsafe-inline'@");
	policy_becomes("script-src 'unsafe-inline' 'strict-dynamic'",
	               "script-src 'unsafe-inline' 'strict-dynamic'@");
	policy_becomes("default-src 'unsafe-inline' 'nonce-x'",
	               "default-src 'unsafe-inline' 'nonce-x'@");
	policy_becomes("default-src 'unsafe-inline' 'strict-dynamic'; style-src 'unsafe-inline'",
	               "default-src 'unsafe-inline' 'strict-dynamic'@; style-src 'unsafe-inline'");
	policy_becomes("script-src a, img-src b, default-src c",
	               "script-src a@, img-src b, default-src c@");
	/* Only the first of a name counts. */
	policy_becomes("script-src a;script-src b", "script-src a@;script-src b");
}

TEST(a_policy_that_needs_no_hash_stays)
{
	static const char *const texts[] = {
	        "",
	        ",",
	        ";;",
	        " ; , ;",
	        "script-src",
	        "script-src 'none'",
	        "default-src",
	        "default-src 'none'; style-src 'self'",
	        "img-src 'self'; style-src x",
	        "script-src-attr 'none'",
	        "script-src * 'unsafe-inline'",
	        "default-src 'self' 'UNSAFE-INLINE' data:",
	        /* Its styles need what a hash would take from them. */
	        "default-src 'unsafe-inline' 'strict-dynamic'",
	        "default-src 'unsafe-inline' 'strict-dynamic'; style-src-elem *",
	        "sandbox allow-scripts",
	        "xscript-src a; script-srcx b",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		policy_becomes(texts[i], texts[i]);
	AUTO(buf_done) struct buf out = BUF(4096);
	rewrite_csp(&out, SPAN("script-src 'self'"), &host_place);
	assert_string_equal(out.data, "script-src 'self'");
}

TEST(addresses_in_a_policy_lead_to_the_preview)
{
	policy_becomes("connect-src ws://localhost:5173 http://localhost:5173 wss://[::1]:5173",
	               "connect-src 'self' 'self' 'self'");
	policy_becomes("img-src localhost:5173\t127.0.0.1:5173", "img-src 'self'\t'self'");
	policy_becomes("img-src http://localhost:5173/a localhost:51730 http://a:5173 localhost",
	               "img-src http://localhost:5173/a localhost:51730 http://a:5173 localhost");
	policy_becomes("img-src ftp://localhost:5173 xlocalhost:5173",
	               "img-src ftp://localhost:5173 xlocalhost:5173");
	policy_becomes("report-uri /csp https://o/csp", "report-uri /p/5173/csp https://o/csp");
}

TEST(of_many_policies_some_are_changed)
{
	AUTO(buf_done) struct buf in = BUF(1 << 16);
	AUTO(buf_done) struct buf out = BUF(1 << 16);

	for (unsigned i = 0; i < 1000; i++)
		buf_add_text(&in, "script-src a,");
	rewrite_csp(&out, buf_span(&in), &place);
	assert_false(out.overflowed);
	assert_true(out.size > in.size && out.size < in.size + 16 * 128);
	assert_true(span_starts_with(buf_span(&out), "script-src a 'sha256-"));
	assert_string_equal(out.data + out.size - 26, "script-src a,script-src a,");
}

TEST(a_policy_says_which_base_a_page_may_have)
{
	assert_true(rewrite_csp_limits_base(SPAN("base-uri 'self'")));
	assert_true(rewrite_csp_limits_base(SPAN("img-src a, ; Base-Uri\t")));
	assert_false(rewrite_csp_limits_base(SPAN("img-src base-uri, xbase-uri a")));
	assert_false(rewrite_csp_limits_base(SPAN("")));
}

TEST(the_policy_of_a_meta_is_changed_in_the_page)
{
	AUTO(buf_done) struct buf out = BUF(1 << 16);
	static const char text[] = "<meta HTTP-EQUIV=content-security-policy "
	                           "content=\"script-src &#39;self&apos;;base-uri 'none'\">"
	                           "<link href=/l>";

	page_in_pieces(text, 3, true, &out);
	assert_non_null(strstr(out.data, " content=\"script-src &#39;self&#39; &#39;sha256-"));
	assert_non_null(strstr(out.data, "&#39;;base-uri &#39;none&#39;\"><script>(function()"));
	assert_null(strstr(out.data, "<base"));
	page_becomes("<meta http-equiv=content-security-policy content=script-src>",
	             "<meta http-equiv=content-security-policy content=script-src>");
	page_becomes("<meta http-equiv=content-security-policy content='script-src a&eacute;'>",
	             "<meta http-equiv=content-security-policy content='script-src a&eacute;'>");
	page_becomes("<meta name=content-security-policy content='script-src a'>",
	             "<meta name=content-security-policy content='script-src a'>");
}

/* ---- style sheets ---- */

static void sheet_becomes(const char *from, const char *to)
{
	AUTO(css_rewriter_done) struct css_rewriter whole = {CSS_TEXT}, single = {CSS_TEXT};
	AUTO(buf_done) struct buf a = BUF(8192), b = BUF(8192);

	css_rewriter_take(&whole, &place, span_of(from), &a);
	css_rewriter_end(&whole, &a);
	for (size_t i = 0; from[i]; i++)
		css_rewriter_take(&single, &place, (struct span){from + i, 1}, &b);
	css_rewriter_end(&single, &b);
	assert_string_equal(buf_text(&a), to);
	assert_string_equal(buf_text(&b), to);
}

TEST(addresses_of_a_style_sheet_move_below_the_prefix)
{
	sheet_becomes("a{background:url(/x.png) no-repeat}",
	              "a{background:url(/p/5173/x.png) no-repeat}");
	sheet_becomes("url( '/x' ),URL(\"/y\")", "url( '/p/5173/x' ),URL(\"/p/5173/y\")");
	sheet_becomes("@import \"/a.css\";@IMPORT\t\n'/b.css' screen;@import url(/c.css);",
	              "@import \"/p/5173/a.css\";@IMPORT\t\n'/p/5173/b.css' screen;"
	              "@import url(/p/5173/c.css);");
	sheet_becomes("url(http://localhost:5173/z)", "url(/p/5173/z)");
	sheet_becomes("src:url(/f.woff2?x#y)format('woff2')",
	              "src:url(/p/5173/f.woff2?x#y)format('woff2')");
}

TEST(what_else_stands_in_a_style_sheet_stays)
{
	static const char *const texts[] = {
	        "",
	        "a{content:'/x'}",
	        "url(x.png) url(../y) url(//other/z) url(https://o/)",
	        "url(data:image/png;base64,/9j/)",
	        "myurl(/x) -url(/x) url (/x)",
	        "url(/p/5173/x)",
	        "url('/never",
	        "url(/a\\)b)",
	        "url()",
	        "@import",
	        "@important '/x'",
	        "@import url(",
	};
	char text[6000] = "url(/";

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		sheet_becomes(texts[i], texts[i]);
	memset(text + 5, 'x', 5000);
	sheet_becomes(text, text);
}

int main(void)
{
	return RUN(CASE(an_address_at_the_root_moves_below_the_prefix),
	           CASE(an_address_that_is_right_or_of_another_host_stays),
	           CASE(at_a_host_of_its_own_only_the_host_goes),
	           CASE(headers_that_hold_addresses_are_rewritten),
	           CASE(a_cookie_stays_below_the_prefix_and_with_the_host),
	           CASE(addresses_of_a_style_sheet_move_below_the_prefix),
	           CASE(what_else_stands_in_a_style_sheet_stays),
	           CASE(attributes_that_hold_addresses_are_rewritten),
	           CASE(what_is_no_tag_stays_as_it_is),
	           CASE(a_page_gets_a_base_before_its_first_address),
	           CASE(a_base_of_the_page_itself_wins),
	           CASE(what_nobody_asked_for_as_a_page_is_one_if_it_says_so),
	           CASE(imports_are_led_below_the_prefix_unless_the_page_has_a_map),
	           CASE(a_tag_that_is_too_long_goes_through_unchanged),
	           CASE(a_policy_lets_in_the_very_text_that_is_put_into_the_page),
	           CASE(a_hash_joins_the_list_that_scripts_of_the_page_are_held_to),
	           CASE(a_policy_that_needs_no_hash_stays),
	           CASE(addresses_in_a_policy_lead_to_the_preview),
	           CASE(of_many_policies_some_are_changed),
	           CASE(a_policy_says_which_base_a_page_may_have),
	           CASE(the_policy_of_a_meta_is_changed_in_the_page));
}

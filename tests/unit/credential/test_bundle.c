/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "credential/authority.h"
#include "http/tls/certificate.h"

static const char *make(struct arena *a, const char *sandbox)
{
	const char *certificate, *key;
	struct error err = {0};

	assert_int_equal(credential_authority_make(a, sandbox, &certificate, &key, &err), 0);
	assert_non_null(strstr(key, "PRIVATE KEY"));
	return certificate;
}

static const char *update(struct arena *a, const char *bundle, const char *certificate)
{
	AUTO(buf_done) struct buf out = BUF(CREDENTIAL_BUNDLE_MAX);

	credential_bundle_update(&out, span_of(bundle), certificate);
	return arena_copy(a, buf_span(&out));
}

static const char *make_other(struct arena *a)
{
	AUTO(certificate_pair_done) struct certificate_pair pair = CERTIFICATE_PAIR;
	const struct certificate_names names = {{"example.com"}, 1, 1};
	struct error err = {0};

	assert_int_equal(certificate_make_authority(&names, &pair, &err), 0);
	return arena_copy(a, buf_span(&pair.certificate));
}

TEST(the_authority_is_added_once_and_at_the_end)
{
	AUTO(arena_done) struct arena a = {0};
	const char *own = make(&a, "aaaaaaaaaaaaaaaaaaaa"), *other = make_other(&a);
	const char *once = update(&a, other, own);

	assert_string_equal(once, arena_format(&a, "%s%s", other, own));
	assert_string_equal(update(&a, once, own), once);
	assert_string_equal(update(&a, "", own), own);
}

TEST(the_authority_of_another_sandbox_is_taken_out)
{
	AUTO(arena_done) struct arena a = {0};
	const char *own = make(&a, "aaaaaaaaaaaaaaaaaaaa"),
	           *first = make(&a, "bbbbbbbbbbbbbbbbbbbb");
	const char *other = make_other(&a);
	const char *bundle = arena_format(&a, "# text\n%s%s# between\n%s", first, other, first);

	assert_string_equal(update(&a, bundle, own),
	                    arena_format(&a, "# text\n%s# between\n%s", other, own));
}

TEST(what_is_no_certificate_stays)
{
	AUTO(arena_done) struct arena a = {0};
	const char *own = make(&a, "aaaaaaaaaaaaaaaaaaaa");
	static const char *const texts[] = {"text", "-----BEGIN ",
	                                    "-----BEGIN X-----\n-----END X-----",
	                                    "-----BEGIN A-----\n?\n-----END A-----\nrest"};

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		assert_string_equal(update(&a, texts[i], own),
		                    arena_format(&a, "%s\n%s", texts[i], own));
}

int main(void)
{
	return RUN(CASE(the_authority_is_added_once_and_at_the_end),
	           CASE(the_authority_of_another_sandbox_is_taken_out),
	           CASE(what_is_no_certificate_stays));
}

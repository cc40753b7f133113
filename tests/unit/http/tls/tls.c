/* SPDX-License-Identifier: Apache-2.0 */
#include "http/tls/tls.h"

#include <string.h>

#include "http/tls/certificate.h"
#include "unit.h"

static const struct certificate_names here = {{"localhost", "*.e2b.localhost", "127.0.0.1", "::1"},
                                              4};

struct made {
	struct certificate_pair authority, server;
};

static struct made make(const struct certificate_names *names)
{
	struct made m = {CERTIFICATE_PAIR, CERTIFICATE_PAIR};
	struct error err = {0};

	if (certificate_make_authority(names, &m.authority, &err) < 0 ||
	    certificate_make(names, &m.authority, &m.server, &err) < 0)
		fail_msg("%s", err.text);
	return m;
}

static void made_done(struct made *m)
{
	certificate_pair_done(&m->authority);
	certificate_pair_done(&m->server);
}

static int use(const struct buf *first, const struct buf *second, struct error *err)
{
	AUTO(buf_done) struct buf pem = BUF(TLS_PEM_MAX);
	struct tls_context *context;

	buf_add_span(&pem, buf_span(first));
	buf_add_span(&pem, buf_span(second));
	if (tls_context_new(buf_span(&pem), &context, err) < 0)
		return -1;
	tls_context_free(context);
	return 0;
}

TEST(a_certificate_of_ones_own_can_be_used)
{
	AUTO(made_done) struct made m = make(&here);
	struct error err;

	assert_int_equal(use(&m.server.certificate, &m.server.key, &err), 0);
	assert_int_equal(use(&m.server.key, &m.server.certificate, &err), 0);
	assert_true(span_starts_with(buf_span(&m.server.certificate), "-----BEGIN CERTIFICATE"));
	assert_non_null(
	        strstr(buf_text(&m.server.certificate), buf_text(&m.authority.certificate)));
}

TEST(a_certificate_says_until_when_it_is_good)
{
	AUTO(made_done) struct made m = make(&here);
	AUTO(buf_done) struct buf pem = BUF(TLS_PEM_MAX);
	struct tls_context *context;
	struct error err;
	char text[24];

	buf_add_span(&pem, buf_span(&m.server.certificate));
	buf_add_span(&pem, buf_span(&m.server.key));
	assert_int_equal(tls_context_new(buf_span(&pem), &context, &err), 0);
	tls_context_expiry(context, text);
	assert_int_equal(strlen(text), 20);
	assert_int_equal(text[19], 'Z');
	tls_context_free(context);
}

TEST(what_does_not_fit_together_is_refused)
{
	AUTO(made_done) struct made m = make(&here), other = make(&here);
	struct buf nothing = BUF(1), broken = BUF(100);
	struct error err;

	assert_int_equal(use(&m.server.certificate, &other.server.key, &err), -1);
	assert_non_null(strstr(err.text, "key"));
	assert_int_equal(use(&m.server.certificate, &nothing, &err), -1);
	assert_non_null(strstr(err.text, "no key"));
	assert_int_equal(use(&nothing, &m.server.key, &err), -1);
	assert_non_null(strstr(err.text, "no certificate"));
	buf_add_text(&broken, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
	assert_int_equal(use(&broken, &m.server.key, &err), -1);
	buf_done(&broken);
}

TEST(what_is_too_large_is_refused)
{
	struct tls_context *context;
	struct error err;

	assert_int_equal(tls_context_new((struct span){"", TLS_PEM_MAX + 1}, &context, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
}

TEST(only_names_of_hosts_are_certified)
{
	static const char *const bad[] = {"", ".", "a b", "a,DNS:b", "a\n", "*", "*.", "-a", "a/b"};

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct certificate_names names = {{bad[i]}, 1};
		AUTO(certificate_pair_done) struct certificate_pair pair = CERTIFICATE_PAIR;
		struct error err;

		assert_int_equal(certificate_make_authority(&names, &pair, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_int_equal(pair.key.size, 0);
	}
}

TEST(an_authority_that_is_none_signs_nothing)
{
	AUTO(certificate_pair_done) struct certificate_pair none = CERTIFICATE_PAIR;
	AUTO(certificate_pair_done) struct certificate_pair pair = CERTIFICATE_PAIR;
	struct error err;

	assert_int_equal(certificate_make(&here, &none, &pair, &err), -1);
}

int main(void)
{
	return RUN(CASE(a_certificate_of_ones_own_can_be_used),
	           CASE(a_certificate_says_until_when_it_is_good),
	           CASE(what_does_not_fit_together_is_refused), CASE(what_is_too_large_is_refused),
	           CASE(only_names_of_hosts_are_certified),
	           CASE(an_authority_that_is_none_signs_nothing));
}

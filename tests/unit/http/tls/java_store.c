/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "http/tls/certificate.h"
#include "http/tls/java_store.h"

#define STORE_MAX ((size_t)64 * 1024)

static struct error err;

static void make(struct certificate_pair *ret)
{
	const struct certificate_names names = {{"example.com"}, 1, 1};

	assert_int_equal(certificate_make_authority(&names, ret, &err), 0);
}

static uint32_t number_at(const struct buf *b, size_t at)
{
	const unsigned char *bytes = (const unsigned char *)b->data + at;

	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       bytes[3];
}

TEST(a_store_has_every_certificate)
{
	AUTO(certificate_pair_done) struct certificate_pair pair = CERTIFICATE_PAIR;
	AUTO(buf_done) struct buf pem = BUF(STORE_MAX), one = BUF(STORE_MAX), two = BUF(STORE_MAX);

	make(&pair);
	assert_int_equal(java_store_write(&one, buf_span(&pair.certificate), &err), 0);
	assert_int_equal(number_at(&one, 0), 0xfeedfeed);
	assert_int_equal(number_at(&one, 4), 2);
	assert_int_equal(number_at(&one, 8), 1);
	buf_add_text(&pem, "# a comment\n");
	buf_add_span(&pem, buf_span(&pair.certificate));
	buf_add_span(&pem, buf_span(&pair.certificate));
	assert_int_equal(java_store_write(&two, buf_span(&pem), &err), 0);
	assert_int_equal(number_at(&two, 8), 2);
	assert_int_equal(two.size - one.size, one.size - 12 - 20);
}

TEST(a_text_without_certificates_is_refused)
{
	AUTO(buf_done) struct buf out = BUF(STORE_MAX);

	assert_int_equal(java_store_write(&out, SPAN("nothing"), &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_int_equal(out.size, 0);
}

TEST(a_store_that_does_not_fit_is_refused)
{
	AUTO(certificate_pair_done) struct certificate_pair pair = CERTIFICATE_PAIR;
	AUTO(buf_done) struct buf out = BUF(64);

	make(&pair);
	assert_int_equal(java_store_write(&out, buf_span(&pair.certificate), &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
}

int main(void)
{
	return RUN(CASE(a_store_has_every_certificate),
	           CASE(a_text_without_certificates_is_refused),
	           CASE(a_store_that_does_not_fit_is_refused));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The format: a head (magic, version, count), the entries (kind, alias, time, type, certificate),
 * and a digest of a password, a fixed text and all before. Numbers are big-endian; texts begin with
 * their size. */
#include "http/tls/java_store.h"

#include <endian.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdint.h>
#include <stdio.h>

#define MAGIC 0xfeedfeedu
#define VERSION 2
#define TRUSTED_CERTIFICATE 2
#define DIGEST_SIZE 20 /* SHA-1 */

static const char password[] = "\0c\0h\0a\0n\0g\0e\0i\0t"; /* UTF-16 */
static const char salt[] = "Mighty Aphrodite";

static void add_u32(struct buf *out, uint32_t value)
{
	value = htobe32(value);
	buf_add(out, &value, sizeof(value));
}

static void add_string(struct buf *out, const char *text)
{
	struct span bytes = span_of(text);
	uint16_t size = htobe16((uint16_t)bytes.size);

	buf_add(out, &size, sizeof(size));
	buf_add_span(out, bytes);
}

static void add_entry(struct buf *out, uint32_t number, const unsigned char *der, int size)
{
	const uint64_t no_time = 0;
	char alias[32];

	(void)snprintf(alias, sizeof(alias), "authority-%u", number);
	add_u32(out, TRUSTED_CERTIFICATE);
	add_string(out, alias);
	buf_add(out, &no_time, sizeof(no_time));
	add_string(out, "X.509");
	add_u32(out, (uint32_t)size);
	buf_add(out, der, (size_t)size);
}

/* Writes the entries, and returns their number; more than the limit: one more than that. */
static uint32_t add_entries(struct buf *out, struct span pem)
{
	BIO *in = BIO_new_mem_buf(pem.data, (int)pem.size);
	uint32_t count = 0;
	X509 *x509;

	while (in && count <= JAVA_STORE_CERTIFICATES_MAX &&
	       (x509 = PEM_read_bio_X509(in, NULL, NULL, NULL))) {
		unsigned char *der = NULL;
		int size = i2d_X509(x509, &der);

		if (size > 0)
			add_entry(out, ++count, der, size);
		OPENSSL_free(der);
		X509_free(x509);
	}
	BIO_free(in);
	ERR_clear_error(); /* the end of the text is an error of OpenSSL's */
	return count;
}

static int add_digest(struct buf *out, struct span store, struct error *err)
{
	unsigned char digest[DIGEST_SIZE];
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool is_done = context && EVP_DigestInit_ex(context, EVP_sha1(), NULL) == 1 &&
	               EVP_DigestUpdate(context, password, sizeof(password) - 1) == 1 &&
	               EVP_DigestUpdate(context, salt, sizeof(salt) - 1) == 1 &&
	               EVP_DigestUpdate(context, store.data, store.size) == 1 &&
	               EVP_DigestFinal_ex(context, digest, NULL) == 1;

	EVP_MD_CTX_free(context);
	if (!is_done)
		return FAIL(err, ERROR_SYSTEM, "compute the digest of a trust store of Java");
	buf_add(out, digest, sizeof(digest));
	return 0;
}

int java_store_write(struct buf *out, struct span pem, struct error *err)
{
	AUTO(buf_done) struct buf entries = BUF(out->size_max), store = BUF(out->size_max);
	uint32_t count = pem.size > INT32_MAX ? 0 : add_entries(&entries, pem);

	if (count == 0)
		return FAIL(err, ERROR_INVALID, "there is no certificate in PEM form");
	if (count > JAVA_STORE_CERTIFICATES_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "more than %d certificates",
		            JAVA_STORE_CERTIFICATES_MAX);
	add_u32(&store, MAGIC);
	add_u32(&store, VERSION);
	add_u32(&store, count);
	buf_add_span(&store, buf_span(&entries));
	if (store.overflowed || entries.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the trust store of Java is too large");
	if (add_digest(&store, buf_span(&store), err) < 0)
		return -1;
	buf_add_span(out, buf_span(&store));
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "http/tls/certificate.h"

#include <arpa/inet.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "base/bytes.h"

#define DAY_S (24L * 3600)
#define CLOCK_SKEW_S 3600L
#define SERIAL_BYTES 16

void certificate_pair_done(struct certificate_pair *pair)
{
	if (pair->key.data)
		OPENSSL_cleanse(pair->key.data, pair->key.capacity);
	buf_done(&pair->certificate);
	buf_done(&pair->key);
}

static void done_x509(X509 **x509)
{
	X509_free(*x509);
}

static void done_key(EVP_PKEY **key)
{
	EVP_PKEY_free(*key);
}

static void done_bio(BIO **bio)
{
	BIO_free(*bio);
}
#define OWN(done_) __attribute__((cleanup(done_)))

static int fail_openssl(const char *what, struct error *err)
{
	unsigned long code = ERR_peek_last_error();
	const char *reason = code ? ERR_reason_error_string(code) : NULL;

	ERR_clear_error();
	return FAIL(err, ERROR_SYSTEM, "%s: %s", what, reason ? reason : "it failed");
}

static int read_pair(const struct certificate_pair *pair, X509 **ret_x509, EVP_PKEY **ret_key,
                     struct error *err)
{
	OWN(done_bio) BIO *c = BIO_new_mem_buf(pair->certificate.data, (int)pair->certificate.size);
	OWN(done_bio) BIO *k = BIO_new_mem_buf(pair->key.data, (int)pair->key.size);

	*ret_x509 = PEM_read_bio_X509(c, NULL, NULL, NULL);
	*ret_key = PEM_read_bio_PrivateKey(k, NULL, NULL, NULL);
	if (!*ret_x509 || !*ret_key || X509_check_private_key(*ret_x509, *ret_key) != 1)
		return fail_openssl("read the authority's certificate and key", err);
	return 0;
}

static void add_bio_data(struct buf *out, BIO *bio)
{
	char *data = NULL;
	long size = BIO_get_mem_data(bio, &data);

	if (size > 0)
		buf_add(out, data, (size_t)size);
}

static int write_pair(X509 *x509, EVP_PKEY *key, struct certificate_pair *ret, struct error *err)
{
	OWN(done_bio) BIO *c = BIO_new(BIO_s_mem());
	OWN(done_bio) BIO *k = BIO_new(BIO_s_secmem());

	if (!c || !k || PEM_write_bio_X509(c, x509) != 1 ||
	    PEM_write_bio_PrivateKey(k, key, NULL, NULL, 0, NULL, NULL) != 1)
		return fail_openssl("write a certificate", err);
	add_bio_data(&ret->certificate, c);
	add_bio_data(&ret->key, k);
	return 0;
}

static bool is_address(const char *name)
{
	unsigned char bytes[16];

	return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

static int check_name(const char *name, struct error *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                              "0123456789-.";
	const char *rest = strncmp(name, "*.", 2) == 0 ? name + 2 : name;

	if (is_address(name))
		return 0;
	if (rest[0] && strlen(name) <= 253 && strspn(rest, letters) == strlen(rest) &&
	    rest[0] != '.' && rest[0] != '-')
		return 0;
	return FAIL(err, ERROR_INVALID, "'%.100s' is no name of a host", name);
}

static int add_extension(X509 *x509, X509V3_CTX *context, int nid, const char *value,
                         struct error *err)
{
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, context, nid, value);
	int result = extension ? X509_add_ext(x509, extension, -1) : 0;

	X509_EXTENSION_free(extension);
	return result == 1 ? 0 : fail_openssl("add an extension to a certificate", err);
}

/* "DNS:a,IP:127.0.0.1" */
static void write_alternatives(struct buf *out, const struct certificate_names *names)
{
	for (unsigned i = 0; i < names->count; i++)
		buf_addf(out, "%s%s:%s", i > 0 ? "," : "",
		         is_address(names->names[i]) ? "IP" : "DNS", names->names[i]);
}

/* "permitted;DNS:a,…": a wildcard permits all names below it, an address only itself. */
static void write_constraints(struct buf *out, const struct certificate_names *names)
{
	buf_add_text(out, "critical");
	for (unsigned i = 0; i < names->count; i++) {
		const char *name = names->names[i];

		if (!is_address(name))
			buf_addf(out, ",permitted;DNS:%s",
			         strncmp(name, "*.", 2) == 0 ? name + 2 : name);
		else if (strchr(name, ':'))
			buf_addf(out, ",permitted;IP:%s/ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
			         name);
		else
			buf_addf(out, ",permitted;IP:%s/255.255.255.255", name);
	}
}

static int set_serial(X509 *x509)
{
	unsigned char bytes[SERIAL_BYTES];
	BIGNUM *number;
	int result;

	if (RAND_bytes(bytes, sizeof(bytes)) != 1)
		return 0;
	bytes[0] &= 0x7f; /* positive */
	bytes[0] |= 0x40; /* and not 0 */
	number = BN_bin2bn(bytes, sizeof(bytes), NULL);
	result = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x509)) != NULL;
	BN_free(number);
	return result;
}

/* Makes a certificate without issuer, extensions and signature. */
static int make_unsigned(EVP_PKEY *key, const char *name, long days, X509 **ret, struct error *err)
{
	OWN(done_x509) X509 *x509 = X509_new();
	X509_NAME *subject = x509 ? X509_get_subject_name(x509) : NULL;

	if (!subject || X509_set_version(x509, 2) != 1 || !set_serial(x509) ||
	    !X509_gmtime_adj(X509_getm_notBefore(x509), -CLOCK_SKEW_S) ||
	    !X509_gmtime_adj(X509_getm_notAfter(x509), days * DAY_S) ||
	    X509_set_pubkey(x509, key) != 1 ||
	    X509_NAME_add_entry_by_txt(subject, "O", MBSTRING_ASC, (const unsigned char *)"Atoll",
	                               -1, -1, 0) != 1 ||
	    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1,
	                               -1, 0) != 1)
		return fail_openssl("make a certificate", err);
	*ret = TAKE(x509);
	return 0;
}

struct extension {
	int nid;
	const char *value;
};

static int sign_certificate(X509 *x509, X509 *issuer, EVP_PKEY *key,
                            const struct extension *extensions, struct error *err)
{
	X509V3_CTX context;

	X509V3_set_ctx(&context, issuer, x509, NULL, NULL, 0);
	if (X509_set_issuer_name(x509, X509_get_subject_name(issuer)) != 1)
		return fail_openssl("make a certificate", err);
	for (; extensions->value; extensions++)
		if (add_extension(x509, &context, extensions->nid, extensions->value, err) < 0)
			return -1;
	if (X509_sign(x509, key, EVP_sha256()) <= 0)
		return fail_openssl("sign a certificate", err);
	return 0;
}

static int check_names(const struct certificate_names *names, struct error *err)
{
	if (names->count == 0)
		return FAIL(err, ERROR_INVALID, "a certificate for no name");
	for (unsigned i = 0; i < names->count; i++)
		if (check_name(names->names[i], err) < 0)
			return -1;
	return 0;
}

int certificate_make_authority(const struct certificate_names *names, struct certificate_pair *ret,
                               struct error *err)
{
	AUTO(buf_done) struct buf constraints = BUF(16 * 1024);
	OWN(done_key) EVP_PKEY *key = NULL;
	OWN(done_x509) X509 *x509 = NULL;
	struct extension extensions[] = {
	        {NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
	        {NID_key_usage, "critical,keyCertSign,cRLSign"},
	        {NID_subject_key_identifier, "hash"},
	        {NID_name_constraints, NULL},
	        {0, NULL},
	};

	ERR_clear_error();
	if (check_names(names, err) < 0)
		return -1;
	write_constraints(&constraints, names);
	extensions[3].value = buf_text(&constraints);
	key = EVP_EC_gen("P-256");
	if (!key)
		return fail_openssl("make a key", err);
	if (make_unsigned(key, "Atoll local authority", CERTIFICATE_AUTHORITY_DAYS, &x509, err) <
	            0 ||
	    sign_certificate(x509, x509, key, extensions, err) < 0)
		return -1;
	return write_pair(x509, key, ret, err);
}

int certificate_make_open_authority(const char *name, long days, struct certificate_pair *ret,
                                    struct error *err)
{
	OWN(done_key) EVP_PKEY *key = NULL;
	OWN(done_x509) X509 *x509 = NULL;
	const struct extension extensions[] = {
	        {NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
	        {NID_key_usage, "critical,keyCertSign,cRLSign"},
	        {NID_subject_key_identifier, "hash"},
	        {0, NULL},
	};

	ERR_clear_error();
	key = EVP_EC_gen("P-256");
	if (!key)
		return fail_openssl("make a key", err);
	if (make_unsigned(key, name, days, &x509, err) < 0 ||
	    sign_certificate(x509, x509, key, extensions, err) < 0)
		return -1;
	return write_pair(x509, key, ret, err);
}

int certificate_make(const struct certificate_names *names,
                     const struct certificate_pair *authority, struct certificate_pair *ret,
                     struct error *err)
{
	AUTO(buf_done) struct buf alternatives = BUF(16 * 1024);
	OWN(done_key) EVP_PKEY *key = NULL, *issuer_key = NULL;
	OWN(done_x509) X509 *x509 = NULL, *issuer = NULL;
	struct extension extensions[] = {
	        {NID_basic_constraints, "critical,CA:FALSE"},
	        {NID_key_usage, "critical,digitalSignature"},
	        {NID_ext_key_usage, "serverAuth"},
	        {NID_subject_key_identifier, "hash"},
	        {NID_authority_key_identifier, "keyid:always"},
	        {NID_subject_alt_name, NULL},
	        {0, NULL},
	};

	ERR_clear_error();
	if (check_names(names, err) < 0 || read_pair(authority, &issuer, &issuer_key, err) < 0)
		return -1;
	write_alternatives(&alternatives, names);
	extensions[5].value = buf_text(&alternatives);
	key = EVP_EC_gen("P-256");
	if (!key)
		return fail_openssl("make a key", err);
	if (make_unsigned(key, "Atoll", names->days > 0 ? names->days : CERTIFICATE_DAYS, &x509,
	                  err) < 0 ||
	    sign_certificate(x509, issuer, issuer_key, extensions, err) < 0 ||
	    write_pair(x509, key, ret, err) < 0)
		return -1;
	buf_add_span(&ret->certificate, buf_span(&authority->certificate));
	return 0;
}

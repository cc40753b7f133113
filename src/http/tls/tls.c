/* SPDX-License-Identifier: Apache-2.0 */
#include "http/tls/tls.h"

#include <assert.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/tls/begun.h"

#define CHAIN_MAX 10
#define HOST_MAX 253 /* of a name, RFC 1035 */

struct tls_context {
	SSL_CTX *ssl;
};

/* Fills err with OpenSSL's last error. */
static int fail_openssl(const char *what, struct error *err)
{
	unsigned long code = ERR_peek_last_error();
	const char *reason = code ? ERR_reason_error_string(code) : NULL;

	ERR_clear_error();
	return FAIL(err, ERROR_INVALID, "%s: %s", what, reason ? reason : "it cannot be used");
}

static void free_bio(BIO **bio)
{
	BIO_free(*bio);
}

/* Encrypted keys are refused instead of prompting for a passphrase. */
static int no_passphrase(UNUSED char *out, UNUSED int size, UNUSED int is_writing,
                         UNUSED void *context)
{
	return -1;
}

static int use_chain(SSL_CTX *ssl, struct span pem, struct error *err)
{
	__attribute__((cleanup(free_bio))) BIO *in = BIO_new_mem_buf(pem.data, (int)pem.size);
	X509 *x509;

	for (unsigned i = 0; (x509 = PEM_read_bio_X509(in, NULL, no_passphrase, NULL)); i++) {
		long result = i == 0 ? SSL_CTX_use_certificate(ssl, x509)
		                     : SSL_CTX_add1_chain_cert(ssl, x509);

		X509_free(x509);
		if (result != 1)
			return fail_openssl("certificate", err);
		if (i == CHAIN_MAX)
			return FAIL(err, ERROR_INVALID, "more than %d certificates", CHAIN_MAX);
	}
	ERR_clear_error(); /* that there was no further one */
	if (!SSL_CTX_get0_certificate(ssl))
		return FAIL(err, ERROR_INVALID, "there is no certificate in PEM form");
	return 0;
}

static int use_key(SSL_CTX *ssl, struct span pem, struct error *err)
{
	__attribute__((cleanup(free_bio))) BIO *in = BIO_new_mem_buf(pem.data, (int)pem.size);
	EVP_PKEY *key = PEM_read_bio_PrivateKey(in, NULL, no_passphrase, NULL);
	int result;

	if (!key)
		return fail_openssl("no key in PEM form, without a passphrase", err);
	result = SSL_CTX_use_PrivateKey(ssl, key);
	EVP_PKEY_free(key);
	if (result != 1 || SSL_CTX_check_private_key(ssl) != 1)
		return fail_openssl("the key is not that of the certificate", err);
	return 0;
}

/* What is known of a connection's versions of HTTP, in the place that the library has for its user:
 * the client's offer in the lowest bits. */
#define OFFER_MASK ((uintptr_t)(TLS_HTTP1 | TLS_HTTP2))
#define WAITS_FOR_CHOICE ((uintptr_t)1 << 4)
#define OFFER_IS_KNOWN ((uintptr_t)1 << 5)
#define CHOSE_HTTP2 ((uintptr_t)1 << 6)

static uintptr_t marks_of(const SSL *ssl)
{
	return (uintptr_t)SSL_get_app_data(ssl);
}

static void set_marks(SSL *ssl, uintptr_t marks)
{
	(void)SSL_set_app_data(ssl, (void *)marks);
}

/* The protocols of a ClientHello that are versions of HTTP. */
static unsigned read_offer(SSL *ssl)
{
	const unsigned char *data;
	struct span rest, name;
	unsigned offer = 0;
	size_t size;

	if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_application_layer_protocol_negotiation,
	                              &data, &size) != 1 ||
	    size < 2)
		return 0;
	rest = (struct span){(const char *)data + 2, size - 2};
	while (rest.size > 0) {
		size_t length = (unsigned char)rest.data[0];

		span_skip(&rest, 1);
		name = span_take(&rest, length);
		offer |= span_equals_text(name, "h2") ? (unsigned)TLS_HTTP2 : 0u;
		offer |= span_equals_text(name, "http/1.1") ? (unsigned)TLS_HTTP1 : 0u;
	}
	return offer;
}

static int on_client_hello(SSL *ssl, UNUSED int *alert, UNUSED void *context)
{
	uintptr_t marks = marks_of(ssl);

	if (!(marks & WAITS_FOR_CHOICE))
		return SSL_CLIENT_HELLO_SUCCESS;
	if (!(marks & OFFER_IS_KNOWN))
		set_marks(ssl, marks | OFFER_IS_KNOWN | read_offer(ssl));
	return SSL_CLIENT_HELLO_RETRY;
}

/* The library's callback has six parameters, which are two lists of protocols beside the usual. */
#define SELECTION const unsigned char **out, unsigned char *out_size
#define OFFER const unsigned char *in, unsigned in_size

/* HTTP/1.1, unless HTTP/2 was chosen for this connection; a client whose ALPN list lacks it is
 * refused. */
static int choose_protocol(SSL *ssl, SELECTION, OFFER, UNUSED void *context)
{
	static const unsigned char http1[] = "\x08http/1.1", http2[] = "\x02h2";
	bool is_http2 = marks_of(ssl) & CHOSE_HTTP2;
	unsigned char *chosen = NULL;

	if (SSL_select_next_proto(&chosen, out_size, is_http2 ? http2 : http1,
	                          is_http2 ? sizeof(http2) - 1 : sizeof(http1) - 1, in,
	                          in_size) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

static void set_mode(SSL_CTX *ssl)
{
	/* Unsent bytes may have moved within their queue by the next attempt. */
	SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
	                              SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
}

static void set_rules(SSL_CTX *ssl)
{
	SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
	                                 SSL_OP_CIPHER_SERVER_PREFERENCE |
	                                 SSL_OP_IGNORE_UNEXPECTED_EOF);
	set_mode(ssl);
	SSL_CTX_set_verify(ssl, SSL_VERIFY_NONE, NULL);
	SSL_CTX_set_alpn_select_cb(ssl, choose_protocol, NULL);
	SSL_CTX_set_client_hello_cb(ssl, on_client_hello, NULL);
}

static struct tls_context *context_of(SSL_CTX *ssl)
{
	struct tls_context *context = memory_new(sizeof(*context));

	context->ssl = ssl;
	return context;
}

static bool trust_pem(SSL_CTX *ssl, struct span pem)
{
	__attribute__((cleanup(free_bio))) BIO *in = BIO_new_mem_buf(pem.data, (int)pem.size);
	X509_STORE *store = SSL_CTX_get_cert_store(ssl);
	unsigned count = 0;
	X509 *x509;

	while ((x509 = PEM_read_bio_X509(in, NULL, no_passphrase, NULL))) {
		count += X509_STORE_add_cert(store, x509) == 1;
		X509_free(x509);
	}
	ERR_clear_error(); /* that there was no further one */
	return count > 0;
}

static bool trust_file(SSL_CTX *ssl, const char *ca_file)
{
	if (!ca_file[0])
		return SSL_CTX_set_default_verify_paths(ssl) == 1;
	return SSL_CTX_load_verify_locations(ssl, ca_file, NULL) == 1;
}

/* Certificates in a text, or in a file; "" stands for the system's. */
struct authorities {
	struct span pem;
	const char *file;
};

static bool trust_authorities(SSL_CTX *ssl, const struct authorities *from)
{
	return from->file ? trust_file(ssl, from->file) : trust_pem(ssl, from->pem);
}

static int make_client_context(const struct authorities *from, struct tls_context **ret,
                               struct error *err)
{
	SSL_CTX *ssl;

	ERR_clear_error();
	ssl = SSL_CTX_new(TLS_client_method());
	if (!ssl || SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION) != 1) {
		SSL_CTX_free(ssl);
		return fail_openssl("TLS", err);
	}
	if (!trust_authorities(ssl, from)) {
		SSL_CTX_free(ssl);
		return fail_openssl(!from->file || from->file[0]
		                            ? "certificates of authorities in PEM form"
		                            : "the system's certificates of authorities",
		                    err);
	}
	SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
	                                 SSL_OP_IGNORE_UNEXPECTED_EOF);
	set_mode(ssl);
	SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, NULL);
	*ret = context_of(ssl);
	return 0;
}

int tls_client_context_new(const char *ca_file, struct tls_context **ret, struct error *err)
{
	return make_client_context(&(struct authorities){.file = ca_file}, ret, err);
}

int tls_client_context_of(struct span pem, struct tls_context **ret, struct error *err)
{
	return make_client_context(&(struct authorities){.pem = pem}, ret, err);
}

int tls_context_new(struct span pem, struct tls_context **ret, struct error *err)
{
	SSL_CTX *ssl;

	if (pem.size > TLS_PEM_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "certificate and key are larger than %zu bytes",
		            TLS_PEM_MAX);
	ERR_clear_error();
	ssl = SSL_CTX_new(TLS_server_method());
	if (!ssl || SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION) != 1 ||
	    SSL_CTX_set_cipher_list(ssl, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1) {
		SSL_CTX_free(ssl);
		return fail_openssl("TLS", err);
	}
	set_rules(ssl);
	if (use_chain(ssl, pem, err) < 0 || use_key(ssl, pem, err) < 0) {
		SSL_CTX_free(ssl);
		return -1;
	}
	*ret = context_of(ssl);
	return 0;
}

void tls_context_free(struct tls_context *context)
{
	if (!context)
		return;
	SSL_CTX_free(context->ssl); /* connections have a hold of their own */
	free(context);
}

void tls_context_expiry(const struct tls_context *context, char ret[24])
{
	const X509 *x509 = SSL_CTX_get0_certificate(context->ssl);
	struct tm parts;

	ret[0] = '\0';
	if (x509 && ASN1_TIME_to_tm(X509_get0_notAfter(x509), &parts) == 1)
		(void)strftime(ret, 24, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

static SSL *ssl_of(struct tls *tls)
{
	return (SSL *)tls;
}

int tls_new(const struct tls_context *context, int fd, struct tls **ret, struct error *err)
{
	SSL *ssl;

	ERR_clear_error();
	ssl = SSL_new(context->ssl);
	if (!ssl || SSL_set_fd(ssl, fd) != 1) {
		SSL_free(ssl);
		return fail_openssl("TLS", err);
	}
	SSL_set_accept_state(ssl);
	*ret = (struct tls *)ssl;
	return 0;
}

int tls_new_begun(const struct tls_context *context, int fd, struct span begun, struct tls **ret,
                  struct error *err)
{
	BIO *bio;
	SSL *ssl;

	ERR_clear_error();
	ssl = SSL_new(context->ssl);
	bio = ssl ? begun_socket_new(fd, begun) : NULL;
	if (!bio) {
		SSL_free(ssl);
		return fail_openssl("TLS", err);
	}
	SSL_set_bio(ssl, bio, bio);
	SSL_set_accept_state(ssl);
	*ret = (struct tls *)ssl;
	return 0;
}

/* A certificate holds addresses in another field than names, and SNI accepts only names. */
static bool expect_host(SSL *ssl, const char *host)
{
	char name[HOST_MAX + 1]; /* OpenSSL's macro takes no constant text */

	if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1)
		return true;
	if (strlen(host) > HOST_MAX)
		return false;
	(void)snprintf(name, sizeof(name), "%s", host);
	return SSL_set1_host(ssl, name) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1;
}

int tls_connect(const struct tls_context *context, int fd, const char *host, struct tls **ret,
                struct error *err)
{
	SSL *ssl;

	ERR_clear_error();
	ssl = SSL_new(context->ssl);
	if (!ssl || SSL_set_fd(ssl, fd) != 1 || !expect_host(ssl, host)) {
		SSL_free(ssl);
		return fail_openssl("TLS", err);
	}
	SSL_set_connect_state(ssl);
	*ret = (struct tls *)ssl;
	return 0;
}

int tls_offer(struct tls *tls, unsigned protocols, struct error *err)
{
	static const unsigned char http1[] = "\x08http/1.1", both[] = "\x02h2\x08http/1.1";
	bool has_http2 = protocols & TLS_HTTP2;

	ERR_clear_error();
	/* This function of the library answers 0 for success. */
	if (SSL_set_alpn_protos(ssl_of(tls), has_http2 ? both : http1,
	                        has_http2 ? sizeof(both) - 1 : sizeof(http1) - 1) != 0)
		return fail_openssl("offer versions of HTTP", err);
	return 0;
}

void tls_wait_for_choice(struct tls *tls)
{
	set_marks(ssl_of(tls), WAITS_FOR_CHOICE);
}

unsigned tls_offered(const struct tls *tls)
{
	return (unsigned)(marks_of((const SSL *)tls) & OFFER_MASK);
}

void tls_choose(struct tls *tls, enum tls_protocol protocol)
{
	uintptr_t marks = marks_of(ssl_of(tls)) & ~WAITS_FOR_CHOICE;

	set_marks(ssl_of(tls), protocol == TLS_HTTP2 ? marks | CHOSE_HTTP2 : marks);
}

enum tls_protocol tls_protocol(const struct tls *tls)
{
	const unsigned char *name = NULL;
	unsigned size = 0;

	SSL_get0_alpn_selected((const SSL *)tls, &name, &size);
	return span_equals_text((struct span){(const char *)name, size}, "h2") ? TLS_HTTP2
	                                                                       : TLS_HTTP1;
}

const char *tls_refusal(const struct tls *tls)
{
	long result = SSL_get_verify_result((const SSL *)tls);

	return result == X509_V_OK ? "" : X509_verify_cert_error_string(result);
}

void tls_free(struct tls *tls)
{
	SSL_free(ssl_of(tls));
}

static enum tls_progress progress_of(struct tls *tls, int result)
{
	switch (SSL_get_error(ssl_of(tls), result)) {
	case SSL_ERROR_NONE:
		return TLS_DONE;
	case SSL_ERROR_WANT_READ:
		return TLS_WANTS_READ;
	case SSL_ERROR_WANT_WRITE:
		return TLS_WANTS_WRITE;
	case SSL_ERROR_WANT_CLIENT_HELLO_CB:
		return TLS_WANTS_CHOICE;
	default:
		return TLS_FAILED;
	}
}

enum tls_progress tls_shake_hands(struct tls *tls)
{
	ERR_clear_error();
	return progress_of(tls, SSL_do_handshake(ssl_of(tls)));
}

ssize_t tls_receive(struct tls *tls, char *room, size_t size)
{
	size_t got = 0;

	assert(size >= TLS_RECORD_MAX);
	/* A record is taken whole, so that the library keeps nothing of it. */
	while (size - got >= TLS_RECORD_MAX) {
		int result;

		ERR_clear_error();
		result = SSL_read(ssl_of(tls), room + got, (int)TLS_RECORD_MAX);
		if (result > 0) {
			got += (size_t)result;
			continue;
		}
		if (got > 0)
			break; /* the error would come again */
		if (progress_of(tls, result) == TLS_WANTS_READ) {
			errno = EAGAIN;
			return -1;
		}
		if (SSL_get_error(ssl_of(tls), result) == SSL_ERROR_ZERO_RETURN)
			return 0;
		errno = ECONNRESET;
		return -1;
	}
	return (ssize_t)got;
}

ssize_t tls_send(struct tls *tls, const void *bytes, size_t size)
{
	int result;

	ERR_clear_error();
	result =
	        SSL_write(ssl_of(tls), bytes, (int)(size < TLS_RECORD_MAX ? size : TLS_RECORD_MAX));
	if (result > 0)
		return result;
	/* It wants to read only in a handshake, which is over, and is never begun anew. */
	errno = progress_of(tls, result) == TLS_WANTS_WRITE ? EAGAIN : EPIPE;
	return -1;
}

void tls_end(struct tls *tls)
{
	ERR_clear_error();
	(void)SSL_shutdown(ssl_of(tls));
	ERR_clear_error();
}

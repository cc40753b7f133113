/* SPDX-License-Identifier: Apache-2.0 */
/* http/tls/tls.h — TLS 1.2 and later in front of HTTP, on the loop thread, by OpenSSL.
 *
 * A connection without TLS costs only a NULL check. The handshake's host name (SNI) is not trusted:
 * it selects neither a certificate nor a route; the request's Host does, as without TLS. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/bytes.h"

struct http_server;

/* A certificate with its key. A new context applies to later connections. */
struct tls_context;
#define TLS_PEM_MAX ((size_t)256 * 1024)
/* `pem`: the certificate, its chain in order, and the key at any position. */
MUST_CHECK int tls_context_new(struct span pem, struct tls_context **ret, struct error *err);
void tls_context_free(struct tls_context *context); /* NULL is fine */
/* "2027-12-01T00:00:00Z" */
void tls_context_expiry(const struct tls_context *context, char ret[24]);

/* A context for clients: it verifies servers against the certificates in a PEM file, or, for "",
 * against the system's trusted certificates. */
MUST_CHECK int tls_client_context_new(const char *ca_file, struct tls_context **ret,
                                      struct error *err);

/* Call it before the first TLS connection, and again to replace the certificate. Takes over the
 * context. Loop thread. */
void server_set_tls(struct http_server *server, struct tls_context *context);

/* The same with the certificates of a PEM text. */
MUST_CHECK int tls_client_context_of(struct span pem, struct tls_context **ret, struct error *err);

struct tls;
/* Does not own the descriptor. */
MUST_CHECK int tls_new(const struct tls_context *context, int fd, struct tls **ret,
                       struct error *err);
/* The same for a socket of which another process has read the first bytes, `begun`. */
MUST_CHECK int tls_new_begun(const struct tls_context *context, int fd, struct span begun,
                             struct tls **ret, struct error *err);
/* Starts a client connection on a non-blocking descriptor; the server's certificate must contain
 * `host`, a name or an address. */
MUST_CHECK int tls_connect(const struct tls_context *context, int fd, const char *host,
                           struct tls **ret, struct error *err);
void tls_free(struct tls *tls); /* NULL is fine */
enum tls_progress { TLS_DONE, TLS_WANTS_READ, TLS_WANTS_WRITE, TLS_WANTS_CHOICE, TLS_FAILED };
enum tls_progress tls_shake_hands(struct tls *tls);
/* The version of HTTP by ALPN. Without the calls below, a server accepts HTTP/1.1 alone, and a
 * client offers nothing. */
enum tls_protocol { TLS_HTTP1 = 1, TLS_HTTP2 = 2 };
/* A client connection offers HTTP/1.1, and HTTP/2 if `protocols` has its bit. Call it before the
 * handshake begins. */
MUST_CHECK int tls_offer(struct tls *tls, unsigned protocols, struct error *err);
/* The handshake of a server connection stops with TLS_WANTS_CHOICE when the client's offer is
 * known, and goes on after tls_choose. Call it before the handshake begins. */
void tls_wait_for_choice(struct tls *tls);
/* The bits of what the client offers, after TLS_WANTS_CHOICE; 0: it names no version of HTTP. */
unsigned tls_offered(const struct tls *tls);
void tls_choose(struct tls *tls, enum tls_protocol protocol);
/* What both sides agreed on, after the handshake; HTTP/1.1 without ALPN. */
enum tls_protocol tls_protocol(const struct tls *tls);
/* Why the server's certificate was refused, after TLS_FAILED; "" for another failure. */
const char *tls_refusal(const struct tls *tls);
/* Like recv and send on a non-blocking socket. tls_receive leaves no bytes that epoll cannot see:
 * `size` must be at least TLS_RECORD_MAX. */
#define TLS_RECORD_MAX ((size_t)16 * 1024)
ssize_t tls_receive(struct tls *tls, char *room, size_t size);
ssize_t tls_send(struct tls *tls, const void *bytes, size_t size);
/* Sends close_notify if the socket has room for it. */
void tls_end(struct tls *tls);

/* SPDX-License-Identifier: Apache-2.0 */
/* http/tls.h — TLS in front of HTTP/1.1, on the loop's thread: TLS 1.2 and later, by OpenSSL.
 *
 * A connection without TLS costs nothing but a look at a pointer. Nothing is believed of what the
 * client says in its handshake: the name that it asks for (SNI) chooses neither a certificate nor
 * a route; the request's own Host does, as without TLS. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/span.h"

struct http_server;

/* A certificate with its key; those who connect later get the next one. */
struct tls_context;
#define TLS_PEM_MAX ((size_t)256 * 1024)
/* `pem`: the certificate, the chain behind it, and the key, in any order but that of the chain. */
MUST_CHECK int tls_context_new(struct span pem, struct tls_context **ret, struct error *err);
void tls_context_free(struct tls_context *context); /* NULL is fine */
/* "2027-12-01T00:00:00Z" */
void tls_context_expiry(const struct tls_context *context, char ret[24]);

/* For connecting: servers are held to the certificates of a file in PEM form, or, without one (""),
 * to those that the system trusts. */
MUST_CHECK int tls_client_context_new(const char *ca_file, struct tls_context **ret,
                                      struct error *err);

/* Before the first such connection, and again for another certificate. Takes the context. Loop
 * thread. */
void server_set_tls(struct http_server *server, struct tls_context *context);

/* ---- for connections ---- */

struct tls;
/* Not of the descriptor, which it only uses. */
MUST_CHECK int tls_new(const struct tls_context *context, int fd, struct tls **ret,
                       struct error *err);
/* The same from the client's side, on a non-blocking descriptor; `host`, a name or an address, has
 * to be in the certificate. */
MUST_CHECK int tls_connect(const struct tls_context *context, int fd, const char *host,
                           struct tls **ret, struct error *err);
void tls_free(struct tls *tls); /* NULL is fine */
enum tls_progress { TLS_DONE, TLS_WANTS_READ, TLS_WANTS_WRITE, TLS_FAILED };
enum tls_progress tls_shake_hands(struct tls *tls);
/* What was wrong with the certificate of a server, after TLS_FAILED; "" when it was not that. */
const char *tls_refusal(const struct tls *tls);
/* As recv and send on a non-blocking socket. What is received leaves nothing behind that epoll does
 * not know of: `size` is at least TLS_RECORD_MAX. */
#define TLS_RECORD_MAX ((size_t)16 * 1024)
ssize_t tls_receive(struct tls *tls, char *room, size_t size);
ssize_t tls_send(struct tls *tls, const void *bytes, size_t size);
/* Tells the client that this was all, if the socket has room for it. */
void tls_end(struct tls *tls);

/* SPDX-License-Identifier: Apache-2.0 */
/* http/tls/begun.h — a BIO of OpenSSL over a non-blocking socket that first gives bytes which were
 * read from the socket before. Private to this folder. One thread. */
#pragma once

#include <openssl/bio.h>

#include "base/error.h"

struct span;

/* Copies `begun`; does not own the descriptor. NULL when OpenSSL has no memory. */
BIO *begun_socket_new(int fd, struct span begun);

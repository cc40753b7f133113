/* SPDX-License-Identifier: Apache-2.0 */
/* http/tls/java_store.h — writes certificates as a trust store that Java reads (format JKS, which
 * every version reads without a password). Pure. */
#pragma once

#include "base/bytes.h"

#define JAVA_STORE_CERTIFICATES_MAX 1000

/* Appends a store with every certificate of the PEM text, which the caller trusts: OpenSSL parses
 * it. ERROR_INVALID when the text has none, ERROR_TOO_LARGE when it has more than
 * JAVA_STORE_CERTIFICATES_MAX. Tools that ask for a password take "changeit", as for Java's own. */
MUST_CHECK int java_store_write(struct buf *out, struct span pem, struct error *err);

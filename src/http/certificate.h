/* SPDX-License-Identifier: Apache-2.0 */
/* http/certificate.h — certificates for oneself: an authority of one machine, and what it signs.
 * Pure but for the clock: nothing is read or written.
 *
 * Keys are EC P-256. The authority is bound to the names that it is made for: whoever trusts it,
 * and loses its key, has lost no other site. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#define CERTIFICATE_NAMES_MAX 32
#define CERTIFICATE_AUTHORITY_DAYS 3650
#define CERTIFICATE_DAYS 397

struct certificate_names {
	const char *names[CERTIFICATE_NAMES_MAX]; /* of hosts, "*.name" too, and IP addresses */
	unsigned count;
};
/* PEM. */
struct certificate_pair {
	struct buf certificate, key;
};
#define CERTIFICATE_PAIR ((struct certificate_pair){BUF(64 * 1024), BUF(16 * 1024)})
void certificate_pair_done(struct certificate_pair *pair); /* zeroed is fine */

MUST_CHECK int certificate_make_authority(const struct certificate_names *names,
                                          struct certificate_pair *ret, struct error *err);
/* Signed by the authority, whose certificate is behind it. */
MUST_CHECK int certificate_make(const struct certificate_names *names,
                                const struct certificate_pair *authority,
                                struct certificate_pair *ret, struct error *err);

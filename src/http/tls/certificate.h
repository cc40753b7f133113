/* SPDX-License-Identifier: Apache-2.0 */
/* http/tls/certificate.h — makes a local certificate authority and certificates that it signs. Pure
 * except for the clock and random numbers.
 *
 * Keys are EC P-256. The authority is limited to the names it was made for: a stolen authority key
 * cannot forge other sites. */
#pragma once

#include "base/bytes.h"

#define CERTIFICATE_NAMES_MAX 32
#define CERTIFICATE_AUTHORITY_DAYS 3650
#define CERTIFICATE_DAYS 397

struct certificate_names {
	const char *names[CERTIFICATE_NAMES_MAX]; /* host names, also "*.name", and IP addresses */
	unsigned count;
	long days; /* of a signed certificate; 0: CERTIFICATE_DAYS */
};
/* Certificate and key as PEM text. */
struct certificate_pair {
	struct buf certificate, key;
};
#define CERTIFICATE_PAIR ((struct certificate_pair){BUF(64 * 1024), BUF(16 * 1024)})
void certificate_pair_done(struct certificate_pair *pair); /* accepts a zeroed pair */

MUST_CHECK int certificate_make_authority(const struct certificate_names *names,
                                          struct certificate_pair *ret, struct error *err);
/* An authority for any name, as one that only a single sandbox trusts; `name` is its common name.
 */
MUST_CHECK int certificate_make_open_authority(const char *name, long days,
                                               struct certificate_pair *ret, struct error *err);
/* Makes a certificate signed by the authority; the authority's certificate follows it in the PEM
 * text. */
MUST_CHECK int certificate_make(const struct certificate_names *names,
                                const struct certificate_pair *authority,
                                struct certificate_pair *ret, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* credential/authority.h — the certificate authority of a sandbox, and how programs inside come to
 * trust it. Pure but for the clock, random numbers and the host's certificates.
 *
 * Only that sandbox trusts the authority, and the key never enters it. The bundle is the host's
 * certificates and the authority's: most programs read one file instead of adding to another. */
#pragma once

#include "base/bytes.h"

#define CREDENTIAL_AUTHORITY_DAYS 30
/* Inside a sandbox: the authority alone, and the bundle. */
#define CREDENTIAL_AUTHORITY_PATH "/etc/atoll/authority.crt"
#define CREDENTIAL_BUNDLE_PATH "/etc/atoll/ca-bundle.crt"
#define CREDENTIAL_BUNDLE_MAX ((size_t)4 * 1024 * 1024)

/* Makes certificate and key as PEM texts in the arena, for CREDENTIAL_AUTHORITY_DAYS. Each has a
 * name of its own: programs fail strangely over two authorities of one name. */
MUST_CHECK int credential_authority_make(struct arena *a, const char *sandbox,
                                         const char **ret_certificate, const char **ret_key,
                                         struct error *err);
/* The bundle with this certificate. Without certificates of the host: the authority alone. */
void credential_bundle_write(struct buf *out, const char *certificate);
/* The host's certificates of authorities. */
MUST_CHECK int credential_roots_read(struct buf *out, struct error *err);

/* Variables by which programs find the files; a value that the caller of a command gave stays. The
 * last name is NULL. */
struct credential_variable {
	const char *name, *value;
};
extern const struct credential_variable credential_variables[];

/* SPDX-License-Identifier: Apache-2.0 */
/* credential/authority.h — the certificate authority of a sandbox, and how programs inside come to
 * trust it. Pure but for the clock, random numbers and the host's certificates.
 *
 * Only that sandbox trusts the authority, and the key never enters it. The bundle is the host's
 * certificates and the authority's: most programs read one file instead of adding to another. */
#pragma once

#include "base/bytes.h"

#define CREDENTIAL_AUTHORITY_DAYS 30
/* The common name of every sandbox's authority begins so. */
#define CREDENTIAL_AUTHORITY_NAME "Atoll sandbox "
/* Inside a sandbox: the authority alone, the bundle, and the bundle in a format of Java. */
#define CREDENTIAL_AUTHORITY_PATH "/etc/atoll/authority.crt"
#define CREDENTIAL_BUNDLE_PATH "/etc/atoll/ca-bundle.crt"
#define CREDENTIAL_JAVA_PATH "/etc/atoll/ca-bundle.jks"
#define CREDENTIAL_BUNDLE_MAX ((size_t)4 * 1024 * 1024)

/* Makes certificate and key as PEM texts in the arena, for CREDENTIAL_AUTHORITY_DAYS. Each has a
 * name of its own: programs fail strangely over two authorities of one name. */
MUST_CHECK int credential_authority_make(struct arena *a, const char *sandbox,
                                         const char **ret_certificate, const char **ret_key,
                                         struct error *err);
/* The bundle with this certificate. Without certificates of the host: the authority alone. */
void credential_bundle_write(struct buf *out, const char *certificate);
/* Writes a bundle that a sandbox has, with this certificate at its end, and without those of any
 * sandbox's authority: a fork has its own one instead of the first sandbox's. The bundle may have
 * any content. */
void credential_bundle_update(struct buf *out, struct span bundle, const char *certificate);
/* The host's certificates of authorities: those of the variable SSL_CERT_FILE, or the system's. */
MUST_CHECK int credential_roots_read(struct buf *out, struct error *err);

/* Variables by which programs find the files; a value that the caller of a command gave stays. The
 * last name is NULL. */
struct credential_variable {
	const char *name, *value;
};
extern const struct credential_variable credential_variables[];

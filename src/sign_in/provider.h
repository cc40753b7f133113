/* SPDX-License-Identifier: Apache-2.0 */
/* sign_in/provider.h — private: calls to the provider of OpenID Connect that the operator names.
 *
 * Its document and keys are kept in memory for PROVIDER_KEEP_MS; a failed call is not repeated for
 * PROVIDER_FAILED_MS. The issuer is the operator's choice, so it may have a private address; what
 * its document names must be https, or lie at the issuer's own address. Blocks. Any thread. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"

#define PROVIDER_KEEP_MS (INT64_C(3600) * 1000)
#define PROVIDER_FAILED_MS 5000
#define PROVIDER_KEYS_EVERY_MS 5000 /* an unknown key fetches the set so often at most */

struct config;
struct json_value;

struct oidc_provider {
	const struct config *config;
	pthread_mutex_t lock;
	char *document, *keys;                   /* JSON; NULL: not fetched */
	int64_t document_at, keys_at, failed_at; /* monotonic ms */
	struct error failure;
};

void provider_init(struct oidc_provider *p, const struct config *config);
void provider_done(struct oidc_provider *p);
/* The metadata, with the members that a sign-in needs. */
MUST_CHECK int provider_document(struct oidc_provider *p, struct arena *a,
                                 const struct json_value **ret, struct error *err);
/* The JSON Web Key Set; `anew`: fetches it, if that was not done a moment ago. */
MUST_CHECK int provider_keys(struct oidc_provider *p, struct arena *a, bool anew,
                             const struct json_value **ret, struct error *err);
/* Exchanges a code for tokens: {"id_token", "access_token"}. */
struct provider_code {
	const char *code, *redirect_uri, *verifier;
};
MUST_CHECK int provider_redeem(struct oidc_provider *p, struct arena *a,
                               const struct provider_code *code, const struct json_value **ret,
                               struct error *err);
/* The claims of the user whose access token it is. *ret is NULL when the provider has none. */
MUST_CHECK int provider_user(struct oidc_provider *p, struct arena *a, const char *access_token,
                             const struct json_value **ret, struct error *err);

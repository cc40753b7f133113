/* SPDX-License-Identifier: Apache-2.0 */
/* sign_in/claims.h — private: checks ID tokens of OpenID Connect. Pure.
 *
 * A token is text of a stranger until its signature is right: RS256 with 2048 bits or more, or
 * ES256, by a key of the provider's set. No other algorithm is accepted, whatever the token says.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"

#define CLAIMS_TOKEN_MAX (64 * 1024)
/* How far the clocks of provider and server may differ. */
#define CLAIMS_SKEW_S 60

struct json_value;

struct claims_wanted {
	const char *issuer, *client_id, *nonce;
	const struct json_value *keys; /* the provider's JSON Web Key Set */
	int64_t now;                   /* unix seconds */
};
/* Reads the token and checks signature, issuer, audience, times and nonce. *ret_unknown_key: the
 * set has no key for it, a newer set may have one. */
MUST_CHECK int claims_read(struct arena *a, struct span token, const struct claims_wanted *wanted,
                           const struct json_value **ret, bool *ret_unknown_key, struct error *err);

/* signature.c: whether `signature` of `text` is by the JSON Web Key. False for a key that cannot be
 * used with the algorithm. */
enum signature_kind { SIGNATURE_NONE, SIGNATURE_RS256, SIGNATURE_ES256 };
bool signature_is_right(struct arena *a, enum signature_kind kind, const struct json_value *key,
                        struct span text, struct span signature);
/* Decodes base64url without padding; false for other text. */
bool base64url_read(struct arena *a, struct span text, struct span *ret);

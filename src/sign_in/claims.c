/* SPDX-License-Identifier: Apache-2.0 */
#include "sign_in/claims.h"

#include <string.h>

#include "json/json.h"

struct token_parts {
	struct span signed_text, signature;
	const struct json_value *head, *claims;
};

static int fail_token(const char *why, struct error *err)
{
	return FAIL(err, ERROR_UNAUTHENTICATED, "the provider's ID token %s", why);
}

static bool read_part(struct arena *a, struct span part, const struct json_value **ret)
{
	struct error ignored;
	struct span text;

	return base64url_read(a, part, &text) && json_load(a, text, ret, &ignored) == 0;
}

static bool read_parts(struct arena *a, struct span token, struct token_parts *ret)
{
	struct span rest = token, head, claims;

	if (token.size > CLAIMS_TOKEN_MAX || !span_split(&rest, '.', &head) ||
	    !span_split(&rest, '.', &claims))
		return false;
	ret->signed_text = (struct span){token.data, head.size + 1 + claims.size};
	return base64url_read(a, rest, &ret->signature) && read_part(a, head, &ret->head) &&
	       read_part(a, claims, &ret->claims);
}

static enum signature_kind kind_of(const char *name)
{
	if (strcmp(name, "RS256") == 0)
		return SIGNATURE_RS256;
	return strcmp(name, "ES256") == 0 ? SIGNATURE_ES256 : SIGNATURE_NONE;
}

/* A key for encryption signs nothing. */
static bool key_may_sign(const struct json_value *key, const char *id, const char *algorithm)
{
	const char *own = json_get_text(key, "kid", NULL), *use = json_get_text(key, "use", "sig");

	return (!id || (own && strcmp(own, id) == 0)) && strcmp(use, "sig") == 0 &&
	       strcmp(json_get_text(key, "alg", algorithm), algorithm) == 0;
}

static int check_signature(struct arena *a, const struct token_parts *parts,
                           const struct json_value *keys, bool *ret_unknown_key, struct error *err)
{
	const char *algorithm = json_get_text(parts->head, "alg", "");
	const char *id = json_get_text(parts->head, "kid", NULL);
	const struct json_value *list = json_get(keys, "keys");
	enum signature_kind kind = kind_of(algorithm);
	bool found = false;

	*ret_unknown_key = false;
	/* An extension that must be understood, and is not. */
	if (kind == SIGNATURE_NONE || json_get(parts->head, "crit"))
		return fail_token("is signed in a way that is not accepted", err);
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json_value *key = json_item_at(list, i);

		if (!key_may_sign(key, id, algorithm))
			continue;
		found = true;
		if (signature_is_right(a, kind, key, parts->signed_text, parts->signature))
			return 0;
	}
	*ret_unknown_key = !found;
	return fail_token(found ? "has a wrong signature" : "is signed by an unknown key", err);
}

/* "aud" is a text or a list. Several audiences need an "azp" that is us. */
static bool claims_are_for(const struct json_value *claims, const char *client_id)
{
	const struct json_value *audience = json_get(claims, "aud");
	const char *one = json_text(audience, NULL), *party = json_get_text(claims, "azp", NULL);

	if (party && strcmp(party, client_id) != 0)
		return false;
	if (one)
		return strcmp(one, client_id) == 0;
	for (size_t i = 0; i < json_count(audience); i++)
		if (strcmp(json_text(json_item_at(audience, i), ""), client_id) == 0)
			return json_count(audience) == 1 || party;
	return false;
}

static int check_claims(const struct json_value *claims, const struct claims_wanted *wanted,
                        struct error *err)
{
	int64_t until = json_get_whole(claims, "exp", 0), since = json_get_whole(claims, "iat", 0);
	const char *subject = json_get_text(claims, "sub", "");

	if (strcmp(json_get_text(claims, "iss", ""), wanted->issuer) != 0)
		return fail_token("is another issuer's", err);
	if (!claims_are_for(claims, wanted->client_id))
		return fail_token("is for another client", err);
	if (until <= wanted->now - CLAIMS_SKEW_S)
		return fail_token("has expired", err);
	if (since <= 0 || since > wanted->now + CLAIMS_SKEW_S ||
	    json_get_whole(claims, "nbf", 0) > wanted->now + CLAIMS_SKEW_S)
		return fail_token("is from the future", err);
	if (strcmp(json_get_text(claims, "nonce", ""), wanted->nonce) != 0)
		return fail_token("answers another request", err);
	if (!subject[0] || strlen(subject) > 255)
		return fail_token("names no subject", err);
	return 0;
}

int claims_read(struct arena *a, struct span token, const struct claims_wanted *wanted,
                const struct json_value **ret, bool *ret_unknown_key, struct error *err)
{
	struct token_parts parts;

	*ret_unknown_key = false;
	if (!read_parts(a, token, &parts))
		return fail_token("is not a signed token", err);
	if (check_signature(a, &parts, wanted->keys, ret_unknown_key, err) < 0 ||
	    check_claims(parts.claims, wanted, err) < 0)
		return -1;
	*ret = parts.claims;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <sodium.h>
#include <string.h>

#include "config/config.h"
#include "fleet/core/fleet_state.h"
#include "fleet/sandbox/preview.h"
#include "store/sandbox_record.h"

/* Version, kind, port, generation, seconds; of a private grant the maker; then the id and the
 * signature. A private grant of version 1 had no maker and is refused. */
#define HEAD_SIZE 16
#define MAC_SIZE crypto_auth_hmacsha256_BYTES
#define MAKER_SIZE FLEET_CALLER_HASH_SIZE
#define BYTES_MAX (HEAD_SIZE + MAKER_SIZE + ID_SIZE + MAC_SIZE)

enum grant_kind { GRANT_PRIVATE_OF_KEY, GRANT_SHARED, GRANT_PRIVATE_OF_LOGIN, GRANT_KIND_COUNT };
static const unsigned char grant_versions[GRANT_KIND_COUNT] = {
        [GRANT_PRIVATE_OF_KEY] = 2, [GRANT_SHARED] = 1, [GRANT_PRIVATE_OF_LOGIN] = 2};
_Static_assert(sodium_base64_ENCODED_LEN(BYTES_MAX, sodium_base64_VARIANT_URLSAFE_NO_PADDING) <=
                       FLEET_GRANT_TEXT_MAX,
               "a grant fits its text");

static void put_number(unsigned char *at, uint64_t number, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		at[i] = (unsigned char)(number >> 8 * (size - 1 - i));
}

static uint64_t take_number(const unsigned char *at, unsigned size)
{
	uint64_t number = 0;

	for (unsigned i = 0; i < size; i++)
		number = number << 8 | at[i];
	return number;
}

static struct span key_of(const struct fleet *f, bool is_shared)
{
	if (is_shared && f->config->preview_secret[0])
		return span_of(f->config->preview_secret);
	return (struct span){(const char *)f->preview_key, sizeof(f->preview_key)};
}

/* The words before keep the secret's other signatures, should it have any, apart from ours. */
static void sign_grant(struct span key, const unsigned char *bytes, size_t size,
                       unsigned char ret[MAC_SIZE])
{
	static const unsigned char purpose[] = "atoll preview grant";
	crypto_auth_hmacsha256_state state;

	crypto_auth_hmacsha256_init(&state, (const unsigned char *)key.data, key.size);
	crypto_auth_hmacsha256_update(&state, purpose, sizeof(purpose));
	crypto_auth_hmacsha256_update(&state, bytes, size);
	crypto_auth_hmacsha256_final(&state, ret);
	sodium_memzero(&state, sizeof(state));
}

static int check_may_share(const struct fleet *f, const struct sandbox_record *r, struct error *err)
{
	if (!f->config->preview_sharing) {
		(void)FAIL(err, ERROR_CONFLICT, "this server shares no previews");
		return FAIL_HINT(err, "its operator has set --preview-sharing off");
	}
	if (!r->preview_public) {
		(void)FAIL(err, ERROR_CONFLICT, "previews of sandbox '%s' are private", r->id);
		return FAIL_HINT(
		        err, "PATCH .../preview with {\"public\":true}, or ask for a private link");
	}
	return 0;
}

static enum grant_kind choose_kind(const struct fleet_grant *grant)
{
	if (grant->is_shared)
		return GRANT_SHARED;
	return grant->maker.is_login ? GRANT_PRIVATE_OF_LOGIN : GRANT_PRIVATE_OF_KEY;
}

static size_t head_size(enum grant_kind kind)
{
	return kind == GRANT_SHARED ? HEAD_SIZE : HEAD_SIZE + MAKER_SIZE;
}

int fleet_grant_make(struct fleet *fleet, const struct sandbox_record *r,
                     const struct fleet_grant *grant, char ret[FLEET_GRANT_TEXT_MAX],
                     struct error *err)
{
	unsigned char bytes[BYTES_MAX];
	enum grant_kind kind = choose_kind(grant);
	size_t id_size = strlen(r->id), head = head_size(kind), size = head + id_size;

	if (grant->is_shared && check_may_share(fleet, r, err) < 0)
		return -1;
	if (id_size > ID_SIZE)
		return FAIL(err, ERROR_INVALID, "'%s' is no sandbox id", r->id);
	bytes[0] = grant_versions[kind];
	bytes[1] = (unsigned char)kind;
	put_number(bytes + 2, grant->port, 2);
	put_number(bytes + 4, (uint64_t)r->preview_generation, 4);
	put_number(bytes + 8, (uint64_t)grant->expires_at / 1000, 8);
	if (kind != GRANT_SHARED)
		memcpy(bytes + HEAD_SIZE, grant->maker.hash, MAKER_SIZE);
	memcpy(bytes + head, r->id, id_size);
	sign_grant(key_of(fleet, grant->is_shared), bytes, size, bytes + size);
	(void)sodium_bin2base64(ret, FLEET_GRANT_TEXT_MAX, bytes, size + MAC_SIZE,
	                        sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	return 0;
}

int fleet_grant_refuse(struct error *err)
{
	(void)FAIL(err, ERROR_NOT_FOUND, "this link is not valid, or not any more");
	return FAIL_HINT(err, "ask the person who shared it for another one");
}

/* Decodes the text, of which there is one for a grant: the library takes some bytes past ASCII for
 * letters. Returns the size without the signature; 0 for a text that is none. */
static size_t decode_grant(struct span text, unsigned char ret[BYTES_MAX])
{
	char again[FLEET_GRANT_TEXT_MAX];
	size_t size;

	if (text.size >= FLEET_GRANT_TEXT_MAX ||
	    sodium_base642bin(ret, BYTES_MAX, text.data, text.size, NULL, &size, NULL,
	                      sodium_base64_VARIANT_URLSAFE_NO_PADDING) < 0 ||
	    size <= HEAD_SIZE + MAC_SIZE || ret[1] >= GRANT_KIND_COUNT ||
	    ret[0] != grant_versions[ret[1]] ||
	    size <= head_size((enum grant_kind)ret[1]) + MAC_SIZE)
		return 0;
	(void)sodium_bin2base64(again, sizeof(again), ret, size,
	                        sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	return span_equals_text(text, again) ? size - MAC_SIZE : 0;
}

static void take_maker(const unsigned char *bytes, enum grant_kind kind, struct fleet_caller *ret)
{
	ret->is_login = kind == GRANT_PRIVATE_OF_LOGIN;
	if (kind != GRANT_SHARED)
		memcpy(ret->hash, bytes + HEAD_SIZE, MAKER_SIZE);
}

int fleet_grant_read(struct fleet *fleet, struct span text, int64_t now, struct fleet_grant *ret,
                     struct error *err)
{
	unsigned char bytes[BYTES_MAX], mac[MAC_SIZE];
	size_t size = decode_grant(text, bytes), head;
	struct fleet_grant grant = {.is_shared = false};

	if (!size)
		return fleet_grant_refuse(err);
	head = head_size((enum grant_kind)bytes[1]);
	grant.is_shared = bytes[1] == GRANT_SHARED;
	if ((grant.is_shared && !fleet->config->preview_sharing) || size - head > ID_SIZE)
		return fleet_grant_refuse(err);
	sign_grant(key_of(fleet, grant.is_shared), bytes, size, mac);
	if (sodium_memcmp(mac, bytes + size, MAC_SIZE) != 0)
		return fleet_grant_refuse(err);
	memcpy(grant.sandbox_id, bytes + head, size - head);
	take_maker(bytes, (enum grant_kind)bytes[1], &grant.maker);
	grant.port = (uint16_t)take_number(bytes + 2, 2);
	grant.generation = (int64_t)take_number(bytes + 4, 4);
	grant.expires_at = (int64_t)take_number(bytes + 8, 8) * 1000;
	if (grant.expires_at <= now)
		return fleet_grant_refuse(err);
	*ret = grant;
	return 0;
}

int fleet_grant_check(const struct fleet_grant *grant, const struct sandbox_record *r,
                      struct error *err)
{
	if (strcmp(grant->sandbox_id, r->id) != 0 || grant->generation != r->preview_generation ||
	    (grant->is_shared && !r->preview_public) || r->preview_off)
		return fleet_grant_refuse(err);
	return 0;
}

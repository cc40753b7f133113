/* SPDX-License-Identifier: Apache-2.0 */
/* account/account.h — who may do what: keys, scopes, callers. Pure rules but for random key bytes.
 *
 * A key reads "atoll_" and 40 characters of [a-z2-7]. Only its SHA-256 is kept; comparing hashes of
 * random keys leaks nothing, and is still done in constant time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

enum account_scope {
	SCOPE_NONE = 0,
	SCOPE_SANDBOX_READ = 1 << 0,
	SCOPE_SANDBOX_WRITE = 1 << 1, /* create, delete, exec, files */
	SCOPE_TEMPLATE_WRITE = 1 << 2,
	SCOPE_KEY_WRITE = 1 << 3,
	SCOPE_ADMIN = 1 << 4, /* sees and does everything in every project */
};
#define SCOPE_ALL 31
const char *account_scope_name(enum account_scope scope);
MUST_CHECK int account_scopes_parse(const char *const *names, unsigned *ret, struct error *err);

#define ACCOUNT_KEY_SIZE 46
#define ACCOUNT_HASH_SIZE 32
struct account_key {
	char text[ACCOUNT_KEY_SIZE + 1];
	char prefix[13]; /* "atoll_abcdef" */
	unsigned char hash[ACCOUNT_HASH_SIZE];
};
void account_key_generate(struct account_key *ret);
/* Fills prefix and hash from text that a caller sent; refuses what cannot be a key. */
MUST_CHECK int account_key_parse(struct span text, struct account_key *ret, struct error *err);
bool account_hash_equals(const unsigned char a[ACCOUNT_HASH_SIZE],
                         const unsigned char b[ACCOUNT_HASH_SIZE]);
/* The key in "Bearer KEY" (or an X-API-Key value as it is); size 0 when there is none. */
struct span account_bearer(const char *authorization, const char *api_key_header);

struct account_caller {
	const char *project_id, *key_id;
	unsigned scopes;
};
/* ADMIN has every scope. */
MUST_CHECK int account_require(const struct account_caller *caller, unsigned scope,
                               struct error *err);

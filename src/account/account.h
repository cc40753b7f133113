/* SPDX-License-Identifier: Apache-2.0 */
/* account/account.h — who may do what: keys, scopes, roles, callers, and what their sandbox configs
 * may ask for. Pure rules but for random key bytes.
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
	SCOPE_ADMIN = 1 << 4,         /* sees and does everything in every project */
	SCOPE_PROJECT_WRITE = 1 << 5, /* members, name, defaults and settings of its project */
};
#define SCOPE_ALL 63
const char *account_scope_name(enum account_scope scope);
MUST_CHECK int account_scopes_parse(const char *const *names, unsigned *ret, struct error *err);

/* What a member of a project is there. */
enum account_role { ROLE_NONE, ROLE_VIEWER, ROLE_MEMBER, ROLE_ADMIN, ROLE_COUNT };
const char *account_role_name(enum account_role role); /* "" for none */
MUST_CHECK int account_role_parse(const char *name, enum account_role *ret, struct error *err);
/* An admin of a project is none of the platform: no role has SCOPE_ADMIN. */
unsigned account_role_scopes(enum account_role role);

#define ACCOUNT_USER_MAX 128
/* An id or e-mail address: 1..128 of [A-Za-z0-9._@+-], the first one a letter or digit. */
MUST_CHECK int account_user_check(const char *user_id, struct error *err);

/* What a key may do now: what it was given, and no more than its member's role of today. A key of
 * nobody (user "") is bound to no role; the member's role is "" once he is gone. */
unsigned account_key_scopes(unsigned given, const char *user_id, const char *role);

/* A key to be made. */
struct account_grant {
	unsigned own; /* scopes of who asks */
	const char *const
	        *names; /* of the scopes asked for; NULL = all but admin that he may give */
	bool has_member;
	enum account_role role; /* of the member it is for */
};
/* Nobody hands out what he does not have, and no key exceeds its member's role. */
MUST_CHECK int account_scopes_grant(const struct account_grant *grant, unsigned *ret,
                                    struct error *err);

#define ACCOUNT_KEY_LIFE_MAX_MS (INT64_C(10) * 366 * 86400000)
#define ACCOUNT_KEY_GRACE_MAX_MS (INT64_C(7) * 86400000)
struct account_term {
	int64_t expires_at, expires_in_ms; /* at most one; 0 = never */
	int64_t now;
};
MUST_CHECK int account_term_resolve(const struct account_term *term, int64_t *ret_expires_at,
                                    struct error *err);

#define ACCOUNT_KEY_SIZE 46
#define ACCOUNT_HASH_SIZE 32
struct account_key {
	char text[ACCOUNT_KEY_SIZE + 1];
	char prefix[13]; /* "atoll_abcdef" */
	unsigned char hash[ACCOUNT_HASH_SIZE];
};
void account_key_generate(struct account_key *ret);
/* The same key, written as clients of E2B's API want one: "e2b_" and hexadecimal digits. */
#define ACCOUNT_KEY_E2B_SIZE 54
void account_key_write_e2b(const struct account_key *key, char ret[ACCOUNT_KEY_E2B_SIZE + 1]);
/* Fills prefix and hash from text that a caller sent, in either writing; refuses what cannot be a
 * key. */
MUST_CHECK int account_key_parse(struct span text, struct account_key *ret, struct error *err);
bool account_hash_equals(const unsigned char a[ACCOUNT_HASH_SIZE],
                         const unsigned char b[ACCOUNT_HASH_SIZE]);
/* The key in "Bearer KEY" (or an X-API-Key value as it is); size 0 when there is none. */
struct span account_bearer(const char *authorization, const char *api_key_header);

struct account_caller {
	const char *project_id, *key_id;
	const char *user_id; /* "" for a key of nobody */
	unsigned scopes;
};
/* ADMIN has every scope. */
MUST_CHECK int account_require(const struct account_caller *caller, unsigned scope,
                               struct error *err);

/* A reusable config of sandboxes, by what can be right or wrong about it. 0 and NULL: not given. */
struct account_config {
	const char *provider, *permission_mode;
	const char *const *runtimes; /* NULL-terminated */
	int64_t timeout_s, memory_mb, output_limit_bytes;
	int64_t idle_timeout_s, lifetime_max_s;
	bool persistent;
	bool has_options; /* that only a persistent one has */
	const char *persistent_home;
};
/* Per call and provider: a function of lambda is bounded by what was deployed, the others by what
 * a request may take. */
/* Seconds that one call may take there; NULL = a provider that is not named. */
int64_t account_call_max_s(const char *provider);
MUST_CHECK int account_config_check(const struct account_config *c, struct error *err);
/* The first of a config's limits (timeout, outputLimitBytes, memoryLimit, runtimes, permissionMode)
 * that the new form sets wider or leaves out; NULL when it widens none. */
const char *account_config_widened(const struct account_config *old,
                                   const struct account_config *new);
/* The first limit that it sets, or NULL. */
const char *account_config_limit(const struct account_config *c);

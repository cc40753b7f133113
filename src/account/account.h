/* SPDX-License-Identifier: Apache-2.0 */
/* account/account.h — keys, scopes, roles and callers, and what their sandbox configs may ask for.
 * Pure, but for random key bytes.
 *
 * A key is "atoll_" and 40 characters of [a-z2-7]. Only its SHA-256 is stored. Hashes are compared
 * in constant time, although hashes of random keys leak nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

enum account_scope {
	SCOPE_NONE = 0,
	SCOPE_SANDBOX_READ = 1 << 0,
	SCOPE_SANDBOX_WRITE = 1 << 1, /* create, delete, exec, files */
	SCOPE_TEMPLATE_WRITE = 1 << 2,
	SCOPE_KEY_WRITE = 1 << 3,
	SCOPE_ADMIN = 1 << 4,         /* reads and writes everything in every project */
	SCOPE_PROJECT_WRITE = 1 << 5, /* members, name, defaults and settings of the project */
};
#define SCOPE_ALL 63
const char *account_scope_name(enum account_scope scope);
MUST_CHECK int account_scopes_parse(const char *const *names, unsigned *ret, struct error *err);

/* The role of a member in a project. */
enum account_role { ROLE_NONE, ROLE_VIEWER, ROLE_MEMBER, ROLE_ADMIN, ROLE_COUNT };
const char *account_role_name(enum account_role role); /* "" for ROLE_NONE */
MUST_CHECK int account_role_parse(const char *name, enum account_role *ret, struct error *err);
/* A project's admin is not the platform's: no role has SCOPE_ADMIN. */
unsigned account_role_scopes(enum account_role role);

#define ACCOUNT_USER_MAX 128
/* An id or e-mail address: 1 to 128 of [A-Za-z0-9._@+-], beginning with a letter or digit. */
MUST_CHECK int account_user_check(const char *user_id, struct error *err);

/* The effective scopes of a key: those it was given, limited by the present role of its member. A
 * key without a member (user "") has no role limit. `role` is "" if the member has left. */
unsigned account_key_scopes(unsigned given, const char *user_id, const char *role);

/* A request for a new key. */
struct account_grant {
	unsigned own; /* scopes of the caller */
	/* Names of the requested scopes; NULL = all of the caller's but admin. */
	const char *const *names;
	bool has_member;
	enum account_role role; /* of the key's member */
};
/* Refuses scopes that the caller or the key's member lacks. */
MUST_CHECK int account_scopes_grant(const struct account_grant *grant, unsigned *ret,
                                    struct error *err);

#define ACCOUNT_KEY_LIFE_MAX_MS (INT64_C(10) * 366 * 86400000)
#define ACCOUNT_KEY_GRACE_MAX_MS (INT64_C(7) * 86400000)
struct account_term {
	int64_t expires_at, expires_in_ms; /* at most one of them; 0 = never */
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
/* The same key in E2B's form: "e2b_" and hexadecimal digits. */
#define ACCOUNT_KEY_E2B_SIZE 54
void account_key_write_e2b(const struct account_key *key, char ret[ACCOUNT_KEY_E2B_SIZE + 1]);
/* Fills prefix and hash from a caller's text in either form; refuses texts that cannot be a
 * key. */
MUST_CHECK int account_key_parse(struct span text, struct account_key *ret, struct error *err);
bool account_hash_equals(const unsigned char a[ACCOUNT_HASH_SIZE],
                         const unsigned char b[ACCOUNT_HASH_SIZE]);
/* The key of "Bearer KEY", or the plain X-API-Key value; size 0 if there is none. */
struct span account_bearer(const char *authorization, const char *api_key_header);

struct account_caller {
	const char *project_id, *key_id;
	const char *user_id; /* "" for a key without a member */
	unsigned scopes;
	bool is_login; /* a session of a browser; key_id is its user's id, or its key's */
};
/* SCOPE_ADMIN includes every scope. */
MUST_CHECK int account_require(const struct account_caller *caller, unsigned scope,
                               struct error *err);

/* The checked members of a reusable sandbox config. 0 and NULL = not given. */
struct account_config {
	const char *provider, *permission_mode;
	const char *const *runtimes; /* NULL-terminated */
	int64_t timeout_s, memory_mb, output_limit_bytes;
	int64_t idle_timeout_s, lifetime_max_s;
	bool persistent;
	bool has_options; /* it has options that only persistent sandboxes support */
	const char *persistent_home;
};
/* Seconds that one call may take with this provider; NULL = none named. Deployed functions
 * bound lambda, request limits the others. */
int64_t account_call_max_s(const char *provider);
/* Whether Atoll has or plans a provider of this kind. A config may name a kind that the server
 * lacks; its use is refused. */
bool account_knows_provider(const char *provider);
/* Knows the limits of kinds of providers, not which providers the server has. */
MUST_CHECK int account_config_check(const struct account_config *c, struct error *err);
/* The first limit (timeout, outputLimitBytes, memoryLimit, runtimes, permissionMode) that
 * `new` widens or leaves out; NULL if there is none. */
const char *account_config_widened(const struct account_config *old,
                                   const struct account_config *new);
/* The first limit that the config sets, or NULL. */
const char *account_config_limit(const struct account_config *c);

/* SPDX-License-Identifier: Apache-2.0 */
/* store/connects.h — logins at OAuth services. A finished one renews the tokens of its credential,
 * a row of store/credentials.h. Secrets are stored encrypted.
 *
 * Every change compares the revision. `due_at` says when the servers look at the row: to ask for
 * the tokens of a device, or to renew them. A server claims the row first, so one server at a time
 * uses a refresh token: many services accept each only once. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct credential_record;
struct store;

#define STORE_CONNECTS_MAX 100 /* of an owner */

enum connect_method { CONNECT_CODE, CONNECT_DEVICE, CONNECT_CLIENT, CONNECT_METHOD_COUNT };
enum connect_state {
	CONNECT_PENDING,     /* the user has not come back */
	CONNECT_EXCHANGING,  /* a server is exchanging the code */
	CONNECT_DONE,        /* the credential has tokens */
	CONNECT_FAILED,      /* `problem` says why */
	CONNECT_NEEDS_LOGIN, /* the tokens cannot be renewed any more */
	CONNECT_STATE_COUNT,
};
const char *connect_state_name(enum connect_state state);
const char *connect_method_name(enum connect_method method);

struct connect_record {
	const char *id, *project_id;
	const char *owner_id; /* "" = the project */
	const char *name;     /* of the credential */
	const char *preset;   /* "" = none */
	enum connect_method method;
	enum connect_state state;
	const char *problem, *scopes;
	const char *request_json; /* of the credential to make; see connect/connect.h */
	const char *service_json; /* the service's addresses */
	const char *secret_json;  /* client, verifier, device code, refresh token */
	const char *state_hash;   /* hexadecimal SHA-256; "" = there is nothing to come back to */
	const char *credential_id;
	int64_t revision, due_at, interval_ms, claimed_until;
	int64_t expires_at; /* of a pending one */
	int64_t created_at, updated_at;
};
struct connect_list {
	struct connect_record *items;
	size_t count;
};
struct connect_ref {
	const char *project_id, *owner_id, *id;
};

/* ERROR_LIMIT when the owner has STORE_CONNECTS_MAX others. */
MUST_CHECK int store_connect_insert(struct store *s, const struct connect_record *r,
                                    struct error *err);
MUST_CHECK int store_connect_find(struct store *s, struct arena *a, const struct connect_ref *ref,
                                  struct connect_record *ret, struct error *err);
MUST_CHECK int store_connect_find_by_state(struct store *s, struct arena *a, const char *state_hash,
                                           struct connect_record *ret, struct error *err);
/* Newest first. */
MUST_CHECK int store_connect_list(struct store *s, struct arena *a, const struct connect_ref *owner,
                                  struct connect_list *ret, struct error *err);
/* The rows that are due and not claimed: at most 20, the oldest first. */
MUST_CHECK int store_connect_due(struct store *s, struct arena *a, int64_t now,
                                 struct connect_list *ret, struct error *err);
/* ERROR_CONFLICT when the revision is not r->revision. Increments it in *r. */
MUST_CHECK int store_connect_update(struct store *s, struct connect_record *r, struct error *err);
/* The same, and writes the credential in the same transaction: inserts it when its revision is 0,
 * else updates it. */
MUST_CHECK int store_connect_finish(struct store *s, struct connect_record *r,
                                    const struct credential_record *credential, struct error *err);
/* Removes it with its credential. */
MUST_CHECK int store_connect_remove(struct store *s, const struct connect_record *r,
                                    struct error *err);
/* Drops pending and failed ones that expired before this time. */
MUST_CHECK int store_connect_purge(struct store *s, int64_t before, struct error *err);

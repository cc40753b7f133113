/* SPDX-License-Identifier: Apache-2.0 */
/* store/consents.h — what persons allowed: the use of a credential in a sandbox; and the
 * certificate authorities of sandboxes that use credentials.
 *
 * A consent holds for one version of the credential and for the hosts that it had: another version
 * or a further host needs another consent. It ends at expires_at, or at once when it is revoked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct sandbox_list;
struct store;

struct consent_record {
	const char *id, *project_id, *sandbox_id;
	const char *conversation_id; /* "" = it was asked for outside of any */
	const char *credential_id, *credential_name;
	int64_t credential_version;
	const char *hosts;       /* see sandbox/credential.h */
	const char *approval_id; /* by which it was asked for; "" = given by itself */
	const char *decided_by;  /* id of a key or a user */
	int64_t expires_at, revoked_at, created_at; /* 0 = never */
};
struct consent_list {
	struct consent_record *items;
	size_t count;
};
struct consent_ref {
	const char *project_id;
	const char *sandbox_id, *conversation_id, *credential_name; /* NULL = any */
	int64_t now;
};

MUST_CHECK int store_consent_insert(struct store *s, const struct consent_record *r,
                                    struct error *err);
/* Newest first, at most 1000; also those that have ended. */
MUST_CHECK int store_consent_list(struct store *s, struct arena *a, const struct consent_ref *ref,
                                  struct consent_list *ret, struct error *err);
/* Those of a sandbox that hold at `now`, newest first. */
MUST_CHECK int store_consent_active(struct store *s, struct arena *a, const char *sandbox_id,
                                    int64_t now, struct consent_list *ret, struct error *err);
/* Ends those that hold; returns their number. */
MUST_CHECK int store_consent_revoke(struct store *s, const struct consent_ref *ref,
                                    struct error *err);
/* Tells of those that have expired since, up to 100. */
MUST_CHECK int store_consent_expire(struct store *s, int64_t now, struct error *err);
MUST_CHECK int store_consent_purge(struct store *s, int64_t before, struct error *err);

/* Sandboxes of a server that have rules of credentials, and are neither deleted nor failed. */
MUST_CHECK int store_sandbox_list_with_rules(struct store *s, struct arena *a, const char *node,
                                             struct sandbox_list *ret, struct error *err);

struct authority_record {
	const char *id;          /* of the sandbox */
	const char *certificate; /* PEM */
	const char *key_pem;     /* stored encrypted */
	int64_t expires_at, created_at;
};
/* *ret_found is false without one. */
MUST_CHECK int store_authority_find(struct store *s, struct arena *a, const char *sandbox_id,
                                    struct authority_record *ret, bool *ret_found,
                                    struct error *err);
/* Replaces the one before. */
MUST_CHECK int store_authority_put(struct store *s, const struct authority_record *r,
                                   struct error *err);

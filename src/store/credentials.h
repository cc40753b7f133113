/* SPDX-License-Identifier: Apache-2.0 */
/* store/credentials.h — credentials of projects and of their users. Fields are stored encrypted.
 *
 * A user's credential is seen by that user only, and goes with the membership. Where a user and the
 * project have a credential of one name, the user's is found. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "sandbox/credential.h"

struct arena;
struct store;

#define STORE_CREDENTIALS_MAX 100 /* of an owner: a project, or a user in it */

struct credential_record {
	const char *id, *project_id;
	const char *owner_id; /* "" = the project */
	const char *name, *preset, *about;
	enum credential_kind kind;
	enum credential_consent consent;
	const char *hosts;       /* see sandbox/credential.h */
	const char *environment; /* see credential_environment_format; "" = none */
	const char *fields_json; /* {"token":"VALUE"} */
	const char *field_names; /* separated by blanks */
	const char *fingerprint; /* see store_credential_fingerprint */
	bool needs_login;        /* its tokens cannot be renewed */
	int64_t version;         /* of the values, from 1; a consent is for one version */
	int64_t revision;        /* counts every change; store_credential_update compares it */
	int64_t expires_at, last_used_at; /* 0 = never */
	int64_t created_at, updated_at;
};
struct credential_list {
	struct credential_record *items;
	size_t count;
};
/* Whose credentials: those of the project, and of this user in it ("" = none). `name` may be an
 * id. */
struct credential_ref {
	const char *project_id, *owner_id, *name;
};

/* 8 digits that change with the fields. They are computed with a key of the servers, so that a
 * caller cannot guess values and compare. */
#define CREDENTIAL_FINGERPRINT_SIZE 8
MUST_CHECK int store_credential_fingerprint(struct store *s, const char *project_id,
                                            const char *fields_json,
                                            char ret[CREDENTIAL_FINGERPRINT_SIZE + 1],
                                            struct error *err);
/* Version and revision are 1. ERROR_CONFLICT when the owner has the name, ERROR_LIMIT when the
 * owner has STORE_CREDENTIALS_MAX others. */
MUST_CHECK int store_credential_insert(struct store *s, const struct credential_record *r,
                                       struct error *err);
/* Writes all but name and owner, by id. ERROR_CONFLICT when the revision is not r->revision. */
MUST_CHECK int store_credential_update(struct store *s, struct arena *a,
                                       const struct credential_record *r,
                                       struct credential_record *ret, struct error *err);
/* A value that a request had and a sandbox's rule names (grant/grant.h): its name is "literal_" and
 * an owner of its own, so that no list has it. ERROR_LIMIT when the project has STORE_KEPT_MAX
 * others. */
#define STORE_KEPT_MAX 5000
MUST_CHECK int store_credential_keep(struct store *s, const struct credential_record *r,
                                     struct error *err);
/* Deletes those that are older and that no sandbox's rules name. */
MUST_CHECK int store_credential_purge_kept(struct store *s, int64_t before, struct error *err);
/* Sets last_used_at, without a new revision; does not wait for the disk. */
MUST_CHECK int store_credential_touch(struct store *s, const char *id, int64_t at,
                                      struct error *err);
MUST_CHECK int store_credential_find(struct store *s, struct arena *a,
                                     const struct credential_ref *ref,
                                     struct credential_record *ret, struct error *err);
/* Sorted by name; without their fields. */
MUST_CHECK int store_credential_list(struct store *s, struct arena *a,
                                     const struct credential_ref *owner,
                                     struct credential_list *ret, struct error *err);
/* With the connect that renews it; its tokens stay valid at the service. */
MUST_CHECK int store_credential_remove(struct store *s, const struct credential_record *r,
                                       struct error *err);

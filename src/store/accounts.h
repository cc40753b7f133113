/* SPDX-License-Identifier: Apache-2.0 */
/* store/accounts.h — projects and what administers them: members, keys' secrets, reusable configs.
 *
 * The same rules as in store.h. A project that is closing has no valid key and takes no new
 * sandbox; it goes once nothing is left of it. */
#pragma once

#include "store/store.h"

#define STORE_PROJECTS_MAX 10000
#define STORE_MEMBERS_MAX 1000 /* of one project, as all below */
#define STORE_KEYS_MAX 1000
#define STORE_SECRETS_MAX 4 /* of one key that are replaced and still valid */
#define STORE_CONFIGS_MAX 1000

/* ---- projects ---- */

struct project_list {
	struct project_record *items;
	size_t count;
};
struct project_page {
	const char *after; /* the name before; "" at the beginning */
	int64_t limit;
};
/* By name. */
MUST_CHECK int store_project_list(struct store *s, struct arena *a, const struct project_page *page,
                                  struct project_list *ret, struct error *err);
/* Changes the record that is there now; may be called more than once. Not id, closing and
 * created_at. */
struct project_edit {
	const char *id;
	int (*edit)(struct project_record *r, const void *context, struct error *err);
	const void *context;
};
/* ERROR_CONFLICT when the new name is taken. */
MUST_CHECK int store_project_edit(struct store *s, struct arena *a, const struct project_edit *edit,
                                  struct project_record *ret, struct error *err);
struct project_closing {
	const char *id;
	bool with_sandboxes; /* else ERROR_CONFLICT while it has any */
	int64_t now;
};
/* Revokes its keys. Fine on one that is closing. */
MUST_CHECK int store_project_close(struct store *s, const struct project_closing *closing,
                                   struct error *err);
/* All that are closing. */
MUST_CHECK int store_project_list_closing(struct store *s, struct arena *a,
                                          struct project_list *ret, struct error *err);
/* With keys, members, configs, leases and the rows of deleted sandboxes. ERROR_CONFLICT when it
 * is not closing, or while it has a sandbox or a template. */
MUST_CHECK int store_project_remove(struct store *s, const char *id, struct error *err);

/* ---- members ---- */

struct member_record {
	const char *project_id, *user_id;
	const char *role; /* a word of account's */
	int64_t created_at, updated_at;
};
struct member_list {
	struct member_record *items;
	size_t count;
};
/* A project with members has an admin, always: the first one must be, and the last one stays. */
#define STORE_ROLE_ADMIN "admin"
/* ERROR_CONFLICT when he is one already. */
MUST_CHECK int store_member_insert(struct store *s, const struct member_record *r,
                                   struct error *err);
MUST_CHECK int store_member_find(struct store *s, struct arena *a, const char *project_id,
                                 const char *user_id, struct member_record *ret, struct error *err);
MUST_CHECK int store_member_list(struct store *s, struct arena *a, const char *project_id,
                                 struct member_list *ret, struct error *err);
/* Role and updated_at. */
MUST_CHECK int store_member_set_role(struct store *s, const struct member_record *r,
                                     struct error *err);
/* Revokes his keys of the project, too. */
MUST_CHECK int store_member_remove(struct store *s, const char *project_id, const char *user_id,
                                   int64_t now, struct error *err);

/* ---- keys ---- */

struct key_rotation {
	const char *project_id, *id;
	unsigned char hash[KEY_HASH_SIZE]; /* of the new secret */
	const char *prefix;
	int64_t now, until; /* the old one is valid until then */
};
/* ERROR_CONFLICT when the key is revoked or expired; ERROR_LIMIT when STORE_SECRETS_MAX old ones
 * are valid still. */
MUST_CHECK int store_key_rotate(struct store *s, struct arena *a,
                                const struct key_rotation *rotation, struct key_record *ret,
                                struct error *err);

/* ---- reusable configs ---- */

struct config_record {
	const char *id, *project_id, *name; /* unique in its project */
	const char *config_json;            /* all but the environment */
	const char *env_json;               /* {"A":"b"}: secrets */
	int64_t created_at, updated_at;
};
struct config_list {
	struct config_record *items;
	size_t count;
};
MUST_CHECK int store_config_insert(struct store *s, const struct config_record *r,
                                   struct error *err);
/* By id or name. */
MUST_CHECK int store_config_find(struct store *s, struct arena *a, const char *project_id,
                                 const char *id_or_name, struct config_record *ret,
                                 struct error *err);
MUST_CHECK int store_config_list(struct store *s, struct arena *a, const char *project_id,
                                 struct config_list *ret, struct error *err);
/* All but id, project and created_at; ERROR_CONFLICT when its updated_at is not `seen_at`. */
MUST_CHECK int store_config_update(struct store *s, const struct config_record *r, int64_t seen_at,
                                   struct error *err);
MUST_CHECK int store_config_remove(struct store *s, const char *project_id, const char *id,
                                   struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
#include "store/credentials.h"

#include "seal/seal.h"
#include "store/access.h"
#include "store/column_rows.h"
#include "store/event_rows.h"
#include "store/query.h"
#include "store/transaction_parts.h"

#define FINGERPRINT_KEY "credentials"

TEXTS_OF(credential_kind, CREDENTIAL_KIND_COUNT, [CREDENTIAL_TOKEN] = "token",
         [CREDENTIAL_BASIC] = "basic", [CREDENTIAL_AWS] = "aws", [CREDENTIAL_CUSTOM] = "custom",
         [CREDENTIAL_CLIENT] = "client", [CREDENTIAL_OAUTH] = "oauth")
TEXTS_OF(credential_consent,
         CREDENTIAL_CONSENT_COUNT, [CREDENTIAL_CONSENT_CONVERSATION] = "conversation",
         [CREDENTIAL_CONSENT_SANDBOX] = "sandbox", [CREDENTIAL_CONSENT_PROJECT] = "project")

COLUMNS_OF(credential_record);
COLUMNS_OF(credential_ref);

static int fail_missing(const char *name, struct error *err)
{
	return FAIL_MISSING(err, "credential", name);
}

int store_credential_fingerprint(struct store *s, const char *project_id, const char *fields_json,
                                 char ret[CREDENTIAL_FINGERPRINT_SIZE + 1], struct error *err)
{
	unsigned char key[STORE_SERVER_KEY_SIZE];

	if (store_server_key(s, FINGERPRINT_KEY, key, err) < 0)
		return -1;
	seal_fingerprint(key, project_id, fields_json, ret);
	return 0;
}

int credential_run_insertion(struct store_connection *c, const struct credential_record *r,
                             struct error *err)
{
	const struct credential_ref owner = {r->project_id, r->owner_id, ""};
	int64_t count;

	if (project_lock(c, r->project_id, err) < 0 ||
	    ROW_OR(query_run(c, QUERY_CREDENTIAL_INSERT, r, NULL, err),
	           FAIL(err, ERROR_CONFLICT, "there is a credential '%.64s' already", r->name)) <
	            0 ||
	    query_count(c, QUERY_CREDENTIAL_COUNT, &owner, &count, err) < 0)
		return -1;
	if (count > STORE_CREDENTIALS_MAX)
		return FAIL(err, ERROR_LIMIT, "%s has %d credentials already; delete unused ones",
		            r->owner_id[0] ? "the user" : "the project", STORE_CREDENTIALS_MAX);
	return 0;
}

/* All members of a project see its events, but only the user sees a user's credential. */
int credential_tell(struct store_connection *c, enum event_kind kind,
                    const struct credential_record *r, struct error *err)
{
	const struct event_subject subject = {.project_id = r->project_id,
	                                      .name = r->owner_id[0] ? r->id : r->name};

	return event_add_about(c, kind, &subject, err);
}

static int run_insert(struct store_connection *c, void *context, struct error *err)
{
	return credential_run_insertion(c, context, err) < 0
	               ? -1
	               : credential_tell(c, EVENT_CREDENTIAL_CREATED, context, err);
}

int store_credential_insert(struct store *s, const struct credential_record *r, struct error *err)
{
	return store_change(s, run_insert, r, err);
}

static int run_keep(struct store_connection *c, void *context, struct error *err)
{
	const struct credential_record *r = context;

	if (credential_run_insertion(c, r, err) < 0)
		return -1;
	return project_check_count(c, QUERY_CREDENTIAL_COUNT_KEPT, r->project_id, STORE_KEPT_MAX,
	                           "values of rules", err);
}

int store_credential_keep(struct store *s, const struct credential_record *r, struct error *err)
{
	return store_change(s, run_keep, r, err);
}

static int run_purge(struct store_connection *c, void *context, struct error *err)
{
	return query_run(c, QUERY_CREDENTIAL_PURGE_KEPT, context, NULL, err) < 0 ? -1 : 0;
}

int store_credential_purge_kept(struct store *s, int64_t before, struct error *err)
{
	return store_change_lazily(s, run_purge, LOOKUP(.now = before), err);
}

static int run_touch(struct store_connection *c, void *context, struct error *err)
{
	return query_run(c, QUERY_CREDENTIAL_TOUCH, context, NULL, err) < 0 ? -1 : 0;
}

int store_credential_touch(struct store *s, const char *id, int64_t at, struct error *err)
{
	return store_change_lazily(s, run_touch, LOOKUP(.id = id, .now = at), err);
}

struct credential_update {
	const struct credential_record *record;
	struct arena *arena;
	struct credential_record *ret;
};

static int run_update(struct store_connection *c, void *context, struct error *err)
{
	const struct credential_update *updating = context;

	if (ROW_OR(query_find(c, QUERY_CREDENTIAL_UPDATE, updating->record,
	                      INTO(updating->arena, updating->ret), err),
	           FAIL(err, ERROR_CONFLICT,
	                "credential '%.64s' was changed or deleted meanwhile; try again",
	                updating->record->name)) < 0)
		return -1;
	return credential_tell(c, EVENT_CREDENTIAL_UPDATED, updating->ret, err);
}

int store_credential_update(struct store *s, struct arena *a, const struct credential_record *r,
                            struct credential_record *ret, struct error *err)
{
	const struct credential_update updating = {r, a, ret};

	return store_change(s, run_update, &updating, err);
}

int store_credential_find(struct store *s, struct arena *a, const struct credential_ref *ref,
                          struct credential_record *ret, struct error *err)
{
	return ROW_OR(store_find_query(s, QUERY_CREDENTIAL_FIND, ref, INTO(a, ret), err),
	              fail_missing(ref->name, err));
}

int store_credential_list(struct store *s, struct arena *a, const struct credential_ref *owner,
                          struct credential_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_CREDENTIAL_LIST, owner, LIST_INTO(a, ret), err);
}

static int run_removal(struct store_connection *c, void *context, struct error *err)
{
	const struct credential_record *r = context;

	if (ROW_OR(query_run(c, QUERY_CREDENTIAL_REMOVE, r, NULL, err),
	           fail_missing(r->name, err)) < 0)
		return -1;
	if (query_run(c, QUERY_CONNECT_REMOVE_OF_CREDENTIAL, r, NULL, err) < 0)
		return -1;
	return credential_tell(c, EVENT_CREDENTIAL_DELETED, r, err);
}

int store_credential_remove(struct store *s, const struct credential_record *r, struct error *err)
{
	return store_change(s, run_removal, r, err);
}

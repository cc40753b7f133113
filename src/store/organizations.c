/* SPDX-License-Identifier: Apache-2.0 */
#include "store/organizations.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "store/column_rows.h"
#include "store/query.h"
#include "store/transaction_parts.h"

COLUMNS_OF(organization_record);
COLUMNS_OF(organization_member);
COLUMNS_OF(organization_lookup);

struct organization_insertion {
	const struct organization_record *record;
	const char *owner;
};

static int fail_taken(const char *name, struct error *err)
{
	return FAIL(err, ERROR_CONFLICT, "organization '%s' exists already", name);
}

static int fail_missing(const char *id, struct error *err)
{
	return FAIL_MISSING(err, "organization", id);
}

static int run_insertion(struct store_connection *c, void *context, struct error *err)
{
	const struct organization_insertion *insertion = context;
	const struct organization_record *r = insertion->record;
	const struct organization_member owner = {.organization_id = r->id,
	                                          .user_id = insertion->owner,
	                                          .role = STORE_ORGANIZATION_OWNER,
	                                          .created_at = r->created_at,
	                                          .updated_at = r->created_at};
	int64_t count;

	if (ROW_OR(query_run(c, QUERY_ORGANIZATION_INSERT, r, NULL, err),
	           fail_taken(r->name, err)) < 0 ||
	    query_run(c, QUERY_ORGANIZATION_MEMBER_PUT, &owner, NULL, err) < 0 ||
	    query_count(c, QUERY_ORGANIZATION_COUNT, NULL, &count, err) < 0)
		return -1;
	if (count > STORE_ORGANIZATIONS_MAX)
		return FAIL(err, ERROR_LIMIT, "there are %d organizations already",
		            STORE_ORGANIZATIONS_MAX);
	return 0;
}

int store_organization_insert(struct store *s, const struct organization_record *r,
                              const char *owner, struct error *err)
{
	return store_change(s, run_insertion, &(struct organization_insertion){r, owner}, err);
}

int store_organization_find(struct store *s, struct arena *a, const char *id,
                            struct organization_record *ret, struct error *err)
{
	return ROW_OR(
	        store_find_query(s, QUERY_ORGANIZATION_FIND, LOOKUP(.id = id), INTO(a, ret), err),
	        fail_missing(id, err));
}

int store_organization_list(struct store *s, struct arena *a, const char *user_id,
                            struct organization_list *ret, struct error *err)
{
	const struct organization_lookup lookup = {user_id};

	return store_list_query(s, QUERY_ORGANIZATION_LIST, &lookup, LIST_INTO(a, ret), err);
}

int store_organization_rename(struct store *s, const struct organization_record *r,
                              struct error *err)
{
	return ROW_OR(store_change_query(s, QUERY_ORGANIZATION_RENAME, r, err),
	              fail_taken(r->name, err));
}

static int fail_in_use(const char *id, int64_t projects, struct error *err)
{
	(void)FAIL(err, ERROR_CONFLICT, "organization '%s' has projects: %" PRId64, id, projects);
	return FAIL_HINT(err, "delete them (atoll project rm), or move each to another one: "
	                      "PATCH /v1/projects/ID {\"organization\": \"default\"}");
}

static int run_removal(struct store_connection *c, void *context, struct error *err)
{
	const struct record_lookup *lookup = context;
	int64_t projects;

	if (query_count(c, QUERY_ORGANIZATION_HOLDS, lookup, &projects, err) < 0)
		return -1;
	if (strcmp(lookup->id, STORE_ORGANIZATION_FIRST) == 0)
		return FAIL(err, ERROR_CONFLICT, "organization '%s' is the first and stays",
		            lookup->id);
	if (projects > 0)
		return fail_in_use(lookup->id, projects, err);
	if (query_run(c, QUERY_ORGANIZATION_REMOVE_MEMBERS, lookup, NULL, err) < 0)
		return -1;
	return ROW_OR(query_run(c, QUERY_ORGANIZATION_REMOVE, lookup, NULL, err),
	              fail_missing(lookup->id, err));
}

int store_organization_remove(struct store *s, const char *id, struct error *err)
{
	return store_change(s, run_removal, LOOKUP(.id = id), err);
}

int store_organization_member_find(struct store *s, struct arena *a, const char *organization_id,
                                   const char *user_id, struct organization_member *ret,
                                   struct error *err)
{
	const struct organization_member wanted = {.organization_id = organization_id,
	                                           .user_id = user_id};

	return ROW_OR(
	        store_find_query(s, QUERY_ORGANIZATION_MEMBER_FIND, &wanted, INTO(a, ret), err),
	        FAIL_MISSING(err, "member", user_id));
}

int store_organization_member_list(struct store *s, struct arena *a, const char *organization_id,
                                   struct organization_member_list *ret, struct error *err)
{
	const struct organization_member wanted = {.organization_id = organization_id};

	return store_list_query(s, QUERY_ORGANIZATION_MEMBER_LIST, &wanted, LIST_INTO(a, ret), err);
}

/* Called after a change: fails, which rolls it back, when it has taken the last owner. */
static int require_owner(struct store_connection *c, const struct organization_member *r,
                         bool had_owner, struct error *err)
{
	int64_t owners;

	if (!had_owner)
		return 0;
	if (query_count(c, QUERY_ORGANIZATION_MEMBER_COUNT_OWNERS, r, &owners, err) < 0)
		return -1;
	if (owners > 0)
		return 0;
	(void)FAIL(err, ERROR_CONFLICT, "'%s' is the last owner of organization '%s'", r->user_id,
	           r->organization_id);
	return FAIL_HINT(err, "make another user an owner first: "
	                      "atoll org set-member --role owner ORGANISATION EMAIL");
}

static int has_owner(struct store_connection *c, const struct organization_member *r, bool *ret,
                     struct error *err)
{
	int64_t owners;

	if (query_count(c, QUERY_ORGANIZATION_MEMBER_COUNT_OWNERS, r, &owners, err) < 0)
		return -1;
	*ret = owners > 0;
	return 0;
}

static int run_put(struct store_connection *c, void *context, struct error *err)
{
	const struct organization_member *r = context;
	AUTO(arena_done) struct arena arena = {0};
	struct organization_record found;
	int64_t members;
	bool had_owner;

	if (ROW_OR(query_find(c, QUERY_ORGANIZATION_FIND, LOOKUP(.id = r->organization_id),
	                      INTO(&arena, &found), err),
	           fail_missing(r->organization_id, err)) < 0 ||
	    has_owner(c, r, &had_owner, err) < 0 ||
	    query_run(c, QUERY_ORGANIZATION_MEMBER_PUT, r, NULL, err) < 0 ||
	    query_count(c, QUERY_ORGANIZATION_MEMBER_COUNT, r, &members, err) < 0)
		return -1;
	if (members > STORE_ORGANIZATION_MEMBERS_MAX)
		return FAIL(err, ERROR_LIMIT, "the organization has %d members already",
		            STORE_ORGANIZATION_MEMBERS_MAX);
	return require_owner(c, r, had_owner, err);
}

int store_organization_member_put(struct store *s, const struct organization_member *r,
                                  struct error *err)
{
	return store_change(s, run_put, r, err);
}

static int run_leaving(struct store_connection *c, void *context, struct error *err)
{
	const struct organization_member *r = context;
	bool had_owner;

	if (has_owner(c, r, &had_owner, err) < 0 ||
	    ROW_OR(query_run(c, QUERY_ORGANIZATION_MEMBER_REMOVE, r, NULL, err),
	           FAIL_MISSING(err, "member", r->user_id)) < 0)
		return -1;
	return require_owner(c, r, had_owner, err);
}

int store_organization_member_remove(struct store *s, const struct organization_member *r,
                                     struct error *err)
{
	return store_change(s, run_leaving, r, err);
}

int organization_run_leaving_all(struct store_connection *c, struct arena *a, const char *user_id,
                                 struct error *err)
{
	const struct organization_member wanted = {.user_id = user_id};
	struct organization_member_list owned;

	if (query_list(c, QUERY_ORGANIZATION_MEMBER_LIST_OWNED, &wanted, LIST_INTO(a, &owned),
	               err) < 0 ||
	    query_run(c, QUERY_ORGANIZATION_MEMBER_LEAVE_ALL, &wanted, NULL, err) < 0)
		return -1;
	for (size_t i = 0; i < owned.count; i++)
		if (require_owner(c, &owned.items[i], true, err) < 0)
			return -1;
	return 0;
}

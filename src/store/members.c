/* SPDX-License-Identifier: Apache-2.0 */
#include "store/members.h"

#include <string.h>

#include "store/column_rows.h"
#include "sandbox/events.h"
#include "store/event_rows.h"
#include "store/query.h"
#include "store/transaction_parts.h"

COLUMNS_OF(member_record);

static bool is_admin(const struct member_record *r)
{
	return strcmp(r->role, STORE_ROLE_ADMIN) == 0;
}

static int fail_missing(const char *user_id, struct error *err)
{
	return FAIL_MISSING(err, "member", user_id);
}

static int count_usable_admins(struct store_connection *c, const struct member_record *r,
                               int64_t *ret, struct error *err)
{
	return query_count(c, QUERY_MEMBER_COUNT_USABLE_ADMINS, LOOKUP(.project_id = r->project_id),
	                   ret, err);
}

/* Called after a change: fails, which rolls the change back, when the project has members but no
 * admin, or when the `usable_before` admins that could act are gone. */
static int require_admin(struct store_connection *c, const struct member_record *r,
                         int64_t usable_before, const char *why, struct error *err)
{
	int64_t admins, usable;

	if (query_count(c, QUERY_MEMBER_COUNT_ADMINS, LOOKUP(.project_id = r->project_id), &admins,
	                err) < 0 ||
	    count_usable_admins(c, r, &usable, err) < 0)
		return -1;
	if (admins > 0 && (usable > 0 || usable_before == 0))
		return 0;
	(void)FAIL(err, ERROR_CONFLICT, "'%s' %s", r->user_id, why);
	return FAIL_HINT(err, "give another member, who has signed in and is not disabled, the "
	                      "role admin first: atoll member set --role admin USER");
}

static int require_first_admin(struct store_connection *c, const struct member_record *r,
                               struct error *err)
{
	if (require_admin(c, r, 0, "would be the first member, which must be an admin", err) == 0)
		return 0;
	if (err->code == ERROR_CONFLICT)
		error_hint(err, "give the role admin");
	return -1;
}

static int add_member_event(struct store_connection *c, enum event_kind kind,
                            const struct member_record *r, struct error *err)
{
	return event_add_about(c, kind, &(struct event_subject){r->project_id, NULL, r->user_id},
	                       err);
}

int member_fail_present(const char *user_id, struct error *err)
{
	(void)FAIL(err, ERROR_CONFLICT, "'%s' is a member already", user_id);
	return FAIL_HINT(err, "to change the role: atoll member set --role ROLE USER");
}

int member_run_insertion(struct store_connection *c, const struct member_record *r,
                         struct error *err)
{
	if (project_lock(c, r->project_id, err) < 0 ||
	    ROW_OR(query_run(c, QUERY_MEMBER_INSERT, r, NULL, err),
	           member_fail_present(r->user_id, err)) < 0 ||
	    project_check_count(c, QUERY_MEMBER_COUNT, r->project_id, STORE_MEMBERS_MAX, "members",
	                        err) < 0 ||
	    require_first_admin(c, r, err) < 0)
		return -1;
	return add_member_event(c, EVENT_MEMBER_ADDED, r, err);
}

static int run_insertion(struct store_connection *c, void *context, struct error *err)
{
	return member_run_insertion(c, context, err);
}

int store_member_insert(struct store *s, const struct member_record *r, struct error *err)
{
	return store_change(s, run_insertion, r, err);
}

int store_member_find(struct store *s, struct arena *a, const char *project_id, const char *user_id,
                      struct member_record *ret, struct error *err)
{
	const struct member_record wanted = {.project_id = project_id, .user_id = user_id};

	return ROW_OR(store_find_query(s, QUERY_MEMBER_FIND, &wanted, INTO(a, ret), err),
	              fail_missing(user_id, err));
}

int store_member_list(struct store *s, struct arena *a, const char *project_id,
                      struct member_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_MEMBER_LIST, LOOKUP(.project_id = project_id),
	                        LIST_INTO(a, ret), err);
}

static int run_role(struct store_connection *c, void *context, struct error *err)
{
	const struct member_record *r = context;
	int64_t usable;

	if (project_lock(c, r->project_id, err) < 0 ||
	    count_usable_admins(c, r, &usable, err) < 0 ||
	    ROW_OR(query_run(c, QUERY_MEMBER_SET_ROLE, r, NULL, err),
	           fail_missing(r->user_id, err)) < 0 ||
	    (!is_admin(r) && (require_admin(c, r, usable, "is the last admin", err) < 0 ||
	                      query_run(c, QUERY_INVITATION_REMOVE_MADE, r, NULL, err) < 0)))
		return -1;
	return add_member_event(c, EVENT_MEMBER_UPDATED, r, err);
}

int store_member_set_role(struct store *s, const struct member_record *r, struct error *err)
{
	return store_change(s, run_role, r, err);
}

int member_run_removal(struct store_connection *c, const struct member_record *r, struct error *err)
{
	int64_t usable;

	if (project_lock(c, r->project_id, err) < 0 ||
	    count_usable_admins(c, r, &usable, err) < 0 ||
	    ROW_OR(query_run(c, QUERY_MEMBER_REMOVE, r, NULL, err), fail_missing(r->user_id, err)) <
	            0 ||
	    require_admin(c, r, usable, "is the last admin", err) < 0 ||
	    query_run(c, QUERY_KEY_REVOKE_OF, r, NULL, err) < 0 ||
	    query_run(c, QUERY_CREDENTIAL_REMOVE_OF, r, NULL, err) < 0 ||
	    query_run(c, QUERY_CONNECT_REMOVE_OF, r, NULL, err) < 0 ||
	    query_run(c, QUERY_INVITATION_REMOVE_MADE, r, NULL, err) < 0)
		return -1;
	return add_member_event(c, EVENT_MEMBER_REMOVED, r, err);
}

static int run_removal(struct store_connection *c, void *context, struct error *err)
{
	return member_run_removal(c, context, err);
}

int store_member_remove(struct store *s, const char *project_id, const char *user_id, int64_t now,
                        struct error *err)
{
	struct member_record record = {
	        .project_id = project_id, .user_id = user_id, .updated_at = now};

	return store_change(s, run_removal, &record, err);
}

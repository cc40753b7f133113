/* SPDX-License-Identifier: Apache-2.0 */
#include "store/users.h"

#include <string.h>

#include "base/bytes.h"
#include "store/column_rows.h"
#include "store/invitations.h"
#include "store/logins.h"
#include "store/members.h"
#include "store/organizations.h"
#include "store/query.h"
#include "store/transaction_parts.h"

COLUMNS_OF(user_record);
COLUMNS_OF(user_page);

static int fail_missing(const char *name, struct error *err)
{
	return FAIL_MISSING(err, "user", name);
}

static int fail_taken(const char *email, struct error *err)
{
	(void)FAIL(err, ERROR_CONFLICT, "user '%s' exists already", email);
	return FAIL_HINT(err, "for a link with which the user sets a new password: "
	                      "atoll user link EMAIL");
}

int user_run_insertion(struct store_connection *c, const struct user_record *r, struct error *err)
{
	int64_t users;

	if (ROW_OR(query_run(c, QUERY_USER_INSERT, r, NULL, err), fail_taken(r->email, err)) < 0 ||
	    query_count(c, QUERY_USER_COUNT, NULL, &users, err) < 0)
		return -1;
	if (users > STORE_USERS_MAX)
		return FAIL(err, ERROR_LIMIT, "the server has %d users already", STORE_USERS_MAX);
	return 0;
}

static int run_insertion(struct store_connection *c, void *context, struct error *err)
{
	return user_run_insertion(c, context, err);
}

int store_user_insert(struct store *s, const struct user_record *r, struct error *err)
{
	return store_change(s, run_insertion, r, err);
}

int store_user_find(struct store *s, struct arena *a, const char *id, struct user_record *ret,
                    struct error *err)
{
	return ROW_OR(store_find_query(s, QUERY_USER_FIND, LOOKUP(.id = id), INTO(a, ret), err),
	              fail_missing(id, err));
}

int store_user_find_by_email(struct store *s, struct arena *a, const char *email,
                             struct user_record *ret, struct error *err)
{
	const struct user_record wanted = {.email = email};

	return ROW_OR(store_find_query(s, QUERY_USER_FIND_BY_EMAIL, &wanted, INTO(a, ret), err),
	              fail_missing(email, err));
}

int store_user_find_by_subject(struct store *s, struct arena *a, const char *issuer,
                               const char *subject, struct user_record *ret, struct error *err)
{
	const struct user_record wanted = {.issuer = issuer, .subject = subject};

	return ROW_OR(store_find_query(s, QUERY_USER_FIND_BY_SUBJECT, &wanted, INTO(a, ret), err),
	              fail_missing(subject, err));
}

int store_user_count(struct store *s, int64_t *ret, struct error *err)
{
	return store_count_query(s, QUERY_USER_COUNT, NULL, ret, err);
}

int store_user_list(struct store *s, struct arena *a, const struct user_page *page,
                    struct user_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_USER_LIST, page, LIST_INTO(a, ret), err);
}

/* Called after a change: fails, which rolls it back, when no admin is left that was one before. */
static int require_admin(struct store_connection *c, const struct user_record *before,
                         struct error *err)
{
	int64_t admins;

	if (!before->is_admin || before->disabled_at || !before->last_used_at)
		return 0;
	if (query_count(c, QUERY_USER_COUNT_ADMINS, NULL, &admins, err) < 0)
		return -1;
	if (admins > 0)
		return 0;
	(void)FAIL(err, ERROR_CONFLICT, "'%s' is the last admin of the server", before->email);
	return FAIL_HINT(err, "make another user an admin first, for example by "
	                      "atoll user add --admin EMAIL, and let that user sign in");
}

struct user_editing {
	struct arena *arena;
	const struct user_edit *edit;
	struct user_record *ret;
};

static int end_logins(struct store_connection *c, const struct user_edit *edit, struct error *err)
{
	const struct login_record others = {.owner_id = edit->id, .id = edit->ends_logins_but};

	if (!edit->ends_logins_but)
		return 0;
	return query_run(c, QUERY_LOGIN_END_OTHERS, &others, NULL, err) < 0 ? -1 : 0;
}

static int run_edit(struct store_connection *c, void *context, struct error *err)
{
	struct user_editing *editing = context;
	const struct user_edit *edit = editing->edit;
	struct user_record before, record;

	if (ROW_OR(query_find(c, QUERY_USER_FIND, LOOKUP(.id = edit->id),
	                      INTO(editing->arena, &before), err),
	           fail_missing(edit->id, err)) < 0)
		return -1;
	record = before;
	if (edit->edit(&record, edit->context, err) < 0 ||
	    ROW_OR(query_run(c, QUERY_USER_UPDATE, &record, NULL, err),
	           FAIL(err, ERROR_CONFLICT, "another user has this identity at '%s'",
	                record.issuer)) < 0 ||
	    require_admin(c, &before, err) < 0 || end_logins(c, edit, err) < 0)
		return -1;
	*editing->ret = record;
	return 0;
}

int store_user_edit(struct store *s, struct arena *a, const struct user_edit *edit,
                    struct user_record *ret, struct error *err)
{
	struct user_editing editing = {a, edit, ret};

	return store_change(s, run_edit, &editing, err);
}

static int leave_projects(struct store_connection *c, struct arena *a, const char *email,
                          int64_t now, struct error *err)
{
	const struct member_record wanted = {.user_id = email};
	struct member_list found;

	if (query_list(c, QUERY_MEMBER_LIST_OF, &wanted, LIST_INTO(a, &found), err) < 0)
		return -1;
	for (size_t i = 0; i < found.count; i++) {
		found.items[i].updated_at = now;
		if (member_run_removal(c, &found.items[i], err) < 0)
			return FAIL_CONTEXT(err, "project '%s'", found.items[i].project_id);
	}
	return 0;
}

static int run_removal(struct store_connection *c, void *context, struct error *err)
{
	const struct record_lookup *lookup = context;
	const struct login_record logins = {.owner_id = lookup->id, .id = ""};
	AUTO(arena_done) struct arena arena = {0};
	struct user_record before;

	if (ROW_OR(query_find(c, QUERY_USER_FIND, lookup, INTO(&arena, &before), err),
	           fail_missing(lookup->id, err)) < 0 ||
	    leave_projects(c, &arena, before.email, lookup->now, err) < 0 ||
	    organization_run_leaving_all(c, &arena, before.email, err) < 0 ||
	    query_run(c, QUERY_INVITATION_REMOVE_USER,
	              &(struct invitation_record){.email = before.email}, NULL, err) < 0 ||
	    query_run(c, QUERY_LOGIN_END_OTHERS, &logins, NULL, err) < 0 ||
	    query_run(c, QUERY_USER_REMOVE, lookup, NULL, err) < 0)
		return -1;
	return require_admin(c, &before, err);
}

int store_user_remove(struct store *s, const char *id, int64_t now, struct error *err)
{
	return store_change(s, run_removal, LOOKUP(.id = id, .now = now), err);
}

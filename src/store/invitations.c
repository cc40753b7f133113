/* SPDX-License-Identifier: Apache-2.0 */
#include "store/invitations.h"

#include <string.h>

#include "base/bytes.h"
#include "store/column_rows.h"
#include "store/logins.h"
#include "store/members.h"
#include "store/query.h"
#include "store/transaction_parts.h"

TEXTS_OF(invitation_kind,
         INVITATION_KIND_COUNT, [INVITATION_SETUP] = "setup", [INVITATION_JOIN] = "join")
COLUMNS_OF(invitation_record);

static int refuse_setup(struct error *err)
{
	(void)FAIL(err, ERROR_CONFLICT, "the server has users already");
	return FAIL_HINT(err, "an admin invites further users: atoll user invite EMAIL");
}

static int check_no_user(struct store_connection *c, struct error *err)
{
	int64_t users;

	if (query_count(c, QUERY_USER_COUNT, NULL, &users, err) < 0)
		return -1;
	return users == 0 ? 0 : refuse_setup(err);
}

static int make_room_for_setup(struct store_connection *c, struct error *err)
{
	int64_t links;

	if (check_no_user(c, err) < 0 ||
	    query_count(c, QUERY_INVITATION_COUNT_SETUP, NULL, &links, err) < 0)
		return -1;
	if (links < STORE_SETUP_LINKS_MAX)
		return 0;
	return query_run(c, QUERY_INVITATION_DROP_SETUP, NULL, NULL, err) < 0 ? -1 : 0;
}

/* What would make the acceptance fail, as long as that does not change. */
static int check_membership(struct store_connection *c, const struct invitation_record *r,
                            struct error *err)
{
	const struct member_record wanted = {.project_id = r->project_id, .user_id = r->email};
	AUTO(arena_done) struct arena arena = {0};
	struct member_record member;
	int found = query_find(c, QUERY_MEMBER_FIND, &wanted, INTO(&arena, &member), err);
	int64_t admins;

	if (found < 0 || query_count(c, QUERY_MEMBER_COUNT_ADMINS,
	                             LOOKUP(.project_id = r->project_id), &admins, err) < 0)
		return -1;
	if (found > 0)
		return member_fail_present(r->email, err);
	if (admins == 0 && strcmp(r->role, STORE_ROLE_ADMIN) != 0)
		return FAIL(err, ERROR_CONFLICT,
		            "'%s' would be the first member, which must be an admin", r->email);
	return 0;
}

static int make_room_for_join(struct store_connection *c, const struct invitation_record *r,
                              struct error *err)
{
	if (query_run(c, QUERY_INVITATION_REPLACE, r, NULL, err) < 0)
		return -1;
	if (r->project_id[0] &&
	    (project_lock(c, r->project_id, err) < 0 || check_membership(c, r, err) < 0))
		return -1;
	return project_check_count(c, QUERY_INVITATION_COUNT, r->project_id,
	                           STORE_INVITATIONS_MAX - 1, "invitations", err);
}

static int run_insertion(struct store_connection *c, void *context, struct error *err)
{
	const struct invitation_record *r = context;

	if (query_run(c, QUERY_INVITATION_PURGE, LOOKUP(.now = r->created_at), NULL, err) < 0 ||
	    (r->kind == INVITATION_SETUP ? make_room_for_setup(c, err)
	                                 : make_room_for_join(c, r, err)) < 0)
		return -1;
	return ROW_OR(query_run(c, QUERY_INVITATION_INSERT, r, NULL, err),
	              FAIL(err, ERROR_CONFLICT, "invitation '%s' exists already", r->id));
}

int store_invitation_insert(struct store *s, const struct invitation_record *r, struct error *err)
{
	return store_change(s, run_insertion, r, err);
}

static int fail_used(struct error *err)
{
	(void)FAIL(err, ERROR_NOT_FOUND, "this link was used, has expired or was withdrawn");
	return FAIL_HINT(err, "ask for another one: a link works once");
}

int store_invitation_find(struct store *s, struct arena *a, const unsigned char hash[KEY_HASH_SIZE],
                          int64_t now, struct invitation_record *ret, struct error *err)
{
	struct invitation_record wanted = {.expires_at = now};

	memcpy(wanted.hash, hash, sizeof(wanted.hash));
	return ROW_OR(store_find_query(s, QUERY_INVITATION_FIND, &wanted, INTO(a, ret), err),
	              fail_used(err));
}

int store_invitation_list(struct store *s, struct arena *a, const char *project_id, int64_t now,
                          struct invitation_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_INVITATION_LIST,
	                        LOOKUP(.project_id = project_id, .now = now), LIST_INTO(a, ret),
	                        err);
}

int store_invitation_remove(struct store *s, const char *project_id, const char *id,
                            struct error *err)
{
	return ROW_OR(store_change_query(s, QUERY_INVITATION_REMOVE,
	                                 LOOKUP(.project_id = project_id, .id = id), err),
	              FAIL_MISSING(err, "invitation", id));
}

/* The first user is an admin of the server and of its first project. */
static int begin_server(struct store_connection *c, const struct invitation_acceptance *accept,
                        struct error *err)
{
	const struct member_record member = {
	        .project_id = accept->project_id,
	        .user_id = accept->user->email,
	        .role = STORE_ROLE_ADMIN,
	        .created_at = accept->now,
	        .updated_at = accept->now,
	};

	if (check_no_user(c, err) < 0 ||
	    query_run(c, QUERY_INVITATION_REMOVE_SETUP, NULL, NULL, err) < 0 ||
	    user_run_insertion(c, accept->user, err) < 0)
		return -1;
	if (!accept->project_id[0])
		return 0;
	/* The address may be a member already: keys can belong to it. */
	if (query_run(c, QUERY_MEMBER_REMOVE, &member, NULL, err) < 0)
		return -1;
	return member_run_insertion(c, &member, err);
}

static int set_password(struct store_connection *c, const struct user_record *user,
                        struct error *err)
{
	const struct login_record logins = {.owner_id = user->id, .id = ""};

	if (ROW_OR(query_run(c, QUERY_USER_UPDATE, user, NULL, err),
	           FAIL_MISSING(err, "user", user->email)) < 0)
		return -1;
	return query_run(c, QUERY_LOGIN_END_OTHERS, &logins, NULL, err) < 0 ? -1 : 0;
}

/* An admin of one project must not become, by an invitation of their own, a user who has roles
 * elsewhere: those were given to an address before it had a user. */
static int check_other_roles(struct store_connection *c, const struct member_record *member,
                             struct error *err)
{
	int64_t roles;

	if (query_count(c, QUERY_MEMBER_COUNT_ROLES, member, &roles, err) < 0)
		return -1;
	if (roles == 0)
		return 0;
	(void)FAIL(err, ERROR_CONFLICT, "'%s' has roles elsewhere and is no user yet",
	           member->user_id);
	return FAIL_HINT(err, "an admin of the server adds the user: atoll user add");
}

static int join_server(struct store_connection *c, const struct invitation_acceptance *accept,
                       struct error *err)
{
	const struct invitation_record *r = accept->invitation;
	const struct member_record member = {
	        .project_id = r->project_id,
	        .user_id = accept->user->email,
	        .role = r->role,
	        .created_at = accept->now,
	        .updated_at = accept->now,
	};

	if ((accept->is_new && r->project_id[0] && check_other_roles(c, &member, err) < 0) ||
	    (accept->is_new && user_run_insertion(c, accept->user, err) < 0) ||
	    (accept->sets_password && set_password(c, accept->user, err) < 0))
		return -1;
	return r->project_id[0] ? member_run_insertion(c, &member, err) : 0;
}

static int run_acceptance(struct store_connection *c, void *context, struct error *err)
{
	const struct invitation_acceptance *accept = context;
	struct invitation_record used = *accept->invitation;

	used.expires_at = accept->now;
	if (ROW_OR(query_run(c, QUERY_INVITATION_USE, &used, NULL, err), fail_used(err)) < 0)
		return -1;
	return used.kind == INVITATION_SETUP ? begin_server(c, accept, err)
	                                     : join_server(c, accept, err);
}

int store_invitation_accept(struct store *s, const struct invitation_acceptance *accept,
                            struct error *err)
{
	return store_change(s, run_acceptance, accept, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "store/logins.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "store/column_rows.h"
#include "store/query.h"
#include "store/touches.h"

NAMES_OF(login_kind, LOGIN_KIND_COUNT, [LOGIN_USER] = "user", [LOGIN_KEY] = "key")
COLUMNS_OF(login_record);
COLUMNS_OF(membership);
COLUMNS_OF(membership_lookup);
COLUMNS_OF(attempt_record);

struct login_insertion {
	const struct login_record *record;
	const unsigned char *replaces;
};

static int end_oldest(struct store_connection *c, const struct login_record *r, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct login_list found;

	if (query_list(c, QUERY_LOGIN_LIST, r, LIST_INTO(&arena, &found), err) < 0)
		return -1;
	for (size_t i = STORE_LOGINS_MAX; i < found.count; i++)
		if (query_run(c, QUERY_LOGIN_END, &found.items[i], NULL, err) < 0)
			return -1;
	return 0;
}

static int run_insertion(struct store_connection *c, void *context, struct error *err)
{
	const struct login_insertion *insertion = context;
	const struct login_record *r = insertion->record;
	struct login_record old = {.id = ""};

	if (insertion->replaces) {
		memcpy(old.hash, insertion->replaces, sizeof(old.hash));
		if (query_run(c, QUERY_LOGIN_END_HASH, &old, NULL, err) < 0)
			return -1;
	}
	if (query_run(c, QUERY_LOGIN_PURGE, r, NULL, err) < 0 ||
	    ROW_OR(query_run(c, QUERY_LOGIN_INSERT, r, NULL, err),
	           FAIL(err, ERROR_CONFLICT, "login '%s' exists already", r->id)) < 0)
		return -1;
	return end_oldest(c, r, err);
}

int store_login_insert(struct store *s, const struct login_record *r, const unsigned char *replaces,
                       struct error *err)
{
	return store_change(s, run_insertion, &(struct login_insertion){r, replaces}, err);
}

int store_login_find(struct store *s, struct arena *a, const unsigned char hash[KEY_HASH_SIZE],
                     struct login_record *ret, struct error *err)
{
	struct login_record wanted = {.id = ""};

	memcpy(wanted.hash, hash, sizeof(wanted.hash));
	if (ROW_OR(store_find_query(s, QUERY_LOGIN_FIND, &wanted, INTO(a, ret), err),
	           FAIL(err, ERROR_NOT_FOUND, "no such session")) < 0)
		return -1;
	ret->last_used_at = touches_latest(s, TOUCHED_LOGIN, ret->id, ret->last_used_at);
	return 0;
}

int store_login_list(struct store *s, struct arena *a, const char *owner_id, struct login_list *ret,
                     struct error *err)
{
	const struct login_record wanted = {.owner_id = owner_id};

	if (store_list_query(s, QUERY_LOGIN_LIST, &wanted, LIST_INTO(a, ret), err) < 0)
		return -1;
	for (size_t i = 0; i < ret->count; i++)
		ret->items[i].last_used_at = touches_latest(s, TOUCHED_LOGIN, ret->items[i].id,
		                                            ret->items[i].last_used_at);
	return 0;
}

int store_login_end(struct store *s, const char *owner_id, const char *id, struct error *err)
{
	const struct login_record wanted = {.owner_id = owner_id, .id = id};

	return ROW_OR(store_change_query(s, QUERY_LOGIN_END, &wanted, err),
	              FAIL_MISSING(err, "session", id));
}

int store_login_end_all(struct store *s, const char *owner_id, struct error *err)
{
	const struct login_record wanted = {.owner_id = owner_id, .id = ""};

	return store_change_query(s, QUERY_LOGIN_END_OTHERS, &wanted, err) < 0 ? -1 : 0;
}

void store_login_touch(struct store *s, const char *id, int64_t now)
{
	touches_add(s, TOUCHED_LOGIN, id, now);
}

int store_memberships(struct store *s, struct arena *a, const struct membership_lookup *lookup,
                      struct membership_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_LOGIN_MEMBERSHIPS, lookup, LIST_INTO(a, ret), err);
}

static int refuse_attempt(const struct attempt_record *r, const struct attempt_limit *limit,
                          struct error *err)
{
	int64_t wait_ms = r->began_at + limit->window_ms - limit->now;

	(void)FAIL(err, ERROR_LIMIT, "too many attempts to sign in");
	err->retry_after_s = (int)((wait_ms + 999) / 1000);
	return FAIL_HINT(err, "wait %d seconds", err->retry_after_s);
}

static int run_attempt(struct store_connection *c, void *context, struct error *err)
{
	const struct attempt_limit *limit = context;
	const struct attempt_record old = {.began_at = limit->now - limit->window_ms};
	AUTO(arena_done) struct arena arena = {0};
	struct attempt_record r = {.id = limit->id};
	int found;

	if (query_run(c, QUERY_ATTEMPT_PURGE, &old, NULL, err) < 0)
		return -1;
	found = query_find(c, QUERY_ATTEMPT_FIND, &r, INTO(&arena, &r), err);
	if (found < 0)
		return -1;
	/* A clock that was set back must not lock anybody out for longer than a window. */
	if (found == 0 || r.began_at > limit->now)
		r = (struct attempt_record){.id = limit->id, .began_at = limit->now};
	if (r.attempts >= limit->max)
		return refuse_attempt(&r, limit, err);
	r.attempts++;
	return query_run(c, QUERY_ATTEMPT_PUT, &r, NULL, err) < 0 ? -1 : 0;
}

int store_attempt_count(struct store *s, const struct attempt_limit *limit, struct error *err)
{
	return store_change_lazily(s, run_attempt, limit, err);
}

int store_attempt_forgive(struct store *s, const char *id, bool all, struct error *err)
{
	const struct attempt_record wanted = {.id = id};

	return store_change_query_lazily(s, all ? QUERY_ATTEMPT_FORGET : QUERY_ATTEMPT_TAKE_BACK,
	                                 &wanted, err) < 0
	               ? -1
	               : 0;
}

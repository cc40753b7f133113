/* SPDX-License-Identifier: Apache-2.0 */
#include "store/keys.h"

#include <string.h>

#include "base/bytes.h"
#include "sandbox/events.h"
#include "store/column_rows.h"
#include "store/event_rows.h"
#include "store/logins.h"
#include "store/members.h"
#include "store/query.h"
#include "store/touches.h"
#include "store/transaction_parts.h"

COLUMNS_OF(key_record);
COLUMNS_OF(key_rotation);

/* How long revoked and expired keys stay while the project is near its limit of keys. */
#define USELESS_KEPT_MS (30 * 86400 * INT64_C(1000))

static void add_touch(struct store *s, struct key_record *r)
{
	r->last_used_at = touches_latest(s, TOUCHED_KEY, r->id, r->last_used_at);
}

static int check_member(struct store_connection *c, const struct key_record *r, struct error *err)
{
	const struct member_record wanted = {.project_id = r->project_id, .user_id = r->user_id};
	AUTO(arena_done) struct arena arena = {0};
	struct member_record found;

	if (!r->user_id || r->user_id[0] == '\0')
		return 0;
	return ROW_OR(query_find(c, QUERY_MEMBER_FIND, &wanted, INTO(&arena, &found), err),
	              FAIL_MISSING(err, "member", r->user_id));
}

static int check_count(struct store_connection *c, const struct key_record *r, struct error *err)
{
	const struct record_lookup lookup = {.project_id = r->project_id,
	                                     .now = r->created_at - USELESS_KEPT_MS};
	int64_t keys;

	if (query_count(c, QUERY_KEY_COUNT, &lookup, &keys, err) < 0)
		return -1;
	if (keys <= STORE_KEYS_MAX)
		return 0;
	if (query_run(c, QUERY_KEY_PURGE, &lookup, NULL, err) < 0)
		return -1;
	return project_check_count(c, QUERY_KEY_COUNT, r->project_id, STORE_KEYS_MAX, "keys", err);
}

static int run_insertion(struct store_connection *c, void *context, struct error *err)
{
	const struct key_record *r = context;

	if (project_lock(c, r->project_id, err) < 0 || check_member(c, r, err) < 0 ||
	    ROW_OR(query_run(c, QUERY_KEY_INSERT, r, NULL, err),
	           FAIL(err, ERROR_CONFLICT, "key '%s' exists already", r->id)) < 0 ||
	    check_count(c, r, err) < 0)
		return -1;
	return event_add_about(c, EVENT_KEY_CREATED,
	                       &(struct event_subject){.project_id = r->project_id, .name = r->id},
	                       err);
}

int store_key_insert(struct store *s, const struct key_record *r, struct error *err)
{
	return store_change(s, run_insertion, r, err);
}

struct key_search {
	struct arena *arena;
	struct key_record wanted, *ret;
};

/* Nearly every key is found by its current secret; others have a replaced secret, or do not
 * exist. */
static int run_search(struct store_connection *c, void *context, struct error *err)
{
	const struct key_search *search = context;
	const struct row_target *into = INTO(search->arena, search->ret);
	int found = query_find(c, QUERY_KEY_FIND_BY_HASH, &search->wanted, into, err);

	if (found == 0)
		found = query_find(c, QUERY_KEY_FIND_BY_OLD_HASH, &search->wanted, into, err);
	return ROW_OR(found, FAIL(err, ERROR_NOT_FOUND, "no such key"));
}

int store_key_find_by_hash(struct store *s, struct arena *a,
                           const unsigned char hash[KEY_HASH_SIZE], struct key_record *ret,
                           struct error *err)
{
	struct key_search search = {.arena = a, .ret = ret};

	memcpy(search.wanted.hash, hash, KEY_HASH_SIZE);
	if (store_read(s, run_search, &search, err) < 0)
		return -1;
	add_touch(s, ret);
	return 0;
}

int store_key_find(struct store *s, struct arena *a, const char *project_id, const char *id,
                   struct key_record *ret, struct error *err)
{
	return ROW_OR(store_find_query(s, QUERY_KEY_FIND,
	                               LOOKUP(.project_id = project_id, .id = id), INTO(a, ret),
	                               err),
	              FAIL_MISSING(err, "key", id));
}

int store_key_list(struct store *s, struct arena *a, const char *project_id, struct key_list *ret,
                   struct error *err)
{
	if (store_list_query(s, QUERY_KEY_LIST, LOOKUP(.project_id = project_id), LIST_INTO(a, ret),
	                     err) < 0)
		return -1;
	for (size_t i = 0; i < ret->count; i++)
		add_touch(s, &ret->items[i]);
	return 0;
}

static int fail_missing(const char *id, struct error *err)
{
	return FAIL_MISSING(err, "key", id);
}

static int end_logins(struct store_connection *c, const char *id, struct error *err)
{
	const struct login_record logins = {.owner_id = id, .id = ""};

	return query_run(c, QUERY_LOGIN_END_OTHERS, &logins, NULL, err) < 0 ? -1 : 0;
}

static int run_revoke(struct store_connection *c, void *context, struct error *err)
{
	const struct record_lookup *lookup = context;

	if (ROW_OR(query_run(c, QUERY_KEY_REVOKE, lookup, NULL, err),
	           fail_missing(lookup->id, err)) < 0 ||
	    end_logins(c, lookup->id, err) < 0)
		return -1;
	return event_add_about(
	        c, EVENT_KEY_REVOKED,
	        &(struct event_subject){.project_id = lookup->project_id, .name = lookup->id}, err);
}

int store_key_revoke(struct store *s, const char *project_id, const char *id, int64_t now,
                     struct error *err)
{
	return store_change(s, run_revoke, LOOKUP(.project_id = project_id, .id = id, .now = now),
	                    err);
}

struct rotating {
	struct arena *arena;
	const struct key_rotation *rotation;
	struct key_record *ret;
};

static int find_living(struct store_connection *c, struct rotating *rotating,
                       struct key_record *ret, struct error *err)
{
	const struct key_rotation *r = rotating->rotation;

	if (ROW_OR(query_find(c, QUERY_KEY_FIND, LOOKUP(.project_id = r->project_id, .id = r->id),
	                      INTO(rotating->arena, ret), err),
	           fail_missing(r->id, err)) < 0)
		return -1;
	if (ret->revoked_at || (ret->expires_at && ret->expires_at <= r->now))
		return FAIL(err, ERROR_CONFLICT, "key '%s' %s", r->id,
		            ret->revoked_at ? "is revoked" : "has expired");
	return 0;
}

static int retire_secrets(struct store_connection *c, const struct key_rotation *r,
                          struct error *err)
{
	int64_t valid;

	if (query_run(c, QUERY_KEY_SECRETS_SHORTEN, r, NULL, err) < 0 ||
	    query_run(c, QUERY_KEY_SECRETS_PURGE, r, NULL, err) < 0 ||
	    query_count(c, QUERY_KEY_SECRETS_COUNT, r, &valid, err) < 0)
		return -1;
	if (valid >= STORE_SECRETS_MAX) {
		(void)FAIL(err, ERROR_LIMIT, "key '%s' has %d older secrets that are valid still",
		           r->id, STORE_SECRETS_MAX);
		return FAIL_HINT(err,
		                 "rotate it with a shorter time of grace, which ends them, too");
	}
	return query_run(c, QUERY_KEY_SECRET_RETIRE, r, NULL, err) < 0 ? -1 : 0;
}

static int run_rotation(struct store_connection *c, void *context, struct error *err)
{
	struct rotating *rotating = context;
	const struct key_rotation *r = rotating->rotation;
	struct key_record record;

	if (project_lock(c, r->project_id, err) < 0 || find_living(c, rotating, &record, err) < 0 ||
	    retire_secrets(c, r, err) < 0 || query_run(c, QUERY_KEY_RENEW, r, NULL, err) < 0 ||
	    end_logins(c, r->id, err) < 0)
		return -1;
	memcpy(record.hash, r->hash, KEY_HASH_SIZE);
	record.prefix = r->prefix;
	*rotating->ret = record;
	return event_add_about(c, EVENT_KEY_ROTATED,
	                       &(struct event_subject){.project_id = r->project_id, .name = r->id},
	                       err);
}

int store_key_rotate(struct store *s, struct arena *a, const struct key_rotation *rotation,
                     struct key_record *ret, struct error *err)
{
	struct rotating rotating = {a, rotation, ret};

	return store_change(s, run_rotation, &rotating, err);
}

void store_key_touch(struct store *s, const char *id, int64_t now)
{
	touches_add(s, TOUCHED_KEY, id, now);
}

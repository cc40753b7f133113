/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "store/driver.h"

static void add_touch(struct store *s, struct key_record *r)
{
	r->last_used_at = touches_latest(s->touches, TOUCHED_KEY, r->id, r->last_used_at);
}

int store_key_insert(struct store *s, const struct key_record *r, struct error *err)
{
	int count = store_change_query(s, QUERY_KEY_INSERT, r, err);

	if (count == 0)
		return FAIL(err, ERROR_CONFLICT, "key '%s' exists already", r->id);
	return count < 0 ? -1 : 0;
}

int store_key_find_by_hash(struct store *s, struct arena *a,
                           const unsigned char hash[KEY_HASH_SIZE], struct key_record *ret,
                           struct error *err)
{
	struct rows rows = {.arena = a, .size = sizeof(*ret)};
	struct key_record wanted = {0};
	int count;

	memcpy(wanted.hash, hash, KEY_HASH_SIZE);
	count = store_read_query(s, QUERY_KEY_FIND_BY_HASH, &wanted, &rows, err);
	if (count == 0)
		return FAIL(err, ERROR_NOT_FOUND, "no such key");
	if (count < 0)
		return -1;
	*ret = *(struct key_record *)rows.items;
	add_touch(s, ret);
	return 0;
}

int store_key_list(struct store *s, struct arena *a, const char *project_id, struct key_list *ret,
                   struct error *err)
{
	struct rows rows = {.arena = a, .size = sizeof(struct key_record)};

	if (store_read_query(s, QUERY_KEY_LIST, &(struct lookup){.project_id = project_id}, &rows,
	                     err) < 0)
		return -1;
	*ret = (struct key_list){rows.items, rows.count};
	for (size_t i = 0; i < ret->count; i++)
		add_touch(s, &ret->items[i]);
	return 0;
}

int store_key_revoke(struct store *s, const char *project_id, const char *id, int64_t now,
                     struct error *err)
{
	const struct lookup lookup = {.project_id = project_id, .id = id, .now = now};
	int count = store_change_query(s, QUERY_KEY_REVOKE, &lookup, err);

	if (count == 0)
		return FAIL(err, ERROR_NOT_FOUND, "no key '%s'", id);
	return count < 0 ? -1 : 0;
}

void store_key_touch(struct store *s, const char *id, int64_t now)
{
	touches_add(s->touches, TOUCHED_KEY, id, now);
}

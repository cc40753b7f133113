/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "edge/keys.h"
#include "store/keys.h"
#include "unit.h"

static struct key_record record(unsigned char first, const char *id)
{
	struct key_record r = {.id = id, .project_id = "p", .user_id = "ann", .scopes = 3};

	memset(r.hash, first, sizeof(r.hash));
	return r;
}

static bool find(struct api_key_cache *c, const struct key_record *r, int64_t now,
                 uint64_t *ret_ticket)
{
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	struct api_key_found found;
	bool is_there = api_key_cache_find(c, &a, r->hash, now, &found);

	if (is_there) {
		assert_string_equal(found.record.id, r->id);
		assert_string_equal(found.record.project_id, r->project_id);
		assert_string_equal(found.record.user_id, r->user_id);
		assert_int_equal(found.record.scopes, r->scopes);
	}
	*ret_ticket = found.ticket;
	return is_there;
}

TEST(a_key_is_found_until_it_has_aged)
{
	struct api_key_cache *c = api_key_cache_new();
	struct key_record r = record(1, "one");
	uint64_t ticket;

	assert_false(find(c, &r, 100, &ticket));
	api_key_cache_put(c, ticket, &r, 100);
	assert_true(find(c, &r, 100 + API_KEY_CACHE_MS - 1, &ticket));
	assert_false(find(c, &r, 100 + API_KEY_CACHE_MS, &ticket));
	api_key_cache_free(c);
}

TEST(another_hash_in_the_same_place_is_not_taken_for_it)
{
	struct api_key_cache *c = api_key_cache_new();
	struct key_record r = record(1, "one"), other = record(1, "two");
	uint64_t ticket;

	other.hash[31] = 9;
	assert_false(find(c, &r, 0, &ticket));
	api_key_cache_put(c, ticket, &r, 0);
	assert_false(find(c, &other, 1, &ticket));
	api_key_cache_put(c, ticket, &other, 1);
	assert_true(find(c, &other, 2, &ticket));
	assert_false(find(c, &r, 2, &ticket));
	api_key_cache_free(c);
}

TEST(emptying_forgets_keys_and_what_was_read_before_it)
{
	struct api_key_cache *c = api_key_cache_new();
	struct key_record r = record(7, "seven");
	uint64_t ticket;

	assert_false(find(c, &r, 0, &ticket));
	api_key_cache_clear(c);
	api_key_cache_put(c, ticket, &r, 0); /* the store was asked before the revocation */
	assert_false(find(c, &r, 1, &ticket));
	api_key_cache_put(c, ticket, &r, 1);
	assert_true(find(c, &r, 2, &ticket));
	api_key_cache_clear(c);
	assert_false(find(c, &r, 3, &ticket));
	api_key_cache_free(c);
	api_key_cache_free(NULL);
}

TEST(ids_that_are_too_long_are_not_kept)
{
	struct api_key_cache *c = api_key_cache_new();
	char id[100];
	struct key_record r;
	uint64_t ticket;

	memset(id, 'x', sizeof(id));
	id[99] = '\0';
	r = record(3, id);
	assert_false(find(c, &r, 0, &ticket));
	api_key_cache_put(c, ticket, &r, 0);
	assert_false(find(c, &r, 0, &ticket));
	api_key_cache_free(c);
}

int main(void)
{
	return RUN(CASE(a_key_is_found_until_it_has_aged),
	           CASE(another_hash_in_the_same_place_is_not_taken_for_it),
	           CASE(emptying_forgets_keys_and_what_was_read_before_it),
	           CASE(ids_that_are_too_long_are_not_kept));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "store/approvals.h"

#include "each_store.h"

#define DAY (86400 * INT64_C(1000))

static struct approval_record sample(const char *id, unsigned char hash)
{
	struct approval_record r = {
	        .id = id,
	        .project_id = PROJECT,
	        .key_id = "key",
	        .conversation_id = "",
	        .origin_json = "{\"type\":\"webhook\"}",
	        .sandbox_id = "box",
	        .tool = "bash",
	        .input = "{}",
	        .note = "",
	        .decided_by = "",
	        .created_at = NOW,
	        .expires_at = NOW + DAY,
	};

	memset(r.hash, hash, sizeof(r.hash));
	return r;
}

static int decide(struct store *s, const char *id, enum approval_state from, enum approval_state to,
                  struct error *err)
{
	const struct approval_decision decision = {PROJECT, id,      from,    to,
	                                           "note",  "other", NOW + 1, NOW + DAY};

	return store_approval_decide(s, &decision, err);
}

static void an_approval_is_used_once(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct approval_record r = sample("aaaaaaaaaaaaaaaaaaaa", 1), found;
	struct error err = {0};

	assert_done(store_approval_insert(*state, &r, 10, &err));
	assert_refused(decide(*state, r.id, APPROVAL_APPROVED, APPROVAL_USED, &err),
	               ERROR_CONFLICT);
	assert_done(decide(*state, r.id, APPROVAL_PENDING, APPROVAL_APPROVED, &err));
	assert_refused(decide(*state, r.id, APPROVAL_PENDING, APPROVAL_REFUSED, &err),
	               ERROR_CONFLICT);
	assert_done(decide(*state, r.id, APPROVAL_APPROVED, APPROVAL_USED, &err));
	assert_refused(decide(*state, r.id, APPROVAL_APPROVED, APPROVAL_USED, &err),
	               ERROR_CONFLICT);
	assert_done(store_approval_find(*state, &a, PROJECT, r.id, &found, &err));
	assert_int_equal(found.state, APPROVAL_USED);
	assert_string_equal(found.decided_by, "other");
	assert_string_equal(found.origin_json, r.origin_json);
	assert_refused(store_approval_find(*state, &a, "another", r.id, &found, &err),
	               ERROR_NOT_FOUND);
}

static void a_call_finds_its_own_and_no_other(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct approval_record r = sample("aaaaaaaaaaaaaaaaaaaa", 1), found;
	struct approval_record wanted = sample("", 1);
	struct error err = {0};

	assert_done(store_approval_insert(*state, &r, 10, &err));
	assert_done(store_approval_match(*state, &a, &wanted, &found, &err));
	assert_string_equal(found.id, r.id);
	wanted.key_id = "stranger";
	assert_refused(store_approval_match(*state, &a, &wanted, &found, &err), ERROR_NOT_FOUND);
	wanted = sample("", 2);
	assert_refused(store_approval_match(*state, &a, &wanted, &found, &err), ERROR_NOT_FOUND);
	wanted = sample("", 1);
	wanted.created_at = r.expires_at;
	assert_refused(store_approval_match(*state, &a, &wanted, &found, &err), ERROR_NOT_FOUND);
	assert_done(decide(*state, r.id, APPROVAL_PENDING, APPROVAL_REFUSED, &err));
	wanted = sample("", 1);
	assert_refused(store_approval_match(*state, &a, &wanted, &found, &err), ERROR_NOT_FOUND);
}

static void so_many_wait_and_what_expires_goes(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct approval_record one = sample("aaaaaaaaaaaaaaaaaaaa", 1),
	                       two = sample("abaaaaaaaaaaaaaaaaaa", 2);
	struct approval_filter filter = {PROJECT, "pending", NOW, 10, NULL};
	struct approval_list list;
	struct error err = {0};

	assert_done(store_approval_insert(*state, &one, 1, &err));
	assert_refused(store_approval_insert(*state, &two, 1, &err), ERROR_LIMIT);
	two.created_at = NOW + 1;
	assert_done(store_approval_insert(*state, &two, 2, &err));
	assert_done(store_approval_list(*state, &a, &filter, &list, &err));
	assert_int_equal(list.count, 2);
	assert_string_equal(list.items[0].id, two.id);
	filter.state = "used";
	assert_done(store_approval_list(*state, &a, &filter, &list, &err));
	assert_int_equal(list.count, 0);
	filter = (struct approval_filter){PROJECT, NULL, NOW + DAY, 10, NULL};
	assert_done(store_approval_list(*state, &a, &filter, &list, &err));
	assert_int_equal(list.count, 0);
	assert_done(store_approval_purge(*state, NOW + DAY + 1, &err));
	assert_refused(store_approval_find(*state, &a, PROJECT, one.id, &one, &err),
	               ERROR_NOT_FOUND);
}

static const struct CMUnitTest tests[] = {
        EACH(an_approval_is_used_once),
        EACH(a_call_finds_its_own_and_no_other),
        EACH(so_many_wait_and_what_expires_goes),
};

int main(void)
{
	return each_store_run(tests, COUNT_OF(tests));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "each_store.h"

#include "store/leases.h"

#define ONE "aaaaaaaaaaaaaaaaaaaa"
#define TWO "bbbbbbbbbbbbbbbbbbbb"

static struct lease_record sample_claim(const char *key, const char *sandbox_id)
{
	return (struct lease_record){.project_id = PROJECT,
	                             .key = key,
	                             .sandbox_id = sandbox_id,
	                             .status = LEASE_CREATING,
	                             .epoch = 1,
	                             .creating_since = NOW,
	                             .created_at = NOW,
	                             .last_activity_at = NOW};
}

static struct lease_record find_lease(struct store *s, struct arena *a, const char *key)
{
	struct error err = {0};
	struct lease_record found = {0};

	assert_done(store_lease_find(s, a, &(struct lease_ref){PROJECT, key}, &found, &err));
	return found;
}

static struct lease_record claimed(struct store *s, struct arena *a, const char *key,
                                   const char *sandbox_id)
{
	const struct lease_record claim = sample_claim(key, sandbox_id);
	struct error err = {0};

	assert_done(store_lease_insert(s, &claim, &err));
	return find_lease(s, a, key);
}

static void add_sandbox(struct store *s, const char *id, enum sandbox_state state)
{
	struct sandbox_record r = sample_sandbox(id, id);
	struct error err = {0};

	r.actual = state;
	r.last_activity_at = NOW + 7;
	assert_done(store_sandbox_insert(s, &r, 0, &err));
}

static void a_claim_comes_back_with_the_state_of_its_sandbox(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct lease_record r = claimed(*state, &a, "user:1 \xc3\xa9/\"x\"", ONE);

	assert_string_equal(r.sandbox_id, ONE);
	assert_int_equal(r.status, LEASE_CREATING);
	assert_int_equal(r.lock_version, 1);
	assert_int_equal(r.epoch, 1);
	assert_int_equal(r.creating_since, NOW);
	assert_int_equal(r.actual, SANDBOX_DELETED);
	assert_string_equal(r.provider, "");
	add_sandbox(*state, ONE, SANDBOX_STARTED);
	r = find_lease(*state, &a, r.key);
	assert_int_equal(r.actual, SANDBOX_STARTED);
	assert_string_equal(r.provider, "null");
	assert_int_equal(r.sandbox_activity_at, NOW + 7);
	store_sandbox_touch(*state, ONE, NOW + 9);
	assert_int_equal(find_lease(*state, &a, r.key).sandbox_activity_at, NOW + 9);
}

static void a_key_is_claimed_once_and_is_its_projects_own(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	const struct lease_record again = sample_claim("k", TWO);
	struct error err = {0};
	struct lease_record found;

	claimed(*state, &a, "k", ONE);
	assert_refused(store_lease_insert(*state, &again, &err), ERROR_CONFLICT);
	assert_string_equal(find_lease(*state, &a, "k").sandbox_id, ONE);
	assert_refused(
	        store_lease_find(*state, &a, &(struct lease_ref){"other", "k"}, &found, &err),
	        ERROR_NOT_FOUND);
	assert_refused(
	        store_lease_find(*state, &a, &(struct lease_ref){PROJECT, "K"}, &found, &err),
	        ERROR_NOT_FOUND);
}

static void of_two_who_saw_the_same_version_one_wins(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct lease_record first = claimed(*state, &a, "k", ONE), second = first;
	struct error err = {0};

	first.sandbox_id = TWO;
	first.epoch++;
	assert_done(store_lease_replace(*state, &first, &err));
	second.status = LEASE_READY;
	assert_refused(store_lease_replace(*state, &second, &err), ERROR_CONFLICT);
	assert_refused(store_lease_remove(*state, &second, &err), ERROR_CONFLICT);
	first = find_lease(*state, &a, "k");
	assert_string_equal(first.sandbox_id, TWO);
	assert_int_equal(first.lock_version, 2);
	assert_int_equal(first.epoch, 2);
	assert_done(store_lease_remove(*state, &first, &err));
	assert_refused(store_lease_remove(*state, &first, &err), ERROR_CONFLICT);
}

static void who_finishes_late_learns_that_another_sandbox_won(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct lease_record late = claimed(*state, &a, "k", ONE), taken = late;
	struct error err = {0};

	taken.sandbox_id = TWO;
	taken.epoch++;
	assert_done(store_lease_replace(*state, &taken, &err));
	assert_refused(store_lease_finish(*state, &late, &err), ERROR_CONFLICT);
	taken.active_since = NOW + 3;
	assert_done(store_lease_finish(*state, &taken, &err));
	/* Somebody may have done it for him. */
	assert_done(store_lease_finish(*state, &taken, &err));
	taken = find_lease(*state, &a, "k");
	assert_int_equal(taken.status, LEASE_READY);
	assert_int_equal(taken.active_since, NOW + 3);
}

static void a_list_has_pages_and_prefixes_that_are_no_patterns(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	static const char *const keys[] = {"ws:1:a", "ws:1:b", "ws:10:a",
	                                   "ws:1%",  "ws_1:a", "\xc3\xa9:1"};
	struct lease_filter filter = {PROJECT, "ws:1:", "", 1};
	struct error err = {0};
	struct lease_list list;
	char id[] = ONE;

	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		id[0] = (char)('c' + i);
		claimed(*state, &a, keys[i], id);
	}
	assert_done(store_lease_list(*state, &a, &filter, &list, &err));
	assert_int_equal(list.count, 1);
	assert_string_equal(list.items[0].key, "ws:1:a");
	assert_non_null(list.next);
	filter.after = list.next;
	assert_done(store_lease_list(*state, &a, &filter, &list, &err));
	assert_string_equal(list.items[0].key, "ws:1:b");
	assert_null(list.next);
	filter = (struct lease_filter){PROJECT, "ws:1%", "", 100};
	assert_done(store_lease_list(*state, &a, &filter, &list, &err));
	assert_int_equal(list.count, 1);
	filter.prefix = "\xc3\xa9";
	assert_done(store_lease_list(*state, &a, &filter, &list, &err));
	assert_int_equal(list.count, 1);
	filter.prefix = "";
	assert_done(store_lease_list(*state, &a, &filter, &list, &err));
	assert_int_equal(list.count, COUNT_OF(keys));
	filter.project_id = "other";
	assert_done(store_lease_list(*state, &a, &filter, &list, &err));
	assert_int_equal(list.count, 0);
}

static void a_sandbox_that_no_lease_names_is_a_stray_until_it_is_forgotten(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct lease_record r = claimed(*state, &a, "k", ONE);
	struct error err = {0};
	struct lease_stray_list strays;

	add_sandbox(*state, ONE, SANDBOX_STARTED);
	assert_done(store_lease_strays(*state, &a, &strays, &err));
	assert_int_equal(strays.count, 0);
	r.sandbox_id = TWO;
	assert_done(store_lease_replace(*state, &r, &err));
	assert_done(store_lease_strays(*state, &a, &strays, &err));
	assert_int_equal(strays.count, 1);
	assert_string_equal(strays.items[0].sandbox_id, ONE);
	assert_string_equal(strays.items[0].provider, "null");
	assert_int_equal(strays.items[0].actual, SANDBOX_STARTED);
	assert_int_equal(strays.items[0].claimed_at, NOW);
	assert_done(store_lease_stray_forget(*state, ONE, &err));
	r = find_lease(*state, &a, "k");
	assert_done(store_lease_remove(*state, &r, &err));
	assert_done(store_lease_strays(*state, &a, &strays, &err));
	assert_int_equal(strays.count, 1);
	assert_string_equal(strays.items[0].sandbox_id, TWO);
	assert_int_equal(strays.items[0].actual, SANDBOX_PENDING);
	assert_string_equal(strays.items[0].provider, "");
}

static size_t unsound(struct store *s)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct lease_list list;

	assert_done(store_lease_unsound(s, &a, NOW, &list, &err));
	return list.count;
}

static void what_nobody_finished_is_unsound(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct lease_record fresh = claimed(*state, &a, "fresh", ONE), r;
	struct error err = {0};
	struct sandbox_move fails = sample_move(TWO, SANDBOX_STARTED, SANDBOX_FAILED);

	assert_int_equal(unsound(*state), 0);
	add_sandbox(*state, ONE, SANDBOX_STARTED);
	assert_int_equal(unsound(*state), 1); /* made, and nobody said so */
	assert_done(store_lease_finish(*state, &fresh, &err));
	assert_int_equal(unsound(*state), 0);
	r = claimed(*state, &a, "late", TWO);
	r.creating_since = NOW - 1;
	assert_done(store_lease_stray_forget(*state, TWO, &err));
	assert_done(store_lease_replace(*state, &r, &err));
	assert_int_equal(unsound(*state), 1);
	add_sandbox(*state, TWO, SANDBOX_STARTED);
	assert_done(store_lease_finish(*state, &r, &err));
	assert_int_equal(unsound(*state), 0);
	assert_done(store_sandbox_move(*state, &fails, &err));
	assert_int_equal(unsound(*state), 1);
}

static void only_empty_ones_are_purged(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct lease_record r = claimed(*state, &a, "k", ONE), gone;
	struct error err = {0};

	r.status = LEASE_READY;
	assert_done(store_lease_replace(*state, &r, &err));
	assert_done(store_lease_purge(*state, NOW + 1, &err));
	r = find_lease(*state, &a, "k");
	r.status = LEASE_EMPTY;
	r.sandbox_id = "";
	assert_done(store_lease_replace(*state, &r, &err));
	assert_done(store_lease_purge(*state, NOW, &err));
	find_lease(*state, &a, "k");
	assert_done(store_lease_purge(*state, NOW + 1, &err));
	assert_refused(store_lease_find(*state, &a, &(struct lease_ref){PROJECT, "k"}, &gone, &err),
	               ERROR_NOT_FOUND);
}

/* Those that have a sandbox count; other leases do not. */
static void a_project_has_at_most_so_many_sessions(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct lease_record r = sample_claim("session:t/1", ONE);

	r.sessions_max = 1;
	(void)claimed(*state, &a, "k", "cccccccccccccccccccc");
	assert_done(store_lease_insert(*state, &r, &err));
	r.key = "session:t/2";
	r.sandbox_id = TWO;
	assert_refused(store_lease_insert(*state, &r, &err), ERROR_LIMIT);
	assert_refused(store_lease_find(*state, &a, &(struct lease_ref){PROJECT, r.key},
	                                &(struct lease_record){0}, &err),
	               ERROR_NOT_FOUND);
	/* The first one's has gone. */
	r = find_lease(*state, &a, "session:t/1");
	r.status = LEASE_READY;
	assert_done(store_lease_replace(*state, &r, &err));
	r = sample_claim("session:t/2", TWO);
	r.sessions_max = 1;
	assert_done(store_lease_insert(*state, &r, &err));
	/* And wants another one. */
	r = find_lease(*state, &a, "session:t/1");
	r.status = LEASE_CREATING;
	r.sessions_max = 1;
	assert_refused(store_lease_replace(*state, &r, &err), ERROR_LIMIT);
	r.sessions_max = 2;
	assert_done(store_lease_replace(*state, &r, &err));
}

static void a_claim_and_its_sandbox_are_written_together_or_not_at_all(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct lease_record claim = sample_claim("k", ONE), other = sample_claim("k", TWO);
	struct sandbox_record one = sample_sandbox(ONE, "one"), two = sample_sandbox(TWO, "two");
	struct sandbox_insertion first = {.record = &one, .claim = &claim};
	struct sandbox_insertion second = {.record = &two, .claim = &other};
	struct sandbox_insertion same_name = {.record = &two, .claim = &other};
	struct sandbox_record found;
	struct error err = {0};

	assert_done(store_sandbox_insert_with(*state, &first, &err));
	assert_int_equal(find_lease(*state, &a, "k").lock_version, 1);
	assert_string_equal(find_lease(*state, &a, "k").sandbox_id, ONE);
	/* who loses the lease makes no sandbox */
	assert_refused(store_sandbox_insert_with(*state, &second, &err), ERROR_CONFLICT);
	assert_true(second.is_claim_lost);
	assert_refused(store_sandbox_find(*state, &a, NULL, TWO, &found, &err), ERROR_NOT_FOUND);
	/* and whose sandbox cannot be made has no lease */
	two.name = "one";
	other.key = "other";
	assert_refused(store_sandbox_insert_with(*state, &same_name, &err), ERROR_CONFLICT);
	assert_false(same_name.is_claim_lost);
	assert_refused(
	        store_lease_find(*state, &a, &(struct lease_ref){PROJECT, "other"}, &claim, &err),
	        ERROR_NOT_FOUND);
	/* one that is there is replaced by its version */
	other = find_lease(*state, &a, "k");
	other.sandbox_id = TWO;
	other.status = LEASE_CREATING;
	two.name = "two";
	assert_done(store_sandbox_insert_with(*state, &second, &err));
	assert_false(second.is_claim_lost);
	assert_string_equal(find_lease(*state, &a, "k").sandbox_id, TWO);
}

static void a_lease_is_finished_with_the_start_of_its_sandbox_alone(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct lease_record r = claimed(*state, &a, "k", ONE);
	bool is_lost = true;
	struct sandbox_move start = {.id = ONE,
	                             .from = SANDBOX_CREATING,
	                             .to = SANDBOX_STARTED,
	                             .desired = -1,
	                             .event = "started",
	                             .now = NOW,
	                             .lease = &r,
	                             .ret_lease_lost = &is_lost};
	struct error err = {0};

	add_sandbox(*state, ONE, SANDBOX_CREATING);
	assert_done(store_sandbox_move(*state, &start, &err));
	assert_false(is_lost);
	assert_int_equal(find_lease(*state, &a, "k").status, LEASE_READY);
	/* taken over meanwhile: the sandbox is started all the same, and nobody's */
	r = claimed(*state, &a, "j", TWO);
	add_sandbox(*state, TWO, SANDBOX_CREATING);
	r.sandbox_id = "cccccccccccccccccccc";
	assert_done(store_lease_replace(*state, &r, &err));
	r.sandbox_id = start.id = TWO;
	assert_done(store_sandbox_move(*state, &start, &err));
	assert_true(is_lost);
	assert_int_equal(find_lease(*state, &a, "j").status, LEASE_CREATING);
	/* and a move that is refused finishes nothing */
	r = claimed(*state, &a, "i", TWO);
	assert_refused(store_sandbox_move(*state, &start, &err), ERROR_CONFLICT);
	assert_int_equal(find_lease(*state, &a, "i").status, LEASE_CREATING);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	        EACH(a_claim_comes_back_with_the_state_of_its_sandbox),
	        EACH(a_key_is_claimed_once_and_is_its_projects_own),
	        EACH(of_two_who_saw_the_same_version_one_wins),
	        EACH(who_finishes_late_learns_that_another_sandbox_won),
	        EACH(a_list_has_pages_and_prefixes_that_are_no_patterns),
	        EACH(a_sandbox_that_no_lease_names_is_a_stray_until_it_is_forgotten),
	        EACH(what_nobody_finished_is_unsound),
	        EACH(only_empty_ones_are_purged),
	        EACH(a_project_has_at_most_so_many_sessions),
	        EACH(a_claim_and_its_sandbox_are_written_together_or_not_at_all),
	        EACH(a_lease_is_finished_with_the_start_of_its_sandbox_alone),
	};

	return each_store_run(tests, COUNT_OF(tests));
}

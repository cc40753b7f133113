/* SPDX-License-Identifier: Apache-2.0 */
#include "base/id.h"
#include "harness.h"
#include "sandbox/lease.h"
#include "store/sandbox_record.h"
#include "fleet/lease/once.h"
#include "fleet/lifecycle/create.h"
#include "fleet/server/fleet.h"

static const struct fleet_once request = {
        .project_id = PROJECT, .operation = "create", .key = "k-1", .hash = {1}};

static struct fleet_once_found begin(struct harness *h)
{
	struct fleet_once_found found = {0};
	struct error err = {0};

	assert_done(fleet_once_begin(h->fleet, &h->arena, &request, &found, &err));
	return found;
}

static void the_first_makes_and_the_others_find(void **state)
{
	struct harness *h = *state;
	struct fleet_once_found first = begin(h), second;

	assert_true(first.is_first);
	create_with(h, (struct fleet_create){.id = first.id});
	fleet_once_done(h->fleet, &request, &first, &(struct fleet_once_result){first.id, true});
	second = begin(h);
	assert_false(second.is_first);
	assert_true(second.created);
	assert_string_equal(second.id, first.id);
}

static void another_body_operation_or_project_is_another_request(void **state)
{
	struct harness *h = *state;
	struct fleet_once other = request;
	struct fleet_once_found found;
	struct error err = {0};

	assert_true(begin(h).is_first);
	other.hash[31] = 1;
	assert_refused(fleet_once_begin(h->fleet, &h->arena, &other, &found, &err), ERROR_CONFLICT);
	assert_non_null(strstr(err.text, "Idempotency-Key"));
	other.operation = "acquire";
	assert_done(fleet_once_begin(h->fleet, &h->arena, &other, &found, &err));
	assert_true(found.is_first);
	other.project_id = "other";
	assert_done(fleet_once_begin(h->fleet, &h->arena, &other, &found, &err));
	assert_true(found.is_first);
}

static void keys_are_visible_text_of_some_length(void **state)
{
	struct harness *h = *state;
	char longest[ONCE_KEY_MAX + 2] = {0};
	struct fleet_once_found found;
	struct error err = {0};

	memset(longest, 'k', ONCE_KEY_MAX + 1);
	const char *const bad[] = {"", "a b", "a\n", "\xc3\xa9", longest};

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct fleet_once once = request;

		once.key = bad[i];
		assert_refused(fleet_once_begin(h->fleet, &h->arena, &once, &found, &err),
		               ERROR_INVALID);
	}
}

static void one_that_failed_may_be_tried_again(void **state)
{
	struct harness *h = *state;
	struct fleet_once_found first = begin(h), second;

	fleet_once_failed(h->fleet, &request, &first);
	second = begin(h);
	assert_true(second.is_first);
	assert_string_not_equal(second.id, first.id);
}

static void one_whose_maker_died_after_making_it_is_found(void **state)
{
	struct harness *h = *state;
	struct fleet_once_found first = begin(h), second;

	create_with(h, (struct fleet_create){.id = first.id});
	harness_restart(h);
	second = begin(h);
	assert_false(second.is_first);
	assert_string_equal(second.id, first.id);
}

static void one_whose_maker_died_before_that_is_taken_over(void **state)
{
	struct harness *h = *state;
	struct id id = id_new();
	struct once_record old = {.project_id = PROJECT,
	                          .operation = request.operation,
	                          .key = request.key,
	                          .hash = {1},
	                          .sandbox_id = id.text,
	                          .begun_at = clock_unix_ms() - LEASE_CREATING_MAX_MS - 1000};
	struct fleet_once_found found;
	struct error err = {0};

	assert_done(store_once_insert(h->store, &old, &err));
	found = begin(h);
	assert_true(found.is_first);
	assert_string_not_equal(found.id, id.text);
	/* Who comes late does not undo what the other one does. */
	fleet_once_failed(h->fleet, &request,
	                  &(struct fleet_once_found){.is_first = true, .id = id.text});
	create_with(h, (struct fleet_create){.id = found.id});
	assert_false(begin(h).is_first);
}

static void a_day_later_it_is_forgotten(void **state)
{
	struct harness *h = *state;
	struct fleet_once_found first = begin(h);
	struct error err = {0};

	fleet_once_done(h->fleet, &request, &first, &(struct fleet_once_result){first.id, true});
	fleet_tick(h->fleet);
	assert_false(begin(h).is_first);
	assert_done(store_once_purge(h->store, clock_unix_ms() + 1, &err));
	assert_true(begin(h).is_first);
}

struct rival {
	struct harness *h;
	pthread_t thread;
	struct fleet_once_found found;
	struct arena arena;
};

static void *compete(void *argument)
{
	struct rival *rival = argument;
	struct error err = {0};

	(void)!fleet_once_begin(rival->h->fleet, &rival->arena, &request, &rival->found, &err);
	return NULL;
}

static void who_comes_meanwhile_waits_for_the_first(void **state)
{
	struct harness *h = *state;
	struct fleet_once_found first = begin(h);
	struct rival rival = {.h = h};

	assert_int_equal(pthread_create(&rival.thread, NULL, compete, &rival), 0);
	create_with(h, (struct fleet_create){.id = first.id});
	fleet_once_done(h->fleet, &request, &first, &(struct fleet_once_result){first.id, true});
	pthread_join(rival.thread, NULL);
	assert_false(rival.found.is_first);
	assert_string_equal(rival.found.id, first.id);
	arena_done(&rival.arena);
}

/* Many may wait for one: each looks by itself, and does so less and less often. */
static void one_that_is_parked_for_long_looks_seldom(void **state)
{
	static const struct {
		int64_t waited_ms;
		int least_ms, most_ms;
	} rows[] = {{0, 1, 100}, {400, 100, 300}, {2000, 500, 700}, {20000, 1000, 1000}};
	struct harness *h = *state;
	struct fleet_once parked = request;
	struct fleet_once_found found;
	char key[ERROR_AWAITS_MAX] = "";

	parked.parks = true;
	parked.awaited.key = key;
	assert_true(begin(h).is_first);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct error err = {0};

		parked.awaited.for_ms = rows[i].waited_ms;
		assert_refused(fleet_once_begin(h->fleet, &h->arena, &parked, &found, &err),
		               ERROR_UNAVAILABLE);
		memcpy(key, err.awaits.key, sizeof(key));
		assert_true(err.awaits.again_ms >= rows[i].least_ms);
		assert_true(err.awaits.again_ms <= rows[i].most_ms);
	}
}

int main(void)
{
	return RUN_EACH(EACH(the_first_makes_and_the_others_find),
	                EACH(another_body_operation_or_project_is_another_request),
	                EACH(keys_are_visible_text_of_some_length),
	                EACH(one_that_failed_may_be_tried_again),
	                EACH(one_whose_maker_died_after_making_it_is_found),
	                EACH(one_whose_maker_died_before_that_is_taken_over),
	                EACH(a_day_later_it_is_forgotten),
	                EACH(who_comes_meanwhile_waits_for_the_first),
	                EACH(one_that_is_parked_for_long_looks_seldom));
}

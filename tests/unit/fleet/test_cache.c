/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "fleet/core/cache.h"
#include "fleet/core/cache_state.h"

#define ID "aaaaaaaaaaaaaaaaaaaa"

static struct sandbox_record row(enum sandbox_state actual, int64_t version)
{
	return (struct sandbox_record){.id = ID,
	                               .project_id = "project",
	                               .name = "box",
	                               .actual = actual,
	                               .version = version};
}

static bool is_known(struct cache *c, const char *project_id, const char *id_or_name)
{
	AUTO(arena_done) struct arena arena = {0};
	struct sandbox_record r;

	if (!cache_hold(c, &arena, project_id, id_or_name, &r))
		return false;
	cache_unhold(c, ID);
	return true;
}

TEST(only_a_started_row_is_known_and_only_to_its_project)
{
	AUTO(cache_done) struct cache c;
	struct sandbox_record r = row(SANDBOX_CREATING, 1);
	struct cache_entry *entry;

	cache_init(&c);
	entry = cache_pin(&c, ID);
	cache_update(&c, entry, &r);
	assert_false(is_known(&c, "project", ID));
	r = row(SANDBOX_STARTED, 2);
	cache_update(&c, entry, &r);
	cache_unpin(&c, entry);
	assert_true(is_known(&c, "project", ID));
	assert_true(is_known(&c, "project", "box"));
	assert_true(is_known(&c, NULL, ID));
	assert_false(is_known(&c, NULL, "box"));
	assert_false(is_known(&c, "other", ID));
	assert_false(is_known(&c, "other", "box"));
}

TEST(an_older_row_never_covers_a_newer_one)
{
	AUTO(cache_done) struct cache c;
	struct sandbox_record newer = row(SANDBOX_STOPPED, 5), older = row(SANDBOX_STARTED, 4);
	struct cache_entry *entry;

	cache_init(&c);
	entry = cache_pin(&c, ID);
	cache_update(&c, entry, &newer);
	cache_update(&c, entry, &older);
	assert_false(is_known(&c, "project", ID));
	newer = row(SANDBOX_STARTED, 6);
	cache_update(&c, entry, &newer);
	assert_true(is_known(&c, "project", ID));
	cache_unpin(&c, entry);
}

TEST(a_slot_that_nobody_needs_is_forgotten)
{
	AUTO(cache_done) struct cache c;
	struct sandbox_record r = row(SANDBOX_STARTED, 1);
	struct cache_entry *entry;

	cache_init(&c);
	entry = cache_pin(&c, ID);
	cache_update(&c, entry, &r);
	cache_unpin(&c, entry);
	assert_int_equal(c.by_id.count, 1);
	entry = cache_pin(&c, ID);
	r = row(SANDBOX_DELETED, 2);
	cache_update(&c, entry, &r);
	cache_unpin(&c, entry);
	assert_int_equal(c.by_id.count, 0);
	assert_int_equal(c.by_name.count, 0);
}

TEST(a_held_slot_outlives_its_sandbox)
{
	AUTO(cache_done) struct cache c;
	AUTO(arena_done) struct arena arena = {0};
	struct sandbox_record r = row(SANDBOX_STARTED, 1), held;
	struct cache_entry *entry;

	cache_init(&c);
	entry = cache_pin(&c, ID);
	cache_update(&c, entry, &r);
	assert_ptr_equal(cache_hold(&c, &arena, "project", "box", &held), entry);
	r = row(SANDBOX_DELETED, 2);
	cache_update(&c, entry, &r);
	cache_unpin(&c, entry);
	assert_true(cache_is_held(&c, ID));
	assert_string_equal(held.name, "box");
	cache_unhold(&c, ID);
	assert_false(cache_is_held(&c, ID));
	assert_int_equal(c.by_id.count, 0);
}

TEST(the_reaper_closes_only_what_nobody_holds_or_has_used_since)
{
	AUTO(cache_done) struct cache c;
	AUTO(arena_done) struct arena arena = {0};
	struct sandbox_record r = row(SANDBOX_STARTED, 1);
	struct cache_entry *entry;

	cache_init(&c);
	entry = cache_pin(&c, ID);
	cache_update(&c, entry, &r);
	assert_non_null(cache_hold(&c, &arena, "project", ID, &r));
	assert_false(cache_close_idle(&c, entry, 1000));
	cache_unhold(&c, ID);
	assert_true(cache_touch(&c, ID, 1001));
	assert_false(cache_close_idle(&c, entry, 1000));
	assert_true(cache_close_idle(&c, entry, 1001));
	assert_false(is_known(&c, "project", ID));
	cache_reopen(&c, entry);
	assert_true(is_known(&c, "project", ID));
	cache_unpin(&c, entry);
}

TEST(touches_are_told_on_at_most_once_a_second)
{
	AUTO(cache_done) struct cache c;
	struct cache_entry *entry;

	cache_init(&c);
	entry = cache_pin(&c, ID);
	assert_true(cache_touch(&c, ID, 5000));
	assert_false(cache_touch(&c, ID, 5999));
	assert_true(cache_touch(&c, ID, 6000));
	assert_true(cache_touch(&c, "unknown", 6000));
	cache_unpin(&c, entry);
}

TEST(an_actor_is_waited_for_until_the_deadline)
{
	AUTO(cache_done) struct cache c;
	struct cache_entry *entry;

	cache_init(&c);
	entry = cache_pin(&c, ID);
	assert_false(cache_is_busy(&c, ID));
	assert_true(cache_operation_begin(&c, entry, deadline_after(0)));
	assert_true(cache_is_busy(&c, ID));
	assert_false(cache_operation_begin(&c, entry, deadline_after(0)));
	assert_false(cache_operation_begin(&c, entry, deadline_after(2)));
	cache_operation_end(&c, entry);
	assert_true(cache_operation_begin(&c, entry, deadline_after(0)));
	cache_operation_end(&c, entry);
	cache_set_queued(&c, entry, true);
	assert_true(cache_is_busy(&c, ID));
	cache_unpin(&c, entry);
}

struct actor {
	struct cache *cache;
	unsigned *unguarded;
};

static void *act_often(void *argument)
{
	struct actor *actor = argument;

	for (unsigned i = 0; i < 500; i++) {
		struct cache_entry *entry = cache_pin(actor->cache, ID);

		if (cache_operation_begin(actor->cache, entry, deadline_after(60000))) {
			++*actor->unguarded;
			cache_operation_end(actor->cache, entry);
		}
		cache_unpin(actor->cache, entry);
	}
	return NULL;
}

TEST(one_thread_acts_at_a_time)
{
	enum { THREADS = 4 };
	AUTO(cache_done) struct cache c;
	unsigned unguarded = 0;
	struct actor actor = {&c, &unguarded};
	pthread_t threads[THREADS];

	cache_init(&c);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, act_often, &actor), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(unguarded, THREADS * 500);
	assert_int_equal(c.by_id.count, 0);
}

TEST(one_that_sleeps_is_taken_by_one_who_wakes_it)
{
	AUTO(cache_done) struct cache c;
	struct sandbox_record r = row(SANDBOX_STARTED, 1);
	struct cache_entry *entry;

	cache_init(&c);
	entry = cache_pin(&c, ID);
	cache_update(&c, entry, &r);
	assert_null(cache_take_sleeping(&c, ID));
	assert_null(cache_take_sleeping(&c, "bbbbbbbbbbbbbbbbbbbb"));
	r = row(SANDBOX_PAUSED, 2);
	cache_update(&c, entry, &r);
	assert_true(cache_operation_begin(&c, entry, deadline_after(1000)));
	assert_null(cache_take_sleeping(&c, ID));
	cache_operation_end(&c, entry);
	assert_ptr_equal(cache_take_sleeping(&c, ID), entry);
	assert_null(cache_take_sleeping(&c, ID));
	cache_set_queued(&c, entry, false);
	cache_unpin(&c, entry);
	assert_ptr_equal(cache_take_sleeping(&c, ID), entry);
	cache_set_queued(&c, entry, false);
	cache_unpin(&c, entry);
	cache_unpin(&c, entry);
	assert_int_equal(c.by_id.count, 0);
}

struct queue {
	struct cache *cache;
	struct cache_entry *entry;
	unsigned order[8], count;
};
struct queuer {
	struct queue *queue;
	unsigned number;
};

static void *queue_up(void *context)
{
	struct queuer *q = context;
	struct queue *queue = q->queue;

	assert_true(cache_operation_begin(queue->cache, queue->entry, deadline_after(10000)));
	queue->order[queue->count++] = q->number;
	cache_operation_end(queue->cache, queue->entry);
	return NULL;
}

static unsigned count_waiting(struct queue *queue)
{
	unsigned count;

	pthread_mutex_lock(&queue->cache->mutex);
	count = list_count(&queue->entry->waiters);
	pthread_mutex_unlock(&queue->cache->mutex);
	return count;
}

TEST(actors_have_their_turn_in_the_order_in_which_they_came)
{
	enum { THREADS = 8 };
	AUTO(cache_done) struct cache c;
	pthread_t threads[THREADS];
	struct queuer queuers[THREADS];
	struct queue queue = {.cache = &c};

	cache_init(&c);
	queue.entry = cache_pin(&c, ID);
	assert_true(cache_operation_begin(&c, queue.entry, deadline_after(1000)));
	for (unsigned i = 0; i < THREADS; i++) {
		queuers[i] = (struct queuer){&queue, i};
		assert_int_equal(pthread_create(&threads[i], NULL, queue_up, &queuers[i]), 0);
		while (count_waiting(&queue) <= i)
			sched_yield();
	}
	/* Who has no time leaves the queue as it was. */
	assert_false(cache_operation_begin(&c, queue.entry, clock_monotonic_ms()));
	cache_operation_end(&c, queue.entry);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(queue.order[i], i);
	cache_unpin(&c, queue.entry);
}

int main(void)
{
	return RUN(CASE(only_a_started_row_is_known_and_only_to_its_project),
	           CASE(an_older_row_never_covers_a_newer_one),
	           CASE(a_slot_that_nobody_needs_is_forgotten),
	           CASE(a_held_slot_outlives_its_sandbox),
	           CASE(the_reaper_closes_only_what_nobody_holds_or_has_used_since),
	           CASE(touches_are_told_on_at_most_once_a_second),
	           CASE(an_actor_is_waited_for_until_the_deadline), CASE(one_thread_acts_at_a_time),
	           CASE(one_that_sleeps_is_taken_by_one_who_wakes_it),
	           CASE(actors_have_their_turn_in_the_order_in_which_they_came));
}

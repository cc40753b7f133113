/* SPDX-License-Identifier: Apache-2.0 */
/* Alarms ring at the time of each sandbox's timeout. */
#include "fleet/core/alarms.h"

#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "store/sandbox_record.h"
#include "unit.h"

static const char *const ids[] = {"aaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbb",
                                  "cccccccccccccccccccc", "dddddddddddddddddddd"};

struct heard {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	char letters[8]; /* the first letter of each id, in order */
	int64_t at[8];
	size_t count;
};

static void on_ring(void *context, const char *sandbox_id)
{
	struct heard *h = context;

	pthread_mutex_lock(&h->mutex);
	h->letters[h->count] = sandbox_id[0];
	h->at[h->count++] = clock_unix_ms();
	pthread_cond_signal(&h->changed);
	pthread_mutex_unlock(&h->mutex);
}

static void heard_init(struct heard *h)
{
	*h = (struct heard){.count = 0};
	pthread_mutex_init(&h->mutex, NULL);
	thread_condition_init(&h->changed);
}

static void await(struct heard *h, size_t count)
{
	int64_t deadline = deadline_after(10000);

	pthread_mutex_lock(&h->mutex);
	while (h->count < count && clock_monotonic_ms() < deadline)
		thread_wait(&h->changed, &h->mutex, deadline);
	assert_int_equal(h->count, count);
	pthread_mutex_unlock(&h->mutex);
}

static void set(struct alarms *alarms, unsigned which, enum sandbox_state state, int64_t at)
{
	alarm_set(alarms,
	          &(struct sandbox_record){.id = ids[which], .actual = state, .timeout_at = at});
}

TEST(each_rings_once_at_its_time_and_never_before)
{
	int64_t now = clock_unix_ms();
	struct heard h;
	struct alarms *alarms;

	heard_init(&h);
	alarms = alarms_new(on_ring, &h);
	set(alarms, 0, SANDBOX_STARTED, now + 60);
	set(alarms, 1, SANDBOX_STARTED, now + 20);
	set(alarms, 2, SANDBOX_STARTED, now - 5);
	await(&h, 3);
	assert_memory_equal(h.letters, "cba", 3);
	assert_true(h.at[1] >= now + 20 && h.at[2] >= now + 60);
	alarms_free(alarms);
	assert_int_equal(h.count, 3);
}

TEST(another_time_replaces_the_first_and_rest_removes_it)
{
	int64_t now = clock_unix_ms();
	struct heard h;
	struct alarms *alarms;

	heard_init(&h);
	alarms = alarms_new(on_ring, &h);
	set(alarms, 0, SANDBOX_STARTED, now + 20);
	set(alarms, 0, SANDBOX_STARTED, now + 50);
	set(alarms, 1, SANDBOX_STARTED, now + 20);
	set(alarms, 1, SANDBOX_PAUSED, now + 20);
	set(alarms, 2, SANDBOX_STARTED, now + 20);
	set(alarms, 2, SANDBOX_STARTED, now + ALARM_WITHIN_MS + 60000);
	set(alarms, 3, SANDBOX_STARTED, 0);
	await(&h, 1);
	assert_int_equal(h.letters[0], 'a');
	assert_true(h.at[0] >= now + 50);
	alarms_free(alarms);
	assert_int_equal(h.count, 1);
}

TEST(more_than_there_is_room_for_are_left_to_the_rounds)
{
	int64_t now = clock_unix_ms();
	struct heard h;
	struct alarms *alarms;
	char id[sizeof("aaaaaaaaaaaaaaaaaaaa")];

	heard_init(&h);
	alarms = alarms_new(on_ring, &h);
	for (unsigned i = 0; i < ALARMS_MAX; i++) {
		(void)snprintf(id, sizeof(id), "x%019u", i);
		alarm_set(alarms, &(struct sandbox_record){.id = id,
		                                           .actual = SANDBOX_STARTED,
		                                           .timeout_at = now + ALARM_WITHIN_MS});
	}
	set(alarms, 0, SANDBOX_STARTED, now);
	set(alarms, 1, SANDBOX_PAUSED, now);
	(void)snprintf(id, sizeof(id), "x%019u", 7);
	alarm_set(alarms,
	          &(struct sandbox_record){.id = id, .actual = SANDBOX_STARTED, .timeout_at = now});
	await(&h, 1);
	assert_int_equal(h.letters[0], 'x');
	alarms_free(alarms);
	alarms_free(NULL);
	alarm_set(NULL, &(struct sandbox_record){.id = id});
	assert_int_equal(h.count, 1);
}

int main(void)
{
	return RUN(CASE(each_rings_once_at_its_time_and_never_before),
	           CASE(another_time_replaces_the_first_and_rest_removes_it),
	           CASE(more_than_there_is_room_for_are_left_to_the_rounds));
}

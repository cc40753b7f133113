/* SPDX-License-Identifier: Apache-2.0 */
/* Work in a lane that several calls await: queued once, told to each that awaited it. */
#include "fleet/core/work_lane.h"
#include "harness.h"
#include "fleet/core/shared_work.h"
#include "fleet/core/waiting.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool may_end, is_announced;
static unsigned runs;

static int run_template_work(UNUSED struct fleet *f, struct arena *arena,
                             const struct shared_work *work, const char **ret_text,
                             struct error *err)
{
	pthread_mutex_lock(&mutex);
	runs++;
	while (!may_end)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
	if (work->texts[1])
		return FAIL(err, ERROR_CONFLICT, "%s", work->texts[1]);
	*ret_text = arena_format(arena, "of %s", work->texts[0]);
	return 0;
}

static void on_change(UNUSED void *context, UNUSED const char *key)
{
	pthread_mutex_lock(&mutex);
	is_announced = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

static void let_end(bool let)
{
	pthread_mutex_lock(&mutex);
	may_end = let;
	pthread_cond_broadcast(&changed);
	while (let && !is_announced)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
}

static struct shared_work work_for(struct harness *h, const char *failure)
{
	struct shared_work work = {.project_id = PROJECT,
	                           .what = "it is being worked on",
	                           .lane = fleet_backup_work(h->fleet),
	                           .run = run_template_work,
	                           .texts = {"this", failure}};

	awaited_key("test", "one", work.key);
	fleet_on_change(h->fleet, on_change, NULL);
	may_end = is_announced = false;
	runs = 0;
	return work;
}

/* Fails with what it awaits. */
static void expect_wait(struct harness *h, const struct shared_work *work,
                        const struct fleet_awaited *awaited)
{
	struct error err = {0};
	const char *text;

	assert_int_equal(shared_work_do(h->fleet, &h->arena, work, awaited, &text, &err), -1);
	assert_string_equal(err.awaits.key, work->key);
	assert_string_equal(err.text, "it is being worked on");
}

static void calls_join_work_that_runs_and_hear_its_outcome(void **state)
{
	struct harness *h = *state;
	const struct shared_work work = work_for(h, NULL);
	const struct fleet_awaited first = {.key = NULL}, again = {.key = work.key};
	struct error err = {0};
	const char *text;
	int result = 0;

	assert_false(shared_work_join(h->fleet, work.key, &first, &result, &err));
	expect_wait(h, &work, &first);
	expect_wait(h, &work, &first);
	assert_true(shared_work_join(h->fleet, work.key, &again, &result, &err));
	assert_int_equal(result, -1);
	assert_string_equal(err.awaits.key, work.key);
	let_end(true);
	for (unsigned i = 0; i < 2; i++) {
		assert_done(shared_work_do(h->fleet, &h->arena, &work, &again, &text, &err));
		assert_string_equal(text, "of this");
	}
	assert_int_equal(runs, 1);
}

static void a_failure_is_for_calls_that_awaited_it_alone(void **state)
{
	struct harness *h = *state;
	const struct shared_work work = work_for(h, "no room");
	const struct fleet_awaited first = {.key = NULL}, again = {.key = work.key};
	struct error err = {0};
	int result = 0;

	expect_wait(h, &work, &first);
	let_end(true);
	assert_true(shared_work_join(h->fleet, work.key, &again, &result, &err));
	assert_int_equal(result, -1);
	assert_string_equal(err.text, "no room");
	assert_string_equal(err.awaits.key, "");
	let_end(false);
	is_announced = false;
	/* Another caller's call begins anew. */
	error_clear(&err);
	assert_false(shared_work_join(h->fleet, work.key, &first, &result, &err));
	expect_wait(h, &work, &first);
	let_end(true);
	assert_int_equal(runs, 2);
}

static void a_thread_that_may_not_park_waits(void **state)
{
	struct harness *h = *state;
	const struct shared_work work = work_for(h, NULL);
	struct error err = {0};
	const char *text;

	may_end = true;
	assert_done(shared_work_do(h->fleet, &h->arena, &work, NULL, &text, &err));
	assert_string_equal(text, "of this");
	assert_done(shared_work_begin(h->fleet, &work, &err));
	work_lane_wait(fleet_backup_work(h->fleet));
	assert_int_equal(runs, 2);
}

int main(void)
{
	return RUN(EACH(calls_join_work_that_runs_and_hear_its_outcome),
	           EACH(a_failure_is_for_calls_that_awaited_it_alone),
	           EACH(a_thread_that_may_not_park_waits));
}

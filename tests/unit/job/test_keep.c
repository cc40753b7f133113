/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "job/parts.h"

static struct jobs jobs = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static bool begin(struct keeping *k, const char *sandbox_id, const char *project_id)
{
	*k = (struct keeping){.sandbox_id = sandbox_id, .project_id = project_id};
	return job_keep_begin(&jobs, k);
}

TEST(files_of_one_sandbox_are_fetched_one_job_after_the_other)
{
	struct keeping first, second, other;

	list_init(&jobs.keeping);
	assert_true(begin(&first, "box", "a"));
	assert_false(begin(&second, "box", "a"));
	assert_true(begin(&other, "another", "a"));
	jobs_remove(&jobs, &first.item);
	assert_true(begin(&second, "box", "a"));
	jobs_remove(&jobs, &other.item);
	jobs_remove(&jobs, &second.item);
	assert_true(list_is_empty(&jobs.keeping));
}

TEST(no_project_fetches_so_much_that_others_wait_nor_do_all_hold_up_messages)
{
	struct keeping own[KEEPING_PROJECT_MAX], more, others, late;

	list_init(&jobs.keeping);
	assert_true(KEEPING_PROJECT_MAX < ARTIFACT_SAVER_MAX && ARTIFACT_SAVER_MAX < WORKERS / 2);
	assert_true(begin(&own[0], "1", "a"));
	assert_true(begin(&own[1], "2", "a"));
	assert_false(begin(&more, "3", "a"));
	assert_true(begin(&others, "4", "b"));
	assert_false(begin(&late, "5", "c"));
	jobs_remove(&jobs, &own[0].item);
	assert_true(begin(&late, "5", "c"));
	jobs_remove(&jobs, &others.item);
	assert_true(begin(&more, "3", "a"));
	jobs_remove(&jobs, &more.item);
	jobs_remove(&jobs, &late.item);
	jobs_remove(&jobs, &own[1].item);
	assert_true(list_is_empty(&jobs.keeping));
}

int main(void)
{
	return RUN(CASE(files_of_one_sandbox_are_fetched_one_job_after_the_other),
	           CASE(no_project_fetches_so_much_that_others_wait_nor_do_all_hold_up_messages));
}

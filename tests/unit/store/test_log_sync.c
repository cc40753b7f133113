/* SPDX-License-Identifier: Apache-2.0 */
#include "samples.h"

#include <pthread.h>

#include "store/driver.h"
#include "store/sqlite/log_sync.h"

#define THREADS 8
#define ROUNDS 50

TEST(what_was_begun_is_done_by_itself_and_waited_for_by_anybody)
{
	struct error err = {0};
	struct folder folder;
	struct log_sync *log = NULL;
	uint64_t first, second;

	folder_make(&folder);
	store_close(store_with_project(folder.dsn));
	assert_done(log_sync_open(folder.file, &log, &err));
	first = log_sync_begin(log);
	second = log_sync_begin(log);
	assert_true(first > 0 && second > first);
	/* In any order, and more than once. */
	assert_done(log_sync_wait(log, second, &err));
	assert_done(log_sync_wait(log, first, &err));
	assert_done(log_sync_wait(log, first, &err));
	assert_done(log_sync_wait(log, log_sync_mark(log), &err));
	/* Begun and never waited for. */
	(void)log_sync_begin(log);
	log_sync_close(log);
	folder_remove(&folder);
}

TEST(a_log_that_does_not_exist_is_refused)
{
	struct error err = {0};
	struct log_sync *log = NULL;

	assert_refused(log_sync_open("/nonexistent/atoll.db-wal", &log, &err), ERROR_NOT_FOUND);
	log_sync_close(NULL);
}

/* A device that cannot be synced stands for a disk that broke. */
TEST(after_a_sync_that_failed_nothing_is_promised_any_more)
{
	struct error err = {0}, again = {0};
	struct log_sync *log = NULL;

	assert_done(log_sync_open("/dev/null", &log, &err));
	assert_int_equal(log_sync_wait(log, log_sync_begin(log), &err), -1);
	assert_int_equal(err.sys_errno, EINVAL);
	assert_non_null(strstr(err.hint, "start the server again"));
	assert_int_equal(log_sync_wait(log, log_sync_mark(log), &again), -1);
	assert_int_equal(again.sys_errno, EINVAL);
	log_sync_close(log);
}

static void *mark_and_wait(void *argument)
{
	struct log_sync *log = argument;
	struct error err = {0};

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t mark = i % 2 ? log_sync_mark(log) : log_sync_begin(log);

		if (log_sync_wait(log, mark, &err) < 0)
			return argument;
	}
	return NULL;
}

TEST(many_wait_at_once_and_none_waits_for_ever)
{
	struct error err = {0};
	struct folder folder;
	struct log_sync *log = NULL;
	pthread_t threads[THREADS];
	void *failed;

	folder_make(&folder);
	store_close(store_with_project(folder.dsn));
	assert_done(log_sync_open(folder.file, &log, &err));
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, mark_and_wait, log), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
	log_sync_close(log);
	folder_remove(&folder);
}

static void move_lazily(struct store *s, const char *id)
{
	struct error err = {0};
	struct sandbox_move move = sample_move(id, SANDBOX_PENDING, SANDBOX_CREATING);
	uint64_t sync;

	assert_done(store_sandbox_move(s, &move, &err));
	sync = store_sync_begin(s);
	move = sample_move(id, SANDBOX_CREATING, SANDBOX_STARTED);
	move.is_lazy = true;
	assert_done(store_sandbox_move(s, &move, &err));
	assert_done(store_sync_wait(s, sync, &err));
}

TEST(a_lazy_move_is_read_at_once_and_kept_by_close)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct folder folder;
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "box"), found;
	struct store *s;

	folder_make(&folder);
	s = store_with_project(folder.dsn);
	assert_done(store_sandbox_insert(s, &r, 0, &err));
	move_lazily(s, id.text);
	assert_done(store_sandbox_find(s, &a, PROJECT, id.text, &found, &err));
	assert_int_equal(found.actual, SANDBOX_STARTED);
	store_close(s);
	assert_done(store_open(folder.dsn, &s, &err));
	assert_done(store_sandbox_find(s, &a, PROJECT, id.text, &found, &err));
	assert_int_equal(found.actual, SANDBOX_STARTED);
	store_close(s);
	folder_remove(&folder);
}

TEST(a_store_in_memory_has_nothing_to_sync)
{
	struct error err = {0};
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "box");
	struct store *s = store_with_project("sqlite::memory:");

	assert_done(store_sandbox_insert(s, &r, 0, &err));
	move_lazily(s, id.text);
	assert_int_equal(store_sync_begin(s), 0);
	assert_done(store_sync_wait(s, 0, &err));
	store_close(s);
}

int main(void)
{
	return RUN(CASE(what_was_begun_is_done_by_itself_and_waited_for_by_anybody),
	           CASE(a_log_that_does_not_exist_is_refused),
	           CASE(after_a_sync_that_failed_nothing_is_promised_any_more),
	           CASE(many_wait_at_once_and_none_waits_for_ever),
	           CASE(a_lazy_move_is_read_at_once_and_kept_by_close),
	           CASE(a_store_in_memory_has_nothing_to_sync));
}

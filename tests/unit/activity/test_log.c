/* SPDX-License-Identifier: Apache-2.0 */
/* The queue: batches, the bound, what is dropped, and the end. */
#include "activity_test.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define NEVER_MS (INT64_C(3600) * 1000)
#define SECONDS 30

static void add_numbered(unsigned number)
{
	struct activity_note *n = begin_in("box");
	char text[16];

	(void)snprintf(text, sizeof(text), "%u", number);
	activity_add_text(n, span_of(text));
	activity_succeed(n);
	activity_end(n);
}

static atomic_uint batches;

static void count_batch(void *context)
{
	(void)context;
	atomic_fetch_add(&batches, 1);
}

static void wait_for_rows(uint64_t count)
{
	int64_t until = deadline_after(SECONDS * 1000);

	while (activity_log_counts(t.log).written < count) {
		assert_true(deadline_poll_ms(until) > 0);
		(void)usleep(1000);
	}
}

static void rows_are_written_in_their_order_soon_after_their_end(void **state)
{
	static const struct event_watcher watcher = {.on_events = count_batch};
	struct activity_list rows;

	(void)state;
	atomic_store(&batches, 0);
	open_log(&(struct activity_log_options){.interval_ms = 20});
	activity_log_watch(t.log, &watcher);
	for (unsigned i = 0; i < 3; i++)
		add_numbered(i);
	wait_for_rows(3);
	activity_log_watch(t.log, NULL);
	rows = rows_of("box");
	assert_int_equal(rows.count, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(rows.items[i].arguments[0], '0' + (int)i);
	assert_true(rows.items[0].sequence < rows.items[2].sequence);
	assert_true(atomic_load(&batches) >= 1 && atomic_load(&batches) <= 3);
}

static void a_full_queue_drops_the_oldest_and_counts_them(void **state)
{
	struct activity_counts counts;
	struct activity_list rows;

	(void)state;
	open_log(&(struct activity_log_options){.interval_ms = NEVER_MS, .queue_max = 10});
	for (unsigned i = 0; i < 25; i++)
		add_numbered(i);
	counts = activity_log_counts(t.log);
	assert_int_equal(counts.dropped, 15);
	assert_int_equal(counts.queued, 10);
	assert_int_equal(counts.written, 0);
	close_log();
	rows = rows_of("box");
	assert_int_equal(rows.count, 10);
	assert_string_equal(rows.items[0].arguments, "15");
	assert_string_equal(rows.items[9].arguments, "24");
}

static void a_full_batch_does_not_wait_for_the_interval(void **state)
{
	(void)state;
	open_log(&(struct activity_log_options){.interval_ms = NEVER_MS});
	for (unsigned i = 0; i < ACTIVITY_BATCH_MAX; i++)
		add_numbered(i);
	wait_for_rows(ACTIVITY_BATCH_MAX);
}

static void a_close_writes_what_waits_of_many_batches(void **state)
{
	const struct activity_page page = {.limit = 1, .newest = true};
	struct activity_list rows;
	struct error err = {0};

	(void)state;
	open_log(
	        &(struct activity_log_options){.interval_ms = NEVER_MS, .sandbox_rows_max = 10000});
	for (unsigned i = 0; i < 3 * ACTIVITY_BATCH_MAX + 7; i++)
		add_numbered(i);
	close_log();
	assert_int_equal(store_activity_list(t.store, &t.arena, &page, &rows, &err), 0);
	assert_int_equal(rows.items[0].sequence, 3 * ACTIVITY_BATCH_MAX + 7);
}

static void a_sandbox_keeps_its_newest_rows(void **state)
{
	struct activity_list rows;

	(void)state;
	open_log(&(struct activity_log_options){.interval_ms = NEVER_MS, .sandbox_rows_max = 80});
	for (unsigned i = 0; i < 400; i++)
		add_numbered(i);
	activity_end(begin_in("other"));
	close_log();
	rows = rows_of("box");
	/* Up to an eighth more between two trims. */
	assert_in_range(rows.count, 80, 91);
	assert_string_equal(rows.items[rows.count - 1].arguments, "399");
	assert_int_equal(rows_of("other").count, 1);
}

static void without_a_log_every_call_of_a_note_does_nothing(void **state)
{
	const struct activity_start start = {.operation = "exec"};
	struct activity_note *n = activity_begin(NULL, &start);

	(void)state;
	assert_null(n);
	activity_add_text(n, span_of("x"));
	activity_add_word(n, "x");
	activity_add_output(n, span_of("x"));
	activity_set_tail(n, span_of("x"), 9);
	activity_add_artifact(n, "a", "b");
	activity_succeed(n);
	assert_false(activity_is_reported(n));
	activity_end(n);
	activity_forget(n);
	activity_log_close(NULL);
}

static const struct CMUnitTest tests[] = {
        ON_LOG(rows_are_written_in_their_order_soon_after_their_end),
        ON_LOG(a_full_queue_drops_the_oldest_and_counts_them),
        ON_LOG(a_full_batch_does_not_wait_for_the_interval),
        ON_LOG(a_close_writes_what_waits_of_many_batches),
        ON_LOG(a_sandbox_keeps_its_newest_rows),
        ON_LOG(without_a_log_every_call_of_a_note_does_nothing),
};

int main(void)
{
	return cmocka_run_group_tests(tests, NULL, NULL);
}

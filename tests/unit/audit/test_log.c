/* SPDX-License-Identifier: Apache-2.0 */
/* The log: batches, the spool after a death, limits, checkpoints, retention. */
#include "unit.h"

#include <dirent.h>
#include <pthread.h>

#include "audit/log/parts.h"
#include "audit/verify.h"
#include "base/clock.h"
#include "base/log.h"
#include "store/database.h"

#define NEVER_MS (INT64_C(3600) * 1000)
#define SECONDS 30

static struct {
	struct store *store;
	struct audit_log *log;
	struct arena arena;
	char folder[128];
} t;

static void open_log(struct audit_log_options o)
{
	struct error err = {0};

	o.store = t.store;
	o.folder = t.folder;
	o.node = "node";
	o.version = "1";
	if (audit_log_open(&o, &t.log, &err) < 0)
		fail_msg("%s", err.text);
}

static void close_log(void)
{
	audit_log_close(t.log);
	t.log = NULL;
}

/* As kill -9 leaves it: the spool's files, and no thread. */
static void kill_log(void)
{
	pthread_mutex_lock(&t.log->mutex);
	t.log->is_closing = true;
	t.log->counts.queued = 0; /* the queued notes are lost */
	pthread_cond_signal(&t.log->changed);
	pthread_mutex_unlock(&t.log->mutex);
	close_log();
}

static struct audit_note *begin(const char *action)
{
	const struct audit_start start = {.action = action, .via = "key", .project_id = "p"};
	struct audit_note *n;
	struct error err = {0};

	if (audit_begin(t.log, &start, &n, &err) < 0)
		fail_msg("%s", err.text);
	return n;
}

static void add(const char *action)
{
	audit_end(begin(action), "ok", 200);
}

static struct audit_list rows(void)
{
	const struct audit_page page = {.limit = 1000};
	struct audit_list list;
	struct error err = {0};

	assert_int_equal(store_audit_list(t.store, &t.arena, &page, &list, &err), 0);
	return list;
}

static void wait_for_rows(uint64_t count)
{
	int64_t until = deadline_after(SECONDS * 1000);

	while (audit_log_counts(t.log).written < count) {
		assert_true(deadline_poll_ms(until) > 0);
		(void)usleep(1000);
	}
}

/* Every row has its hash, and numbers have no gap. */
static void assert_chain(void)
{
	struct audit_list list = rows();
	unsigned char hash[AUDIT_HASH_SIZE] = {0}, digest[AUDIT_HASH_SIZE];

	for (size_t i = 0; i < list.count; i++) {
		AUTO(buf_done) struct buf text = BUF(AUDIT_LINE_MAX);

		assert_int_equal(list.items[i].row.sequence, i + 1);
		audit_row_write(&text, &list.items[i].row);
		audit_digest(buf_span(&text), digest);
		assert_memory_equal(digest, list.items[i].digest, AUDIT_HASH_SIZE);
		audit_hash((int64_t)i + 1, hash, digest, hash);
		assert_memory_equal(hash, list.items[i].hash, AUDIT_HASH_SIZE);
	}
}

static unsigned count_segments(void)
{
	DIR *folder = opendir(t.folder);
	unsigned count = 0;

	for (const struct dirent *entry; (entry = readdir(folder));)
		count += strncmp(entry->d_name, "spool-", 6) == 0;
	closedir(folder);
	return count;
}

static void events_become_rows_in_the_order_of_their_ends(void **state)
{
	struct audit_note *first;

	(void)state;
	open_log((struct audit_log_options){.interval_ms = 10});
	first = begin("first");
	add("second");
	audit_set_target(first, "box", "id");
	audit_set_change(first, SPAN("{\"a\":1}"), SPAN("{\"a\":2}"));
	audit_end(first, "failed", 500);
	wait_for_rows(2);
	assert_string_equal(rows().items[0].row.action, "second");
	assert_string_equal(rows().items[1].row.target_id, "id");
	assert_string_equal(rows().items[1].row.after_json, "{\"a\":2}");
	assert_int_equal(rows().items[1].row.status, 500);
	close_log();
	assert_chain();
	assert_int_equal(count_segments(), 0);
}

static void what_had_ended_before_a_kill_is_appended_once(void **state)
{
	(void)state;
	open_log((struct audit_log_options){.interval_ms = 10});
	add("written");
	wait_for_rows(1);
	close_log();
	open_log((struct audit_log_options){.interval_ms = NEVER_MS});
	add("spooled");
	(void)begin("begun");
	kill_log();
	assert_int_equal(rows().count, 1);
	open_log((struct audit_log_options){.interval_ms = NEVER_MS});
	assert_int_equal(rows().count, 3);
	assert_string_equal(rows().items[1].row.action, "spooled");
	assert_string_equal(rows().items[1].row.result, "ok");
	assert_string_equal(rows().items[2].row.action, "begun");
	assert_string_equal(rows().items[2].row.result, "interrupted");
	close_log();
	open_log((struct audit_log_options){.interval_ms = NEVER_MS});
	assert_int_equal(rows().count, 3);
	close_log();
	assert_chain();
}

static void what_was_cancelled_has_no_row_after_a_kill_either(void **state)
{
	struct audit_note *n;

	(void)state;
	open_log((struct audit_log_options){.interval_ms = NEVER_MS});
	n = begin("cancelled");
	add("kept");
	audit_cancel(n);
	assert_int_equal(audit_log_counts(t.log).open, 0);
	kill_log();
	open_log((struct audit_log_options){.interval_ms = NEVER_MS});
	close_log();
	assert_int_equal(rows().count, 1);
	assert_string_equal(rows().items[0].row.action, "kept");
	assert_chain();
	assert_int_equal(count_segments(), 0);
}

static void refusals_of_strangers_have_so_many_rows_a_minute(void **state)
{
	unsigned admitted = 0;

	(void)state;
	open_log((struct audit_log_options){.interval_ms = NEVER_MS});
	for (unsigned i = 0; i < AUDIT_STRANGERS_PER_MINUTE + 50; i++)
		admitted += audit_admits_stranger(t.log);
	assert_int_equal(admitted, AUDIT_STRANGERS_PER_MINUTE);
	assert_int_equal(audit_log_counts(t.log).strangers, 50);
	assert_false(audit_admits_stranger(NULL));
}

static void uses_of_links_to_one_target_have_so_many_rows_a_minute(void **state)
{
	unsigned admitted = 0;

	(void)state;
	open_log((struct audit_log_options){.interval_ms = NEVER_MS});
	for (unsigned i = 0; i < AUDIT_LINKS_PER_MINUTE + 5; i++)
		admitted += audit_admits_link(t.log, "one");
	assert_int_equal(admitted, AUDIT_LINKS_PER_MINUTE);
	assert_true(audit_admits_link(t.log, "another"));
	assert_int_equal(audit_log_counts(t.log).strangers, 5);
	assert_false(audit_admits_link(NULL, "one"));
}

static void a_row_has_who_and_what_was_made_where_the_request_names_nothing(void **state)
{
	const struct audit_start start = {.action = "x", .after_json = SPAN("{\"n\":1}")};
	struct audit_note *n;

	(void)state;
	open_log((struct audit_log_options){.interval_ms = NEVER_MS});
	n = begin("made");
	audit_set_who(n, "ann@example.com", "key");
	audit_set_made(n, "box");
	audit_set_made(n, "another");
	audit_end(n, "ok", 201);
	audit_add(t.log, &start, "ok", 0);
	close_log();
	assert_string_equal(rows().items[0].row.user_id, "ann@example.com");
	assert_string_equal(rows().items[0].row.key_id, "key");
	assert_string_equal(rows().items[0].row.target_id, "box");
	assert_string_equal(rows().items[1].row.after_json, "{\"n\":1}");
	assert_chain();
}

/* The process died after the commit and before it removed the file. */
static void a_spool_whose_rows_are_written_adds_none(void **state)
{
	char command[512];

	(void)state;
	open_log((struct audit_log_options){.interval_ms = NEVER_MS});
	for (unsigned i = 0; i < 3; i++)
		add("event");
	kill_log();
	(void)snprintf(command, sizeof(command),
	               "cd %s && for f in spool-*; do cp $f kept-$f; done", t.folder);
	assert_int_equal(system(command), 0);
	open_log((struct audit_log_options){.interval_ms = NEVER_MS});
	close_log();
	assert_int_equal(rows().count, 3);
	(void)snprintf(command, sizeof(command),
	               "cd %s && for f in kept-*; do mv $f ${f#kept-}; done; "
	               "for f in spool-*; do printf 'E\\t1\\thalf' >> $f; done",
	               t.folder);
	assert_int_equal(system(command), 0);
	open_log((struct audit_log_options){.interval_ms = NEVER_MS});
	close_log();
	assert_int_equal(rows().count, 3);
	assert_chain();
	assert_int_equal(count_segments(), 0);
}

static void a_full_queue_refuses_what_would_begin_and_takes_it_later(void **state)
{
	const struct audit_start start = {.action = "x"};
	struct audit_note *n;
	struct error err = {0};

	(void)state;
	open_log((struct audit_log_options){.interval_ms = NEVER_MS, .queue_max = 5});
	for (unsigned i = 0; i < 5; i++)
		add("event");
	assert_int_equal(audit_begin(t.log, &start, &n, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	for (unsigned i = 0; i < 10; i++)
		audit_add(t.log, &start, "ok", 0);
	assert_int_equal(audit_log_counts(t.log).queued, 10);
	assert_int_equal(audit_log_counts(t.log).dropped, 5);
	close_log();
	assert_int_equal(rows().count, 10);
}

static void a_checkpoint_is_signed_after_enough_rows_and_at_the_end(void **state)
{
	struct audit_checkpoint_list found;
	struct error err = {0};

	(void)state;
	open_log((struct audit_log_options){.interval_ms = 5, .checkpoint_rows = 3});
	for (unsigned i = 1; i <= 3; i++)
		add("event");
	wait_for_rows(3);
	while (audit_log_counts(t.log).checkpoints == 0)
		(void)usleep(1000);
	add("last");
	close_log();
	assert_int_equal(store_audit_checkpoint_list(t.store, &t.arena,
	                                             &(struct audit_page){.limit = 100}, &found,
	                                             &err),
	                 0);
	assert_int_equal(found.count, 2);
	assert_int_equal(found.items[1].sequence, 4);
	assert_memory_equal(found.items[1].hash, rows().items[3].hash, AUDIT_HASH_SIZE);
}

/* A spool turns while requests are open: their intents go along. */
static void an_open_request_outlives_the_file_with_its_intent(void **state)
{
	char text[AUDIT_CHANGE_MAX];
	unsigned count = 0;

	(void)state;
	memset(text, 'x', sizeof(text));
	memcpy(text, "{\"a\":\"", 6);
	memcpy(text + sizeof(text) - 2, "\"}", 2);
	open_log((struct audit_log_options){.interval_ms = 1});
	(void)begin("long");
	while (t.log->spool.number < 2 || count_segments() > 1) {
		struct audit_note *n = begin("event");

		audit_set_change(n, (struct span){text, sizeof(text)},
		                 (struct span){text, sizeof(text)});
		audit_end(n, "ok", 200);
		wait_for_rows(++count);
		assert_true(count < 5000);
	}
	kill_log();
	open_log((struct audit_log_options){.interval_ms = NEVER_MS});
	close_log();
	{
		const struct audit_page page = {.limit = 1, .newest = true};
		struct audit_list newest;
		struct error err = {0};

		assert_int_equal(store_audit_list(t.store, &t.arena, &page, &newest, &err), 0);
		assert_string_equal(newest.items[0].row.action, "long");
		assert_string_equal(newest.items[0].row.result, "interrupted");
	}
}

static void old_rows_go_up_to_a_checkpoint_and_the_chain_tells_of_it(void **state)
{
	AUTO(buf_done) struct buf text = BUF(AUDIT_LINE_MAX);
	struct audit_head head;
	struct audit_list list;
	struct error err = {0};

	(void)state;
	open_log((struct audit_log_options){.interval_ms = 5});
	for (unsigned i = 0; i < 10; i++)
		add("old");
	wait_for_rows(10);
	close_log(); /* signs row 10 */
	open_log((struct audit_log_options){.interval_ms = 5, .rows_max = 1});
	add("new");
	wait_for_rows(1);
	close_log();
	assert_int_equal(store_audit_head(t.store, &t.arena, &head, &err), 0);
	assert_int_equal(head.base, 10);
	list = rows();
	assert_int_equal(list.count, 2);
	assert_int_equal(list.items[0].row.sequence, 11);
	assert_string_equal(list.items[1].row.action, "audit.truncate");
	assert_string_equal(list.items[1].row.after_json, "{\"from\":1,\"to\":10}");
	/* As the verifier wants it. */
	audit_row_write(&text, &list.items[1].row);
	assert_non_null(strstr(buf_text(&text),
	                       "\"via\":\"system\",\"address\":\"\",\"user_agent\":\"\","
	                       "\"action\":\"audit.truncate\",\"method\":\"\","));
	assert_non_null(
	        strstr(buf_text(&text), "\"before\":null,\"after\":{\"from\":1,\"to\":10}}"));
}

static void a_store_that_is_away_loses_nothing(void **state)
{
	(void)state;
	assert_int_equal(setenv("ATOLL_FAULT", "audit:append:fail", 1), 0);
	open_log((struct audit_log_options){.interval_ms = 1});
	for (unsigned i = 0; i < 3; i++)
		add("event");
	(void)usleep(20000);
	assert_int_equal(audit_log_counts(t.log).written, 0);
	kill_log();
	assert_int_equal(unsetenv("ATOLL_FAULT"), 0);
	open_log((struct audit_log_options){.interval_ms = 1});
	close_log();
	assert_int_equal(rows().count, 3);
	assert_chain();
}

static int set_up(void **state)
{
	struct error err = {0};

	(void)state;
	log_open("test", LOG_ERROR);
	memset(&t, 0, sizeof(t));
	unit_folder(t.folder, sizeof(t.folder), "audit");
	assert_int_equal(store_open("sqlite::memory:", &t.store, &err), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	audit_log_close(t.log);
	store_close(t.store);
	arena_done(&t.arena);
	unit_remove_folder(t.folder);
	return 0;
}

#define ON_LOG(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        ON_LOG(events_become_rows_in_the_order_of_their_ends),
	        ON_LOG(what_had_ended_before_a_kill_is_appended_once),
	        ON_LOG(a_spool_whose_rows_are_written_adds_none),
	        ON_LOG(what_was_cancelled_has_no_row_after_a_kill_either),
	        ON_LOG(refusals_of_strangers_have_so_many_rows_a_minute),
	        ON_LOG(uses_of_links_to_one_target_have_so_many_rows_a_minute),
	        ON_LOG(a_row_has_who_and_what_was_made_where_the_request_names_nothing),
	        ON_LOG(a_full_queue_refuses_what_would_begin_and_takes_it_later),
	        ON_LOG(a_checkpoint_is_signed_after_enough_rows_and_at_the_end),
	        ON_LOG(an_open_request_outlives_the_file_with_its_intent),
	        ON_LOG(old_rows_go_up_to_a_checkpoint_and_the_chain_tells_of_it),
	        ON_LOG(a_store_that_is_away_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

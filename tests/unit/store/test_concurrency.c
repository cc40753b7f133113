/* SPDX-License-Identifier: Apache-2.0 */
#include "postgres_server.h"
#include "samples.h"

#include <pthread.h>
#include <stdatomic.h>

#include "store/driver.h"

#define THREADS 8
#define ROUNDS 40

/* Runs `body` on THREADS threads at once; its argument is a struct worker. */
struct worker {
	struct store *store;
	unsigned number;
	pthread_barrier_t *start;
	void (*body)(struct worker *w);
};

static const char *shared_id;
static atomic_uint wins, conflicts, others;

static void *run_worker(void *argument)
{
	struct worker *w = argument;

	pthread_barrier_wait(w->start);
	w->body(w);
	return NULL;
}

static void run_workers(struct store *s, void (*body)(struct worker *w))
{
	pthread_t threads[THREADS];
	struct worker workers[THREADS];
	pthread_barrier_t start;

	atomic_store(&wins, 0);
	atomic_store(&conflicts, 0);
	atomic_store(&others, 0);
	pthread_barrier_init(&start, NULL, THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){s, i, &start, body};
		assert_int_equal(pthread_create(&threads[i], NULL, run_worker, &workers[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&start);
}

static void count_result(int result, const struct error *err)
{
	if (result == 0)
		atomic_fetch_add(&wins, 1);
	else if (err->code == ERROR_CONFLICT)
		atomic_fetch_add(&conflicts, 1);
	else
		atomic_fetch_add(&others, 1);
}

static struct postgres_server server;

static void each_place(void (*body)(struct store *s))
{
	char dsn[256];
	struct folder folder;
	struct store *s;

	s = store_with_project("sqlite::memory:");
	body(s);
	store_close(s);
	folder_make(&folder);
	s = store_with_project(folder.dsn);
	body(s);
	store_close(s);
	folder_remove(&folder);
	if (server.missing) {
		print_message("not on PostgreSQL: %s\n", server.missing);
		return;
	}
	postgres_new_schema(&server, dsn, sizeof(dsn));
	s = store_with_project(dsn);
	body(s);
	store_close(s);
}

static void move_shared(struct worker *w)
{
	struct error err = {0};
	struct sandbox_move move = sample_move(shared_id, SANDBOX_PENDING, SANDBOX_CREATING);

	count_result(store_sandbox_move(w->store, &move, &err), &err);
}

static void race_moves(struct store *s)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct error err = {0};
		struct id id = id_new();
		struct sandbox_record r = sample_sandbox(id.text, id.text);

		shared_id = id.text;
		assert_done(store_sandbox_insert(s, &r, 0, &err));
		run_workers(s, move_shared);
		assert_int_equal(atomic_load(&wins), 1);
		assert_int_equal(atomic_load(&conflicts), THREADS - 1);
	}
}

TEST(of_many_movers_exactly_one_wins)
{
	each_place(race_moves);
}

static void insert_same_name(struct worker *w)
{
	struct error err = {0};
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, shared_id);

	count_result(store_sandbox_insert(w->store, &r, 0, &err), &err);
}

static void race_names(struct store *s)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct id name = id_new();

		shared_id = name.text;
		run_workers(s, insert_same_name);
		assert_int_equal(atomic_load(&wins), 1);
		assert_int_equal(atomic_load(&conflicts), THREADS - 1);
	}
}

TEST(of_many_that_want_one_name_exactly_one_gets_it)
{
	each_place(race_names);
}

static void insert_under_limit(struct worker *w)
{
	for (unsigned i = 0; i < 5; i++) {
		struct error err = {0};
		struct id id = id_new();
		struct sandbox_record r = sample_sandbox(id.text, id.text);

		count_result(store_sandbox_insert(w->store, &r, 13, &err), &err);
	}
}

static void race_limit(struct store *s)
{
	run_workers(s, insert_under_limit);
	assert_int_equal(atomic_load(&wins), 13);
	assert_int_equal(atomic_load(&others), THREADS * 5 - 13);
}

TEST(the_limit_of_a_project_holds_under_a_rush)
{
	each_place(race_limit);
}

/* Every other insert fails inside of its group: neither it nor its neighbours may be harmed. */
static void insert_mixed(struct worker *w)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct error err = {0};
		struct id id = id_new();
		struct sandbox_record r = sample_sandbox(id.text, id.text);

		if (i % 2)
			r.labels_json = "{not json";
		count_result(store_sandbox_insert(w->store, &r, 0, &err), &err);
	}
}

static size_t count_all(struct store *s)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct sandbox_list list;

	assert_done(store_sandbox_list(s, &a, &(struct sandbox_filter){.state = -1, .limit = 1000},
	                               &list, &err));
	return list.count;
}

static void mix(struct store *s)
{
	run_workers(s, insert_mixed);
	assert_int_equal(atomic_load(&wins), THREADS * ROUNDS / 2);
	assert_int_equal(count_all(s), THREADS * ROUNDS / 2);
}

TEST(a_failure_in_a_group_takes_nobody_along)
{
	each_place(mix);
}

/* A transaction of two queries whose second fails: the first must not remain. */
static int insert_then_fail(struct store_connection *c, void *context, struct error *err)
{
	if (query_run(c, QUERY_PROJECT_INSERT, context, NULL, err) < 0)
		return -1;
	return FAIL(err, ERROR_INVALID, "on purpose");
}

static void half_a_transaction(struct worker *w)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct error err = {0};
		struct id id = id_new();
		struct project_record project = {.id = id.text, .name = id.text};
		const struct transaction t = {.run = insert_then_fail, .context = &project};
		AUTO(arena_done) struct arena a = {0};

		if (w->number % 2) {
			count_result(store_project_insert(w->store, &project, &err), &err);
			continue;
		}
		if (store_transact(w->store, &t, &err) == 0 || err.code != ERROR_INVALID ||
		    store_project_find(w->store, &a, id.text, &project, &err) == 0)
			atomic_fetch_add(&others, 1);
	}
}

static void halves(struct store *s)
{
	run_workers(s, half_a_transaction);
	assert_int_equal(atomic_load(&wins), THREADS / 2 * ROUNDS);
	assert_int_equal(atomic_load(&others), 0);
}

TEST(half_a_transaction_is_never_kept)
{
	each_place(halves);
}

static void read_and_write(struct worker *w)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		AUTO(arena_done) struct arena a = {0};
		struct error err = {0};
		struct id id = id_new();
		struct sandbox_record r = sample_sandbox(id.text, id.text), found;

		store_sandbox_touch(w->store, shared_id, NOW + i);
		if (w->number == 0 && i % 8 == 0)
			count_result(store_tidy(w->store, &err), &err);
		if (store_sandbox_insert(w->store, &r, 0, &err) < 0 ||
		    store_sandbox_find(w->store, &a, PROJECT, id.text, &found, &err) < 0)
			atomic_fetch_add(&others, 1);
	}
}

static void mingle(struct store *s)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "shared");

	shared_id = id.text;
	assert_done(store_sandbox_insert(s, &r, 0, &err));
	run_workers(s, read_and_write);
	assert_int_equal(atomic_load(&others), 0);
	assert_int_equal(atomic_load(&conflicts), 0);
	assert_done(store_sandbox_find(s, &a, PROJECT, id.text, &r, &err));
	assert_int_equal(r.last_activity_at, NOW + ROUNDS - 1);
}

TEST(everybody_reads_what_was_written_while_others_write_and_touch)
{
	each_place(mingle);
}

TEST(touches_that_wait_are_written_by_close)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct folder folder;
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "box");
	struct store *s;

	folder_make(&folder);
	s = store_with_project(folder.dsn);
	assert_done(store_sandbox_insert(s, &r, 0, &err));
	store_sandbox_touch(s, id.text, NOW + 3);
	store_close(s);
	assert_done(store_open(folder.dsn, &s, &err));
	assert_done(store_sandbox_find(s, &a, PROJECT, id.text, &r, &err));
	assert_int_equal(r.last_activity_at, NOW + 3);
	store_close(s);
	folder_remove(&folder);
}

static int start_server(UNUSED void **state)
{
	postgres_open(&server);
	return 0;
}

static int end_server(UNUSED void **state)
{
	postgres_close(&server);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        CASE(of_many_movers_exactly_one_wins),
	        CASE(of_many_that_want_one_name_exactly_one_gets_it),
	        CASE(the_limit_of_a_project_holds_under_a_rush),
	        CASE(a_failure_in_a_group_takes_nobody_along),
	        CASE(half_a_transaction_is_never_kept),
	        CASE(everybody_reads_what_was_written_while_others_write_and_touch),
	        CASE(touches_that_wait_are_written_by_close),
	};

	return cmocka_run_group_tests(tests, start_server, end_server);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What was answered is there after a kill -9, whether its disk was waited for or not. */
#include "each_store.h"

#include <signal.h>
#include <sys/wait.h>

/* Ends by the signal that the parent sends: nothing is closed, flushed or rolled back. */
static void write_and_wait(const char *dsn, const struct id ids[2], int told_fd)
{
	struct sandbox_record lazy = sample_sandbox(ids[0].text, "lazy");
	struct sandbox_record durable = sample_sandbox(ids[1].text, "durable");
	struct sandbox_move move = sample_move(ids[0].text, SANDBOX_CREATING, SANDBOX_STARTED);
	struct store *s = NULL;
	struct error err = {0};

	lazy.actual = SANDBOX_CREATING; /* which makes its insert a lazy one */
	move.is_lazy = true;
	if (store_open(dsn, &s, &err) < 0 || store_sandbox_insert(s, &durable, 0, &err) < 0 ||
	    store_sandbox_insert(s, &lazy, 0, &err) < 0 || store_sandbox_move(s, &move, &err) < 0)
		dprintf(told_fd, "%s", err.text);
	else
		dprintf(told_fd, "done");
	for (;;)
		pause();
}

static void what_was_answered_survives_kill_9(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	const struct id ids[2] = {id_new(), id_new()};
	struct error err = {0};
	struct sandbox_record found;
	char told[sizeof(err.text)] = "";
	int ends[2], status;
	struct store *s;
	pid_t child;

	if (strcmp(each_dsn, "sqlite::memory:") == 0) {
		print_message("a store in memory does not outlive its process\n");
		skip();
	}
	store_close(*state);
	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		write_and_wait(each_dsn, ids, ends[1]);
	close(ends[1]);
	assert_true(read(ends[0], told, sizeof(told) - 1) > 0);
	close(ends[0]);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_string_equal(told, "done");
	assert_done(store_open(each_dsn, &s, &err));
	*state = s;
	assert_done(store_sandbox_find(s, &a, PROJECT, ids[0].text, &found, &err));
	assert_int_equal(found.actual, SANDBOX_STARTED);
	assert_done(store_sandbox_find(s, &a, PROJECT, ids[1].text, &found, &err));
	assert_int_equal(found.actual, SANDBOX_PENDING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        EACH(what_was_answered_survives_kill_9),
	};

	return each_store_run(tests, COUNT_OF(tests));
}

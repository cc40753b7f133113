/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cancel.h"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "unit.h"

struct pair {
	struct cancel cancel;
	int ends[2];
};

static void pair_open(struct pair *p)
{
	struct error err;

	assert_int_equal(cancel_init(&p->cancel, &err), 0);
	assert_int_equal(pipe(p->ends), 0);
}

static void pair_close(struct pair *p)
{
	cancel_done(&p->cancel);
	fd_forget(&p->ends[0]);
	fd_forget(&p->ends[1]);
}

TEST(a_wait_ends_as_without_it_while_nothing_is_said)
{
	struct error err;
	struct pair p;

	pair_open(&p);
	assert_false(cancel_is_said(&p.cancel));
	assert_int_equal(cancel_wait(&p.cancel, p.ends[0], POLLIN, deadline_after(1), &err), 0);
	assert_int_equal(fd_write_all(p.ends[1], "a", 1, &err), 0);
	assert_int_equal(cancel_wait(&p.cancel, p.ends[0], POLLIN, DEADLINE_NEVER, &err), 1);
	assert_int_equal(cancel_wait(NULL, p.ends[0], POLLIN, DEADLINE_NEVER, &err), 1);
	assert_false(cancel_is_said(NULL));
	pair_close(&p);
}

TEST(what_is_said_counts_more_than_what_has_come)
{
	struct error err;
	struct pair p;

	pair_open(&p);
	assert_int_equal(fd_write_all(p.ends[1], "a", 1, &err), 0);
	cancel_say(&p.cancel);
	cancel_say(&p.cancel);
	assert_true(cancel_is_said(&p.cancel));
	for (int i = 0; i < 2; i++) {
		error_clear(&err);
		assert_int_equal(cancel_wait(&p.cancel, p.ends[0], POLLIN, DEADLINE_NEVER, &err),
		                 -1);
		assert_int_equal(err.code, ERROR_UNAVAILABLE);
	}
	pair_close(&p);
}

static void *say(void *context)
{
	cancel_say(context);
	return NULL;
}

TEST(another_thread_ends_a_wait)
{
	struct error err;
	pthread_t thread;
	struct pair p;

	pair_open(&p);
	assert_int_equal(pthread_create(&thread, NULL, say, &p.cancel), 0);
	assert_int_equal(cancel_wait(&p.cancel, p.ends[0], POLLIN, DEADLINE_NEVER, &err), -1);
	(void)pthread_join(thread, NULL);
	pair_close(&p);
}

TEST(a_descriptor_that_is_not_open_is_reported)
{
	struct error err;
	struct pair p;

	pair_open(&p);
	(void)close(p.ends[0]);
	assert_int_equal(cancel_wait(&p.cancel, p.ends[0], POLLIN, DEADLINE_NEVER, &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	p.ends[0] = -1;
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
	        CASE(a_wait_ends_as_without_it_while_nothing_is_said),
	        CASE(what_is_said_counts_more_than_what_has_come),
	        CASE(another_thread_ends_a_wait),
	        CASE(a_descriptor_that_is_not_open_is_reported),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}

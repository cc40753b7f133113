/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "loop/loop.h"

struct fixture {
	struct loop *loop;
	int ends[2];
	struct loop_watch *watch, *other;
	struct loop_timer timer, stopper;
	unsigned calls;
	uint32_t events;
};

static struct fixture f;

static int open_loop(void **state)
{
	struct error err;

	(void)state;
	f = (struct fixture){0};
	if (pipe2(f.ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	return loop_open(&f.loop, &err);
}

static int close_loop(void **state)
{
	(void)state;
	loop_watch_free(f.watch);
	loop_watch_free(f.other);
	loop_close(f.loop);
	(void)close(f.ends[0]);
	(void)close(f.ends[1]);
	return 0;
}

static void on_readable(void *context, uint32_t events)
{
	char byte;

	assert_ptr_equal(context, &f);
	f.calls++;
	f.events |= events;
	assert_int_equal(read(f.ends[0], &byte, 1), 1);
	loop_stop(f.loop);
}

static void add_watch(int fd, uint32_t events, loop_on_ready *on_ready, struct loop_watch **ret)
{
	struct error err;

	assert_int_equal(loop_watch_add(f.loop,
	                                &(struct loop_watch_options){fd, events, on_ready, &f}, ret,
	                                &err),
	                 0);
}

TEST(a_readable_descriptor_calls_its_watch)
{
	add_watch(f.ends[0], EPOLLIN, on_readable, &f.watch);
	assert_int_equal(write(f.ends[1], "a", 1), 1);
	loop_run(f.loop);
	assert_int_equal(f.calls, 1);
	assert_int_equal(f.events, EPOLLIN);
	assert_int_equal(write(f.ends[1], "a", 1), 1);
	loop_run(f.loop); /* can run again */
	assert_int_equal(f.calls, 2);
}

static void stop(void *context)
{
	(void)context;
	loop_stop(f.loop);
}

static void stop_after(int64_t ms)
{
	f.stopper = (struct loop_timer){.on_timer = stop};
	loop_timer_start(f.loop, &f.stopper, ms);
}

TEST(a_watch_set_to_nothing_is_not_called)
{
	add_watch(f.ends[0], EPOLLIN, on_readable, &f.watch);
	loop_watch_set(f.watch, 0);
	loop_watch_set(f.watch, 0);
	assert_int_equal(write(f.ends[1], "a", 1), 1);
	stop_after(5);
	loop_run(f.loop);
	assert_int_equal(f.calls, 0);
	loop_watch_set(f.watch, EPOLLIN);
	loop_run(f.loop);
	assert_int_equal(f.calls, 1);
}

static void free_both(void *context, uint32_t events)
{
	(void)context;
	(void)events;
	f.calls++;
	loop_watch_free(TAKE(f.watch));
	loop_watch_free(TAKE(f.other));
	loop_stop(f.loop);
}

TEST(a_watch_freed_by_another_is_never_called_again)
{
	/* Both are ready in one wake-up; whichever is first frees both. */
	assert_int_equal(write(f.ends[1], "a", 1), 1);
	add_watch(f.ends[0], EPOLLIN, free_both, &f.watch);
	add_watch(f.ends[1], EPOLLOUT, free_both, &f.other);
	loop_run(f.loop);
	assert_int_equal(f.calls, 1);
}

TEST(a_descriptor_that_cannot_be_watched_is_an_error)
{
	AUTO_CLOSE int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct loop_watch_options options = {.epoll_events = EPOLLIN, .on_ready = on_readable};
	struct loop_watch *watch = NULL;
	struct error err;

	options.fd = file;
	assert_int_equal(loop_watch_add(f.loop, &options, &watch, &err), -1);
	options.fd = -1;
	assert_int_equal(loop_watch_add(f.loop, &options, &watch, &err), -1);
	assert_null(watch);
}

static void count(void *context)
{
	(void)context;
	f.calls++;
}

TEST(timers_run_once_and_not_early)
{
	int64_t before = clock_monotonic_ms();

	f.timer = (struct loop_timer){.on_timer = count};
	loop_timer_start(f.loop, &f.timer, 3);
	stop_after(6);
	loop_run(f.loop);
	assert_int_equal(f.calls, 1);
	assert_int_equal(f.timer.heap_index, 0);
	assert_true(loop_now_ms(f.loop) - before >= 6);
}

TEST(a_stopped_timer_does_not_run_and_a_restarted_one_runs_later)
{
	struct loop_timer restarted = {.on_timer = count};

	f.timer = (struct loop_timer){.on_timer = count};
	loop_timer_start(f.loop, &f.timer, 1);
	loop_timer_stop(f.loop, &f.timer);
	loop_timer_stop(f.loop, &f.timer);
	loop_timer_start(f.loop, &restarted, 1);
	loop_timer_start(f.loop, &restarted, INT64_MAX);
	stop_after(5);
	loop_run(f.loop);
	assert_int_equal(f.calls, 0);
	loop_timer_stop(f.loop, &restarted);
}

static void restart(void *context)
{
	(void)context;
	f.calls++;
	loop_timer_start(f.loop, &f.timer, 0);
}

TEST(a_timer_without_delay_does_not_keep_descriptors_waiting)
{
	f.timer = (struct loop_timer){.on_timer = restart};
	loop_timer_start(f.loop, &f.timer, 0);
	add_watch(f.ends[0], EPOLLIN, on_readable, &f.watch);
	assert_int_equal(write(f.ends[1], "a", 1), 1);
	loop_run(f.loop);
	assert_int_equal(f.events, EPOLLIN);
	loop_timer_stop(f.loop, &f.timer);
}

#define TASK_COUNT 2000
struct numbered_task {
	struct loop_task task;
	unsigned number;
};
static struct numbered_task tasks[TASK_COUNT];

static void run_numbered(struct loop_task *task)
{
	struct numbered_task *numbered = CONTAINER_OF(task, struct numbered_task, task);

	assert_int_equal(numbered->number, f.calls++);
	if (f.calls == TASK_COUNT)
		loop_stop(f.loop);
}

static void *post_all(void *unused)
{
	for (unsigned i = 0; i < TASK_COUNT; i++) {
		tasks[i] = (struct numbered_task){{.run = run_numbered}, i};
		loop_post(f.loop, &tasks[i].task);
	}
	return unused;
}

TEST(posted_tasks_run_in_order_on_the_loop)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, post_all, NULL), 0);
	loop_run(f.loop);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(f.calls, TASK_COUNT);
}

static void post_self(struct loop_task *task)
{
	f.calls++;
	loop_post(f.loop, task);
}

TEST(a_task_that_posts_itself_does_not_hold_the_loop)
{
	struct loop_task task = {.run = post_self};

	loop_post(f.loop, &task);
	stop_after(2);
	loop_run(f.loop);
	assert_true(f.calls > 1);
}

static void on_alarm(int signo)
{
	(void)signo;
	loop_stop(f.loop);
}

TEST(a_signal_handler_can_stop_the_loop)
{
	(void)signal(SIGUSR1, on_alarm);
	(void)raise(SIGUSR1);
	loop_run(f.loop);
	(void)signal(SIGUSR1, SIG_DFL);
}

#define LOOP_CASE(name) cmocka_unit_test_setup_teardown(name, open_loop, close_loop)

int main(void)
{
	const struct CMUnitTest cases[] = {
	        LOOP_CASE(a_readable_descriptor_calls_its_watch),
	        LOOP_CASE(a_watch_set_to_nothing_is_not_called),
	        LOOP_CASE(a_watch_freed_by_another_is_never_called_again),
	        LOOP_CASE(a_descriptor_that_cannot_be_watched_is_an_error),
	        LOOP_CASE(timers_run_once_and_not_early),
	        LOOP_CASE(a_stopped_timer_does_not_run_and_a_restarted_one_runs_later),
	        LOOP_CASE(a_timer_without_delay_does_not_keep_descriptors_waiting),
	        LOOP_CASE(posted_tasks_run_in_order_on_the_loop),
	        LOOP_CASE(a_task_that_posts_itself_does_not_hold_the_loop),
	        LOOP_CASE(a_signal_handler_can_stop_the_loop),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}

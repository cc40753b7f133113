/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/loop.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "loop/timer_heap.h"

#define EVENTS_PER_WAKEUP 256

/* A freed watch may still be among the events of this iteration: it stays in `dead`, without its
 * callback, until all events were handled. */
struct loop_watch {
	struct loop *loop;
	struct loop_watch *next_dead;
	loop_on_ready *on_ready; /* NULL once freed */
	void *context;
	int fd;
	uint32_t events;
};

struct loop {
	int epoll_fd;
	int wakeup_fd;
	int64_t now_ms;
	int64_t busy_us;
	atomic_bool is_stopping;
	struct timer_heap timers;
	struct loop_watch *dead;
	unsigned watch_count;
	pthread_mutex_t lock; /* of the two below */
	struct loop_task *first_task, **last_task_next;
};

int loop_open(struct loop **ret, struct error *err)
{
	AUTO_CLOSE int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	AUTO_CLOSE int wakeup_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
	struct loop *loop;

	if (epoll_fd < 0 || wakeup_fd < 0)
		return FAIL_ERRNO(err, "open an event loop");
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, wakeup_fd, &event) < 0)
		return FAIL_ERRNO(err, "watch the loop's wake-up");
	loop = memory_new(sizeof(*loop));
	loop->epoll_fd = TAKE_FD(epoll_fd);
	loop->wakeup_fd = TAKE_FD(wakeup_fd);
	loop->now_ms = clock_monotonic_ms();
	loop->last_task_next = &loop->first_task;
	(void)pthread_mutex_init(&loop->lock, NULL);
	*ret = loop;
	return 0;
}

static void free_dead(struct loop *loop)
{
	while (loop->dead) {
		struct loop_watch *watch = loop->dead;

		loop->dead = watch->next_dead;
		free(watch);
	}
}

void loop_close(struct loop *loop)
{
	if (!loop)
		return;
	assert(loop->watch_count == 0);
	free_dead(loop);
	timer_heap_done(&loop->timers);
	(void)close(loop->epoll_fd);
	(void)close(loop->wakeup_fd);
	(void)pthread_mutex_destroy(&loop->lock);
	free(loop);
}

int64_t loop_now_ms(const struct loop *loop)
{
	return loop->now_ms;
}

int64_t loop_busy_us(const struct loop *loop)
{
	return loop->busy_us;
}

/* Async-signal-safe: one write, which can only fail when a wake-up is pending already. */
static void wake_loop(struct loop *loop)
{
	uint64_t one = 1;
	int saved = errno;
	ssize_t wrote = write(loop->wakeup_fd, &one, sizeof(one));

	(void)wrote;
	errno = saved;
}

void loop_stop(struct loop *loop)
{
	atomic_store(&loop->is_stopping, true);
	wake_loop(loop);
}

void loop_post(struct loop *loop, struct loop_task *task)
{
	bool was_empty;

	task->next = NULL;
	(void)pthread_mutex_lock(&loop->lock);
	was_empty = !loop->first_task;
	*loop->last_task_next = task;
	loop->last_task_next = &task->next;
	(void)pthread_mutex_unlock(&loop->lock);
	if (was_empty)
		wake_loop(loop);
}

/* Takes the whole queue first: a task that posts another must not keep the loop here. */
static void run_tasks(struct loop *loop)
{
	struct loop_task *task, *next;

	(void)pthread_mutex_lock(&loop->lock);
	task = loop->first_task;
	loop->first_task = NULL;
	loop->last_task_next = &loop->first_task;
	(void)pthread_mutex_unlock(&loop->lock);
	for (; task; task = next) {
		next = task->next;
		task->run(task);
	}
}

static void drain_wakeup(struct loop *loop)
{
	uint64_t count;
	ssize_t got = read(loop->wakeup_fd, &count, sizeof(count));

	(void)got; /* empty after a spurious wake-up */
}

static void run_timers(struct loop *loop)
{
	struct loop_timer *timer;

	while ((timer = timer_heap_first(&loop->timers)) && timer->at_ms <= loop->now_ms) {
		timer_heap_remove(&loop->timers, timer);
		timer->on_timer(timer->context);
	}
}

static int wait_ms(const struct loop *loop)
{
	const struct loop_timer *first = timer_heap_first(&loop->timers);

	return first ? deadline_poll_ms(first->at_ms) : -1;
}

static void dispatch_events(struct loop *loop, const struct epoll_event *events, int count)
{
	for (int i = 0; i < count; i++) {
		struct loop_watch *watch = events[i].data.ptr;

		if (!watch)
			drain_wakeup(loop);
		else if (watch->on_ready)
			watch->on_ready(watch->context, events[i].events);
	}
}

void loop_run(struct loop *loop)
{
	struct epoll_event events[EVENTS_PER_WAKEUP];

	while (!atomic_load(&loop->is_stopping)) {
		int count = epoll_wait(loop->epoll_fd, events, EVENTS_PER_WAKEUP, wait_ms(loop));
		int64_t woken_ns = clock_monotonic_ns();

		assert(count >= 0 || errno == EINTR);
		loop->now_ms = woken_ns / 1000000;
		dispatch_events(loop, events, count);
		run_tasks(loop);
		run_timers(loop);
		free_dead(loop);
		loop->busy_us = (clock_monotonic_ns() - woken_ns) / 1000;
	}
	atomic_store(&loop->is_stopping, false);
}

int loop_watch_add(struct loop *loop, const struct loop_watch_options *options,
                   struct loop_watch **ret, struct error *err)
{
	struct loop_watch *watch = memory_new(sizeof(*watch));
	struct epoll_event event = {.events = options->epoll_events, .data.ptr = watch};

	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, options->fd, &event) < 0) {
		free(watch);
		return FAIL_ERRNO(err, "watch descriptor %d", options->fd);
	}
	*watch = (struct loop_watch){
	        .loop = loop,
	        .on_ready = options->on_ready,
	        .context = options->context,
	        .fd = options->fd,
	        .events = options->epoll_events,
	};
	loop->watch_count++;
	*ret = watch;
	return 0;
}

void loop_watch_set(struct loop_watch *watch, uint32_t epoll_events)
{
	struct epoll_event event = {.events = epoll_events, .data.ptr = watch};
	int failed;

	if (watch->events == epoll_events)
		return;
	failed = epoll_ctl(watch->loop->epoll_fd, EPOLL_CTL_MOD, watch->fd, &event);
	assert(!failed); /* it is in the set, and no memory is needed */
	watch->events = epoll_events;
}

void loop_watch_free(struct loop_watch *watch)
{
	struct loop *loop;
	int failed;

	if (!watch)
		return;
	loop = watch->loop;
	failed = epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
	assert(!failed); /* the descriptor must outlive its watch */
	watch->on_ready = NULL;
	watch->next_dead = loop->dead;
	loop->dead = watch;
	loop->watch_count--;
}

void loop_timer_start(struct loop *loop, struct loop_timer *timer, int64_t delay_ms)
{
	int64_t now = clock_monotonic_ms();

	assert(timer->on_timer && delay_ms >= 0);
	loop_timer_stop(loop, timer);
	timer->at_ms = delay_ms > INT64_MAX - now ? INT64_MAX : now + delay_ms;
	/* Never in the same iteration: a timer that always restarts with no delay would starve the
	 * descriptors. */
	if (timer->at_ms <= loop->now_ms)
		timer->at_ms = loop->now_ms + 1;
	timer_heap_insert(&loop->timers, timer);
}

void loop_timer_stop(struct loop *loop, struct loop_timer *timer)
{
	if (timer->heap_index > 0)
		timer_heap_remove(&loop->timers, timer);
}

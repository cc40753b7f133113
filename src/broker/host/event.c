/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/host/event.h"

#include <errno.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/fd.h"

int events_open(struct events *events, struct error *err)
{
	*events = (struct events){.epoll = epoll_create1(EPOLL_CLOEXEC)};
	list_init(&events->timers);
	return events->epoll < 0 ? FAIL_ERRNO(err, "make an epoll") : 0;
}

void events_close(struct events *events)
{
	fd_forget(&events->epoll);
}

int watch_start(struct events *events, struct fd_watch *watch, int fd, struct error *err)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = watch};

	if (epoll_ctl(events->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		return FAIL_ERRNO(err, "watch a descriptor");
	watch->fd = fd;
	return 0;
}

int watch_writing(struct events *events, struct fd_watch *watch, bool wanted, struct error *err)
{
	struct epoll_event event = {.events = wanted ? EPOLLIN | EPOLLOUT : EPOLLIN,
	                            .data.ptr = watch};

	if (epoll_ctl(events->epoll, EPOLL_CTL_MOD, watch->fd, &event) < 0)
		return FAIL_ERRNO(err, "watch a descriptor");
	return 0;
}

void watch_stop(struct events *events, struct fd_watch *watch)
{
	if (watch->fd < 0)
		return;
	(void)epoll_ctl(events->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
	watch->fd = -1;
	for (unsigned i = 0; i < events->ready_count; i++)
		if (events->ready[i] == watch)
			events->ready[i] = NULL;
}

static int64_t now_us(void)
{
	return clock_monotonic_ns() / 1000;
}

void timer_start_us(struct events *events, struct timer *timer, int64_t in_us)
{
	timer->at_us = now_us() + in_us;
	list_append(&events->timers, &timer->item);
}

void timer_start(struct events *events, struct timer *timer, int64_t in_ms)
{
	timer_start_us(events, timer, in_ms * 1000);
}

void timer_stop(struct timer *timer)
{
	if (timer->item.next)
		list_remove(&timer->item);
}

/* There are few timers: one for each sandbox that is being set up, paused or stopped. */
static int64_t run_timers(struct events *events)
{
	int64_t now = now_us(), next = DEADLINE_NEVER;
	bool again = true;

	/* A callback may stop any timer, so the walk starts over after each. */
	while (again) {
		again = false;
		next = DEADLINE_NEVER;
		LIST_EACH (&events->timers, struct timer, timer, item) {
			if (timer->at_us <= now) {
				list_remove(&timer->item);
				timer->on_time(timer);
				again = true;
				break;
			}
			if (timer->at_us < next)
				next = timer->at_us;
		}
	}
	return next;
}

static struct timespec time_until(int64_t at_us)
{
	int64_t left_us = at_us - now_us();

	if (left_us < 0)
		left_us = 0;
	return (struct timespec){.tv_sec = left_us / 1000000, .tv_nsec = left_us % 1000000 * 1000};
}

/* `until_us`: 0: do not wait; DEADLINE_NEVER: wait without end. */
static int wait_ready(struct events *events, int64_t until_us, struct error *err)
{
	struct epoll_event list[COUNT_OF(events->ready)];
	struct timespec left = until_us > 0 ? time_until(until_us) : (struct timespec){0};
	int count = epoll_pwait2(events->epoll, list, COUNT_OF(list),
	                         until_us == DEADLINE_NEVER ? NULL : &left, NULL);

	if (count < 0 && errno != EINTR)
		return FAIL_ERRNO(err, "wait for events");
	events->ready_count = count < 0 ? 0 : (unsigned)count;
	for (unsigned i = 0; i < events->ready_count; i++) {
		events->ready[i] = list[i].data.ptr;
		events->ready[i]->can_write = list[i].events & EPOLLOUT;
		events->ready[i]->can_read = list[i].events & ~(uint32_t)EPOLLOUT;
	}
	return (int)events->ready_count;
}

int events_run(struct events *events, struct error *err)
{
	while (!events->stopping) {
		int64_t next = run_timers(events);
		int count = wait_ready(events, 0, err);

		if (count == 0 && !(events->on_idle && events->on_idle(events)))
			count = wait_ready(events, next, err);
		if (count < 0)
			return -1;
		for (unsigned i = 0; i < events->ready_count; i++)
			if (events->ready[i])
				events->ready[i]->on_ready(events->ready[i]);
		events->ready_count = 0;
	}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* broker/event.h — what the broker waits for: descriptors, times, children. Private to this folder.
 *
 * One thread, one loop. A watch, a timer or a job is embedded in the object that it is about, must
 * be taken off before that is freed, and may be taken off in any callback, its own included. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/list.h"

struct fd_watch {
	int fd;                   /* borrowed; -1 = not watched */
	bool can_read, can_write; /* why on_ready is called; an end or an error is read */
	void (*on_ready)(struct fd_watch *watch);
};

struct timer {
	struct list item;
	int64_t at_us; /* monotonic */
	void (*on_time)(struct timer *timer);
};

struct events {
	int epoll;
	struct list timers;
	struct fd_watch *ready[32]; /* of this round; a removed watch becomes NULL */
	unsigned ready_count;
	bool stopping;
	/* Called when nothing is left to do, before the loop sleeps. True = it did something. */
	bool (*on_idle)(struct events *events);
	/* In each child, first: gives up what only the broker itself may hold. */
	void (*on_child)(struct events *events);
};

MUST_CHECK int events_open(struct events *events, struct error *err);
void events_close(struct events *events);
/* Until events->stopping. */
MUST_CHECK int events_run(struct events *events, struct error *err);
MUST_CHECK int watch_start(struct events *events, struct fd_watch *watch, int fd,
                           struct error *err);
/* Whether it is called for room to write, too. */
MUST_CHECK int watch_writing(struct events *events, struct fd_watch *watch, bool wanted,
                             struct error *err);
void watch_stop(struct events *events, struct fd_watch *watch);
void timer_start(struct events *events, struct timer *timer, int64_t in_ms);
void timer_start_us(struct events *events, struct timer *timer, int64_t in_us);
void timer_stop(struct timer *timer);

/* A child that does something slow. `run` is the child's whole life; its result is the exit status.
 * It dies with the broker. The loop calls on_end with 0 when all went well. */
struct broker_child {
	struct fd_watch watch;
	pid_t pid;
	int pidfd;
	struct events *events;
	void (*on_end)(struct broker_child *child, int status);
};
MUST_CHECK int child_start(struct events *events, struct broker_child *child,
                           int (*run)(void *context), void *context, struct error *err);
/* In a child: everybody else comes first, with processor and disk. */
void child_give_way(void);
/* Kills and reaps it; on_end is not called. Fine when it does not run. */
void child_cancel(struct broker_child *child);

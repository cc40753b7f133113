/* SPDX-License-Identifier: Apache-2.0 */
/* broker/host/event.h — the broker's event loop: descriptors, timers, and requests that are
 * answered later.
 *
 * The broker has one thread and one loop. A watch or a timer is embedded in the object that it is
 * about. It must be stopped before that object is freed, and may be stopped in any callback, its
 * own included. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/list.h"

struct fd_watch {
	int fd;        /* borrowed; -1: not watched */
	bool can_read; /* why on_ready is called; end of file and errors count as readable */
	bool can_write;
	void (*on_ready)(struct fd_watch *watch);
};

struct timer {
	struct list item;
	int64_t at_us; /* monotonic */
	void (*on_time)(struct timer *timer);
};

/* The request that a later reply answers. */
struct pending_reply {
	uint64_t connection; /* serial number of the connection */
	uint64_t request;    /* number of the request on it */
};

#define EVENTS_READY_MAX 32

struct events {
	int epoll;
	struct list timers;
	struct fd_watch *ready[EVENTS_READY_MAX]; /* of this round; a stopped watch becomes NULL */
	unsigned ready_count;
	bool stopping;
	/* Called when nothing is ready, before the loop sleeps. Returns true if it did something.
	 */
	bool (*on_idle)(struct events *events);
	/* Called first in each child: closes what only the broker itself may hold. */
	void (*on_child)(struct events *events);
};

MUST_CHECK int events_open(struct events *events, struct error *err);
void events_close(struct events *events);
/* Runs the loop until events->stopping is set. */
MUST_CHECK int events_run(struct events *events, struct error *err);

MUST_CHECK int watch_start(struct events *events, struct fd_watch *watch, int fd,
                           struct error *err);
/* Whether on_ready is also called when the descriptor is writable. */
MUST_CHECK int watch_writing(struct events *events, struct fd_watch *watch, bool wanted,
                             struct error *err);
void watch_stop(struct events *events, struct fd_watch *watch);

void timer_start(struct events *events, struct timer *timer, int64_t in_ms);
void timer_start_us(struct events *events, struct timer *timer, int64_t in_us);
void timer_stop(struct timer *timer);

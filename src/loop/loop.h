/* SPDX-License-Identifier: Apache-2.0 */
/* loop/loop.h — the event loop: one thread waits for descriptors, timers, and tasks that other
 * threads post.
 *
 * Only loop_post and loop_stop may be called from other threads. Callbacks must not block. Any
 * callback may free any watch or timer, its own included; a freed watch or timer is never called
 * again. */
#pragma once

#include <stdint.h>
#include <sys/epoll.h>

#include "base/error.h"

struct loop;

MUST_CHECK int loop_open(struct loop **ret, struct error *err);
void loop_close(struct loop *loop); /* NULL is fine; watches must be gone */
void loop_run(struct loop *loop);   /* until loop_stop */
void loop_stop(struct loop *loop);  /* any thread, any signal handler */
/* Milliseconds on the monotonic clock, read once per wake-up. */
int64_t loop_now_ms(const struct loop *loop);
/* How long the previous iteration ran, without its wait; other events were delayed by this time. */
int64_t loop_busy_us(const struct loop *loop);

/* Level-triggered. The caller keeps the descriptor open while the watch exists. EPOLLHUP and
 * EPOLLERR are always reported, even when epoll_events is 0. */
struct loop_watch;
typedef void loop_on_ready(void *context, uint32_t epoll_events);
struct loop_watch_options {
	int fd;
	uint32_t epoll_events;
	loop_on_ready *on_ready;
	void *context;
};
MUST_CHECK int loop_watch_add(struct loop *loop, const struct loop_watch_options *options,
                              struct loop_watch **ret, struct error *err);
void loop_watch_set(struct loop_watch *watch, uint32_t epoll_events); /* cheap when unchanged */
void loop_watch_free(struct loop_watch *watch);                       /* NULL is fine */

/* A timer is embedded in its owner's struct and zero-initialised. Start and stop take O(log n). */
struct loop_timer {
	void (*on_timer)(void *context);
	void *context;
	int64_t at_ms;
	unsigned heap_index; /* 0 = not running */
};
void loop_timer_start(struct loop *loop, struct loop_timer *timer, int64_t delay_ms); /* restarts */
void loop_timer_stop(struct loop *loop, struct loop_timer *timer);

/* Runs task->run(task) on the loop's thread. The caller embeds the task and keeps it until it has
 * run. Tasks of one posting thread run in order. */
struct loop_task {
	struct loop_task *next;
	void (*run)(struct loop_task *task);
};
void loop_post(struct loop *loop, struct loop_task *task);

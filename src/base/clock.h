/* SPDX-License-Identifier: Apache-2.0 */
/* base/clock.h — time. Durations and deadlines are monotonic, timestamps are UTC. */
#pragma once

#include <stdint.h>
#include <time.h>

#include "base/attribute.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/span.h"

int64_t clock_monotonic_ns(void);
int64_t clock_monotonic_ms(void);
int64_t clock_unix_ms(void);
/* Since the machine's start, with the time that it slept: what the wall clock would be if nobody
 * set it. */
int64_t clock_boot_ms(void);

/* A point on the monotonic clock in ms; DEADLINE_NEVER is far away. */
#define DEADLINE_NEVER INT64_MAX
int64_t deadline_after(int64_t ms);
/* Milliseconds left for poll(2): 0 when passed, -1 for never, capped to INT_MAX. */
int deadline_poll_ms(int64_t deadline);
/* The same moment by the wall clock, for waits of pthreads: thread sanitizers know nothing of those
 * by the monotonic one. A clock that is set meanwhile makes them longer or shorter. */
struct timespec deadline_wall_time(int64_t deadline);

/* RFC 3339 in UTC with milliseconds: 2026-11-21T02:25:00.123Z. */
void clock_format(struct buf *out, int64_t unix_ms);
/* "90", "90s", "15m", "24h", "7d", "250ms" -> ms. A bare number is seconds. */
MUST_CHECK int duration_parse(struct span text, int64_t *ret_ms, struct error *err);

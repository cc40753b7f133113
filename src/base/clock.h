/* SPDX-License-Identifier: Apache-2.0 */
/* base/clock.h — time. Durations and deadlines are monotonic, timestamps are UTC. */
#pragma once

#include <stdint.h>
#include <time.h>

#include "base/error.h"

int64_t clock_monotonic_ns(void);
int64_t clock_monotonic_ms(void);
int64_t clock_unix_ms(void);
/* Milliseconds since boot, including suspend. Setting the wall clock does not change it. */
int64_t clock_boot_ms(void);

/* A deadline is a point on the monotonic clock in ms; DEADLINE_NEVER never passes. */
#define DEADLINE_NEVER INT64_MAX
int64_t deadline_after(int64_t ms);
/* Milliseconds left, for poll(2): 0 when the deadline has passed, -1 for never, at most INT_MAX. */
int deadline_poll_ms(int64_t deadline);
/* The same moment on the wall clock, for pthread waits: thread sanitizers do not support monotonic
 * waits. Setting the wall clock during the wait makes it longer or shorter. */
struct timespec deadline_wall_time(int64_t deadline);

/* RFC 3339 in UTC with milliseconds: 2026-11-21T02:25:00.123Z. */
void clock_format(struct buf *out, int64_t unix_ms);
/* "90", "90s", "15m", "24h", "7d", "250ms" -> ms. A bare number is seconds. */
MUST_CHECK int duration_parse(struct span text, int64_t *ret_ms, struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/screens.h — a cache of screens, so that the next request only costs the output since the
 * last one. Any thread.
 *
 * A screen is taken out, used by one thread, and put back. Without one the caller makes a screen
 * from the output that the agent still has. The least recently used screens are dropped. */
#pragma once

#include "base/bytes.h"
#include "terminal/screen.h"

#define SCREENS_MAX 64
#define SCREENS_CELLS_MAX ((size_t)1024 * 1024)

struct screens;
struct screens *screens_new(void);
void screens_free(struct screens *s);
/* Identifies a process: its number can repeat after a restart of the sandbox, its start time not.
 */
struct screen_key {
	const char *sandbox;
	uint64_t process, started_unix_ms;
};
struct screen *screens_take(struct screens *s, const struct screen_key *key); /* or NULL */
void screens_put(struct screens *s, const struct screen_key *key, struct screen *screen);

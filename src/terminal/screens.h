/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/screens.h — screens that were asked for a while ago, so that the next question costs
 * only the output since then. Private to this folder; any thread.
 *
 * A screen is taken out, used by one thread, and put back; who finds none makes one from what the
 * agent still has. The least used give way. */
#pragma once

#include "terminal/screen.h"

#define SCREENS_MAX 64
#define SCREENS_CELLS_MAX ((size_t)1024 * 1024)

struct screens;
struct screens *screens_new(void);
void screens_free(struct screens *s);
/* Which process: numbers begin again when a sandbox is started again, starts do not. */
struct screen_key {
	const char *sandbox;
	uint64_t process, started_unix_ms;
};
struct screen *screens_take(struct screens *s, const struct screen_key *key); /* or NULL */
void screens_put(struct screens *s, const struct screen_key *key, struct screen *screen);

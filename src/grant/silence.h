/* SPDX-License-Identifier: Apache-2.0 */
/* grant/silence.h — private: which sandboxes do not answer the thread of windows, and when it asks
 * each of them again.
 *
 * A sandbox that missed the short deadline of a round is silent: it is asked in turns, with a
 * longer deadline, after 0, 2, 4, … 60 s. The table has an entry for each sandbox that the last
 * round listed, and no other. One thread uses it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

struct silence {
	unsigned misses;  /* since its last answer */
	unsigned answers; /* since its last miss */
	int64_t next_try; /* monotonic ms; only after a miss */
	bool is_listed;   /* in this round */
};

/* The entry, which lasts until silence_forget_unlisted finds it unlisted; the call lists it. */
struct silence *silence_of(struct map *table, const char *id);
void silence_note_answer(struct silence *s);
void silence_note_miss(struct silence *s, int64_t now);
/* Removes entries that are not listed, and takes all others off the list. */
void silence_forget_unlisted(struct map *table);
void silence_done(struct map *table);

/* A sandbox that waits for its turn. */
struct silence_turn {
	const struct silence *silence; /* NULL: none waits */
	bool is_urgent;                /* a consent has ended */
};
/* Whether `a` comes before `b`: the urgent one, then the one that missed less often, because an
 * honest sandbox that was busy for a moment is among many hostile ones. */
bool silence_comes_before(const struct silence_turn *a, const struct silence_turn *b);

/* SPDX-License-Identifier: Apache-2.0 */
/* tests/escape/hostile/hostile.h — what code that has become the agent of a sandbox may send.
 *
 * Each mode breaks one promise of wire/agent.h. A mode ends when the other side hangs up, so that a
 * test sees whether the server does. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum hostile_mode {
	HOSTILE_SILENCE,
	HOSTILE_CLOSE,
	HOSTILE_PART_OF_A_HEAD,
	HOSTILE_PART_OF_A_FRAME,
	HOSTILE_DRIP,          /* a frame that comes byte by byte */
	HOSTILE_GARBAGE,       /* random bytes, without end */
	HOSTILE_EMPTY_FRAMES,  /* frames in order that carry nothing, without end */
	HOSTILE_FLOOD,         /* frames in order that carry something, without end */
	HOSTILE_FIRST_AGAIN,   /* the first frame of the answer, without end */
	HOSTILE_ANY_ORDER,     /* well-formed frames of random types, without end */
	HOSTILE_HUGE_FRAME,    /* a head that claims 4 GiB */
	HOSTILE_HUGE_COUNT,    /* a list of 2^32-1 items, texts that claim more than there is */
	HOSTILE_HUGE_NUMBERS,  /* sizes, offsets and times at their limits */
	HOSTILE_DESCRIPTORS,   /* descriptors with every frame */
	HOSTILE_ODD_FAILURES,  /* AGENT_FAILED with every code, malformed, without end */
	HOSTILE_READS_NOTHING, /* answers nothing and takes nothing more */
	HOSTILE_MODE_COUNT,
};
extern const char *const hostile_mode_names[HOSTILE_MODE_COUNT];

/* Answers a request of this type (enum agent_type) on the agent's end of a connection. Returns
 * when the other side has hung up, or after HOSTILE_MS_MAX. */
#define HOSTILE_MS_MAX 10000
void hostile_answer(int fd, uint16_t request, enum hostile_mode mode, unsigned seed);

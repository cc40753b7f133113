/* SPDX-License-Identifier: Apache-2.0 */
/* agent/score.h — keeps the agent's place in the order in which the kernel kills for memory.
 *
 * Root inside cannot write /proc/1/oom_score_adj, which is read-only there. But reapers share the
 * agent's memory, and what is written to the score of one of them the kernel gives to all processes
 * with that memory. So the agent looks at its own score whenever it refreshes its views, once a
 * second while something runs, and sets it back. */
#pragma once

/* Opens its file, which can be written only before the set-up, and reads the score to keep. */
void score_open(void);
void score_keep(void);

/* SPDX-License-Identifier: Apache-2.0 */
/* agent/score.h — protects the agent's oom_score_adj.
 *
 * Root inside cannot write /proc/1/oom_score_adj, which is read-only there. But reapers share the
 * agent's memory, and the kernel applies a score to all processes with the same memory. So the
 * agent checks its own score whenever it refreshes its views, once a second while a command runs,
 * and restores it. */
#pragma once

/* Opens its file, which can be written only before the set-up, and reads the score to keep. */
void score_open(void);
void score_keep(void);

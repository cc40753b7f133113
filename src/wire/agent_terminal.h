/* SPDX-License-Identifier: Apache-2.0 */
/* wire/agent_terminal.h — AGENT_TERMINAL: part of wire/agent.h. Kept apart from EXEC and PROCESS,
 * whose form agents know that were started by an older server. */
#pragma once

#include <stdint.h>

#include "wire/wire.h"

/* About a process that has a terminal; what is 0 stays as it is. */
struct agent_terminal {
	uint64_t process;
	/* For the group in the foreground, if that is not the process' own: nothing is done then.
	 */
	uint32_t signal;
	uint32_t rows, columns;
	/* Ended (timed_out) after so long without input or output while nothing else runs in the
	 * foreground. */
	uint64_t idle_ms;
};
extern const struct wire_member agent_terminal_shape[];

struct agent_terminal_state {
	uint32_t rows, columns;
	uint32_t foreground; /* process group; 0 = none that is inside */
	uint32_t is_busy;    /* 1: that is not the process' own; with a signal: so it was */
	uint32_t state;      /* enum agent_process_state */
	uint32_t viewers;    /* connections that are attached */
	uint64_t idle_ms;
	uint64_t quiet_ms;                 /* since the last input or output; 0 without idle_ms */
	uint64_t output_start, output_end; /* offsets that are kept */
};
extern const struct wire_member agent_terminal_state_shape[];

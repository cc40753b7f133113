/* SPDX-License-Identifier: Apache-2.0 */
/* wire/agent_terminal.h — AGENT_TERMINAL: part of wire/agent.h. Separate from EXEC and PROCESS,
 * whose form must stay, because agents outlive their server. */
#pragma once

#include <stdint.h>

#include "wire/wire.h"

/* Changes the terminal of a process; members that are 0 change nothing. */
struct agent_terminal {
	uint64_t process;
	/* Sent to the foreground group, unless it is the process's own group: then nothing is
	 * sent. */
	uint32_t signal;
	uint32_t rows, columns;
	/* The process is ended (timed_out) after this long without input and output while no other
	 * group is in the foreground. */
	uint64_t idle_ms;
};
extern const struct wire_member agent_terminal_shape[];

struct agent_terminal_state {
	uint32_t rows, columns;
	uint32_t foreground; /* process group; 0 = none inside the sandbox */
	uint32_t is_busy;    /* 1: another group than the process's own is in the foreground; with a
	                        signal: before it was sent */
	uint32_t state;      /* enum agent_process_state */
	uint32_t viewers;    /* connections that are attached */
	uint64_t idle_ms;
	uint64_t quiet_ms;                 /* since the last input or output; 0 without idle_ms */
	uint64_t output_start, output_end; /* offsets of the kept output */
};
extern const struct wire_member agent_terminal_state_shape[];

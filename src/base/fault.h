/* SPDX-License-Identifier: Apache-2.0 */
/* base/fault.h — named steps where a test can kill or stop this process, or make the step fail.
 *
 * ATOLL_FAULT=PLACE:STEP:kill in the environment makes fault_point(PLACE, STEP) send SIGKILL to its
 * own process, which simulates a power cut between two system calls. PLACE:STEP:stop sends SIGSTOP;
 * the process continues at SIGCONT. PLACE:STEP:fail makes fault_failure(PLACE, STEP) fail each
 * time. Without the variable both cost one comparison. tests/fault finds the steps in the source
 * and runs each. */
#pragma once

#include <stdint.h>

#include "base/error.h"

void fault_point(const char *place, const char *step);
MUST_CHECK int fault_failure(const char *place, const char *step, struct error *err);
/* The number of ms that a test adds to the wall clock. ATOLL_FAULT_CLOCK=FILE in the environment
 * names a file of eight bytes: the number in native byte order, which the test may change at any
 * time. Without the variable the function returns 0 and costs one comparison. */
int64_t fault_clock_offset_ms(void);
/* "ATOLL_FAULT=…" to pass to a child process when it concerns that place; else NULL. */
const char *fault_entry(const char *place);

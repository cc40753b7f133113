/* SPDX-License-Identifier: Apache-2.0 */
/* base/fault.h — named steps at which a test may have this process killed, or have them fail.
 *
 * With ATOLL_FAULT=PLACE:STEP:kill in the environment, fault_point of that place and step sends
 * SIGKILL to its own process: what a power cut between two system calls would look like. With
 * PLACE:STEP:stop it sends SIGSTOP, and goes on at a SIGCONT: what has to happen meanwhile can.
 * With PLACE:STEP:fail, fault_failure of that place and step fails each time. Without the variable
 * both are one comparison. tests/fault finds the steps in the source and runs each. */
#pragma once

#include <stdint.h>

#include "base/error.h"

void fault_point(const char *place, const char *step);
MUST_CHECK int fault_failure(const char *place, const char *step, struct error *err);
/* With ATOLL_FAULT_CLOCK=FILE in the environment, FILE holds eight bytes, a number in the machine's
 * own order, which a test may change at any time: so many ms the wall clock is wrong. Without it 0,
 * and one comparison. */
int64_t fault_clock_offset_ms(void);
/* "ATOLL_FAULT=…" when it is about that place, to be handed on; else NULL. */
const char *fault_entry(const char *place);

/* SPDX-License-Identifier: Apache-2.0 */
/* base/fault.h — named steps at which a test may have this process killed.
 *
 * With ATOLL_FAULT=PLACE:STEP:kill in the environment, fault_point of that place and step sends
 * SIGKILL to its own process: what a power cut between two system calls would look like. Without
 * the variable it is one comparison. tests/fault finds the steps in the source and runs each. */
#pragma once

void fault_point(const char *place, const char *step);

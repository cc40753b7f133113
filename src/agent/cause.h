/* SPDX-License-Identifier: Apache-2.0 */
/* agent/cause.h — why a command failed, beside its exit code: which limit of the sandbox the kernel
 * enforced while the command ran.
 *
 * The counters are those of the sandbox's own cgroups. The broker passes their files, open for
 * reading. The agent reads them when a command starts, and again when a command ends by a signal or
 * with an exit code other than 0.
 */
#pragma once

#include <stdint.h>

struct agent;
struct process;

struct cause_counts {
	uint64_t oom_kills, processes_refused;
};
/* Zeros where the host has no such counters. */
void cause_count(const struct agent *a, struct cause_counts *ret);
/* The AGENT_CAUSE_ flag for a command that ended with this wait status, or 0. */
uint32_t cause_find(const struct process *p, int status);

/* SPDX-License-Identifier: Apache-2.0 */
/* provider/agent_stop.h — tells the agent of a sandbox to end. Private to provider/. */
#pragma once

#include <stdint.h>

struct provider;

/* The agent asks all processes to end, kills those that are left after the grace, and ends itself.
 * Returns the connection, which ends with the agent, or -1: the agent was not told within 2 s. */
int agent_stop_begin(struct provider *p, const char *id, int64_t grace_ms);

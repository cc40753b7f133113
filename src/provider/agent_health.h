/* SPDX-License-Identifier: Apache-2.0 */
/* provider/agent_health.h — which sandboxes' agents have stopped to answer.
 *
 * A miss is a quick request (agent_type_is_quick) that got no frame within agent_answer_ms. After
 * AGENT_MISSES_MAX misses in a row an agent is unresponsive: calls of its sandbox are refused at
 * once, but for one at a time, which tries whether it answers again: the first call that comes
 * agent_answer_ms after the last one gave up. Any frame of the agent ends that. Requests that
 * waited at the same time count as one miss.
 *
 * One table of this process, of at most AGENT_HEALTH_MAX sandboxes: past that the one that has
 * been quiet for longest is forgotten. Any thread may call. While no agent has missed a deadline
 * every function but agent_health_missed is one atomic load. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define AGENT_MISSES_MAX 3
#define AGENT_HEALTH_MAX 4096

/* A request that began at `begun_ms` (monotonic) got no frame by its deadline. */
void agent_health_missed(const char *id, int64_t begun_ms);
void agent_health_answered(const char *id);
/* Before a request: ERROR_UNAVAILABLE while the agent is unresponsive and is not to be tried. */
MUST_CHECK int agent_health_admit(const char *id, struct error *err);
bool agent_health_is_unresponsive(const char *id);
/* True once for each time that an agent became unresponsive and still is. */
bool agent_health_take_news(const char *id);
size_t agent_health_count(void); /* of unresponsive ones */
/* The sandbox has ended. */
void agent_health_forget(const char *id);

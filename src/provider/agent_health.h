/* SPDX-License-Identifier: Apache-2.0 */
/* provider/agent_health.h — records which agents do not answer.
 *
 * A miss is a quick request (agent_type_is_quick) without a frame within agent_answer_ms. After
 * AGENT_MISSES_MAX misses in a row an agent is unresponsive, and calls to its sandbox fail at once.
 * One call at a time is admitted as a test: the first that comes agent_answer_ms after the last
 * test failed. Any frame from the agent makes it responsive again. Concurrent requests count as one
 * miss.
 *
 * One table per process, of at most AGENT_HEALTH_MAX sandboxes; the entry without news for the
 * longest time is replaced. Any thread. While no agent has missed a deadline every function but
 * agent_health_missed is one atomic load. */
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
/* Call before a request. ERROR_UNAVAILABLE while the agent is unresponsive and no test is due. */
MUST_CHECK int agent_health_admit(const char *id, struct error *err);
bool agent_health_is_unresponsive(const char *id);
/* True once after each change to unresponsive, while it lasts. */
bool agent_health_take_news(const char *id);
size_t agent_health_count(void); /* of unresponsive agents */
/* The sandbox has ended. */
void agent_health_forget(const char *id);

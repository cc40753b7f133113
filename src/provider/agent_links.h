/* SPDX-License-Identifier: Apache-2.0 */
/* provider/agent_links.h — connections to the agents of this machine's sandboxes.
 *
 * An agent listens at RUN_DIR/ID/agent.sock. A few idle connections per sandbox are kept. They are
 * closed after some time, when the agent hangs up, and when their sandbox ends. Any thread. Only
 * agent_links_connect blocks. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct agent_links;

/* RUN_DIR need not exist before the first connection. */
struct agent_links *agent_links_new(const char *run_dir);
void agent_links_free(struct agent_links *links); /* closes idle connections */
/* ERROR_UNAVAILABLE when the sandbox has no agent. */
MUST_CHECK int agent_links_connect(struct agent_links *links, const char *id, int64_t deadline,
                                   int *ret_fd, struct error *err);
/* An idle connection that is alive, or -1. */
int agent_links_take(struct agent_links *links, const char *id);
void agent_links_give_back(struct agent_links *links, const char *id, int fd);
/* Closes the idle connections of this sandbox. */
void agent_links_drop(struct agent_links *links, const char *id);
/* Closes connections that were idle for longer than `age_ms`. */
void agent_links_sweep(struct agent_links *links, int64_t age_ms);

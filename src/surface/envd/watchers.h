/* SPDX-License-Identifier: Apache-2.0 */
/* surface/envd/watchers.h — watchers of folders whose events a client polls, for clients without
 * streams.
 *
 * The events wait in the watcher's connection to the agent. A watcher does not hold its sandbox,
 * so an idle sandbox can be paused. A watcher that no client polls for WATCHERS_IDLE_MS is
 * removed. Functions may be called on any thread. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/id.h"

#define WATCHERS_MAX 1024
#define WATCHERS_PER_SANDBOX_MAX 32
#define WATCHERS_IDLE_MS (10 * 60 * 1000)

struct envd_watchers;
struct envd_watchers *envd_watchers_new(void);
void envd_watchers_free(struct envd_watchers *w); /* NULL is fine */
/* Takes over the descriptor, on which the agent has sent READY and sends changes. */
MUST_CHECK int watchers_add(struct envd_watchers *w, const char *sandbox_id, int fd,
                            char ret_id[ID_SIZE + 1], struct error *err);
/* Appends the waiting events, separated by commas. ERROR_NOT_FOUND if the watcher does not exist or
 * has ended. */
MUST_CHECK int watchers_take_events(struct envd_watchers *w, const char *sandbox_id, const char *id,
                                    struct buf *out, struct error *err);
MUST_CHECK int watchers_remove(struct envd_watchers *w, const char *sandbox_id, const char *id,
                               struct error *err);

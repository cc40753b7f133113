/* SPDX-License-Identifier: Apache-2.0 */
/* surface/envd/watchers.h — watches that are asked for what they have seen, by clients without
 * streams. Private to this folder.
 *
 * What a watch has to tell waits in the connection to its agent; nobody is held for it, so a
 * sandbox that nobody uses may be paused all the same. One that is not asked for a while is
 * forgotten. Any thread. */
#pragma once

#include <stdbool.h>

#include "surface/envd/envd.h"

#define WATCHERS_MAX 1024
#define WATCHERS_PER_SANDBOX_MAX 32
#define WATCHERS_IDLE_MS (10 * 60 * 1000)

struct envd_watchers;
struct envd_watchers *envd_watchers_new(void);
void envd_watchers_free(struct envd_watchers *w); /* NULL is fine */
/* Takes the descriptor, on which an agent tells of changes; READY was heard. */
MUST_CHECK int watchers_add(struct envd_watchers *w, const char *sandbox_id, int fd,
                            char ret_id[ID_SIZE + 1], struct error *err);
/* Appends events with commas between. ERROR_NOT_FOUND for one that is not there or has ended. */
MUST_CHECK int watchers_take_events(struct envd_watchers *w, const char *sandbox_id, const char *id,
                                    struct buf *out, struct error *err);
MUST_CHECK int watchers_remove(struct envd_watchers *w, const char *sandbox_id, const char *id,
                               struct error *err);

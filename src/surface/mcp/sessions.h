/* SPDX-License-Identifier: Apache-2.0 */
/* surface/mcp/sessions.h — the sessions of MCP's old era: that a client said "initialize", and with
 * which key. Private to this folder; any thread.
 *
 * In memory only: after a restart a client is told that its session is gone, and begins again.
 * There is room for so many; the one not used for longest gives way. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"

#define MCP_SESSIONS_MAX 4096

struct mcp_sessions;
struct mcp_sessions *mcp_sessions_new(void);
void mcp_sessions_free(struct mcp_sessions *s); /* NULL is fine */
/* `now` is monotonic ms. */
void mcp_sessions_add(struct mcp_sessions *s, const char *key_id, int64_t now,
                      char ret_id[ID_SIZE + 1]);
/* False for one that there is not, or that is another key's. */
bool mcp_sessions_use(struct mcp_sessions *s, const char *id, const char *key_id, int64_t now);
bool mcp_sessions_remove(struct mcp_sessions *s, const char *id, const char *key_id);

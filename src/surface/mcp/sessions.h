/* SPDX-License-Identifier: Apache-2.0 */
/* surface/mcp/sessions.h — sessions of MCP's legacy era: the key with which a client sent
 * "initialize". Any thread.
 *
 * Sessions are in memory: after a restart a client gets an error and initializes again. The least
 * recently used session is dropped when there are more than MCP_SESSIONS_MAX. */
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
/* False for a session that is unknown, or that belongs to another key. */
bool mcp_sessions_use(struct mcp_sessions *s, const char *id, const char *key_id, int64_t now);
bool mcp_sessions_remove(struct mcp_sessions *s, const char *id, const char *key_id);

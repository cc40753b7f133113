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
#include "surface/mcp/client.h"

#define MCP_SESSIONS_MAX 4096
#define MCP_WATCHES_MAX 32    /* of a session */
#define MCP_WATCH_URI_MAX 256 /* bytes */

struct mcp_sessions;
struct mcp_sessions *mcp_sessions_new(void);
void mcp_sessions_free(struct mcp_sessions *s); /* NULL is fine */
/* `now` is monotonic ms. */
void mcp_sessions_add(struct mcp_sessions *s, const char *key_id,
                      const struct mcp_abilities *abilities, int64_t now, char ret_id[ID_SIZE + 1]);
/* False for a session that is unknown, or that belongs to another key. */
bool mcp_sessions_use(struct mcp_sessions *s, const char *id, const char *key_id, int64_t now,
                      struct mcp_abilities *ret);
bool mcp_sessions_remove(struct mcp_sessions *s, const char *id, const char *key_id);

/* The rest is for a session that mcp_sessions_use has found; a session that has ended meanwhile is
 * no error. */

void mcp_sessions_set_log_level(struct mcp_sessions *s, const char *id, enum mcp_log_level level);

/* resources/subscribe: the client is told when the sandbox changes. */
struct mcp_watch {
	char uri[MCP_WATCH_URI_MAX + 1];
	char sandbox_id[ID_SIZE + 1]; /* "": never changes */
};
/* ERROR_LIMIT with MCP_WATCHES_MAX others. A repeated call changes nothing. */
MUST_CHECK int mcp_sessions_watch(struct mcp_sessions *s, const char *id,
                                  const struct mcp_watch *watch, struct error *err);
void mcp_sessions_unwatch(struct mcp_sessions *s, const char *id, const char *uri);
/* Writes the addresses that watch this sandbox. Returns how many. */
unsigned mcp_sessions_watched(struct mcp_sessions *s, const char *id, const char *sandbox_id,
                              struct mcp_watch ret[MCP_WATCHES_MAX]);
/* A session has one stream of events at a time; false: it has one, or has ended. */
bool mcp_sessions_begin_stream(struct mcp_sessions *s, const char *id);
void mcp_sessions_end_stream(struct mcp_sessions *s, const char *id);

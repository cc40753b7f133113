/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/mcp/sessions.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/attribute.h"

struct mcp_session {
	char id[ID_SIZE + 1], key_id[65];
	int64_t used_at;
};
struct mcp_sessions {
	pthread_mutex_t mutex;
	unsigned count;
	struct mcp_session items[MCP_SESSIONS_MAX];
};

struct mcp_sessions *mcp_sessions_new(void)
{
	struct mcp_sessions *s = memory_new(sizeof(*s));

	pthread_mutex_init(&s->mutex, NULL);
	return s;
}

void mcp_sessions_free(struct mcp_sessions *s)
{
	if (!s)
		return;
	pthread_mutex_destroy(&s->mutex);
	free(s);
}

/* The caller holds the mutex. */
static struct mcp_session *find_free_session(struct mcp_sessions *s)
{
	struct mcp_session *oldest = &s->items[0];

	if (s->count < MCP_SESSIONS_MAX)
		return &s->items[s->count++];
	for (unsigned i = 1; i < s->count; i++)
		if (s->items[i].used_at < oldest->used_at)
			oldest = &s->items[i];
	return oldest;
}

static struct mcp_session *find_session(struct mcp_sessions *s, const char *id, const char *key_id)
{
	for (unsigned i = 0; i < s->count; i++)
		if (strcmp(s->items[i].id, id) == 0)
			return strcmp(s->items[i].key_id, key_id) == 0 ? &s->items[i] : NULL;
	return NULL;
}

void mcp_sessions_add(struct mcp_sessions *s, const char *key_id, int64_t now,
                      char ret_id[ID_SIZE + 1])
{
	struct id id = id_new();
	struct mcp_session *session;

	assert(strlen(key_id) < sizeof(session->key_id));
	pthread_mutex_lock(&s->mutex);
	session = find_free_session(s);
	*session = (struct mcp_session){.used_at = now};
	memcpy(session->id, id.text, sizeof(id.text));
	memcpy(session->key_id, key_id, strlen(key_id) + 1);
	pthread_mutex_unlock(&s->mutex);
	memcpy(ret_id, id.text, sizeof(id.text));
}

bool mcp_sessions_use(struct mcp_sessions *s, const char *id, const char *key_id, int64_t now)
{
	struct mcp_session *found;

	pthread_mutex_lock(&s->mutex);
	found = find_session(s, id, key_id);
	if (found)
		found->used_at = now;
	pthread_mutex_unlock(&s->mutex);
	return found != NULL;
}

bool mcp_sessions_remove(struct mcp_sessions *s, const char *id, const char *key_id)
{
	struct mcp_session *found;

	pthread_mutex_lock(&s->mutex);
	found = find_session(s, id, key_id);
	if (found)
		*found = s->items[--s->count];
	pthread_mutex_unlock(&s->mutex);
	return found != NULL;
}

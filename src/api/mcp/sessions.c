/* SPDX-License-Identifier: Apache-2.0 */
#include "api/mcp/sessions.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct session {
	char id[ID_SIZE + 1], key_id[65];
	int64_t used_at;
};
struct mcp_sessions {
	pthread_mutex_t mutex;
	unsigned count;
	struct session items[MCP_SESSIONS_MAX];
};

struct mcp_sessions *mcp_sessions_new(void)
{
	struct mcp_sessions *s = calloc(1, sizeof(*s));

	assert(s);
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
static struct session *place_for_one(struct mcp_sessions *s)
{
	struct session *oldest = &s->items[0];

	if (s->count < MCP_SESSIONS_MAX)
		return &s->items[s->count++];
	for (unsigned i = 1; i < s->count; i++)
		if (s->items[i].used_at < oldest->used_at)
			oldest = &s->items[i];
	return oldest;
}

static struct session *find(struct mcp_sessions *s, const char *id, const char *key_id)
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
	struct session *place;

	assert(strlen(key_id) < sizeof(place->key_id));
	pthread_mutex_lock(&s->mutex);
	place = place_for_one(s);
	*place = (struct session){.used_at = now};
	memcpy(place->id, id.text, sizeof(id.text));
	memcpy(place->key_id, key_id, strlen(key_id) + 1);
	pthread_mutex_unlock(&s->mutex);
	memcpy(ret_id, id.text, sizeof(id.text));
}

bool mcp_sessions_use(struct mcp_sessions *s, const char *id, const char *key_id, int64_t now)
{
	struct session *found;

	pthread_mutex_lock(&s->mutex);
	found = find(s, id, key_id);
	if (found)
		found->used_at = now;
	pthread_mutex_unlock(&s->mutex);
	return found != NULL;
}

bool mcp_sessions_remove(struct mcp_sessions *s, const char *id, const char *key_id)
{
	struct session *found;

	pthread_mutex_lock(&s->mutex);
	found = find(s, id, key_id);
	if (found)
		*found = s->items[--s->count];
	pthread_mutex_unlock(&s->mutex);
	return found != NULL;
}

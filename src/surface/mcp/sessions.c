/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/mcp/sessions.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct mcp_session {
	char id[ID_SIZE + 1], key_id[65];
	int64_t used_at;
	struct mcp_abilities abilities;
	struct mcp_watch *watches; /* MCP_WATCHES_MAX; NULL: none yet */
	unsigned watch_count;
	bool has_stream;
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
	for (unsigned i = 0; i < s->count; i++)
		free(s->items[i].watches);
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

static struct mcp_session *find_by_id(struct mcp_sessions *s, const char *id)
{
	for (unsigned i = 0; i < s->count; i++)
		if (strcmp(s->items[i].id, id) == 0)
			return &s->items[i];
	return NULL;
}

static struct mcp_session *find_session(struct mcp_sessions *s, const char *id, const char *key_id)
{
	struct mcp_session *found = find_by_id(s, id);

	return found && strcmp(found->key_id, key_id) == 0 ? found : NULL;
}

void mcp_sessions_add(struct mcp_sessions *s, const char *key_id,
                      const struct mcp_abilities *abilities, int64_t now, char ret_id[ID_SIZE + 1])
{
	struct id id = id_new();
	struct mcp_session *session;

	assert(strlen(key_id) < sizeof(session->key_id));
	pthread_mutex_lock(&s->mutex);
	session = find_free_session(s);
	free(session->watches);
	*session = (struct mcp_session){.used_at = now, .abilities = *abilities};
	memcpy(session->id, id.text, sizeof(id.text));
	memcpy(session->key_id, key_id, strlen(key_id) + 1);
	pthread_mutex_unlock(&s->mutex);
	memcpy(ret_id, id.text, sizeof(id.text));
}

bool mcp_sessions_use(struct mcp_sessions *s, const char *id, const char *key_id, int64_t now,
                      struct mcp_abilities *ret)
{
	struct mcp_session *found;

	pthread_mutex_lock(&s->mutex);
	found = find_session(s, id, key_id);
	if (found) {
		found->used_at = now;
		*ret = found->abilities;
	}
	pthread_mutex_unlock(&s->mutex);
	return found != NULL;
}

bool mcp_sessions_remove(struct mcp_sessions *s, const char *id, const char *key_id)
{
	struct mcp_session *found;

	pthread_mutex_lock(&s->mutex);
	found = find_session(s, id, key_id);
	if (found) {
		free(found->watches);
		*found = s->items[--s->count];
		s->items[s->count] = (struct mcp_session){.used_at = 0};
	}
	pthread_mutex_unlock(&s->mutex);
	return found != NULL;
}

void mcp_sessions_set_log_level(struct mcp_sessions *s, const char *id, enum mcp_log_level level)
{
	struct mcp_session *found;

	pthread_mutex_lock(&s->mutex);
	found = find_by_id(s, id);
	if (found)
		found->abilities.log_level = level;
	pthread_mutex_unlock(&s->mutex);
}

static struct mcp_watch *find_watch(const struct mcp_session *session, const char *uri)
{
	for (unsigned i = 0; i < session->watch_count; i++)
		if (strcmp(session->watches[i].uri, uri) == 0)
			return &session->watches[i];
	return NULL;
}

/* The caller holds the mutex. */
static int add_watch(struct mcp_session *session, const struct mcp_watch *watch, struct error *err)
{
	if (find_watch(session, watch->uri))
		return 0;
	if (session->watch_count == MCP_WATCHES_MAX)
		return FAIL(err, ERROR_LIMIT, "this session has %d subscriptions, the most",
		            MCP_WATCHES_MAX);
	if (!session->watches)
		session->watches = memory_new(MCP_WATCHES_MAX * sizeof(*session->watches));
	session->watches[session->watch_count++] = *watch;
	return 0;
}

int mcp_sessions_watch(struct mcp_sessions *s, const char *id, const struct mcp_watch *watch,
                       struct error *err)
{
	struct mcp_session *found;
	int result;

	pthread_mutex_lock(&s->mutex);
	found = find_by_id(s, id);
	result = found ? add_watch(found, watch, err) : 0;
	pthread_mutex_unlock(&s->mutex);
	return result;
}

void mcp_sessions_unwatch(struct mcp_sessions *s, const char *id, const char *uri)
{
	struct mcp_session *found;
	struct mcp_watch *watch;

	pthread_mutex_lock(&s->mutex);
	found = find_by_id(s, id);
	watch = found ? find_watch(found, uri) : NULL;
	if (watch)
		*watch = found->watches[--found->watch_count];
	pthread_mutex_unlock(&s->mutex);
}

unsigned mcp_sessions_watched(struct mcp_sessions *s, const char *id, const char *sandbox_id,
                              struct mcp_watch ret[MCP_WATCHES_MAX])
{
	struct mcp_session *found;
	unsigned count = 0;

	pthread_mutex_lock(&s->mutex);
	found = find_by_id(s, id);
	for (unsigned i = 0; found && i < found->watch_count; i++)
		if (strcmp(found->watches[i].sandbox_id, sandbox_id) == 0)
			ret[count++] = found->watches[i];
	pthread_mutex_unlock(&s->mutex);
	return count;
}

bool mcp_sessions_begin_stream(struct mcp_sessions *s, const char *id)
{
	struct mcp_session *found;
	bool is_new;

	pthread_mutex_lock(&s->mutex);
	found = find_by_id(s, id);
	is_new = found && !found->has_stream;
	if (is_new)
		found->has_stream = true;
	pthread_mutex_unlock(&s->mutex);
	return is_new;
}

void mcp_sessions_end_stream(struct mcp_sessions *s, const char *id)
{
	struct mcp_session *found;

	pthread_mutex_lock(&s->mutex);
	found = find_by_id(s, id);
	if (found)
		found->has_stream = false;
	pthread_mutex_unlock(&s->mutex);
}

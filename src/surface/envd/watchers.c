/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/envd/watchers.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "edge/api.h"
#include "http/server/host.h"
#include "json/write.h"
#include "surface/envd/changes.h"
#include "surface/envd/envd.h"
#include "surface/envd/routes.h"
#include "surface/envd/surface.h"
#include "surface/preview/serve.h"
#include "wire/agent.h"

#define READ_SIZE ((size_t)64 * 1024)
#define HELD_MAX ((size_t)2 * (WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX))
/* The events of one answer; further events wait for the next call. */
#define TAKEN_MAX ((size_t)4 * 1024 * 1024)
/* The bytes that one call reads from the agent: not every frame is an event. */
#define READ_MAX ((size_t)8 * 1024 * 1024)
/* How long a call waits for the changes that were made before it. */
#define ASK_MS 500
#define ASKED_MAX 8

/* The mutex of struct envd_watchers guards the list and the members up to `reading`. Reading from
 * an agent needs the watcher's own mutex only, so that an agent cannot delay calls of other
 * sandboxes. */
struct envd_watcher {
	struct list item;
	char id[ID_SIZE + 1], sandbox_id[ID_SIZE + 1];
	int64_t used_ms;
	unsigned users; /* calls that hold a reference; the watcher is freed after the last one */
	bool is_listed;
	pthread_mutex_t reading; /* guards the members below */
	int fd;
	unsigned asked;  /* PINGs that the agent has not answered */
	struct buf held; /* an incomplete frame */
	struct changes changes;
};

struct envd_watchers {
	pthread_mutex_t mutex;
	struct list items;
	unsigned count;
};

struct envd_watchers *envd_watchers_new(void)
{
	struct envd_watchers *w = memory_new(sizeof(*w));

	pthread_mutex_init(&w->mutex, NULL);
	list_init(&w->items);
	return w;
}

static void watcher_free(struct envd_watcher *watcher)
{
	(void)close(watcher->fd);
	buf_done(&watcher->held);
	changes_done(&watcher->changes);
	pthread_mutex_destroy(&watcher->reading);
	free(watcher);
}

/* Called with the mutex held. If calls still use the watcher, the last of them frees it. */
static void remove_watcher(struct envd_watchers *w, struct envd_watcher *watcher)
{
	if (watcher->is_listed) {
		watcher->is_listed = false;
		w->count--;
		list_remove(&watcher->item);
	}
	if (watcher->users == 0)
		watcher_free(watcher);
}

void envd_watchers_free(struct envd_watchers *w)
{
	if (!w)
		return;
	LIST_EACH (&w->items, struct envd_watcher, watcher, item)
		remove_watcher(w, watcher);
	pthread_mutex_destroy(&w->mutex);
	free(w);
}

static unsigned remove_idle(struct envd_watchers *w, const char *sandbox_id, int64_t now)
{
	unsigned count = 0;

	LIST_EACH (&w->items, struct envd_watcher, watcher, item) {
		if (watcher->users == 0 && now - watcher->used_ms > WATCHERS_IDLE_MS)
			remove_watcher(w, watcher);
		else
			count += strcmp(watcher->sandbox_id, sandbox_id) == 0;
	}
	return count;
}

static struct envd_watcher *watcher_new(const char *sandbox_id, int fd)
{
	struct envd_watcher *watcher = memory_new(sizeof(*watcher));
	struct id id = id_new();

	memcpy(watcher->id, id.text, sizeof(watcher->id));
	memcpy(watcher->sandbox_id, sandbox_id, strlen(sandbox_id) + 1);
	watcher->fd = fd;
	watcher->held = BUF(HELD_MAX);
	changes_init(&watcher->changes);
	pthread_mutex_init(&watcher->reading, NULL);
	list_init(&watcher->item);
	return watcher;
}

int watchers_add(struct envd_watchers *w, const char *sandbox_id, int fd, char ret_id[ID_SIZE + 1],
                 struct error *err)
{
	struct envd_watcher *watcher = watcher_new(sandbox_id, fd);
	int64_t now = clock_monotonic_ms();
	unsigned of_sandbox;
	bool is_full;

	pthread_mutex_lock(&w->mutex);
	of_sandbox = remove_idle(w, sandbox_id, now);
	is_full = of_sandbox >= WATCHERS_PER_SANDBOX_MAX || w->count >= WATCHERS_MAX;
	watcher->used_ms = now;
	list_append(&w->items, &watcher->item);
	watcher->is_listed = true;
	w->count++;
	memcpy(ret_id, watcher->id, ID_SIZE + 1);
	if (is_full)
		remove_watcher(w, watcher);
	pthread_mutex_unlock(&w->mutex);
	return is_full ? FAIL(err, ERROR_LIMIT, "there are %d watchers already",
	                      WATCHERS_PER_SANDBOX_MAX)
	               : 0;
}

static struct envd_watcher *find_watcher(struct envd_watchers *w, const char *sandbox_id,
                                         const char *id)
{
	LIST_EACH (&w->items, struct envd_watcher, watcher, item)
		if (strcmp(watcher->id, id) == 0 && strcmp(watcher->sandbox_id, sandbox_id) == 0)
			return watcher;
	return NULL;
}

/* Takes the complete frames from the held bytes. */
static int take_frames(struct envd_watcher *watcher, struct arena *a, struct buf *out,
                       struct error *err)
{
	struct span rest = buf_span(&watcher->held), payload, event;
	uint16_t type;
	int more;

	while ((more = wire_next(&rest, &type, &payload, NULL, err)) > 0) {
		int result;

		if (type == AGENT_READY && watcher->asked > 0) {
			watcher->asked--;
			continue;
		}
		result = changes_take_message(&watcher->changes, a, type, payload, &event, err);
		if (result < 0)
			return -1;
		if (result > 0)
			json_add_raw(out, NULL, event);
		arena_reset(a);
	}
	buf_consume(&watcher->held, watcher->held.size - rest.size);
	return more;
}

/* An agent that reads nothing is not asked; the events that it has sent are answered. */
static void ask_for_changes(struct envd_watcher *watcher)
{
	AUTO(buf_done) struct buf frame = BUF(WIRE_HEAD_SIZE);
	struct error ignored;

	if (watcher->asked < ASKED_MAX &&
	    wire_encode(&frame, AGENT_PING, NULL, NULL, &ignored) == 0 &&
	    send(watcher->fd, frame.data, frame.size, MSG_DONTWAIT | MSG_NOSIGNAL) ==
	            (ssize_t)frame.size)
		watcher->asked++;
}

static bool awaits_more(struct envd_watcher *watcher, int64_t until)
{
	struct pollfd fd = {.fd = watcher->fd, .events = POLLIN};
	int64_t left = until - clock_monotonic_ms();

	return watcher->asked > 0 && left > 0 && poll(&fd, 1, (int)left) != 0;
}

static int take_events(struct envd_watcher *watcher, struct buf *out, struct error *err)
{
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	/* A call does not wait for an agent that owes the answer to an earlier one. */
	const int64_t until = watcher->asked == 0 ? deadline_after(ASK_MS) : 0;
	size_t begun = out->size, read = 0;

	ask_for_changes(watcher);

	while (out->size - begun < TAKEN_MAX && read < READ_MAX) {
		char *room = buf_reserve(&watcher->held, READ_SIZE);
		ssize_t got = room ? recv(watcher->fd, room, READ_SIZE, MSG_DONTWAIT) : 0;

		if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
			if (awaits_more(watcher, until))
				continue;
			return 0;
		}
		if (got <= 0)
			return FAIL(err, ERROR_NOT_FOUND, "the watcher has ended");
		read += (size_t)got;
		buf_commit(&watcher->held, (size_t)got);
		if (take_frames(watcher, &a, out, err) < 0)
			return -1;
	}
	return 0;
}

static struct envd_watcher *acquire_watcher(struct envd_watchers *w, const char *sandbox_id,
                                            const char *id)
{
	struct envd_watcher *watcher;

	pthread_mutex_lock(&w->mutex);
	watcher = find_watcher(w, sandbox_id, id);
	if (watcher)
		watcher->users++;
	pthread_mutex_unlock(&w->mutex);
	return watcher;
}

static void release_watcher(struct envd_watchers *w, struct envd_watcher *watcher, bool has_ended)
{
	pthread_mutex_lock(&w->mutex);
	assert(watcher->users > 0);
	watcher->users--;
	watcher->used_ms = clock_monotonic_ms();
	if (has_ended || !watcher->is_listed)
		remove_watcher(w, watcher);
	pthread_mutex_unlock(&w->mutex);
}

int watchers_take_events(struct envd_watchers *w, const char *sandbox_id, const char *id,
                         struct buf *out, struct error *err)
{
	struct envd_watcher *watcher = acquire_watcher(w, sandbox_id, id);
	int result;

	if (!watcher)
		return FAIL(err, ERROR_NOT_FOUND, "watcher with id %.32s not found", id);
	pthread_mutex_lock(&watcher->reading);
	result = take_events(watcher, out, err);
	pthread_mutex_unlock(&watcher->reading);
	release_watcher(w, watcher, result < 0);
	return result;
}

int watchers_remove(struct envd_watchers *w, const char *sandbox_id, const char *id,
                    struct error *err)
{
	struct envd_watcher *watcher;

	pthread_mutex_lock(&w->mutex);
	watcher = find_watcher(w, sandbox_id, id);
	if (watcher)
		remove_watcher(w, watcher);
	pthread_mutex_unlock(&w->mutex);
	return watcher ? 0 : FAIL(err, ERROR_NOT_FOUND, "watcher with id %.32s not found", id);
}

void envd_state_open(struct api *api)
{
	api->envd = memory_new(sizeof(*api->envd));
	api->envd->router = router_new(envd_routes);
	api->envd->interpreter_router = router_new(interpreter_routes);
	api->envd->watchers = envd_watchers_new();
	preview_refusal_set(api, envd_port_refuse);
}

void envd_state_close(struct api *api)
{
	if (!api->envd)
		return;
	router_free(api->envd->router);
	router_free(api->envd->interpreter_router);
	envd_watchers_free(api->envd->watchers);
	free(api->envd);
	api->envd = NULL;
}

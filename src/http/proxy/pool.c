/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/list.h"
#include "base/map.h"
#include "http/proxy/parts.h"
#include "loop/loop.h"

/* The time that the upstream gets to close after this side has ended. */
#define PARTING_MS 1000

struct idle_upstream {
	struct list of_place, of_pool; /* both oldest first */
	struct proxy_pool *pool;
	struct proxy_upstream *place; /* NULL: the connection is closing */
	struct loop_watch *watch;
	struct loop_timer timer;
	int fd;
};

struct proxy_upstream {
	char *name;
	struct list waiting;
	unsigned count;
};

struct proxy_pool {
	struct loop *loop;
	struct map places;
	struct list waiting;
	unsigned count;
};

struct proxy_pool *proxy_pool_new(struct loop *loop)
{
	struct proxy_pool *pool = memory_new(sizeof(*pool));

	pool->loop = loop;
	list_init(&pool->waiting);
	return pool;
}

static void leave_place(struct idle_upstream *w)
{
	struct proxy_upstream *place = TAKE(w->place);

	list_remove(&w->of_place);
	if (!place || --place->count)
		return;
	map_remove(&w->pool->places, place->name);
	free(place->name);
	free(place);
}

/* Returns its descriptor. */
static int remove_idle(struct idle_upstream *w)
{
	int fd = w->fd;

	leave_place(w);
	list_remove(&w->of_pool);
	w->pool->count--;
	loop_timer_stop(w->pool->loop, &w->timer);
	loop_watch_free(w->watch);
	free(w);
	return fd;
}

static void drop_idle(struct idle_upstream *w)
{
	int fd = remove_idle(w);

	socket_drop(&fd);
}

/* Ends its side and waits a little for the other: the upstream's log would show a reset as a
 * failure. */
static void close_idle(struct idle_upstream *w)
{
	leave_place(w);
	if (shutdown(w->fd, SHUT_WR) < 0) {
		drop_idle(w);
		return;
	}
	loop_timer_start(w->pool->loop, &w->timer, PARTING_MS);
}

/* The connection has ended or has bytes without a request. */
static void on_ready(void *context, UNUSED uint32_t events)
{
	struct idle_upstream *w = context;

	drop_idle(w);
}

static void on_timer(void *context)
{
	struct idle_upstream *w = context;

	if (w->place)
		close_idle(w);
	else
		drop_idle(w);
}

static struct proxy_upstream *find_place(struct proxy_pool *pool, const char *name)
{
	struct proxy_upstream *place = map_find(&pool->places, name);

	if (place)
		return place;
	place = memory_new(sizeof(*place));
	place->name = memory_text(name);
	list_init(&place->waiting);
	map_put(&pool->places, place->name, place);
	return place;
}

static bool has_room(struct proxy_pool *pool, const char *name)
{
	const struct proxy_upstream *place = map_find(&pool->places, name);

	return pool->count < PROXY_IDLE_MAX_TOTAL && (!place || place->count < PROXY_IDLE_MAX);
}

void proxy_pool_put(struct proxy_pool *pool, const char *name, int fd)
{
	struct error ignored;

	if (!has_room(pool, name)) {
		socket_drop(&fd);
		return;
	}
	struct idle_upstream *w = memory_new(sizeof(*w));
	*w = (struct idle_upstream){
	        .pool = pool, .fd = fd, .timer = {.on_timer = on_timer, .context = w}};
	list_init(&w->of_place);
	if (loop_watch_add(pool->loop,
	                   &(struct loop_watch_options){fd, EPOLLIN | EPOLLRDHUP, on_ready, w},
	                   &w->watch, &ignored) < 0) {
		free(w);
		socket_drop(&fd);
		return;
	}
	w->place = find_place(pool, name);
	w->place->count++;
	list_append(&w->place->waiting, &w->of_place);
	list_append(&pool->waiting, &w->of_pool);
	pool->count++;
	loop_timer_start(pool->loop, &w->timer, PROXY_IDLE_MS);
}

static bool is_quiet(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

int proxy_pool_take(struct proxy_pool *pool, const char *name)
{
	struct proxy_upstream *place;

	while ((place = map_find(&pool->places, name))) {
		int fd = remove_idle(
		        LIST_ENTRY(place->waiting.previous, struct idle_upstream, of_place));

		if (is_quiet(fd))
			return fd;
		socket_drop(&fd);
	}
	return -1;
}

void proxy_pool_drop(struct proxy_pool *pool, const char *name)
{
	struct proxy_upstream *place;

	while ((place = map_find(&pool->places, name)))
		close_idle(LIST_ENTRY(place->waiting.next, struct idle_upstream, of_place));
}

void proxy_pool_free(struct proxy_pool *pool)
{
	if (!pool)
		return;
	LIST_EACH (&pool->waiting, struct idle_upstream, upstream, of_pool)
		drop_idle(upstream);
	map_done(&pool->places);
	free(pool);
}

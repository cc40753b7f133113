/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server/park.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "http/server/connection_state.h"
#include "http/server/exchange.h"
#include "http/server/reply.h"
#include "http/server/server_state.h"
#include "http/server/submit.h"

#define PARKED_MAX 1024
#define WAIT_MAX_MS (INT64_C(30) * 60 * 1000)
/* How often due times are checked. */
#define LOOK_EVERY_MS 100
/* Pause before a full worker lane is tried again. */
#define FULL_AGAIN_MS 250
/* Limit of a project's parked requests, so another project finds room. */
#define PROJECT_PART(count) ((count) < 4 ? 1 : (count) / 4)

/* FNV-1a, without a secret: the server makes the keys, and a collision only runs a handler again.
 */
static unsigned bucket_of(const char *key)
{
	uint32_t hash = 2166136261U;

	for (; *key; key++)
		hash = (hash ^ (unsigned char)*key) * 16777619U;
	return (hash ^ hash >> 16) % PARK_BUCKETS;
}

void server_limit_parked(struct http_server *server, const struct parked_limits *limits)
{
	server->park->limits = (struct parked_limits){
	        .parked_max = limits->parked_max ? limits->parked_max : PARKED_MAX,
	        .wait_max_ms = limits->wait_max_ms ? limits->wait_max_ms : WAIT_MAX_MS,
	};
}

/* Writes the bucket first and reads the count second; park_add does the reverse: so at least one of
 * them sees the other. */
void server_wake(struct http_server *server, const char *key)
{
	const uint64_t one = 1;

	atomic_store(&server->park->woken[bucket_of(key)], clock_monotonic_ns());
	if (atomic_load(&server->park->count) > 0 &&
	    write(server->finished_fd, &one, sizeof(one)) < 0)
		abort(); /* an eventfd takes 2^64 - 2 of these */
}

struct parked_counts parked_counts_get(const struct http_server *server)
{
	struct parked_counts counts = server->park->counts;

	counts.parked = atomic_load(&server->park->count);
	return counts;
}

void reply_undo(struct reply *reply, request_undo *undo, void *context)
{
	reply->undo = undo;
	reply->undo_context = context;
}

struct request_awaited request_awaited(const struct request *rq)
{
	const struct http_exchange *ex = rq->exchange;

	if (!ex || !ex->parked_since_ms)
		return (struct request_awaited){NULL, 0};
	return (struct request_awaited){ex->why.awaits.key,
	                                clock_monotonic_ms() - ex->awaits_since_ms};
}

void park_remove(struct http_exchange *ex)
{
	if (!ex->is_parked)
		return;
	ex->is_parked = false;
	list_remove(&ex->park_item);
	atomic_fetch_sub(&ex->server->park->count, 1);
}

static void insert_exchange(struct http_server *server, struct http_exchange *ex, int64_t after_ms)
{
	struct park *park = server->park;

	assert(!ex->is_parked && !ex->waits_in_queue);
	ex->again_at_ms = loop_now_ms(server->loop) + after_ms;
	ex->is_parked = true;
	list_append(&park->waiting, &ex->park_item);
	if (atomic_fetch_add(&park->count, 1) == 0)
		loop_timer_start(server->loop, &park->timer, LOOK_EVERY_MS);
}

static bool is_announced(const struct park *park, const struct http_exchange *ex)
{
	return atomic_load(&park->woken[bucket_of(ex->why.awaits.key)]) >= ex->run_ns;
}

static void release_shares(struct http_server *server, struct http_exchange *ex)
{
	if (server->shares.rest && !ex->reply.undo)
		server->shares.rest(&ex->request);
}

static void resume_shares(struct http_server *server, struct http_exchange *ex)
{
	if (server->shares.resume && !ex->reply.undo)
		server->shares.resume(&ex->request);
}

/* Submits the handler, or the undo, of a parked exchange to a worker. */
static void rerun_exchange(struct http_server *server, struct http_exchange *ex)
{
	struct error err = {0};

	park_remove(ex);
	ex->run_ns = clock_monotonic_ns();
	resume_shares(server, ex);
	if (server_submit(server, ex, &err) < 0) {
		release_shares(server, ex);
		insert_exchange(server, ex, FULL_AGAIN_MS);
	} else if (ex->connection->state == CONNECTION_PARKED) {
		ex->connection->state = CONNECTION_HANDLING;
	}
}

/* Returns 0 for the server's own work, which has no limit. */
static uint64_t project_of(const struct http_server *server, const struct http_exchange *ex)
{
	uint64_t shares[WORKER_SHARES] = {0};

	if (server->shares.find)
		server->shares.find(&ex->request, shares);
	return shares[WORKER_PROJECT];
}

static bool is_project_full(const struct http_server *server, uint64_t project)
{
	const struct park *park = server->park;
	unsigned max = PROJECT_PART(park->limits.parked_max), count = 0;

	if (!project || atomic_load(&park->count) < max)
		return false;
	LIST_EACH (&park->waiting, const struct http_exchange, ex, park_item)
		count += ex->park_project == project;
	return count >= max;
}

static bool has_waited_enough(struct http_server *server, struct http_exchange *ex)
{
	int64_t now = loop_now_ms(server->loop);

	if (!ex->parked_since_ms)
		ex->parked_since_ms = now;
	ex->park_project = project_of(server, ex);
	return now - ex->parked_since_ms >= server->park->limits.wait_max_ms ||
	       atomic_load(&server->park->count) >= server->park->limits.parked_max ||
	       is_project_full(server, ex->park_project);
}

bool park_add(struct http_server *server, struct http_exchange *ex)
{
	bool is_undo = ex->reply.undo != NULL;

	if (!is_undo && has_waited_enough(server, ex))
		return false;
	insert_exchange(server, ex, is_undo ? FULL_AGAIN_MS : ex->why.awaits.again_ms);
	if (is_undo)
		return true;
	ex->connection->state = CONNECTION_PARKED;
	release_shares(server, ex);
	stream_progress(ex);
	if (is_announced(server->park, ex))
		rerun_exchange(server, ex);
	return true;
}

void park_look(struct http_server *server)
{
	struct park *park = server->park;
	int64_t now = loop_now_ms(server->loop);

	if (atomic_load(&park->count) == 0)
		return;
	LIST_EACH (&park->waiting, struct http_exchange, ex, park_item) {
		struct http_connection *conn = ex->connection;

		if (now < ex->again_at_ms && (ex->reply.undo || !is_announced(park, ex)))
			continue;
		rerun_exchange(server, ex);
		if (conn->state != CONNECTION_CLOSED)
			server->events->update(conn);
	}
}

static void on_timer(void *context)
{
	struct http_server *server = context;

	park_look(server);
	if (atomic_load(&server->park->count) > 0)
		loop_timer_start(server->loop, &server->park->timer, LOOK_EVERY_MS);
	server_bury(server);
}

void park_open(struct http_server *server)
{
	server->park = memory_new(sizeof(*server->park));
	list_init(&server->park->waiting);
	server->park->timer = (struct loop_timer){.on_timer = on_timer, .context = server};
	server_limit_parked(server, &(struct parked_limits){0});
}

void park_close(struct http_server *server)
{
	assert(list_is_empty(&server->park->waiting));
	loop_timer_stop(server->loop, &server->park->timer);
	free(TAKE(server->park));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fd.h"
#include "base/log.h"
#include "broker/host/descriptors.h"
#include "broker/server/state.h"
#include "broker/server/sweep.h"
#include "broker/server/volume_tasks.h"
#include "wire/broker.h"
#include "wire/broker_sandbox.h"
#include "wire/broker_snapshot.h"

static void on_created(void *context, const struct pending_reply *reply,
                       const struct broker_created *m)
{
	struct broker_created created = *m;
	struct broker *b = context;

	flattening_on_change(&b->flattening);
	created.request = reply->request;
	server_send(context, reply->connection, BROKER_CREATED, broker_created_shape, &created);
}

static void on_done(void *context, const struct pending_reply *reply)
{
	server_send_ok(context, reply);
}

static void on_failed(void *context, const struct pending_reply *reply, const struct error *err)
{
	server_send_failure(context, reply, err);
}

static void on_ended(void *context, const char *id, uint32_t reason, uint64_t sent_bytes)
{
	struct broker_ended ended = {.sandbox = id, .reason = reason, .sent_bytes = sent_bytes};

	server_send_all(context, BROKER_ENDED, broker_ended_shape, &ended);
}

static void on_slot_free(void *context, const struct cleanup_item *item)
{
	struct broker *b = context;

	flattening_on_change(&b->flattening);
	cleaner_add(context, item);
}

static void on_dead(void *context, const char *id)
{
	struct broker *b = context;

	snapshots_cancel(&b->snapshots, id);
}

static bool is_sandbox_busy(void *context, const char *id)
{
	struct broker *b = context;

	return snapshots_is_busy(&b->snapshots, id) || volume_tasks_include(b, id);
}

static void on_snapshot_made(void *context, const struct pending_reply *reply,
                             const struct broker_snapshot_made *m)
{
	struct broker_snapshot_made made = *m;

	made.request = reply->request;
	server_send(context, reply->connection, BROKER_SNAPSHOT_MADE, broker_snapshot_made_shape,
	            &made);
}

static void on_task_end(void *context)
{
	struct broker *b = context;

	flattening_check(&b->flattening);
}

static void on_old_root(void *context, int root_fd)
{
	cleaner_add(context, &(struct cleanup_item){SLOT_NONE, root_fd, -1});
}

static void on_prewarm_made(void *context, enum prewarm_kind kind, const struct error *err)
{
	struct broker *b = context;

	if (err->code != ERROR_NONE)
		log_warning("cannot make a prewarmed sandbox", FAILURE(err));
	sandboxes_on_prewarm(&b->sandboxes, kind == PREWARM_INTERNET, err);
}

static bool on_idle(struct events *events)
{
	struct broker *b = CONTAINER_OF(events, struct broker, events);

	bool has_room = descriptors_are_plenty();
	bool prepared = has_room && pools_refill(&b->pools);
	bool made = has_room && prewarm_pool_refill(&b->prewarm_pool);

	if (b->flattening.is_due)
		flattening_check(&b->flattening);
	return prepared || made;
}

/* Locks, connections and mounts end with the last process that holds them. */
static void on_child(struct events *events)
{
	struct broker *b = CONTAINER_OF(events, struct broker, events);

	fd_forget(&b->host.lock_fd);
	fd_forget(&b->lock_fd);
	slots_close(&b->slots);
	server_forget(b);
	cleaner_forget(b);
}

void broker_connect_parts(struct broker *b)
{
	prewarm_pool_init(&b->prewarm_pool, &b->host, &b->events, &b->slots);
	b->prewarm_pool.on_made = on_prewarm_made;
	b->prewarm_pool.on_dead = on_slot_free;
	b->prewarm_pool.context = b;
	layer_stacks_init(&b->stacks, &b->host);
	sandboxes_init(&b->sandboxes, &b->host, &b->events, &b->slots, &b->prewarm_pool);
	b->sandboxes.stacks = &b->stacks;
	b->sandboxes.pools = &b->pools;
	pools_init(&b->pools, &b->sandboxes);
	cleaner_init(&b->cleaner);
	b->sandboxes.on_created = on_created;
	b->sandboxes.on_done = on_done;
	b->sandboxes.on_failed = on_failed;
	b->sandboxes.on_ended = on_ended;
	b->sandboxes.on_slot_free = on_slot_free;
	b->sandboxes.on_dead = on_dead;
	b->sandboxes.is_busy = is_sandbox_busy;
	b->sandboxes.context = b;
	snapshots_init(&b->snapshots, &b->sandboxes);
	b->snapshots.on_made = on_snapshot_made;
	b->snapshots.on_failed = on_failed;
	b->snapshots.on_task_end = on_task_end;
	flattening_init(&b->flattening, &b->sandboxes, &b->snapshots);
	b->snapshots.on_old_root = on_old_root;
	b->snapshots.context = b;
	b->slots.is_alive = chunk_is_alive;
	b->slots.on_claim = chunk_on_claim;
	b->slots.context = b;
	list_init(&b->templates);
	list_init(&b->volumes);
	list_init(&b->backups);
	b->events.on_idle = on_idle;
	b->events.on_child = on_child;
}

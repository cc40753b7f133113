/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/broker.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/log.h"
#include "broker/descriptors.h"
#include "broker/disk_folder.h"
#include "broker/instances.h"
#include "broker/state.h"

#define SHARED_FOLDER "/run/atoll"
#define CHUNKS_FOLDER SHARED_FOLDER "/chunks"
#define INSTANCES_LOCK SHARED_FOLDER "/instances.lock"

/* ---- answers of the parts to atolld ---- */

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
	struct broker_ok ok = {.request = reply->request};

	server_send(context, reply->connection, BROKER_OK, broker_ok_shape, &ok);
}

static void on_failed(void *context, const struct pending_reply *reply, const struct error *err)
{
	server_send_failure(context, reply, err);
}

static void on_ended(void *context, const char *id, uint32_t reason)
{
	struct broker_ended ended = {.sandbox = id, .reason = reason};

	server_send_all(context, BROKER_ENDED, broker_ended_shape, &ended);
}

static void on_slot_free(void *context, const struct cleanup_item *item)
{
	struct broker *b = context;

	flattening_on_change(&b->flattening);
	cleaner_add(context, item);
}

static void on_burial(void *context, const char *id)
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

static void on_settled(void *context)
{
	struct broker *b = context;

	flattening_look(&b->flattening);
}

static void on_old_root(void *context, int root_fd)
{
	cleaner_add(context, &(struct cleanup_item){SLOT_NONE, root_fd, -1});
}

static void on_prewarm_made(void *context, enum prewarm_kind kind, const struct error *err)
{
	struct broker *b = context;

	if (err->code != ERROR_NONE)
		log_warning("cannot make a cell", FAILURE(err));
	sandboxes_on_prewarm(&b->sandboxes, kind, err);
}

static bool on_idle(struct events *events)
{
	struct broker *b = CONTAINER_OF(events, struct broker, events);

	bool has_room = descriptors_are_plenty();
	bool prepared = has_room && pools_refill(&b->pools);
	bool made = has_room && prewarm_pool_refill(&b->prewarm_pool);

	if (b->flattening.is_due)
		flattening_look(&b->flattening);
	return prepared || made;
}

/* Locks end with the last process that holds them; connections and mounts, too. */
static void on_child(struct events *events)
{
	struct broker *b = CONTAINER_OF(events, struct broker, events);

	fd_forget(&b->host.lock_fd);
	fd_forget(&b->instance_fd);
	slots_close(&b->slots);
	server_forget(b);
	cleaner_forget(b);
}

static void on_signal(struct fd_watch *watch)
{
	struct broker *b = CONTAINER_OF(watch, struct broker, signals);
	struct signalfd_siginfo info;

	/* The supervisor found that the data folder is gone: no later broker finds them. */
	while (read(b->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGUSR1)
			sandboxes_end_all(&b->sandboxes);
		else
			b->events.stopping = true;
	}
}

/* ---- life ---- */

static int open_signals(struct broker *b, struct error *err)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGUSR1);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return FAIL_ERRNO(err, "block signals");
	b->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (b->signal_fd < 0)
		return FAIL_ERRNO(err, "make a signalfd");
	(void)signal(SIGPIPE, SIG_IGN);
	b->signals.on_ready = on_signal;
	return watch_start(&b->events, &b->signals, b->signal_fd, err);
}

static void connect_parts(struct broker *b)
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
	b->cleaner.waiting = BUF(CLEANER_WAITING_MAX * sizeof(struct cleanup_item));
	b->sandboxes.on_created = on_created;
	b->sandboxes.on_done = on_done;
	b->sandboxes.on_failed = on_failed;
	b->sandboxes.on_ended = on_ended;
	b->sandboxes.on_slot_free = on_slot_free;
	b->sandboxes.on_burial = on_burial;
	b->sandboxes.is_busy = is_sandbox_busy;
	b->sandboxes.context = b;
	snapshots_init(&b->snapshots, &b->sandboxes);
	b->snapshots.on_made = on_snapshot_made;
	b->snapshots.on_failed = on_failed;
	b->snapshots.on_settled = on_settled;
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

/* What all instances share goes with the last of them, unless sandboxes live on. */
static void remove_shared_parts(struct broker *b)
{
	if (instances_is_last(b->instance_fd) && cgroup_remove_ours(&b->host.cgroups) &&
	    b->host.network.usable)
		network_forget();
}

static int start_broker(struct broker *b, const struct broker_options *options, struct error *err)
{
	b->instance_fd = b->guard.fd = -1;
	fault_point("broker", "starting");
	if (mkdir(SHARED_FOLDER, 0755) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make the folder '" SHARED_FOLDER "'");
	if (instances_enter(INSTANCES_LOCK, &b->instance_fd, err) < 0)
		return -1;
	if (events_open(&b->events, err) < 0 || host_open(&b->host, options, err) < 0)
		return -1;
	if (disk_quota_open(&b->host, err) < 0)
		return -1;
	connect_parts(b);
	if (open_signals(b, err) < 0)
		return -1;
	if (slots_open(&b->slots, CHUNKS_FOLDER, b->host.data_path, err) < 0)
		return -1;
	guard_open(b);
	if (layer_stacks_adopt(&b->stacks, err) < 0 || sandboxes_adopt(&b->sandboxes, err) < 0)
		return -1;
	beats_begin(&b->beats, &b->sandboxes);
	broker_sweep(b);
	guard_begin(b);
	if (server_open(b, err) < 0)
		return -1;
	/* A job's child lets go of what all parts have open: they must be open by now. */
	flattening_look(&b->flattening);
	disk_watch_open(b);
	trash_room_open(b);
	return 0;
}

static int run_broker(struct broker *b, const struct broker_options *options, struct error *err)
{
	int status;

	if (start_broker(b, options, err) < 0)
		return -1;
	log_info("broker runs", TEXT("data", b->host.data_path),
	         TEXT("cgroup", b->host.cgroups.ops->name),
	         TEXT("internet", b->host.network.usable ? "yes" : "no"),
	         TEXT("disk", disk_quota_name(&b->host)));
	status = events_run(&b->events, err);
	templates_kill(b);
	backups_kill(b);
	disk_watch_close(b);
	trash_room_close(b);
	snapshots_close(&b->snapshots);
	flattening_close(&b->flattening);
	server_close(b);
	guard_close(b);
	pools_close(&b->pools);
	prewarm_pool_close(&b->prewarm_pool);
	cleaner_finish(b);
	beats_end(&b->beats);
	sandboxes_close(&b->sandboxes);
	layer_stacks_close(&b->stacks);
	slots_close(&b->slots);
	remove_shared_parts(b);
	host_close(&b->host);
	fd_forget(&b->instance_fd);
	events_close(&b->events);
	return status;
}

int broker_main(int argc, char **argv)
{
	static struct broker broker;
	struct broker_options options;
	struct error err = {0};

	log_open("atoll-broker", LOG_INFO);
	(void)umask(022);
	if (geteuid() != 0) {
		error_set(&err, ERROR_FORBIDDEN, 0, HERE, "the broker needs root");
	} else if (broker_options_parse(&options, argc, argv, &err) == 0) {
		descriptors_open();
		if (run_broker(&broker, &options, &err) == 0)
			return EXIT_SUCCESS;
	}
	log_error("broker ends", FAILURE(&err), TEXT("hint", err.hint));
	return EXIT_FAILURE;
}

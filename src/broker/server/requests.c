/* SPDX-License-Identifier: Apache-2.0 */
/* The table of requests that atolld may send. */
#include "broker/server/requests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "broker/layers/trash.h"
#include "broker/layers/trash_note.h"
#include "broker/sandbox/egress.h"
#include "broker/sandbox/limit.h"
#include "broker/sandbox/pause.h"
#include "broker/sandbox/probe.h"
#include "broker/sandbox/sandbox.h"
#include "broker/server/check.h"
#include "broker/server/images.h"
#include "broker/server/probe_request.h"
#include "broker/server/state.h"
#include "broker/server/volume_tasks.h"
#include "broker/volume/volume.h"

struct trash_entry;

/* 0: the request is done, and its reply is sent. */
static int reply_ok(const struct request_context *c, int status)
{
	if (status == 0)
		server_send_ok(c->broker, &c->reply);
	return status;
}

/* The same when there may be something to delete. */
static int reply_removed(const struct request_context *c, int status)
{
	if (status == 0)
		cleaner_wake(c->broker);
	return reply_ok(c, status);
}

static int run_hello(const struct request_context *c, UNUSED const void *request,
                     UNUSED struct error *err)
{
	const struct host *host = &c->broker->host;
	struct broker_welcome welcome = {.request = c->reply.request,
	                                 .protocol = BROKER_PROTOCOL,
	                                 .can_limit_disk =
	                                         host->can_limit_disk || host->has_project_quota,
	                                 .can_network = host->network->usable,
	                                 .cgroup = host->cgroups->ops->name,
	                                 .can_pause = host->cgroups->can_freeze};

	server_send(c->broker, c->reply.connection, BROKER_WELCOME, broker_welcome_shape, &welcome);
	disk_watch_greet(c->broker, c->reply.connection);
	return 0;
}

/* A laptop may have got its default route since. Costs one read of /proc/net/route while there is
 * none. */
static void retry_uplink(const struct request_context *c, const struct broker_create *r)
{
	const struct host_network *n = c->broker->host.network;

	if (r->network && n->usable && !n->has_uplink)
		guard_try_again(c->broker);
}

static int run_create(const struct request_context *c, const void *request, struct error *err)
{
	retry_uplink(c, request);
	return sandboxes_create(&c->broker->sandboxes, &c->reply, request, false, err);
}

static int run_start(const struct request_context *c, const void *request, struct error *err)
{
	retry_uplink(c, request);
	return sandboxes_create(&c->broker->sandboxes, &c->reply, request, true, err);
}

static int run_stop(const struct request_context *c, const void *request, struct error *err)
{
	const struct broker_id *r = request;

	return sandboxes_stop(&c->broker->sandboxes, &c->reply, r->sandbox, r->grace_ms, err);
}

static int run_destroy(const struct request_context *c, const void *request, struct error *err)
{
	const struct broker_id *r = request;

	return sandboxes_destroy(&c->broker->sandboxes, &c->reply, r->sandbox, NULL, err);
}

static int run_pause(const struct request_context *c, const void *request, struct error *err)
{
	const struct broker_id *r = request;

	disk_watch_on_pause(c->broker, r->sandbox);
	return sandboxes_pause(&c->broker->sandboxes, &c->reply, r->sandbox, err);
}

static int run_resume(const struct request_context *c, const void *request, struct error *err)
{
	const struct broker_id *r = request;

	if (disk_watch_resume(c->broker, r->sandbox, err) < 0)
		return -1;
	return sandboxes_resume(&c->broker->sandboxes, &c->reply, r->sandbox, err);
}

static int run_limit(const struct request_context *c, const void *request, struct error *err)
{
	const struct broker_limit *r = request;
	const struct cgroup_limits limits = {
	        .cpu_milli = r->cpu_milli, .memory_bytes = r->memory_bytes, .pids = r->pids};

	return reply_ok(c, sandboxes_limit(&c->broker->sandboxes, r->sandbox, &limits, err));
}

/* `sandbox` is NULL for a stopped one, and for an id of something else. */
static void send_entry(const struct request_context *c, const char *id,
                       const struct sandbox *sandbox)
{
	struct broker_entry entry = {.request = c->reply.request, .sandbox = id, .owner = ""};

	if (sandbox && sandbox->phase == SANDBOX_RUNNING) {
		entry.running = true;
		entry.paused = sandbox->paused;
		entry.owner = sandbox->owner;
		entry.lease_epoch = sandbox->lease_epoch;
	}
	server_send(c->broker, c->reply.connection, BROKER_ENTRY, broker_entry_shape, &entry);
}

/* A running sandbox has its name among the files, too; names without a process are stopped
 * sandboxes. */
static int run_list(const struct request_context *c, const void *request, struct error *err)
{
	const struct broker_id *r = request;
	struct sandboxes *sandboxes = &c->broker->sandboxes;
	AUTO(folder_list_done)
	DIR *folder = folder_list(c->broker->host.folders[FOLDER_SANDBOXES]);
	struct dirent *entry;

	if (!folder)
		return FAIL_ERRNO(err, "list the sandboxes");
	while ((entry = readdir(folder))) {
		if (!id_is_valid(entry->d_name) || probe_is_id(entry->d_name) ||
		    (*r->sandbox && strcmp(r->sandbox, entry->d_name) != 0))
			continue;
		send_entry(c, entry->d_name, sandboxes_find(sandboxes, entry->d_name));
	}
	return reply_ok(c, 0);
}

static int run_stats(const struct request_context *c, const void *request, struct error *err)
{
	const struct broker_id *r = request;
	struct broker_usage usage;

	if (sandboxes_usage(&c->broker->sandboxes, r->sandbox, &usage, err) < 0)
		return -1;
	usage.request = c->reply.request;
	server_send(c->broker, c->reply.connection, BROKER_USAGE, broker_usage_shape, &usage);
	return 0;
}

static int run_snapshot(const struct request_context *c, const void *request, struct error *err)
{
	return snapshots_take(&c->broker->snapshots, &c->reply, request, err);
}

static int run_restore(const struct request_context *c, const void *request, struct error *err)
{
	const struct broker_snapshot *restore = request;

	if (restore->dry)
		return reply_ok(c, snapshots_can_restore(&c->broker->snapshots, request, err));
	return reply_removed(c, snapshots_restore(&c->broker->snapshots, request, err));
}

static int run_snapshot_remove(const struct request_context *c, const void *request,
                               struct error *err)
{
	const struct broker_snapshot *r = request;

	return reply_removed(c, layer_stacks_remove(&c->broker->stacks, r->snapshot, err));
}

static void send_name(void *context, const char *id)
{
	send_entry(context, id, NULL);
}

static int run_snapshot_list(const struct request_context *c, UNUSED const void *request,
                             UNUSED struct error *err)
{
	layer_stacks_each(&c->broker->stacks, send_name, (void *)(uintptr_t)c);
	return reply_ok(c, 0);
}

static int run_volumes(const struct request_context *c, UNUSED const void *request,
                       struct error *err)
{
	return reply_ok(c, volume_each(&c->broker->host, send_name, (void *)(uintptr_t)c, err));
}

static int run_pool(const struct request_context *c, const void *request, struct error *err)
{
	const struct broker_pool *r = request;
	const struct pool_size size = {.min = r->min, .target = r->target, .max = r->max};
	struct blueprint blueprint = {.internet = r->network != 0,
	                              .privileges = r->privileges != 0,
	                              .limits = {.cpu_milli = r->cpu_milli,
	                                         .memory_bytes = r->memory_bytes,
	                                         .pids = r->pids},
	                              .disk_bytes = r->disk_bytes};

	(void)snprintf(blueprint.template_name, sizeof(blueprint.template_name), "%s",
	               r->template_name);
	if (*r->snapshot &&
	    layer_stacks_find(&c->broker->stacks, r->snapshot, &blueprint.stack, err) < 0)
		return -1;
	(void)snprintf(blueprint.warm, sizeof(blueprint.warm), "%s", r->warm ? r->warm : "");
	return reply_ok(
	        c, pools_set(&c->broker->pools, r->name, &blueprint, &size, r->warm_wish, err));
}

static void send_pool(void *context, const struct prepared_pool *pool)
{
	const struct request_context *c = context;
	const struct blueprint *b = &pool->blueprint;
	const struct broker_pool_state state = {
	        .request = c->reply.request,
	        .name = pool->name,
	        .template_name = b->template_name,
	        .snapshot = b->stack.count > 0 ? b->stack.ids[0] : "",
	        .network = b->internet,
	        .privileges = b->privileges,
	        .cpu_milli = b->limits.cpu_milli,
	        .memory_bytes = b->limits.memory_bytes,
	        .disk_bytes = b->disk_bytes,
	        .pids = b->limits.pids,
	        .min = pool->size.min,
	        .target = pool->size.target,
	        .max = pool->size.max,
	        .depth = b->stack.count,
	        .ready = pool->ready_count,
	        .preparing = pool->preparing_count,
	        .hits = pool->hits,
	        .misses = pool->misses,
	        .warm = b->warm,
	        .failed = pool->failed,
	        .code = pool->problem.code,
	        .sys_errno = (uint32_t)pool->problem.sys_errno,
	        .text = pool->problem.text,
	        .hint = pool->problem.hint,
	};

	server_send(c->broker, c->reply.connection, BROKER_POOL_STATE, broker_pool_state_shape,
	            &state);
}

static int run_pools(const struct request_context *c, UNUSED const void *request,
                     UNUSED struct error *err)
{
	pools_each(&c->broker->pools, send_pool, (void *)(uintptr_t)c);
	return reply_ok(c, 0);
}

static int run_egress(const struct request_context *c, const void *request, struct error *err)
{
	const struct broker_egress *r = request;

	return sandboxes_set_egress(&c->broker->sandboxes, &c->reply, r->sandbox, r->egress, err);
}

static int put_into_trash(const struct request_context *c, const struct broker_trash *r,
                          struct error *err)
{
	const struct trash_note note = {(enum broker_trash_reason)r->reason, r->keep_s};
	struct layer_stacks *stacks = &c->broker->stacks;

	if (r->kind == BROKER_TRASH_SANDBOX)
		return sandboxes_destroy(&c->broker->sandboxes, &c->reply, r->id, &note, err);
	return reply_removed(c, note.keep_s == 0 ? layer_stacks_remove(stacks, r->id, err)
	                                         : trash_put_snapshot(stacks, r->id, &note, err));
}

static void send_trash_entry(void *context, const struct trash_entry *entry)
{
	const struct request_context *c = context;
	const struct broker_trash_entry answer = {.request = c->reply.request,
	                                          .kind = entry->kind,
	                                          .reason = entry->reason,
	                                          .id = entry->id,
	                                          .until_s = entry->until_s,
	                                          .bytes = entry->bytes};

	server_send(c->broker, c->reply.connection, BROKER_TRASH_ENTRY, broker_trash_entry_shape,
	            &answer);
}

static int list_trash(const struct request_context *c, const struct broker_trash *r,
                      UNUSED struct error *err)
{
	trash_trim(&c->broker->stacks, r->bytes_max, r->back_s);
	trash_each(&c->broker->host, send_trash_entry, (void *)(uintptr_t)c);
	return reply_removed(c, 0);
}

static int restore_from_trash(const struct request_context *c, const struct broker_trash *r,
                              struct error *err)
{
	return reply_ok(c, trash_bring_back(&c->broker->stacks, (enum broker_trash_kind)r->kind,
	                                    r->id, err));
}

static int purge_trash(const struct request_context *c, const struct broker_trash *r,
                       struct error *err)
{
	return reply_removed(
	        c, trash_purge(&c->broker->stacks, (enum broker_trash_kind)r->kind, r->id, err));
}

static int run_trash(const struct request_context *c, const void *request, struct error *err)
{
	static int (*const verbs[BROKER_TRASH_VERB_COUNT])(const struct request_context *c,
	                                                   const struct broker_trash *r,
	                                                   struct error *err) = {
	        [BROKER_TRASH_PUT] = put_into_trash,
	        [BROKER_TRASH_LIST] = list_trash,
	        [BROKER_TRASH_BACK] = restore_from_trash,
	        [BROKER_TRASH_PURGE] = purge_trash,
	};
	const struct broker_trash *r = request;

	return verbs[r->verb](c, r, err);
}

/* Every request begins with its u64 number. `check` sees it before `run`; a failure of either is
 * the answer. */
static const struct request_row rows[] = {
        {BROKER_HELLO, broker_hello_shape, sizeof(struct broker_hello), check_hello, run_hello},
        {BROKER_CREATE, broker_create_shape, sizeof(struct broker_create), check_create,
         run_create},
        {BROKER_START, broker_create_shape, sizeof(struct broker_create), check_create, run_start},
        {BROKER_STOP, broker_id_shape, sizeof(struct broker_id), check_id, run_stop},
        {BROKER_DESTROY, broker_id_shape, sizeof(struct broker_id), check_id, run_destroy},
        {BROKER_PAUSE, broker_id_shape, sizeof(struct broker_id), check_id, run_pause},
        {BROKER_RESUME, broker_id_shape, sizeof(struct broker_id), check_id, run_resume},
        {BROKER_LIMIT, broker_limit_shape, sizeof(struct broker_limit), check_limit, run_limit},
        {BROKER_LIST, broker_id_shape, sizeof(struct broker_id), check_list, run_list},
        {BROKER_STATS, broker_id_shape, sizeof(struct broker_id), check_id, run_stats},
        {BROKER_TEMPLATE, broker_template_shape, sizeof(struct broker_template), check_template,
         template_start},
        {BROKER_SNAPSHOT, broker_snapshot_shape, sizeof(struct broker_snapshot), check_snapshot,
         run_snapshot},
        {BROKER_RESTORE, broker_snapshot_shape, sizeof(struct broker_snapshot), check_restore,
         run_restore},
        {BROKER_SNAPSHOT_REMOVE, broker_snapshot_shape, sizeof(struct broker_snapshot),
         check_snapshot_id, run_snapshot_remove},
        {BROKER_SNAPSHOT_LIST, broker_id_shape, sizeof(struct broker_id), check_list,
         run_snapshot_list},
        {BROKER_VOLUME, broker_volume_shape, sizeof(struct broker_volume), check_volume,
         volume_start},
        {BROKER_POOL, broker_pool_shape, sizeof(struct broker_pool), check_pool, run_pool},
        {BROKER_POOLS, broker_id_shape, sizeof(struct broker_id), check_list, run_pools},
        {BROKER_VOLUMES, broker_id_shape, sizeof(struct broker_id), check_list, run_volumes},
        {BROKER_MEMORY, broker_id_shape, sizeof(struct broker_id), check_list, memory_ask},
        {BROKER_BACKUP, broker_backup_shape, sizeof(struct broker_backup), check_backup,
         backup_start},
        {BROKER_EGRESS, broker_egress_shape, sizeof(struct broker_egress), check_egress,
         run_egress},
        {BROKER_MEASURE, broker_measure_shape, sizeof(struct broker_measure), check_measure,
         measure_start},
        {BROKER_TRASH, broker_trash_shape, sizeof(struct broker_trash), check_trash, run_trash},
        {BROKER_PROBE, broker_probe_shape, sizeof(struct broker_probe), check_probe, probe_start},
};

static const struct request_row *find_row(uint16_t type)
{
	for (unsigned i = 0; i < COUNT_OF(rows); i++)
		if (rows[i].type == type)
			return &rows[i];
	return NULL;
}

int request_read(struct arena *a, struct span packet, struct broker_request *ret, struct error *err)
{
	struct span payload;
	uint16_t type;
	int got = wire_next(&packet, &type, &payload, NULL, err);

	if (got < 0)
		return -1;
	ret->row = got > 0 ? find_row(type) : NULL;
	if (!ret->row || packet.size > 0)
		return FAIL(err, ERROR_INVALID, "packet is not a request");
	if (wire_decode(a, payload, ret->row->shape, &ret->message, ret->row->size, err) < 0)
		return FAIL_CONTEXT(err, "request %u", type);
	return 0;
}

int broker_dispatch(struct broker *b, uint64_t connection, struct span packet, struct wire_fds *fds,
                    struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct request_context c = {.broker = b, .reply = {.connection = connection}, .fds = fds};
	struct error failure = {0};
	struct broker_request request;

	if (request_read(&a, packet, &request, err) < 0)
		return -1;
	c.reply.request = request.message.hello.request;
	if (request.row->check(&request.message, &failure) < 0 ||
	    request.row->run(&c, &request.message, &failure) < 0)
		server_send_failure(b, &c.reply, &failure);
	return 0;
}

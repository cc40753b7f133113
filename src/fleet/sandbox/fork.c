/* SPDX-License-Identifier: Apache-2.0 */
/* Forks: several threads create them, the caller's and as many of the slow lane as are free. The
 * caller's thread does what the others do not get to, so it never waits for a free thread. */
#include "fleet/sandbox/fork.h"
#include <pthread.h>

#include "base/thread.h"
#include "fleet/core/cache.h"
#include "fleet/core/operation.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/lifecycle/resolved_create.h"
#include "fleet/lifecycle/service_send.h"
#include "fleet/snapshot/snapshot.h"
#include "fleet/snapshot/snapshots.h"
#include "fleet/volume/volume.h"
#include "store/services.h"
#include "worker/worker.h"

/* Including the caller's thread: atolld, broker and agent take turns in a create, so that these
 * keep two processors busy. */
#define THREADS_MAX 4

struct forking {
	struct fleet *fleet;
	const struct fleet_fork *request;
	const struct fleet_create *create;
	pthread_mutex_t mutex;  /* over the rest */
	pthread_cond_t changed; /* a helper has ended */
	unsigned begun, ended;  /* forks; helpers */
	bool has_failed;
	struct error err;             /* the first one */
	struct sandbox_record *made;  /* all zero where there is none */
	struct service_list services; /* that each is to have */
};

struct fork_helper {
	struct worker_task task;
	struct forking *forking;
	struct arena arena; /* of what it makes */
};

/* False: all forks have begun, or one has failed. */
static bool take_number(struct forking *forking, unsigned *ret)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&forking->mutex);
	bool is_there = !forking->has_failed && forking->begun < forking->request->count;

	if (is_there)
		*ret = forking->begun++;
	return is_there;
}

static void note_failure(struct forking *forking, unsigned number, struct error *err)
{
	error_context(err, "fork %u of %u", number + 1, forking->request->count);
	pthread_mutex_lock(&forking->mutex);
	if (!forking->has_failed)
		forking->err = *err;
	forking->has_failed = true;
	pthread_mutex_unlock(&forking->mutex);
}

static void drop_fork(struct fleet *f, struct arena *a, const char *id)
{
	const struct fleet_ref ref = {NULL, id};
	struct error err = {0};

	if (fleet_delete(f, a, &ref, SANDBOX_REASON_ERROR, &err) < 0)
		log_warning("a fork is left", TEXT("sandbox", id), FAILURE(&err));
}

static int make_fork(const struct forking *forking, struct arena *a, unsigned number,
                     struct error *err)
{
	const char *name = forking->request->name;
	struct fleet_create create = *forking->create;

	if (name)
		create.name = forking->request->count == 1
		                      ? name
		                      : arena_format(a, "%s-%u", name, number + 1);
	if (fleet_create(forking->fleet, a, &create, &forking->made[number], err) < 0)
		return -1;
	if (services_copy_to(forking->fleet, a, &forking->services, forking->made[number].id,
	                     err) == 0)
		return 0;
	drop_fork(forking->fleet, a, forking->made[number].id);
	return -1;
}

static void make_forks(struct forking *forking, struct arena *a)
{
	unsigned number;

	while (take_number(forking, &number)) {
		struct error err = {0};

		if (make_fork(forking, a, number, &err) == 0)
			continue;
		forking->made[number] = (struct sandbox_record){.id = NULL};
		note_failure(forking, number, &err);
	}
}

static void run_helper(struct worker_task *task)
{
	struct fork_helper *helper = CONTAINER_OF(task, struct fork_helper, task);
	struct forking *forking = helper->forking;

	make_forks(forking, &helper->arena);
	pthread_mutex_lock(&forking->mutex);
	forking->ended++;
	pthread_cond_signal(&forking->changed);
	pthread_mutex_unlock(&forking->mutex);
}

static unsigned start_helpers(struct forking *forking, struct fork_helper helpers[THREADS_MAX - 1])
{
	struct error ignored = {0}; /* fewer helpers only take longer */
	unsigned count = 0;

	while (count < THREADS_MAX - 1 && count + 1 < forking->request->count) {
		struct fork_helper *helper = &helpers[count];

		*helper = (struct fork_helper){
		        .task = {.lane = WORKER_SLOW,
		                 .run = run_helper,
		                 .shares = {worker_share_id(forking->create->project_id)}},
		        .forking = forking};
		if (worker_submit(forking->fleet->workers, &helper->task, &ignored) < 0)
			break;
		count++;
	}
	return count;
}

static void end_helpers(struct forking *forking, struct fork_helper *helpers, unsigned count)
{
	unsigned begun = count;

	for (unsigned i = 0; i < count; i++)
		if (worker_take_back(forking->fleet->workers, &helpers[i].task))
			begun--;
	pthread_mutex_lock(&forking->mutex);
	while (forking->ended < begun)
		pthread_cond_wait(&forking->changed, &forking->mutex);
	pthread_mutex_unlock(&forking->mutex);
}

/* Creates all forks; their records are copied into `a`. */
static void run_forks(struct forking *forking, struct arena *a)
{
	struct fork_helper helpers[THREADS_MAX - 1];
	unsigned count;

	pthread_mutex_init(&forking->mutex, NULL);
	pthread_cond_init(&forking->changed, NULL);
	count = start_helpers(forking, helpers);
	make_forks(forking, a);
	end_helpers(forking, helpers, count);
	for (unsigned i = 0; i < forking->request->count; i++) {
		const struct sandbox_record made = forking->made[i];

		if (made.id)
			record_copy(a, &made, &forking->made[i]);
	}
	for (unsigned i = 0; i < count; i++)
		arena_done(&helpers[i].arena);
	pthread_cond_destroy(&forking->changed);
	pthread_mutex_destroy(&forking->mutex);
}

static void drop_forks(struct fleet *f, struct arena *a, const struct forking *forking,
                       const char *snapshot)
{
	struct error err = {0};

	for (unsigned i = 0; i < forking->request->count; i++)
		if (forking->made[i].id)
			drop_fork(f, a, forking->made[i].id);
	if (snapshot_drop(f, snapshot, &err) < 0)
		log_warning("a fork's snapshot is left", FAILURE(&err));
}

/* A volume that the source writes stays with it; read-only volumes are shared. */
static int share_mounts(struct operation *op, struct fleet_create *create, struct fleet_forked *ret,
                        struct error *err)
{
	struct fleet_mount *mounts;
	struct mount_list all;

	ret->mounts = ret->left_out = (struct mount_list){.count = 0};
	if (!(op->ops->abilities & PROVIDER_CAN_VOLUME))
		return 0;
	if (store_mounts_of_sandbox(op->fleet->store, op->arena, op->record.id, &all, err) < 0)
		return -1;
	mounts = ARENA_ARRAY(op->arena, struct fleet_mount, all.count + 1);
	ret->mounts.items = ARENA_ARRAY(op->arena, struct mount_record, all.count + 1);
	ret->left_out.items = ARENA_ARRAY(op->arena, struct mount_record, all.count + 1);
	for (size_t i = 0; i < all.count; i++) {
		const struct mount_record *m = &all.items[i];

		if (!m->is_read_only)
			ret->left_out.items[ret->left_out.count++] = *m;
		if (!m->is_read_only || m->state != MOUNT_ATTACHED)
			continue;
		mounts[ret->mounts.count] =
		        (struct fleet_mount){m->volume_id, m->path, m->subpath, true};
		ret->mounts.items[ret->mounts.count++] = *m;
	}
	create->mounts = mounts;
	create->mount_count = ret->mounts.count;
	return 0;
}

/* Reads the row and takes the snapshot in one operation; the forks do not need the source. */
static int take_for_fork(struct forking *forking, struct arena *a, const struct fleet_ref *ref,
                         struct fleet_create *create, struct fleet_forked *ret, struct error *err)
{
	struct fleet *f = forking->fleet;
	AUTO(operation_end) struct operation op = {0};

	if (operation_find_and_begin(f, a, ref, &op, err) < 0 ||
	    snapshot_check_state(&op.record, err) < 0 ||
	    request_like_sandbox(f, a, &op.record, create, err) < 0 ||
	    share_mounts(&op, create, ret, err) < 0 ||
	    store_service_list(f->store, a, op.record.id, &forking->services, err) < 0)
		return -1;
	return snapshot_take(
	        &op, &(struct fleet_snapshot){.is_fork = true, .memory = forking->request->memory},
	        &ret->snapshot, err);
}

int fleet_fork(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
               const struct fleet_fork *request, struct fleet_forked *ret, struct error *err)
{
	struct fleet_create create;
	struct forking forking = {.fleet = fleet, .request = request, .create = &create};

	if (snapshot_check_request(fleet, request->name, err) < 0)
		return -1;
	if (request->count < 1 || request->count > FLEET_FORK_MAX)
		return FAIL(err, ERROR_INVALID, "count %u is not in 1..%d", request->count,
		            FLEET_FORK_MAX);
	if (take_for_fork(&forking, a, ref, &create, ret, err) < 0)
		return -1;
	create.snapshot = ret->snapshot.id;
	create.key_id = request->key_id;
	create.user_id = request->user_id;
	create.timeout_ms = request->timeout_ms;
	forking.made = ARENA_ARRAY(a, struct sandbox_record, request->count);
	run_forks(&forking, a);
	ret->sandboxes = forking.made;
	ret->count = request->count;
	if (!forking.has_failed)
		return 0;
	*err = forking.err;
	drop_forks(fleet, a, &forking, ret->snapshot.id);
	return -1;
}

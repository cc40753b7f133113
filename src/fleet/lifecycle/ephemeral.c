/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/lifecycle/ephemeral.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/id.h"
#include "base/thread.h"
#include "fleet/core/background_work.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/labels.h"
#include "fleet/core/waiting.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/hold.h"
#include "fleet/lifecycle/lifecycle.h"
#include "store/sandbox_record.h"
#include "worker/worker.h"

/* How long a call at its project's limit waits for the deletes of earlier calls. */
#define ROOM_WAIT_MS 2000
/* A parked call tries again then, though no delete was announced. */
#define ROOM_LOOK_MS 500

struct ephemeral_ending {
	struct worker_task task;
	struct fleet *fleet;
	struct list item; /* of background->endings */
	char id[ID_SIZE + 1], key[ERROR_AWAITS_MAX];
};

static void delete_ephemeral(struct fleet *f, struct arena *a, const char *id)
{
	const struct fleet_ref ref = {.id_or_name = id};
	struct error err = {0};

	if (fleet_delete(f, a, &ref, SANDBOX_REASON_USER, &err) < 0 && err.code != ERROR_NOT_FOUND)
		log_warning("the sandbox of an ephemeral call waits for its idle timeout",
		            TEXT("sandbox", id), FAILURE(&err));
}

static void note_ending(struct ephemeral_ending *ending)
{
	struct background_work *work = ending->fleet->background;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&work->mutex);

	list_append(&work->endings, &ending->item);
	atomic_fetch_add(&ending->fleet->endings, 1);
}

/* Wakes the calls that wait for room in the project, and frees the ending. */
static void forget_ending(struct ephemeral_ending *ending)
{
	struct background_work *work = ending->fleet->background;

	pthread_mutex_lock(&work->mutex);
	list_remove(&ending->item);
	work->endings_done++;
	atomic_fetch_sub(&ending->fleet->endings, 1);
	pthread_cond_broadcast(&work->ending_done);
	pthread_mutex_unlock(&work->mutex);
	awaited_announce(ending->fleet, ending->key);
	free(ending);
}

static void run_ending(struct worker_task *task)
{
	struct ephemeral_ending *ending = CONTAINER_OF(task, struct ephemeral_ending, task);
	AUTO(arena_done) struct arena arena = {0};

	fault_point("api", "ephemeral-ending");
	delete_ephemeral(ending->fleet, &arena, ending->id);
	forget_ending(ending);
}

void ephemeral_end(struct fleet *f, const char *id, const char *key)
{
	struct ephemeral_ending *ending = memory_new(sizeof(*ending));
	struct error err = {0};

	*ending = (struct ephemeral_ending){.task = {.lane = WORKER_SLOW, .run = run_ending},
	                                    .fleet = f};
	memcpy(ending->id, id, sizeof(ending->id));
	memcpy(ending->key, key, sizeof(ending->key));
	note_ending(ending);
	if (worker_submit(f->workers, &ending->task, &err) == 0)
		return;
	log_debug("the sandbox of an ephemeral call waits for its idle timeout",
	          TEXT("sandbox", id), FAILURE(&err));
	forget_ending(ending);
}

static struct fleet_create make_request(struct arena *a, const struct fleet_create *request)
{
	struct fleet_create create = *request;
	struct id id = id_new();

	create.id = arena_text(a, id.text);
	create.own_labels = labels_add(a, &request->own_labels, SANDBOX_EPHEMERAL_LABEL, "true");
	create.persistent = false;
	create.wait = true;
	create.timeouts.idle_reap_ms = EPHEMERAL_IDLE_MS;
	create.timeouts.idle_pause_ms = create.timeouts.idle_stop_ms = -1;
	return create;
}

/* `ret_done`: how many deletes have ended before, of all projects. */
static bool project_has_endings(struct fleet *f, const char *key, uint64_t *ret_done)
{
	struct background_work *work = f->background;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&work->mutex);

	*ret_done = work->endings_done;
	LIST_EACH (&work->endings, const struct ephemeral_ending, ending, item)
		if (strcmp(ending->key, key) == 0)
			return true;
	return false;
}

/* For a call that cannot park: false when no delete ends before the deadline. */
static bool wait_for_ending(struct fleet *f, uint64_t done, int64_t deadline)
{
	struct background_work *work = f->background;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&work->mutex);

	while (work->endings_done == done && deadline_poll_ms(deadline) > 0)
		thread_wait(&work->ending_done, &work->mutex, deadline);
	return work->endings_done != done;
}

/* Sandboxes of earlier calls, which are being deleted, count for the limit of the project. */
static int create_in_room(struct fleet *f, struct arena *a, const struct fleet_create *create,
                          const char *key, struct sandbox_record *ret, struct error *err)
{
	int64_t deadline = deadline_after(ROOM_WAIT_MS);

	for (;;) {
		uint64_t done, done_now;
		bool had_endings = project_has_endings(f, key, &done);

		if (fleet_create(f, a, create, ret, err) == 0)
			return 0;
		if (err->code != ERROR_LIMIT || err->awaits.key[0] ||
		    (!had_endings && !project_has_endings(f, key, &done_now)))
			return -1;
		if (create->awaited)
			break;
		if (!wait_for_ending(f, done, deadline))
			return -1;
		error_clear(err);
	}
	if (clock_monotonic_ms() - awaited_since(create->awaited, key) < ROOM_WAIT_MS)
		error_await(err, key, ROOM_LOOK_MS, -1);
	return -1;
}

int fleet_ephemeral_open(struct fleet *fleet, struct arena *a, const struct fleet_ephemeral *call,
                         struct sandbox_record *ret, struct fleet_hold *ret_hold, struct error *err)
{
	const struct fleet_create create = make_request(a, call->make);
	const struct fleet_ref ref = {create.project_id, create.id, call->use, NULL};
	char key[ERROR_AWAITS_MAX];

	awaited_key("ending", create.project_id, key);
	if (create_in_room(fleet, a, &create, key, ret, err) == 0) {
		atomic_fetch_add(&fleet->ephemeral, 1);
		fault_point("api", "ephemeral-made");
		if (fleet_hold(fleet, a, &ref, ret, ret_hold, err) == 0) {
			memcpy(ret_hold->ending_key, key, sizeof(key));
			return 0;
		}
	}
	/* A request that parks comes again, and has made nothing. */
	if (!err->awaits.key[0])
		delete_ephemeral(fleet, a, create.id);
	return -1;
}

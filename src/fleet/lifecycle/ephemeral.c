/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/lifecycle/ephemeral.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fault.h"
#include "base/id.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/labels.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/hold.h"
#include "fleet/lifecycle/lifecycle.h"
#include "store/sandbox_record.h"
#include "worker/worker.h"

/* How long a call at its project's limit waits for the deletes of earlier calls. */
#define ROOM_TRIES 40
#define ROOM_PAUSE_MS 50

struct ephemeral_ending {
	struct worker_task task;
	struct fleet *fleet;
	char id[ID_SIZE + 1];
};

static void delete_ephemeral(struct fleet *f, struct arena *a, const char *id)
{
	const struct fleet_ref ref = {.id_or_name = id};
	struct error err = {0};

	if (fleet_delete(f, a, &ref, SANDBOX_REASON_USER, &err) < 0 && err.code != ERROR_NOT_FOUND)
		log_warning("the sandbox of an ephemeral call waits for its idle timeout",
		            TEXT("sandbox", id), FAILURE(&err));
}

static void run_ending(struct worker_task *task)
{
	struct ephemeral_ending *ending = CONTAINER_OF(task, struct ephemeral_ending, task);
	AUTO(arena_done) struct arena arena = {0};

	fault_point("api", "ephemeral-ending");
	delete_ephemeral(ending->fleet, &arena, ending->id);
	atomic_fetch_sub(&ending->fleet->endings, 1);
	free(ending);
}

void ephemeral_end(struct fleet *f, const char *id)
{
	struct ephemeral_ending *ending = memory_new(sizeof(*ending));
	struct error err = {0};

	*ending = (struct ephemeral_ending){.task = {.lane = WORKER_SLOW, .run = run_ending},
	                                    .fleet = f};
	memcpy(ending->id, id, sizeof(ending->id));
	atomic_fetch_add(&f->endings, 1);
	if (worker_submit(f->workers, &ending->task, &err) == 0)
		return;
	log_debug("the sandbox of an ephemeral call waits for its idle timeout",
	          TEXT("sandbox", id), FAILURE(&err));
	atomic_fetch_sub(&f->endings, 1);
	free(ending);
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

/* Sandboxes of earlier calls, which are being deleted, count for the limit of the project. */
static int create_in_room(struct fleet *f, struct arena *a, const struct fleet_create *create,
                          struct sandbox_record *ret, struct error *err)
{
	const struct timespec pause = {.tv_nsec = ROOM_PAUSE_MS * 1000000L};

	for (unsigned i = 0; i < ROOM_TRIES; i++) {
		if (fleet_create(f, a, create, ret, err) == 0)
			return 0;
		if (err->code != ERROR_LIMIT || atomic_load(&f->endings) == 0)
			return -1;
		error_clear(err);
		(void)nanosleep(&pause, NULL);
	}
	return fleet_create(f, a, create, ret, err);
}

int fleet_ephemeral_open(struct fleet *fleet, struct arena *a, const struct fleet_ephemeral *call,
                         struct sandbox_record *ret, struct fleet_hold *ret_hold, struct error *err)
{
	const struct fleet_create create = make_request(a, call->make);
	const struct fleet_ref ref = {create.project_id, create.id, call->use, NULL};

	if (create_in_room(fleet, a, &create, ret, err) == 0) {
		atomic_fetch_add(&fleet->ephemeral, 1);
		fault_point("api", "ephemeral-made");
		if (fleet_hold(fleet, a, &ref, ret, ret_hold, err) == 0) {
			ret_hold->ends_sandbox = true;
			return 0;
		}
	}
	/* A request that parks comes again, and has made nothing. */
	if (!err->awaits.key[0])
		delete_ephemeral(fleet, a, create.id);
	return -1;
}

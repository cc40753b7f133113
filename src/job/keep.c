/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "fleet/artifacts.h"
#include "job/parts.h"

/* Of all of a job's files; its end is told so much later at most. */
#define KEEP_MS (5 * 60 * 1000)

/* One whose files this process is keeping. */
struct keeping {
	struct list item;
	const char *id;
};

static bool is_keeping(struct jobs *jobs, const char *id)
{
	LIST_EACH (&jobs->keeping, item)
		if (strcmp(LIST_ENTRY(item, struct keeping, item)->id, id) == 0)
			return true;
	return false;
}

/* False when somebody else has done it meanwhile. */
static bool begin(struct jobs *jobs, struct keeping *k)
{
	bool is_first;

	pthread_mutex_lock(&jobs->mutex);
	is_first = !is_keeping(jobs, k->id);
	while (is_keeping(jobs, k->id))
		(void)pthread_cond_wait(&jobs->kept, &jobs->mutex);
	if (is_first)
		list_append(&jobs->keeping, &k->item);
	pthread_mutex_unlock(&jobs->mutex);
	return is_first;
}

static void end(struct jobs *jobs, struct keeping *k)
{
	pthread_mutex_lock(&jobs->mutex);
	list_remove(&k->item);
	(void)pthread_cond_broadcast(&jobs->kept);
	pthread_mutex_unlock(&jobs->mutex);
}

static int keep(struct jobs *jobs, struct arena *a, const struct job_record *r,
                const struct agent_process *p, struct error *err)
{
	const struct fleet_ref ref = {r->project_id, r->sandbox_id, NULL};
	struct sandbox_record sandbox;
	struct fleet_hold hold;
	struct fleet_artifacts_made made = {
	        .keep = {.sandbox = &sandbox,
	                 .hold = &hold,
	                 .project_id = r->project_id,
	                 .key_id = r->key_id,
	                 .run = r->run,
	                 .job = r->id,
	                 .root = r->keep_root,
	                 .user = r->keep_user,
	                 .process = r->process,
	                 .deadline = deadline_in(KEEP_MS)},
	        .folder = r->keep_folder,
	        .since = (int64_t)p->started_unix_ms,
	};
	struct artifact_list kept;

	if (fleet_hold(jobs->fleet, a, &ref, &sandbox, &hold, err) < 0)
		return -1;
	fleet_artifacts_keep_made(jobs->fleet, a, &made, &kept);
	fleet_unhold(&hold);
	fault_point("api", "job-kept");
	return 0;
}

int job_keep_files(struct jobs *jobs, struct arena *a, const struct job_record *r,
                   const struct agent_process *p, struct error *err)
{
	struct keeping k = {.id = r->id};
	int result;

	list_init(&k.item);
	if (!begin(jobs, &k))
		return 0;
	result = keep(jobs, a, r, p, err);
	end(jobs, &k);
	return result;
}

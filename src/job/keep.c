/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/fault.h"
#include "base/thread.h"
#include "fleet/core/fleet_hold.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/hold.h"
#include "fleet/sandbox/artifacts.h"
#include "job/parts.h"
#include "store/artifacts.h"
#include "store/sandbox_record.h"

/* Fetching waits for the sandbox, so limits keep a sandbox or project from delaying the others. */
static bool has_turn(const struct jobs *jobs, const struct keeping *k)
{
	unsigned all = 0, of_project = 0;

	LIST_EACH (&jobs->keeping, const struct keeping, other, item) {
		if (strcmp(other->sandbox_id, k->sandbox_id) == 0)
			return false;
		of_project += strcmp(other->project_id, k->project_id) == 0;
		all++;
	}
	return all < ARTIFACT_SAVER_MAX && of_project < KEEPING_PROJECT_MAX;
}

bool job_keep_begin(struct jobs *jobs, struct keeping *k)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&jobs->mutex);

	if (!has_turn(jobs, k))
		return false;
	list_append(&jobs->keeping, &k->item);
	return true;
}

int job_keep_files(struct jobs *jobs, struct arena *a, const struct job_record *r, int64_t deadline,
                   struct error *err)
{
	const struct fleet_ref ref = {r->project_id, r->sandbox_id, NULL};
	struct sandbox_record sandbox;
	struct fleet_hold hold;
	const struct fleet_artifacts_made made = {
	        .keep = {.sandbox = &sandbox,
	                 .hold = &hold,
	                 .project_id = r->project_id,
	                 .key_id = r->key_id,
	                 .run = r->run,
	                 .job = r->id,
	                 .root = r->keep_root,
	                 .user = r->keep_user,
	                 .process = r->process,
	                 .deadline = deadline},
	        .folder = r->keep_folder,
	        .since = r->started_at ? r->started_at : r->created_at,
	};
	struct artifact_list kept;
	int result;

	if (fleet_hold(jobs->fleet, a, &ref, &sandbox, &hold, err) < 0)
		return -1;
	result = fleet_artifacts_keep_made(jobs->fleet, a, &made, &kept, err);
	fleet_unhold(&hold);
	fault_point("api", "job-kept");
	return result;
}

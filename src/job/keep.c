/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "fleet/artifacts.h"
#include "job/parts.h"

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

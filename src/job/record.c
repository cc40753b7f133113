/* SPDX-License-Identifier: Apache-2.0 */
#include "activity/activity.h"
#include "job/parts.h"
#include "store/artifacts.h"

static void add_output(struct activity_note *n, struct arena *a, const struct job_record *r)
{
	const int64_t sizes[] = {r->stdout_bytes, r->stderr_bytes};
	const char *const texts[] = {r->stdout_json, r->stderr_json};

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (sizes[i] > 0)
			activity_set_tail(n, *texts[i] ? job_text_of(a, texts[i]) : span_of(""),
			                  (uint64_t)sizes[i]);
}

/* The row of activity lacks the files if they cannot be listed. */
static void add_artifacts(struct jobs *jobs, struct activity_note *n, struct arena *a,
                          const struct job_record *r)
{
	const struct artifact_filter filter = {
	        .project_id = r->project_id, .job = r->id, .limit = 100};
	struct artifact_list kept = {.count = 0};
	struct error ignored = {0};

	if (!*r->keep_root || store_artifact_list(jobs->store, a, &filter, &kept, &ignored) < 0)
		return;
	for (size_t i = 0; i < kept.count; i++)
		activity_add_artifact(n, kept.items[i].id, kept.items[i].path);
}

void job_note_end(struct jobs *jobs, struct arena *a, const struct job_record *r)
{
	int64_t began = r->started_at ? r->started_at : r->created_at;
	struct activity_note *n =
	        activity_begin(jobs->activity, &(struct activity_start){
	                                               .kind = ACTIVITY_COMMAND,
	                                               .operation = "job",
	                                               .project_id = r->project_id,
	                                               .sandbox_id = r->sandbox_id,
	                                               .key_id = r->key_id,
	                                               .conversation = r->conversation,
	                                               .at = r->created_at,
	                                       });

	if (!n)
		return;
	activity_add_text(n, span_of(r->command));
	add_output(n, a, r);
	add_artifacts(jobs, n, a, r);
	activity_report(
	        n, &(struct activity_result){
	                   .outcome = r->state == JOB_COMPLETED ? ACTIVITY_OK : ACTIVITY_FAILED,
	                   .exit_code = r->exit_code,
	                   .duration_ms = r->ended_at > began ? r->ended_at - began : 0,
	                   .reason = r->reason,
	           });
	activity_end(n);
}

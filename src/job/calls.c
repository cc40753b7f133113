/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>

#include "base/clock.h"
#include "fleet/core/fleet_hold.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/hold.h"
#include "job/parts.h"
#include "provider/compute.h"
#include "sandbox/usage_reason.h"
#include "store/sandbox_record.h"
#include "wire/agent.h"

/* The time that a stop gives the command before it is killed, and then for its end. */
#define STOP_GRACE_MS 2000
#define STOP_KILL_MS 5000
/* Saving its files may take longer: then the job still counts as running and ends later. */
#define STOP_FILES_MS 5000

int job_find(struct jobs *jobs, struct arena *a, const struct job_ref *ref, struct job_record *ret,
             struct error *err)
{
	struct job_loss loss;

	if (usage_conversation_check(ref->conversation, err) < 0 ||
	    store_job_find(jobs->store, a, ref, ret, err) < 0)
		return -1;
	loss = job_find_loss(a, ret);
	if (ret->state != JOB_RUNNING || !loss.reason)
		return 0;
	if (job_finish_lost(jobs, a, ret->id, &loss, err) < 0 && err->code != ERROR_CONFLICT)
		return -1;
	error_clear(err);
	return store_job_find(jobs->store, a, ref, ret, err);
}

static int send_signal(struct jobs *jobs, const struct job_record *r, int signal, struct error *err)
{
	const struct agent_signal message = {
	        .process = (uint64_t)r->process, .signal = (uint32_t)signal, .whole_tree = 1};

	struct provider *p;

	if (sandbox_provider_find(jobs->fleet, r->sandbox_id, &p, err) < 0)
		return -1;
	return compute_signal(p, r->sandbox_id, AGENT_SIGNAL, &message,
	                      deadline_after(AGENT_CALL_MS), err);
}

/* The await comes first: an agent that did not start the job refuses it, because its process of
 * that number is another one. */
static int end_process(struct jobs *jobs, struct arena *a, const struct job_record *r,
                       struct agent_process *ret, struct error *err)
{
	AUTO_CLOSE int fd = -1;
	struct error ignored = {0};
	struct agent_process p;

	if (job_await(jobs, r, &fd, err) < 0)
		return -1;
	/* A job that has ended, or whose await was refused, has its answer already. */
	if (job_await_answer(fd, a, deadline_after(0), ret, err) == 0)
		return 0;
	if (err->code != ERROR_TIMEOUT)
		return -1;
	error_clear(err);
	(void)!send_signal(jobs, r, SIGTERM, &ignored);
	if (job_await_answer(fd, a, deadline_after(STOP_GRACE_MS), &p, err) < 0) {
		if (err->code != ERROR_TIMEOUT)
			return -1;
		error_clear(err);
		(void)!send_signal(jobs, r, SIGKILL, &ignored);
		if (job_await_answer(fd, a, deadline_after(STOP_KILL_MS), &p, err) < 0)
			return -1;
	}
	*ret = p;
	return 0;
}

static int stop_running(struct jobs *jobs, struct arena *a, const struct job_record *r,
                        struct error *err)
{
	const struct fleet_ref ref = {r->project_id, r->sandbox_id, NULL};
	struct sandbox_record sandbox;
	struct agent_process p;
	struct fleet_hold hold;
	int result;

	if (r->process == 0)
		return FAIL(err, ERROR_CONFLICT, "background job '%s' is about to start", r->id);
	if (fleet_hold(jobs->fleet, a, &ref, &sandbox, &hold, err) < 0)
		return -1;
	result = store_job_stopping(jobs->store, r->id, err);
	if (result == 0)
		result = end_process(jobs, a, r, &p, err);
	if (result == 0)
		result = job_finish_process(jobs, a, r, &p, err);
	fleet_unhold(&hold);
	return result;
}

static bool has_ended(const struct job_record *r)
{
	return r->state != JOB_RUNNING || r->told != JOB_RUNNING;
}

static int stop_job(struct jobs *jobs, struct arena *a, const struct job_ref *ref,
                    struct error *err)
{
	struct error why;
	struct job_record r;

	if (job_find(jobs, a, ref, &r, err) < 0)
		return -1;
	/* A conflict: the job has ended by itself meanwhile, or the watch was faster. */
	if (has_ended(&r) || stop_running(jobs, a, &r, err) == 0)
		return 0;
	why = *err;
	error_clear(err);
	if (job_find(jobs, a, ref, &r, err) < 0)
		return -1;
	if (!has_ended(&r))
		*err = why;
	return has_ended(&r) ? 0 : -1;
}

int job_stop(struct jobs *jobs, struct arena *a, const struct job_ref *ref, struct job_record *ret,
             struct error *err)
{
	struct waiter w = {.id = ref->id};
	int result;

	jobs_add(jobs, &jobs->waiters, &w.item);
	result = stop_job(jobs, a, ref, err);
	if (result == 0)
		result = job_find(jobs, a, ref, ret, err);
	if (result == 0 && ret->state == JOB_RUNNING && ret->actual != SANDBOX_PAUSED) {
		waiter_wait(jobs, &w, deadline_after(STOP_FILES_MS));
		result = job_find(jobs, a, ref, ret, err);
	}
	jobs_remove(jobs, &w.item);
	return result;
}

/* The output that was kept at its end. Offsets count back from the end. */
static void logs_of_row(struct arena *a, const struct job_record *r,
                        const struct job_logs_request *request, struct job_logs *ret)
{
	const char *const kept[2] = {r->stdout_json, r->stderr_json};
	const int64_t ends[2] = {r->stdout_bytes, r->stderr_bytes};

	for (int i = 0; i < 2; i++) {
		struct span text = job_text_of(a, kept[i]);
		int64_t size = (int64_t)text.size, since = request->since[i], skip;
		int64_t first = ends[i] > size ? ends[i] - size : 0;

		if (since < 0)
			skip = -since < size ? size + since : 0;
		else
			skip = since < first ? 0 : since - first;
		skip = skip < size ? skip : size;
		size = size - skip < (int64_t)request->max ? size - skip : (int64_t)request->max;
		ret->out[i] = (struct span){text.data + skip, (size_t)size};
		ret->offset[i] = first + skip;
		ret->next[i] = first + skip + size;
		ret->end[i] = ends[i];
	}
}

static int logs_of_agent(struct jobs *jobs, struct arena *a, const struct job_record *r,
                         const struct job_logs_request *request, struct job_logs *ret,
                         struct error *err)
{
	const struct fleet_ref ref = {r->project_id, r->sandbox_id, NULL};
	struct sandbox_record sandbox;
	struct fleet_hold hold;
	int result;

	if (fleet_hold(jobs->fleet, a, &ref, &sandbox, &hold, err) < 0)
		return -1;
	result = job_tail(jobs, a, r, request, ret, err);
	fleet_unhold(&hold);
	return result;
}

int job_logs(struct jobs *jobs, struct arena *a, const struct job_record *r,
             const struct job_logs_request *request, struct job_logs *ret, struct error *err)
{
	bool is_running = r->state == JOB_RUNNING;

	*ret = (struct job_logs){.out = {{"", 0}, {"", 0}}};
	if (r->process == 0 && is_running)
		return 0;
	/* For a running job the sandbox is woken. For an ended job the row has the end of the
	 * output, and the agent, while it runs, has more. */
	if ((is_running || r->actual == SANDBOX_STARTED) &&
	    logs_of_agent(jobs, a, r, request, ret, err) == 0)
		return 0;
	if (is_running)
		return -1;
	error_clear(err);
	logs_of_row(a, r, request, ret);
	return 0;
}

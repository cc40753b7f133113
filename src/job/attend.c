/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "job/parts.h"
#include "wire/agent.h"
#include "worker/worker.h"

static const char *const ended_reasons[SANDBOX_STATE_COUNT] = {
        [SANDBOX_STOPPED] = "the sandbox was stopped",
        [SANDBOX_ARCHIVED] = "the sandbox was archived",
        [SANDBOX_DELETED] = "the sandbox was deleted",
        [SANDBOX_FAILED] = "the sandbox has failed",
};

bool job_is_lost(const struct job_record *r)
{
	return ended_reasons[r->actual] != NULL;
}

/* A caller's own stop or delete needs no further explanation. */
static bool has_own_reason(const char *sandbox_reason)
{
	return *sandbox_reason &&
	       strcmp(sandbox_reason, sandbox_reason_name(SANDBOX_REASON_NONE)) != 0 &&
	       strcmp(sandbox_reason, sandbox_reason_name(SANDBOX_REASON_USER)) != 0;
}

struct job_loss job_find_loss(struct arena *a, const struct job_record *r)
{
	struct job_loss loss = {ended_reasons[r->actual], JOB_CAUSE_SANDBOX};

	if (loss.reason && has_own_reason(r->sandbox_reason))
		loss.reason = arena_format(a, "%s: %s", loss.reason, r->sandbox_reason);
	return loss;
}

static bool sandbox_is_up(const struct job_record *r)
{
	return r->actual == SANDBOX_STARTED || r->actual == SANDBOX_PAUSED;
}

/* Refusals of the agent that are final. */
static struct job_loss loss_of_refusal(const struct error *err, const struct job_record *r)
{
	if (err->code == ERROR_CONFLICT)
		return (struct job_loss){"the sandbox has been started again since",
		                         JOB_CAUSE_SANDBOX};
	if (err->code == ERROR_NOT_FOUND)
		return (struct job_loss){r->process == 0 ? "it was not started"
		                                         : "its process was removed",
		                         JOB_CAUSE_LOST};
	return (struct job_loss){.reason = NULL};
}

static int settle_if_lost(struct jobs *jobs, struct arena *a, struct attention *at,
                          const struct job_loss *loss, struct error *err)
{
	if (!loss->reason)
		return 0;
	error_clear(err);
	if (job_finish_lost(jobs, a, at->id, loss, err) < 0 && err->code != ERROR_CONFLICT)
		return -1;
	at->is_over = true;
	return 0;
}

/* The connection is readable: an end, a refusal, or a broken connection. */
static int hear_end(struct jobs *jobs, struct arena *a, struct attention *at,
                    const struct job_record *r, struct error *err)
{
	AUTO_CLOSE int fd = TAKE_FD(at->fd);
	struct agent_process p;

	if (job_await_answer(fd, a, deadline_after(AGENT_CALL_MS), &p, err) < 0) {
		const struct job_loss loss = loss_of_refusal(err, r);

		return settle_if_lost(jobs, a, at, &loss, err);
	}
	if (job_finish_process(jobs, a, r, &p, err) < 0 && err->code != ERROR_CONFLICT)
		return -1;
	error_clear(err);
	at->is_over = !*r->keep_root;
	return 0;
}

static int look_at_job(struct jobs *jobs, struct arena *a, struct attention *at,
                       struct job_record *ret, struct error *err)
{
	if (store_job_look(jobs->store, a, at->id, ret, err) < 0) {
		at->is_over = err->code == ERROR_NOT_FOUND;
		return -1;
	}
	at->is_over = ret->state != JOB_RUNNING;
	return 0;
}

/* A sandbox that was paused meanwhile is asked again when it continues. */
static int give_up_job(struct jobs *jobs, struct arena *a, struct attention *at, struct error *err)
{
	const struct job_loss loss = {arena_text(a, err->text), JOB_CAUSE_LOST};
	struct job_record r;

	error_clear(err);
	if (look_at_job(jobs, a, at, &r, err) < 0)
		return -1;
	if (!at->is_over && r.actual == SANDBOX_PAUSED)
		at->keep_until = 0;
	else if (!at->is_over)
		return settle_if_lost(jobs, a, at, &loss, err);
	return 0;
}

static int keep_files(struct jobs *jobs, struct arena *a, struct attention *at,
                      const struct job_record *r, struct error *err)
{
	int64_t until = deadline_after(KEEP_TRY_MS);

	if (!at->keep_until)
		at->keep_until = deadline_after(KEEP_MS);
	if (until < at->keep_until)
		until = at->keep_until;
	if (job_keep_files(jobs, a, r, until, err) < 0)
		return deadline_poll_ms(at->keep_until) > 0 ? -1 : give_up_job(jobs, a, at, err);
	if (job_record_end(jobs, a, at->id, NULL, err) < 0 && err->code != ERROR_CONFLICT)
		return -1;
	at->is_over = true;
	return 0;
}

/* Its files are fetched in the slow lane, because the sandbox decides how long that takes. A
 * paused sandbox is not woken for them. */
static int finish_job(struct jobs *jobs, struct arena *a, struct attention *at,
                      const struct job_record *r, struct error *err)
{
	struct keeping turn = {.sandbox_id = r->sandbox_id, .project_id = r->project_id};
	bool was_slow = at->is_slow;
	int result;

	if (r->actual == SANDBOX_PAUSED) {
		at->keep_until = 0;
		return 0;
	}
	at->is_slow = true;
	if (!was_slow && !worker_change_to_slow(jobs->workers))
		return 0;
	if (!job_keep_begin(jobs, &turn))
		return 0;
	result = keep_files(jobs, a, at, r, err);
	jobs_remove(jobs, &turn.item);
	return result;
}

static int begin_watching(struct jobs *jobs, struct arena *a, struct attention *at,
                          struct job_record *r, struct error *err)
{
	struct job_loss loss = job_find_loss(a, r);

	if (loss.reason)
		return settle_if_lost(jobs, a, at, &loss, err);
	/* Another server watches this job. */
	at->is_over = strcmp(r->node, jobs->node) != 0;
	if (at->is_over || !sandbox_is_up(r) || (r->process == 0 && job_is_starting(jobs, r->id)))
		return 0;
	if (r->told != JOB_RUNNING)
		return finish_job(jobs, a, at, r, err);
	if (r->process == 0 && job_find_process(jobs, a, r, err) < 0) {
		loss = loss_of_refusal(err, r);
		return settle_if_lost(jobs, a, at, &loss, err);
	}
	return job_await(jobs, r, &at->fd, err);
}

static int attend_job(struct jobs *jobs, struct attention *at, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct job_record r;

	if (look_at_job(jobs, &arena, at, &r, err) < 0)
		return -1;
	if (!at->is_over && at->fd >= 0 &&
	    (hear_end(jobs, &arena, at, &r, err) < 0 ||
	     (!at->is_over && look_at_job(jobs, &arena, at, &r, err) < 0)))
		return -1;
	return at->is_over ? 0 : begin_watching(jobs, &arena, at, &r, err);
}

void job_attend(struct jobs *jobs, struct attention *at)
{
	struct error err = {0};

	if (attend_job(jobs, at, &err) < 0 && !at->is_over)
		log_debug("job waits", TEXT("job", at->id), FAILURE(&err));
	if (at->is_over)
		auto_close(&at->fd);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <sodium.h>
#include <string.h>

#include "account/account.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/thread.h"
#include "config/config.h"
#include "fleet/recovery/retention.h"
#include "fleet/core/sandboxes.h"
#include "job/parts.h"
#include "json/json.h"
#include "provider/agent_reader.h"
#include "wire/agent_cause.h"
#include "wire/agent_jobs.h"

/* Each byte may become an escape of six bytes. */
#define TEXT_MAX ((size_t)6 * TAIL_MAX + 16)
#define PURGE_EVERY_MS 60000

_Static_assert(JOB_TOKEN_HASH_SIZE == crypto_hash_sha256_BYTES, "a SHA-256");

void job_token_hash(struct span token, unsigned char ret[JOB_TOKEN_HASH_SIZE])
{
	crypto_hash_sha256(ret, (const unsigned char *)token.data, token.size);
}

/* Turns any bytes into a text that every database accepts. */
static const char *json_of(struct arena *a, struct span bytes)
{
	AUTO(buf_done) struct buf text = BUF(TEXT_MAX);

	if (bytes.size > TAIL_MAX)
		bytes = (struct span){bytes.data + bytes.size - TAIL_MAX, TAIL_MAX};
	json_write_text(&text, bytes);
	return arena_text(a, buf_text(&text));
}

void waiter_wait(struct jobs *jobs, struct waiter *w, int64_t deadline)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&jobs->mutex);

	while (!w->has_settled && deadline_poll_ms(deadline) > 0)
		thread_wait(&jobs->settled, &jobs->mutex, deadline);
}

static void tell_waiters(struct jobs *jobs, const char *id)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&jobs->mutex);

	LIST_EACH (&jobs->waiters, struct waiter, w, item)
		w->has_settled |= strcmp(w->id, id) == 0;
	(void)pthread_cond_broadcast(&jobs->settled);
}

int job_record_end(struct jobs *jobs, struct arena *a, const char *id, const struct job_end *end,
                   struct error *err)
{
	struct job_record r = {.id = NULL};

	fault_point("api", "job-ended");
	if (store_job_finish(jobs->store, a, id, end, &r, err) < 0)
		return -1;
	fault_point("api", "job-settled");
	job_note_end(jobs, a, &r);
	tell_waiters(jobs, id);
	if (r.delivery == JOB_DELIVERY_WAITING)
		job_redelivered(jobs);
	log_info("job settled", TEXT("job", id), TEXT("sandbox", r.sandbox_id),
	         TEXT("state", job_state_name(r.state)), TEXT("reason", r.reason));
	return 0;
}

/* Files to keep come first: the watch fetches them and then ends the job. */
static int settle_or_tell(struct jobs *jobs, struct arena *a, const struct job_record *r,
                          const struct job_end *end, struct error *err)
{
	if (!*r->keep_root)
		return job_record_end(jobs, a, r->id, end, err);
	if (store_job_set_reported(jobs->store, r->id, end, err) < 0)
		return -1;
	fault_point("api", "job-told");
	jobs_wake(jobs);
	return 0;
}

/* `cause`: of agent_process_cause, or NULL. */
static const char *reason_of(struct arena *a, int64_t exit_code, const char *cause)
{
	const char *why = cause ? agent_cause_explain(cause) : NULL;

	if (why)
		return why;
	return exit_code == 0 ? "" : arena_format(a, "exit code %d", (int)exit_code);
}

int job_finish_process(struct jobs *jobs, struct arena *a, const struct job_record *r,
                       const struct agent_process *p, struct error *err)
{
	const struct job_logs_request last = {.since = {INT64_MIN + 1, INT64_MIN + 1},
	                                      .max = TAIL_MAX};
	struct job_logs tail;
	struct job_end end = {
	        .state = p->exit_code == 0 && !p->timed_out ? JOB_COMPLETED : JOB_FAILED,
	        .exit_code = p->exit_code,
	        .reason = reason_of(a, p->exit_code, agent_process_cause(p)),
	        .cause = agent_process_cause(p),
	        .stdout_json = "",
	        .stderr_json = "",
	        .stdout_bytes = (int64_t)p->output_end[0],
	        .stderr_bytes = (int64_t)p->output_end[1],
	        .ended_at = clock_unix_ms(),
	};

	/* The end is recorded even if its output cannot be read. */
	if (job_tail(jobs, a, r, &last, &tail, &(struct error){0}) == 0) {
		end.stdout_json = json_of(a, tail.out[0]);
		end.stderr_json = json_of(a, tail.out[1]);
	}
	return settle_or_tell(jobs, a, r, &end, err);
}

int job_finish_lost(struct jobs *jobs, struct arena *a, const char *id, const struct job_loss *loss,
                    struct error *err)
{
	const struct job_end end = {
	        .state = JOB_FAILED,
	        .exit_code = -1,
	        .reason = loss->reason,
	        .cause = loss->cause,
	        .stdout_json = "",
	        .stderr_json = "",
	        .ended_at = clock_unix_ms(),
	};

	return job_record_end(jobs, a, id, &end, err);
}

int job_find_process(struct jobs *jobs, struct arena *a, struct job_record *r, struct error *err)
{
	const struct agent_find_job wanted = {.id = r->id};
	struct agent_process p;
	struct agent_pong pong;
	const struct compute_call ping = {.type = AGENT_PING,
	                                  WIRE_REPLY(AGENT_PONG, agent_pong_shape, pong)};
	const struct compute_call find = {.type = AGENT_FIND_JOB,
	                                  .shape = agent_find_job_shape,
	                                  .message = &wanted,
	                                  WIRE_REPLY(AGENT_PROCESS, agent_process_shape, p)};
	int64_t deadline = deadline_after(AGENT_CALL_MS);
	struct job_start start = {.id = r->id};
	struct provider *provider;

	/* Reads the boot first: if the sandbox is started again in between, the found process
	 * belongs to the newer boot, and the await reports that. */
	if (sandbox_provider_find(jobs->fleet, r->sandbox_id, &provider, err) < 0 ||
	    compute_call(provider, r->sandbox_id, a, &ping, deadline, err) < 0 ||
	    compute_call(provider, r->sandbox_id, a, &find, deadline, err) < 0)
		return -1;
	start.boot_id = r->boot_id = pong.boot_id;
	start.process = r->process = (int64_t)p.process;
	start.started_at = (int64_t)p.started_unix_ms;
	return store_job_started(jobs->store, &start, err);
}

int job_await(struct jobs *jobs, const struct job_record *r, int *ret_fd, struct error *err)
{
	const struct agent_await await = {.process = (uint64_t)r->process, .boot_id = r->boot_id};
	const struct compute_request request = {AGENT_AWAIT, agent_await_shape, &await};

	struct provider *p;

	if (sandbox_provider_find(jobs->fleet, r->sandbox_id, &p, err) < 0)
		return -1;
	return compute_open(p, r->sandbox_id, &request, deadline_after(AGENT_CALL_MS), ret_fd, err);
}

int job_await_answer(int fd, struct arena *a, int64_t deadline, struct agent_process *ret,
                     struct error *err)
{
	AUTO(agent_reader_done) struct agent_reader r = {.provider = NULL};
	int ready = fd_wait(fd, POLLIN, deadline, err), status;

	if (ready <= 0)
		return ready < 0 ? -1
		                 : FAIL(err, ERROR_TIMEOUT, "the agent told of no end in time");
	agent_reader_init(&r, NULL, "", &(struct agent_limits){deadline_after(FRAME_MS)});
	agent_reader_adopt(&r, fd, AGENT_AWAIT);
	status = agent_reader_expect(&r, AGENT_PROCESS, err);
	(void)TAKE_FD(r.fd);
	if (status == 0 &&
	    wire_decode(a, buf_span(&r.payload), agent_process_shape, ret, sizeof(*ret), err) < 0)
		status = FAIL(err, ERROR_SYSTEM, "the agent told of no end");
	buf_done(&r.payload); /* a reader without a provider keeps it */
	if (status < 0)
		return -1;
	if (ret->state != AGENT_PROCESS_ENDED)
		return FAIL(err, ERROR_SYSTEM, "the agent reported an end that is none");
	return 0;
}

static int refuse_token(struct error *err)
{
	(void)FAIL(err, ERROR_UNAUTHENTICATED, "this token is not valid for this job");
	return FAIL_HINT(err,
	                 "it is the job's own, for one use: no key of an account is taken here");
}

/* A wrong token gets the same answer in the same time (but for the store's), whatever is wrong
 * with it. */
static int check_token(struct jobs *jobs, struct arena *a, const char *id, struct span token,
                       struct job_record *ret, struct error *err)
{
	const struct job_ref ref = {.id = id};
	static const unsigned char none[JOB_TOKEN_HASH_SIZE];
	unsigned char hash[JOB_TOKEN_HASH_SIZE];
	struct job_record r = {0};
	bool is_right;

	job_token_hash(token, hash);
	if (store_job_find(jobs->store, a, &ref, &r, err) < 0 && err->code != ERROR_NOT_FOUND)
		return -1;
	is_right = account_hash_equals(hash, r.token_hash);
	is_right &= !account_hash_equals(none, r.token_hash);
	is_right &= r.token_expires_at > clock_unix_ms();
	if (!is_right) {
		error_clear(err);
		return refuse_token(err);
	}
	*ret = r;
	return 0;
}

int job_complete(struct jobs *jobs, const char *id, struct span token,
                 const struct job_completion *completion, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct job_end end = {
	        .state = completion->is_completed ? JOB_COMPLETED : JOB_FAILED,
	        .exit_code = completion->exit_code,
	        .reason = reason_of(&arena, completion->exit_code, completion->cause),
	        .cause = completion->cause,
	        .stdout_json = json_of(&arena, completion->out[0]),
	        .stderr_json = json_of(&arena, completion->out[1]),
	        .stdout_bytes = (int64_t)completion->out[0].size,
	        .stderr_bytes = (int64_t)completion->out[1].size,
	        .ended_at = clock_unix_ms(),
	};
	struct job_record r;

	if (check_token(jobs, &arena, id, token, &r, err) < 0)
		return -1;
	return settle_or_tell(jobs, &arena, &r, &end, err);
}

int jobs_purge(struct jobs *jobs, struct error *err)
{
	if (clock_monotonic_ms() < jobs->purge_at)
		return 0;
	jobs->purge_at = deadline_after(PURGE_EVERY_MS);
	return store_job_purge(jobs->store,
	                       fleet_retention_ms(jobs->fleet) - jobs->config->jobs_keep_ms, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs from their start to their result, with an agent that obeys the test. */
#include "edge/api.h"
#include "fleet/core/sandboxes.h"
#include "job/parts.h"

#include <semaphore.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/channels.h"
#include "store/sandbox_record.h"
#include "unit.h"
#include "unit/api/harness.h"
#include "wire/agent_jobs.h"
#include "fleet/core/peers.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/lifecycle.h"

#define BOOT "boot-1"
#define WAIT_MS 20000

static struct harness h;
static struct jobs *jobs;
static struct arena arena;
static struct sandbox_record box;

/* ---- the agent ---- */

static struct {
	_Atomic(const char *) boot;
	atomic_bool finds;  /* it knows the job's process */
	atomic_bool breaks; /* it closes in place of an answer to a start */
	atomic_int refuses; /* enum error_code of its answer to a start; 0: it starts */
	atomic_int exit_code;
	atomic_uint starts, ends;
	sem_t end; /* posted: an awaited process ends */
} agent;

static void agent_send(int fd, uint16_t type, const struct wire_member *shape, const void *message)
{
	AUTO(buf_done) struct buf out = BUF(WIRE_PAYLOAD_MAX);
	struct error err = {0};

	if (wire_encode(&out, type, shape, message, &err) < 0)
		abort();
	(void)!wire_send(fd, buf_span(&out), deadline_after(WAIT_MS), &err);
}

static void agent_send_process(int fd, uint16_t type, uint32_t state)
{
	const struct agent_process p = {
	        .process = 1,
	        .pid = 7,
	        .state = state,
	        .exit_code = state == AGENT_PROCESS_ENDED ? atomic_load(&agent.exit_code) : -1,
	        .started_unix_ms = 1000,
	        .output_end = {9, 0},
	        .label = "",
	        .user = "user",
	        .cwd = "/",
	        .args = (const char *[]){"make", NULL},
	};

	agent_send(fd, type, agent_process_shape, &p);
}

static void agent_send_failed(int fd, enum error_code code, const char *text)
{
	agent_send(fd, AGENT_FAILED, agent_failed_shape,
	           &(struct agent_failed){.code = code, .text = text, .hint = ""});
}

static void agent_send_done(int fd)
{
	agent_send(fd, AGENT_DONE, agent_done_shape, &(struct agent_done){0});
}

static void agent_send_pong(int fd)
{
	agent_send(fd, AGENT_PONG, agent_pong_shape,
	           &(struct agent_pong){.protocol = AGENT_PROTOCOL,
	                                .boot_id = atomic_load(&agent.boot)});
}

/* The next command of the connection becomes the job. */
static void agent_start_job(int fd)
{
	AUTO(buf_done) struct buf payload = BUF(WIRE_PAYLOAD_MAX);
	AUTO(arena_done) struct arena a = {0};
	struct agent_exec exec;
	struct error err = {0};
	uint16_t type;

	agent_send_pong(fd);
	if (wire_receive(fd, deadline_after(WAIT_MS), &type, &payload, &err) < 0)
		return;
	atomic_fetch_add(&agent.starts, 1);
	if (wire_decode(&a, buf_span(&payload), agent_exec_shape, &exec, sizeof(exec), &err) < 0 ||
	    type != AGENT_EXEC || !(exec.flags & AGENT_EXEC_DETACH))
		abort();
	if (atomic_load(&agent.breaks))
		return;
	if (atomic_load(&agent.refuses)) {
		agent_send_failed(fd, (enum error_code)atomic_load(&agent.refuses), "refused");
		return;
	}
	if (strcmp(exec.args[0], "absent") == 0) {
		agent_send_failed(fd, ERROR_NOT_FOUND, "command not found: 'absent'");
		return;
	}
	agent_send_process(fd, AGENT_STARTED, AGENT_PROCESS_RUNNING);
	agent_send_done(fd);
}

static void agent_find(int fd)
{
	if (!atomic_load(&agent.finds)) {
		agent_send_failed(fd, ERROR_NOT_FOUND, "no such job");
		return;
	}
	agent_send_process(fd, AGENT_PROCESS, AGENT_PROCESS_RUNNING);
	agent_send_done(fd);
}

static void agent_await_end(int fd)
{
	if (strcmp(atomic_load(&agent.boot), BOOT) != 0) {
		agent_send_failed(fd, ERROR_CONFLICT, "another boot");
		return;
	}
	while (sem_wait(&agent.end) < 0)
		;
	/* The next await of an ended process is answered, too. */
	(void)sem_post(&agent.end);
	atomic_fetch_add(&agent.ends, 1);
	agent_send_process(fd, AGENT_PROCESS, AGENT_PROCESS_ENDED);
	agent_send_done(fd);
}

static bool on_request(UNUSED const char *sandbox, int fd, uint16_t type)
{
	switch (type) {
	case AGENT_PING:
		agent_send_pong(fd);
		return true;
	case AGENT_JOB:
		agent_start_job(fd);
		return true;
	case AGENT_FIND_JOB:
		agent_find(fd);
		return true;
	case AGENT_AWAIT:
		agent_await_end(fd);
		return true;
	case AGENT_PROCESSES:
		agent_send_process(fd, AGENT_PROCESS, AGENT_PROCESS_RUNNING);
		agent_send_done(fd);
		return true;
	case AGENT_SIGNAL:
		atomic_store(&agent.exit_code, 143);
		(void)sem_post(&agent.end);
		agent_send_done(fd);
		return true;
	default:
		return false;
	}
}

/* ---- the fixture ---- */

static void open_jobs_of(const char *node)
{
	const struct jobs_options options = {&h.config, h.store, h.fleet, node};
	struct error err = {0};

	assert_int_equal(jobs_open(&options, &jobs, &err), 0);
}

static void open_jobs(void)
{
	open_jobs_of(fleet_node(h.fleet));
}

static int set_up(void **state)
{
	struct error err = {0};

	(void)state;
	(void)sem_init(&agent.end, 0, 0);
	atomic_store(&agent.boot, BOOT);
	atomic_store(&agent.finds, true);
	atomic_store(&agent.breaks, false);
	atomic_store(&agent.refuses, 0);
	atomic_store(&agent.exit_code, 0);
	atomic_store(&agent.starts, 0);
	harness_open(&h);
	log_open("test", LOG_ERROR);
	h.config.jobs_callback_url = "";
	fake_agent_hook = on_request;
	if (fleet_create(
	            h.fleet, &arena,
	            &(struct fleet_create){.project_id = "default", .internet = 1, .wait = true},
	            &box, &err) < 0)
		fail_msg("%s", err.text);
	open_jobs();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	/* Every await is answered, so that no connection is left. */
	(void)sem_post(&agent.end);
	jobs_close(jobs);
	harness_close(&h);
	fake_agent_hook = NULL;
	arena_done(&arena);
	(void)sem_destroy(&agent.end);
	return 0;
}

static int start_with(const char *conversation, const struct job_origin *origin,
                      struct job_started *ret, struct error *err)
{
	static const char *absent[] = {"absent", NULL}, *make[] = {"make", NULL};
	static const char **const args[] = {absent, make};
	const struct agent_exec exec = {.cwd = "/", .user = "user", .label = ""};
	const struct job_request request = {.sandbox = &box,
	                                    .key_id = "key",
	                                    .conversation = conversation,
	                                    .origin = origin,
	                                    .command = "make",
	                                    .exec = &exec,
	                                    .args = args,
	                                    .args_count = COUNT_OF(args),
	                                    .deadline = deadline_after(WAIT_MS)};

	*err = (struct error){0};
	return job_start(jobs, &arena, &request, ret, err);
}

static const char *start(void)
{
	static const struct job_origin nowhere = {.type = JOB_CHANNEL_NONE};
	struct job_started started;
	struct error err;

	if (start_with(NULL, &nowhere, &started, &err) < 0)
		fail_msg("%s", err.text);
	return started.id;
}

static struct job_record find_job(const char *id)
{
	const struct job_ref ref = {.id = id};
	struct job_record r;
	struct error err = {0};

	assert_int_equal(store_job_find(h.store, &arena, &ref, &r, &err), 0);
	return r;
}

static unsigned count_jobs(void)
{
	const struct job_page page = {.project_id = "default", .limit = 100};
	struct job_list list;
	struct error err = {0};

	assert_int_equal(store_job_list(h.store, &arena, &page, &list, &err), 0);
	return (unsigned)list.count;
}

/* The row of a job that has its result. */
static struct job_record await_result(const char *id)
{
	struct waiter w = {.id = id};
	struct job_record r;

	jobs_add(jobs, &jobs->waiters, &w.item);
	if (find_job(id).state == JOB_RUNNING)
		waiter_wait(jobs, &w, deadline_after(WAIT_MS));
	jobs_remove(jobs, &w.item);
	r = find_job(id);
	assert_int_not_equal(r.state, JOB_RUNNING);
	return r;
}

static struct job_record end_with(const char *id, int exit_code)
{
	atomic_store(&agent.exit_code, exit_code);
	(void)sem_post(&agent.end);
	return await_result(id);
}

/* ---- starts ---- */

TEST(a_job_runs_and_its_row_knows_the_process)
{
	struct job_record r = find_job(start());

	assert_int_equal(r.state, JOB_RUNNING);
	assert_int_equal(r.process, 1);
	assert_string_equal(r.boot_id, BOOT);
	assert_string_equal(r.command, "make");
	assert_int_equal(r.started_at, 1000);
	/* The first command is absent, so the second was tried. */
	assert_int_equal(atomic_load(&agent.starts), 2);
}

TEST(a_start_that_is_refused_leaves_no_row)
{
	static const struct job_origin nowhere = {.type = JOB_CHANNEL_NONE};
	struct job_started started;
	struct error err;

	atomic_store(&agent.refuses, ERROR_INVALID);
	assert_int_equal(start_with(NULL, &nowhere, &started, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_int_equal(count_jobs(), 0);
}

TEST(a_start_whose_answer_is_lost_is_found_by_the_watch)
{
	static const struct job_origin nowhere = {.type = JOB_CHANNEL_NONE};
	const struct job_page page = {.project_id = "default", .limit = 1};
	struct job_started started;
	struct job_list list;
	struct error err;

	atomic_store(&agent.breaks, true);
	assert_int_equal(start_with(NULL, &nowhere, &started, &err), -1);
	assert_int_equal(store_job_list(h.store, &arena, &page, &list, &err), 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(end_with(list.items[0].id, 0).state, JOB_COMPLETED);
}

TEST(a_start_that_never_was_is_lost)
{
	static const struct job_origin nowhere = {.type = JOB_CHANNEL_NONE};
	const struct job_page page = {.project_id = "default", .limit = 1};
	struct job_started started;
	struct job_list list;
	struct job_record r;
	struct error err;

	atomic_store(&agent.breaks, true);
	atomic_store(&agent.finds, false);
	assert_int_equal(start_with(NULL, &nowhere, &started, &err), -1);
	assert_int_equal(store_job_list(h.store, &arena, &page, &list, &err), 0);
	r = await_result(list.items[0].id);
	assert_int_equal(r.state, JOB_FAILED);
	assert_string_equal(r.cause, JOB_CAUSE_LOST);
	assert_string_equal(r.reason, "it was not started");
}

TEST(a_sandbox_runs_only_so_many_jobs)
{
	static const struct job_origin nowhere = {.type = JOB_CHANNEL_NONE};
	struct job_started started;
	struct error err;

	for (int i = 0; i < JOB_RUNNING_MAX; i++)
		(void)start();
	assert_int_equal(start_with(NULL, &nowhere, &started, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
}

TEST(an_origin_that_cannot_be_told_is_refused_at_the_start)
{
	const struct job_origin slack = {.type = JOB_CHANNEL_SLACK, .channel = "C1"};
	const struct job_origin incomplete = {.type = JOB_CHANNEL_SLACK};
	const struct job_origin zalo = {
	        .type = JOB_CHANNEL_ZALO, .user = "1", .credential = "slack"};
	const struct channel_record channel = {.id = "c",
	                                       .project_id = "default",
	                                       .name = "slack",
	                                       .kind = JOB_CHANNEL_SLACK,
	                                       .base_url = "",
	                                       .token = "xoxb-123"};
	struct job_started started;
	struct error err;

	assert_int_equal(start_with(NULL, &incomplete, &started, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_int_equal(start_with(NULL, &slack, &started, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_non_null(strstr(err.hint, "/v1/channels/slack"));
	assert_int_equal(store_channel_put(h.store, &channel, 5, &err), 0);
	assert_int_equal(start_with(NULL, &zalo, &started, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_int_equal(start_with(NULL, &slack, &started, &err), 0);
	assert_int_equal(atomic_load(&agent.starts), 2);
}

/* ---- ends ---- */

TEST(the_result_has_the_exit_code_and_the_last_output)
{
	struct job_record r = end_with(start(), 0);

	assert_int_equal(r.state, JOB_COMPLETED);
	assert_int_equal(r.exit_code, 0);
	assert_string_equal(r.reason, "");
	assert_string_equal(r.stdout_json, "\"log line\\n\"");
	assert_int_equal(r.stdout_bytes, 9);
}

TEST(a_command_that_fails_is_a_failed_job)
{
	struct job_record r = end_with(start(), 3);

	assert_int_equal(r.state, JOB_FAILED);
	assert_int_equal(r.exit_code, 3);
	assert_string_equal(r.reason, "exit code 3");
}

TEST(a_stop_ends_the_process)
{
	const char *id = start();
	const struct job_ref ref = {"default", NULL, id};
	struct job_record r;
	struct error err = {0};

	assert_int_equal(job_stop(jobs, &arena, &ref, &r, &err), 0);
	assert_int_equal(r.state, JOB_STOPPED);
	assert_int_equal(r.exit_code, 143);
	/* Again: it has ended. */
	assert_int_equal(job_stop(jobs, &arena, &ref, &r, &err), 0);
	assert_int_equal(r.state, JOB_STOPPED);
}

TEST(a_job_of_an_earlier_boot_is_lost)
{
	const char *id = start();
	struct job_record r;

	/* The await of this boot ends; the server starts again and asks the new one. */
	jobs_close(jobs);
	atomic_store(&agent.boot, "boot-2");
	open_jobs();
	r = await_result(id);
	assert_int_equal(r.state, JOB_FAILED);
	assert_string_equal(r.cause, JOB_CAUSE_SANDBOX);
	assert_string_equal(r.reason, "the sandbox has been started again since");
}

TEST(the_next_server_records_the_end_of_a_job)
{
	const char *id = start();

	jobs_close(jobs);
	open_jobs();
	assert_int_equal(end_with(id, 0).state, JOB_COMPLETED);
}

TEST(a_reader_records_the_loss_of_a_job_whose_sandbox_is_gone)
{
	const char *id = start();
	const struct job_ref ref = {"default", NULL, id};
	struct job_record r;
	struct error err = {0};

	jobs_close(jobs);
	assert_int_equal(fleet_delete(h.fleet, &arena, &(struct fleet_ref){"default", box.id},
	                              SANDBOX_REASON_USER, &err),
	                 0);
	open_jobs();
	assert_int_equal(job_find(jobs, &arena, &ref, &r, &err), 0);
	assert_int_equal(r.state, JOB_FAILED);
	assert_string_equal(r.cause, JOB_CAUSE_SANDBOX);
	assert_string_equal(r.reason, "the sandbox was deleted");
}

TEST(the_reason_of_a_sandbox_is_told_unless_it_is_the_callers_own)
{
	static const struct {
		enum sandbox_state state;
		const char *why, *reason;
	} rows[] = {
	        {SANDBOX_STOPPED, "none", "the sandbox was stopped"},
	        {SANDBOX_STOPPED, "user", "the sandbox was stopped"},
	        {SANDBOX_STOPPED, "", "the sandbox was stopped"},
	        {SANDBOX_STOPPED, "idle", "the sandbox was stopped: idle"},
	        {SANDBOX_FAILED, "oom", "the sandbox has failed: oom"},
	        {SANDBOX_ARCHIVED, "user", "the sandbox was archived"},
	        {SANDBOX_STARTED, "idle", NULL},
	        {SANDBOX_PAUSED, "idle", NULL},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct job_record r = {.actual = rows[i].state,
		                             .sandbox_reason = rows[i].why};
		const struct job_loss loss = job_find_loss(&arena, &r);

		assert_int_equal(job_is_lost(&r), rows[i].reason != NULL);
		if (rows[i].reason)
			assert_string_equal(loss.reason, rows[i].reason);
		else
			assert_null(loss.reason);
	}
}

/* ---- who may read it ---- */

TEST(a_job_belongs_to_its_conversation)
{
	static const struct job_origin nowhere = {.type = JOB_CHANNEL_NONE};
	struct job_started started;
	struct job_record r;
	struct error err;

	assert_int_equal(start_with("one", &nowhere, &started, &err), 0);
	assert_int_equal(
	        job_find(jobs, &arena, &(struct job_ref){"default", "one", started.id}, &r, &err),
	        0);
	assert_int_equal(
	        job_find(jobs, &arena, &(struct job_ref){"default", "two", started.id}, &r, &err),
	        -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_int_equal(
	        job_find(jobs, &arena, &(struct job_ref){"other", "one", started.id}, &r, &err),
	        -1);
	assert_int_equal(start_with("a b", &nowhere, &started, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
}

/* ---- output ---- */

TEST(the_output_of_a_running_job_comes_from_the_agent)
{
	const struct job_record r = find_job(start());
	struct job_logs_request request = {.max = JOB_LOGS_MAX};
	struct job_logs logs;
	struct error err = {0};

	assert_int_equal(job_logs(jobs, &arena, &r, &request, &logs, &err), 0);
	assert_string_equal(logs.out[0].data, "log line\n");
	assert_int_equal(logs.next[0], 9);
	assert_int_equal(logs.end[0], 9);
	assert_int_equal(logs.out[1].size, 0);
	request.max = 3;
	assert_int_equal(job_logs(jobs, &arena, &r, &request, &logs, &err), 0);
	assert_int_equal(logs.out[0].size, 3);
	assert_int_equal(logs.next[0], 3);
	atomic_store(&agent.boot, "boot-2");
	assert_int_equal(job_logs(jobs, &arena, &r, &request, &logs, &err), -1);
	assert_int_equal(err.code, ERROR_CONFLICT);
}

TEST(the_output_of_an_ended_job_is_counted_from_its_end)
{
	static const struct {
		int64_t since;
		size_t max;
		const char *out;
		int64_t offset, next;
	} rows[] = {
	        {0, 100, "456789", 4, 10}, {5, 100, "56789", 5, 10}, {5, 2, "56", 5, 7},
	        {-3, 100, "789", 7, 10},   {-99, 2, "45", 4, 6},     {10, 100, "", 10, 10},
	        {50, 100, "", 10, 10},     {4, 0, "", 4, 4},
	};
	const struct job_record r = {.state = JOB_COMPLETED,
	                             .actual = SANDBOX_DELETED,
	                             .stdout_json = "\"456789\"",
	                             .stderr_json = "",
	                             .stdout_bytes = 10};
	struct job_logs logs;
	struct error err = {0};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct job_logs_request request = {{rows[i].since, 0}, rows[i].max};

		assert_int_equal(job_logs(jobs, &arena, &r, &request, &logs, &err), 0);
		assert_int_equal(logs.out[0].size, strlen(rows[i].out));
		assert_memory_equal(logs.out[0].data, rows[i].out, logs.out[0].size);
		assert_int_equal(logs.offset[0], rows[i].offset);
		assert_int_equal(logs.next[0], rows[i].next);
		assert_int_equal(logs.end[0], 10);
		assert_int_equal(logs.out[1].size, 0);
	}
}

/* ---- the post from inside ---- */

static const char *job_with_token(const char *id, const char *token, int64_t expires_at)
{
	struct job_record r = {.id = id,
	                       .project_id = "default",
	                       .sandbox_id = box.id,
	                       .origin_json = "{}",
	                       .command = "make",
	                       .token_expires_at = expires_at,
	                       .created_at = 1};
	struct error err = {0};

	if (token)
		job_token_hash(span_of(token), r.token_hash);
	assert_int_equal(store_job_insert(h.store, &r, 10, &err), 0);
	return id;
}

static enum error_code complete(const char *id, const char *token)
{
	const struct job_completion done = {.exit_code = 9, .out = {SPAN("a\0\xff"), SPAN("")}};
	struct error err = {0};

	return job_complete(jobs, id, span_of(token), &done, &err) < 0 ? err.code : ERROR_NONE;
}

TEST(only_the_jobs_own_token_ends_it_and_only_once)
{
	const int64_t later = clock_unix_ms() + 60000;
	struct job_record r;
	const char *id;

	/* Another server watches these jobs. */
	jobs_close(jobs);
	open_jobs_of("other-node");
	id = job_with_token("j1", "right", later);
	assert_int_equal(complete(id, "wrong"), ERROR_UNAUTHENTICATED);
	assert_int_equal(complete(id, ""), ERROR_UNAUTHENTICATED);
	assert_int_equal(complete("unknown", "right"), ERROR_UNAUTHENTICATED);
	assert_int_equal(complete(job_with_token("j2", "right", clock_unix_ms() - 1), "right"),
	                 ERROR_UNAUTHENTICATED);
	assert_int_equal(complete(job_with_token("j3", NULL, later), ""), ERROR_UNAUTHENTICATED);
	assert_int_equal(complete(id, "right"), ERROR_NONE);
	assert_int_equal(complete(id, "right"), ERROR_CONFLICT);
	r = find_job(id);
	assert_int_equal(r.state, JOB_FAILED);
	assert_int_equal(r.exit_code, 9);
	assert_int_equal(r.stdout_bytes, 3);
}

#define STEP(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
	return RUN(STEP(a_job_runs_and_its_row_knows_the_process),
	           STEP(a_start_that_is_refused_leaves_no_row),
	           STEP(a_start_whose_answer_is_lost_is_found_by_the_watch),
	           STEP(a_start_that_never_was_is_lost), STEP(a_sandbox_runs_only_so_many_jobs),
	           STEP(an_origin_that_cannot_be_told_is_refused_at_the_start),
	           STEP(the_result_has_the_exit_code_and_the_last_output),
	           STEP(a_command_that_fails_is_a_failed_job), STEP(a_stop_ends_the_process),
	           STEP(a_job_of_an_earlier_boot_is_lost),
	           STEP(the_next_server_records_the_end_of_a_job),
	           STEP(a_reader_records_the_loss_of_a_job_whose_sandbox_is_gone),
	           STEP(the_reason_of_a_sandbox_is_told_unless_it_is_the_callers_own),
	           STEP(a_job_belongs_to_its_conversation),
	           STEP(the_output_of_a_running_job_comes_from_the_agent),
	           STEP(the_output_of_an_ended_job_is_counted_from_its_end),
	           STEP(only_the_jobs_own_token_ends_it_and_only_once));
}

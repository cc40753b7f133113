/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id.h"
#include "provider/agent_health.h"
#include "provider/agent_reader.h"
#include "provider/compute.h"
#include "provider/provider.h"
#include "wire/agent.h"
#include "wire/agent_files.h"
#include "wire/wire.h"

#define SANDBOX "abcdefghijklmnopqrst"
#define OTHER "bcdefghijklmnopqrstu"
#define ANSWER_MS 100
#define AT_ONCE_MS (UNIT_WITH_ASAN ? 80 : 50)

/* A provider whose agent says what it is told to, or nothing. */
struct provider {
	const struct provider_ops *ops;
	struct buf answer;
	unsigned connects;
	int ends[16];
};

static int agent_connect(struct provider *p, const char *id, int64_t deadline, int *ret_fd,
                         struct error *err)
{
	int ends[2];

	(void)id;
	(void)deadline;
	assert_true(p->connects < COUNT_OF(p->ends));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	assert_int_equal(wire_send(ends[1], buf_span(&p->answer), deadline_after(1000), err), 0);
	p->ends[p->connects++] = ends[1];
	*ret_fd = ends[0];
	return 0;
}

static const struct compute_ops agent_compute = {.connect = agent_connect};
static const struct provider_ops agent_ops = {.name = "quiet", .compute = &agent_compute};

static struct provider agent(void)
{
	agent_set_answer_ms(ANSWER_MS);
	return (struct provider){.ops = &agent_ops, .answer = BUF(1024)};
}

static void agent_done(struct provider *p)
{
	for (unsigned i = 0; i < p->connects; i++)
		close(p->ends[i]);
	buf_done(&p->answer);
	agent_health_forget(SANDBOX);
	agent_health_forget(OTHER);
}

static void let_it_answer(struct provider *p)
{
	struct error err = {0};

	assert_int_equal(wire_encode(&p->answer, AGENT_DONE, agent_done_shape,
	                             &(struct agent_done){0}, &err),
	                 0);
}

/* What one listing of processes comes to. */
static enum error_code list_within(struct provider *p, const char *id, int64_t deadline_ms,
                                   struct error *err)
{
	const struct agent_limits limits = {.deadline = deadline_after(deadline_ms)};
	const struct compute_request request = {AGENT_PROCESSES, NULL, NULL, NULL};
	AUTO(agent_reader_done) struct agent_reader r;

	error_clear(err);
	agent_reader_init(&r, p, id, &limits);
	if (agent_reader_ask(&r, &request, err) < 0 || agent_reader_next(&r, err) < 0)
		return err->code;
	return ERROR_NONE;
}

static void miss(struct provider *p, unsigned count)
{
	struct error err = {0};

	for (unsigned i = 0; i < count; i++)
		assert_int_equal(list_within(p, SANDBOX, 5000, &err), ERROR_TIMEOUT);
}

/* Its first frame. */
static enum error_code ask_for(struct provider *p, uint16_t type)
{
	static const char *const args[] = {"true", NULL};
	const struct agent_exec exec = {.args = (const char **)(uintptr_t)args};
	const struct agent_path path = {.path = "/x"};
	const struct agent_limits limits = {.deadline = deadline_after(60000)};
	const struct compute_request request =
	        type == AGENT_EXEC ? (struct compute_request){type, agent_exec_shape, &exec, NULL}
	                           : (struct compute_request){type, agent_path_shape, &path, NULL};
	AUTO(agent_reader_done) struct agent_reader r;
	struct error err = {0};

	agent_reader_init(&r, p, SANDBOX, &limits);
	if (agent_reader_ask(&r, &request, &err) < 0 || agent_reader_next(&r, &err) < 0)
		return err.code;
	return ERROR_NONE;
}

TEST(a_command_and_a_file_that_an_agent_does_not_begin_are_misses)
{
	AUTO(agent_done) struct provider p = agent();

	assert_int_equal(ask_for(&p, AGENT_EXEC), ERROR_TIMEOUT);
	assert_int_equal(ask_for(&p, AGENT_READ), ERROR_TIMEOUT);
	assert_int_equal(ask_for(&p, AGENT_WRITE), ERROR_TIMEOUT);
	assert_true(agent_health_is_unresponsive(SANDBOX));
}

TEST(a_command_that_has_begun_may_take_longer_than_an_agent_has_for_its_answer)
{
	static const char *const args[] = {"true", NULL};
	const struct agent_exec exec = {.args = (const char **)(uintptr_t)args};
	const struct compute_request request = {AGENT_EXEC, agent_exec_shape, &exec, NULL};
	const struct agent_process started = {.label = "", .user = "", .cwd = ""};
	const struct agent_limits limits = {.deadline = deadline_after(3 * ANSWER_MS)};
	AUTO(agent_done) struct provider p = agent();
	AUTO(agent_reader_done) struct agent_reader r;
	struct error err = {0};
	int64_t begun = clock_monotonic_ms();

	assert_int_equal(wire_encode(&p.answer, AGENT_STARTED, agent_process_shape, &started, &err),
	                 0);
	agent_reader_init(&r, &p, SANDBOX, &limits);
	assert_int_equal(agent_reader_ask(&r, &request, &err), 0);
	assert_int_equal(agent_reader_next(&r, &err), 0);
	assert_int_equal(agent_reader_next(&r, &err), -1);
	assert_int_equal(err.code, ERROR_TIMEOUT);
	assert_true(clock_monotonic_ms() - begun >= 3 * ANSWER_MS - 1);
	assert_int_equal(agent_health_count(), 0);
}

TEST(after_three_misses_calls_are_refused_at_once_and_the_error_says_what_to_do)
{
	AUTO(agent_done) struct provider p = agent();
	struct error err = {0};

	miss(&p, AGENT_MISSES_MAX - 1);
	assert_false(agent_health_is_unresponsive(SANDBOX));
	miss(&p, 1);
	assert_true(agent_health_is_unresponsive(SANDBOX));
	int64_t begun = clock_monotonic_ms();
	unsigned connects = p.connects;
	assert_int_equal(list_within(&p, SANDBOX, 5000, &err), ERROR_UNAVAILABLE);
	assert_true(clock_monotonic_ms() - begun < AT_ONCE_MS);
	assert_int_equal(p.connects, connects);
	assert_non_null(strstr(err.text, "the agent of sandbox '" SANDBOX "' has not answered"));
	assert_non_null(strstr(err.text, "stop or delete the sandbox"));
}

TEST(another_sandbox_is_not_refused)
{
	AUTO(agent_done) struct provider p = agent();
	struct error err = {0};

	miss(&p, AGENT_MISSES_MAX);
	assert_int_equal(agent_health_count(), 1);
	let_it_answer(&p);
	assert_int_equal(list_within(&p, OTHER, 5000, &err), ERROR_NONE);
	assert_int_equal(list_within(&p, SANDBOX, 5000, &err), ERROR_UNAVAILABLE);
	assert_false(agent_health_is_unresponsive(OTHER));
}

TEST(one_call_at_a_time_tries_the_agent_and_an_answer_clears_the_mark)
{
	AUTO(agent_done) struct provider p = agent();
	struct error err = {0};

	miss(&p, AGENT_MISSES_MAX);
	(void)usleep((ANSWER_MS + 10) * 1000);
	assert_int_equal(agent_health_admit(SANDBOX, &err), 0);
	assert_int_equal(agent_health_admit(SANDBOX, &err), -1);
	assert_true(agent_health_is_unresponsive(SANDBOX));
	(void)usleep((ANSWER_MS + 10) * 1000);
	/* The first one has given up, and the pause after it has begun. */
	assert_int_equal(agent_health_admit(SANDBOX, &err), -1);
	(void)usleep((ANSWER_MS + 10) * 1000);
	let_it_answer(&p);
	assert_int_equal(list_within(&p, SANDBOX, 5000, &err), ERROR_NONE);
	assert_false(agent_health_is_unresponsive(SANDBOX));
	assert_int_equal(agent_health_count(), 0);
	assert_int_equal(list_within(&p, SANDBOX, 5000, &err), ERROR_NONE);
}

TEST(an_answer_between_begins_the_count_again)
{
	AUTO(agent_done) struct provider p = agent();
	struct error err = {0};

	miss(&p, AGENT_MISSES_MAX - 1);
	let_it_answer(&p);
	assert_int_equal(list_within(&p, SANDBOX, 5000, &err), ERROR_NONE);
	buf_reset(&p.answer);
	miss(&p, AGENT_MISSES_MAX - 1);
	assert_false(agent_health_is_unresponsive(SANDBOX));
}

TEST(a_deadline_of_the_caller_is_no_miss)
{
	AUTO(agent_done) struct provider p = agent();
	struct error err = {0};

	for (unsigned i = 0; i < AGENT_MISSES_MAX + 1; i++)
		assert_int_equal(list_within(&p, SANDBOX, 5, &err), ERROR_TIMEOUT);
	assert_false(agent_health_is_unresponsive(SANDBOX));
}

TEST(calls_that_waited_side_by_side_are_one_miss)
{
	int64_t begun = clock_monotonic_ms() - 1;

	for (unsigned i = 0; i < 10 * AGENT_MISSES_MAX; i++)
		agent_health_missed(SANDBOX, begun);
	assert_false(agent_health_is_unresponsive(SANDBOX));
	agent_health_forget(SANDBOX);
}

TEST(each_mark_is_news_once)
{
	for (unsigned mark = 0; mark < 2; mark++) {
		assert_false(agent_health_take_news(SANDBOX));
		for (unsigned i = 0; i < AGENT_MISSES_MAX; i++)
			agent_health_missed(SANDBOX, INT64_MAX);
		assert_true(agent_health_take_news(SANDBOX));
		agent_health_missed(SANDBOX, INT64_MAX);
		assert_false(agent_health_take_news(SANDBOX));
		agent_health_answered(SANDBOX);
	}
}

TEST(an_ended_sandbox_is_forgotten_and_the_table_is_bounded)
{
	static char ids[AGENT_HEALTH_MAX + 100][ID_SIZE + 1];

	for (unsigned i = 0; i < COUNT_OF(ids); i++) {
		memcpy(ids[i], id_new().text, ID_SIZE);
		for (unsigned k = 0; k < AGENT_MISSES_MAX; k++)
			agent_health_missed(ids[i], INT64_MAX);
	}
	assert_int_equal(agent_health_count(), AGENT_HEALTH_MAX);
	assert_false(agent_health_is_unresponsive(ids[0]));
	assert_true(agent_health_is_unresponsive(ids[COUNT_OF(ids) - 1]));
	for (unsigned i = 0; i < COUNT_OF(ids); i++)
		agent_health_forget(ids[i]);
	assert_int_equal(agent_health_count(), 0);
	agent_health_missed("../x", INT64_MAX);
	assert_false(agent_health_is_unresponsive("../x"));
}

int main(void)
{
	return RUN(CASE(a_command_and_a_file_that_an_agent_does_not_begin_are_misses),
	           CASE(a_command_that_has_begun_may_take_longer_than_an_agent_has_for_its_answer),
	           CASE(after_three_misses_calls_are_refused_at_once_and_the_error_says_what_to_do),
	           CASE(another_sandbox_is_not_refused),
	           CASE(one_call_at_a_time_tries_the_agent_and_an_answer_clears_the_mark),
	           CASE(an_answer_between_begins_the_count_again),
	           CASE(a_deadline_of_the_caller_is_no_miss),
	           CASE(calls_that_waited_side_by_side_are_one_miss), CASE(each_mark_is_news_once),
	           CASE(an_ended_sandbox_is_forgotten_and_the_table_is_bounded));
}

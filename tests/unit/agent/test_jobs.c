/* SPDX-License-Identifier: Apache-2.0 */
#include "box.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "wire/agent_jobs.h"

/* Starts `line` as a job; *ret_boot is in the box's arena. */
static uint64_t start_job(struct box *b, const struct agent_job *job, const char *line,
                          const char **ret_boot)
{
	AUTO_CLOSE int fd = box_connect(b);
	struct agent_exec command = shell(b, line);
	struct agent_process p;
	struct agent_pong pong;

	command.flags |= AGENT_EXEC_DETACH;
	say(b, fd, AGENT_JOB, agent_job_shape, job);
	HEAR(b, fd, AGENT_PONG, agent_pong, &pong);
	*ret_boot = pong.boot_id;
	say(b, fd, AGENT_EXEC, agent_exec_shape, &command);
	HEAR(b, fd, AGENT_STARTED, agent_process, &p);
	HEAR(b, fd, AGENT_DONE, agent_done, &(struct agent_done){0});
	return p.process;
}

static void await(struct box *b, int fd, uint64_t process, const char *boot)
{
	const struct agent_await message = {process, boot};

	say(b, fd, AGENT_AWAIT, agent_await_shape, &message);
}

TEST(a_job_is_found_by_its_id_and_its_end_is_told_to_all_who_await_it)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int first = box_connect(&b);
	AUTO_CLOSE int second = box_connect(&b);
	const struct agent_job job = {.id = "job"};
	const struct agent_find_job wanted = {"job"};
	struct agent_signal term = {.signal = SIGTERM};
	struct agent_process p;
	const char *boot;

	term.process = start_job(&b, &job, "exec sleep 1000", &boot);
	say(&b, first, AGENT_FIND_JOB, agent_find_job_shape, &wanted);
	HEAR(&b, first, AGENT_PROCESS, agent_process, &p);
	HEAR(&b, first, AGENT_DONE, agent_done, &(struct agent_done){0});
	assert_int_equal(p.process, term.process);
	assert_int_equal(p.state, AGENT_PROCESS_RUNNING);
	await(&b, first, term.process, boot);
	await(&b, second, term.process, boot);
	say(&b, first, AGENT_SIGNAL, agent_signal_shape, &term);
	HEAR(&b, first, AGENT_DONE, agent_done, &(struct agent_done){0});
	for (int i = 0; i < 2; i++) {
		int fd = i == 0 ? first : second;

		HEAR(&b, fd, AGENT_PROCESS, agent_process, &p);
		HEAR(&b, fd, AGENT_DONE, agent_done, &(struct agent_done){0});
		assert_int_equal(p.exit_code, 128 + SIGTERM);
	}
	/* And at once to whoever comes later. */
	await(&b, first, term.process, boot);
	HEAR(&b, first, AGENT_PROCESS, agent_process, &p);
	HEAR(&b, first, AGENT_DONE, agent_done, &(struct agent_done){0});
	box_end(&b);
}

TEST(the_process_of_another_boot_or_of_no_job_is_refused)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	const struct agent_find_job wanted = {"nobody"};
	const struct agent_job job = {.id = "job"};
	const char *boot;
	uint64_t process = start_job(&b, &job, "true", &boot);

	await(&b, fd, process, "another");
	assert_int_equal(hear_failed(&b, fd).code, ERROR_CONFLICT);
	await(&b, fd, process + 1, boot);
	assert_int_equal(hear_failed(&b, fd).code, ERROR_NOT_FOUND);
	say(&b, fd, AGENT_FIND_JOB, agent_find_job_shape, &wanted);
	assert_int_equal(hear_failed(&b, fd).code, ERROR_NOT_FOUND);
	box_end(&b);
}

TEST(a_job_that_nobody_was_told_of_is_not_forgotten_for_newer_commands)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	const struct agent_job job = {.id = "job"};
	struct agent_process p;
	const char *boot;
	uint64_t process = start_job(&b, &job, "exit 5", &boot);

	for (int i = 0; i < 80; i++) {
		struct ran r = run_shell(&b, "true");

		ran_done(&r);
	}
	await(&b, fd, process, boot);
	HEAR(&b, fd, AGENT_PROCESS, agent_process, &p);
	assert_int_equal(p.exit_code, 5);
	box_end(&b);
}

/* ---- posts ---- */

static int listen_here(uint32_t *ret_port)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	*ret_port = ntohs(address.sin_port);
	return fd;
}

/* One request, up to the end of its body, answered so. */
static void serve(int listener, const char *answer, struct buf *request)
{
	struct pollfd waits = {.fd = listener, .events = POLLIN};
	AUTO_CLOSE int fd = -1;

	assert_int_equal(poll(&waits, 1, PATIENCE_MS), 1);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fd >= 0);
	while (!strstr(buf_text(request), "\"}")) {
		char *room = buf_reserve(request, 4096);
		ssize_t got = read(fd, room, 4096);

		assert_true(got > 0);
		buf_commit(request, (size_t)got);
	}
	assert_int_equal(write(fd, answer, strlen(answer)), (ssize_t)strlen(answer));
}

TEST(the_end_is_posted_and_again_when_the_server_could_not_take_it)
{
	struct box b = box_start(BOX_HOST);
	struct agent_job job = {.id = "job",
	                        .address = "127.0.0.1",
	                        .host = "here",
	                        .path = "/p",
	                        .token = "t0ken"};
	AUTO_CLOSE int listener = listen_here(&job.port);
	AUTO(buf_done) struct buf first = BUF(1 << 16), second = BUF(1 << 16);
	struct pollfd waits = {.fd = listener, .events = POLLIN};
	const char *boot;

	(void)start_job(&b, &job, "printf ab; exit 3", &boot);
	serve(listener, "HTTP/1.1 503 Busy\r\n\r\n", &first);
	serve(listener, "HTTP/1.1 204 No Content\r\n\r\n", &second);
	assert_string_equal(buf_text(&first), buf_text(&second));
	assert_non_null(strstr(buf_text(&first), "POST /p HTTP/1.1\r\nHost: here\r\n"));
	assert_non_null(strstr(buf_text(&first), "Authorization: Bearer t0ken\r\n"));
	assert_non_null(strstr(buf_text(&first), "{\"status\":\"failed\",\"exitCode\":3,"));
	assert_non_null(strstr(buf_text(&first), "\"stdoutBase64\":\"YWI=\""));
	/* Told is told. */
	assert_int_equal(poll(&waits, 1, 100), 0);
	box_end(&b);
}

TEST(an_answer_that_is_none_and_a_server_that_is_not_there_keep_nobody)
{
	static const char *const answers[] = {"SSH-2.0-x\r\n\r\n\r\n", "HTTP/1.1 2x4 x\r\n\r\n",
	                                      "HTTP/1.1 404 Not Found\r\n\r\n"};
	struct box b = box_start(BOX_HOST);
	struct agent_job job = {.id = "job", .address = "127.0.0.1", .path = "/"};
	struct agent_job nonsense = {.id = "other", .address = "localhost", .port = 1};
	AUTO_CLOSE int listener = listen_here(&job.port);
	const char *boot;

	(void)start_job(&b, &nonsense, "true", &boot);
	(void)start_job(&b, &job, "true", &boot);
	for (size_t i = 0; i < COUNT_OF(answers); i++) {
		AUTO(buf_done) struct buf request = BUF(1 << 16);
		struct ran r;

		serve(listener, answers[i], &request);
		r = run_shell(&b, "exit 2");
		assert_int_equal(r.process.exit_code, 2);
		ran_done(&r);
	}
	box_end(&b);
}

int main(void)
{
	return RUN(CASE(a_job_is_found_by_its_id_and_its_end_is_told_to_all_who_await_it),
	           CASE(the_process_of_another_boot_or_of_no_job_is_refused),
	           CASE(a_job_that_nobody_was_told_of_is_not_forgotten_for_newer_commands),
	           CASE(the_end_is_posted_and_again_when_the_server_could_not_take_it),
	           CASE(an_answer_that_is_none_and_a_server_that_is_not_there_keep_nobody));
}

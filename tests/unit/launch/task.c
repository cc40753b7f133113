/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "isolation/ids.h"
#include "served.h"
#include "wire/task.h"

/* TASK_IMAGE is a shell here. */
static struct launch_task shell(const char *script)
{
	struct launch_task task = {.kind = TASK_IMAGE, .count = 2};

	(void)snprintf(task.words, sizeof(task.words), "-c%c%s", '\0', script);
	return task;
}

static struct launch_answer wait_for(struct served *s, int pidfd)
{
	const struct wire_fds fds = {.fds = {pidfd}, .count = 1};
	struct error err = {0};
	struct wire_fds got;

	assert_int_equal(fd_wait(pidfd, POLLIN, deadline_after(30000), &err), 1);
	return ask_with(s, LAUNCH_WAIT, NULL, &fds, &got);
}

TEST(a_program_has_its_words_and_its_descriptors_and_its_end_is_told)
{
	struct launch_task task =
	        shell("for i in 0 1 2 3 4 5 6 7 8 9; do"
	              " test -e /proc/$$/fd/$i && echo $i >&5; done; echo $0 >&5; exit 7");
	struct wire_fds fds = {.count = 1}, got;
	struct launch_answer answer;
	struct served s;
	int ends[2];
	char text[64] = "";

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	fds.fds[0] = ends[1];
	task.places[0] = 5;
	begin(&s, false);
	answer = ask_with(&s, LAUNCH_TASK, &task, &fds, &got);
	assert_int_equal(answer.err.code, ERROR_NONE);
	assert_int_equal(got.count, 1);
	(void)close(ends[1]);
	answer = wait_for(&s, got.fds[0]);
	assert_int_equal(answer.ended.code, CLD_EXITED);
	assert_int_equal(answer.ended.status, 7);
	assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
	assert_string_equal(text, "0\n1\n2\n5\n--templates\n");
	wire_fds_close(&got);
	(void)close(ends[0]);
	end(&s);
}

/* The places include numbers of the server's own descriptors. */
TEST(a_descriptor_of_a_task_does_not_become_its_program)
{
	struct launch_task task = {.kind = TASK_MEMORY, .places = {SERVED_TASK_FD}};
	struct wire_fds fds = {.count = 1}, got;
	struct launch_answer answer;
	struct served s;

	if (geteuid() != 0)
		skip(); /* a task drops capabilities */
	fds.fds[0] = open("/bin/false", O_RDONLY | O_CLOEXEC);
	assert_true(fds.fds[0] >= 0);
	begin(&s, true);
	answer = ask_with(&s, LAUNCH_TASK, &task, &fds, &got);
	assert_int_equal(answer.err.code, ERROR_NONE);
	answer = wait_for(&s, got.fds[0]);
	assert_int_equal(answer.ended.code, CLD_EXITED);
	assert_int_equal(answer.ended.status, 0);
	wire_fds_close(&got);
	wire_fds_close(&fds);
	end(&s);
}

TEST(a_program_ends_with_its_server)
{
	const struct launch_task task = shell("exec sleep 1000");
	struct wire_fds none = {.count = 0}, got;
	struct launch_answer answer;
	struct error err = {0};
	struct served s;

	begin(&s, true);
	answer = ask_with(&s, LAUNCH_TASK, &task, &none, &got);
	assert_int_equal(answer.err.code, ERROR_NONE);
	end(&s);
	assert_int_equal(fd_wait(got.fds[0], POLLIN, deadline_after(5000), &err), 1);
	wire_fds_close(&got);
}

TEST(counts_numbers_and_words_of_a_task_are_checked)
{
	struct launch_task task = shell("exit 0");
	struct launch_answer answer;
	struct served s;

	begin(&s, false);
	task.kind = TASK_KIND_COUNT;
	answer = ask(&s, LAUNCH_TASK, &task, 0);
	assert_refused(&answer, ERROR_INVALID, "unknown kind");
	task = shell("exit 0");
	task.count = LAUNCH_WORDS_MAX + 1;
	answer = ask(&s, LAUNCH_TASK, &task, 0);
	assert_refused(&answer, ERROR_INVALID, "words");
	task = shell("exit 0");
	task.places[1] = 16;
	answer = ask(&s, LAUNCH_TASK, &task, 2);
	assert_refused(&answer, ERROR_INVALID, "no place");
	task = shell("exit 0");
	memset(task.words, 'x', sizeof(task.words));
	answer = ask(&s, LAUNCH_TASK, &task, 0);
	assert_refused(&answer, ERROR_INVALID, "no end");
	end(&s);
}

TEST(an_agent_has_a_slot_and_the_descriptors_that_it_names)
{
	struct launch_agent agent = {.slot = UINT32_MAX};
	struct launch_answer answer;
	struct served s;

	begin(&s, true);
	answer = ask(&s, LAUNCH_AGENT, &agent, 2);
	assert_refused(&answer, ERROR_INVALID, "malformed");
	agent = (struct launch_agent){.has_group = 1};
	answer = ask(&s, LAUNCH_AGENT, &agent, 2);
	assert_refused(&answer, ERROR_INVALID, "malformed");
	agent = (struct launch_agent){.has_events = 2};
	answer = ask(&s, LAUNCH_AGENT, &agent, 3);
	assert_refused(&answer, ERROR_INVALID, "malformed");
	agent = (struct launch_agent){.slot = 1};
	answer = ask(&s, LAUNCH_AGENT, &agent, 1);
	assert_refused(&answer, ERROR_INVALID, "with 1 descriptors");
	end(&s);
}

/* The channel closes with its server, though an agent waits for its start: the broker waits for the
 * next answer meanwhile, and would wait forever. */
TEST(an_agent_that_waits_does_not_hold_the_channel)
{
	const struct launch_agent agent = {.slot = SLOTS_MAX - 1};
	struct wire_fds fds = {.fds = {STDERR_FILENO, STDERR_FILENO}, .count = 2}, got;
	struct launch_answer answer;
	struct error err = {0};
	struct served s;
	int status;
	char byte;

	if (geteuid() != 0)
		skip(); /* it makes namespaces */
	begin(&s, true);
	answer = ask_with(&s, LAUNCH_AGENT, &agent, &fds, &got);
	assert_int_equal(answer.err.code, ERROR_NONE);
	assert_int_equal(kill(s.pid, SIGKILL), 0);
	assert_int_equal(waitpid(s.pid, NULL, 0), s.pid);
	assert_int_equal(fd_wait(s.fd, POLLIN, deadline_after(5000), &err), 1);
	assert_int_equal(recv(s.fd, &byte, 1, MSG_DONTWAIT), 0);
	wire_fds_close(&got);
	assert_int_equal(waitpid(answer.pid, &status, 0), answer.pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 126);
	(void)close(s.fd);
	unit_remove_folder(s.folder);
}

int main(void)
{
	log_open("unit", LOG_ERROR);
	return RUN(CASE(a_program_has_its_words_and_its_descriptors_and_its_end_is_told),
	           CASE(a_descriptor_of_a_task_does_not_become_its_program),
	           CASE(a_program_ends_with_its_server),
	           CASE(counts_numbers_and_words_of_a_task_are_checked),
	           CASE(an_agent_has_a_slot_and_the_descriptors_that_it_names),
	           CASE(an_agent_that_waits_does_not_hold_the_channel));
}

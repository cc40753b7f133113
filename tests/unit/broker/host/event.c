/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "broker/host/child.h"
#include "unit.h"

static int status_seen;

static void on_end(struct broker_child *child, int status)
{
	status_seen = status;
	child->events->stopping = true;
}

/* What is logged until the job has ended. */
static const char *run_job(int (*run)(void *context), int context)
{
	static char line[1024];
	struct events events;
	struct broker_child child = {.on_end = on_end};
	struct error err = {0};
	int ends[2], saved = dup(STDERR_FILENO);
	ssize_t got;

	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	(void)dup2(ends[1], STDERR_FILENO);
	assert_int_equal(events_open(&events, &err), 0);
	assert_int_equal(child_start(&events, &child, run, &context, &err), 0);
	assert_int_equal(events_run(&events, &err), 0);
	events_close(&events);
	(void)dup2(saved, STDERR_FILENO);
	got = read(ends[0], line, sizeof(line) - 1);
	line[got > 0 ? got : 0] = '\0';
	(void)close(saved);
	(void)close(ends[0]);
	(void)close(ends[1]);
	return line;
}

static int die(void *context)
{
	const int *signal = context;

	(void)raise(*signal);
	return 0;
}

static int end_with(void *context)
{
	const int *status = context;

	return *status;
}

TEST(a_child_that_is_killed_is_told_of_in_one_line)
{
	const char *line;

	(void)setenv("JOURNAL_STREAM", "1:2", 1);
	log_open("unit", LOG_INFO);
	line = run_job(die, SIGKILL);
	assert_int_equal(status_seen, -1);
	assert_non_null(strstr(line, "error unit: a child of the broker was killed pid="));
	assert_non_null(strstr(line, " signal=9\n"));
	assert_ptr_equal(strchr(line, '\n'), strrchr(line, '\n'));
}

TEST(one_that_ends_by_itself_tells_why_itself)
{
	assert_string_equal(run_job(end_with, 0), "");
	assert_int_equal(status_seen, 0);
	assert_string_equal(run_job(end_with, 1), "");
	assert_int_equal(status_seen, -1);
}

int main(void)
{
	return RUN(CASE(a_child_that_is_killed_is_told_of_in_one_line),
	           CASE(one_that_ends_by_itself_tells_why_itself));
}

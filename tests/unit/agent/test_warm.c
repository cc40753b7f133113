/* SPDX-License-Identifier: Apache-2.0 */
/* What must be so without a sandbox; tests/system/test_73_warm.py has the rest. */
#include "box.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "wire/agent_warm.h"

static void wish(struct box *b, int fd, const char **imports)
{
	const char *none[] = {NULL};
	const struct agent_warm warm = {.language = "python", .imports = imports, .env = none};

	say(b, fd, AGENT_WARM, agent_warm_shape, &warm);
	(void)hear_done(b, fd);
}

static struct ran run_code(struct box *b, int fd, const char *code)
{
	const char *args[] = {"python3", "-c", code, NULL}, *none[] = {NULL};
	const struct agent_exec command = {
	        .args = args, .env = none, .cwd = "/tmp", .flags = AGENT_EXEC_WARM};

	return exec(b, fd, &command);
}

static bool was_warm(const struct ran *r)
{
	return (r->process.flags & AGENT_EXEC_WARM) != 0;
}

/* Until it is. */
static void wait_until_warm(struct box *b, int fd)
{
	int64_t deadline = deadline_in(PATIENCE_MS);
	bool warm = false;

	while (!warm) {
		struct ran r = run_code(b, fd, "pass");

		warm = was_warm(&r);
		ran_done(&r);
		assert_true(warm || clock_monotonic_ms() < deadline);
	}
}

/* Its interpreter goes with it: an agent that stops waits for all that is below it. */
static void end(struct box *b)
{
	int status;

	assert_int_equal(kill(b->pid, SIGTERM), 0);
	assert_int_equal(waitpid(b->pid, &status, 0), b->pid);
	assert_int_equal(status, 0);
	box_forget(b);
}

static bool has_python(void)
{
	return access("/usr/bin/python3", X_OK) == 0 || access("/usr/local/bin/python3", X_OK) == 0;
}

#define NEEDS_PYTHON()                                                                             \
	if (getuid() != 0 || !has_python())                                                        \
	skip()

TEST(code_runs_in_an_interpreter_that_was_there_before)
{
	NEEDS_PYTHON();
	struct box b = box_start(BOX_PLAIN);
	AUTO_CLOSE int fd = box_connect(&b);
	const char *imports[] = {"email.message", NULL};
	struct ran r;

	wish(&b, fd, imports);
	wait_until_warm(&b, fd);
	r = run_code(&b, fd,
	             "import os,sys\nprint('email.message' in sys.modules, os.getcwd())\n"
	             "sys.exit(5)");
	assert_true(was_warm(&r));
	assert_string_equal(buf_text(&r.out[0]), "True /tmp\n");
	assert_int_equal(r.process.exit_code, 5);
	ran_done(&r);
	end(&b);
}

TEST(a_signal_that_ends_warm_code_is_told)
{
	NEEDS_PYTHON();
	struct box b = box_start(BOX_PLAIN);
	AUTO_CLOSE int fd = box_connect(&b);
	const char *none[] = {NULL};
	struct ran r;

	wish(&b, fd, none);
	wait_until_warm(&b, fd);
	r = run_code(&b, fd, "import os\nos.kill(os.getpid(), 11)");
	assert_true(was_warm(&r));
	assert_int_equal(r.process.signal, SIGSEGV);
	assert_int_equal(r.process.exit_code, 128 + SIGSEGV);
	ran_done(&r);
	end(&b);
}

TEST(a_wish_that_cannot_be_met_says_why)
{
	struct box b = box_start(BOX_PLAIN);
	AUTO_CLOSE int fd = box_connect(&b);
	const char *none[] = {NULL}, *bad[] = {"os;import x", NULL};
	struct agent_warm warm = {.language = "cobol", .imports = none, .env = none};
	struct agent_failed failed;

	say(&b, fd, AGENT_WARM, agent_warm_shape, &warm);
	failed = hear_failed(&b, fd);
	assert_int_equal(failed.code, ERROR_UNSUPPORTED);
	assert_string_equal(failed.text, "no interpreter of 'cobol' can be kept");
	warm = (struct agent_warm){.language = "python", .imports = bad, .env = none};
	say(&b, fd, AGENT_WARM, agent_warm_shape, &warm);
	failed = hear_failed(&b, fd);
	assert_int_equal(failed.code, ERROR_INVALID);
	assert_string_equal(failed.text, "'os;import x' is no name of a module");
	box_end(&b);
}

TEST(a_sandbox_without_namespaces_keeps_none)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	const char *none[] = {NULL};
	const struct agent_warm warm = {.language = "python", .imports = none, .env = none};

	say(&b, fd, AGENT_WARM, agent_warm_shape, &warm);
	assert_int_equal(hear_failed(&b, fd).code, ERROR_UNSUPPORTED);
	box_end(&b);
}

TEST(an_import_that_fails_leaves_calls_as_they_were)
{
	NEEDS_PYTHON();
	struct box b = box_start(BOX_PLAIN);
	AUTO_CLOSE int fd = box_connect(&b);
	const char *imports[] = {"no_such_module", NULL};
	struct ran r;

	wish(&b, fd, imports);
	for (int i = 0; i < 5; i++) {
		r = run_code(&b, fd, "print(6 * 7)");
		assert_false(was_warm(&r));
		assert_string_equal(buf_text(&r.out[0]), "42\n");
		ran_done(&r);
	}
	end(&b);
}

TEST(a_timeout_ends_warm_code_and_what_it_started)
{
	NEEDS_PYTHON();
	struct box b = box_start(BOX_PLAIN);
	AUTO_CLOSE int fd = box_connect(&b);
	const char *none[] = {NULL};
	char code[512];
	pid_t left;

	wish(&b, fd, none);
	wait_until_warm(&b, fd);
	/* A daemon: its parents have ended, its session is its own. */
	(void)snprintf(
	        code, sizeof(code),
	        "import os,time\nif os.fork() == 0:\n os.setsid()\n if os.fork(): os._exit(0)\n"
	        " open('%s.new','w').write('%%d\\n' %% os.getpid())\n os.rename('%s.new','%s')\n"
	        " time.sleep(600)\ntime.sleep(600)",
	        box_path(&b, "pid"), box_path(&b, "pid"), box_path(&b, "pid"));
	const char *args[] = {"python3", "-c", code, NULL};
	const struct agent_exec command = {
	        .args = args, .env = none, .cwd = "/", .flags = AGENT_EXEC_WARM, .timeout_ms = 500};
	(void)exec_start(&b, fd, &command);
	left = wait_for_number(&b, "pid");
	struct ran r = exec_finish(&b, fd);
	assert_true(was_warm(&r));
	assert_int_equal(r.process.timed_out, 1);
	assert_int_equal(r.process.signal, SIGKILL);
	wait_until_dead(left);
	ran_done(&r);
	end(&b);
}

int main(void)
{
	return RUN(CASE(code_runs_in_an_interpreter_that_was_there_before),
	           CASE(a_signal_that_ends_warm_code_is_told),
	           CASE(a_wish_that_cannot_be_met_says_why),
	           CASE(a_sandbox_without_namespaces_keeps_none),
	           CASE(an_import_that_fails_leaves_calls_as_they_were),
	           CASE(a_timeout_ends_warm_code_and_what_it_started));
}

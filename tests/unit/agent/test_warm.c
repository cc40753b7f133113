/* SPDX-License-Identifier: Apache-2.0 */
/* What must be so without a sandbox; tests/system/test_warm.py has the rest. */
#include "box.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "wire/agent_warm.h"

static void wish_for(struct box *b, int fd, const char *language, const char **imports)
{
	const char *none[] = {NULL};
	const struct agent_warm warm = {.language = language, .imports = imports, .env = none};

	say(b, fd, AGENT_WARM, agent_warm_shape, &warm);
	(void)hear_done(b, fd);
}

static void wish(struct box *b, int fd, const char **imports)
{
	wish_for(b, fd, "python", imports);
}

static struct ran run_with(struct box *b, int fd, const char **args)
{
	const char *none[] = {NULL};
	const struct agent_exec command = {
	        .args = args, .env = none, .cwd = "/tmp", .flags = AGENT_EXEC_WARM};

	return exec(b, fd, &command);
}

static struct ran run_code(struct box *b, int fd, const char *code)
{
	const char *args[] = {"python3", "-c", code, NULL};

	return run_with(b, fd, args);
}

static struct ran run_script(struct box *b, int fd, const char *code)
{
	const char *args[] = {"node", "-e", code, NULL};

	return run_with(b, fd, args);
}

static bool was_warm(const struct ran *r)
{
	return (r->process.flags & AGENT_EXEC_WARM) != 0;
}

/* Until it is. */
static void wait_until_warm(struct box *b, int fd)
{
	int64_t deadline = deadline_after(PATIENCE_MS);
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

/* Each runs one call only: this one is to be repeated until one was there for it. */
static struct ran run_script_warm(struct box *b, int fd, const char *code)
{
	int64_t deadline = deadline_after(PATIENCE_MS);
	struct ran r = run_script(b, fd, code);

	while (!was_warm(&r)) {
		ran_done(&r);
		assert_true(clock_monotonic_ms() < deadline);
		r = run_script(b, fd, code);
	}
	return r;
}

#define NEEDS_NODE()                                                                               \
	if (getuid() != 0 || access("/usr/bin/node", X_OK) < 0)                                    \
	skip()
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

TEST(a_script_runs_in_a_node_that_was_started_before)
{
	NEEDS_NODE();
	struct box b = box_start(BOX_PLAIN);
	AUTO_CLOSE int fd = box_connect(&b);
	const char *imports[] = {"http", NULL};
	struct ran r;

	wish_for(&b, fd, "javascript", imports);
	r = run_script_warm(&b, fd,
	                    "console.log(process.cwd(), process.execArgv[0], process.argv.length)\n"
	                    "console.error('e'); process.exitCode = 5");
	assert_string_equal(buf_text(&r.out[0]), "/tmp -e 1\n");
	assert_string_equal(buf_text(&r.out[1]), "e\n");
	assert_int_equal(r.process.exit_code, 5);
	ran_done(&r);
	end(&b);
}

TEST(a_signal_that_ends_a_warm_script_is_told)
{
	NEEDS_NODE();
	struct box b = box_start(BOX_PLAIN);
	AUTO_CLOSE int fd = box_connect(&b);
	const char *none[] = {NULL};
	struct ran r;

	wish_for(&b, fd, "javascript", none);
	r = run_script_warm(&b, fd, "process.kill(process.pid, 'SIGKILL')");
	assert_int_equal(r.process.signal, SIGKILL);
	ran_done(&r);
	end(&b);
}

TEST(what_is_no_script_is_executed)
{
	NEEDS_NODE();
	struct box b = box_start(BOX_PLAIN);
	AUTO_CLOSE int fd = box_connect(&b);
	const char *none[] = {NULL};
	struct ran r;

	wish_for(&b, fd, "javascript", none);
	r = run_script_warm(&b, fd, "1");
	ran_done(&r);
	for (int i = 0; i < 3; i++) {
		r = run_script(&b, fd, "console.log('a'");
		assert_false(was_warm(&r));
		assert_int_equal(r.process.exit_code, 1);
		assert_non_null(strstr(buf_text(&r.out[1]), "SyntaxError"));
		ran_done(&r);
	}
	end(&b);
}

TEST(two_languages_are_kept_at_once_and_each_gets_its_own_code)
{
	NEEDS_NODE();
	NEEDS_PYTHON();
	struct box b = box_start(BOX_PLAIN);
	AUTO_CLOSE int fd = box_connect(&b);
	const char *none[] = {NULL};
	struct ran r;

	wish_for(&b, fd, "javascript", none);
	wish_for(&b, fd, "python", none);
	wait_until_warm(&b, fd);
	r = run_script_warm(&b, fd, "console.log(1)");
	assert_string_equal(buf_text(&r.out[0]), "1\n");
	ran_done(&r);
	/* Asked for again, both stay. */
	wish_for(&b, fd, "python", none);
	r = run_code(&b, fd, "print(2)");
	assert_string_equal(buf_text(&r.out[0]), "2\n");
	ran_done(&r);
	end(&b);
}

TEST(a_node_that_dies_while_it_waits_is_started_again)
{
	NEEDS_NODE();
	struct box b = box_start(BOX_PLAIN);
	AUTO_CLOSE int fd = box_connect(&b);
	const char *none[] = {NULL};
	char line[128];
	struct ran r;

	wish_for(&b, fd, "javascript", none);
	r = run_script_warm(&b, fd, "1");
	ran_done(&r);
	/* Below this agent only: others may run beside us. */
	(void)snprintf(line, sizeof(line),
	               "for p in $(pgrep -P %d); do pkill -9 -P $p -f atoll[_]warm; done; true",
	               (int)b.pid);
	r = run_shell(&b, line);
	assert_int_equal(r.process.exit_code, 0);
	ran_done(&r);
	r = run_script_warm(&b, fd, "console.log('on')");
	assert_string_equal(buf_text(&r.out[0]), "on\n");
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
	           CASE(a_timeout_ends_warm_code_and_what_it_started),
	           CASE(a_script_runs_in_a_node_that_was_started_before),
	           CASE(a_signal_that_ends_a_warm_script_is_told),
	           CASE(what_is_no_script_is_executed),
	           CASE(two_languages_are_kept_at_once_and_each_gets_its_own_code),
	           CASE(a_node_that_dies_while_it_waits_is_started_again));
}

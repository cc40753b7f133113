/* SPDX-License-Identifier: Apache-2.0 */
#include "box.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "wire/agent_secrets.h"

#define RACES 100

static struct agent_exec terminal(struct box *b, const char *line)
{
	struct agent_exec command = shell(b, line);

	command.flags = AGENT_EXEC_TTY | AGENT_EXEC_STDIN;
	command.rows = 40;
	command.columns = 100;
	return command;
}

/* Collects output until `text` is in it. */
static void hear_text(struct box *b, int fd, const char *text)
{
	AUTO(buf_done) struct buf all = BUF(1 << 20);
	struct agent_output output;

	while (!strstr(buf_text(&all), text)) {
		HEAR(b, fd, AGENT_OUTPUT, agent_output, &output);
		assert_int_equal(output.stream, AGENT_STDOUT);
		buf_add_span(&all, output.bytes);
	}
}

TEST(a_command_can_have_a_terminal_of_the_wanted_size)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	struct agent_exec command =
	        terminal(&b, "test -t 0 && test -t 1 && test -t 2 && stty size; echo $TERM >&2");
	struct ran r = exec(&b, fd, &command);

	assert_string_equal(buf_text(&r.out[0]), "40 100\r\nxterm-256color\r\n");
	assert_int_equal(r.out[1].size, 0);
	assert_int_equal(r.process.exit_code, 0);
	ran_done(&r);
	box_end(&b);
}

TEST(a_resize_reaches_the_program)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	struct agent_exec command = terminal(
	        &b, "trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.01; done");
	struct ran r;

	(void)exec_start(&b, fd, &command);
	hear_text(&b, fd, "ready");
	say(&b, fd, AGENT_RESIZE, agent_resize_shape, &(struct agent_resize){12, 34});
	r = exec_finish(&b, fd);
	assert_non_null(strstr(buf_text(&r.out[0]), "12 34"));
	ran_done(&r);
	box_end(&b);
}

TEST(what_is_typed_arrives_and_control_c_interrupts)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	struct agent_exec command = terminal(
	        &b, "read line; echo \"got $line\"; trap 'echo interrupted; exit 9' INT; echo now; "
	            "while :; do sleep 0.01; done");
	struct ran r;

	(void)exec_start(&b, fd, &command);
	say_raw(&b, fd, AGENT_STDIN, SPAN("typed\n"));
	hear_text(&b, fd, "now"); /* the trap is set */
	say_raw(&b, fd, AGENT_STDIN, SPAN("\x03"));
	r = exec_finish(&b, fd);
	assert_non_null(strstr(buf_text(&r.out[0]), "interrupted"));
	assert_int_equal(r.process.exit_code, 9);
	ran_done(&r);
	box_end(&b);
}

TEST(the_end_of_input_is_typed_as_control_d)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	struct agent_exec command = terminal(&b, "stty -echo; echo ready; cat; echo done");
	struct ran r;

	(void)exec_start(&b, fd, &command);
	hear_text(&b, fd, "ready");
	say_raw(&b, fd, AGENT_STDIN, SPAN("line\n"));
	say(&b, fd, AGENT_STDIN_END, NULL, NULL);
	r = exec_finish(&b, fd);
	assert_non_null(strstr(buf_text(&r.out[0]), "line\r\ndone\r\n"));
	ran_done(&r);
	box_end(&b);
}

TEST(a_command_may_close_its_terminal_before_it_ends)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	struct agent_exec command = terminal(
	        &b, "exec <&- >&- 2>&-; echo 1 > closed; until test -e go; do sleep 0.01; done; "
	            "exit 7");
	struct ran r;

	(void)exec_start(&b, fd, &command);
	(void)wait_for_number(&b, "closed");
	say_raw(&b, fd, AGENT_STDIN, SPAN("nobody reads this\n"));
	hear_text(&b, fd, "nobody reads this\r\n"); /* but the terminal is there to echo it */
	box_put(&b, "go", "");
	r = exec_finish(&b, fd);
	assert_int_equal(r.process.exit_code, 7);
	ran_done(&r);
	box_end(&b);
}

/* GNU cat closes its streams just before it exits: each run is a race. */
TEST(the_end_of_input_is_never_taken_for_a_hangup)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	struct agent_exec command = terminal(&b, "exec cat");

	for (int i = 0; i < RACES; i++) {
		struct ran r;

		(void)exec_start(&b, fd, &command);
		say(&b, fd, AGENT_STDIN_END, NULL, NULL);
		r = exec_finish(&b, fd);
		assert_int_equal(r.process.exit_code, 0);
		ran_done(&r);
	}
	box_end(&b);
}

TEST(each_terminal_is_a_session_of_its_own)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b), other = box_connect(&b);
	struct agent_exec victim = terminal(&b, "tty > victim; echo 1 > ready; exec sleep 1000");
	/* TIOCSTI into a terminal that is not one's own. */
	struct agent_exec attack = terminal(
	        &b, "exec perl -e 'open(my $t, \"+<\", $ARGV[0]) or exit 3; my $c = \"x\"; "
	            "exit(ioctl($t, 0x5412, $c) ? 0 : 4)' \"$(cat victim)\"");
	struct ran r;

	victim.flags |= AGENT_EXEC_END_ON_CLOSE;
	(void)exec_start(&b, fd, &victim);
	(void)wait_for_number(&b, "ready");
	r = exec(&b, other, &attack);
	if (getuid() == 0 && r.process.exit_code == 0)
		print_message("root with CAP_SYS_ADMIN may inject; a sandbox's root has not\n");
	else
		assert_int_equal(r.process.exit_code, 4);
	ran_done(&r);
	auto_close(&fd);
	fd = -1;
	box_end(&b);
}

TEST(a_viewer_that_takes_nothing_does_not_hold_a_terminal_back)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b), stalled = box_connect(&b);
	struct agent_exec command = terminal(
	        &b, "read go; head -c 8000000 /dev/zero | tr '\\0' x; echo 1 > written.tmp; "
	            "mv written.tmp written; echo the end; exec sleep 1000");
	struct agent_attach from_start = {.until_end = 1};
	struct agent_process process;
	struct agent_output output;
	uint64_t next = 0, jumped = 0;
	char last = 0;

	command.flags |= AGENT_EXEC_DETACH;
	say(&b, fd, AGENT_EXEC, agent_exec_shape, &command);
	HEAR(&b, fd, AGENT_STARTED, agent_process, &process);
	(void)hear_done(&b, fd);
	from_start.process = process.process;
	say(&b, stalled, AGENT_ATTACH, agent_attach_shape, &from_start);
	HEAR(&b, stalled, AGENT_STARTED, agent_process, &process);
	say_raw(&b, stalled, AGENT_STDIN, SPAN("go\n"));
	assert_int_equal(wait_for_number(&b, "written"), 1);
	/* It goes on where the ring begins, and is a reader like others again. */
	while (last != 'd') {
		HEAR(&b, stalled, AGENT_OUTPUT, agent_output, &output);
		jumped += output.offset - next;
		next = output.offset + output.bytes.size;
		for (size_t i = 0; i < output.bytes.size && last != 'd'; i++)
			last = output.bytes.data[i];
	}
	assert_true(jumped > 1000000);
	say(&b, fd, AGENT_SIGNAL, agent_signal_shape,
	    &(struct agent_signal){.process = process.process, .signal = SIGKILL, .whole_tree = 1});
	(void)hear_done(&b, fd);
	box_end(&b);
}

TEST(a_terminal_that_closes_hangs_up_its_program)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	struct agent_exec command = terminal(&b, "sh -c 'echo inner; exec sleep 1000' & exit 0");
	struct ran r = exec(&b, fd, &command);

	/* The session's leader has gone: the kernel sends SIGHUP to the rest. */
	assert_int_equal(r.process.exit_code, 0);
	ran_done(&r);
	box_end(&b);
}

#define SECRET "hunter2-hunter2"

static struct ran run_secret(struct box *b, const char *line)
{
	AUTO_CLOSE int fd = box_connect(b);
	struct agent_exec command = terminal(b, line);
	struct agent_process started;

	command.secrets = (const char *[]){"PGPASSWORD=" SECRET, NULL};
	say(b, fd, AGENT_EXEC, agent_secret_exec_shape, &command);
	HEAR(b, fd, AGENT_STARTED, agent_process, &started);
	assert_true(started.flags & AGENT_EXEC_SECRET);
	return exec_finish(b, fd);
}

TEST(a_terminal_s_secret_is_in_its_environment_and_masked_in_its_output)
{
	struct box b = box_start(BOX_HOST);
	struct ran r = run_secret(&b, "test \"$PGPASSWORD\" = " SECRET
	                              " && echo same; echo a${PGPASSWORD}b$PGPASSWORD; "
	                              "echo hunter2; printf hunter2-h");

	assert_string_equal(buf_text(&r.out[0]),
	                    "same\r\na***************b***************\r\nhunter2\r\n*********");
	ran_done(&r);
	box_end(&b);
}

TEST(a_secret_that_comes_in_pieces_is_masked)
{
	struct box b = box_start(BOX_HOST);
	struct ran r = run_secret(&b, "rest=$PGPASSWORD; while [ -n \"$rest\" ]; do "
	                              "next=${rest#?}; printf %s \"${rest%\"$next\"}\"; "
	                              "sleep 0.02; rest=$next; done; echo .");

	/* Three bytes pass before it can be known. */
	assert_string_equal(buf_text(&r.out[0]), "hun************.\r\n");
	ran_done(&r);
	box_end(&b);
}

TEST(much_output_with_a_secret_stays_whole)
{
	struct box b = box_start(BOX_HOST);
	struct ran r = run_secret(&b, "i=0; while [ $i -lt 3000 ]; do echo \"$i $PGPASSWORD "
	                              "hunter2 hunter2-hunter\"; i=$((i+1)); done");
	unsigned lines = 0;

	/* A read may end within the first three bytes of a value. */
	for (const char *at = buf_text(&r.out[0]);
	     (at = strstr(at, "************ hunter2 hunter2-hunter\r\n")); at++)
		lines++;
	assert_int_equal(lines, 3000);
	assert_int_equal(r.out[0].size,
	                 10 * 1 + 90 * 2 + 900 * 3 + 2000 * 4 +
	                         3000 * strlen(" " SECRET " hunter2 hunter2-hunter\r\n"));
	assert_null(strstr(buf_text(&r.out[0]), SECRET));
	ran_done(&r);
	box_end(&b);
}

/* A sanitizer reserves terabytes. */
#define MAPPING_MAX (64ul << 20)

/* How often the agent's memory has the text. */
static unsigned count_in_memory(const struct box *b, const char *text)
{
	static char piece[1 << 20];
	char path[64], line[512];
	unsigned long from, end;
	unsigned count = 0;
	char access;

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", b->pid);
	AUTO_CLOSE int memory = open(path, O_RDONLY | O_CLOEXEC);
	(void)snprintf(path, sizeof(path), "/proc/%d/maps", b->pid);
	FILE *maps = fopen(path, "re");

	assert_true(memory >= 0 && maps);
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %c", &from, &end, &access) != 3 || access != 'r' ||
		    end - from > MAPPING_MAX)
			continue;
		for (size_t step = sizeof(piece) - 4096; from < end; from += step) {
			size_t wanted = end - from < sizeof(piece) ? end - from : sizeof(piece);
			ssize_t got = pread(memory, piece, wanted, (off_t)from);

			for (const char *at = piece, *last = piece + (got > 0 ? got : 0);
			     (at = memmem(at, (size_t)(last - at), text, strlen(text))); at++)
				count++;
		}
	}
	(void)fclose(maps);
	return count;
}

TEST(a_secret_is_in_the_agent_s_memory_only_while_its_process_runs)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	struct agent_exec command = terminal(&b, "read line; echo $PGPASSWORD");
	struct agent_process started;
	char value[64], entry[80];

	/* Made after the agent was forked, so that it has it from the message alone. */
	(void)snprintf(value, sizeof(value), "%lx-%lx-of-the-secret",
	               (unsigned long)clock_unix_ms(), (unsigned long)getpid());
	(void)snprintf(entry, sizeof(entry), "PGPASSWORD=%s", value);
	command.secrets = (const char *[]){entry, NULL};
	say(&b, fd, AGENT_EXEC, agent_secret_exec_shape, &command);
	HEAR(&b, fd, AGENT_STARTED, agent_process, &started);
	/* The mask has it, and nothing else. */
	assert_int_equal(count_in_memory(&b, value), 1);
	say_raw(&b, fd, AGENT_STDIN, SPAN("\n"));
	struct ran r = exec_finish(&b, fd);

	assert_null(strstr(buf_text(&r.out[0]), value));
	assert_int_equal(count_in_memory(&b, value), 0);
	ran_done(&r);
	box_end(&b);
}

TEST(only_a_terminal_has_secrets_of_a_fair_size)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	struct agent_exec command = terminal(&b, "true");

	command.secrets = (const char *[]){"A=short", NULL};
	say(&b, fd, AGENT_EXEC, agent_secret_exec_shape, &command);
	assert_int_equal(hear_failed(&b, fd).code, ERROR_INVALID);
	command.secrets = (const char *[]){"A=" SECRET, NULL};
	command.flags = 0;
	say(&b, fd, AGENT_EXEC, agent_secret_exec_shape, &command);
	assert_int_equal(hear_failed(&b, fd).code, ERROR_INVALID);
	box_end(&b);
}

int main(void)
{
	return RUN(CASE(a_command_can_have_a_terminal_of_the_wanted_size),
	           CASE(a_resize_reaches_the_program),
	           CASE(what_is_typed_arrives_and_control_c_interrupts),
	           CASE(the_end_of_input_is_typed_as_control_d),
	           CASE(a_command_may_close_its_terminal_before_it_ends),
	           CASE(the_end_of_input_is_never_taken_for_a_hangup),
	           CASE(each_terminal_is_a_session_of_its_own),
	           CASE(a_viewer_that_takes_nothing_does_not_hold_a_terminal_back),
	           CASE(a_terminal_that_closes_hangs_up_its_program),
	           CASE(a_terminal_s_secret_is_in_its_environment_and_masked_in_its_output),
	           CASE(a_secret_that_comes_in_pieces_is_masked),
	           CASE(much_output_with_a_secret_stays_whole),
	           CASE(a_secret_is_in_the_agent_s_memory_only_while_its_process_runs),
	           CASE(only_a_terminal_has_secrets_of_a_fair_size));
}

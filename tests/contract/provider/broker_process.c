/* SPDX-License-Identifier: Apache-2.0 */
#include "broker_process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define START_MS 20000

const char *broker_process_reason(const struct broker_programs *programs)
{
	if (!programs->broker || !programs->agent || !programs->image || !programs->task ||
	    !programs->launch)
		return "the programs were not named on the command line";
	if (geteuid() != 0)
		return "the broker needs root";
	return NULL;
}

static void run_broker(const struct broker_process *b)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Some of what an operator's environment holds, none of which may be seen inside. */
	(void)setenv("DATABASE_URL", "leaked-secret-1", 1);
	(void)setenv("JWT_SECRET", "leaked-secret-2", 1);
	(void)setenv("E2B_API_KEY", "leaked-secret-3", 1);
	(void)setenv("DAYTONA_API_KEY", "leaked-secret-4", 1);
	(void)setenv("AWS_SECRET_ACCESS_KEY", "leaked-secret-5", 1);
	(void)setenv("COMPOSIO_API_KEY", "leaked-secret-6", 1);
	(void)setenv("GITHUB_CLIENT_SECRET", "leaked-secret-7", 1);
	(void)setenv("ANYTHING_ELSE", "leaked-secret-8", 1);
	(void)execl(b->programs->launch, "atoll-launch", b->data, b->programs->agent,
	            b->programs->task, b->programs->image, b->programs->broker, "--data", b->data,
	            "--agent", b->programs->agent, "--cells", "0", NULL);
	_exit(127);
}

/* The socket appears in DATA/run; the folder may not be there yet. */
static bool wait_for_socket(const struct broker_process *b)
{
	int64_t deadline = deadline_after(START_MS);

	while (access(b->socket, F_OK) < 0) {
		if (deadline_poll_ms(deadline) == 0 || waitpid(b->pid, NULL, WNOHANG) == b->pid)
			return false;
		(void)poll(NULL, 0, 5);
	}
	return true;
}

bool broker_process_restart(struct broker_process *b)
{
	(void)unlink(b->socket);
	b->pid = fork();
	if (b->pid == 0)
		run_broker(b);
	return b->pid > 0 && wait_for_socket(b);
}

bool broker_process_start(struct broker_process *b, const struct broker_programs *programs)
{
	*b = (struct broker_process){.programs = programs, .data = "/var/tmp/atoll-test-XXXXXX"};
	if (!mkdtemp(b->data) || chmod(b->data, 0755) < 0)
		return false;
	(void)snprintf(b->socket, sizeof(b->socket), "%s/run/broker.sock", b->data);
	return broker_process_restart(b);
}

static void end(struct broker_process *b, int signo)
{
	if (b->pid <= 0)
		return;
	(void)kill(b->pid, signo);
	while (waitpid(b->pid, NULL, 0) < 0 && errno == EINTR)
		;
	b->pid = 0;
}

void broker_process_kill(struct broker_process *b)
{
	end(b, SIGKILL);
}

void broker_process_stop(struct broker_process *b)
{
	char command[128];

	end(b, SIGTERM);
	(void)snprintf(command, sizeof(command), "rm -rf --one-file-system %s", b->data);
	(void)!system(command);
}

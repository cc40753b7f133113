/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal of a process: its size, foreground group and idle time. */
#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/process.h"
#include "agent/tree.h"
#include "base/clock.h"

#define IDLE_MS_MAX ((uint64_t)366 * 24 * 3600 * 1000)
#define HANG_UP_MS 2000 /* from SIGHUP to SIGKILL */
#define SIGNAL_MAX 64

static bool has_terminal(const struct process *p)
{
	return p->pty >= 0 && p->out[0].watch.fd >= 0;
}

/* The sandbox chooses the group: refuses the agent's own group and all processes. */
static pid_t foreground_of(const struct process *p)
{
	pid_t group = has_terminal(p) ? tcgetpgrp(p->pty) : 0;

	return group > 1 && group != getpgrp() ? group : 0;
}

/* A shell leads its session, so that its own group has its number. */
static bool is_own(const struct process *p, pid_t group)
{
	return group == 0 || (p->reaper && group == reaper_command(p->reaper));
}

static int signal_foreground(struct process *p, uint32_t signo, struct error *err)
{
	pid_t group = foreground_of(p);

	if (signo > SIGNAL_MAX)
		return FAIL(err, ERROR_INVALID, "no signal has the number %u", signo);
	if (is_own(p, group))
		return 0;
	if (kill(-group, (int)signo) < 0 && errno != ESRCH)
		return FAIL_ERRNO(err, "signal process group %d", (int)group);
	return 0;
}

void process_touch(struct process *p)
{
	if (p->idle.ms)
		p->idle.at = deadline_after(p->idle.ms);
}

int process_set_terminal(struct process *p, const struct agent_terminal *change, struct error *err)
{
	if (p->pty < 0)
		return FAIL(err, ERROR_CONFLICT, "process %lu has no terminal",
		            (unsigned long)p->info.process);
	if (change->idle_ms > IDLE_MS_MAX)
		return FAIL(err, ERROR_INVALID, "a terminal idle for longer than a year");
	process_look_for_start(p);
	if (change->rows && change->columns &&
	    process_resize(p, &(struct agent_resize){change->rows, change->columns}, err) < 0)
		return -1;
	if (change->signal && signal_foreground(p, change->signal, err) < 0)
		return -1;
	if (change->idle_ms && p->reaper) {
		p->idle.ms = (int64_t)change->idle_ms;
		process_touch(p);
	}
	return 0;
}

struct agent_terminal_state process_terminal(const struct process *p)
{
	struct winsize size = {.ws_row = 0};
	pid_t group = foreground_of(p);
	struct agent_terminal_state state = {
	        .foreground = (uint32_t)group,
	        .is_busy = !is_own(p, group),
	        .state = p->info.state,
	        .idle_ms = (uint64_t)p->idle.ms,
	        .output_start = p->out[0].ring.start,
	        .output_end = p->out[0].ring.end,
	        .viewers = list_count(&p->viewers),
	};

	if (has_terminal(p) && ioctl(p->pty, TIOCGWINSZ, &size) == 0) {
		state.rows = size.ws_row;
		state.columns = size.ws_col;
	}
	if (p->idle.ms && p->idle.at != DEADLINE_NEVER)
		state.quiet_ms = (uint64_t)(clock_monotonic_ms() - (p->idle.at - p->idle.ms));
	return state;
}

/* A hangup first, so that a shell has time to write its history. */
void process_run_idle(struct process *p, int64_t now)
{
	if (p->idle.at > now)
		return;
	if (!is_own(p, foreground_of(p))) {
		p->idle.at = deadline_after(p->idle.ms);
		return;
	}
	p->idle.at = DEADLINE_NEVER;
	if (!p->reaper)
		return;
	p->info.timed_out = 1;
	(void)tree_signal(reaper_pid(p->reaper), SIGHUP);
	p->kill_at = deadline_after(HANG_UP_MS);
}

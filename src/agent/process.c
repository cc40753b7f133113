/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/process.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/connection.h"
#include "agent/job.h"
#include "agent/mask.h"
#include "agent/service.h"
#include "agent/tree.h"
#include "agent/warm.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "wire/agent_cause.h"
#include "wire/agent_secrets.h"

#define KILL_AGAIN_MS 20
#define REAPER_END_MS 1000 /* a reaper without children is killed after this time */
#define SLOW_START_MS                                                                              \
	20 /* after this time root inside may have stopped the command before its exec */
#define LISTED_TEXT_MAX 4096 /* of the arguments in lists of processes */
#define SIGNAL_MAX 64
#define RING_BYTES_DEFAULT (1024 * 1024)
#define RING_BYTES_MAX (16 * 1024 * 1024)

static const char **copy_args(struct arena *arena, const char **args)
{
	size_t count = 0, size = 0;
	const char **copy;

	while (args[count] && size + strlen(args[count]) < LISTED_TEXT_MAX)
		size += strlen(args[count++]) + sizeof(char *);
	copy = ARENA_ARRAY(arena, const char *, count + 1);
	for (size_t i = 0; i < count; i++)
		copy[i] = arena_text(arena, args[i]);
	return copy;
}

static bool has_secrets(const struct agent_exec *exec)
{
	return exec->secrets && exec->secrets[0];
}

static void describe_process(struct process *p, const struct agent_exec *exec)
{
	p->info = (struct agent_process){
	        .process = ++p->agent->process_count,
	        .state = AGENT_PROCESS_RUNNING,
	        .exit_code = -1,
	        .started_unix_ms = (uint64_t)clock_unix_ms(),
	        .flags = (exec->flags & ~(uint32_t)(AGENT_CAUSES | AGENT_EXEC_SECRET)) |
	                 (has_secrets(exec) ? AGENT_EXEC_SECRET : 0),
	        .label = arena_text(&p->arena, exec->label),
	        .user = arena_text(&p->arena, exec->user),
	        .cwd = arena_text(&p->arena, exec->cwd),
	        .args = copy_args(&p->arena, exec->args),
	};
}

static struct process *process_new(struct agent *a, const struct agent_exec *exec)
{
	struct process *p = memory_new(sizeof(*p));
	size_t ring_bytes = exec->ring_bytes ? exec->ring_bytes : RING_BYTES_DEFAULT;

	p->agent = a;
	p->stdin_bytes = BUF(WIRE_PAYLOAD_MAX + PROCESS_STDIN_MAX);
	p->in.fd = p->pty = -1;
	for (int i = 0; i < 2; i++) {
		p->out[i].watch.fd = -1;
		p->out[i].process = p;
		p->out[i].ring.capacity_max =
		        ring_bytes < RING_FIRST_SIZE ? RING_FIRST_SIZE : ring_bytes;
	}
	p->started_ms = clock_monotonic_ms();
	p->deadline = exec->timeout_ms ? deadline_after((int64_t)exec->timeout_ms) : DEADLINE_NEVER;
	p->look_at = p->over_at = p->kill_at = p->warm_until = p->idle.at = DEADLINE_NEVER;
	p->look_again_at = p->reaper_kill_at = DEADLINE_NEVER;
	list_init(&p->viewers);
	list_init(&p->item);
	describe_process(p, exec);
	p->mask = secret_mask_new(exec->secrets);
	return p;
}

static void process_free(struct process *p)
{
	for (int i = 0; i < 2; i++) {
		watch_close(p->agent, &p->out[i].watch);
		assert(p->agent->ring_bytes >= p->out[i].ring.capacity);
		p->agent->ring_bytes -= p->out[i].ring.capacity;
		ring_done(&p->out[i].ring);
	}
	watch_close(p->agent, &p->in);
	buf_done(&p->stdin_bytes);
	secret_mask_free(p->mask);
	job_free(p->job);
	arena_done(&p->arena);
	arena_wipe(&p->spawn_arena);
	free(p);
}

void process_forget(struct process *p)
{
	struct error err;

	error_set(&err, ERROR_NOT_FOUND, 0, HERE, "process %lu was forgotten",
	          (unsigned long)p->info.process);
	LIST_EACH (&p->viewers, struct connection, c, viewer)
		connection_on_lost(c, &err);
	connections_tell_lost(p, &err);
	for (int i = 0; i < 2; i++)
		watch_close(p->agent, &p->out[i].watch);
	watch_close(p->agent, &p->in);
	list_remove(&p->item);
	list_append(&p->agent->forgotten, &p->item);
	assert(p->agent->ended_count > 0);
	p->agent->ended_count--;
}

static void forget_oldest_ended(struct agent *a)
{
	LIST_EACH (&a->processes, struct process, p, item) {
		if (a->ended_count <= PROCESS_ENDED_MAX)
			return;
		/* A server that is away asks later how its jobs ended. */
		if (p->over && list_is_empty(&p->viewers) && (!p->job || p->job->is_told))
			process_forget(p);
	}
}

void process_free_forgotten(struct agent *a)
{
	forget_oldest_ended(a);
	LIST_EACH (&a->forgotten, struct process, p, item) {
		list_remove(&p->item);
		process_free(p);
	}
}

/* Only the output of a terminal is masked. */
static int check_secrets(const struct agent_exec *exec, struct error *err)
{
	if (!has_secrets(exec))
		return 0;
	if (!(exec->flags & AGENT_EXEC_TTY) || exec->flags & AGENT_EXEC_WARM)
		return FAIL(err, ERROR_INVALID, "only a terminal can have secrets");
	for (const char **entry = exec->secrets; *entry; entry++) {
		const char *value = strchr(*entry, '=');
		size_t size = value ? strlen(value + 1) : 0;

		if (size < AGENT_SECRET_VALUE_MIN || size > AGENT_SECRET_VALUE_MAX)
			return FAIL(err, ERROR_INVALID, "a secret has %d to %d bytes",
			            AGENT_SECRET_VALUE_MIN, AGENT_SECRET_VALUE_MAX);
	}
	return 0;
}

static int check_exec(const struct agent *a, const struct agent_exec *exec, struct error *err)
{
	if (a->stopping)
		return FAIL(err, ERROR_UNAVAILABLE, "the sandbox is stopping");
	if (!exec->args[0] || !exec->args[0][0])
		return FAIL(err, ERROR_INVALID, "no command given");
	if (exec->ring_bytes > RING_BYTES_MAX)
		return FAIL(err, ERROR_INVALID, "more than %d bytes of output to keep",
		            RING_BYTES_MAX);
	if (exec->rows > UINT16_MAX || exec->columns > UINT16_MAX)
		return FAIL(err, ERROR_INVALID, "terminal of %u x %u", exec->rows, exec->columns);
	if (exec->timeout_ms > INT64_MAX / 2)
		return FAIL(err, ERROR_INVALID, "timeout is too long");
	if (check_secrets(exec, err) < 0)
		return -1;
	if (a->running_count >= PROCESS_RUNNING_MAX)
		return FAIL(err, ERROR_LIMIT, "%d commands are running already",
		            PROCESS_RUNNING_MAX);
	return 0;
}

int process_start(struct agent *a, const struct agent_exec *exec, struct arena *arena,
                  struct process **ret, struct error *err)
{
	struct process *p;

	if (check_exec(a, exec, err) < 0)
		return -1;
	warm_make_way(a);
	p = process_new(a, exec);
	p->spawn_arena = *arena;
	*arena = (struct arena){0};
	if (process_spawn(p, exec, err) < 0) {
		process_free(p);
		return -1;
	}
	list_append(&a->processes, &p->item);
	a->running_count++;
	p->look_at = deadline_after(PROCESS_ANNOUNCE_MS);
	process_open_stdin(p);
	process_watch_output(p);
	/* Done while the command starts; no call waits for it. */
	cause_count(a, &p->before);
	*ret = p;
	return 0;
}

struct process *process_find(struct agent *a, uint64_t id)
{
	LIST_EACH (&a->processes, struct process, p, item)
		if (p->info.process == id)
			return p;
	return NULL;
}

struct agent_process process_info(const struct process *p)
{
	struct agent_process info = p->info;

	if (p->reaper)
		info.duration_ms = (uint64_t)(clock_monotonic_ms() - p->started_ms);
	return info;
}

static void close_spawn_fds(struct process *p)
{
	for (int i = 0; i < 3; i++) {
		bool shared = i > 0 && p->spawn.fds[i] == p->spawn.fds[0];

		if (!shared && p->spawn.fds[i] >= 0)
			(void)close(p->spawn.fds[i]);
	}
	p->spawn.fds[0] = p->spawn.fds[1] = p->spawn.fds[2] = -1;
}

static void on_started(struct process *p)
{
	if (p->warm)
		fault_point("agent", "warm-begun");
	p->started = true;
	p->info.pid = (uint32_t)reaper_command(p->reaper);
	/* The agent keeps the terminal's slave open. Without it the master fails for good once the
	 * command closes its streams, and closing the master is a hangup, which would kill a
	 * command in its last instructions. */
	if (p->pty < 0)
		close_spawn_fds(p);
	arena_wipe(&p->spawn_arena);
	p->look_at = p->warm_until = DEADLINE_NEVER;
	if (p->killing)
		process_kill_tree(p);
	if (p->service)
		service_on_started(p);
	if (p->starter)
		connection_on_started(p->starter);
	p->starter = NULL;
	process_resume(p);
}

void process_look_for_start(struct process *p)
{
	if (!p->started && p->reaper && reaper_has_started(p->reaper))
		on_started(p);
}

static void on_start_failed(struct process *p, const struct error *err)
{
	struct connection *starter = TAKE(p->starter);

	assert(p->agent->running_count > 0);
	close_spawn_fds(p);
	p->agent->running_count--;
	p->agent->ended_count++;
	if (p->service)
		service_on_start_failed(p, err);
	process_forget(p);
	if (starter)
		connection_on_lost(starter, err);
}

static void finish_process(struct process *p)
{
	assert(!p->over && p->agent->running_count > 0);
	p->over = true;
	p->over_at = DEADLINE_NEVER;
	p->info.state = AGENT_PROCESS_ENDED;
	p->agent->running_count--;
	p->agent->ended_count++;
	if (p->info.flags & AGENT_EXEC_ENDS_ALL)
		agent_stop_all(p->agent, 0);
	watch_close(p->agent, &p->in);
	buf_done(&p->stdin_bytes);
	/* Ended processes are known for long; their secrets are not. */
	if (process_output_has_ended(p))
		secret_mask_free(TAKE(p->mask));
	connections_resume(p->agent, p);
	process_trim(p);
	LIST_EACH (&p->viewers, struct connection, c, viewer)
		connection_flush(c);
	connections_tell_end(p);
	post_begin(p);
	if (p->service)
		service_on_process_end(p);
}

static void set_result(struct process *p, int status)
{
	p->info.duration_ms = (uint64_t)(clock_monotonic_ms() - p->started_ms);
	p->info.signal = WIFSIGNALED(status) ? (uint32_t)WTERMSIG(status) : 0;
	p->info.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	if (p->info.exit_code != 0 && !p->info.timed_out)
		p->info.flags |= cause_find(p, status);
}

static void on_ended(struct process *p)
{
	struct error err;
	int status;
	bool ran = reaper_result(p->reaper, &status, &err) == 0;

	p->killing = false; /* nothing is left below the reaper, and its number is free */
	if (ran && !p->started)
		on_started(p);
	reaper_free(TAKE(p->reaper));
	p->look_at = p->deadline = p->kill_at = p->warm_until = DEADLINE_NEVER;
	if (p->warm)
		fault_point("agent", "warm-ended");
	if (!ran) {
		on_start_failed(p, &err);
		return;
	}
	set_result(p, status);
	close_spawn_fds(p);
	process_drain(p);
	if (process_output_has_ended(p))
		finish_process(p);
	else
		p->over_at = deadline_after(PROCESS_GRACE_MS);
}

/* Often the start is known only now, so that all messages go out at once. */
static void on_reaper_exit(struct process *p)
{
	struct connection *starter = p->starter;

	if (starter)
		connection_cork(starter);
	on_ended(p);
	if (starter)
		connection_uncork(starter);
}

/* The warm interpreter refused this call or has ended, so the command is executed. Its streams are
 * made anew. */
static void start_cold(struct process *p)
{
	struct error err;

	reaper_free(TAKE(p->reaper));
	p->warm = NULL;
	p->stops = (struct stops){0};
	p->reaper_kill_at = DEADLINE_NEVER;
	for (int i = 0; i < 3; i++)
		(void)!fd_set_blocking(p->spawn.fds[i], true, &err);
	p->warm_until = DEADLINE_NEVER;
	p->info.flags &= ~(uint32_t)AGENT_EXEC_WARM;
	if (reaper_start(&p->spawn, &p->reaper, &err) < 0) {
		p->look_at = p->deadline = DEADLINE_NEVER;
		on_start_failed(p, &err);
	}
}

/* A process inside may have stopped the reaper. */
static void give_up_warm(struct process *p)
{
	p->warm_until = DEADLINE_NEVER;
	process_look_for_start(p);
	if (p->reaper && !p->started && reaper_revoke(p->reaper) && reaper_is_adopted(p->reaper))
		start_cold(p);
}

bool process_on_reaper_exit(struct agent *a, pid_t pid, int status)
{
	LIST_EACH (&a->processes, struct process, p, item) {
		if (!p->reaper || reaper_pid(p->reaper) != pid)
			continue;
		if (reaper_has_left_command(p->reaper))
			return true;
		reaper_end(p->reaper, status);
		if (reaper_has_declined(p->reaper)) {
			warm_on_declined(p);
			start_cold(p);
		} else {
			on_reaper_exit(p);
		}
		return true;
	}
	return false;
}

/* Root inside may keep the command from running. A warm interpreter that has not begun has its own
 * deadline, `warm_until`. */
static void end_reaper_later(struct process *p)
{
	int64_t now = clock_monotonic_ms();

	if (!p->started && p->warm)
		return;
	if (p->reaper_kill_at == DEADLINE_NEVER)
		p->reaper_kill_at = now + REAPER_END_MS;
	else if (p->reaper_kill_at <= now)
		reaper_kill(p->reaper);
}

void process_kill_tree(struct process *p)
{
	p->killing = true;
	process_look_for_start(p);
	if (!p->reaper)
		return; /* it is over */
	p->kill_at = deadline_after(KILL_AGAIN_MS);
	if (!p->started) {
		end_reaper_later(p); /* on_started does the rest, when that comes first */
		return;
	}
	reaper_hold(p->reaper);
	if (tree_kill(reaper_pid(p->reaper)) == 0) {
		reaper_release(p->reaper);
		end_reaper_later(p);
	}
	reaper_signal(p->reaper, SIGKILL); /* if the agent cannot see /proc */
}

int process_signal(struct process *p, const struct agent_signal *signal, struct error *err)
{
	if (signal->signal < 1 || signal->signal > SIGNAL_MAX)
		return FAIL(err, ERROR_INVALID, "no signal has the number %u", signal->signal);
	if (!p->reaper)
		return FAIL(err, ERROR_CONFLICT, "process %lu has ended",
		            (unsigned long)p->info.process);
	process_look_for_start(p);
	p->signals_asked |= signal->signal < 64 ? UINT64_C(1) << signal->signal : 0;
	if (signal->whole_tree && signal->signal == SIGKILL) {
		process_kill_tree(p);
	} else if (!p->started) {
		return FAIL(err, ERROR_CONFLICT, "process %lu is about to start",
		            (unsigned long)p->info.process);
	} else if (signal->whole_tree) {
		(void)tree_signal(reaper_pid(p->reaper), (int)signal->signal);
	} else {
		reaper_signal(p->reaper, (int)signal->signal);
	}
	return 0;
}

int process_resize(struct process *p, const struct agent_resize *size, struct error *err)
{
	struct winsize window = {.ws_row = (unsigned short)size->rows,
	                         .ws_col = (unsigned short)size->columns};

	if (p->pty < 0)
		return FAIL(err, ERROR_CONFLICT, "process has no terminal");
	if (size->rows > UINT16_MAX || size->columns > UINT16_MAX)
		return FAIL(err, ERROR_INVALID, "terminal of %u x %u", size->rows, size->columns);
	/* The kernel sends SIGWINCH to the foreground group. */
	if (p->out[0].watch.fd >= 0 && ioctl(p->pty, TIOCSWINSZ, &window) < 0)
		return FAIL_ERRNO(err, "resize terminal");
	return 0;
}

static int64_t earliest_deadline(const struct process *p)
{
	const int64_t times[] = {p->look_at,    p->deadline, p->over_at,      p->kill_at,
	                         p->warm_until, p->idle.at,  p->look_again_at};
	int64_t first = DEADLINE_NEVER;

	for (size_t i = 0; i < COUNT_OF(times); i++)
		first = times[i] < first ? times[i] : first;
	return first;
}

int64_t process_next_deadline(struct agent *a)
{
	int64_t first = DEADLINE_NEVER;

	LIST_EACH (&a->processes, struct process, p, item) {
		int64_t mine = earliest_deadline(p);

		first = mine < first ? mine : first;
	}
	return first;
}

static void look_for_start(struct process *p, int64_t now)
{
	process_look_for_start(p);
	if (p->reaper && !p->started && !p->warm && now - p->started_ms >= SLOW_START_MS)
		reaper_continue(p->reaper);
}

void process_run_timers(struct agent *a, int64_t now)
{
	LIST_EACH (&a->processes, struct process, p, item) {
		if (p->look_at <= now) {
			p->look_at = deadline_after(PROCESS_ANNOUNCE_MS);
			look_for_start(p, now);
		}
		if (p->warm_until <= now)
			give_up_warm(p);
		if (p->deadline <= now) {
			p->deadline = DEADLINE_NEVER;
			p->info.timed_out = 1;
			process_kill_tree(p);
		}
		if (p->kill_at <= now)
			process_kill_tree(p);
		process_run_idle(p, now);
		if (p->look_again_at <= now)
			process_resume(p);
		if (p->over_at <= now && process_output_is_held(p))
			p->over_at = deadline_after(PROCESS_GRACE_MS);
		else if (p->over_at <= now)
			finish_process(p);
	}
}

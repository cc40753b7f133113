/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/reaper.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/raw.h"
#include "agent/stack.h"
#include "agent/tree.h"
#include "base/fd.h"

#define CPUS_MAX 4096

/* The kernel picks commands before the agent when memory runs out. */
#define OOM_SCORE "300"

enum spawn_stage {
	STAGE_NONE,
	STAGE_CLONE,
	STAGE_SESSION,
	STAGE_STREAMS,
	STAGE_USER,
	STAGE_FOLDER,
	STAGE_EXECUTE,
	STAGE_RUNNING,
};

/* Lies at the upper end of its stack's mapping. `stage` to `holding` are shared. */
struct reaper {
	const struct spawn *spawn;
	pid_t pid;
	_Atomic int stage; /* reached, or failed at when `failure` is set */
	_Atomic int failure;
	_Atomic int command; /* set before the command's process runs */
	_Atomic int status;  /* wait status once `ended` */
	_Atomic bool ended, holding;
	bool adopted; /* not on the shared stack */
	bool revoked, given_up;
	int token; /* -1 = the command begins when the reaper runs */
};

static char *mapping_of(struct reaper *k)
{
	return (char *)(k + 1) - STACK_MAPPING_SIZE;
}

ON_OWN_STACK static void raise_oom_score(void)
{
	long fd = raw_call(SYS_openat, AT_FDCWD, (long)"/proc/self/oom_score_adj",
	                   O_WRONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return;
	(void)raw_call(SYS_write, fd, (long)OOM_SCORE, sizeof(OOM_SCORE) - 1, 0);
	(void)raw_call(SYS_close, fd, 0, 0, 0);
}

/* The kernel has just placed this process on an idle processor, which becomes its first one. So
 * commands of many sandboxes spread without a count. A host with more processors than the set
 * holds shows all of them. */
ON_OWN_STACK static void take_cpus(unsigned wanted)
{
	unsigned char has[CPUS_MAX / 8] = {0}, set[CPUS_MAX / 8];
	unsigned cpu = 0;
	long size = raw_call(SYS_sched_getaffinity, 0, sizeof(has), (long)has, 0);

	if (wanted == 0 || size <= 0 || raw_call(SYS_getcpu, (long)&cpu, 0, 0, 0) < 0)
		return;
	for (long i = 0; i < size; i++)
		set[i] = 0;
	for (unsigned i = 0, count = (unsigned)size * 8; i < count && wanted > 0; i++) {
		unsigned at = (cpu + i) % count;

		if (!(has[at / 8] >> at % 8 & 1))
			continue;
		set[at / 8] |= (unsigned char)(1u << at % 8);
		wanted--;
	}
	(void)raw_call(SYS_sched_setaffinity, 0, size, (long)set, 0);
}

/* The agent has the highest priority of its sandbox. No process inside can raise its own: that
 * needs CAP_SYS_NICE or an RLIMIT_NICE above 0. The reaper lowers its priority, because the kernel
 * divides the sandbox's share among processors by the weights of their tasks: a reaper with high
 * priority would leave a command on another processor a hundredth of the share. */
ON_OWN_STACK static void give_priority_back(void)
{
	(void)raw_call(SYS_setpriority, PRIO_PROCESS, 0, 0, 0);
}

ON_OWN_STACK static long take_session(UNUSED const struct spawn *s)
{
	return raw_call(SYS_setsid, 0, 0, 0, 0);
}

ON_OWN_STACK static long take_streams(const struct spawn *s)
{
	long result = 0;

	for (int i = 0; i < 3 && result >= 0; i++)
		result = raw_call(SYS_dup3, s->fds[i], i, 0, 0);
	for (unsigned i = 0; i < s->extra_count && result >= 0; i++)
		result = raw_call(SYS_dup3, s->extra[i], 3 + i, 0, 0);
	if (result >= 0 && s->tty)
		result = raw_call(SYS_ioctl, 0, TIOCSCTTY, 0, 0);
	return result;
}

ON_OWN_STACK static long take_user(const struct spawn *s)
{
	const struct user *u = s->user;
	long result = 0;

	if (u)
		result = raw_call(SYS_setgroups, u->group_count, (long)u->groups, 0, 0);
	if (u && result >= 0)
		result = raw_call(SYS_setresgid, u->gid, u->gid, u->gid, 0);
	if (u && result >= 0)
		result = raw_call(SYS_setresuid, u->uid, u->uid, u->uid, 0);
	if (result >= 0 && s->no_privileges)
		result = raw_call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0);
	return result;
}

ON_OWN_STACK static long take_folder(const struct spawn *s)
{
	struct open_how how;
	long fd;

	how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
	how.mode = 0;
	how.resolve = s->resolve;
	fd = raw_call(SYS_openat2, s->root, (long)s->cwd, (long)&how, sizeof(how));
	if (fd == -ENOSYS && s->resolve == 0) /* gVisor */
		fd = raw_call(SYS_openat, s->root, (long)s->cwd, (long)how.flags, 0);
	return fd < 0 ? fd : raw_call(SYS_fchdir, fd, 0, 0, 0);
}

/* As in a shell, a program that exists but is not executable is reported only if no other is
 * executable. */
ON_OWN_STACK static long execute_command(const struct spawn *s)
{
	uint64_t none = 0;
	long failure = -ENOENT;

	(void)raw_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&none, 0, sizeof(none));
	for (const char *const *path = s->paths; *path; path++) {
		long result = raw_call(SYS_execve, (long)*path, (long)s->args, (long)s->env, 0);

		if (result != -ENOENT && result != -ENOTDIR && result != -EACCES)
			return result;
		if (result == -EACCES)
			failure = result;
	}
	return failure;
}

ON_OWN_STACK static int run_command(void *argument)
{
	static const struct {
		enum spawn_stage stage;
		long (*run)(const struct spawn *);
	} steps[] = {
	        {STAGE_SESSION, take_session},    {STAGE_STREAMS, take_streams},
	        {STAGE_USER, take_user},          {STAGE_FOLDER, take_folder},
	        {STAGE_EXECUTE, execute_command},
	};
	struct reaper *k = argument;

	/* Must come first: after the change of user /proc/self belongs to another user. */
	raise_oom_score();
	take_cpus(k->spawn->cpus);
	for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		long result = steps[i].run(k->spawn);

		if (result < 0) {
			k->stage = (int)steps[i].stage;
			k->failure = (int)-result;
			return 127;
		}
	}
	return 127;
}

ON_OWN_STACK static void wait_for_children(struct reaper *k)
{
	for (;;) {
		int status = 0;
		long pid = raw_call(SYS_wait4, -1, (long)&status, __WALL, 0);

		if (pid == k->command) {
			k->status = status;
			k->ended = true;
		} else if (pid == -ECHILD) {
			return;
		}
		if (k->ended && !k->holding)
			return;
	}
}

ON_OWN_STACK static int run_reaper(void *argument)
{
	struct reaper *k = argument;
	long pid;

	give_priority_back();
	if (!k->spawn->keeps_none)
		(void)raw_call(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0);
	/* Returns after the exec or its failure: until then the command uses the lower half of
	 * this stack. */
	pid = raw_clone(CLONE_VM | CLONE_VFORK | CLONE_PARENT_SETTID | SIGCHLD,
	                mapping_of(k) + STACK_GUARD_SIZE + STACK_SIZE / 2, run_command, k,
	                &k->command);
	if (pid < 0) {
		k->stage = STAGE_CLONE;
		k->failure = (int)-pid;
		return 0;
	}
	if (!k->failure)
		k->stage = STAGE_RUNNING;
	wait_for_children(k);
	return 0;
}

/* A single stack is kept, because most commands come one after another. */
static char *spare;

static char *take_stack(void)
{
	char *map = TAKE(spare);

	return map ? map : stack_map();
}

/* From errno; always -1. */
static int fail_to_start(struct error *err)
{
	if (errno != EAGAIN)
		return FAIL_ERRNO(err, "start a process");
	error_set(err, error_code_of(EAGAIN), EAGAIN, HERE,
	          "start a process: the sandbox is at its limit of processes");
	return FAIL_HINT(err, "end processes of the sandbox, or give it a higher limit 'pids'");
}

int reaper_start(const struct spawn *spawn, struct reaper **ret, struct error *err)
{
	char *map = take_stack();
	struct reaper *k;
	long pid;

	if (!map)
		return FAIL_ERRNO(err, "map a stack");
	k = (struct reaper *)(void *)(map + STACK_MAPPING_SIZE) - 1;
	*k = (struct reaper){.spawn = spawn, .token = -1};
	pid = raw_clone(CLONE_VM | CLONE_FILES | SIGCHLD, (void *)((uintptr_t)k & ~(uintptr_t)63),
	                run_reaper, k, NULL);
	if (pid < 0) {
		reaper_free(k);
		errno = (int)-pid;
		return fail_to_start(err);
	}
	k->pid = (pid_t)pid;
	*ret = k;
	return 0;
}

void reaper_free(struct reaper *k)
{
	if (!k)
		return;
	auto_close(&k->token);
	if (k->adopted)
		free(k);
	else if (spare)
		(void)munmap(mapping_of(k), STACK_MAPPING_SIZE);
	else
		spare = mapping_of(k);
}

pid_t reaper_pid(const struct reaper *k)
{
	return k->pid;
}

/* Shows whether the token was read without reading it. */
static bool has_begun(const struct reaper *k)
{
	struct pollfd token = {.fd = k->token, .events = POLLIN};

	return poll(&token, 1, 0) == 0;
}

bool reaper_has_started(const struct reaper *k)
{
	if (k->token >= 0)
		return !k->revoked && has_begun(k);
	return k->stage == STAGE_RUNNING;
}

pid_t reaper_command(const struct reaper *k)
{
	return reaper_has_started(k) ? k->command : 0;
}

void reaper_hold(struct reaper *k)
{
	k->holding = true;
	/* An adopted reaper would end with the command and leave the other processes. The agent's
	 * reaper waits for them; root inside may have stopped it. */
	(void)kill(k->pid, k->adopted ? SIGSTOP : SIGCONT);
}

void reaper_release(struct reaper *k)
{
	if (k->adopted)
		(void)kill(k->pid, SIGCONT);
}

bool reaper_has_unexecuted_command(const struct reaper *k)
{
	return !k->adopted && k->command > 0 && k->stage != STAGE_RUNNING && !k->ended;
}

void reaper_continue(const struct reaper *k)
{
	if (reaper_has_unexecuted_command(k))
		(void)kill(k->command, SIGCONT);
	(void)kill(k->pid, SIGCONT);
}

void reaper_kill(const struct reaper *k)
{
	if (reaper_has_unexecuted_command(k))
		(void)kill(k->command, SIGKILL);
	(void)kill(k->pid, SIGKILL);
}

void reaper_give_up(struct reaper *k)
{
	k->given_up = true;
	reaper_kill(k);
}

/* The process may be waited for already; then the number is free. */
bool reaper_has_left_command(struct reaper *k)
{
	if (k->pid == k->command || !reaper_has_unexecuted_command(k) ||
	    kill(k->command, SIGKILL) < 0)
		return false;
	k->pid = k->command;
	return true;
}

/* An adopted reaper may have waited for its command, whose number may then be reused. The reaper's
 * own number is not reused before the agent waits for it. */
static bool has_command(const struct reaper *k)
{
	struct tree_process command;

	return !k->adopted || (tree_look(k->command, &command) && command.parent == k->pid);
}

void reaper_signal(const struct reaper *k, int signo)
{
	if (reaper_has_started(k) && has_command(k))
		(void)kill(-k->command, signo);
}

struct reaper *reaper_adopt(pid_t pid, pid_t command, int token)
{
	struct reaper *k = memory_new(sizeof(*k));

	k->adopted = true;
	k->pid = pid;
	k->command = command;
	k->token = token;
	return k;
}

void reaper_await(struct reaper *k, int token)
{
	k->token = token;
}

bool reaper_is_adopted(const struct reaper *k)
{
	return k->adopted;
}

bool reaper_revoke(struct reaper *k)
{
	uint64_t one;

	if (k->token < 0 || k->revoked || read(k->token, &one, sizeof(one)) < 0)
		return false;
	k->revoked = true;
	if (!k->ended && has_command(k))
		(void)kill(k->command, SIGKILL);
	/* The agent's reaper, too: a tracer inside could keep it waiting for the end of its
	 * command. */
	(void)kill(k->pid, SIGKILL);
	return true;
}

void reaper_end(struct reaper *k, int status)
{
	if (!k->adopted)
		return;
	k->status = status;
	k->ended = true;
}

bool reaper_has_declined(const struct reaper *k)
{
	return k->token >= 0 && (k->revoked || !has_begun(k));
}

static int fail_at_stage(const struct reaper *k, struct error *err)
{
	const struct spawn *s = k->spawn;

	errno = k->failure;
	switch ((enum spawn_stage)k->stage) {
	case STAGE_FOLDER:
		return FAIL_ERRNO(err, "working folder '%s'", s->cwd);
	case STAGE_USER:
		return FAIL_ERRNO(err, "become user '%s'", s->user ? s->user->name : "");
	case STAGE_EXECUTE:
		if (errno == ENOENT || errno == ENOTDIR)
			return FAIL(err, ERROR_NOT_FOUND, "command not found: '%s'", s->args[0]);
		return FAIL_ERRNO(err, "run '%s'", s->args[0]);
	case STAGE_STREAMS:
		return FAIL_ERRNO(err, "open the command's streams");
	case STAGE_NONE:
	case STAGE_CLONE:
	case STAGE_SESSION:
	case STAGE_RUNNING:
		break;
	}
	return fail_to_start(err);
}

static int fail_as_stopped(struct error *err)
{
	error_set(err, ERROR_UNAVAILABLE, 0, HERE,
	          "start a process: the sandbox's root stops the agent's processes");
	return FAIL_HINT(err, "end the process of the sandbox that sends SIGSTOP to others");
}

int reaper_result(const struct reaper *k, int *ret_status, struct error *err)
{
	if (k->failure)
		return fail_at_stage(k, err);
	if (k->given_up && k->stage != STAGE_RUNNING)
		return fail_as_stopped(err);
	*ret_status = k->ended ? k->status : SIGKILL;
	return 0;
}

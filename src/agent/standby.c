/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/standby.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/connection.h"
#include "agent/files.h"
#include "agent/raw.h"
#include "agent/stack.h"
#include "agent/worker.h"
#include "base/clock.h"
#include "base/fd.h"

#define AGAIN_MS 1000 /* after a failed start */

#define PROGRAM "/proc/self/exe"
#define STANDBY_NAME "atoll-standby" /* name of the process in lists of processes */

/* The process needs this until its exec; lies at the lower end of its stack's mapping. */
struct standby_stack {
	int far_fd;
	char fd_text[16];
	const char *argv[4], *envp[1];
};
static struct standby_stack *waiting; /* mapped once; one process uses it at a time */

/* The process shares the agent's table of descriptors until it has its own; the others then close
 * with the exec. */
ON_OWN_STACK static int wait_for_need(void *argument)
{
	static const char name[] = STANDBY_NAME;
	const struct standby_stack *w = argument;
	struct pollfd fd = {.fd = w->far_fd, .events = POLLIN};
	long ready;

	(void)raw_call(SYS_prctl, PR_SET_NAME, (long)name, 0, 0);
	do
		ready = raw_call(SYS_ppoll, (long)&fd, 1, 0, 0);
	while (ready == -EINTR || ready == -EAGAIN);
	if (ready < 0 || !(fd.revents & POLLIN) || raw_call(SYS_unshare, CLONE_FILES, 0, 0, 0) < 0)
		return 0;
	(void)raw_call(SYS_fcntl, w->far_fd, F_SETFD, 0, 0);
	(void)raw_call(SYS_execve, (long)PROGRAM, (long)w->argv, (long)w->envp, 0);
	return 127;
}

static struct standby_stack *map_waiting(void)
{
	char *map;

	if (waiting)
		return waiting;
	map = stack_map();
	if (!map)
		return NULL;
	waiting = (struct standby_stack *)(void *)(map + STACK_MAPPING_SIZE) - 1;
	return waiting;
}

static void fill_waiting(struct standby_stack *w, int far_fd)
{
	static const char program[] = "atoll-agent", option[] = STANDBY_OPTION;

	*w = (struct standby_stack){.far_fd = far_fd, .argv = {program, option, w->fd_text, NULL}};
	(void)snprintf(w->fd_text, sizeof(w->fd_text), "%d", far_fd);
}

static struct connection *find_served(struct agent *a)
{
	LIST_EACH (&a->connections, struct connection, c, item)
		if (a->standby.pid > 0 && c->worker == a->standby.pid)
			return c;
	return NULL;
}

/* The process has served its connection and reports whether the connection continues. */
static void on_word(struct agent *a, struct watch *w, UNUSED uint32_t events)
{
	struct connection *c = find_served(a);
	unsigned char status = 0;
	ssize_t got = recv(w->fd, &status, 1, MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		watch_pause(a, w); /* the process has ended; SIGCHLD handles the rest */
		return;
	}
	if (c)
		worker_take_back(c, status == WORKER_GIVES_BACK);
	connections_look_for_room(a, clock_monotonic_ms());
}

static int start_standby(struct standby *r, struct error *err)
{
	struct standby_stack *w = map_waiting();
	AUTO_CLOSE int near = -1;
	int pair[2];
	long pid;

	if (!w)
		return FAIL_ERRNO(err, "map a stack");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return FAIL_ERRNO(err, "make a socket pair");
	near = pair[0];
	fill_waiting(w, pair[1]);
	pid = raw_clone(CLONE_VM | CLONE_FILES | SIGCHLD, (void *)((uintptr_t)w & ~(uintptr_t)63),
	                wait_for_need, w, NULL);
	if (pid < 0) {
		(void)close(pair[1]);
		errno = (int)-pid;
		return FAIL_ERRNO(err, "start the standby process");
	}
	r->pid = (pid_t)pid;
	r->stops = (struct stops){0};
	r->far_fd = pair[1];
	r->watch = (struct watch){.fd = TAKE_FD(near), .on_event = on_word};
	return 0;
}

void standby_init(struct standby *r)
{
	*r = (struct standby){.watch = {.fd = -1},
	                      .far_fd = -1,
	                      .again_at = DEADLINE_NEVER,
	                      .look_at = DEADLINE_NEVER};
}

void standby_start(struct agent *a)
{
	struct standby *r = &a->standby;
	struct error ignored;

	r->again_at = DEADLINE_NEVER;
	if (getpid() != 1 || a->stopping || r->pid > 0)
		return;
	if (start_standby(r, &ignored) == 0)
		watch_set(a, &r->watch, EPOLLIN);
	else
		r->again_at = deadline_after(AGAIN_MS);
}

void standby_stop(struct agent *a)
{
	watch_close(a, &a->standby.watch);
	fd_forget(&a->standby.far_fd);
	a->standby.again_at = DEADLINE_NEVER;
}

bool standby_on_exit(struct agent *a, pid_t pid)
{
	struct connection *served;

	if (a->standby.pid != pid)
		return false;
	served = find_served(a);
	a->standby.pid = 0;
	standby_stop(a);
	if (served)
		worker_take_back(served, false);
	standby_start(a);
	connections_look_for_room(a, clock_monotonic_ms());
	return true;
}

/* Its frames lie in memory that both processes map, as for a worker, but by a descriptor. The file
 * must not be shortened: the agent would die when it reads past the end. */
static struct worker_rest *map_rest(int *ret_fd)
{
	AUTO_CLOSE int fd = memfd_create("frames", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *map;

	if (fd < 0 || ftruncate(fd, (off_t)WORKER_REST_SIZE) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)
		return NULL;
	map = mmap(NULL, WORKER_REST_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return NULL;
	*ret_fd = TAKE_FD(fd);
	return map;
}

static int give_to_standby(struct connection *c, struct span bytes, struct error *err)
{
	const struct standby *r = &c->agent->standby;
	AUTO_CLOSE int fd = -1;
	struct worker_rest *rest;
	struct wire_fds fds;

	if (bytes.size > WORKER_REST_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "%zu bytes wait for a file worker", bytes.size);
	rest = map_rest(&fd);
	if (!rest)
		return FAIL_ERRNO(err, "map memory for a file worker");
	rest->size = bytes.size;
	memcpy(rest->bytes, bytes.data, bytes.size);
	(void)kill(r->pid, SIGCONT); /* root inside may have stopped it */
	fds = (struct wire_fds){.fds = {c->watch.fd, fd}, .count = 2};
	if (wire_send_packet(r->watch.fd, SPAN("c"), &fds, deadline_after(0), err) < 0) {
		(void)munmap(rest, WORKER_REST_SIZE);
		return -1;
	}
	c->worker = r->pid;
	c->rest = rest;
	c->room_until = 0;
	c->agent->worker_count++;
	return 1;
}

static bool is_watch(struct span bytes)
{
	struct error ignored;
	struct span payload;
	uint16_t type;

	return wire_next(&bytes, &type, &payload, NULL, &ignored) > 0 && type == AGENT_WATCH;
}

static int fail_at_limit(const char *why, struct error *err)
{
	error_set(err, ERROR_UNAVAILABLE, EAGAIN, HERE,
	          "the sandbox is at its limit of processes, and %s", why);
	return FAIL_HINT(err, "end processes of the sandbox, or give it a higher limit 'pids'");
}

int standby_serve(struct connection *c, struct span bytes, struct error *err)
{
	const struct standby *r = &c->agent->standby;
	/* Others that wait come first. */
	bool is_turn = c->room_until > 0 || r->look_at == DEADLINE_NEVER;
	int64_t now = clock_monotonic_ms();

	/* The call lasts until its client leaves. */
	if (is_watch(bytes))
		return fail_at_limit("no process is left that could watch a folder", err);
	if (is_turn && r->pid > 0 && r->watch.fd >= 0 && !find_served(c->agent))
		return give_to_standby(c, bytes, err);
	if (c->room_until == 0)
		c->room_until = now + STANDBY_PATIENCE_MS;
	if (now < c->room_until)
		return 0;
	return fail_at_limit("its only file worker is busy", err);
}

int64_t standby_next_deadline(const struct agent *a)
{
	const struct standby *r = &a->standby;

	return r->again_at < r->look_at ? r->again_at : r->look_at;
}

void standby_run_timer(struct agent *a, int64_t now)
{
	if (a->standby.again_at <= now)
		standby_start(a);
	if (a->standby.look_at <= now)
		connections_look_for_room(a, now);
}

static int own_fd; /* to the agent */
static bool was_root;
static char own_fd_text[16];

static void block_signals(void)
{
	sigset_t all;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
}

/* Ends a call, also in a signal handler, so it makes only system calls. Root is still the saved id
 * of the call's user (user_borrow). */
static NORETURN void renew_standby(int status)
{
	static const char program[] = "atoll-agent", option[] = STANDBY_OPTION;
	const char *const argv[] = {program, option, own_fd_text, NULL}, *const envp[] = {NULL};
	unsigned char word = (unsigned char)status;

	block_signals();
	(void)alarm(0);
	if ((was_root &&
	     (setresuid(0, 0, 0) < 0 || setresgid(0, 0, 0) < 0 || setgroups(0, NULL) < 0)) ||
	    fcntl(own_fd, F_SETFD, 0) < 0 || send(own_fd, &word, 1, MSG_NOSIGNAL) != 1)
		_exit(1);
	(void)execve(PROGRAM, (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)envp);
	_exit(127);
}

/* Clears what the previous call left across the exec: its memory limit and a late signal. A signal
 * for the current call may be lost with it; then the call ends when it uses its broken connection.
 * */
static void clear_remains(void)
{
	const struct sigaction ignored = {.sa_handler = SIG_IGN},
	                       standard = {.sa_handler = SIG_DFL};
	struct rlimit memory;

	(void)sigaction(SIGTERM, &ignored, NULL);
	(void)sigaction(SIGTERM, &standard, NULL);
	(void)sigaction(SIGALRM, &ignored, NULL);
	(void)sigaction(SIGALRM, &standard, NULL);
	if (getrlimit(RLIMIT_AS, &memory) == 0) {
		memory.rlim_cur = memory.rlim_max;
		(void)setrlimit(RLIMIT_AS, &memory);
	}
}

static int receive_connection(int fd, struct files_options *ret, struct error *err)
{
	AUTO(buf_done) struct buf packet = BUF(16);
	AUTO(wire_fds_close) struct wire_fds fds = {.count = 0};
	void *map;

	if (wire_receive_packet(fd, DEADLINE_NEVER, &packet, &fds, err) < 0)
		return -1;
	if (fds.count != 2)
		return FAIL(err, ERROR_INVALID, "%u descriptors came, not 2", fds.count);
	map = mmap(NULL, WORKER_REST_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fds.fds[1], 0);
	if (map == MAP_FAILED)
		return FAIL_ERRNO(err, "map the frames");
	ret->rest = map;
	ret->bytes = (struct span){ret->rest->bytes, ret->rest->size};
	ret->connection = TAKE_FD(fds.fds[0]);
	return 0;
}

int standby_main(const char *fd_text)
{
	struct files_options options = {.root = AT_FDCWD, .renew = renew_standby};
	struct error err;
	int64_t fd;

	/* The exec made the process traceable again. */
	if (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_NAME, STANDBY_NAME) < 0 ||
	    span_parse_whole(span_of(fd_text), 3, INT16_MAX, &fd, &err) < 0)
		return 1;
	own_fd = (int)fd;
	was_root = geteuid() == 0;
	(void)snprintf(own_fd_text, sizeof(own_fd_text), "%d", own_fd);
	(void)fcntl(own_fd, F_SETFD, FD_CLOEXEC);
	block_signals();
	if (receive_connection(own_fd, &options, &err) < 0)
		return 0; /* the agent has ended or closed the connection */
	clear_remains();
	files_serve(&options);
}

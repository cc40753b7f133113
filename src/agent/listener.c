/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "wire/agent.h"

static int accept_connection(int listener)
{
	return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
}

static int open_spare(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void listener_init(struct listener *l, int fd)
{
	*l = (struct listener){.watch = {.fd = fd},
	                       .accept = accept_connection,
	                       .spare = open_spare(),
	                       .resume_at = DEADLINE_NEVER};
}

/* The client reads this as the answer to its first request. */
static void tell_full(int fd, int failure)
{
	const struct agent_failed failed = {
	        .code = ERROR_UNAVAILABLE,
	        .sys_errno = (uint32_t)failure,
	        .text = failure == ENFILE ? "the host has no descriptors left for the agent"
	                                  : "the agent has no descriptors left",
	        .hint = failure == ENFILE ? "raise fs.file-max of the host, or end what holds files"
	                                  : "end commands of the sandbox, then try again"};
	AUTO(buf_done) struct buf frame = BUF(4096);
	struct error ignored;

	if (wire_encode(&frame, AGENT_FAILED, agent_failed_shape, &failed, &ignored) == 0)
		(void)send(fd, frame.data, frame.size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void pause_listener(struct agent *a, struct listener *l)
{
	watch_pause(a, &l->watch);
	l->resume_at = deadline_after(LISTENER_REST_MS);
}

/* Including the spare descriptor. */
static void refuse_connection(struct agent *a, struct listener *l, int failure)
{
	int fd;

	fd_forget(&l->spare);
	fd = l->accept(l->watch.fd);
	if (fd >= 0) {
		tell_full(fd, failure);
		(void)close(fd);
	} else if (errno != EAGAIN) {
		pause_listener(a, l);
	}
	l->spare = open_spare();
}

int listener_accept(struct agent *a, struct listener *l)
{
	int fd = l->accept(l->watch.fd);

	if (fd >= 0) {
		if (l->spare < 0)
			l->spare = open_spare();
		return fd;
	}
	if (errno == EMFILE || errno == ENFILE)
		refuse_connection(a, l, errno);
	else if (errno == ENOMEM || errno == ENOBUFS)
		pause_listener(a, l);
	return -1;
}

int64_t listener_next_deadline(const struct listener *l)
{
	return l->resume_at;
}

void listener_run_timer(struct agent *a, struct listener *l, int64_t now)
{
	if (now < l->resume_at)
		return;
	l->resume_at = DEADLINE_NEVER;
	watch_set(a, &l->watch, EPOLLIN);
}

/* The kernel returns the lowest free number, which shows how many descriptors are open. */
int listener_check_room(int newest_fd, struct error *err)
{
	struct rlimit files;

	if (newest_fd < 0 || getrlimit(RLIMIT_NOFILE, &files) < 0 ||
	    files.rlim_cur <= LISTENER_KEPT || (rlim_t)newest_fd < files.rlim_cur - LISTENER_KEPT)
		return 0;
	error_set(err, ERROR_LIMIT, EMFILE, HERE,
	          "the agent has %d descriptors open of %lu, %d of which are kept for calls",
	          newest_fd, (unsigned long)files.rlim_cur, LISTENER_KEPT);
	return FAIL_HINT(err, "end commands of the sandbox that still run, then try again");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A process that serves requests of atoll-launch. */
#pragma once

#include <errno.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "launch/server.h"
#include "unit.h"

#define SERVED_TASK_FD 5 /* among the places that a task may name */

struct served {
	int fd;
	pid_t pid;
	char folder[64];
};

/* What the program opens at its start; its tasks are /bin/true. */
static inline void open_parts(struct launch_server *l)
{
	int fd = open("/bin/true", O_RDONLY | O_CLOEXEC);

	/* out of the way of the number that is assigned */
	l->channel_fd = fcntl(l->channel_fd, F_DUPFD_CLOEXEC, 20);
	l->data_fd = fcntl(l->data_fd, F_DUPFD_CLOEXEC, 20);
	if (fd < 0 || l->channel_fd < 0 || l->data_fd < 0 ||
	    (fd != SERVED_TASK_FD && dup2(fd, SERVED_TASK_FD) < 0))
		_exit(2);
	l->task_fd = SERVED_TASK_FD;
	l->network_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	l->names_fd = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);
}

/* A process that serves one channel, with a data folder of its own. */
static inline void begin(struct served *s, bool is_worker)
{
	struct launch_server l = {.held_fd = -1,
	                          .proc_fd = -1,
	                          .names_fd = -1,
	                          .image_path = "/bin/sh",
	                          .is_worker = is_worker};
	struct error err = {0};
	int ends[2];

	unit_folder(s->folder, sizeof(s->folder), "launch");
	l.data_fd = open(s->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(l.data_fd >= 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	l.channel_fd = ends[1];
	s->fd = ends[0];
	s->pid = fork();
	assert_true(s->pid >= 0);
	if (s->pid == 0) {
		(void)close(ends[0]);
		open_parts(&l);
		_exit(launch_serve(&l, &err) == 0 ? 0 : 1);
	}
	(void)close(ends[1]);
	(void)close(l.data_fd);
}

/* The server ends with the channel, and well. */
static inline void end(struct served *s)
{
	int status;

	(void)close(s->fd);
	assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	unit_remove_folder(s->folder);
}

static inline struct launch_answer ask_packet(struct served *s, struct span bytes,
                                              const struct wire_fds *fds, struct wire_fds *ret_fds)
{
	AUTO(buf_done) struct buf packet = BUF(4096);
	struct launch_answer answer;
	struct error err = {0};

	ret_fds->count = 0;
	assert_int_equal(wire_send_packet(s->fd, bytes, fds, deadline_after(5000), &err), 0);
	assert_int_equal(wire_receive_packet(s->fd, deadline_after(5000), &packet, ret_fds, &err),
	                 0);
	assert_int_equal(packet.size, sizeof(answer));
	memcpy(&answer, packet.data, sizeof(answer));
	assert_true(answer.err.code == ERROR_NONE || ret_fds->count == 0);
	return answer;
}

static inline struct launch_answer ask_bytes(struct served *s, struct span bytes, unsigned fd_count)
{
	struct wire_fds fds = {.count = fd_count}, got;
	struct launch_answer answer;

	for (unsigned i = 0; i < fd_count; i++)
		fds.fds[i] = STDERR_FILENO;
	answer = ask_packet(s, bytes, &fds, &got);
	wire_fds_close(&got);
	return answer;
}

static inline void add_request(struct buf *packet, unsigned kind, const void *request)
{
	const struct launch_head head = {.kind = kind};

	buf_add(packet, &head, sizeof(head));
	if (request)
		buf_add(packet, request, launch_request_size((enum launch_kind)kind));
}

static inline struct launch_answer ask(struct served *s, unsigned kind, const void *request,
                                       unsigned fd_count)
{
	AUTO(buf_done) struct buf packet = BUF(64 * 1024);

	add_request(&packet, kind, request);
	return ask_bytes(s, buf_span(&packet), fd_count);
}

/* With these descriptors. */
static inline struct launch_answer ask_with(struct served *s, unsigned kind, const void *request,
                                            const struct wire_fds *fds, struct wire_fds *ret_fds)
{
	AUTO(buf_done) struct buf packet = BUF(64 * 1024);

	add_request(&packet, kind, request);
	return ask_packet(s, buf_span(&packet), fds, ret_fds);
}

static inline void assert_refused(const struct launch_answer *answer, enum error_code code,
                                  const char *text)
{
	assert_int_equal(answer->err.code, code);
	assert_non_null(strstr(answer->err.text, text));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Interpreters that fork for each call, and are given its streams: see warm.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/connection.h"
#include "agent/tree.h"
#include "agent/warm_parts.h"
#include "base/clock.h"

#define START_MAX_MS 60000
#define SPARE_MAX_MS 5000
#define WAIT_MAX_MS 50 /* of a call, for a spare that is being forked */
#define NAMES_MAX (64 * 1024)

static void drop_spare(struct warm *w)
{
	watch_close(w->agent, &w->spare.watch);
	w->spare.reaper = w->spare.command = 0;
}

static int send_texts(struct warm *w, struct error *err)
{
	AUTO(buf_done) struct buf names = BUF(NAMES_MAX);

	buf_add_byte(&names, '\n'); /* an empty packet would be the end */
	for (const char **name = w->wish.imports; *name; name++)
		buf_addf(&names, "%s\n", *name);
	if (wire_send_packet(w->control.fd, span_of(w->language->script), NULL, 0, err) < 0)
		return -1;
	return wire_send_packet(w->control.fd, buf_span(&names), NULL, 0, err);
}

static void on_spare(struct agent *a, struct watch *watch, uint32_t events);

/* A spare reports first after its fork, which comes after all imports. */
static int ask_for_spare(struct warm *w, struct error *err)
{
	AUTO_CLOSE int theirs = -1;
	int pair[2], on = 1;
	struct wire_fds fds = {.count = 1};

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return FAIL_ERRNO(err, "make a socket pair");
	theirs = fds.fds[0] = pair[1];
	w->spare = (struct spare){.watch = {.fd = pair[0], .on_event = on_spare},
	                          .asked_ms = clock_monotonic_ms()};
	if (setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0 ||
	    fd_set_blocking(theirs, true, err) < 0 ||
	    wire_send_packet(w->control.fd, SPAN("F"), &fds, 0, err) < 0) {
		drop_spare(w);
		return -1;
	}
	watch_set(w->agent, &w->spare.watch, EPOLLIN);
	return 0;
}

static int open_start(struct warm *w, struct error *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return FAIL_ERRNO(err, "make a socket pair");
	w->control.fd = pair[0];
	w->spawn.fds[0] = pair[1];
	w->spawn.fds[1] = w->spawn.fds[2] = open("/dev/null", O_RDWR | O_CLOEXEC);
	return w->spawn.fds[1] < 0 ? FAIL_ERRNO(err, "open '/dev/null'") : 0;
}

static int fork_open(struct warm *w, struct error *err)
{
	w->spawn.keeps_none = true;
	return open_start(w, err) < 0 || send_texts(w, err) < 0 ? -1 : ask_for_spare(w, err);
}

static void next_spare(struct warm *w)
{
	struct error ignored;

	if (ask_for_spare(w, &ignored) < 0)
		warm_restart(w, true);
}

/* 1 = a message, sent by *ret; 0 = none yet; -1 = the end or an invalid message. */
static int hear_spare(struct spare *s, char *ret_word, struct ucred *ret)
{
	union {
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} control;
	char word[2];
	struct iovec data = {word, sizeof(word)};
	struct msghdr message = {.msg_iov = &data,
	                         .msg_iovlen = 1,
	                         .msg_control = &control,
	                         .msg_controllen = sizeof(control)};
	ssize_t got = recvmsg(s->watch.fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *item;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	item = CMSG_FIRSTHDR(&message);
	/* The kernel closes descriptors for which the message has no room. */
	if (got != 1 || message.msg_flags & (MSG_CTRUNC | MSG_TRUNC) || !item ||
	    item->cmsg_type != SCM_CREDENTIALS || item->cmsg_len != CMSG_LEN(sizeof(*ret)))
		return -1;
	*ret_word = word[0];
	memcpy(ret, CMSG_DATA(item), sizeof(*ret));
	return 1;
}

static bool is_child(pid_t pid, pid_t parent)
{
	struct tree_process process;

	return tree_look(pid, &process) && process.parent == parent && process.group == pid &&
	       process.session == pid;
}

/* A child keeps its number until the agent waits for it. */
static bool take_word(struct warm *w, char word, const struct ucred *from)
{
	struct spare *s = &w->spare;

	if (from->uid != w->user.uid || from->pid <= 0)
		return false;
	if (word == 'K' && !s->reaper) {
		s->reaper = from->pid;
		return is_child(from->pid, getpid()) && !warm_knows(w->agent, from->pid);
	}
	if (word != 'R' || !s->reaper || s->command || !is_child(from->pid, s->reaper))
		return false;
	s->command = from->pid;
	return true;
}

static void on_spare(struct agent *a, struct watch *watch, UNUSED uint32_t events)
{
	struct warm *w = CONTAINER_OF(watch, struct warm, spare.watch);
	struct ucred from;
	char word;
	int heard;

	while ((heard = hear_spare(&w->spare, &word, &from)) > 0) {
		if (!take_word(w, word, &from)) {
			warm_restart(w, true);
			return;
		}
	}
	if (heard < 0) {
		warm_restart(w, true);
		return;
	}
	if (watch->fd < 0 || !w->spare.command)
		return;
	w->has_served = true;
	connections_look_for_warm(a, clock_monotonic_ms(), true);
}

static bool fork_is_ready(const struct warm *w)
{
	return w->spare.command != 0;
}

static int64_t fork_is_coming_until(const struct warm *w)
{
	return w->has_served && w->spare.watch.fd >= 0 ? w->spare.asked_ms + WAIT_MAX_MS : 0;
}

/* The time by which the interpreter or a spare must have reported. */
static int64_t fork_latest_word(const struct warm *w)
{
	if (w->control.fd < 0 || w->spare.command)
		return DEADLINE_NEVER;
	return w->has_served ? w->spare.asked_ms + SPARE_MAX_MS : w->started_ms + START_MAX_MS;
}

static int send_order(struct warm *w, struct process *p, const char *code, struct error *err)
{
	AUTO_CLOSE int order = memfd_create("order", MFD_CLOEXEC);
	AUTO_CLOSE int token = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	struct wire_fds fds = {{order, token, p->spawn.fds[0], p->spawn.fds[1], p->spawn.fds[2]},
	                       5};

	if (order < 0 || token < 0)
		return FAIL_ERRNO(err, "make an order");
	if (warm_write_order(order, p->spawn.tty ? "1" : "0", p, code, err) < 0 ||
	    wire_send_packet(w->spare.watch.fd, SPAN("O"), &fds, 0, err) < 0)
		return -1;
	p->reaper = reaper_adopt(w->spare.reaper, w->spare.command, TAKE_FD(token));
	return 0;
}

static int fork_give(struct warm *w, struct process *p, const char *code, struct error *err)
{
	int status = send_order(w, p, code, err);

	drop_spare(w);
	next_spare(w);
	return status;
}

static bool fork_on_exit(struct warm *w, pid_t pid)
{
	if (w->spare.reaper != pid)
		return false;
	/* A process inside ended it, or the limit of processes is reached. */
	warm_restart(w, true);
	return true;
}

const struct way warm_fork = {
        .open = fork_open,
        .close = drop_spare,
        .is_ready = fork_is_ready,
        .is_coming_until = fork_is_coming_until,
        .latest_word = fork_latest_word,
        .give = fork_give,
        .on_exit = fork_on_exit,
        .flags = AGENT_EXEC_WARM | AGENT_EXEC_TTY | AGENT_EXEC_STDIN | AGENT_EXEC_DETACH |
                 AGENT_EXEC_END_ON_CLOSE | AGENT_EXEC_RESIDENT,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Interpreters that cannot fork: each is started ahead of its one call, with streams of its own,
 * and runs it. See warm.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/connection.h"
#include "agent/warm_parts.h"
#include "base/clock.h"

#define START_MAX_MS 60000
#define WAIT_MAX_MS 150 /* of a call, for one that is starting: it would have to start another */
#define TEXTS_MAX (256 * 1024)

enum { EXTRA_CONTROL, EXTRA_ORDER, EXTRA_TOKEN };

static void ahead_close(struct warm *w)
{
	struct ahead *h = &w->ahead;

	watch_close(w->agent, &h->in);
	for (int i = 0; i < 2; i++)
		watch_close(w->agent, &h->out[i]);
	for (unsigned i = 0; i < COUNT_OF(h->extra); i++)
		fd_forget(&h->extra[i]);
	h->ready = h->held = false;
}

/* Away from the numbers that they get in the command. */
static int move_descriptor_up(int fd, int *ret, struct error *err)
{
	AUTO_CLOSE int low = fd;

	*ret = fcntl(low, F_DUPFD_CLOEXEC, SPAWN_EXTRA_FIRST);
	return *ret < 0 ? FAIL_ERRNO(err, "move a descriptor") : 0;
}

static int open_extra(struct warm *w, struct error *err)
{
	int pair[2], order, token;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return FAIL_ERRNO(err, "make a socket pair");
	w->control.fd = pair[0];
	if (move_descriptor_up(pair[1], &w->ahead.extra[EXTRA_CONTROL], err) < 0)
		return -1;
	order = memfd_create("order", MFD_CLOEXEC);
	if (order < 0)
		return FAIL_ERRNO(err, "make an order");
	if (move_descriptor_up(order, &w->ahead.extra[EXTRA_ORDER], err) < 0)
		return -1;
	token = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	if (token < 0)
		return FAIL_ERRNO(err, "make a token");
	return move_descriptor_up(token, &w->ahead.extra[EXTRA_TOKEN], err);
}

static int open_stream(struct watch *ours, int *theirs, bool is_input, struct error *err)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return FAIL_ERRNO(err, "make a pipe");
	ours->fd = fds[is_input];
	*theirs = fds[!is_input];
	return fd_set_blocking(ours->fd, false, err);
}

/* Its program, the folder that modules are looked for from, their names. */
static int write_texts(const struct warm *w, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(TEXTS_MAX);
	int fd = w->ahead.extra[EXTRA_ORDER];

	buf_add(&text, w->language->script, strlen(w->language->script) + 1);
	buf_add_text(&text, w->wish.cwd[0] ? w->wish.cwd : "/");
	for (const char **name = w->wish.imports; *name; name++) {
		buf_add(&text, "", 1);
		buf_add_text(&text, *name);
	}
	if (text.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "more than %d bytes of names", TEXTS_MAX);
	return fd_write_all(fd, text.data, text.size, err);
}

static void on_control(struct agent *a, struct watch *watch, UNUSED uint32_t events)
{
	struct warm *w = CONTAINER_OF(watch, struct warm, control);
	char word;
	ssize_t got = recv(watch->fd, &word, 1, MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got != 1 || word != 'R' || w->ahead.ready) {
		warm_restart(w, true);
		return;
	}
	w->ahead.ready = w->has_served = true;
	w->ahead.took_ms = clock_monotonic_ms() - w->started_ms + 1;
	connections_look_for_warm(a, clock_monotonic_ms(), true);
}

static int ahead_open(struct warm *w, struct error *err)
{
	struct ahead *h = &w->ahead;

	if (open_extra(w, err) < 0 || open_stream(&h->in, &w->spawn.fds[0], true, err) < 0 ||
	    open_stream(&h->out[0], &w->spawn.fds[1], false, err) < 0 ||
	    open_stream(&h->out[1], &w->spawn.fds[2], false, err) < 0 || write_texts(w, err) < 0)
		return -1;
	w->spawn.extra = h->extra;
	w->spawn.extra_count = COUNT_OF(h->extra);
	w->control.on_event = on_control;
	watch_set(w->agent, &w->control, EPOLLIN);
	return 0;
}

static bool ahead_is_ready(const struct warm *w)
{
	return w->ahead.ready;
}

/* A call that arrives now is served as soon as the interpreter has started. */
static int64_t ahead_is_coming_until(const struct warm *w)
{
	int64_t took = w->ahead.took_ms;

	if (!w->reaper || w->control.fd < 0 || w->ahead.ready || w->ahead.held || took == 0 ||
	    took > WAIT_MAX_MS)
		return 0;
	return w->started_ms + took + took / 4;
}

static int64_t ahead_latest_word(const struct warm *w)
{
	if (w->control.fd < 0 || w->ahead.ready || w->ahead.held)
		return DEADLINE_NEVER;
	return w->started_ms + START_MAX_MS;
}

/* Output of modules while they load is no output of a call. */
static void discard_output(int fd)
{
	char bytes[4096];

	for (int i = 0; i < 64 && read(fd, bytes, sizeof(bytes)) > 0; i++)
		;
}

static void swap_stream(struct watch *ours, int *theirs, struct watch *made, int *made_theirs)
{
	auto_close(&ours->fd);
	auto_close(theirs);
	ours->fd = TAKE_FD(made->fd);
	*theirs = TAKE_FD(*made_theirs);
}

/* The interpreter's streams replace those that were made for the process. */
static void swap_streams(struct warm *w, struct process *p)
{
	struct ahead *h = &w->ahead;

	for (int i = 0; i < 2; i++)
		swap_stream(&p->out[i].watch, &p->spawn.fds[1 + i], &h->out[i],
		            &w->spawn.fds[1 + i]);
	if (p->in.fd >= 0)
		swap_stream(&p->in, &p->spawn.fds[0], &h->in, &w->spawn.fds[0]);
}

static int give_order(struct warm *w, const struct process *p, const char *code, struct error *err)
{
	int order = w->ahead.extra[EXTRA_ORDER];

	for (int i = 0; i < 2; i++)
		discard_output(w->ahead.out[i].fd);
	if (ftruncate(order, 0) < 0 || lseek(order, 0, SEEK_SET) < 0)
		return FAIL_ERRNO(err, "write an order");
	if (warm_write_order(order, p->in.fd >= 0 ? "1" : "0", p, code, err) < 0)
		return -1;
	return send(w->control.fd, "G", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1
	               ? 0
	               : FAIL_ERRNO(err, "give an order");
}

static int ahead_give(struct warm *w, struct process *p, const char *code, struct error *err)
{
	if (give_order(w, p, code, err) < 0) {
		warm_restart(w, true);
		return -1;
	}
	swap_streams(w, p);
	p->reaper = TAKE(w->reaper);
	reaper_continue(p->reaper); /* root inside may have stopped it while no list held it */
	reaper_await(p->reaper, TAKE_FD(w->ahead.extra[EXTRA_TOKEN]));
	warm_want(w);
	return 0;
}

static bool ahead_on_exit(UNUSED struct warm *w, UNUSED pid_t pid)
{
	return false;
}

const struct way warm_ahead = {
        .open = ahead_open,
        .close = ahead_close,
        .is_ready = ahead_is_ready,
        .is_coming_until = ahead_is_coming_until,
        .latest_word = ahead_latest_word,
        .give = ahead_give,
        .on_exit = ahead_on_exit,
        .flags = AGENT_EXEC_WARM | AGENT_EXEC_STDIN | AGENT_EXEC_DETACH | AGENT_EXEC_END_ON_CLOSE |
                 AGENT_EXEC_RESIDENT,
        .is_ahead = true,
};

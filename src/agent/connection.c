/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/connection.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "agent/job.h"
#include "agent/worker.h"
#include "base/clock.h"

#define READ_SIZE (16 * 1024)
#define ROOM_LOOK_MS 50 /* between two attempts to start a process for file messages */
#define IN_MAX (WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX + READ_SIZE)
#define OUT_MAX (4 * 1024 * 1024)
#define OUTPUT_HEAD_SIZE (WIRE_HEAD_SIZE + 16)

static void update_watch(struct connection *c)
{
	/* An attached connection is read even while output waits: a signal must get through. */
	bool reads = !c->worker && !c->held && !c->full && (c->attached || c->out.size == 0);
	uint32_t events = (reads ? EPOLLIN : 0) | (c->out.size ? EPOLLOUT : 0);

	if (c->watch.fd >= 0 && !c->corked && events != c->watch.events)
		watch_set(c->agent, &c->watch, events);
}

static void handle_later(struct connection *c)
{
	c->waiting = c->agent->has_waiting = true;
}

static ssize_t send_message(struct connection *c, struct iovec *pieces, size_t count)
{
	struct msghdr message = {.msg_iov = pieces, .msg_iovlen = count};
	ssize_t sent;

	if (c->watch.fd < 0)
		return -1;
	do
		sent = sendmsg(c->watch.fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent >= 0 || errno == EAGAIN)
		return sent > 0 ? sent : 0;
	connection_close(c);
	return -1;
}

/* Sends at once as much as the socket takes, and keeps the rest. */
static void send_pieces(struct connection *c, struct iovec *pieces, size_t count)
{
	bool was_empty = c->out.size == 0;
	ssize_t sent = !was_empty || c->corked ? 0 : send_message(c, pieces, count);
	size_t skip = sent > 0 ? (size_t)sent : 0;

	if (sent < 0)
		return;
	for (size_t i = 0; i < count; i++) {
		size_t gone = skip < pieces[i].iov_len ? skip : pieces[i].iov_len;

		buf_add(&c->out, (char *)pieces[i].iov_base + gone, pieces[i].iov_len - gone);
		skip -= gone;
	}
	if (was_empty && c->out.size)
		c->took_at = clock_monotonic_ms();
	if (c->out.overflowed)
		connection_close(c);
}

void connection_send(struct connection *c, uint16_t type, const struct wire_member *shape,
                     const void *message)
{
	AUTO(buf_done) struct buf frame = BUF(WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX);
	struct error err;

	if (wire_encode(&frame, type, shape, message, &err) < 0) {
		connection_close(c);
		return;
	}
	send_pieces(c, &(struct iovec){frame.data, frame.size}, 1);
	update_watch(c);
}

void connection_send_done(struct connection *c, uint64_t count)
{
	connection_send(c, AGENT_DONE, agent_done_shape, &(struct agent_done){.count = count});
}

int connection_send_done_with_fd(struct connection *c, int fd, struct error *err)
{
	AUTO(buf_done) struct buf frame = BUF(64);

	if (wire_encode(&frame, AGENT_DONE, agent_done_shape, &(struct agent_done){0}, err) < 0)
		return -1;
	if (c->out.size || c->corked)
		return FAIL(err, ERROR_UNAVAILABLE, "the connection is busy");
	return wire_send_with_fd(c->watch.fd, buf_span(&frame), fd, err);
}

void connection_send_failed(struct connection *c, const struct error *err)
{
	const struct agent_failed failed = agent_failed_of(err);

	connection_send(c, AGENT_FAILED, agent_failed_shape, &failed);
}

static void send_kept(struct connection *c)
{
	ssize_t sent = c->corked || c->out.size == 0
	                       ? 0
	                       : send_message(c, &(struct iovec){c->out.data, c->out.size}, 1);

	if (sent > 0) {
		buf_consume(&c->out, (size_t)sent);
		c->took_at = clock_monotonic_ms();
	}
	if (c->out.size == 0)
		buf_done(&c->out);
}

void connection_cork(struct connection *c)
{
	c->corked = true;
}

void connection_uncork(struct connection *c)
{
	c->corked = false;
	send_kept(c);
	connection_flush(c);
	update_watch(c);
}

/* The members of agent_output except the bytes, which are sent from the ring without a copy. */
static void put_output_head(unsigned char head[OUTPUT_HEAD_SIZE], uint32_t stream, uint64_t offset,
                            size_t size)
{
	wire_put_head(head, AGENT_OUTPUT, (uint32_t)(OUTPUT_HEAD_SIZE - WIRE_HEAD_SIZE + size));
	for (unsigned i = 0; i < 4; i++) {
		head[WIRE_HEAD_SIZE + i] = (unsigned char)(stream >> 8 * i);
		head[WIRE_HEAD_SIZE + 12 + i] = (unsigned char)(size >> 8 * i);
	}
	for (unsigned i = 0; i < 8; i++)
		head[WIRE_HEAD_SIZE + 4 + i] = (unsigned char)(offset >> 8 * i);
}

static bool send_output(struct connection *c, unsigned stream)
{
	struct ring *r = &c->process->out[stream].ring;
	unsigned char head[OUTPUT_HEAD_SIZE];
	struct span piece;

	if (c->next[stream] >= c->until[stream])
		return false;
	piece = ring_peek(r, &c->next[stream]);
	if (piece.size > AGENT_DATA_MAX)
		piece.size = AGENT_DATA_MAX;
	if (piece.size == 0)
		return false;
	put_output_head(head, AGENT_STDOUT + stream, c->next[stream], piece.size);
	c->next[stream] += piece.size;
	send_pieces(
	        c,
	        (struct iovec[]){{head, sizeof(head)}, {(void *)(uintptr_t)piece.data, piece.size}},
	        2);
	return true;
}

/* Bytes that cannot be sent at once stay in the ring, which blocks the process. */
static bool has_room(const struct connection *c)
{
	return c->out.size <= (c->corked ? AGENT_DATA_MAX : 0);
}

static bool has_sent_all(const struct connection *c)
{
	for (int i = 0; i < 2; i++)
		if (c->next[i] < c->until[i] && c->next[i] < c->process->out[i].ring.end)
			return false;
	return true;
}

static bool has_sent_until(const struct connection *c)
{
	return c->next[0] >= c->until[0] && c->next[1] >= c->until[1];
}

static void end_view(struct connection *c)
{
	struct agent_process info = process_info(c->process);
	bool over = c->process->over;

	connection_detach(c);
	if (over)
		connection_send(c, AGENT_EXIT, agent_process_shape, &info);
	else
		connection_send_done(c, 0);
	handle_later(c);
}

bool connection_is_stalled(const struct connection *c)
{
	return c->out.size && clock_monotonic_ms() - c->took_at >= CONNECTION_STALL_MS;
}

void connection_flush(struct connection *c)
{
	struct process *p = c->process;
	bool sent = true;

	if (!c->attached)
		return;
	/* Any send may find that the peer has left; then the connection and its view end. */
	while (sent && c->watch.fd >= 0 && has_room(c)) {
		sent = send_output(c, 0);
		if (c->watch.fd >= 0)
			sent |= send_output(c, 1);
	}
	if (c->watch.fd < 0)
		return;
	process_resume(p);
	if (has_sent_all(c) && (p->over || has_sent_until(c)))
		end_view(c);
	update_watch(c);
}

void connection_attach(struct connection *c, struct process *p)
{
	c->process = p;
	c->attached = true;
	list_append(&p->viewers, &c->viewer);
}

void connection_detach(struct connection *c)
{
	struct process *p = TAKE(c->process);

	list_remove(&c->viewer);
	c->attached = c->ends_process = c->read_only = c->held = false;
	if (p)
		process_resume(p);
}

void connection_on_started(struct connection *c)
{
	struct process *p = c->process;
	struct agent_process info = process_info(p);

	connection_send(c, AGENT_STARTED, agent_process_shape, &info);
	if (c->watch.fd < 0)
		return;
	if (c->detached_start) {
		connection_detach(c);
		connection_send_done(c, 0);
	} else {
		c->held = false;
		connection_attach(c, p);
		connection_flush(c);
	}
	handle_later(c);
}

void connection_on_lost(struct connection *c, const struct error *err)
{
	connection_detach(c);
	connection_send_failed(c, err);
	handle_later(c);
}

static void wait_for_room(struct connection *c)
{
	struct agent *a = c->agent;

	c->held = true;
	if (a->standby.look_at == DEADLINE_NEVER)
		a->standby.look_at = deadline_after(ROOM_LOOK_MS);
}

/* Hands the connection to a worker, with all bytes that were read. */
static int hand_to_worker(struct connection *c, struct span bytes)
{
	struct error err;
	int started = 0;

	c->held = c->process != NULL;
	if (!c->held)
		started = worker_start(c, bytes, &err);
	if (started < 0) {
		c->room_until = 0;
		connection_send_failed(c, &err);
		return 1;
	}
	if (!c->held && started == 0)
		wait_for_room(c);
	return 0;
}

/* Leaves in *bytes the bytes that could not be consumed yet. */
static int take_frames(struct connection *c, struct span *bytes, struct error *err)
{
	while (c->watch.fd >= 0 && !c->worker) {
		struct span rest = *bytes, payload;
		uint16_t type;
		int result = wire_next(&rest, &type, &payload, NULL, err);

		if (result > 0 && worker_serves(type))
			result = hand_to_worker(c, *bytes);
		else if (result > 0)
			result = request_run(c, type, payload, err);
		if (result <= 0)
			return result;
		*bytes = rest;
	}
	return 0;
}

static void keep_rest(struct connection *c, struct span bytes)
{
	if (c->in.size)
		buf_consume(&c->in, c->in.size - bytes.size);
	else
		buf_add_span(&c->in, bytes);
	if (c->in.size == 0)
		buf_wipe(&c->in);
}

void connection_handle(struct connection *c, struct span bytes)
{
	struct error err;

	if (c->watch.fd < 0 || c->worker)
		return;
	if (c->in.size) {
		buf_add_span(&c->in, bytes);
		bytes = buf_span(&c->in);
	}
	if (take_frames(c, &bytes, &err) < 0) {
		connection_send_failed(c, &err);
		connection_close(c);
	}
	if (c->worker)
		bytes.size = 0; /* the worker has it */
	keep_rest(c, bytes);
	update_watch(c);
}

static void receive_bytes(struct connection *c)
{
	char bytes[READ_SIZE];
	ssize_t got = recv(c->watch.fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (got > 0) {
		connection_handle(c, (struct span){bytes, (size_t)got});
		explicit_bzero(bytes, (size_t)got);
	} else if (got == 0 || (errno != EAGAIN && errno != EINTR))
		connection_close(c);
}

static void on_event(struct agent *a, struct watch *w, uint32_t events)
{
	struct connection *c = CONTAINER_OF(w, struct connection, watch);

	if (c->worker) {
		worker_stop(c);
		watch_pause(a, w);
		return;
	}
	if (events & EPOLLOUT && c->out.size) {
		send_kept(c);
		connection_flush(c);
		update_watch(c);
	}
	if (w->fd >= 0 && events & EPOLLIN && w->events & EPOLLIN)
		receive_bytes(c);
	else if (w->fd >= 0 && events & (EPOLLHUP | EPOLLERR))
		connection_close(c);
}

void connection_accept(struct agent *a, int fd)
{
	struct connection *c;

	if (a->connection_count >= CONNECTIONS_MAX) {
		auto_close(&fd);
		return;
	}
	c = memory_new(sizeof(*c));
	c->agent = a;
	c->watch = (struct watch){.fd = fd, .on_event = on_event};
	c->in = BUF(IN_MAX);
	c->out = BUF(OUT_MAX);
	list_init(&c->viewer);
	list_append(&a->connections, &c->item);
	a->connection_count++;
	update_watch(c);
}

void connection_close(struct connection *c)
{
	struct process *p = c->process;

	if (c->watch.fd < 0)
		return;
	watch_close(c->agent, &c->watch);
	if (p && p->starter == c)
		p->starter = NULL;
	if (p && c->ends_process)
		process_kill_tree(p);
	connection_detach(c);
	list_remove(&c->item);
	list_append(&c->agent->closed, &c->item);
	assert(c->agent->connection_count > 0);
	c->agent->connection_count--;
}

void connection_free_closed(struct agent *a)
{
	LIST_EACH (&a->closed, struct connection, c, item) {
		list_remove(&c->item);
		buf_wipe(&c->in);
		buf_done(&c->out);
		job_free(c->job);
		free(c);
	}
}

void connections_resume(struct agent *a, struct process *p)
{
	LIST_EACH (&a->connections, struct connection, c, item) {
		if (c->full != p)
			continue;
		c->full = NULL;
		handle_later(c);
	}
}

void connections_tell_end(struct process *p)
{
	LIST_EACH (&p->agent->connections, struct connection, c, item) {
		if (c->awaited != p->info.process)
			continue;
		c->awaited = 0;
		connection_send(c, AGENT_PROCESS, agent_process_shape, &p->info);
		connection_send_done(c, 0);
		if (p->job)
			p->job->is_told = true;
	}
}

void connections_tell_lost(struct process *p, const struct error *err)
{
	LIST_EACH (&p->agent->connections, struct connection, c, item) {
		if (c->awaited != p->info.process)
			continue;
		c->awaited = 0;
		connection_send_failed(c, err);
	}
}

void connections_look_for_warm(struct agent *a, int64_t now, bool there_is_one)
{
	LIST_EACH (&a->connections, struct connection, c, item) {
		if (c->patience == 0 || (!there_is_one && c->patience > now))
			continue;
		c->held = false;
		handle_later(c);
	}
}

int64_t connections_next_patience(struct agent *a)
{
	int64_t first = DEADLINE_NEVER;

	LIST_EACH (&a->connections, const struct connection, c, item)
		if (c->patience > 0 && c->patience < first)
			first = c->patience;
	return first;
}

static struct connection *find_longest_waiting(struct agent *a)
{
	struct connection *found = NULL;

	LIST_EACH (&a->connections, struct connection, c, item)
		if (c->room_until > 0 && (!found || c->room_until < found->room_until))
			found = c;
	return found;
}

void connections_look_for_room(struct agent *a, int64_t now)
{
	struct connection *first = find_longest_waiting(a);

	a->standby.look_at = first ? now + ROOM_LOOK_MS : DEADLINE_NEVER;
	LIST_EACH (&a->connections, struct connection, c, item) {
		if (c->room_until == 0 || (c != first && c->room_until > now))
			continue;
		c->held = false;
		handle_later(c);
	}
}

void connections_handle_waiting(struct agent *a)
{
	while (a->has_waiting) {
		a->has_waiting = false;
		LIST_EACH (&a->connections, struct connection, c, item) {
			if (c->waiting) {
				c->waiting = false;
				connection_handle(c, (struct span){NULL, 0});
			}
		}
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "agent/connection.h"
#include "agent/mask.h"
#include "agent/process.h"
#include "base/clock.h"
#include "wire/agent_secrets.h"

#define READS_AT_ONCE 8
#define DRAIN_READS_MAX 64
#define MASKED_READ_MAX ((size_t)16 * 1024)
#define END_OF_TRANSMISSION "\x04" /* what ^D types */

static void write_stdin(struct process *p)
{
	while (p->in.fd >= 0 && p->stdin_bytes.size) {
		ssize_t wrote = write(p->in.fd, p->stdin_bytes.data, p->stdin_bytes.size);

		if (wrote > 0)
			buf_consume(&p->stdin_bytes, (size_t)wrote);
		else if (wrote < 0 && errno == EAGAIN)
			break;
		else if (wrote < 0 && errno != EINTR)
			watch_close(p->agent, &p->in); /* the pipe has no reader any more */
	}
	if (p->in.fd < 0)
		buf_done(&p->stdin_bytes);
	if (p->stdin_bytes.size == 0) {
		buf_done(&p->stdin_bytes);
		if (p->stdin_ends)
			watch_close(p->agent, &p->in);
	}
	if (p->in.fd >= 0)
		watch_set(p->agent, &p->in, p->stdin_bytes.size ? EPOLLOUT : 0);
}

static void on_stdin(struct agent *a, struct watch *w, uint32_t events)
{
	struct process *p = CONTAINER_OF(w, struct process, in);

	/* No process holds the other end: nothing more will ever be read. */
	if (events & (EPOLLERR | EPOLLHUP))
		watch_close(a, w);
	write_stdin(p);
	if (!process_stdin_is_full(p))
		connections_resume(a, p);
}

void process_open_stdin(struct process *p)
{
	p->in.on_event = on_stdin;
	if (p->pty >= 0 && p->stdin_ends) {
		buf_add_text(&p->stdin_bytes, END_OF_TRANSMISSION);
		p->stdin_ends = false;
	}
	write_stdin(p);
}

bool process_stdin_is_full(const struct process *p)
{
	return p->stdin_bytes.size >= PROCESS_STDIN_MAX;
}

void process_feed(struct process *p, struct span bytes)
{
	if (p->in.fd < 0 || p->stdin_ends)
		return; /* as a write to a closed pipe: the bytes have no reader */
	process_touch(p);
	buf_add_span(&p->stdin_bytes, bytes);
	write_stdin(p);
}

void process_end_stdin(struct process *p)
{
	if (p->pty >= 0) {
		process_feed(p, SPAN(END_OF_TRANSMISSION));
		return;
	}
	p->stdin_ends = true;
	write_stdin(p);
}

/* A terminal that continues without viewers also continues for a viewer that reads nothing,
 * because others use it. A caller that waits for a command's output gets all of it. */
static bool waits_for_nobody(const struct process *p)
{
	const uint32_t flags = AGENT_EXEC_TTY | AGENT_EXEC_DETACH;

	return (p->info.flags & flags) == flags;
}

/* Bytes that the slowest reader has not received must not be overwritten. */
static uint64_t floor_of(const struct process *p, unsigned stream)
{
	uint64_t floor =
	        p->starter
	                ? 0
	                : UINT64_MAX; /* the caller that started the process reads from the start */

	LIST_EACH (&p->viewers, const struct connection, c, viewer) {
		uint64_t next = c->next[stream];

		if (next < floor && !(waits_for_nobody(p) && connection_is_stalled(c)))
			floor = next;
	}
	return floor;
}

static void forget_an_ended_one(struct agent *a, const struct process *reading)
{
	LIST_EACH (&a->processes, struct process, p, item) {
		if (p != reading && p->over && list_is_empty(&p->viewers)) {
			assert(a->ring_bytes >= p->out[0].ring.capacity + p->out[1].ring.capacity);
			a->ring_bytes -= p->out[0].ring.capacity + p->out[1].ring.capacity;
			ring_done(&p->out[0].ring);
			ring_done(&p->out[1].ring);
			process_forget(p);
			return;
		}
	}
}

static void grow_ring(struct process *p, struct ring *r)
{
	struct agent *a = p->agent;
	/* A mask needs room for all that it keeps back. */
	size_t wanted = p->mask ? r->capacity_max : ring_wants(r);
	size_t more = wanted - r->capacity;

	assert(wanted >= r->capacity);
	if (more == 0)
		return;
	if (a->ring_bytes + more > PROCESS_RINGS_MAX)
		forget_an_ended_one(a, p);
	if (a->ring_bytes + more > PROCESS_RINGS_MAX && r->capacity)
		return;
	ring_resize(r, wanted);
	a->ring_bytes += more;
}

void process_trim(struct process *p)
{
	for (int i = 0; i < 2; i++) {
		struct ring *r = &p->out[i].ring;

		assert(p->agent->ring_bytes >= r->capacity);
		p->agent->ring_bytes -= r->capacity - ring_used(r);
		ring_resize(r, ring_used(r));
	}
}

static void flush_viewers(struct process *p)
{
	LIST_EACH (&p->viewers, struct connection, c, viewer)
		connection_flush(c);
}

/* Reads at most what fits with all that the mask keeps back. */
static ssize_t fill_masked(struct process *p, struct channel *c, uint64_t floor)
{
	char bytes[MASKED_READ_MAX];
	size_t kept = secret_mask_kept(p->mask), room = ring_room(&c->ring, kept + 1, floor);
	AUTO(buf_done) struct buf shown = BUF(sizeof(bytes) + AGENT_SECRET_VALUE_MAX);
	ssize_t got;

	if (room <= kept) {
		errno = ENOBUFS;
		return -1;
	}
	room -= kept;
	got = read(c->watch.fd, bytes, room < sizeof(bytes) ? room : sizeof(bytes));
	if (got > 0)
		secret_mask_add(p->mask, (struct span){bytes, (size_t)got}, &shown);
	else if (got == 0 || (errno != EAGAIN && errno != EINTR))
		secret_mask_end(p->mask, &shown);
	explicit_bzero(bytes, sizeof(bytes));
	ring_add(&c->ring, buf_span(&shown));
	return got;
}

static ssize_t fill_ring(struct process *p, struct channel *c)
{
	uint64_t floor = floor_of(p, (unsigned)(c - p->out));

	return p->mask ? fill_masked(p, c, floor) : ring_fill(&c->ring, c->watch.fd, floor);
}

static void tell_output(struct process *p, unsigned stream)
{
	if (p->info.output_end[stream] == p->out[stream].ring.end)
		return;
	p->info.output_end[stream] = p->out[stream].ring.end;
	flush_viewers(p);
}

/* 1 = bytes were read; 0 = no bytes are ready, or the stream has ended. */
static int read_some(struct channel *c)
{
	struct process *p = c->process;
	unsigned stream = (unsigned)(c - p->out);
	ssize_t got;
	int code;

	if (c->watch.fd < 0)
		return 0;
	grow_ring(p, &c->ring);
	do
		got = fill_ring(p, c);
	while (got < 0 && errno == EINTR);
	code = errno;
	tell_output(p, stream);
	if (got > 0) {
		process_touch(p);
		return 1;
	}
	if (got < 0 && code == ENOBUFS) {
		watch_pause(p->agent, &c->watch);
		if (waits_for_nobody(p))
			p->look_again_at = deadline_after(CONNECTION_STALL_MS);
	} else if (got == 0 || code != EAGAIN) {
		watch_close(p->agent, &c->watch); /* a terminal ends with EIO */
	}
	return 0;
}

static void on_output(UNUSED struct agent *a, struct watch *w, UNUSED uint32_t events)
{
	struct channel *c = CONTAINER_OF(w, struct channel, watch);
	struct process *p = c->process;

	process_look_for_start(p);
	for (int i = 0; i < READS_AT_ONCE && read_some(c) > 0; i++)
		;
	/* Reads the remaining output after the end of the main process. */
	if (!p->reaper && !p->over && process_output_has_ended(p))
		p->over_at = 0;
}

void process_watch_output(struct process *p)
{
	for (int i = 0; i < 2; i++) {
		p->out[i].watch.on_event = on_output;
		if (p->out[i].watch.fd >= 0)
			watch_set(p->agent, &p->out[i].watch, EPOLLIN);
	}
}

void process_resume(struct process *p)
{
	p->look_again_at = DEADLINE_NEVER;
	for (unsigned i = 0; i < 2; i++)
		if (p->out[i].watch.fd >= 0 && !(p->out[i].watch.events & EPOLLIN))
			watch_set(p->agent, &p->out[i].watch, EPOLLIN);
}

/* Bounded, because a remaining child may write without an end. */
void process_drain(struct process *p)
{
	for (int i = 0; i < 2; i++)
		for (int reads = 0; reads < DRAIN_READS_MAX && read_some(&p->out[i]) > 0; reads++)
			;
}

bool process_output_is_held(const struct process *p)
{
	for (int i = 0; i < 2; i++)
		if (p->out[i].watch.fd >= 0 && !(p->out[i].watch.events & EPOLLIN))
			return true;
	return false;
}

bool process_output_has_ended(const struct process *p)
{
	return p->out[0].watch.fd < 0 && p->out[1].watch.fd < 0;
}

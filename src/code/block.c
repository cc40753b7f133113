/* SPDX-License-Identifier: Apache-2.0 */
#include "code/block.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "code/locks.h"

#define MESSAGE_MS 5000 /* of what was begun */
#define GRACE_MS 5000   /* from an interrupt until the kernel is ended */

struct running {
	const struct code_at *at;
	const struct code_block *block;
	int fd;
	struct buf payload;
	struct arena arena;
	struct code_reader reader;
	struct code_ended ended;
	struct error why; /* of an interrupt that was not for the time */
	int64_t begun_at, until;
	bool is_started, is_interrupted, is_killed, is_over;
};

static void running_done(struct running *r)
{
	if (r->fd >= 0)
		(void)close(r->fd);
	buf_done(&r->payload);
	arena_done(&r->arena);
	code_reader_done(&r->reader);
}

static int send_request(struct running *r, const char *nonce, struct error *err)
{
	AUTO(buf_done) struct buf request = BUF(WIRE_PAYLOAD_MAX);
	AUTO(buf_done) struct buf frame = BUF(WIRE_PAYLOAD_MAX + WIRE_HEAD_SIZE);

	code_write_request(&request, &(struct code_request){
	                                     .language = r->block->context->language,
	                                     .nonce = nonce,
	                                     .code = r->block->code,
	                                     .env = r->block->env,
	                             });
	wire_add_frame(&frame, AGENT_STDIN, buf_span(&request));
	return wire_send(r->fd, buf_span(&frame), deadline_in(MESSAGE_MS), err);
}

static int send_signal(struct running *r, uint32_t number, bool whole_tree, struct error *err)
{
	const struct agent_signal signal = {.signal = number, .whole_tree = whole_tree};
	AUTO(buf_done) struct buf frame = BUF(1024);

	if (wire_encode(&frame, AGENT_SIGNAL, agent_signal_shape, &signal, err) < 0)
		return -1;
	return wire_send(r->fd, buf_span(&frame), deadline_in(MESSAGE_MS), err);
}

/* Its time is over, or nobody wants it any more; then that has not helped. */
static int hurry(struct running *r, struct error *err)
{
	if (r->is_killed)
		return FAIL(err, ERROR_TIMEOUT, "the interpreter does not end");
	r->until = deadline_in(GRACE_MS);
	if (r->is_interrupted) {
		r->is_killed = true;
		return send_signal(r, SIGKILL, true, err);
	}
	r->is_interrupted = true;
	return send_signal(r, SIGINT, false, err);
}

static int take(struct running *r, uint16_t type, struct error *err)
{
	struct agent_output o;

	arena_reset(&r->arena);
	if (type == AGENT_FAILED)
		return compute_failed(buf_span(&r->payload), err);
	if (type == AGENT_STARTED && !r->is_started) {
		r->is_started = true;
		return send_request(r, r->reader.nonce, err);
	}
	if (type == AGENT_OUTPUT && r->is_started) {
		if (wire_decode(&r->arena, buf_span(&r->payload), agent_output_shape, &o, sizeof(o),
		                err) < 0)
			return -1;
		code_reader_feed(&r->reader, o.stream == AGENT_STDERR ? AGENT_STDERR : AGENT_STDOUT,
		                 o.bytes);
		r->is_over = code_reader_is_over(&r->reader);
		return 0;
	}
	if (type != AGENT_EXIT || !r->is_started)
		return FAIL(err, ERROR_SYSTEM, "the agent sent message %u out of place", type);
	r->is_over = r->ended.has_lost_kernel = true;
	return wire_decode(&r->arena, buf_span(&r->payload), agent_process_shape, &r->ended.kernel,
	                   sizeof(r->ended.kernel), err);
}

static int step(struct running *r, struct error *err)
{
	const struct cancel *cancel = r->is_interrupted ? NULL : r->block->cancel;
	uint16_t type;
	int ready = cancel_wait(cancel, r->fd, POLLIN, r->until, err);

	if (ready < 0 && cancel && cancel_is_said(cancel)) {
		r->why = *err;
		return hurry(r, err);
	}
	if (ready < 0)
		return -1;
	if (ready == 0) {
		r->ended.timed_out = r->ended.timed_out || !r->is_interrupted;
		return hurry(r, err);
	}
	if (wire_receive(r->fd, deadline_in(MESSAGE_MS), &type, &r->payload, err) < 0)
		return FAIL_CONTEXT(err, "agent");
	return take(r, type, err);
}

static int attach(struct running *r, struct error *err)
{
	const struct code_context *c = r->block->context;
	const struct agent_attach attach = {
	        .process = c->process,
	        .since = {c->output_end[0], c->output_end[1]},
	        .until_end = 1,
	};
	const struct compute_request request = {AGENT_ATTACH, agent_attach_shape, &attach};

	return compute_open(r->at->hold->provider, r->at->hold->id, &request, r->at->deadline,
	                    &r->fd, err);
}

int code_block_run(const struct code_at *at, const struct code_block *block, struct code_ended *ret,
                   struct error *err)
{
	AUTO(code_unlock) struct code_lock lock = {.contexts = NULL};
	AUTO(running_done)
	struct running r = {.at = at, .block = block, .fd = -1, .payload = BUF(WIRE_PAYLOAD_MAX)};
	char nonce[CODE_NONCE_SIZE];

	code_new_nonce(nonce);
	code_reader_init(&r.reader, nonce);
	r.reader.on_event = block->on_event;
	r.reader.context = block->on_event_context;
	if (code_lock_take(at, block->context->process, &lock, err) < 0 || attach(&r, err) < 0)
		return -1;
	r.begun_at = clock_monotonic_ms();
	r.until = r.begun_at + block->timeout_ms;
	while (!r.is_over)
		if (step(&r, err) < 0)
			return -1;
	r.ended.duration_ms = clock_monotonic_ms() - r.begun_at;
	if (r.why.code != ERROR_NONE) {
		*err = r.why;
		return -1;
	}
	*ret = r.ended;
	return 0;
}

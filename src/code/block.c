/* SPDX-License-Identifier: Apache-2.0 */
#include "code/block.h"

#include <signal.h>

#include "base/clock.h"
#include "code/locks.h"
#include "provider/agent_reader.h"
#include "provider/command_ends.h"
#include "provider/compute.h"
#include "fleet/core/fleet_hold.h"

#define MESSAGE_MS 5000 /* of what was begun */
#define GRACE_MS 5000   /* from an interrupt until the kernel is ended */
#define SETTLE_MS 50    /* from the begin of a block to its interrupt */
#define AGAIN_MS 500    /* between two interrupts of an abandoned block */

/* An interrupt is sent only to a block that has begun. It would end a kernel that is starting, and
 * a kernel that has not read the block ignores it. Node changes its signal handlers at the
 * beginning of a block; an interrupt during that change would end it. */
enum block_stage {
	STAGE_WANTED,
	STAGE_UNWANTED, /* to be interrupted once it has begun and settled */
	STAGE_INTERRUPTED,
	STAGE_KILLED,
};

struct running_block {
	const struct code_at *at;
	const struct code_block *block;
	struct agent_reader agent;
	struct arena arena;
	struct code_reader reader;
	struct code_ended ended;
	struct error why; /* of an interrupt that was not for the time */
	enum block_stage stage;
	int64_t sent_at, begun_at; /* monotonic; 0 = not yet */
	int64_t until;             /* of the stage */
	bool is_started, is_over;
};

static void running_done(struct running_block *r)
{
	/* It stays attached to the kernel: no connection for another request. */
	r->agent.has_ended = false;
	agent_reader_done(&r->agent);
	arena_done(&r->arena);
	code_reader_done(&r->reader);
}

static int send_request(struct running_block *r, const char *nonce, struct error *err)
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
	return wire_send(r->agent.fd, buf_span(&frame), deadline_after(MESSAGE_MS), err);
}

static int send_signal(struct running_block *r, uint32_t number, bool whole_tree, struct error *err)
{
	const struct agent_signal signal = {.signal = number, .whole_tree = whole_tree};
	AUTO(buf_done) struct buf frame = BUF(1024);

	if (wire_encode(&frame, AGENT_SIGNAL, agent_signal_shape, &signal, err) < 0)
		return -1;
	return wire_send(r->agent.fd, buf_span(&frame), deadline_after(MESSAGE_MS), err);
}

static void on_event(void *context, const struct code_event *event)
{
	struct running_block *r = context;

	if (event->kind == CODE_BEGIN) {
		r->begun_at = clock_monotonic_ms();
		if (r->stage == STAGE_UNWANTED)
			r->until = r->begun_at + SETTLE_MS;
	}
	if (r->block && r->block->on_event)
		r->block->on_event(r->block->on_event_context, event);
}

/* Next step when the time is over or the caller has gone: interrupt, then kill, then fail. */
static int hurry_block(struct running_block *r, struct error *err)
{
	int64_t now = clock_monotonic_ms();

	if (r->stage == STAGE_KILLED)
		return FAIL(err, ERROR_TIMEOUT, "the interpreter does not end");
	if (r->stage == STAGE_WANTED) {
		r->stage = STAGE_UNWANTED;
		r->until = r->begun_at > 0 ? r->begun_at + SETTLE_MS : now + GRACE_MS;
		return 0;
	}
	r->until = now + GRACE_MS;
	if (r->stage == STAGE_UNWANTED && r->begun_at > 0) {
		r->stage = STAGE_INTERRUPTED;
		return send_signal(r, SIGINT, false, err);
	}
	r->stage = STAGE_KILLED;
	return send_signal(r, SIGKILL, true, err);
}

static int take_message(struct running_block *r, struct error *err)
{
	const struct span payload = buf_span(&r->agent.payload);
	uint16_t type = r->agent.type;
	struct agent_output o;

	arena_reset(&r->arena);
	if (type == AGENT_STARTED && !r->is_started) {
		r->is_started = true;
		r->ended.began = clock_unix_ms();
		return r->block ? send_request(r, r->reader.nonce, err) : 0;
	}
	if (type == AGENT_OUTPUT && r->is_started) {
		if (wire_decode(&r->arena, payload, agent_output_shape, &o, sizeof(o), err) < 0)
			return -1;
		code_reader_feed(&r->reader, o.stream == AGENT_STDERR ? AGENT_STDERR : AGENT_STDOUT,
		                 o.bytes);
		r->is_over = code_reader_is_over(&r->reader);
		return 0;
	}
	if (type != AGENT_EXIT || !r->is_started)
		return agent_reader_refuse(&r->agent, err);
	r->is_over = r->ended.has_lost_kernel = true;
	if (wire_decode(&r->arena, payload, agent_process_shape, &r->ended.kernel,
	                sizeof(r->ended.kernel), err) < 0)
		return -1;
	command_ends_note(r->at->hold->id, &r->ended.kernel);
	return 0;
}

static int run_step(struct running_block *r, struct error *err)
{
	const struct cancel *cancel = r->stage == STAGE_WANTED ? r->block->cancel : NULL;
	int ready;

	r->agent.limits.cancel = cancel;
	ready = agent_reader_wait(&r->agent, r->until, err);
	/* A started block is read to its end, because the interrupt uses the same connection. */
	r->agent.limits.cancel = NULL;
	if (ready < 0 && cancel && cancel_is_said(cancel)) {
		/* A block that was not sent needs no end. */
		if (!r->is_started)
			return -1;
		r->why = *err;
		error_clear(err);
		return hurry_block(r, err);
	}
	if (ready < 0)
		return -1;
	if (ready == 0) {
		r->ended.timed_out = r->ended.timed_out || r->stage == STAGE_WANTED;
		return hurry_block(r, err);
	}
	return agent_reader_next(&r->agent, err) < 0 ? -1 : take_message(r, err);
}

static int attach_to_kernel(struct running_block *r, uint64_t process, const uint64_t since[2],
                            struct error *err)
{
	const struct agent_attach attach_to_kernel = {
	        .process = process,
	        .since = {since[0], since[1]},
	        .until_end = 1,
	};
	const struct compute_request request = {AGENT_ATTACH, agent_attach_shape, &attach_to_kernel,
	                                        NULL};
	const struct agent_limits limits = {.deadline = DEADLINE_NEVER, .frame_ms = MESSAGE_MS};
	const struct fleet_hold *hold = r->at->hold;
	int fd;

	if (compute_open(hold->provider, hold->id, &request, r->at->deadline, &fd, err) < 0)
		return -1;
	/* Each stage of the block has a deadline of its own. */
	agent_reader_init(&r->agent, hold->provider, hold->id, &limits);
	agent_reader_adopt(&r->agent, fd, AGENT_ATTACH);
	return 0;
}

/* Waits until the agent has handled every request of this connection. Otherwise an interrupt that
 * was sent as the block ended could reach the next block. */
static int await_done(struct running_block *r, struct error *err)
{
	AUTO(buf_done) struct buf frame = BUF(64);

	if (r->ended.has_lost_kernel)
		return 0;
	r->agent.limits.deadline = deadline_after(MESSAGE_MS);
	if (wire_encode(&frame, AGENT_DETACH, NULL, NULL, err) < 0 ||
	    agent_reader_send(&r->agent, buf_span(&frame), err) < 0)
		return -1;
	while (!r->agent.has_ended)
		if (agent_reader_next(&r->agent, err) < 0)
			return -1;
	return 0;
}

/* The kernel keeps running, so no end of a process reports the timeout. */
static void note_timeout(const struct code_at *at, uint64_t process, const struct code_ended *ended)
{
	command_ends_note(at->hold->id, &(struct agent_process){
	                                        .process = process,
	                                        .state = AGENT_PROCESS_ENDED,
	                                        .exit_code = 1,
	                                        .timed_out = 1,
	                                        .started_unix_ms = (uint64_t)ended->began,
	                                        .duration_ms = (uint64_t)ended->duration_ms,
	                                });
}

int code_block_run(const struct code_at *at, const struct code_block *block, struct code_ended *ret,
                   struct error *err)
{
	AUTO(code_unlock) struct code_lock lock = {.contexts = NULL};
	AUTO(running_done)
	struct running_block r = {.at = at, .block = block};
	const struct code_context *c = block->context;
	char nonce[CODE_NONCE_SIZE];

	code_new_nonce(nonce);
	code_reader_init(&r.reader, nonce);
	r.reader.on_event = on_event;
	r.reader.context = &r;
	if (code_lock_take(at, c->process, &lock, err) < 0 ||
	    attach_to_kernel(&r, c->process, c->output_end, err) < 0)
		return -1;
	r.sent_at = clock_monotonic_ms();
	r.until = r.sent_at + block->timeout_ms;
	while (!r.is_over)
		if (run_step(&r, err) < 0)
			return -1;
	r.ended.duration_ms = clock_monotonic_ms() - r.sent_at;
	if (r.ended.timed_out)
		note_timeout(at, c->process, &r.ended);
	if (r.stage == STAGE_INTERRUPTED && await_done(&r, err) < 0)
		return -1;
	if (r.why.code != ERROR_NONE) {
		*err = r.why;
		return -1;
	}
	*ret = r.ended;
	return 0;
}

static int press_interrupt(struct running_block *r, struct error *err)
{
	int64_t until = deadline_after(AGAIN_MS);
	int ready;

	if (r->begun_at > 0 && send_signal(r, SIGINT, false, err) < 0)
		return -1;
	do {
		bool had_begun = r->begun_at > 0;

		ready = agent_reader_wait(&r->agent, until, err);
		if (ready <= 0)
			return ready;
		if (agent_reader_next(&r->agent, err) < 0 || take_message(r, err) < 0)
			return -1;
		if (!had_begun && r->begun_at > 0)
			until = deadline_after(SETTLE_MS);
	} while (!r->is_over && clock_monotonic_ms() < until); /* there may always be more */
	return 0;
}

int code_block_end(const struct code_at *at, const struct code_sent *sent, struct error *err)
{
	AUTO(running_done)
	struct running_block r = {.at = at};
	int64_t now;

	code_reader_init(&r.reader, sent->nonce);
	r.reader.on_event = on_event;
	r.reader.context = &r;
	if (attach_to_kernel(&r, sent->process, sent->since, err) < 0)
		return -1;
	while (!r.is_over) {
		now = clock_monotonic_ms();
		if (now >= at->deadline || (r.begun_at > 0 && now - r.begun_at >= GRACE_MS))
			return FAIL(err, ERROR_TIMEOUT, "the block heeds no interrupt");
		if (press_interrupt(&r, err) < 0)
			return -1;
	}
	return await_done(&r, err);
}

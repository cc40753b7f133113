/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/agent_reader.h"

#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/fd.h"
#include "provider/agent_health.h"
#include "wire/agent.h"

/* Limit of an answer that is no stream. With the size of a message it bounds the memory that an
 * agent can make the server use for a call. */
#define FRAMES_MAX 200000
#define BYTES_MAX ((uint64_t)64 << 20)
/* Members of agent_output before its bytes: stream, offset, size. */
#define OUTPUT_HEAD_SIZE 16

#define BIT(type) (UINT64_C(1) << (type))
_Static_assert(AGENT_TYPE_COUNT <= 64, "a set of types is one word");

/* The answers that an agent may give to a request. `first` precedes every other frame that does
 * not end the answer, and comes once, as do the frames of `once`. AGENT_FAILED is always allowed.
 * */
struct answer_order {
	uint16_t first;
	uint64_t once, many, ends;
	bool is_stream; /* its caller bounds frames and bytes */
};

#define ENDED_BY_DONE .ends = BIT(AGENT_DONE)
static const struct answer_order orders[AGENT_TYPE_COUNT] = {
        [AGENT_PING] = {.ends = BIT(AGENT_PONG)},
        [AGENT_EXEC] = {AGENT_STARTED, .many = BIT(AGENT_OUTPUT),
                        .ends = BIT(AGENT_EXIT) | BIT(AGENT_DONE), .is_stream = true},
        [AGENT_ATTACH] = {AGENT_STARTED, .many = BIT(AGENT_OUTPUT),
                          .ends = BIT(AGENT_EXIT) | BIT(AGENT_DONE), .is_stream = true},
        [AGENT_SIGNAL] = {ENDED_BY_DONE},
        [AGENT_PROCESSES] = {.many = BIT(AGENT_PROCESS), ENDED_BY_DONE},
        [AGENT_FEED] = {ENDED_BY_DONE},
        [AGENT_FORGET] = {ENDED_BY_DONE},
        [AGENT_READ] = {AGENT_FILE, .many = BIT(AGENT_DATA), ENDED_BY_DONE, .is_stream = true},
        [AGENT_WRITE] = {AGENT_READY, .once = BIT(AGENT_FILE), ENDED_BY_DONE},
        [AGENT_STAT] = {AGENT_FILE, ENDED_BY_DONE},
        [AGENT_LIST] = {.many = BIT(AGENT_FILE), ENDED_BY_DONE},
        [AGENT_GLOB] = {.many = BIT(AGENT_FILE), ENDED_BY_DONE},
        [AGENT_MKDIR] = {AGENT_FILE, ENDED_BY_DONE},
        [AGENT_REMOVE] = {ENDED_BY_DONE},
        [AGENT_RENAME] = {AGENT_FILE, ENDED_BY_DONE},
        [AGENT_COPY] = {AGENT_FILE, ENDED_BY_DONE},
        [AGENT_TAR_OUT] = {AGENT_READY, .many = BIT(AGENT_DATA), ENDED_BY_DONE, .is_stream = true},
        [AGENT_TAR_IN] = {AGENT_READY, ENDED_BY_DONE},
        [AGENT_WATCH] = {AGENT_READY, .many = BIT(AGENT_CHANGE) | BIT(AGENT_ENTRY), ENDED_BY_DONE,
                         .is_stream = true},
        [AGENT_COMPARE] = {.many = BIT(AGENT_DIFFERENCE), ENDED_BY_DONE},
        [AGENT_TAR_BASE] = {AGENT_READY, .many = BIT(AGENT_DATA), ENDED_BY_DONE, .is_stream = true},
        [AGENT_WARM] = {ENDED_BY_DONE},
        [AGENT_DIAL] = {ENDED_BY_DONE},
        [AGENT_IDENTITY] = {ENDED_BY_DONE},
        [AGENT_JOB] = {.ends = BIT(AGENT_PONG)},
        [AGENT_FIND_JOB] = {AGENT_PROCESS, ENDED_BY_DONE},
        [AGENT_AWAIT] = {AGENT_PROCESS, ENDED_BY_DONE},
        [AGENT_TERMINAL] = {AGENT_TERMINAL_STATE, ENDED_BY_DONE},
        [AGENT_INSPECT] = {.many = BIT(AGENT_ENTRY), ENDED_BY_DONE},
        [AGENT_SET_ATTRIBUTES] = {ENDED_BY_DONE},
        [AGENT_SEARCH] = {.many = BIT(AGENT_DATA), ENDED_BY_DONE},
        [AGENT_SERVICE] = {AGENT_SERVICE_STATE, ENDED_BY_DONE},
        [AGENT_SERVICES] = {.many = BIT(AGENT_SERVICE_STATE), ENDED_BY_DONE},
        [AGENT_PORTS] = {.many = BIT(AGENT_PORT), ENDED_BY_DONE},
        [AGENT_SERVICE_LOG] = {.many = BIT(AGENT_OUTPUT), ENDED_BY_DONE},
};

void agent_reader_init(struct agent_reader *r, struct provider *p, const char *id,
                       const struct agent_limits *limits)
{
	*r = (struct agent_reader){
	        .provider = p,
	        .id = id,
	        .limits = *limits,
	        .fd = -1,
	        .passed_fd = -1,
	        .answer_by = DEADLINE_NEVER,
	        .first_by = DEADLINE_NEVER,
	        .payload = BUF(WIRE_PAYLOAD_MAX),
	};
}

static _Atomic int64_t answer_ms = 10000;

void agent_set_answer_ms(int64_t ms)
{
	atomic_store(&answer_ms, ms);
}

int64_t agent_answer_ms(void)
{
	return atomic_load(&answer_ms);
}

bool agent_type_is_quick(uint16_t type)
{
	static const uint64_t quick =
	        BIT(AGENT_PING) | BIT(AGENT_SIGNAL) | BIT(AGENT_PROCESSES) | BIT(AGENT_FORGET) |
	        BIT(AGENT_STAT) | BIT(AGENT_LIST) | BIT(AGENT_GLOB) | BIT(AGENT_MKDIR) |
	        BIT(AGENT_RENAME) | BIT(AGENT_JOB) | BIT(AGENT_FIND_JOB) | BIT(AGENT_TERMINAL) |
	        BIT(AGENT_INSPECT) | BIT(AGENT_SET_ATTRIBUTES) | BIT(AGENT_SERVICE) |
	        BIT(AGENT_SERVICES) | BIT(AGENT_SERVICE_LOG) | BIT(AGENT_PORTS) |
	        BIT(AGENT_IDENTITY);

	return type < AGENT_TYPE_COUNT && (quick & BIT(type));
}

bool agent_type_is_prompt(uint16_t type)
{
	static const uint64_t prompt = BIT(AGENT_EXEC) | BIT(AGENT_ATTACH) | BIT(AGENT_READ) |
	                               BIT(AGENT_WRITE) | BIT(AGENT_TAR_OUT) | BIT(AGENT_TAR_IN) |
	                               BIT(AGENT_WARM) | BIT(AGENT_DIAL);

	return agent_type_is_quick(type) || (type < AGENT_TYPE_COUNT && (prompt & BIT(type)));
}

static void begin_wait(struct agent_reader *r, uint16_t request)
{
	int64_t soon = deadline_after(agent_answer_ms());

	r->asked_ms = clock_monotonic_ms();
	r->answer_by = agent_type_is_quick(request) ? soon : DEADLINE_NEVER;
	r->first_by = agent_type_is_prompt(request) ? soon : DEADLINE_NEVER;
	r->frames = 0;
}

static void begin_answer(struct agent_reader *r, uint16_t request)
{
	r->request = request;
	r->has_ended = false;
	r->received = r->frames = r->bytes = r->empty = 0;
	r->begun_ms = clock_monotonic_ms();
}

void agent_reader_adopt(struct agent_reader *r, int fd, uint16_t request)
{
	fd_forget(&r->fd);
	r->fd = fd;
	/* From now on its answer may be read at any time. */
	r->answer_by = r->first_by = DEADLINE_NEVER;
	begin_answer(r, request);
}

static int64_t deadline_of(const struct agent_reader *r)
{
	int64_t by = r->frames == 0 && r->first_by < r->answer_by ? r->first_by : r->answer_by;

	return by < r->limits.deadline ? by : r->limits.deadline;
}

int agent_reader_send(struct agent_reader *r, struct span frames, struct error *err)
{
	const struct wire_peer peer = {r->fd, deadline_of(r), r->limits.cancel};

	if (wire_send_to(&peer, frames, err) < 0)
		return FAIL_CONTEXT(err, "sandbox '%s'", r->id);
	return 0;
}

/* A shorter deadline of the caller shows nothing about the agent. */
static void note_silence(const struct agent_reader *r, const struct error *err)
{
	if (err->code == ERROR_TIMEOUT && r->frames == 0 && r->first_by != DEADLINE_NEVER &&
	    clock_monotonic_ms() >= r->first_by)
		agent_health_missed(r->id, r->asked_ms);
}

static int send_request(struct agent_reader *r, const struct compute_request *request,
                        struct error *err)
{
	/* A request may have values of credentials. */
	AUTO(buf_done) struct buf frame = BUF_SECRET(WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX);

	if (r->fd < 0) {
		struct compute_request first = *request;

		first.cancel = r->limits.cancel;
		return compute_open(r->provider, r->id, &first, deadline_of(r), &r->fd, err);
	}
	if (wire_encode(&frame, request->type, request->shape, request->message, err) < 0)
		return -1;
	return agent_reader_send(r, buf_span(&frame), err);
}

int agent_reader_ask(struct agent_reader *r, const struct compute_request *request,
                     struct error *err)
{
	if (!r->limits.cancel)
		r->limits.cancel = cancel_current();
	begin_wait(r, request->type);
	if (send_request(r, request, err) < 0) {
		note_silence(r, err);
		return -1;
	}
	begin_answer(r, request->type);
	return 0;
}

/* The deadline of the next frame: received content extends it. */
static int64_t patience_of(const struct agent_reader *r)
{
	const struct agent_limits *limits = &r->limits;
	int64_t bought;

	if (limits->rate_min <= 0)
		return deadline_of(r);
	bought = r->begun_ms + limits->grace_ms + (int64_t)(r->bytes * 1000) / limits->rate_min;
	return bought < deadline_of(r) ? bought : deadline_of(r);
}

static int refuse_late(const struct agent_reader *r, struct error *err)
{
	if (patience_of(r) < deadline_of(r))
		return FAIL(err, ERROR_TIMEOUT,
		            "the agent sent %" PRIu64
		            " bytes in %lld ms, less than %lld per second",
		            r->bytes, (long long)(clock_monotonic_ms() - r->begun_ms),
		            (long long)r->limits.rate_min);
	return FAIL(err, ERROR_TIMEOUT, "the agent did not finish its answer in time");
}

/* As a relay says it: calls/stream.c. */
static int refuse_ended(const struct agent_reader *r, struct error *err)
{
	(void)FAIL(err, ERROR_UNAVAILABLE, "sandbox '%s' ended during the call", r->id);
	return FAIL_HINT(err, "its last_event tells why");
}

size_t agent_content_size(uint16_t type, size_t payload_size)
{
	if (type != AGENT_OUTPUT)
		return payload_size;
	return payload_size > OUTPUT_HEAD_SIZE ? payload_size - OUTPUT_HEAD_SIZE : 0;
}

int agent_reader_refuse(const struct agent_reader *r, struct error *err)
{
	return FAIL(err, ERROR_SYSTEM, "the agent sent a message of type %u out of order", r->type);
}

static int check_order(struct agent_reader *r, const struct answer_order *order, struct error *err)
{
	uint64_t bit = r->type < 64 ? BIT(r->type) : 0;
	uint64_t first = order->first ? BIT(order->first) : 0;

	if (!(bit & (first | order->once | order->many | order->ends)))
		return agent_reader_refuse(r, err);
	if ((bit & (first | order->once)) && (r->received & bit))
		return FAIL(err, ERROR_SYSTEM, "the agent sent a message of type %u twice",
		            r->type);
	if (first && !(bit & (first | order->ends)) && !(r->received & first))
		return agent_reader_refuse(r, err);
	r->received |= bit;
	r->has_ended = (bit & order->ends) != 0;
	return 0;
}

static int check_amount(struct agent_reader *r, const struct answer_order *order, struct error *err)
{
	uint64_t content = agent_content_size(r->type, r->payload.size),
	         none = order->is_stream ? UINT64_MAX : 0;
	uint64_t frames_max = r->limits.frames_max ? r->limits.frames_max
	                      : none               ? none
	                                           : FRAMES_MAX;
	uint64_t bytes_max = r->limits.bytes_max ? r->limits.bytes_max : none ? none : BYTES_MAX;

	r->frames++;
	r->bytes += content;
	if (r->frames > frames_max || r->bytes > bytes_max)
		return FAIL(err, ERROR_TOO_LARGE,
		            "the agent's answer is longer than %" PRIu64 " messages or %" PRIu64
		            " bytes",
		            frames_max, bytes_max);
	r->empty += content == 0;
	if (r->empty > AGENT_EMPTY_FRAMES_MAX)
		return FAIL(err, ERROR_LIMIT,
		            "the agent sent more than %d messages without content",
		            AGENT_EMPTY_FRAMES_MAX);
	return 0;
}

static int receive_frame(struct agent_reader *r, struct error *err)
{
	struct wire_peer peer = {r->fd, patience_of(r), r->limits.cancel};
	int64_t whole_at;

	if (r->limits.frame_ms > 0) {
		int ready = agent_reader_wait(r, peer.deadline, err);

		if (ready < 0)
			return -1;
		whole_at = deadline_after(r->limits.frame_ms);
		peer.deadline = whole_at < peer.deadline ? whole_at : peer.deadline;
	}
	if (r->request == AGENT_DIAL)
		return wire_receive_with_fd(&peer, &r->type, &r->payload, &r->passed_fd, err);
	return wire_receive_from(&peer, &r->type, &r->payload, err);
}

int agent_reader_next(struct agent_reader *r, struct error *err)
{
	const struct answer_order *order =
	        &orders[r->request < AGENT_TYPE_COUNT ? r->request : AGENT_NONE];

	if (r->fd < 0 || r->has_ended)
		return FAIL(err, ERROR_SYSTEM, "the agent has no answer under way");
	socket_drop(&r->passed_fd);
	if (receive_frame(r, err) < 0) {
		note_silence(r, err);
		if (err->code == ERROR_TIMEOUT)
			return refuse_late(r, err);
		if (err->code == ERROR_UNAVAILABLE)
			return refuse_ended(r, err);
		return FAIL_CONTEXT(err, "agent");
	}
	agent_health_answered(r->id);
	if (r->type == AGENT_FAILED) {
		r->has_ended = true;
		return compute_failed(buf_span(&r->payload), err);
	}
	if (check_order(r, order, err) < 0 || check_amount(r, order, err) < 0) {
		r->has_ended = false;
		return -1;
	}
	return 0;
}

int agent_reader_expect(struct agent_reader *r, uint16_t type, struct error *err)
{
	if (agent_reader_next(r, err) < 0)
		return -1;
	return r->type == type ? 0 : agent_reader_refuse(r, err);
}

int agent_reader_wait(struct agent_reader *r, int64_t until, struct error *err)
{
	int64_t patience = patience_of(r);

	/* poll(2) reports an endless stream as ready even after the deadline. */
	if (deadline_poll_ms(patience) == 0) {
		(void)refuse_late(r, err);
		note_silence(r, err);
		return -1;
	}
	if (deadline_poll_ms(until) == 0)
		return 0;
	return cancel_wait(r->limits.cancel, r->fd, POLLIN, until < patience ? until : patience,
	                   err);
}

void agent_reader_done(struct agent_reader *r)
{
	if (!r->provider)
		return;
	socket_drop(&r->passed_fd);
	if (r->fd >= 0 && r->has_ended)
		compute_give_back(r->provider, r->id, TAKE_FD(r->fd));
	fd_forget(&r->fd);
	buf_done(&r->payload);
	r->provider = NULL;
}

int agent_reader_take_fd(struct agent_reader *r)
{
	return TAKE_FD(r->fd);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/stream.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "activity/activity.h"
#include "base/clock.h"
#include "fleet/lifecycle/hold.h"
#include "provider/agent_health.h"
#include "provider/agent_reader.h"
#include "provider/command_ends.h"
#include "provider/compute.h"
#include "trace/timing.h"
#include "wire/agent.h"
#include "wire/agent_cause.h"
#include "wire/names.h"

struct stream *stream_new(const struct stream_ops *ops, struct fleet_hold *hold)
{
	struct stream *s;

	assert(ops->size >= sizeof(*s)); /* the struct begins with struct stream */
	s = memory_new(ops->size);
	s->ops = ops;
	s->hold = *hold;
	*hold = (struct fleet_hold){.fleet = NULL};
	return s;
}

struct stream_timing {
	struct trace_span span; /* from the start to the release */
	const char *operation;  /* of the agent; NULL: its first message was counted */
	int64_t begun_ns;
};

/* The time of an answer is that of its first message: the rest is the command's. */
static void count_answer(struct stream *s, bool has_failed)
{
	struct stream_timing *t = s->timing;

	if (t && t->operation)
		timing_note(TRACE_AGENT, TAKE(t->operation), t->begun_ns, has_failed);
}

void stream_free(struct stream *s)
{
	if (s->ops->done)
		s->ops->done(s);
	count_answer(s, true);
	if (s->timing)
		trace_end(&s->timing->span, &(struct trace_end){.name = NULL});
	free(s->timing);
	if (s->is_started)
		activity_end(s->note);
	else
		activity_forget(s->note);
	arena_done(&s->arena);
	fleet_unhold(&s->hold);
	free(s);
}

/* A later report of a command's end replaces the failure: another alternative may run. */
static void note_agent_failure(const struct stream *s, struct span payload)
{
	struct error failed;

	if (!s->note)
		return;
	(void)compute_failed(payload, &failed);
	activity_fail(s->note, failed.text);
}

static void note_exit(const struct stream *s, const struct agent_process *p)
{
	const char *reason = agent_cause_explain(agent_process_cause(p));
	char signal[16];

	agent_signal_name(p->signal, signal);
	activity_report(s->note,
	                &(struct activity_result){
	                        .outcome = p->exit_code == 0 && !p->timed_out ? ACTIVITY_OK
	                                                                      : ACTIVITY_FAILED,
	                        .exit_code = p->exit_code,
	                        .duration_ms = (int64_t)p->duration_ms,
	                        .reason = reason ? reason : signal,
	                });
}

static int handle_message(struct stream *s, struct relay *relay, uint16_t type, struct span payload,
                          struct error *err)
{
	int result;

	if (type == AGENT_DATA)
		activity_add_bytes(s->note, payload.size);
	if (type == AGENT_FAILED)
		note_agent_failure(s, payload);
	s->empty += agent_content_size(type, payload.size) == 0;
	if (s->empty > AGENT_EMPTY_FRAMES_MAX)
		return FAIL(err, ERROR_LIMIT,
		            "the agent sent more than %d messages without content",
		            AGENT_EMPTY_FRAMES_MAX);
	if (type == AGENT_FAILED && !s->ops->takes_failures) {
		s->ended = true;
		return compute_failed(payload, err);
	}
	/* One connection may carry several requests, which are answered one by one. */
	if (type == AGENT_DONE)
		s->empty = 0;
	result = s->ops->on_message(s, relay, type, payload, err);
	arena_reset(&s->arena);
	return result;
}

static int on_upstream(void *state, struct relay *relay, struct span *in, struct error *err)
{
	struct stream *s = state;
	struct span payload;
	uint16_t type;
	int more;

	while ((more = wire_next(in, &type, &payload, NULL, err)) > 0) {
		agent_health_answered(s->hold.id);
		count_answer(s, type == AGENT_FAILED);
		s->first_ms = 0;
		if (s->ended)
			return FAIL(err, ERROR_SYSTEM, "the agent went on after its reply");
		if (handle_message(s, relay, type, payload, err) < 0) {
			activity_fail(s->note, err->text);
			return -1;
		}
	}
	return more;
}

static int end_with_sandbox(struct stream *s, struct relay *relay, struct error *err)
{
	(void)FAIL(err, ERROR_UNAVAILABLE, "sandbox '%s' ended during the call", s->hold.id);
	error_hint(err, "see last_event of the sandbox for the reason");
	activity_fail(s->note, err->text);
	if (!s->ops->on_sandbox_end || s->ops->on_sandbox_end(s, relay, err) < 0)
		return -1;
	error_clear(err);
	return 0;
}

static int on_upstream_end(void *state, struct relay *relay, struct error *err)
{
	struct stream *s = state;

	return s->ended ? 0 : end_with_sandbox(s, relay, err);
}

/* The agent died before it had read all bytes. */
static int on_upstream_broken(void *state, struct relay *relay, struct error *err)
{
	return end_with_sandbox(state, relay, err);
}

static int on_client(void *state, struct relay *relay, struct span bytes, bool last,
                     struct error *err)
{
	struct stream *s = state;

	if (bytes.size > 0)
		fleet_wake(&s->hold);
	if (activity_is(s->note, ACTIVITY_FILE))
		activity_add_bytes(s->note, bytes.size);
	return s->ops->on_client(s, relay, bytes, last, err);
}

static void on_start(void *state, struct relay *relay)
{
	struct stream *s = state;

	if (s->ops->on_start)
		s->ops->on_start(s, relay);
}

static void on_tick(void *state, struct relay *relay)
{
	struct stream *s = state;

	s->ops->on_tick(s, relay);
}

static bool has_missed_deadline(const struct stream *s)
{
	return s->first_ms > 0 && clock_monotonic_ms() - s->begun_ms >= s->first_ms;
}

/* Of calls without a message that reports their end. */
static void note_release(const struct stream *s, bool clean)
{
	struct activity_result left = {ACTIVITY_UNKNOWN, -1, -1,
	                               "the client disconnected before the end"};

	if (activity_is_reported(s->note))
		return;
	if (clean && s->ended && activity_is(s->note, ACTIVITY_FILE))
		activity_succeed(s->note);
	else if (!clean && has_missed_deadline(s))
		activity_fail(s->note, "the sandbox did not answer in time");
	else
		activity_report(s->note, &left);
}

static void release_stream(void *state, int upstream_fd, bool clean)
{
	struct stream *s = state;

	/* Not when the client left before the deadline: then the agent may be fine. */
	if (!clean && has_missed_deadline(s))
		agent_health_missed(s->hold.id, s->begun_ms);
	note_release(s, clean);
	if (upstream_fd >= 0 && clean && s->ended)
		compute_give_back(s->hold.provider, s->hold.id, upstream_fd);
	else if (upstream_fd >= 0)
		(void)close(upstream_fd);
	stream_free(s);
}

/* Four tables, because an absent callback has a meaning for the relay. */
static const struct relay_ops relays[2][2] = {
        {{.on_start = on_start,
          .on_upstream = on_upstream,
          .on_upstream_end = on_upstream_end,
          .on_upstream_broken = on_upstream_broken,
          .release = release_stream},
         {.on_start = on_start,
          .on_upstream = on_upstream,
          .on_upstream_end = on_upstream_end,
          .on_upstream_broken = on_upstream_broken,
          .on_tick = on_tick,
          .release = release_stream}},
        {{.on_start = on_start,
          .on_upstream = on_upstream,
          .on_upstream_end = on_upstream_end,
          .on_upstream_broken = on_upstream_broken,
          .on_client = on_client,
          .release = release_stream},
         {.on_start = on_start,
          .on_upstream = on_upstream,
          .on_upstream_end = on_upstream_end,
          .on_upstream_broken = on_upstream_broken,
          .on_client = on_client,
          .on_tick = on_tick,
          .release = release_stream}},
};

static struct relay_options relay_options_of(struct stream *s, const struct stream_options *o)
{
	s->is_started = true;
	s->timing = memory_new(sizeof(*s->timing));
	s->timing->operation = agent_type_name(o->request);
	s->timing->begun_ns = clock_monotonic_ns();
	trace_begin(&s->timing->span, TRACE_AGENT, s->timing->operation);
	s->begun_ms = clock_monotonic_ms();
	s->first_ms = agent_type_is_prompt(o->request) ? agent_answer_ms() : 0;
	return (struct relay_options){
	        .upstream_fd = o->fd,
	        .ops = &relays[s->ops->on_client != NULL][s->ops->on_tick != NULL],
	        .state = s,
	        .tick_ms = o->tick_ms,
	        .idle_timeout_ms = o->idle_timeout_ms,
	        .first_ms = s->first_ms,
	        .whole_ms = agent_type_is_quick(o->request) ? agent_answer_ms() : 0,
	        .upstream_first = o->upstream_first,
	};
}

void stream_start(struct stream *s, struct reply *reply, const struct stream_options *options)
{
	struct relay_options relay = relay_options_of(s, options);

	reply_relay(reply, &relay);
}

int stream_start_websocket(struct stream *s, struct request *rq, struct reply *reply,
                           const struct stream_options *options, struct error *err)
{
	struct relay_options relay = relay_options_of(s, options);

	return reply_websocket(rq, reply, options->protocol, &relay, err);
}

static void note_process(const struct stream *s, const struct agent_process *p)
{
	stream_note_end(s, p);
	if (p->state == AGENT_PROCESS_ENDED && s->ops->is_process)
		note_exit(s, p);
}

int stream_decode(struct stream *s, struct span payload, const struct wire_member *shape,
                  void *message, size_t size, struct error *err)
{
	if (wire_decode(&s->arena, payload, shape, message, size, err) < 0)
		return -1;
	if (shape == agent_process_shape)
		note_process(s, message);
	else if (shape == agent_output_shape && s->ops->is_process)
		activity_add_output(s->note, ((const struct agent_output *)message)->bytes);
	return 0;
}

void stream_note_end(const struct stream *s, const struct agent_process *p)
{
	command_ends_note(s->hold.id, p);
}

int stream_send(struct relay *relay, uint16_t type, const struct wire_member *shape,
                const void *message, struct error *err)
{
	AUTO(buf_done) struct buf frame = BUF(WIRE_PAYLOAD_MAX + WIRE_HEAD_SIZE);

	if (wire_encode(&frame, type, shape, message, err) < 0)
		return -1;
	relay_to_upstream(relay, buf_span(&frame));
	return 0;
}

void stream_send_bytes(struct relay *relay, uint16_t type, struct span bytes)
{
	while (bytes.size > 0) {
		struct span piece = span_take(&bytes, AGENT_DATA_MAX);
		unsigned char head[WIRE_HEAD_SIZE];

		wire_put_head(head, type, (uint32_t)piece.size);
		relay_to_upstream(relay, (struct span){(const char *)head, sizeof(head)});
		relay_to_upstream(relay, piece);
	}
}

int stream_unexpected(uint16_t type, struct error *err)
{
	return FAIL(err, ERROR_SYSTEM, "the agent sent message %u out of place", type);
}

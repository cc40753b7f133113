/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/setup.h"

#include "agent/enclosure.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/fault.h"
#include "isolation/apply.h"
#include "isolation/identity.h"
#include "isolation/plan.h"
#include "wire/agent.h"

struct setup {
	struct setup_plan plan;
	bool is_prepared; /* the broker claims it later */
	struct wire_fds fds;
	struct arena arena;
	struct buf *wish;
};

static void setup_done(struct setup *s)
{
	wire_fds_close(&s->fds);
	arena_done(&s->arena);
}

static int add_fds(struct setup *s, struct wire_fds *fds, struct error *err)
{
	if (fds->count > WIRE_FDS_MAX - s->fds.count) {
		wire_fds_close(fds);
		return FAIL(err, ERROR_INVALID, "set-up has more than %d descriptors",
		            WIRE_FDS_MAX);
	}
	for (unsigned i = 0; i < fds->count; i++)
		s->fds.fds[s->fds.count++] = fds->fds[i];
	return 0;
}

static int add_step(struct setup *s, struct span payload, struct error *err)
{
	if (s->plan.count == PLAN_STEPS_MAX)
		return FAIL(err, ERROR_INVALID, "set-up has more than %d steps", PLAN_STEPS_MAX);
	return wire_decode(&s->arena, payload, setup_step_shape, &s->plan.steps[s->plan.count++],
	                   sizeof(struct setup_step), err);
}

/* 1 = that was the last message; 0 = more follow. */
static int take_frame(struct setup *s, uint16_t type, struct span payload, struct error *err)
{
	unsigned char head[WIRE_HEAD_SIZE];

	s->is_prepared = type == AGENT_PREPARE;
	if (type == AGENT_DONE || type == AGENT_PREPARE)
		return 1;
	if (type == AGENT_WARM || type == AGENT_BEAT) {
		wire_put_head(head, type, (uint32_t)payload.size);
		buf_add(s->wish, head, sizeof(head));
		buf_add_span(s->wish, payload);
		return 0;
	}
	if (type != AGENT_SETUP)
		return FAIL(err, ERROR_INVALID, "message %u in the set-up", type);
	return add_step(s, payload, err);
}

static int take_packet(struct setup *s, int fd, struct error *err)
{
	AUTO(buf_done) struct buf packet = BUF(WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX);
	struct wire_fds fds = {.count = 0};
	struct span in, payload;
	uint16_t type;
	int last = 0;

	if (wire_receive_packet(fd, DEADLINE_NEVER, &packet, &fds, err) < 0 ||
	    add_fds(s, &fds, err) < 0)
		return -1;
	in = buf_span(&packet);
	while (last == 0 && in.size > 0) {
		if (wire_next(&in, &type, &payload, NULL, err) <= 0)
			return FAIL(err, ERROR_INVALID, "set-up packet ends within a frame");
		last = take_frame(s, type, payload, err);
	}
	if (last > 0 && in.size > 0)
		return FAIL(err, ERROR_INVALID, "set-up goes on after its end");
	return last;
}

/* The last step of a plan, if it is STEP_ENCLOSE. */
struct enclosing {
	bool is_wanted, has_network;
};

static struct enclosing find_enclosing(const struct setup_plan *plan)
{
	const struct setup_step *last = plan->count > 0 ? &plan->steps[plan->count - 1] : NULL;

	if (!last || last->kind != STEP_ENCLOSE)
		return (struct enclosing){false, false};
	return (struct enclosing){true, last->value == 1};
}

static int receive_and_apply(int fd, const struct setup_begun *begun, bool *ret_is_prepared,
                             struct buf *wish, struct enclosing *ret, struct error *err)
{
	AUTO(setup_done) struct setup s = {.plan.arena = NULL, .wish = wish};
	unsigned count;
	int last = 0;

	while (last == 0)
		last = take_packet(&s, fd, err);
	if (last < 0)
		return -1;
	if (begun->failure->code != ERROR_NONE) {
		*err = *begun->failure;
		return -1;
	}
	count = s.fds.count;
	s.fds.count = 0; /* closed by isolation_apply */
	*ret_is_prepared = s.is_prepared;
	*ret = find_enclosing(&s.plan);
	return isolation_apply(&s.plan, s.fds.fds, count, begun->prepared, err);
}

static int answer_setup(int fd, const struct error *failure, const struct wire_fds *fds,
                        struct error *err)
{
	AUTO(buf_done) struct buf frame = BUF(4096);
	const struct agent_failed failed = agent_failed_of(failure);

	if (wire_encode(&frame, failure->code ? AGENT_FAILED : AGENT_READY,
	                failure->code ? agent_failed_shape : NULL, &failed, err) < 0)
		return -1;
	return wire_send_packet(fd, buf_span(&frame), fds, deadline_after(1000), err);
}

int setup_run(int fd, const struct setup_begun *begun, struct setup_result *ret, struct buf *wish,
              struct error *err)
{
	AUTO_CLOSE int socket = fd;
	AUTO(wire_fds_close) struct wire_fds files = {.count = 0};
	struct error failure = {0};
	struct enclosing enclosing = {false, false};
	bool is_prepared = false;
	AUTO_CLOSE int enclosure = -1;

	if (receive_and_apply(socket, begun, &is_prepared, wish, &enclosing, &failure) < 0 ||
	    (enclosing.is_wanted &&
	     enclosure_start(enclosing.has_network, &enclosure, &failure) < 0) ||
	    (is_prepared && isolation_identity_open(files.fds, &failure) < 0)) {
		struct error ignored;

		*err = failure;
		(void)!answer_setup(socket, &failure, NULL, &ignored);
		return -1;
	}
	if (is_prepared)
		files.count = ISOLATION_IDENTITY_FILES;
	if (answer_setup(socket, &failure, &files, err) < 0)
		return -1;
	ret->claim_fd = is_prepared ? TAKE_FD(socket) : -1;
	ret->enclosure_fd = TAKE_FD(enclosure);
	return 0;
}

int setup_claim(int fd, struct error *err)
{
	AUTO(buf_done) struct buf packet = BUF(WIRE_HEAD_SIZE + 1);
	struct span in, payload;
	uint16_t type;

	if (wire_receive_packet(fd, deadline_after(0), &packet, NULL, err) < 0)
		return -1;
	in = buf_span(&packet);
	if (wire_next(&in, &type, &payload, NULL, err) <= 0 || type != AGENT_CLAIM || in.size > 0)
		return FAIL(err, ERROR_INVALID, "packet is not a claim");
	fault_point("agent", "claim");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/clock.h"
#include "fleet/core/sandboxes.h"
#include "job/parts.h"
#include "provider/agent_reader.h"
#include "wire/agent.h"

/* Limit of the messages of an answer, against a hostile agent. */
#define MESSAGES_MAX 4096

struct tail {
	struct buf out[2];
	uint64_t offset[2];
};

static void tail_done(struct tail *t)
{
	buf_done(&t->out[0]);
	buf_done(&t->out[1]);
}

/* A process known only by its number. */
struct found {
	uint64_t wanted;
	bool is_there;
	uint64_t end[2];
};

static void note_process(void *context, const struct agent_process *p)
{
	struct found *f = context;

	if (p->process == f->wanted) {
		f->is_there = true;
		memcpy(f->end, p->output_end, sizeof(f->end));
	}
}

/* A number means nothing after another boot. */
static int check_boot(struct provider *p, const struct job_record *r, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct agent_pong pong;
	const struct compute_call ping = {.type = AGENT_PING,
	                                  WIRE_REPLY(AGENT_PONG, agent_pong_shape, pong)};

	if (compute_call(p, r->sandbox_id, &arena, &ping, deadline_after(AGENT_CALL_MS), err) < 0)
		return -1;
	if (strcmp(pong.boot_id, r->boot_id) != 0)
		return FAIL(err, ERROR_CONFLICT, "the sandbox has been started again since");
	return 0;
}

static int find_ends(struct provider *p, const struct job_record *r, struct found *f,
                     struct error *err)
{
	f->wanted = (uint64_t)r->process;
	if (compute_processes(p, r->sandbox_id, note_process, f, deadline_after(AGENT_CALL_MS),
	                      err) < 0)
		return -1;
	if (!f->is_there)
		return FAIL(err, ERROR_NOT_FOUND, "the agent does not know its process any more");
	return 0;
}

static uint64_t first_of(int64_t since, size_t max, uint64_t end)
{
	uint64_t back;

	if (since >= 0)
		return (uint64_t)since < end ? (uint64_t)since : end;
	back = (uint64_t)-since < max ? (uint64_t)-since : max;
	return back < end ? end - back : 0;
}

/* Bytes before the first received byte are lost. */
static int take_output(struct tail *t, struct span payload, size_t max, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct agent_output o;
	struct buf *out;
	unsigned i;

	if (wire_decode(&arena, payload, agent_output_shape, &o, sizeof(o), err) < 0)
		return -1;
	if (o.stream != AGENT_STDOUT && o.stream != AGENT_STDERR)
		return FAIL(err, ERROR_SYSTEM, "the agent sent output of stream %u", o.stream);
	i = o.stream - AGENT_STDOUT;
	out = &t->out[i];
	if (out->size == 0)
		t->offset[i] = o.offset;
	else if (o.offset != t->offset[i] + out->size)
		return 0; /* bytes were lost during the read; the rest is contiguous */
	if (o.bytes.size > max - out->size)
		o.bytes.size = max - out->size;
	buf_add_span(out, o.bytes);
	return 0;
}

static int read_output(struct agent_reader *r, struct tail *t, size_t max, struct error *err)
{
	while (!r->has_ended) {
		if (agent_reader_next(r, err) < 0 ||
		    (r->type == AGENT_OUTPUT &&
		     take_output(t, buf_span(&r->payload), max, err) < 0))
			return -1;
	}
	return 0;
}

int job_tail(struct jobs *jobs, struct arena *a, const struct job_record *r,
             const struct job_logs_request *request, struct job_logs *ret, struct error *err)
{
	struct agent_attach attach = {.process = (uint64_t)r->process, .read_only = 1};
	const struct compute_request open = {AGENT_ATTACH, agent_attach_shape, &attach};
	AUTO(tail_done) struct tail tail = {.out = {BUF(request->max), BUF(request->max)}};
	struct found found = {0};
	struct provider *p;
	AUTO(agent_reader_done) struct agent_reader reader = {.provider = NULL};

	if (sandbox_provider_find(jobs->fleet, r->sandbox_id, &p, err) < 0 ||
	    check_boot(p, r, err) < 0 || find_ends(p, r, &found, err) < 0)
		return -1;
	for (int i = 0; i < 2; i++)
		attach.since[i] = tail.offset[i] =
		        first_of(request->since[i], request->max, found.end[i]);
	agent_reader_init(&reader, p, r->sandbox_id,
	                  &(struct agent_limits){.deadline = deadline_after(AGENT_CALL_MS),
	                                         .frames_max = MESSAGES_MAX});
	if (agent_reader_ask(&reader, &open, err) < 0 ||
	    read_output(&reader, &tail, request->max, err) < 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		struct span out = buf_span(&tail.out[i]);

		ret->out[i] = (struct span){arena_copy(a, out), out.size};
		ret->offset[i] = (int64_t)tail.offset[i];
		ret->next[i] = (int64_t)(tail.offset[i] + out.size);
		ret->end[i] = (int64_t)found.end[i];
	}
	return 0;
}

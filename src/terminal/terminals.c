/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal/terminals.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/fd.h"
#include "provider/command_ends.h"
#include "provider/compute.h"
#include "terminal/screens.h"
#include "fleet/core/fleet_hold.h"

#define FRAME_MS 1000 /* from the first byte of a message to its last */

struct terminals *terminals_new(const struct terminals_options *options)
{
	struct terminals *t = memory_new(sizeof(*t));

	for (unsigned i = 0; i < TERMINAL_STRIPES; i++) {
		(void)pthread_mutex_init(&t->opening[i], NULL);
		(void)pthread_mutex_init(&t->running[i], NULL);
	}
	t->screens = screens_new();
	t->options = *options;
	t->spool = options->spool ? memory_text(options->spool) : NULL;
	(void)pthread_mutex_init(&t->viewers_lock, NULL);
	list_init(&t->viewers);
	(void)pthread_mutex_init(&t->recorders_lock, NULL);
	(void)pthread_cond_init(&t->recorder_ended, NULL);
	list_init(&t->recorders);
	list_init(&t->casts);
	return t;
}

void terminals_free(struct terminals *t)
{
	if (!t)
		return;
	screens_free(t->screens);
	free(t->spool);
	(void)pthread_mutex_destroy(&t->viewers_lock);
	(void)pthread_cond_destroy(&t->recorder_ended);
	(void)pthread_mutex_destroy(&t->recorders_lock);
	for (unsigned i = 0; i < TERMINAL_STRIPES; i++) {
		(void)pthread_mutex_destroy(&t->opening[i]);
		(void)pthread_mutex_destroy(&t->running[i]);
	}
	free(t);
}

static unsigned stripe_of(const struct terminal_at *at)
{
	uint32_t hash = 2166136261u;

	for (const char *c = at->hold->id; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 16777619u;
	for (const char *c = at->window ? at->window : ""; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 16777619u;
	return hash % TERMINAL_STRIPES;
}

int terminal_lock(pthread_mutex_t *stripes, const struct terminal_at *at, pthread_mutex_t **ret,
                  struct error *err)
{
	pthread_mutex_t *lock = &stripes[stripe_of(at)];
	const struct timespec until = deadline_wall_time(at->deadline);

	if (pthread_mutex_timedlock(lock, &until) != 0)
		return FAIL(err, ERROR_TIMEOUT, "window '%s' is in use by another call",
		            at->window ? at->window : "");
	*ret = lock;
	return 0;
}

void terminal_unlock(pthread_mutex_t **lock)
{
	if (*lock)
		(void)pthread_mutex_unlock(*lock);
}

int terminal_wait_begin(struct terminals *t, struct error *err)
{
	if (__atomic_add_fetch(&t->waiting, 1, __ATOMIC_RELAXED) <= t->options.waits_max)
		return 0;
	terminal_wait_end(t);
	(void)FAIL(err, ERROR_UNAVAILABLE, "%u calls wait for terminals already",
	           t->options.waits_max);
	return FAIL_HINT(err, "try again, and wait less long");
}

void terminal_wait_end(struct terminals *t)
{
	(void)__atomic_sub_fetch(&t->waiting, 1, __ATOMIC_RELAXED);
}

int terminal_ask(const struct terminal_at *at, const struct agent_terminal *change,
                 struct agent_terminal_state *ret, struct error *err)
{
	return compute_terminal(at->hold->provider, at->hold->id, change, at->deadline, ret, err);
}

void terminals_tell(struct terminals *t, enum event_kind kind, const char *sandbox,
                    const char *name)
{
	if (t->options.on_change)
		t->options.on_change(t->options.context, kind, sandbox, name);
}

int terminal_feed(const struct terminal_at *at, uint64_t process, struct span bytes,
                  struct error *err)
{
	const struct agent_feed feed = {.process = process, .bytes = bytes};

	if (bytes.size > TERMINAL_INPUT_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "more than %zu bytes to type",
		            TERMINAL_INPUT_MAX);
	if (bytes.size == 0)
		return 0;
	if (compute_feed(at->hold->provider, at->hold->id, &feed, at->deadline, err) < 0)
		return -1;
	if (at->terminals->options.on_typed && at->who && at->who[0])
		at->terminals->options.on_typed(at->terminals->options.context, at->hold->id,
		                                process, at->who);
	return 0;
}

int terminal_reader_open(struct terminal_reader *r, const struct terminal_at *at, uint64_t process,
                         uint64_t since, bool follow, struct error *err)
{
	struct agent_attach message = {
	        .process = process,
	        .since = {since, 0},
	        .read_only = 1,
	        .until_end = follow,
	};
	int fd;

	*r = (struct terminal_reader){.over = false};
	agent_reader_init(
	        &r->agent, at->hold->provider, at->hold->id,
	        &(struct agent_limits){.deadline = DEADLINE_NEVER,
	                               .cancel = at->cancel ? at->cancel : cancel_current(),
	                               .frame_ms = FRAME_MS});
	if (compute_open(at->hold->provider, at->hold->id,
	                 &(struct compute_request){AGENT_ATTACH, agent_attach_shape, &message,
	                                           at->cancel},
	                 at->deadline, &fd, err) < 0)
		return -1;
	agent_reader_adopt(&r->agent, fd, AGENT_ATTACH);
	return 0;
}

static int take_end(struct terminal_reader *r, struct error *err)
{
	if (r->agent.type != AGENT_EXIT)
		return 0;
	r->over = true;
	if (wire_decode(&r->arena, buf_span(&r->agent.payload), agent_process_shape, &r->process,
	                sizeof(r->process), err) < 0)
		return -1;
	command_ends_note(r->agent.id, &r->process);
	return 0;
}

/* The window's connection lives as long as its caller listens. Each call has its own deadline,
 * which does not cut off a frame that has begun to arrive. */
int terminal_reader_next(struct terminal_reader *r, int64_t deadline, struct agent_output *ret,
                         struct error *err)
{
	int ready;

	do {
		if (r->agent.has_ended)
			return 0;
		ready = agent_reader_wait(&r->agent, deadline, err);
		if (ready == 0)
			return FAIL(err, ERROR_TIMEOUT, "no output of the window");
		if (ready < 0 || agent_reader_next(&r->agent, err) < 0)
			return -1;
	} while (r->agent.type == AGENT_STARTED);
	arena_reset(&r->arena);
	if (r->agent.type != AGENT_OUTPUT)
		return take_end(r, err);
	if (wire_decode(&r->arena, buf_span(&r->agent.payload), agent_output_shape, ret,
	                sizeof(*ret), err) < 0)
		return -1;
	return 1;
}

void terminal_reader_done(struct terminal_reader *r)
{
	agent_reader_done(&r->agent);
	arena_done(&r->arena);
}

uint64_t terminal_missed(uint64_t *next, const struct agent_output *o)
{
	uint64_t missed = *next > 0 && o->offset > *next ? o->offset - *next : 0;

	*next = o->offset + o->bytes.size;
	return missed;
}

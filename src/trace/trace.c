/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/trace.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/thread.h"

/* Ended spans, oldest first; the mutex guards all but `ratio`. */
struct trace_ring {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct trace_record *records;
	size_t size, first, count;
	uint64_t ended, dropped;
	bool is_woken;
	double ratio;
};

static struct trace_ring ring = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static atomic_bool is_open;
static _Thread_local const struct trace_span *current;
static _Thread_local uint64_t id_state;

const char *trace_layer_name(enum trace_layer layer)
{
	static const char *const names[TRACE_LAYER_COUNT] = {
	        [TRACE_HTTP] = "http",         [TRACE_STORE] = "store", [TRACE_BROKER] = "broker",
	        [TRACE_PROVIDER] = "provider", [TRACE_AGENT] = "agent",
	};

	assert(layer < TRACE_LAYER_COUNT);
	return names[layer];
}

void trace_open(const struct trace_options *options)
{
	assert(!ring.records && options->spans_max > 0);
	ring.records = memory_array(options->spans_max, sizeof(*ring.records));
	ring.size = options->spans_max;
	ring.first = ring.count = 0;
	ring.ended = ring.dropped = 0;
	ring.is_woken = false;
	ring.ratio = options->ratio;
	thread_condition_init(&ring.changed);
	atomic_store(&is_open, true);
}

void trace_close(void)
{
	if (!atomic_exchange(&is_open, false))
		return;
	(void)pthread_mutex_lock(&ring.mutex);
	free(TAKE(ring.records));
	ring.size = ring.count = 0;
	(void)pthread_mutex_unlock(&ring.mutex);
	(void)pthread_cond_destroy(&ring.changed);
}

bool trace_is_open(void)
{
	return atomic_load_explicit(&is_open, memory_order_relaxed);
}

/* Ids need to be unique, not secret: one system call for each thread. splitmix64. */
static uint64_t next_id(void)
{
	uint64_t z;

	if (!id_state)
		random_bytes(&id_state, sizeof(id_state));
	do {
		id_state += UINT64_C(0x9e3779b97f4a7c15);
		z = id_state;
		z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
		z ^= z >> 31;
	} while (z == 0);
	return z;
}

static void make_span_id(struct trace_span *span)
{
	uint64_t id = next_id();

	memcpy(span->id, &id, sizeof(id));
}

static void make_trace_id(struct trace_span *span)
{
	const uint64_t halves[2] = {next_id(), next_id()};
	/* The low 56 bits of the id decide, as OpenTelemetry's samplers do, so that servers with
	 * the same ratio choose the same traces. */
	const double below = ring.ratio * (double)(UINT64_C(1) << 56);
	uint64_t low = 0;

	memcpy(span->trace_id, halves, sizeof(halves));
	for (size_t i = TRACE_ID_SIZE - 7; i < TRACE_ID_SIZE; i++)
		low = low << 8 | span->trace_id[i];
	span->is_recorded = (double)low < below;
}

static int64_t now_unix_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void trace_accept(struct trace_span *span, const char *parent)
{
	*span = (struct trace_span){.layer = TRACE_HTTP, .operation = "request"};
	if (!trace_is_open())
		return;
	if (!parent || !trace_parse_parent(parent, span))
		make_trace_id(span);
	make_span_id(span);
	span->is_known = true;
	span->begun_ns = now_unix_ns();
}

void trace_begin(struct trace_span *span, enum trace_layer layer, const char *operation)
{
	const struct trace_span *parent = current;

	span->is_known = span->is_recorded = false;
	if (!parent || !parent->is_recorded)
		return;
	*span = (struct trace_span){.layer = layer,
	                            .operation = operation,
	                            .begun_ns = now_unix_ns(),
	                            .is_known = true,
	                            .is_recorded = true};
	memcpy(span->trace_id, parent->trace_id, sizeof(span->trace_id));
	memcpy(span->parent_id, parent->id, sizeof(span->parent_id));
	make_span_id(span);
}

const struct trace_span *trace_swap(const struct trace_span *span)
{
	const struct trace_span *before = current;

	current = span;
	return before;
}

const struct trace_span *trace_current(void)
{
	return current;
}

static void copy_attributes(struct trace_record *r, const struct trace_attribute *attributes)
{
	size_t used = 0;

	for (; attributes && attributes->key && r->attribute_count < TRACE_ATTRIBUTES_MAX;
	     attributes++) {
		struct trace_attribute *copy = &r->attributes[r->attribute_count];
		size_t room = sizeof(r->texts) - used;

		*copy = (struct trace_attribute){attributes->key, NULL, attributes->number};
		if (attributes->text) {
			if (!attributes->text[0] || room < 2)
				continue;
			(void)snprintf(r->texts + used, room, "%s", attributes->text);
			copy->text = r->texts + used;
			used += strlen(copy->text) + 1;
		}
		r->attribute_count++;
	}
}

static void fill_record(struct trace_record *r, const struct trace_span *span,
                        const struct trace_end *end)
{
	*r = (struct trace_record){.layer = span->layer,
	                           .begun_ns = span->begun_ns,
	                           .ended_ns = now_unix_ns(),
	                           .has_failed = end->err != NULL};
	memcpy(r->trace_id, span->trace_id, sizeof(r->trace_id));
	memcpy(r->id, span->id, sizeof(r->id));
	memcpy(r->parent_id, span->parent_id, sizeof(r->parent_id));
	if (end->name)
		(void)snprintf(r->name, sizeof(r->name), "%s", end->name);
	else
		(void)snprintf(r->name, sizeof(r->name), "%s %s", trace_layer_name(span->layer),
		               span->operation);
	if (end->err)
		(void)snprintf(r->failure, sizeof(r->failure), "%.*s", TRACE_FAILURE_SIZE - 1,
		               end->err->text);
	copy_attributes(r, end->attributes);
}

void trace_end(struct trace_span *span, const struct trace_end *end)
{
	bool is_recorded = span->is_recorded;

	span->is_known = span->is_recorded = false;
	if (!is_recorded || !trace_is_open())
		return;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&ring.mutex);

	ring.ended++;
	if (ring.count >= ring.size) { /* or it was closed meanwhile */
		ring.dropped++;
		return;
	}
	fill_record(&ring.records[(ring.first + ring.count++) % ring.size], span, end);
	/* The exporter wakes by itself; only a ring that fills up wakes it earlier. */
	if (ring.count == ring.size / 4)
		(void)pthread_cond_signal(&ring.changed);
}

static void move_record(struct trace_record *ret, const struct trace_record *r)
{
	*ret = *r;
	for (unsigned i = 0; i < ret->attribute_count; i++)
		if (r->attributes[i].text)
			ret->attributes[i].text = ret->texts + (r->attributes[i].text - r->texts);
}

size_t trace_take(struct trace_record *ret, size_t max, int64_t deadline)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&ring.mutex);
	size_t count = 0;

	while (ring.count < ring.size / 4 && !ring.is_woken && deadline_poll_ms(deadline) != 0)
		thread_wait(&ring.changed, &ring.mutex, deadline);
	for (; count < max && ring.count > 0; count++) {
		move_record(&ret[count], &ring.records[ring.first]);
		ring.first = (ring.first + 1) % ring.size;
		ring.count--;
	}
	return count;
}

void trace_wake(void)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&ring.mutex);

	ring.is_woken = true;
	(void)pthread_cond_signal(&ring.changed);
}

struct trace_counts trace_counts_get(void)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&ring.mutex);

	return (struct trace_counts){ring.ended, ring.dropped, ring.count};
}

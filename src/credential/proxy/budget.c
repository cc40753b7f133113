/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of connections, and which of them read on: guard.h has the rule. */
#include <stdio.h>

#include "credential/passage/wire.h"
#include "credential/proxy/state.h"

/* Of both states of OpenSSL, with their handshakes, and of the connection itself. */
#define CONNECTION_MEMORY ((size_t)48 * 1024)

static size_t measure_carried(const struct carried *c)
{
	size_t now = CONNECTION_MEMORY + c->client.in.capacity + c->client.out.capacity +
	             c->server.in.capacity + c->server.out.capacity +
	             passage_connection_memory(&c->connection);

	/* Its share is promised to it. */
	return now > GUARD_MEMORY_SHARE ? now : GUARD_MEMORY_SHARE;
}

/* The sandbox has room again. */
static void wake_waiting(struct credential_proxy *p, const struct guard *g)
{
	LIST_EACH (&g->connections, struct carried, c, link) {
		if (!c->is_waiting)
			continue;
		c->is_waiting = false;
		loop_timer_start(p->loop, &c->again_timer, 0);
	}
}

static void charge_bytes(struct carried *c, size_t now)
{
	struct credential_proxy *p = c->proxy;
	struct guard *g = c->connection.guard;
	bool was_full = g->is_full;

	p->memory = p->memory - c->memory + now;
	g->memory_max = p->memory < MEMORY_MAX ? GUARD_MEMORY_MAX : MEMORY_OF_ONE_MIN;
	guard_charge(g, &c->memory, now);
	if (was_full && !g->is_full)
		wake_waiting(p, g);
}

void carried_charge(struct carried *c)
{
	charge_bytes(c, measure_carried(c));
}

void carried_discharge(struct carried *c)
{
	charge_bytes(c, 0);
}

bool carried_may_grow(const struct carried *c)
{
	return !c->connection.guard->is_full || c->memory <= GUARD_MEMORY_SHARE;
}

void carried_release_idle(struct carried *c)
{
	struct buf *buffers[] = {&c->client.in, &c->client.out, &c->server.in, &c->server.out};

	for (size_t i = 0; i < COUNT_OF(buffers); i++)
		if (buffers[i]->size == 0 && !buffers[i]->overflowed)
			buf_done(buffers[i]);
	carried_charge(c);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/connection.h"
#include "agent/service.h"

static void send_state(struct connection *c, const struct service *s)
{
	const struct agent_service_state state = service_state(s);

	connection_send(c, AGENT_SERVICE_STATE, agent_service_state_shape, &state);
}

int service_call_set(struct connection *c, const struct agent_service *message, struct arena *arena,
                     struct error *err)
{
	struct service *s;

	if (service_set(c->agent, message, arena, &s, err) < 0)
		return -1;
	connection_cork(c);
	send_state(c, s);
	connection_send_done(c, 1);
	connection_uncork(c);
	return 0;
}

void service_call_list(struct connection *c)
{
	uint64_t count = 0;

	connection_cork(c);
	LIST_EACH (&c->agent->services, const struct service, s, item) {
		if (s->is_removed)
			continue;
		send_state(c, s);
		count++;
	}
	connection_send_done(c, count);
	connection_uncork(c);
}

static void send_log(struct connection *c, const struct ring *ring,
                     const struct agent_service_log *wanted, unsigned stream)
{
	uint64_t at = wanted->since[stream];
	uint64_t until = at < ring->end ? at + wanted->max : ring->end;

	while (at < until && c->watch.fd >= 0) {
		struct agent_output output = {.stream = AGENT_STDOUT + stream};
		uint64_t asked = at;

		output.bytes = ring_peek(ring, &at);
		until += at - asked; /* lost bytes are not counted */
		if (output.bytes.size == 0)
			return;
		if (output.bytes.size > until - at)
			output.bytes.size = (size_t)(until - at);
		if (output.bytes.size > AGENT_DATA_MAX)
			output.bytes.size = AGENT_DATA_MAX;
		output.offset = at;
		connection_send(c, AGENT_OUTPUT, agent_output_shape, &output);
		at += output.bytes.size;
	}
}

int service_call_log(struct connection *c, const struct agent_service_log *wanted,
                     struct error *err)
{
	const struct service *s = service_find(c->agent, wanted->id);

	if (!s || s->is_removed)
		return FAIL(err, ERROR_NOT_FOUND, "no service '%s'", wanted->id);
	if (wanted->max > AGENT_SERVICE_LOG_MAX)
		return FAIL(err, ERROR_INVALID, "more than %d bytes of a service's log",
		            AGENT_SERVICE_LOG_MAX);
	connection_cork(c);
	for (unsigned i = 0; i < 2; i++)
		send_log(c, service_ring(s, i), wanted, i);
	connection_send_done(c, 0);
	connection_uncork(c);
	return 0;
}

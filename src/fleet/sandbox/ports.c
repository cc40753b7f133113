/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/sandbox/ports.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fleet/core/fleet_state.h"
#include "fleet/sandbox/preview.h"
#include "provider/compute.h"
#include "provider/provider.h"
#include "wire/agent.h"
#include "wire/agent_ports.h"

#define ASK_TIMEOUT_MS 5000

struct port_scan {
	struct arena *arena;
	struct fleet_ports *ports;
};

static int take_port(void *context, const void *reply, struct error *err)
{
	const struct agent_port *message = reply;
	struct port_scan *scan = context;
	struct fleet_ports *ports = scan->ports;

	if (ports->count == AGENT_PORTS_MAX)
		return FAIL(err, ERROR_LIMIT, "the agent reports more than %d ports",
		            AGENT_PORTS_MAX);
	if (message->port < 1 || message->port > UINT16_MAX || message->process > INT64_MAX)
		return FAIL(err, ERROR_SYSTEM, "the agent reports port %u", message->port);
	ports->items[ports->count++] = (struct fleet_port){
	        .port = (uint16_t)message->port,
	        .address = arena_text(scan->arena, message->address),
	        .command = arena_text(scan->arena, message->command),
	        .pid = message->pid,
	        .process = (int64_t)message->process,
	};
	return 0;
}

static int compare_ports(const void *a, const void *b)
{
	const struct fleet_port *x = a, *y = b;

	return x->port != y->port ? x->port - y->port : strcmp(x->address, y->address);
}

/* A preview connects to 127.0.0.1 and ::1. */
static bool is_on_loopback(const char *address)
{
	static const char *const addresses[] = {"0.0.0.0", "127.0.0.1", "::", "::1"};

	for (size_t i = 0; i < COUNT_OF(addresses); i++)
		if (strcmp(address, addresses[i]) == 0)
			return true;
	return false;
}

static void note_previews(struct fleet *f, struct arena *a, const struct sandbox_record *r,
                          struct fleet_ports *ports)
{
	for (size_t i = 0; i < ports->count; i++) {
		struct fleet_port *port = &ports->items[i];
		struct error refused;

		if (i > 0 && port->port == port[-1].port && is_on_loopback(port[-1].address))
			port->has_preview = port[-1].has_preview && is_on_loopback(port->address);
		else
			port->has_preview = is_on_loopback(port->address) &&
			                    fleet_preview_check(f, a, r, port->port, &refused) == 0;
	}
}

int fleet_ports(struct fleet *fleet, struct arena *a, const struct sandbox_record *r,
                const struct fleet_hold *hold, struct fleet_ports *ret, struct error *err)
{
	struct port_scan scan = {a, ret};
	struct agent_port message;
	struct agent_done done = {0};
	const struct compute_call call = {
	        .type = AGENT_PORTS,
	        WIRE_REPLY(AGENT_PORT, agent_port_shape, message),
	        .on_reply = take_port,
	        .context = &scan,
	        .done = &done,
	};

	if (provider_require(hold->provider, PROVIDER_CAN_DIAL, err) < 0)
		return -1;
	*ret = (struct fleet_ports){.items = ARENA_ARRAY(a, struct fleet_port, AGENT_PORTS_MAX)};
	if (compute_call(hold->provider, hold->id, a, &call, deadline_after(ASK_TIMEOUT_MS), err) <
	    0)
		return -1;
	ret->is_cut = done.count > 0;
	qsort(ret->items, ret->count, sizeof(*ret->items), compare_ports);
	note_previews(fleet, a, r, ret);
	return 0;
}

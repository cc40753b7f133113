/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/instances/:id/ports — the TCP ports that programs in a sandbox listen on. The call
 * is passive: it is no use of the sandbox, and does not wake it. */
#include "edge/api.h"
#include "edge/target.h"
#include "fleet/sandbox/ports.h"
#include "json/json.h"
#include "surface/native/native.h"

struct port_answer {
	int64_t port, pid, process;
	const char *address, *command;
	bool preview;
};
static const struct json_member port_shape_members[] = {
        JSON_WHOLE_MEMBER(port_answer, port),
        JSON_TEXT_MEMBER(port_answer, address,
                         .about = "address that the socket is bound to; 0.0.0.0 and :: are all"),
        JSON_WHOLE_MEMBER(port_answer, pid,
                          .about = "process id inside the sandbox of the first process that has "
                                   "the socket; 0: not found"),
        JSON_WHOLE_MEMBER(port_answer, process,
                          .about = "number of the process in …/processes that started it; 0: none"),
        JSON_TEXT_MEMBER(port_answer, command, .about = "command line, at most 1023 bytes"),
        JSON_BOOL_MEMBER(port_answer, preview,
                         .about = "a preview may show the port and reaches its address"),
};
static JSON_SHAPE(port_shape, "ListeningPort", port_answer, "A port that a program listens on");

struct port_list_answer {
	struct json_list items;
	bool truncated;
};
static const struct json_member port_list_shape_members[] = {
        JSON_LIST_MEMBER(port_list_answer, items, &port_shape),
        JSON_BOOL_MEMBER(port_list_answer, truncated,
                         .about = "there are so many sockets that ports or processes are missing"),
};
static JSON_SHAPE(port_list_shape, "ListeningPortList", port_list_answer,
                  "TCP ports that programs listen on, by number");

static int listening_ports_list(struct request *rq, UNUSED const void *body, struct reply *reply,
                                struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct port_list_answer answer = {.truncated = false};
	struct fleet_ports ports;
	struct port_answer *items;

	if (api_target_look(rq, &t, err) < 0 ||
	    fleet_ports(api_of(rq)->fleet, rq->arena, t.record, t.hold, &ports, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct port_answer, ports.count + 1);
	for (size_t i = 0; i < ports.count; i++) {
		const struct fleet_port *port = &ports.items[i];

		items[i] = (struct port_answer){port->port,    port->pid,     port->process,
		                                port->address, port->command, port->has_preview};
	}
	answer.items = (struct json_list){items, ports.count, .present = true};
	answer.truncated = ports.is_cut;
	reply_json(reply, &port_list_shape, &answer);
	return 0;
}

const struct route ports_routes[] = {
        {HTTP_GET, "/api/sandbox/instances/:id/ports", SCOPE_SANDBOX_READ,
         .answer = &port_list_shape, .handle = listening_ports_list, .tag = "processes",
         .summary = "List the TCP ports that programs listen on; neither wakes a sandbox nor "
                    "counts as its use"},
        {.path = NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "agent/carry.h"
#include "agent/connection.h"
#include "agent/dial.h"
#include "agent/job.h"
#include "agent/machine.h"
#include "agent/orphan.h"
#include "agent/pod.h"
#include "agent/ports.h"
#include "agent/service.h"
#include "agent/tree.h"
#include "agent/warm.h"
#include "base/clock.h"
#include "wire/agent_beat.h"
#include "wire/agent_machine.h"
#include "wire/agent_secrets.h"

#define ANCESTORS_MAX 256

/* One frame, decoded. */
struct call {
	struct connection *connection;
	struct arena *arena; /* a handler may take ownership */
	struct span payload;
	const void *message;
};

enum when {
	WHEN_ANY,
	WHEN_IDLE,   /* else the request waits until the connection is no longer attached */
	WHEN_STREAM, /* for the connection's process; dropped without a process */
};

struct agent_request_row {
	uint16_t type;
	enum when when;
	const struct wire_member *shape;
	size_t size;
	int (*run)(struct call *call, struct error *err); /* 1 = done, 0 = not now, -1 = failed */
	/* Tried first: see agent_secrets.h. */
	const struct wire_member *other_shape;
};

static int find_process(struct call *call, uint64_t id, struct process **ret, struct error *err)
{
	*ret = process_find(call->connection->agent, id);
	if (!*ret)
		return FAIL(err, ERROR_NOT_FOUND, "no process %lu", (unsigned long)id);
	return 0;
}

/* A shell that waits for its next command does no work. */
static uint32_t count_in_use(struct agent *a)
{
	struct tree_shell shells[PROCESS_RUNNING_MAX];
	size_t shell_count = 0;
	uint32_t count = 0;

	LIST_EACH (&a->processes, const struct process, p, item) {
		count += !p->over && !(p->info.flags & AGENT_EXEC_RESIDENT);
		if (!p->over && p->info.flags & AGENT_EXEC_SHELL && p->reaper &&
		    shell_count < COUNT_OF(shells))
			shells[shell_count++] = (struct tree_shell){reaper_pid(p->reaper),
			                                            reaper_command(p->reaper)};
	}
	return count + tree_count_busy(shells, shell_count);
}

static void send_pong(struct connection *c)
{
	struct agent *a = c->agent;
	struct agent_pong pong = {.protocol = AGENT_PROTOCOL,
	                          .processes = count_in_use(a),
	                          .connections = a->connection_count,
	                          .uptime_ms = (uint64_t)(clock_monotonic_ms() - a->started_ms),
	                          .boot_id = a->boot_id.text};

	connection_send(c, AGENT_PONG, agent_pong_shape, &pong);
}

static int run_ping(struct call *call, UNUSED struct error *err)
{
	send_pong(call->connection);
	return 1;
}

/* Answers without a new process, because most sandboxes have no hooks. */
static int check_is_there(const struct agent_exec *exec, struct error *err)
{
	if (!(exec->flags & AGENT_EXEC_IF_THERE) || !exec->args[0] ||
	    access(exec->args[0], F_OK) == 0)
		return 0;
	return FAIL(err, ERROR_NOT_FOUND, "no program '%s'", exec->args[0]);
}

static int run_exec(struct call *call, struct error *err)
{
	const struct agent_exec *exec = call->message;
	struct connection *c = call->connection;
	struct process *p;

	if (check_is_there(exec, err) < 0)
		return -1;
	if (warm_is_about_to(c->agent, exec, &c->patience)) {
		c->held = true;
		return 0;
	}
	c->patience = 0;
	if (process_start(c->agent, exec, call->arena, &p, err) < 0)
		return -1;
	p->job = TAKE(c->job);
	p->starter = c;
	c->process = p;
	c->detached_start = (p->info.flags & AGENT_EXEC_DETACH) != 0;
	c->ends_process = (p->info.flags & AGENT_EXEC_END_ON_CLOSE) != 0 && !c->detached_start;
	c->read_only = false;
	memset(c->next, 0, sizeof(c->next));
	c->until[0] = c->until[1] = UINT64_MAX;
	return 1;
}

static int run_warm(struct call *call, struct error *err)
{
	if (warm_set(call->connection->agent, call->message, err) < 0)
		return -1;
	connection_send_done(call->connection, 0);
	return 1;
}

/* The connection is the carried one from now on. */
static int carry_dial(struct call *call, const struct agent_dial *request, struct error *err)
{
	const struct agent_dial plain = {request->port, request->version - AGENT_DIAL_CARRIES};
	struct connection *c = call->connection;
	AUTO_CLOSE int outside = -1;
	AUTO_CLOSE int fd = -1;

	if (dial_server(&plain, &fd, err) < 0)
		return -1;
	outside = fcntl(c->watch.fd, F_DUPFD_CLOEXEC, 0);
	if (outside < 0)
		return FAIL_ERRNO(err, "keep a connection");
	if (carry_begin(c->agent, TAKE_FD(outside), TAKE_FD(fd), err) < 0)
		return -1;
	connection_close(c);
	return 1;
}

static int run_dial(struct call *call, struct error *err)
{
	const struct agent_dial *request = call->message;
	AUTO_CLOSE int fd = -1;

	if (request->version >= AGENT_DIAL_CARRIES)
		return carry_dial(call, request, err);

	if (dial_server(call->message, &fd, err) < 0 ||
	    connection_send_done_with_fd(call->connection, fd, err) < 0)
		return -1;
	return 1;
}

static int run_job(struct call *call, UNUSED struct error *err)
{
	struct connection *c = call->connection;

	job_free(c->job);
	c->job = job_new(call->message);
	send_pong(c);
	return 1;
}

static int run_find_job(struct call *call, struct error *err)
{
	const struct agent_find_job *wanted = call->message;

	LIST_EACH (&call->connection->agent->processes, struct process, p, item) {
		struct agent_process info;

		if (!p->job || strcmp(p->job->info.id, wanted->id) != 0)
			continue;
		info = process_info(p);
		connection_send(call->connection, AGENT_PROCESS, agent_process_shape, &info);
		connection_send_done(call->connection, 1);
		return 1;
	}
	return FAIL(err, ERROR_NOT_FOUND, "no process is job '%s'", wanted->id);
}

static int run_await(struct call *call, struct error *err)
{
	const struct agent_await *await = call->message;
	struct connection *c = call->connection;
	struct process *p;

	if (strcmp(await->boot_id, c->agent->boot_id.text) != 0)
		return FAIL(err, ERROR_CONFLICT, "the sandbox has been started again since");
	if (find_process(call, await->process, &p, err) < 0)
		return -1;
	c->awaited = await->process;
	if (p->over)
		connections_tell_end(p);
	return 1;
}

static void send_service(struct connection *c, const struct service *s)
{
	const struct agent_service_state state = service_state(s);

	connection_send(c, AGENT_SERVICE_STATE, agent_service_state_shape, &state);
}

static int run_service(struct call *call, struct error *err)
{
	struct connection *c = call->connection;
	struct service *s;

	if (service_set(c->agent, call->message, call->arena, &s, err) < 0)
		return -1;
	connection_cork(c);
	send_service(c, s);
	connection_send_done(c, 1);
	connection_uncork(c);
	return 1;
}

static int run_services(struct call *call, UNUSED struct error *err)
{
	struct connection *c = call->connection;
	uint64_t count = 0;

	connection_cork(c);
	LIST_EACH (&c->agent->services, const struct service, s, item) {
		if (s->is_removed)
			continue;
		send_service(c, s);
		count++;
	}
	connection_send_done(c, count);
	connection_uncork(c);
	return 1;
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

static int run_service_log(struct call *call, struct error *err)
{
	const struct agent_service_log *wanted = call->message;
	struct connection *c = call->connection;
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
	return 1;
}

static int run_attach(struct call *call, struct error *err)
{
	const struct agent_attach *attach = call->message;
	struct connection *c = call->connection;
	struct agent_process info;
	struct process *p;

	if (find_process(call, attach->process, &p, err) < 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		c->next[i] = attach->since[i];
		c->until[i] = attach->until_end ? UINT64_MAX : p->out[i].ring.end;
		if (c->next[i] > p->out[i].ring.end)
			return FAIL(err, ERROR_INVALID, "offset %lu is past the end, %lu",
			            (unsigned long)c->next[i], (unsigned long)p->out[i].ring.end);
	}
	c->read_only = attach->read_only != 0;
	info = process_info(p);
	connection_send(c, AGENT_STARTED, agent_process_shape, &info);
	if (c->watch.fd < 0)
		return 1;
	connection_attach(c, p);
	connection_flush(c);
	return 1;
}

static int run_stdin(struct call *call, UNUSED struct error *err)
{
	struct connection *c = call->connection;

	if (c->read_only)
		return 1;
	if (process_stdin_is_full(c->process)) {
		c->full = c->process;
		return 0;
	}
	process_feed(c->process, call->payload);
	return 1;
}

static int run_stdin_end(struct call *call, UNUSED struct error *err)
{
	if (!call->connection->read_only)
		process_end_stdin(call->connection->process);
	return 1;
}

static int run_resize(struct call *call, struct error *err)
{
	/* No reply is possible here: it would interrupt the output. */
	if (!call->connection->read_only)
		(void)!process_resize(call->connection->process, call->message, err);
	return 1;
}

static int run_signal(struct call *call, struct error *err)
{
	const struct agent_signal *signal = call->message;
	struct connection *c = call->connection;
	struct process *p = c->process;

	if (p && !c->read_only)
		(void)!process_signal(p, signal, err);
	if (p || signal->process == 0) /* 0: for the process that has just ended */
		return 1;
	if (find_process(call, signal->process, &p, err) < 0 || process_signal(p, signal, err) < 0)
		return -1;
	connection_send_done(c, 0);
	return 1;
}

static int run_detach(struct call *call, UNUSED struct error *err)
{
	struct connection *c = call->connection;

	if (!c->attached) {
		c->held = true; /* first the answer to EXEC */
		return 0;
	}
	connection_detach(c);
	connection_send_done(c, 0);
	return 1;
}

static int run_processes(struct call *call, UNUSED struct error *err)
{
	struct connection *c = call->connection;
	uint64_t count = 0;

	LIST_EACH (&c->agent->processes, struct process, p, item) {
		struct agent_process info = process_info(p);

		if (c->watch.fd >= 0)
			connection_send(c, AGENT_PROCESS, agent_process_shape, &info);
		count++;
	}
	connection_send_done(c, count);
	return 1;
}

/* The command whose reaper is an ancestor of the process; NULL: none. */
static const struct process *find_starter(struct agent *a, pid_t pid)
{
	struct tree_process process;

	for (unsigned i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
		LIST_EACH (&a->processes, const struct process, p, item)
			if (p->reaper && reaper_pid(p->reaper) == pid)
				return p;
		if (!tree_look(pid, &process))
			return NULL;
		pid = process.parent;
	}
	return NULL;
}

static void send_port(struct connection *c, const struct listening_port *port)
{
	const struct process *starter = find_starter(c->agent, port->pid);
	char command[AGENT_PORT_COMMAND_MAX] = "";
	struct agent_port message = {.port = port->port,
	                             .address = port->address,
	                             .pid = (uint32_t)port->pid,
	                             .process = starter ? starter->info.process : 0,
	                             .command = command};

	if (c->agent->home && !starter)
		return;
	if (port->pid)
		port_command(port->pid, command, sizeof(command));
	connection_send(c, AGENT_PORT, agent_port_shape, &message);
}

static int run_ports(struct call *call, UNUSED struct error *err)
{
	AUTO_FREE struct port_list *list = memory_new(sizeof(*list));
	struct connection *c = call->connection;

	ports_list(list);
	connection_cork(c);
	for (size_t i = 0; i < list->count; i++)
		send_port(c, &list->items[i]);
	connection_send_done(c, list->is_cut);
	connection_uncork(c);
	return 1;
}

static int run_feed(struct call *call, struct error *err)
{
	const struct agent_feed *feed = call->message;
	struct connection *c = call->connection;
	struct process *p;

	if (find_process(call, feed->process, &p, err) < 0)
		return -1;
	if (!p->reaper || p->stdin_ends)
		return FAIL(err, ERROR_CONFLICT, "stdin of process %lu is closed",
		            (unsigned long)feed->process);
	if (process_stdin_is_full(p)) {
		c->full = p;
		return 0;
	}
	process_feed(p, feed->bytes);
	if (feed->end)
		process_end_stdin(p);
	connection_send_done(c, feed->bytes.size);
	return 1;
}

static int run_forget(struct call *call, struct error *err)
{
	const struct agent_signal *which = call->message;
	struct process *p;

	if (find_process(call, which->process, &p, err) < 0)
		return -1;
	if (!p->over)
		return FAIL(err, ERROR_CONFLICT, "process %lu is running",
		            (unsigned long)which->process);
	process_forget(p);
	connection_send_done(call->connection, 0);
	return 1;
}

static int run_stop(struct call *call, UNUSED struct error *err)
{
	const struct agent_stop *stop = call->message;

	agent_stop_all(call->connection->agent,
	               (int64_t)(stop->grace_ms < INT32_MAX ? stop->grace_ms : INT32_MAX));
	return 1;
}

static int run_beat(struct call *call, UNUSED struct error *err)
{
	const struct agent_beat *beat = call->message;

	orphan_beat(call->connection->agent, beat->bound_ms);
	return 1;
}

static int run_identity(struct call *call, struct error *err)
{
	struct connection *c = call->connection;

	const struct agent_identity *identity = call->message;
	if (c->agent->has_tunnels && identity->only_syncs) {
		if (pod_sync(AGENT_POD_HOME, err) < 0)
			return -1;
		connection_send_done(c, 0);
		return 1;
	}
	if (!c->agent->is_machine)
		return FAIL(err, ERROR_INVALID, "this agent is in no machine of its own");
	if (machine_identify(identity, err) < 0)
		return -1;
	/* Else its processes are those that the server knows. */
	if (identity->is_new) {
		c->agent->boot_id = id_new();
		c->agent->started_ms = clock_monotonic_ms();
	}
	orphan_renew(c->agent);
	connection_send_done(c, 0);
	return 1;
}

static int run_terminal(struct call *call, struct error *err)
{
	const struct agent_terminal *change = call->message;
	struct connection *c = call->connection;
	struct agent_terminal_state state;
	struct process *p;
	uint32_t was_busy;

	if (find_process(call, change->process, &p, err) < 0)
		return -1;
	was_busy = process_terminal(p).is_busy;
	if (process_set_terminal(p, change, err) < 0)
		return -1;
	state = process_terminal(p);
	if (change->signal)
		state.is_busy = was_busy;
	connection_cork(c);
	connection_send(c, AGENT_TERMINAL_STATE, agent_terminal_state_shape, &state);
	connection_send_done(c, 1);
	connection_uncork(c);
	return 1;
}

union request_message {
	struct agent_exec exec;
	struct agent_warm warm;
	struct agent_dial dial;
	struct agent_attach attach;
	struct agent_resize resize;
	struct agent_signal signal;
	struct agent_feed feed;
	struct agent_terminal terminal;
	struct agent_stop stop;
	struct agent_beat beat;
	struct agent_identity identity;
	struct agent_job job;
	struct agent_find_job find_job;
	struct agent_await await;
	struct agent_service service;
	struct agent_service_log service_log;
};

static const struct agent_request_row requests[] = {
        {AGENT_PING, WHEN_ANY, NULL, 0, run_ping},
        {AGENT_EXEC, WHEN_IDLE, agent_exec_shape, sizeof(struct agent_exec), run_exec,
         agent_secret_exec_shape},
        {AGENT_WARM, WHEN_IDLE, agent_warm_shape, sizeof(struct agent_warm), run_warm},
        {AGENT_DIAL, WHEN_IDLE, agent_dial_shape, sizeof(struct agent_dial), run_dial},
        {AGENT_ATTACH, WHEN_IDLE, agent_attach_shape, sizeof(struct agent_attach), run_attach},
        {AGENT_STDIN, WHEN_STREAM, NULL, 0, run_stdin},
        {AGENT_STDIN_END, WHEN_STREAM, NULL, 0, run_stdin_end},
        {AGENT_RESIZE, WHEN_STREAM, agent_resize_shape, sizeof(struct agent_resize), run_resize},
        {AGENT_SIGNAL, WHEN_ANY, agent_signal_shape, sizeof(struct agent_signal), run_signal},
        {AGENT_DETACH, WHEN_STREAM, NULL, 0, run_detach},
        {AGENT_PROCESSES, WHEN_IDLE, NULL, 0, run_processes},
        {AGENT_PORTS, WHEN_IDLE, NULL, 0, run_ports},
        {AGENT_FEED, WHEN_IDLE, agent_feed_shape, sizeof(struct agent_feed), run_feed},
        {AGENT_FORGET, WHEN_IDLE, agent_signal_shape, sizeof(struct agent_signal), run_forget},
        {AGENT_JOB, WHEN_IDLE, agent_job_shape, sizeof(struct agent_job), run_job},
        {AGENT_FIND_JOB, WHEN_IDLE, agent_find_job_shape, sizeof(struct agent_find_job),
         run_find_job},
        {AGENT_AWAIT, WHEN_IDLE, agent_await_shape, sizeof(struct agent_await), run_await},
        {AGENT_TERMINAL, WHEN_IDLE, agent_terminal_shape, sizeof(struct agent_terminal),
         run_terminal},
        {AGENT_SERVICE, WHEN_IDLE, agent_service_shape, sizeof(struct agent_service), run_service},
        {AGENT_SERVICES, WHEN_IDLE, NULL, 0, run_services},
        {AGENT_SERVICE_LOG, WHEN_IDLE, agent_service_log_shape, sizeof(struct agent_service_log),
         run_service_log},
        {AGENT_STOP, WHEN_ANY, agent_stop_shape, sizeof(struct agent_stop), run_stop},
        {AGENT_BEAT, WHEN_ANY, agent_beat_shape, sizeof(struct agent_beat), run_beat},
        {AGENT_IDENTITY, WHEN_IDLE, agent_identity_shape, sizeof(struct agent_identity),
         run_identity},
};

static const struct agent_request_row *request_find(uint16_t type)
{
	for (size_t i = 0; i < COUNT_OF(requests); i++)
		if (requests[i].type == type)
			return &requests[i];
	return NULL;
}

static int wait_until_idle(struct connection *c)
{
	c->held = true;
	return 0;
}

static int decode_message(const struct call *call, const struct agent_request_row *request,
                          union request_message *ret, struct error *err)
{
	struct error first = {0};

	if (request->other_shape && wire_decode(call->arena, call->payload, request->other_shape,
	                                        ret, request->size, &first) == 0)
		return 0;
	return wire_decode(call->arena, call->payload, request->shape, ret, request->size, err);
}

int request_run(struct connection *c, uint16_t type, struct span payload, struct error *err)
{
	const struct agent_request_row *request = request_find(type);
	AUTO(arena_wipe) struct arena arena = {0}; /* secrets of a terminal may be in it */
	union request_message message;
	struct call call = {c, &arena, payload, &message};
	int result;

	if (!request)
		return FAIL(err, ERROR_INVALID, "unknown message %u", type);
	if (request->when == WHEN_IDLE && c->process)
		return wait_until_idle(c);
	if (request->when == WHEN_STREAM && !c->process)
		return 1;
	if (request->shape && decode_message(&call, request, &message, err) < 0)
		return -1;
	result = request->run(&call, err);
	if (result < 0)
		connection_send_failed(c, err);
	return result < 0 ? 1 : result;
}

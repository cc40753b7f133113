/* SPDX-License-Identifier: Apache-2.0 */
/* BROKER_MEMORY: why a sandbox's processes cannot be written to disk here. A task tries it once,
 * when it is first asked. The result holds until the broker ends. */
#include "broker/server/memory.h"

#include "broker/server/state.h"

static void send_result(struct broker *b, const struct pending_reply *reply)
{
	if (b->memory.found.code == ERROR_NONE)
		server_send_ok(b, reply);
	else
		server_send_failure(b, reply, &b->memory.found);
}

static void on_probe_end(struct broker_child *child, UNUSED int status)
{
	struct memory_probe *probe = CONTAINER_OF(child, struct memory_probe, task.child);
	struct broker *b = CONTAINER_OF(probe, struct broker, memory);

	error_clear(&probe->found);
	/* A killed task is started again when the next request comes. */
	probe->is_known = task_take_report(&probe->task, NULL, &probe->found) == 0 ||
	                  probe->found.code == ERROR_UNSUPPORTED;
	probe->is_running = false;
	for (unsigned i = 0; i < probe->waiting_count; i++)
		send_result(b, &probe->waiting[i]);
	probe->waiting_count = 0;
}

static int start_probe(struct broker *b, struct error *err)
{
	const struct task_command command = {.kind = TASK_MEMORY};
	struct memory_probe *probe = &b->memory;

	probe->task.child.on_end = on_probe_end;
	if (task_start(&b->host, &b->events, &probe->task, &command, err) < 0)
		return -1;
	probe->is_running = true;
	return 0;
}

int memory_ask(const struct request_context *c, UNUSED const void *request, struct error *err)
{
	struct broker *b = c->broker;
	struct memory_probe *probe = &b->memory;

	if (probe->is_known) {
		send_result(b, &c->reply);
		return 0;
	}
	if (probe->waiting_count == COUNT_OF(probe->waiting))
		return FAIL(err, ERROR_UNAVAILABLE, "CRIU is being tried");
	if (!probe->is_running && start_probe(b, err) < 0)
		return -1;
	probe->waiting[probe->waiting_count++] = c->reply;
	return 0;
}

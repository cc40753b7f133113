/* SPDX-License-Identifier: Apache-2.0 */
/* BROKER_MEASURE: a task with the lowest priority counts. */
#include "broker/server/measure_task.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "broker/server/state.h"
#include "wire/broker.h"
#include "wire/broker_measure.h"
#include "wire/task.h"

#define MEASURE_MS 30000

static void end_measure(struct broker_child *child, UNUSED int status)
{
	struct measuring *m = CONTAINER_OF(child, struct measuring, task.child);
	struct broker *b = CONTAINER_OF(m, struct broker, measuring);
	struct broker_measured answer = {.request = m->reply.request};
	struct task_result measured;
	struct error err = {0};

	m->is_running = false;
	if (task_take_report(&m->task, &measured, &err) < 0) {
		server_send_failure(b, &m->reply, &err);
		return;
	}
	answer.bytes = measured.bytes;
	answer.is_partial = measured.is_partial;
	server_send(b, m->reply.connection, BROKER_MEASURED, broker_measured_shape, &answer);
}

int measure_start(const struct request_context *c, const void *message, struct error *err)
{
	static const char *const folders[BROKER_MEASURE_KIND_COUNT] = {
	        [BROKER_MEASURE_SANDBOX] = "sandboxes",
	        [BROKER_MEASURE_SNAPSHOT] = "snapshots",
	        [BROKER_MEASURE_VOLUME] = "volumes",
	};
	struct task_command command = {.kind = TASK_MEASURE, .is_idle = true, .count = 2};
	const struct broker_measure *request = message;
	struct measuring *m = &c->broker->measuring;
	char path[64], files[64], deadline[24];

	if (m->is_running)
		return FAIL(err, ERROR_UNAVAILABLE, "'%s' is being measured", m->id);
	m->reply = c->reply;
	(void)snprintf(m->id, sizeof(m->id), "%s", request->id);
	(void)snprintf(deadline, sizeof(deadline), "%" PRId64, deadline_after(MEASURE_MS));
	(void)snprintf(path, sizeof(path), "%s/%s", folders[request->kind], m->id);
	command.words[0] = deadline;
	command.words[1] = path;
	/* A sandbox without isolation has its files elsewhere. */
	if (request->kind == BROKER_MEASURE_SANDBOX) {
		(void)snprintf(files, sizeof(files), "host-files/%s", m->id);
		command.words[command.count++] = files;
	}
	m->task.child.on_end = end_measure;
	if (task_start(&c->broker->host, &c->broker->events, &m->task, &command, err) < 0)
		return -1;
	m->is_running = true;
	return 0;
}

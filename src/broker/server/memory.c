/* SPDX-License-Identifier: Apache-2.0 */
/* BROKER_MEMORY: why a sandbox's processes cannot be written to disk here. A child tries it once,
 * when it is first asked. The result holds until the broker ends. */
#include "broker/server/memory.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "broker/server/state.h"
#include "isolation/checkpoint.h"
#include "wire/broker.h"

static void send_result(struct broker *b, const struct pending_reply *reply)
{
	const struct broker_ok ok = {.request = reply->request};

	if (b->memory.found.code == ERROR_NONE)
		server_send(b, reply->connection, BROKER_OK, broker_ok_shape, &ok);
	else
		server_send_failure(b, reply, &b->memory.found);
}

/* The child. The report is a struct: both ends are the same program. */
static int run_probe(void *context)
{
	const struct memory_probe *probe = context;
	struct error found = {.code = ERROR_NONE}, err = {0};

	checkpoint_refuse(&(struct checkpoint_options){.criu = NULL}, &found);
	return wire_send_packet(probe->report_fd,
	                        (struct span){(const char *)&found, sizeof(found)}, NULL,
	                        DEADLINE_NEVER, &err);
}

static void on_probe_end(struct broker_child *child, int status)
{
	struct memory_probe *probe = CONTAINER_OF(child, struct memory_probe, child);
	struct broker *b = CONTAINER_OF(probe, struct broker, memory);
	AUTO(buf_done) struct buf packet = BUF(sizeof(probe->found) + 1);
	struct error err = {0};

	(void)status; /* the report tells more */
	probe->is_known = wire_receive_packet(probe->report_fd, deadline_after(0), &packet, NULL,
	                                      &err) == 0 &&
	                  packet.size == sizeof(probe->found);
	if (probe->is_known)
		memcpy(&probe->found, packet.data, sizeof(probe->found));
	else
		error_set(&probe->found, ERROR_SYSTEM, 0, HERE, "trying CRIU ended early");
	fd_forget(&probe->report_fd);
	probe->is_running = false;
	for (unsigned i = 0; i < probe->waiting_count; i++)
		send_result(b, &probe->waiting[i]);
	probe->waiting_count = 0;
}

static int start_probe(struct broker *b, struct error *err)
{
	struct memory_probe *probe = &b->memory;
	int report[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, report) < 0)
		return FAIL_ERRNO(err, "make a socket pair");
	probe->report_fd = report[1];
	probe->child.on_end = on_probe_end;
	if (child_start(&b->events, &probe->child, run_probe, probe, err) < 0) {
		(void)close(report[0]);
		(void)close(report[1]);
		return -1;
	}
	(void)close(report[1]);
	probe->report_fd = report[0];
	probe->is_running = true;
	return 0;
}

int memory_ask(struct broker *b, const struct pending_reply *reply, struct error *err)
{
	struct memory_probe *probe = &b->memory;

	if (probe->is_known) {
		send_result(b, reply);
		return 0;
	}
	if (probe->waiting_count == COUNT_OF(probe->waiting))
		return FAIL(err, ERROR_UNAVAILABLE, "CRIU is being tried");
	if (!probe->is_running && start_probe(b, err) < 0)
		return -1;
	probe->waiting[probe->waiting_count++] = *reply;
	return 0;
}

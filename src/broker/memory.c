/* SPDX-License-Identifier: Apache-2.0 */
/* BROKER_MEMORY: why a sandbox's processes cannot be written to disk here. Tried once, in a child,
 * when it is first asked; what was found holds until the broker ends. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "broker/state.h"
#include "isolation/checkpoint.h"

static void answer(struct broker *b, const struct owed *owed)
{
	const struct broker_ok ok = {.request = owed->request};

	if (b->memory.found.code == ERROR_NONE)
		server_send(b, owed->connection, BROKER_OK, broker_ok_shape, &ok);
	else
		server_send_failure(b, owed, &b->memory.found);
}

/* The child. The report is a struct: both ends are the same program. */
static int run(void *context)
{
	const struct memory_probe *probe = context;
	struct error found = {.code = ERROR_NONE}, err = {0};

	checkpoint_refuse(&(struct checkpoint_options){.criu = NULL}, &found);
	return wire_send_packet(probe->report_fd,
	                        (struct span){(const char *)&found, sizeof(found)}, NULL,
	                        DEADLINE_NEVER, &err);
}

static void on_end(struct job *job, int status)
{
	struct memory_probe *probe = CONTAINER_OF(job, struct memory_probe, job);
	struct broker *b = CONTAINER_OF(probe, struct broker, memory);
	AUTO(buf_done) struct buf packet = BUF(sizeof(probe->found) + 1);
	struct error err = {0};

	(void)status; /* the report tells more */
	probe->is_known =
	        wire_receive_packet(probe->report_fd, deadline_in(0), &packet, NULL, &err) == 0 &&
	        packet.size == sizeof(probe->found);
	if (probe->is_known)
		memcpy(&probe->found, packet.data, sizeof(probe->found));
	else
		error_set(&probe->found, ERROR_SYSTEM, 0, HERE, "trying CRIU ended early");
	fd_forget(&probe->report_fd);
	probe->is_running = false;
	for (unsigned i = 0; i < probe->waiting_count; i++)
		answer(b, &probe->waiting[i]);
	probe->waiting_count = 0;
}

static int start(struct broker *b, struct error *err)
{
	struct memory_probe *probe = &b->memory;
	int report[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, report) < 0)
		return FAIL_ERRNO(err, "make a socket pair");
	probe->report_fd = report[1];
	probe->job.on_end = on_end;
	if (job_start(&b->events, &probe->job, run, probe, err) < 0) {
		(void)close(report[0]);
		(void)close(report[1]);
		return -1;
	}
	(void)close(report[1]);
	probe->report_fd = report[0];
	probe->is_running = true;
	return 0;
}

int memory_ask(struct broker *b, const struct owed *owed, struct error *err)
{
	struct memory_probe *probe = &b->memory;

	if (probe->is_known) {
		answer(b, owed);
		return 0;
	}
	if (probe->waiting_count == COUNT_OF(probe->waiting))
		return FAIL(err, ERROR_UNAVAILABLE, "CRIU is being tried");
	if (!probe->is_running && start(b, err) < 0)
		return -1;
	probe->waiting[probe->waiting_count++] = *owed;
	return 0;
}

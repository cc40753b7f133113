/* SPDX-License-Identifier: Apache-2.0 */
/* BROKER_MEASURE: a child with the lowest priority counts. */
#include "broker/server/measure_task.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "broker/host/measure.h"
#include "broker/server/state.h"
#include "wire/broker.h"

#define MEASURE_MS 30000

/* What the child sends: both ends are the same program. */
struct measure_report {
	struct error err; /* ERROR_NONE = measured */
	struct disk_measure measured;
};

static void end_measure(struct measuring *m)
{
	fd_forget(&m->report_fd);
	m->is_running = false;
}

static int run_measure(void *context)
{
	struct measuring *m = context;
	struct broker *b = CONTAINER_OF(m, struct broker, measuring);
	struct measure_report report = {.err = {.code = ERROR_NONE}};
	struct error err = {0};

	child_give_way();
	(void)!measure_object(&b->host, m->kind, m->id, deadline_after(MEASURE_MS),
	                      &report.measured, &report.err);
	return wire_send_packet(m->report_fd, (struct span){(const char *)&report, sizeof(report)},
	                        NULL, DEADLINE_NEVER, &err);
}

static int take_report(struct measuring *m, struct disk_measure *ret, struct error *err)
{
	AUTO(buf_done) struct buf packet = BUF(sizeof(struct measure_report) + 1);
	struct measure_report report;

	if (wire_receive_packet(m->report_fd, deadline_after(0), &packet, NULL, err) < 0 ||
	    packet.size != sizeof(report))
		return FAIL(err, ERROR_SYSTEM, "measuring '%s' ended early", m->id);
	memcpy(&report, packet.data, sizeof(report));
	*ret = report.measured;
	if (report.err.code == ERROR_NONE)
		return 0;
	*err = report.err;
	return -1;
}

static void on_measure_end(struct broker_child *child, int status)
{
	struct measuring *m = CONTAINER_OF(child, struct measuring, child);
	struct broker *b = CONTAINER_OF(m, struct broker, measuring);
	struct broker_measured answer = {.request = m->reply.request};
	struct disk_measure measured;
	struct error err = {0};

	(void)status; /* the report tells more */
	if (take_report(m, &measured, &err) < 0) {
		server_send_failure(b, &m->reply, &err);
	} else {
		answer.bytes = measured.bytes;
		answer.is_partial = measured.is_partial;
		server_send(b, m->reply.connection, BROKER_MEASURED, broker_measured_shape,
		            &answer);
	}
	end_measure(m);
}

int measure_start(struct broker *b, const struct pending_reply *reply,
                  const struct broker_measure *request, struct error *err)
{
	struct measuring *m = &b->measuring;
	int report[2];

	if (m->is_running)
		return FAIL(err, ERROR_UNAVAILABLE, "'%s' is being measured", m->id);
	*m = (struct measuring){
	        .reply = *reply, .kind = (enum broker_measured_kind)request->kind, .report_fd = -1};
	memcpy(m->id, request->id, ID_SIZE);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, report) < 0)
		return FAIL_ERRNO(err, "make a socket pair");
	m->report_fd = report[1];
	m->child.on_end = on_measure_end;
	if (child_start(&b->events, &m->child, run_measure, m, err) < 0) {
		(void)close(report[0]);
		fd_forget(&m->report_fd);
		return -1;
	}
	(void)close(report[1]);
	m->report_fd = report[0];
	m->is_running = true;
	return 0;
}

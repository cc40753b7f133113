/* SPDX-License-Identifier: Apache-2.0 */
/* BROKER_MEASURE: in a child, which gives way to everybody else. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "broker/measure.h"
#include "broker/state.h"

#define MEASURE_MS 30000

/* What the child sends: both ends are the same program. */
struct report {
	struct error err; /* ERROR_NONE = measured */
	struct measured measured;
};

static void job_end(struct measuring *m)
{
	fd_forget(&m->report_fd);
	m->is_running = false;
}

static int run(void *context)
{
	struct measuring *m = context;
	struct broker *b = CONTAINER_OF(m, struct broker, measuring);
	struct report report = {.err = {.code = ERROR_NONE}};
	struct error err = {0};

	job_give_way();
	(void)!measure_one(&b->host, m->kind, m->id, deadline_in(MEASURE_MS), &report.measured,
	                   &report.err);
	return wire_send_packet(m->report_fd, (struct span){(const char *)&report, sizeof(report)},
	                        NULL, DEADLINE_NEVER, &err);
}

static int take_report(struct measuring *m, struct measured *ret, struct error *err)
{
	AUTO(buf_done) struct buf packet = BUF(sizeof(struct report) + 1);
	struct report report;

	if (wire_receive_packet(m->report_fd, deadline_in(0), &packet, NULL, err) < 0 ||
	    packet.size != sizeof(report))
		return FAIL(err, ERROR_SYSTEM, "measuring '%s' ended early", m->id);
	memcpy(&report, packet.data, sizeof(report));
	*ret = report.measured;
	if (report.err.code == ERROR_NONE)
		return 0;
	*err = report.err;
	return -1;
}

static void on_end(struct job *job, int status)
{
	struct measuring *m = CONTAINER_OF(job, struct measuring, job);
	struct broker *b = CONTAINER_OF(m, struct broker, measuring);
	struct broker_measured answer = {.request = m->owed.request};
	struct measured measured;
	struct error err = {0};

	(void)status; /* the report tells more */
	if (take_report(m, &measured, &err) < 0) {
		server_send_failure(b, &m->owed, &err);
	} else {
		answer.bytes = measured.bytes;
		answer.is_partial = measured.is_partial;
		server_send(b, m->owed.connection, BROKER_MEASURED, broker_measured_shape, &answer);
	}
	job_end(m);
}

int measure_start(struct broker *b, const struct owed *owed, const struct broker_measure *request,
                  struct error *err)
{
	struct measuring *m = &b->measuring;
	int report[2];

	if (m->is_running)
		return FAIL(err, ERROR_UNAVAILABLE, "'%s' is being measured", m->id);
	*m = (struct measuring){
	        .owed = *owed, .kind = (enum broker_measured_kind)request->kind, .report_fd = -1};
	memcpy(m->id, request->id, ID_SIZE);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, report) < 0)
		return FAIL_ERRNO(err, "make a socket pair");
	m->report_fd = report[1];
	m->job.on_end = on_end;
	if (job_start(&b->events, &m->job, run, m, err) < 0) {
		(void)close(report[0]);
		fd_forget(&m->report_fd);
		return -1;
	}
	(void)close(report[1]);
	m->report_fd = report[0];
	m->is_running = true;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* BROKER_VOLUME: a child does what may take long, such as making a filesystem or counting files. */
#include "broker/server/volume_tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "broker/sandbox/sandbox.h"
#include "broker/server/state.h"
#include "broker/volume/attach.h"
#include "broker/volume/volume.h"
#include "wire/broker.h"
#include "wire/broker_kind.h"
#include "wire/broker_volume.h"

struct wire_fds;

#define VOLUME_TASKS_MAX 8

struct volume_report {
	struct error err; /* ERROR_NONE = done */
	uint64_t used_bytes;
};

struct volume_task {
	struct list item;
	struct broker_child child;
	struct broker *broker;
	struct pending_reply reply;
	uint32_t verb;
	char id[ID_SIZE + 1];
	uint64_t size_bytes;
	const struct volume_backing *backing;
	char sandbox[ID_SIZE + 1]; /* the sandbox that it is attached to or detached from; "" */
	struct attachment attachment;
	int report_fd;
};

static void task_free(struct volume_task *v)
{
	list_remove(&v->item);
	fd_forget(&v->report_fd);
	free(v);
}

static void send_state(struct broker *b, const struct pending_reply *reply,
                       const struct volume_backing *backing, uint64_t used_bytes)
{
	struct broker_volume_state state = {.request = reply->request,
	                                    .size_is_advisory =
	                                            backing && backing->size_is_advisory,
	                                    .used_bytes = used_bytes};

	server_send(b, reply->connection, BROKER_VOLUME_STATE, broker_volume_state_shape, &state);
}

static int run_make(struct volume_task *v, UNUSED struct volume_report *report, struct error *err)
{
	return volume_make(&v->broker->host, v->id, v->backing, v->size_bytes, err);
}

static int run_look(struct volume_task *v, struct volume_report *report, struct error *err)
{
	return volume_usage(&v->broker->host, v->id, &report->used_bytes, err);
}

static int run_grow(struct volume_task *v, UNUSED struct volume_report *report, struct error *err)
{
	return volume_grow(&v->broker->host, v->id, v->size_bytes, err);
}

static int run_attach(struct volume_task *v, UNUSED struct volume_report *report, struct error *err)
{
	return attach_volume(&v->broker->host, &v->attachment, err);
}

static int run_detach(struct volume_task *v, UNUSED struct volume_report *report, struct error *err)
{
	return detach_volume(&v->broker->host, &v->attachment, err);
}

static int (*const runs[BROKER_VOLUME_VERB_COUNT])(struct volume_task *v,
                                                   struct volume_report *report,
                                                   struct error *err) = {
        [BROKER_VOLUME_MAKE] = run_make,     [BROKER_VOLUME_LOOK] = run_look,
        [BROKER_VOLUME_GROW] = run_grow,     [BROKER_VOLUME_ATTACH] = run_attach,
        [BROKER_VOLUME_DETACH] = run_detach,
};

/* The child. The report is a struct: both ends are the same program. */
static int run_verb(void *context)
{
	struct volume_task *v = context;
	struct volume_report report = {.err = {.code = ERROR_NONE}};
	struct error err = {0};

	(void)!runs[v->verb](v, &report, &report.err);
	return wire_send_packet(v->report_fd, (struct span){(const char *)&report, sizeof(report)},
	                        NULL, DEADLINE_NEVER, &err);
}

static int take_report(struct volume_task *v, struct volume_report *ret, struct error *err)
{
	AUTO(buf_done) struct buf packet = BUF(sizeof(*ret) + 1);

	if (wire_receive_packet(v->report_fd, deadline_after(0), &packet, NULL, err) < 0 ||
	    packet.size != sizeof(*ret))
		return FAIL(err, ERROR_SYSTEM, "work on volume '%s' ended early", v->id);
	memcpy(ret, packet.data, sizeof(*ret));
	if (ret->err.code == ERROR_NONE)
		return 0;
	*err = ret->err;
	return -1;
}

static void on_child_end(struct broker_child *child, int status)
{
	struct volume_task *v = CONTAINER_OF(child, struct volume_task, child);
	struct volume_report report;
	struct error err = {0};

	(void)status; /* the report tells more */
	if (take_report(v, &report, &err) < 0)
		server_send_failure(v->broker, &v->reply, &err);
	else
		send_state(v->broker, &v->reply, v->backing, report.used_bytes);
	task_free(v);
}

static int start_child(struct volume_task *v, struct error *err)
{
	int report[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, report) < 0)
		return FAIL_ERRNO(err, "make a socket pair");
	v->report_fd = report[1];
	v->child.on_end = on_child_end;
	v->child.host = &v->broker->host;
	if (child_start(&v->broker->events, &v->child, run_verb, v, err) < 0) {
		(void)close(report[0]);
		return -1;
	}
	(void)close(report[1]);
	v->report_fd = report[0];
	return 0;
}

/* Two tasks that make one volume would write to one folder. */
static int check_tasks(const struct broker *b, const struct broker_volume *request,
                       struct error *err)
{
	unsigned count = 0;

	LIST_EACH (&b->volumes, const struct volume_task, v, item) {
		if (strcmp(v->id, request->volume) == 0 &&
		    (v->verb == BROKER_VOLUME_MAKE || v->verb == BROKER_VOLUME_GROW))
			return FAIL(err, ERROR_UNAVAILABLE, "volume '%s' is being worked on",
			            v->id);
		count++;
	}
	if (count >= VOLUME_TASKS_MAX)
		return FAIL(err, ERROR_UNAVAILABLE, "%u volumes are being worked on already",
		            count);
	return 0;
}

bool volume_tasks_include(const struct broker *b, const char *sandbox_id)
{
	LIST_EACH (&b->volumes, const struct volume_task, task, item)
		if (strcmp(task->sandbox, sandbox_id) == 0)
			return true;
	return false;
}

/* Work on one sandbox is done one task after the other. */
static int find_sandbox(struct broker *b, const struct broker_volume *request,
                        struct attachment *ret, struct error *err)
{
	const struct sandbox *sandbox = sandboxes_find(&b->sandboxes, request->sandbox);

	if (!sandbox || sandbox->phase != SANDBOX_RUNNING || sandbox->mounts_fd < 0)
		return FAIL(err, ERROR_NOT_FOUND, "sandbox '%s' does not run", request->sandbox);
	if (b->sandboxes.is_busy(b, request->sandbox))
		return FAIL(err, ERROR_UNAVAILABLE, "sandbox '%s' is being worked on",
		            request->sandbox);
	*ret = (struct attachment){.forced = request->forced != 0,
	                           .is_fixed = sandbox->kind == BROKER_GVISOR,
	                           .slot = sandbox->slot,
	                           .pid = sandbox->pid,
	                           .mounts_fd = sandbox->mounts_fd};
	return volume_mount_parse(request->mount, &ret->mount, err);
}

static int begin_task(struct broker *b, const struct pending_reply *reply,
                      const struct broker_volume *request, const struct volume_backing *backing,
                      struct error *err)
{
	bool is_attachment =
	        request->verb == BROKER_VOLUME_ATTACH || request->verb == BROKER_VOLUME_DETACH;
	struct attachment attachment = {.mounts_fd = -1};
	struct volume_task *v;

	if (check_tasks(b, request, err) < 0 ||
	    (is_attachment && find_sandbox(b, request, &attachment, err) < 0))
		return -1;
	v = memory_new(sizeof(*v));
	*v = (struct volume_task){.broker = b,
	                          .reply = *reply,
	                          .verb = request->verb,
	                          .size_bytes = request->size_bytes,
	                          .backing = backing,
	                          .attachment = attachment,
	                          .report_fd = -1};
	memcpy(v->id, request->volume, ID_SIZE);
	if (is_attachment)
		memcpy(v->sandbox, request->sandbox, ID_SIZE);
	list_append(&b->volumes, &v->item);
	if (start_child(v, err) == 0)
		return 0;
	task_free(v);
	return -1;
}

int volume_start(const struct request_context *c, const void *message, struct error *err)
{
	const struct broker_volume *request = message;
	struct broker *b = c->broker;
	const struct volume_backing *backing;
	int found = volume_backing_find(&b->host, request->volume, &backing, err);

	if (request->verb == BROKER_VOLUME_REMOVE) {
		error_clear(err);
		if (check_tasks(b, request, err) < 0 ||
		    volume_remove(&b->host, request->volume, err) < 0)
			return -1;
		send_state(b, &c->reply, NULL, 0);
		cleaner_wake(b);
		return 0;
	}
	if (request->verb != BROKER_VOLUME_MAKE)
		return found < 0 ? -1 : begin_task(b, &c->reply, request, backing, err);
	error_clear(err);
	if (found == 0) {
		send_state(b, &c->reply, backing, 0);
		return 0;
	}
	if (host_check_space(&b->host, err) < 0)
		return -1;
	return begin_task(b, &c->reply, request, volume_backing_for(request->size_bytes), err);
}

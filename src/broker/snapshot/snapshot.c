/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/snapshot/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/layers/folder.h"
#include "broker/layers/stacks.h"
#include "broker/prewarm/pool.h"
#include "broker/sandbox/sandbox.h"
#include "broker/sandbox/sandboxes.h"
#include "broker/sandbox/snapshot_mark.h"
#include "broker/snapshot/task.h"
#include "wire/broker_kind.h"
#include "wire/broker_snapshot.h"

#define TASKS_MAX 8

static const char *const method_names[] = {
        [SNAPSHOT_RENAME] = "rename", [SNAPSHOT_SWITCH] = "switch", [SNAPSHOT_COPY] = "copy"};

static void release_held(struct snapshot_task *task)
{
	struct sandbox *sandbox = sandboxes_find(task->owner->sandboxes, task->sandbox_id);
	AUTO_CLOSE int folder = -1;

	if (!sandbox || !task->sandbox)
		return;
	folder = openat(task->owner->host->folders[FOLDER_RUN_SANDBOXES], task->sandbox_id,
	                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder >= 0)
		(void)sandbox_release_snapshot(sandbox, folder);
}

/* The folders tell what has happened, whatever the child could report. */
static bool adopt_snapshot(struct snapshot_task *task)
{
	struct layer_stacks *stacks = task->owner->stacks;
	struct host *host = task->owner->host;
	struct error ignored = {0};

	if (layer_stacks_add(stacks, task->snapshot_id, &ignored) < 0) {
		(void)!host_trash(host, FOLDER_SNAPSHOTS, task->snapshot_id, &ignored);
		return false;
	}
	layer_stacks_reread(stacks, task->sandbox_id);
	return true;
}

static void task_free(struct snapshot_task *task)
{
	watch_stop(task->owner->events, &task->reports);
	list_remove(&task->item);
	fd_forget(&task->report_fd);
	free(task);
}

static void take_report(struct snapshot_task *task)
{
	AUTO(buf_done) struct buf packet = BUF(sizeof(struct snapshot_report) + 1);
	struct wire_fds fds = {.count = 0};
	struct error *err = &task->report.err;

	if (wire_receive_packet(task->report_fd, deadline_after(0), &packet, &fds, err) < 0)
		(void)FAIL_CONTEXT(err, "taking a snapshot was cut short");
	else if (packet.size == sizeof(task->report))
		memcpy(&task->report, packet.data, sizeof(task->report));
	else
		(void)FAIL(err, ERROR_SYSTEM, "the report of a snapshot is malformed");
	for (unsigned i = 0; i < fds.count; i++)
		task->owner->on_old_root(task->owner->context, fds.fds[i]);
}

static void send_result(struct snapshot_task *task, bool is_there)
{
	struct snapshots *s = task->owner;
	const struct snapshot_report *report = &task->report;
	struct broker_snapshot_made made = {
	        .frozen_us = report->frozen_us,
	        .took_us = (uint64_t)(clock_monotonic_ns() / 1000 - task->begun_us),
	        .depth = task->stack.count,
	        .method = method_names[report->method <= SNAPSHOT_COPY ? report->method : 0],
	        .because = report->because.text,
	};
	struct error lost = {0};

	if (report->err.code != ERROR_NONE) {
		s->on_failed(s->context, &task->reply, &report->err);
	} else if (is_there) {
		s->on_made(s->context, &task->reply, &made);
	} else {
		error_set(&lost, ERROR_SYSTEM, 0, HERE, "snapshot '%s' is gone", task->snapshot_id);
		s->on_failed(s->context, &task->reply, &lost);
	}
}

/* A snapshot that does not wait for the disk is about to be forked. A prewarmed sandbox gets the
 * right root while the child works, and again when the layers are known. */
static void prefetch_fork_root(const struct snapshot_task *task, const struct layer_stack *stack)
{
	const struct sandbox *sandbox = sandboxes_find(task->owner->sandboxes, task->sandbox_id);

	if (!task->sync && sandbox && sandbox->kind == BROKER_NATIVE)
		prewarm_pool_prefetch_root(task->owner->sandboxes->prewarm_pool,
		                           sandbox->internet ? PREWARM_INTERNET : PREWARM_BLOCKED,
		                           stack ? &(struct prewarm_guess){sandbox->template_name,
		                                                           stack, &sandbox->limits}
		                                 : NULL);
}

/* The child has reported, or has failed to, and is about to end. A failure leaves no snapshot, not
 * even a complete one, because no caller would know it. */
static void finish_task(struct snapshot_task *task)
{
	struct error err = {0};
	bool is_there;

	watch_stop(task->owner->events, &task->reports);
	take_report(task);
	release_held(task);
	is_there = adopt_snapshot(task);
	fault_point("broker", "snapshot-known");
	if (is_there && task->report.err.code != ERROR_NONE &&
	    layer_stacks_remove(task->owner->stacks, task->snapshot_id, &err) < 0)
		log_warning("a snapshot is left that failed", FAILURE(&err));
	/* The sandbox has a new root, so the layers that it had mounted are free. */
	if (is_there && task->report.err.code == ERROR_NONE &&
	    task->report.method == SNAPSHOT_SWITCH)
		layer_stacks_unpin(task->owner->stacks, task->sandbox_id);
	send_result(task, is_there);
	layer_stacks_set(task->owner->stacks, task->snapshot_id, NULL);
	list_remove(&task->item);
	list_append(&task->owner->ending, &task->item);
	if (is_there && task->report.err.code == ERROR_NONE)
		prefetch_fork_root(task, &task->stack);
}

static void on_report(struct fd_watch *watch)
{
	finish_task(CONTAINER_OF(watch, struct snapshot_task, reports));
}

static void on_child_end(struct broker_child *child, int status)
{
	struct snapshot_task *task = CONTAINER_OF(child, struct snapshot_task, child);

	struct snapshots *s = task->owner;

	(void)status; /* the report tells more */
	if (task->reports.fd >= 0)
		finish_task(task);
	task_free(task);
	s->on_task_end(s->context);
}

bool snapshots_is_busy(struct snapshots *s, const char *sandbox_id)
{
	LIST_EACH (&s->tasks, const struct snapshot_task, task, item)
		if (strcmp(task->sandbox_id, sandbox_id) == 0)
			return true;
	return false;
}

static unsigned count_tasks(const struct snapshots *s)
{
	unsigned count = 0;

	for (const struct list *i = s->tasks.next; i != &s->tasks; i = i->next)
		count++;
	return count;
}

static int check_take(struct snapshots *s, const struct broker_snapshot *request, struct error *err)
{
	const struct sandbox *sandbox = sandboxes_find(s->sandboxes, request->sandbox);

	if (sandbox && (sandbox->phase != SANDBOX_RUNNING || sandbox->pausing))
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' neither runs nor is stopped",
		            request->sandbox);
	if (s->sandboxes->is_busy(s->sandboxes->context, request->sandbox))
		return FAIL(err, ERROR_CONFLICT, "a snapshot of '%s' is being taken already",
		            request->sandbox);
	if (count_tasks(s) == TASKS_MAX)
		return FAIL(err, ERROR_UNAVAILABLE, "%d snapshots are being taken already",
		            TASKS_MAX);
	if (faccessat(s->host->folders[FOLDER_SNAPSHOTS], request->snapshot, F_OK, 0) == 0)
		return FAIL(err, ERROR_CONFLICT, "snapshot '%s' exists already", request->snapshot);
	if (layer_folder_check(s->host, request->sandbox, err) < 0)
		return -1;
	return host_check_space(s->host, err);
}

static int start_child(struct snapshot_task *task, struct error *err)
{
	int report[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, report) < 0)
		return FAIL_ERRNO(err, "make a socket pair");
	task->report_fd = report[1];
	task->child.on_end = on_child_end;
	task->child.host = task->owner->host;
	if (child_start(task->owner->events, &task->child, snapshot_run_child, task, err) < 0) {
		(void)close(report[0]);
		return -1;
	}
	(void)close(report[1]);
	task->report_fd = report[0];
	task->reports.on_ready = on_report;
	if (watch_start(task->owner->events, &task->reports, task->report_fd, err) == 0)
		return 0;
	child_cancel(&task->child);
	return -1;
}

int snapshots_take(struct snapshots *s, const struct pending_reply *reply,
                   const struct broker_snapshot *request, struct error *err)
{
	const struct layer_stack *below = layer_stacks_of(s->stacks, request->sandbox);
	struct snapshot_task *task;

	if (check_take(s, request, err) < 0)
		return -1;
	task = memory_new(sizeof(*task));
	*task = (struct snapshot_task){.owner = s,
	                               .reports = {.fd = -1},
	                               .report_fd = -1,
	                               .old_root = -1,
	                               .reply = *reply,
	                               .begun_us = clock_monotonic_ns() / 1000,
	                               .sync = request->sync != 0,
	                               .sandbox = sandboxes_find(s->sandboxes, request->sandbox)};
	memcpy(task->sandbox_id, request->sandbox, ID_SIZE);
	memcpy(task->snapshot_id, request->snapshot, ID_SIZE);
	if (below)
		task->below = *below;
	list_append(&s->tasks, &task->item);
	/* Keeps the layers below the new snapshot in use. */
	layer_stacks_set(s->stacks, task->snapshot_id, &task->below);
	if (layer_stack_put(&task->stack, task->snapshot_id, &task->below, err) == 0 &&
	    start_child(task, err) == 0) {
		prefetch_fork_root(task, NULL);
		return 0;
	}
	layer_stacks_set(s->stacks, task->snapshot_id, NULL);
	task_free(task);
	return -1;
}

void snapshots_init(struct snapshots *s, struct sandboxes *sandboxes)
{
	*s = (struct snapshots){.host = sandboxes->host,
	                        .events = sandboxes->events,
	                        .sandboxes = sandboxes,
	                        .stacks = sandboxes->stacks};
	list_init(&s->tasks);
	list_init(&s->ending);
}

static void cancel_task(struct snapshot_task *task)
{
	child_cancel(&task->child);
	finish_task(task);
	task_free(task);
}

void snapshots_cancel(struct snapshots *s, const char *sandbox_id)
{
	LIST_EACH (&s->tasks, struct snapshot_task, task, item)
		if (strcmp(task->sandbox_id, sandbox_id) == 0)
			cancel_task(task);
}

void snapshots_close(struct snapshots *s)
{
	LIST_EACH (&s->tasks, struct snapshot_task, task, item)
		cancel_task(task);
	LIST_EACH (&s->ending, struct snapshot_task, task, item) {
		child_cancel(&task->child);
		task_free(task);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/sandbox/sandbox.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/host/launcher.h"
#include "broker/layers/stacks.h"
#include "broker/prewarm/prewarm.h"
#include "broker/sandbox/disk.h"
#include "broker/sandbox/egress.h"
#include "broker/sandbox/pause.h"
#include "broker/sandbox/pool.h"
#include "broker/sandbox/sandboxes.h"
#include "isolation/ids.h"
#include "sandbox/sandbox.h"
#include "wire/broker_kind.h"

static void on_process_end(struct fd_watch *watch);

struct sandbox *sandbox_new(struct sandboxes *b, const char *id)
{
	struct sandbox *sandbox = memory_new(sizeof(*sandbox));

	sandbox->sandboxes = b;
	(void)snprintf(sandbox->id, sizeof(sandbox->id), "%s", id);
	sandbox->slot = SLOT_NONE;
	sandbox->pidfd = sandbox->stop_fd = sandbox->mounts_fd = sandbox->state_fd =
	        sandbox->stored_fd = -1;
	sandbox->net_fd = sandbox->disk_fd = -1;
	sandbox->process = (struct fd_watch){.fd = -1, .on_ready = on_process_end};
	sandbox->setup = (struct fd_watch){.fd = -1};
	list_init(&sandbox->item);
	list_init(&sandbox->deadline.item);
	list_init(&sandbox->pause_look.item);
	return sandbox;
}

void sandbox_close_identity_files(struct sandbox *sandbox)
{
	if (sandbox->identity_files)
		wire_fds_close(sandbox->identity_files);
	free(TAKE(sandbox->identity_files));
}

void sandbox_free(struct sandbox *sandbox)
{
	struct events *events = sandbox->sandboxes->events;

	watch_stop(events, &sandbox->process);
	watch_stop(events, &sandbox->setup);
	timer_stop(&sandbox->deadline);
	timer_stop(&sandbox->pause_look);
	list_remove(&sandbox->item);
	if (*sandbox->id)
		(void)map_remove(&sandbox->sandboxes->by_id, sandbox->id);
	prewarm_free(sandbox->prewarm);
	fd_forget(&sandbox->pidfd);
	fd_forget(&sandbox->mounts_fd);
	fd_forget(&sandbox->net_fd);
	fd_forget(&sandbox->stored_fd);
	fd_forget(&sandbox->stop_fd);
	fd_forget(&sandbox->state_fd);
	sandbox_close_identity_files(sandbox);
	sandbox_close_disks(sandbox);
	sandbox_free_egress(sandbox);
	free(sandbox->review);
	free(sandbox->note);
	free(sandbox);
}

void sandbox_add_reply(struct sandbox *sandbox, const struct pending_reply *reply)
{
	sandbox->replies[sandbox->reply_count++] = *reply;
}

static void send_replies(struct sandbox *sandbox)
{
	struct sandboxes *b = sandbox->sandboxes;

	for (unsigned i = 0; i < sandbox->reply_count; i++) {
		/* The first reply belongs to the create itself when the create failed. */
		if (i == 0 && sandbox->failed)
			b->on_failed(b->context, &sandbox->replies[i], &sandbox->failure);
		else
			b->on_done(b->context, &sandbox->replies[i]);
	}
	sandbox->reply_count = 0;
}

void sandbox_remove_group(struct sandbox *sandbox)
{
	struct cgroup_host *cgroups = sandbox->sandboxes->host->cgroups;
	struct error err = {0};
	char group[GROUP_NAME_SIZE];

	host_group_name(sandbox->slot, group);
	if (cgroups->ops->remove(cgroups, group, &err) < 0)
		log_error("cannot end all of a sandbox", TEXT("sandbox", sandbox->id),
		          FAILURE(&err));
}

/* Called when nothing inside runs any more: process 1 is reaped after all others. */
static void finish_end(struct sandbox *sandbox, uint32_t reason, uint64_t sent_bytes)
{
	struct sandboxes *b = sandbox->sandboxes;
	struct error ignored = {0};

	b->on_dead(b->context, sandbox->id);
	/* Without a pid namespace the end of process 1 does not end the others. */
	if (sandbox->kind == BROKER_HOST)
		sandbox_remove_group(sandbox);
	if (sandbox->remove_files)
		(void)!sandbox_files_remove(b, sandbox->id, sandbox->note, &ignored);
	fault_point("broker", "destroy-files");
	layer_stacks_unpin(b->stacks, sandbox->id);
	(void)!host_trash(b->host, FOLDER_RUN_SANDBOXES, sandbox->id, &ignored);
	fault_point("broker", "destroy-run");
	if (reason != SANDBOX_REASON_NONE)
		b->on_ended(b->context, sandbox->id, reason, sent_bytes);
	sandbox_end_egress(sandbox);
	send_replies(sandbox);
	sandbox_hand_to_cleaner(sandbox);
	sandbox_free(sandbox);
}

/* The agent of BROKER_HOST is the broker's own child. */
void sandbox_reap(const struct sandbox *sandbox, siginfo_t *ret)
{
	*ret = (siginfo_t){0};
	if (sandbox->kind == BROKER_HOST)
		(void)waitid(P_PIDFD, (id_t)sandbox->pidfd, ret, WEXITED);
	else
		launcher_reap(sandbox->sandboxes->host, sandbox->pidfd, ret);
}

void sandbox_reap_unnamed(struct sandbox *sandbox)
{
	siginfo_t info;

	sandbox_reap(sandbox, &info);
	sandbox_hand_to_cleaner(sandbox);
	sandbox_free(sandbox);
}

static bool count_oom_kills(const struct sandbox *sandbox, uint64_t *ret)
{
	struct host *host = sandbox->sandboxes->host;
	struct cgroup_usage usage = {0};
	struct error ignored = {0};
	char group[GROUP_NAME_SIZE];

	host_group_name(sandbox->slot, group);
	if (host->cgroups->ops->usage(host->cgroups, group, &usage, &ignored) < 0)
		return false;
	*ret = usage.oom_kills;
	return true;
}

void sandbox_note_oom_kills(struct sandbox *sandbox)
{
	uint64_t count;

	if (count_oom_kills(sandbox, &count))
		sandbox->oom_kills_seen = count;
}

/* `info` is of process 1; all zeros when it was not our child. The kernel kills for memory by
 * SIGKILL and counts the killed processes of a sandbox, without naming them. Process 1 is one of
 * them when the count is higher than the broker has seen. */
static uint32_t end_reason(const struct sandbox *sandbox, const siginfo_t *info)
{
	uint64_t count;

	if (info->si_pid != 0 && (info->si_code != CLD_KILLED || info->si_status != SIGKILL))
		return SANDBOX_REASON_EXIT;
	if (count_oom_kills(sandbox, &count) && count > sandbox->oom_kills_seen)
		return SANDBOX_REASON_OOM;
	return SANDBOX_REASON_EXIT;
}

void sandbox_kill(struct sandbox *sandbox)
{
	struct error err = {0};

	sandbox->phase = SANDBOX_ENDING;
	timer_stop(&sandbox->deadline);
	watch_stop(sandbox->sandboxes->events, &sandbox->setup);
	if (pidfd_signal(sandbox->pidfd, SIGKILL, &err) < 0 && err.sys_errno != ESRCH)
		log_error("cannot kill a sandbox", TEXT("sandbox", sandbox->id), FAILURE(&err));
	/* After the signal, so that nothing inside runs again. */
	sandbox_thaw(sandbox);
}

/* Called before the agent runs anything: the sandbox ends because its create fails. */
void sandbox_fail_create(struct sandbox *sandbox, const struct error *err)
{
	if (sandbox->pool) {
		pool_on_failure(sandbox, err);
		return;
	}
	sandbox->failed = true;
	sandbox->failure = *err;
	sandbox->remove_files = !sandbox->restart;
	if (sandbox->phase != SANDBOX_WAITING) {
		sandbox_kill(sandbox);
		return;
	}
	if (sandbox->remove_files)
		sandbox_files_forget(sandbox->sandboxes, sandbox->id);
	send_replies(sandbox);
	sandbox_free(sandbox);
}

static void on_process_end(struct fd_watch *watch)
{
	struct sandbox *sandbox = CONTAINER_OF(watch, struct sandbox, process);
	siginfo_t info;
	uint32_t reason = SANDBOX_REASON_NONE;
	uint64_t sent_bytes = sandbox_sent_bytes(sandbox);

	/* An adopted process is not our child; another process reaps it. */
	sandbox_reap(sandbox, &info);
	watch_stop(sandbox->sandboxes->events, watch);
	if (sandbox->phase == SANDBOX_SETTING_UP || sandbox->phase == SANDBOX_PREPARED) {
		struct error err = {0};

		error_set(&err, ERROR_SYSTEM, 0, HERE, "agent ended during its set-up");
		sandbox_fail_create(sandbox, &err);
	}
	if (!*sandbox->id) {
		sandbox_reap_unnamed(sandbox);
		return;
	}
	sandbox_thaw(sandbox);
	if (sandbox->phase == SANDBOX_RUNNING) {
		reason = end_reason(sandbox, &info);
		log_info("sandbox ended", TEXT("sandbox", sandbox->id),
		         TEXT("reason", sandbox_reason_name((enum sandbox_reason)reason)));
	}
	finish_end(sandbox, reason, sent_bytes);
}

void sandbox_step(struct sandbox *sandbox, const char *name)
{
	int64_t now = clock_monotonic_ns() / 1000;
	size_t size = strlen(sandbox->steps);

	(void)snprintf(sandbox->steps + size, sizeof(sandbox->steps) - size, "%s%s=%lld",
	               size > 0 ? " " : "", name, (long long)(now - sandbox->step_us));
	sandbox->step_us = now;
}

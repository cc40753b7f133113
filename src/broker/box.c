/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/box.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/box_beat.h"
#include "broker/flatten.h"
#include "broker/pool.h"
#include "broker/probe.h"
#include "broker/review.h"
#include "broker/snapshot.h"
#include "sandbox/sandbox.h"

#define SETUP_TIMEOUT_MS 10000

static void on_process_end(struct fd_watch *watch);

struct sandbox *sandboxes_find(const struct sandboxes *b, const char *id)
{
	return map_find(&b->by_id, id);
}

struct sandbox *sandbox_new(struct sandboxes *b, const char *id)
{
	struct sandbox *sandbox = calloc(1, sizeof(*sandbox));

	if (!sandbox)
		abort();
	sandbox->sandboxes = b;
	(void)snprintf(sandbox->id, sizeof(sandbox->id), "%s", id);
	sandbox->slot = SLOT_NONE;
	sandbox->pidfd = sandbox->stop_fd = sandbox->mounts_fd = sandbox->state_fd =
	        sandbox->stored_fd = -1;
	sandbox->net_fd = sandbox->disk_fd = sandbox->images_report_fd = -1;
	for (unsigned i = 0; i < SANDBOX_MOUNTS_MAX; i++)
		sandbox->volume_fds[i] = -1;
	for (unsigned i = 0; i < ISOLATION_IDENTITY_FILES; i++)
		sandbox->identity_fds[i] = -1;
	sandbox->process = (struct fd_watch){.fd = -1, .on_ready = on_process_end};
	sandbox->setup = (struct fd_watch){.fd = -1};
	list_init(&sandbox->item);
	list_init(&sandbox->deadline.item);
	list_init(&sandbox->pause_look.item);
	sandbox->steps = BUF(SANDBOX_STEPS_MAX);
	return sandbox;
}

static void close_identity_files(struct sandbox *sandbox)
{
	for (unsigned i = 0; i < ISOLATION_IDENTITY_FILES; i++)
		fd_forget(&sandbox->identity_fds[i]);
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
	close_identity_files(sandbox);
	child_cancel(&sandbox->images_child);
	child_cancel(&sandbox->cut.child);
	free(sandbox->volumes);
	free(sandbox->review);
	free(sandbox->egress);
	fd_forget(&sandbox->images_report_fd);
	fd_forget(&sandbox->disk_fd);
	for (unsigned i = 0; i < sandbox->volume_count; i++)
		fd_forget(&sandbox->volume_fds[i]);
	buf_done(&sandbox->steps);
	free(sandbox);
}

static void add_reply(struct sandbox *sandbox, const struct pending_reply *reply)
{
	sandbox->replies[sandbox->reply_count++] = *reply;
}

static void send_replies(struct sandbox *sandbox)
{
	struct sandboxes *b = sandbox->sandboxes;

	for (unsigned i = 0; i < sandbox->reply_count; i++) {
		/* The first is the create itself when it is the create that failed. */
		if (i == 0 && sandbox->failed)
			b->on_failed(b->context, &sandbox->replies[i], &sandbox->failure);
		else
			b->on_done(b->context, &sandbox->replies[i]);
	}
	sandbox->reply_count = 0;
}

/* ---- the end ---- */

static void remove_group(struct sandbox *sandbox)
{
	struct cgroup_host *cgroups = &sandbox->sandboxes->host->cgroups;
	struct error err = {0};
	char group[GROUP_NAME_SIZE];

	host_group_name(sandbox->slot, group);
	if (cgroups->ops->remove(cgroups, group, &err) < 0)
		log_error("cannot end all of a sandbox", TEXT("sandbox", sandbox->id),
		          FAILURE(&err));
}

static void hand_to_cleaner(struct sandbox *sandbox)
{
	struct sandboxes *b = sandbox->sandboxes;
	struct cleanup_item item = {.slot = sandbox->slot};

	item.mounts_fd = TAKE_FD(sandbox->mounts_fd);
	item.net_fd = TAKE_FD(sandbox->net_fd);
	b->on_slot_free(b->context, &item);
}

/* Nothing inside runs any more: process 1 was reaped after all others. */
static void finish_end(struct sandbox *sandbox, uint32_t reason)
{
	struct sandboxes *b = sandbox->sandboxes;
	struct error ignored = {0};

	b->on_burial(b->context, sandbox->id);
	/* Without namespaces there is nobody whose end is the end of all. */
	if (sandbox->kind == BROKER_HOST)
		remove_group(sandbox);
	if (sandbox->remove_files)
		(void)!sandbox_files_remove(b, sandbox->id, &sandbox->note, &ignored);
	fault_point("broker", "destroy-files");
	flattening_unpin(b->stacks, sandbox->id);
	(void)!host_trash(b->host, FOLDER_RUN_SANDBOXES, sandbox->id, &ignored);
	fault_point("broker", "destroy-run");
	if (reason != SANDBOX_REASON_NONE)
		b->on_ended(b->context, sandbox->id, reason);
	sandbox_end_egress(sandbox);
	send_replies(sandbox);
	hand_to_cleaner(sandbox);
	sandbox_free(sandbox);
}

void sandbox_reap_unnamed(struct sandbox *sandbox)
{
	(void)waitid(P_PIDFD, (id_t)sandbox->pidfd, NULL, WEXITED);
	hand_to_cleaner(sandbox);
	sandbox_free(sandbox);
}

static bool count_oom_kills(const struct sandbox *sandbox, uint64_t *ret)
{
	struct host *host = sandbox->sandboxes->host;
	struct cgroup_usage usage = {0};
	struct error ignored = {0};
	char group[GROUP_NAME_SIZE];

	host_group_name(sandbox->slot, group);
	if (host->cgroups.ops->usage(&host->cgroups, group, &usage, &ignored) < 0)
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

/* `info`: of process 1, zeros when it was not our child. The kernel kills for memory by SIGKILL,
 * and counts the processes of a sandbox that it has killed so without saying which they were:
 * process 1 is among them when there is one more than the broker has seen. */
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
	/* After the signal: nothing inside gets to run again. */
	sandbox_thaw(sandbox);
}

/* Before the agent runs anything: the sandbox ends as its create fails. */
static void fail_create(struct sandbox *sandbox, const struct error *err)
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
	if (sandbox->remove_files) {
		layer_stacks_set(sandbox->sandboxes->stacks, sandbox->id, NULL);
		review_end(sandbox->sandboxes->stacks, sandbox->id);
	}
	send_replies(sandbox);
	sandbox_free(sandbox);
}

static void on_process_end(struct fd_watch *watch)
{
	struct sandbox *sandbox = CONTAINER_OF(watch, struct sandbox, process);
	siginfo_t info = {0};
	uint32_t reason = SANDBOX_REASON_NONE;

	/* An adopted one is not our child: somebody else reaps it. */
	(void)waitid(P_PIDFD, (id_t)sandbox->pidfd, &info, WEXITED);
	watch_stop(sandbox->sandboxes->events, watch);
	if (sandbox->phase == SANDBOX_SETTING_UP || sandbox->phase == SANDBOX_PREPARED) {
		struct error err = {0};

		error_set(&err, ERROR_SYSTEM, 0, HERE, "agent ended during its set-up");
		fail_create(sandbox, &err);
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
	finish_end(sandbox, reason);
}

/* ---- create ---- */

static void on_setup_timeout(struct timer *timer)
{
	struct sandbox *sandbox = CONTAINER_OF(timer, struct sandbox, deadline);
	struct error err = {0};

	error_set(&err, ERROR_TIMEOUT, 0, HERE, "agent did not set itself up in %d s",
	          SETUP_TIMEOUT_MS / 1000);
	fail_create(sandbox, &err);
}

static void answer_created(struct sandbox *sandbox)
{
	struct sandboxes *b = sandbox->sandboxes;
	struct broker_created created = {.disk_is_advisory = sandbox->disk_is_advisory,
	                                 .took_us =
	                                         (uint64_t)(sandbox->step_us - sandbox->asked_us),
	                                 .steps = buf_text(&sandbox->steps)};

	b->on_created(b->context, &sandbox->replies[0], &created);
	fd_forget(&sandbox->state_fd);
	close_identity_files(sandbox);
	sandbox->reply_count = 0;
	buf_done(&sandbox->steps);
}

static void finish_create(struct sandbox *sandbox)
{
	struct prewarm *prewarm = TAKE(sandbox->prewarm);

	sandbox->phase = SANDBOX_RUNNING;
	if (!probe_is_id(sandbox->id))
		answer_created(sandbox);
	sandbox->stored_fd = prewarm_take_stored(prewarm);
	prewarm_free(prewarm);
	probe_end(sandbox);
}

static void on_setup_answer(struct fd_watch *watch)
{
	struct sandbox *sandbox = CONTAINER_OF(watch, struct sandbox, setup);
	struct error err = {0};

	watch_stop(sandbox->sandboxes->events, watch);
	timer_stop(&sandbox->deadline);
	if (sandbox_take_answer(sandbox, &err) < 0) {
		fail_create(sandbox, &err);
		return;
	}
	sandbox_step(sandbox, "agent");
	if (sandbox->pool) {
		if (sandbox_write_notes(sandbox, &err) < 0)
			fail_create(sandbox, &err);
		else
			pool_on_ready(sandbox);
		return;
	}
	if (sandbox_publish(sandbox, &err) < 0) {
		fail_create(sandbox, &err);
		return;
	}
	sandbox_step(sandbox, "names");
	finish_create(sandbox);
}

static int begin_set_up(struct sandbox *sandbox, struct error *err)
{
	timer_stop(&sandbox->deadline);
	sandbox->deadline.on_time = on_setup_timeout;
	timer_start(sandbox->sandboxes->events, &sandbox->deadline, SETUP_TIMEOUT_MS);
	if (sandbox_send_plan(sandbox, err) < 0)
		return -1;
	return watch_start(sandbox->sandboxes->events, &sandbox->setup, sandbox->prewarm->setup_fd,
	                   err);
}

static void on_images(struct sandbox *sandbox, const struct error *failure)
{
	struct error err = *failure;

	/* It may have been ended meanwhile. */
	if (sandbox->phase != SANDBOX_SETTING_UP)
		return;
	if (err.code != ERROR_NONE || begin_set_up(sandbox, &err) < 0)
		fail_create(sandbox, &err);
}

/* From here on the sandbox has processes, and ends by their end. */
static int adopt_prewarm(struct sandbox *sandbox, struct prewarm *prewarm, struct error *err)
{
	struct sandboxes *b = sandbox->sandboxes;

	sandbox->prewarm = prewarm;
	sandbox->slot = prewarm->slot;
	sandbox->pid = prewarm->pid;
	sandbox->start_time = prewarm->start_time;
	sandbox->pidfd = TAKE_FD(prewarm->pidfd);
	sandbox->mounts_fd = TAKE_FD(prewarm->mounts_fd);
	sandbox->net_fd = TAKE_FD(prewarm->net_fd);
	sandbox->created_unix_ms = clock_unix_ms();
	sandbox->phase = SANDBOX_SETTING_UP;
	sandbox->setup.on_ready = on_setup_answer;
	if (watch_start(b->events, &sandbox->process, sandbox->pidfd, err) < 0)
		abort(); /* only out of memory */
	if (!sandbox_wants_images(sandbox))
		return begin_set_up(sandbox, err);
	sandbox->on_images = on_images;
	return sandbox_images_start(sandbox, err);
}

void sandbox_begin_set_up(struct sandbox *sandbox, struct prewarm *prewarm, struct list *list)
{
	struct error err = {0};

	list_remove(&sandbox->item);
	if (list)
		list_append(list, &sandbox->item);
	if (adopt_prewarm(sandbox, prewarm, &err) < 0)
		fail_create(sandbox, &err);
}

void sandboxes_on_prewarm(struct sandboxes *b, enum prewarm_kind kind, const struct error *err)
{
	struct sandbox *sandbox;
	struct prewarm *prewarm;

	if (list_is_empty(&b->waiting[kind]))
		return;
	sandbox = LIST_ENTRY(b->waiting[kind].next, struct sandbox, item);
	if (err->code != ERROR_NONE) {
		fail_create(sandbox, err);
		return;
	}
	prewarm = prewarm_pool_take(b->prewarm_pool, kind, NULL);
	if (prewarm)
		sandbox_begin_set_up(sandbox, prewarm, NULL);
}

static unsigned count_list(const struct list *list)
{
	unsigned count = 0;

	for (const struct list *item = list->next; item != list; item = item->next)
		count++;
	return count;
}

/* Cells are there in most cases; else there are as many under way as there are waiters, within
 * reason. */
static int take_or_await_prewarm(struct sandbox *sandbox, struct error *err)
{
	struct sandboxes *b = sandbox->sandboxes;
	enum prewarm_kind kind = sandbox->internet ? PREWARM_INTERNET : PREWARM_BLOCKED;
	const struct prewarm_guess guess = {
	        sandbox->template_name, layer_stacks_of(b->stacks, sandbox->id), &sandbox->limits};
	struct prewarm *prewarm = NULL;
	unsigned waiting;

	if (list_is_empty(&b->waiting[kind]))
		prewarm = prewarm_pool_take(b->prewarm_pool, kind, &guess);
	if (prewarm) {
		sandbox_begin_set_up(sandbox, prewarm, NULL);
		return 0;
	}
	list_append(&b->waiting[kind], &sandbox->item);
	waiting = count_list(&b->waiting[kind]);
	if (b->prewarm_pool->maker_count[kind] >= MAKERS_MAX ||
	    b->prewarm_pool->making_count[kind] >= waiting)
		return 0;
	return prewarm_pool_make(b->prewarm_pool, kind,
	                         waiting - b->prewarm_pool->making_count[kind], err);
}

bool sandboxes_are_waiting(const struct sandboxes *b)
{
	for (unsigned i = 0; i < PREWARM_KIND_COUNT; i++)
		if (!list_is_empty(&b->waiting[i]))
			return true;
	return false;
}

static bool sandbox_has_files(const struct sandboxes *b, const char *id)
{
	return faccessat(b->host->folders[FOLDER_SANDBOXES], id, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int check_new(const struct sandboxes *b, const struct broker_create *request, bool restart,
                     struct error *err)
{
	if (sandboxes_find(b, request->sandbox))
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' exists already", request->sandbox);
	if (sandbox_has_files(b, request->sandbox) != restart)
		return FAIL(err, restart ? ERROR_NOT_FOUND : ERROR_CONFLICT,
		            restart ? "sandbox '%s' has no files to start from"
		                    : "sandbox '%s' has files already",
		            request->sandbox);
	if (restart && b->is_busy(b->context, request->sandbox))
		return FAIL(err, ERROR_CONFLICT, "a snapshot of '%s' is being taken",
		            request->sandbox);
	if (request->network && request->kind == BROKER_NATIVE && !b->host->network.usable) {
		*err = b->host->network.problem;
		return -1;
	}
	return host_check_room(b->host, !restart, err);
}

/* From now on its layers are in use. */
static int take_stack(struct sandboxes *b, const struct broker_create *request, struct error *err)
{
	struct layer_stack stack;

	if (!*request->snapshot)
		return 0;
	if (layer_stacks_find(b->stacks, request->snapshot, &stack, err) < 0)
		return -1;
	layer_stacks_set(b->stacks, request->sandbox, &stack);
	return 0;
}

static int take_review(struct sandboxes *b, const struct broker_create *request,
                       struct layer_review **ret, struct error *err)
{
	struct layer_review *review;

	if (!request->review || !*request->review)
		return 0;
	review = calloc(1, sizeof(*review));
	if (!review)
		abort();
	if (review_parse(request->review, review, err) == 0 &&
	    review_begin(review, b, request->sandbox, err) == 0) {
		*ret = review;
		return 0;
	}
	free(review);
	return -1;
}

static int start_host_sandbox(struct sandbox *sandbox, struct error *err)
{
	struct sandboxes *b = sandbox->sandboxes;

	sandbox->created_unix_ms = clock_unix_ms();
	if (sandbox_start_host(sandbox, err) < 0)
		return -1;
	if (watch_start(b->events, &sandbox->process, sandbox->pidfd, err) < 0)
		abort(); /* only out of memory */
	sandbox->phase = SANDBOX_RUNNING;
	sandbox_step(sandbox, "agent");
	if (!probe_is_id(sandbox->id))
		answer_created(sandbox);
	probe_end(sandbox);
	return 0;
}

/* A restart has files of its own; volumes come with the plan. */
static struct sandbox *find_prepared(struct sandboxes *b, const struct broker_create *request)
{
	const struct layer_stack *stack = layer_stacks_of(b->stacks, request->sandbox);
	struct blueprint wanted = {.internet = request->network != 0,
	                           .privileges = request->privileges != 0,
	                           .limits = sandbox_limits_of(request),
	                           .disk_bytes = request->disk_bytes};

	if (request->kind != BROKER_NATIVE || (request->volumes && request->volumes[0]) ||
	    (request->review && *request->review))
		return NULL;
	(void)snprintf(wanted.template_name, sizeof(wanted.template_name), "%s",
	               request->template_name);
	(void)snprintf(wanted.warm, sizeof(wanted.warm), "%s", request->warm ? request->warm : "");
	if (stack)
		wanted.stack = *stack;
	return pools_take(b->pools, &wanted);
}

static struct sandbox *new_from_request(struct sandboxes *b, const struct broker_create *request)
{
	struct sandbox *sandbox = sandbox_new(b, "");

	sandbox->kind = request->kind;
	sandbox->internet = request->network != 0;
	sandbox->privileges = request->privileges != 0;
	sandbox->disk_is_advisory = true;
	sandbox->disk_bytes = request->disk_bytes;
	sandbox->limits = sandbox_limits_of(request);
	(void)snprintf(sandbox->template_name, sizeof(sandbox->template_name), "%s",
	               request->template_name);
	sandbox->volumes = volume_mounts_new(request->volumes, &sandbox->volume_count);
	return sandbox;
}

/* What was prepared goes, and with it what it has been named already. */
static void drop_prepared(struct sandbox *sandbox)
{
	struct sandboxes *b = sandbox->sandboxes;
	struct error ignored = {0};

	sandbox_kill(sandbox);
	watch_stop(b->events, &sandbox->process);
	(void)waitid(P_PIDFD, (id_t)sandbox->pidfd, NULL, WEXITED);
	fd_forget(&sandbox->pidfd);
	(void)!host_trash_files(b->host, sandbox->id, &ignored);
	(void)!host_trash(b->host, FOLDER_RUN_SANDBOXES, sandbox->id, &ignored);
	hand_to_cleaner(sandbox);
	sandbox->slot = SLOT_NONE;
	fd_forget(&sandbox->state_fd);
	close_identity_files(sandbox);
	prewarm_free(TAKE(sandbox->prewarm));
	sandbox->claiming = false;
	sandbox->phase = SANDBOX_WAITING;
}

static void replace_prepared(struct sandbox *sandbox, const struct error *why)
{
	struct error err = {0};

	log_warning("a prepared sandbox could not be had, making another",
	            TEXT("sandbox", sandbox->id), FAILURE(why));
	drop_prepared(sandbox);
	if (take_or_await_prewarm(sandbox, &err) < 0)
		fail_create(sandbox, &err);
}

static int begin_create(struct sandbox *sandbox, struct error *err)
{
	struct error failure = {0};

	if (sandbox->kind == BROKER_HOST)
		return start_host_sandbox(sandbox, err);
	if (sandbox->phase != SANDBOX_PREPARED)
		return take_or_await_prewarm(sandbox, err);
	sandbox->claiming = true;
	if (sandbox_claim(sandbox, &failure) < 0) {
		replace_prepared(sandbox, &failure);
		return 0;
	}
	sandbox->claiming = false;
	finish_create(sandbox);
	return 0;
}

/* Without a link there is nothing to reach. */
static char *copy_egress(const struct broker_create *request)
{
	char *copy;

	if (!request->egress || !*request->egress || !request->network)
		return NULL;
	copy = strdup(request->egress);
	if (!copy)
		abort();
	return copy;
}

int sandboxes_create(struct sandboxes *b, const struct pending_reply *reply,
                     const struct broker_create *request, bool restart, struct error *err)
{
	const struct cgroup_limits limits = sandbox_limits_of(request);
	int64_t asked_us = clock_monotonic_ns() / 1000;
	struct layer_review *review = NULL;
	struct sandbox *sandbox;

	if (check_new(b, request, restart, err) < 0 || take_review(b, request, &review, err) < 0 ||
	    take_stack(b, request, err) < 0)
		return -1;
	sandbox = restart || probe_is_id(request->sandbox) ? NULL : find_prepared(b, request);
	if (!sandbox)
		sandbox = new_from_request(b, request);
	if (!probe_is_id(request->sandbox))
		prewarm_pool_note(b->prewarm_pool,
		                  &(struct prewarm_guess){
		                          request->template_name,
		                          layer_stacks_of(b->stacks, request->sandbox), &limits});
	sandbox->review = review;
	sandbox->egress = copy_egress(request);
	sandbox->restart = restart;
	(void)snprintf(sandbox->id, sizeof(sandbox->id), "%s", request->sandbox);
	(void)snprintf(sandbox->hostname, sizeof(sandbox->hostname), "%s", request->hostname);
	(void)snprintf(sandbox->owner, sizeof(sandbox->owner), "%s",
	               request->owner ? request->owner : "");
	sandbox->lease_epoch = request->lease_epoch;
	buf_reset(&sandbox->steps);
	sandbox->asked_us = sandbox->step_us = asked_us;
	(void)map_put(&b->by_id, sandbox->id, sandbox);
	add_reply(sandbox, reply);
	if (begin_create(sandbox, err) == 0)
		return 0;
	if (!restart) {
		layer_stacks_set(b->stacks, request->sandbox, NULL);
		review_end(b->stacks, request->sandbox);
	}
	sandbox_free(sandbox);
	return -1;
}

/* ---- stop and destroy ---- */

static int add_end_reply(struct sandbox *sandbox, const struct pending_reply *reply,
                         struct error *err)
{
	if (sandbox->reply_count == SANDBOX_REPLIES_MAX)
		return FAIL(err, ERROR_CONFLICT, "too many requests wait for the end of '%s'",
		            sandbox->id);
	add_reply(sandbox, reply);
	return 0;
}

/* A create under way fails; its own request is answered first. */
static void end_sandbox(struct sandbox *sandbox)
{
	struct error err = {0};

	if (sandbox->phase == SANDBOX_RUNNING) {
		sandbox_kill(sandbox);
		return;
	}
	if (sandbox->phase == SANDBOX_ENDING)
		return;
	error_set(&err, ERROR_CONFLICT, 0, HERE, "sandbox '%s' was ended while it started",
	          sandbox->id);
	fail_create(sandbox, &err);
}

int sandboxes_destroy(struct sandboxes *b, const struct pending_reply *reply, const char *id,
                      const struct trash_note *note, struct error *err)
{
	const struct trash_note none = {.keep_s = 0};
	struct sandbox *sandbox = sandboxes_find(b, id);

	if (!sandbox) {
		/* stopped, or never there */
		if (b->is_busy(b->context, id))
			return FAIL(err, ERROR_CONFLICT, "a snapshot of '%s' is being taken", id);
		if (sandbox_files_remove(b, id, note ? note : &none, err) < 0)
			return -1;
		b->on_done(b->context, reply);
		b->on_slot_free(b->context, &(struct cleanup_item){SLOT_NONE, -1, -1});
		return 0;
	}
	if (add_end_reply(sandbox, reply, err) < 0)
		return -1;
	sandbox->note = note ? *note : none;
	sandbox->remove_files = true;
	end_sandbox(sandbox);
	return 0;
}

static void on_grace_end(struct timer *timer)
{
	sandbox_kill(CONTAINER_OF(timer, struct sandbox, deadline));
}

int sandboxes_stop(struct sandboxes *b, const struct pending_reply *reply, const char *id,
                   uint64_t grace_ms, struct error *err)
{
	struct sandbox *sandbox = sandboxes_find(b, id);
	struct error ignored = {0};

	if (!sandbox) {
		b->on_done(b->context, reply);
		return 0;
	}
	if (add_end_reply(sandbox, reply, err) < 0)
		return -1;
	if (sandbox->phase != SANDBOX_RUNNING || grace_ms == 0 ||
	    sandbox_ask_to_stop(sandbox, grace_ms, &ignored) < 0) {
		end_sandbox(sandbox);
		return 0;
	}
	sandbox_thaw(sandbox);
	sandbox->phase = SANDBOX_ENDING;
	sandbox->deadline.on_time = on_grace_end;
	timer_start(b->events, &sandbox->deadline, (int64_t)grace_ms);
	return 0;
}

void sandboxes_end_all(struct sandboxes *b)
{
	const char *id;
	size_t at = 0;
	struct sandbox *sandbox;

	log_warning("all sandboxes are ended");
	while ((sandbox = map_next(&b->by_id, &at, &id)))
		if (sandbox->phase == SANDBOX_RUNNING)
			sandbox_kill(sandbox);
}

void sandboxes_init(struct sandboxes *b, struct host *host, struct events *events,
                    struct slots *slots, struct prewarm_pool *prewarm_pool)
{
	*b = (struct sandboxes){
	        .host = host, .events = events, .slots = slots, .prewarm_pool = prewarm_pool};
	for (unsigned i = 0; i < PREWARM_KIND_COUNT; i++)
		list_init(&b->waiting[i]);
}

void sandboxes_close(struct sandboxes *b)
{
	const char *id;
	size_t at = 0;
	struct sandbox *sandbox;

	/* Freeing changes the map: start over each time. */
	while ((sandbox = map_next(&b->by_id, &at, &id))) {
		sandbox_free(sandbox);
		at = 0;
	}
	map_done(&b->by_id);
}

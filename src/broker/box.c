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

static void on_process_end(struct watch *watch);

struct box *boxes_find(const struct boxes *b, const char *id)
{
	return map_find(&b->by_id, id);
}

struct box *box_new(struct boxes *b, const char *id)
{
	struct box *box = calloc(1, sizeof(*box));

	if (!box)
		abort();
	box->boxes = b;
	(void)snprintf(box->id, sizeof(box->id), "%s", id);
	box->slot = SLOT_NONE;
	box->pidfd = box->stop_fd = box->mounts_fd = box->state_fd = box->stored_fd = -1;
	box->net_fd = box->disk_fd = box->images_report_fd = -1;
	for (unsigned i = 0; i < SANDBOX_MOUNTS_MAX; i++)
		box->volume_fds[i] = -1;
	for (unsigned i = 0; i < ISOLATION_IDENTITY_FILES; i++)
		box->identity_fds[i] = -1;
	box->process = (struct watch){.fd = -1, .on_ready = on_process_end};
	box->setup = (struct watch){.fd = -1};
	list_init(&box->item);
	list_init(&box->deadline.item);
	list_init(&box->pause_look.item);
	box->steps = BUF(BOX_STEPS_MAX);
	return box;
}

static void forget_identity(struct box *box)
{
	for (unsigned i = 0; i < ISOLATION_IDENTITY_FILES; i++)
		fd_forget(&box->identity_fds[i]);
}

void box_free(struct box *box)
{
	struct events *events = box->boxes->events;

	watch_stop(events, &box->process);
	watch_stop(events, &box->setup);
	timer_stop(&box->deadline);
	timer_stop(&box->pause_look);
	list_remove(&box->item);
	if (*box->id)
		(void)map_remove(&box->boxes->by_id, box->id);
	cell_free(box->cell);
	fd_forget(&box->pidfd);
	fd_forget(&box->mounts_fd);
	fd_forget(&box->net_fd);
	fd_forget(&box->stored_fd);
	fd_forget(&box->stop_fd);
	fd_forget(&box->state_fd);
	forget_identity(box);
	job_cancel(&box->images_job);
	job_cancel(&box->cut.job);
	free(box->volumes);
	free(box->review);
	free(box->egress);
	fd_forget(&box->images_report_fd);
	fd_forget(&box->disk_fd);
	for (unsigned i = 0; i < box->volume_count; i++)
		fd_forget(&box->volume_fds[i]);
	buf_done(&box->steps);
	free(box);
}

static void owe(struct box *box, const struct owed *owed)
{
	box->owed[box->owed_count++] = *owed;
}

static void settle_debts(struct box *box)
{
	struct boxes *b = box->boxes;

	for (unsigned i = 0; i < box->owed_count; i++) {
		/* The first is the create itself when it is the create that failed. */
		if (i == 0 && box->failed)
			b->on_failed(b->context, &box->owed[i], &box->failure);
		else
			b->on_done(b->context, &box->owed[i]);
	}
	box->owed_count = 0;
}

/* ---- the end ---- */

static void remove_group(struct box *box)
{
	struct cgroup_host *cgroups = &box->boxes->host->cgroups;
	struct error err = {0};
	char group[GROUP_NAME_SIZE];

	host_group_name(box->slot, group);
	if (cgroups->ops->remove(cgroups, group, &err) < 0)
		log_error("cannot end all of a sandbox", TEXT("sandbox", box->id), FAILURE(&err));
}

static void give_away(struct box *box)
{
	struct boxes *b = box->boxes;
	struct remains remains = {.slot = box->slot};

	remains.mounts_fd = TAKE_FD(box->mounts_fd);
	remains.net_fd = TAKE_FD(box->net_fd);
	b->on_slot_free(b->context, &remains);
}

/* Nothing inside runs any more: process 1 was reaped after all others. */
static void bury(struct box *box, uint32_t reason)
{
	struct boxes *b = box->boxes;
	struct error ignored = {0};

	b->on_burial(b->context, box->id);
	/* Without namespaces there is nobody whose end is the end of all. */
	if (box->kind == BROKER_HOST)
		remove_group(box);
	if (box->remove_files)
		(void)!box_files_remove(b, box->id, &box->note, &ignored);
	fault_point("broker", "destroy-files");
	flattening_unpin(b->chains, box->id);
	(void)!host_trash(b->host, FOLDER_RUN_SANDBOXES, box->id, &ignored);
	fault_point("broker", "destroy-run");
	if (reason != SANDBOX_REASON_NONE)
		b->on_ended(b->context, box->id, reason);
	box_filter_end(box);
	settle_debts(box);
	give_away(box);
	box_free(box);
}

void box_bury_unnamed(struct box *box)
{
	(void)waitid(P_PIDFD, (id_t)box->pidfd, NULL, WEXITED);
	give_away(box);
	box_free(box);
}

static bool count_oom_kills(const struct box *box, uint64_t *ret)
{
	struct host *host = box->boxes->host;
	struct cgroup_usage usage = {0};
	struct error ignored = {0};
	char group[GROUP_NAME_SIZE];

	host_group_name(box->slot, group);
	if (host->cgroups.ops->usage(&host->cgroups, group, &usage, &ignored) < 0)
		return false;
	*ret = usage.oom_kills;
	return true;
}

void box_note_oom_kills(struct box *box)
{
	uint64_t count;

	if (count_oom_kills(box, &count))
		box->oom_kills_seen = count;
}

/* `info`: of process 1, zeros when it was not our child. The kernel kills for memory by SIGKILL,
 * and counts the processes of a sandbox that it has killed so without saying which they were:
 * process 1 is among them when there is one more than the broker has seen. */
static uint32_t end_reason(const struct box *box, const siginfo_t *info)
{
	uint64_t count;

	if (info->si_pid != 0 && (info->si_code != CLD_KILLED || info->si_status != SIGKILL))
		return SANDBOX_REASON_EXIT;
	if (count_oom_kills(box, &count) && count > box->oom_kills_seen)
		return SANDBOX_REASON_OOM;
	return SANDBOX_REASON_EXIT;
}

void box_kill(struct box *box)
{
	struct error err = {0};

	box->state = BOX_ENDING;
	timer_stop(&box->deadline);
	watch_stop(box->boxes->events, &box->setup);
	if (pidfd_signal(box->pidfd, SIGKILL, &err) < 0 && err.sys_errno != ESRCH)
		log_error("cannot kill a sandbox", TEXT("sandbox", box->id), FAILURE(&err));
	/* After the signal: nothing inside gets to run again. */
	box_thaw(box);
}

/* Before the agent runs anything: the box ends as its create fails. */
static void fail_create(struct box *box, const struct error *err)
{
	if (box->pool) {
		pool_on_failure(box, err);
		return;
	}
	box->failed = true;
	box->failure = *err;
	box->remove_files = !box->restart;
	if (box->state != BOX_WAITING) {
		box_kill(box);
		return;
	}
	if (box->remove_files) {
		chains_set(box->boxes->chains, box->id, NULL);
		review_end(box->boxes->chains, box->id);
	}
	settle_debts(box);
	box_free(box);
}

static void on_process_end(struct watch *watch)
{
	struct box *box = CONTAINER_OF(watch, struct box, process);
	siginfo_t info = {0};
	uint32_t reason = SANDBOX_REASON_NONE;

	/* An adopted one is not our child: somebody else reaps it. */
	(void)waitid(P_PIDFD, (id_t)box->pidfd, &info, WEXITED);
	watch_stop(box->boxes->events, watch);
	if (box->state == BOX_SETTING_UP || box->state == BOX_PREPARED) {
		struct error err = {0};

		error_set(&err, ERROR_SYSTEM, 0, HERE, "agent ended during its set-up");
		fail_create(box, &err);
	}
	if (!*box->id) {
		box_bury_unnamed(box);
		return;
	}
	box_thaw(box);
	if (box->state == BOX_RUNNING) {
		reason = end_reason(box, &info);
		log_info("sandbox ended", TEXT("sandbox", box->id),
		         TEXT("reason", sandbox_reason_name((enum sandbox_reason)reason)));
	}
	bury(box, reason);
}

/* ---- create ---- */

static void on_setup_timeout(struct timer *timer)
{
	struct box *box = CONTAINER_OF(timer, struct box, deadline);
	struct error err = {0};

	error_set(&err, ERROR_TIMEOUT, 0, HERE, "agent did not set itself up in %d s",
	          SETUP_TIMEOUT_MS / 1000);
	fail_create(box, &err);
}

static void answer_created(struct box *box)
{
	struct boxes *b = box->boxes;
	struct broker_created created = {.disk_is_advisory = box->disk_is_advisory,
	                                 .took_us = (uint64_t)(box->step_us - box->asked_us),
	                                 .steps = buf_text(&box->steps)};

	b->on_created(b->context, &box->owed[0], &created);
	fd_forget(&box->state_fd);
	forget_identity(box);
	box->owed_count = 0;
	buf_done(&box->steps);
}

static void run_on(struct box *box)
{
	struct cell *cell = TAKE(box->cell);

	box->state = BOX_RUNNING;
	if (!probe_is_id(box->id))
		answer_created(box);
	box->stored_fd = cell_take_stored(cell);
	cell_free(cell);
	probe_end(box);
}

static void on_setup_answer(struct watch *watch)
{
	struct box *box = CONTAINER_OF(watch, struct box, setup);
	struct error err = {0};

	watch_stop(box->boxes->events, watch);
	timer_stop(&box->deadline);
	if (box_take_answer(box, &err) < 0) {
		fail_create(box, &err);
		return;
	}
	box_step(box, "agent");
	if (box->pool) {
		if (box_write_notes(box, &err) < 0)
			fail_create(box, &err);
		else
			pool_on_ready(box);
		return;
	}
	if (box_settle(box, &err) < 0) {
		fail_create(box, &err);
		return;
	}
	box_step(box, "names");
	run_on(box);
}

static int set_up(struct box *box, struct error *err)
{
	timer_stop(&box->deadline);
	box->deadline.on_time = on_setup_timeout;
	timer_start(box->boxes->events, &box->deadline, SETUP_TIMEOUT_MS);
	if (box_set_up(box, err) < 0)
		return -1;
	return watch_start(box->boxes->events, &box->setup, box->cell->setup_fd, err);
}

static void on_images(struct box *box, const struct error *failure)
{
	struct error err = *failure;

	/* It may have been ended meanwhile. */
	if (box->state != BOX_SETTING_UP)
		return;
	if (err.code != ERROR_NONE || set_up(box, &err) < 0)
		fail_create(box, &err);
}

/* From here on the box has processes, and ends by their end. */
static int take_cell(struct box *box, struct cell *cell, struct error *err)
{
	struct boxes *b = box->boxes;

	box->cell = cell;
	box->slot = cell->slot;
	box->pid = cell->pid;
	box->start_time = cell->start_time;
	box->pidfd = TAKE_FD(cell->pidfd);
	box->mounts_fd = TAKE_FD(cell->mounts_fd);
	box->net_fd = TAKE_FD(cell->net_fd);
	box->created_unix_ms = clock_unix_ms();
	box->state = BOX_SETTING_UP;
	box->setup.on_ready = on_setup_answer;
	if (watch_start(b->events, &box->process, box->pidfd, err) < 0)
		abort(); /* only out of memory */
	if (!box_wants_images(box))
		return set_up(box, err);
	box->on_images = on_images;
	return box_images_start(box, err);
}

void box_begin(struct box *box, struct cell *cell, struct list *list)
{
	struct error err = {0};

	list_remove(&box->item);
	if (list)
		list_append(list, &box->item);
	if (take_cell(box, cell, &err) < 0)
		fail_create(box, &err);
}

void boxes_on_cell(struct boxes *b, enum cell_kind kind, const struct error *err)
{
	struct box *box;
	struct cell *cell;

	if (list_is_empty(&b->waiting[kind]))
		return;
	box = LIST_ENTRY(b->waiting[kind].next, struct box, item);
	if (err->code != ERROR_NONE) {
		fail_create(box, err);
		return;
	}
	cell = cells_take(b->cells, kind, NULL);
	if (cell)
		box_begin(box, cell, NULL);
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
static int begin_or_wait(struct box *box, struct error *err)
{
	struct boxes *b = box->boxes;
	enum cell_kind kind = box->internet ? CELL_INTERNET : CELL_BLOCKED;
	const struct cell_guess guess = {box->template_name, chains_of(b->chains, box->id),
	                                 &box->limits};
	struct cell *cell = NULL;
	unsigned waiting;

	if (list_is_empty(&b->waiting[kind]))
		cell = cells_take(b->cells, kind, &guess);
	if (cell) {
		box_begin(box, cell, NULL);
		return 0;
	}
	list_append(&b->waiting[kind], &box->item);
	waiting = count_list(&b->waiting[kind]);
	if (b->cells->maker_count[kind] >= MAKERS_MAX || b->cells->making_count[kind] >= waiting)
		return 0;
	return cells_make(b->cells, kind, waiting - b->cells->making_count[kind], err);
}

bool boxes_are_waiting(const struct boxes *b)
{
	for (unsigned i = 0; i < CELL_KIND_COUNT; i++)
		if (!list_is_empty(&b->waiting[i]))
			return true;
	return false;
}

static bool has_files(const struct boxes *b, const char *id)
{
	return faccessat(b->host->folders[FOLDER_SANDBOXES], id, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int check_new(const struct boxes *b, const struct broker_create *request, bool restart,
                     struct error *err)
{
	if (boxes_find(b, request->sandbox))
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' exists already", request->sandbox);
	if (has_files(b, request->sandbox) != restart)
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
static int take_chain(struct boxes *b, const struct broker_create *request, struct error *err)
{
	struct chain chain;

	if (!*request->snapshot)
		return 0;
	if (chains_find(b->chains, request->snapshot, &chain, err) < 0)
		return -1;
	chains_set(b->chains, request->sandbox, &chain);
	return 0;
}

static int take_review(struct boxes *b, const struct broker_create *request, struct review **ret,
                       struct error *err)
{
	struct review *review;

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

static int start_host(struct box *box, struct error *err)
{
	struct boxes *b = box->boxes;

	box->created_unix_ms = clock_unix_ms();
	if (box_start_host(box, err) < 0)
		return -1;
	if (watch_start(b->events, &box->process, box->pidfd, err) < 0)
		abort(); /* only out of memory */
	box->state = BOX_RUNNING;
	box_step(box, "agent");
	if (!probe_is_id(box->id))
		answer_created(box);
	probe_end(box);
	return 0;
}

/* A restart has files of its own; volumes come with the plan. */
static struct box *find_prepared(struct boxes *b, const struct broker_create *request)
{
	const struct chain *chain = chains_of(b->chains, request->sandbox);
	struct blueprint wanted = {.internet = request->network != 0,
	                           .privileges = request->privileges != 0,
	                           .limits = box_limits_of(request),
	                           .disk_bytes = request->disk_bytes};

	if (request->kind != BROKER_NATIVE || (request->volumes && request->volumes[0]) ||
	    (request->review && *request->review))
		return NULL;
	(void)snprintf(wanted.template_name, sizeof(wanted.template_name), "%s",
	               request->template_name);
	(void)snprintf(wanted.warm, sizeof(wanted.warm), "%s", request->warm ? request->warm : "");
	if (chain)
		wanted.chain = *chain;
	return pools_take(b->pools, &wanted);
}

static struct box *box_new_for(struct boxes *b, const struct broker_create *request)
{
	struct box *box = box_new(b, "");

	box->kind = request->kind;
	box->internet = request->network != 0;
	box->privileges = request->privileges != 0;
	box->disk_is_advisory = true;
	box->disk_bytes = request->disk_bytes;
	box->limits = box_limits_of(request);
	(void)snprintf(box->template_name, sizeof(box->template_name), "%s",
	               request->template_name);
	box->volumes = volume_mounts_new(request->volumes, &box->volume_count);
	return box;
}

/* What was prepared goes, and with it what it has been named already. */
static void drop_prepared(struct box *box)
{
	struct boxes *b = box->boxes;
	struct error ignored = {0};

	box_kill(box);
	watch_stop(b->events, &box->process);
	(void)waitid(P_PIDFD, (id_t)box->pidfd, NULL, WEXITED);
	fd_forget(&box->pidfd);
	(void)!host_trash_files(b->host, box->id, &ignored);
	(void)!host_trash(b->host, FOLDER_RUN_SANDBOXES, box->id, &ignored);
	give_away(box);
	box->slot = SLOT_NONE;
	fd_forget(&box->state_fd);
	forget_identity(box);
	cell_free(TAKE(box->cell));
	box->claiming = false;
	box->state = BOX_WAITING;
}

static void make_another(struct box *box, const struct error *why)
{
	struct error err = {0};

	log_warning("a prepared sandbox could not be had, making another", TEXT("sandbox", box->id),
	            FAILURE(why));
	drop_prepared(box);
	if (begin_or_wait(box, &err) < 0)
		fail_create(box, &err);
}

static int begin(struct box *box, struct error *err)
{
	struct error failure = {0};

	if (box->kind == BROKER_HOST)
		return start_host(box, err);
	if (box->state != BOX_PREPARED)
		return begin_or_wait(box, err);
	box->claiming = true;
	if (box_claim(box, &failure) < 0) {
		make_another(box, &failure);
		return 0;
	}
	box->claiming = false;
	run_on(box);
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

int boxes_create(struct boxes *b, const struct owed *owed, const struct broker_create *request,
                 bool restart, struct error *err)
{
	const struct cgroup_limits limits = box_limits_of(request);
	int64_t asked_us = clock_monotonic_ns() / 1000;
	struct review *review = NULL;
	struct box *box;

	if (check_new(b, request, restart, err) < 0 || take_review(b, request, &review, err) < 0 ||
	    take_chain(b, request, err) < 0)
		return -1;
	box = restart || probe_is_id(request->sandbox) ? NULL : find_prepared(b, request);
	if (!box)
		box = box_new_for(b, request);
	if (!probe_is_id(request->sandbox))
		cells_note(b->cells,
		           &(struct cell_guess){request->template_name,
		                                chains_of(b->chains, request->sandbox), &limits});
	box->review = review;
	box->egress = copy_egress(request);
	box->restart = restart;
	(void)snprintf(box->id, sizeof(box->id), "%s", request->sandbox);
	(void)snprintf(box->hostname, sizeof(box->hostname), "%s", request->hostname);
	(void)snprintf(box->owner, sizeof(box->owner), "%s", request->owner ? request->owner : "");
	box->lease_epoch = request->lease_epoch;
	buf_reset(&box->steps);
	box->asked_us = box->step_us = asked_us;
	(void)map_put(&b->by_id, box->id, box);
	owe(box, owed);
	if (begin(box, err) == 0)
		return 0;
	if (!restart) {
		chains_set(b->chains, request->sandbox, NULL);
		review_end(b->chains, request->sandbox);
	}
	box_free(box);
	return -1;
}

/* ---- stop and destroy ---- */

static int owe_end(struct box *box, const struct owed *owed, struct error *err)
{
	if (box->owed_count == BOX_OWED_MAX)
		return FAIL(err, ERROR_CONFLICT, "too many requests wait for the end of '%s'",
		            box->id);
	owe(box, owed);
	return 0;
}

/* A create under way fails; its own request is answered first. */
static void end_now(struct box *box)
{
	struct error err = {0};

	if (box->state == BOX_RUNNING) {
		box_kill(box);
		return;
	}
	if (box->state == BOX_ENDING)
		return;
	error_set(&err, ERROR_CONFLICT, 0, HERE, "sandbox '%s' was ended while it started",
	          box->id);
	fail_create(box, &err);
}

int boxes_destroy(struct boxes *b, const struct owed *owed, const char *id,
                  const struct trash_note *note, struct error *err)
{
	const struct trash_note none = {.keep_s = 0};
	struct box *box = boxes_find(b, id);

	if (!box) {
		/* stopped, or never there */
		if (b->is_busy(b->context, id))
			return FAIL(err, ERROR_CONFLICT, "a snapshot of '%s' is being taken", id);
		if (box_files_remove(b, id, note ? note : &none, err) < 0)
			return -1;
		b->on_done(b->context, owed);
		b->on_slot_free(b->context, &(struct remains){SLOT_NONE, -1, -1});
		return 0;
	}
	if (owe_end(box, owed, err) < 0)
		return -1;
	box->note = note ? *note : none;
	box->remove_files = true;
	end_now(box);
	return 0;
}

static void on_grace_end(struct timer *timer)
{
	box_kill(CONTAINER_OF(timer, struct box, deadline));
}

int boxes_stop(struct boxes *b, const struct owed *owed, const char *id, uint64_t grace_ms,
               struct error *err)
{
	struct box *box = boxes_find(b, id);
	struct error ignored = {0};

	if (!box) {
		b->on_done(b->context, owed);
		return 0;
	}
	if (owe_end(box, owed, err) < 0)
		return -1;
	if (box->state != BOX_RUNNING || grace_ms == 0 ||
	    box_ask_to_stop(box, grace_ms, &ignored) < 0) {
		end_now(box);
		return 0;
	}
	box_thaw(box);
	box->state = BOX_ENDING;
	box->deadline.on_time = on_grace_end;
	timer_start(b->events, &box->deadline, (int64_t)grace_ms);
	return 0;
}

void boxes_end_all(struct boxes *b)
{
	const char *id;
	size_t at = 0;
	struct box *box;

	log_warning("all sandboxes are ended");
	while ((box = map_next(&b->by_id, &at, &id)))
		if (box->state == BOX_RUNNING)
			box_kill(box);
}

void boxes_init(struct boxes *b, struct host *host, struct events *events, struct slots *slots,
                struct cell_pool *cells)
{
	*b = (struct boxes){.host = host, .events = events, .slots = slots, .cells = cells};
	for (unsigned i = 0; i < CELL_KIND_COUNT; i++)
		list_init(&b->waiting[i]);
}

void boxes_close(struct boxes *b)
{
	const char *id;
	size_t at = 0;
	struct box *box;

	/* Freeing changes the map: start over each time. */
	while ((box = map_next(&b->by_id, &at, &id))) {
		box_free(box);
		at = 0;
	}
	map_done(&b->by_id);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The set-up of a sandbox, from a prewarmed one or a claim until it runs. */
#include <stdlib.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/layers/stacks.h"
#include "broker/prewarm/pool.h"
#include "broker/sandbox/disk.h"
#include "broker/sandbox/pool.h"
#include "broker/sandbox/probe.h"
#include "broker/sandbox/sandbox.h"
#include "broker/sandbox/sandboxes.h"
#include "broker/sandbox/setup.h"
#include "isolation/ids.h"
#include "wire/broker_kind.h"
#include "wire/broker_sandbox.h"

#define SETUP_TIMEOUT_MS 10000

static void on_setup_timeout(struct timer *timer)
{
	struct sandbox *sandbox = CONTAINER_OF(timer, struct sandbox, deadline);
	struct error err = {0};

	error_set(&err, ERROR_TIMEOUT, 0, HERE, "agent did not set itself up in %d s",
	          SETUP_TIMEOUT_MS / 1000);
	sandbox_fail_create(sandbox, &err);
}

static void answer_created(struct sandbox *sandbox)
{
	struct sandboxes *b = sandbox->sandboxes;
	struct broker_created created = {.disk_is_advisory = sandbox->disk_is_advisory,
	                                 .took_us =
	                                         (uint64_t)(sandbox->step_us - sandbox->asked_us),
	                                 .steps = sandbox->steps};

	b->on_created(b->context, &sandbox->replies[0], &created);
	fd_forget(&sandbox->state_fd);
	sandbox_close_identity_files(sandbox);
	sandbox->reply_count = 0;
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
		sandbox_fail_create(sandbox, &err);
		return;
	}
	sandbox_step(sandbox, "agent");
	if (sandbox->pool) {
		if (sandbox_write_notes(sandbox, &err) < 0)
			sandbox_fail_create(sandbox, &err);
		else
			pool_on_ready(sandbox);
		return;
	}
	if (sandbox_publish(sandbox, &err) < 0) {
		sandbox_fail_create(sandbox, &err);
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

	/* The sandbox may have been ended meanwhile. */
	if (sandbox->phase != SANDBOX_SETTING_UP)
		return;
	if (err.code != ERROR_NONE || begin_set_up(sandbox, &err) < 0)
		sandbox_fail_create(sandbox, &err);
}

/* From here on the sandbox has processes, and it ends when they end. */
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
		sandbox_fail_create(sandbox, &err);
}

static enum prewarm_kind kind_of(bool internet)
{
	return internet ? PREWARM_INTERNET : PREWARM_BLOCKED;
}

/* The first create that waits for this kind, or NULL. */
static struct sandbox *find_waiting(struct sandboxes *b, bool internet, unsigned *ret_count)
{
	struct sandbox *first = NULL;

	*ret_count = 0;
	LIST_EACH (&b->waiting, struct sandbox, sandbox, item) {
		if (sandbox->internet != internet)
			continue;
		if (!first)
			first = sandbox;
		++*ret_count;
	}
	return first;
}

void sandboxes_on_prewarm(struct sandboxes *b, bool internet, const struct error *err)
{
	unsigned count;
	struct sandbox *sandbox = find_waiting(b, internet, &count);
	struct prewarm *prewarm;

	if (!sandbox)
		return;
	if (err->code != ERROR_NONE) {
		sandbox_fail_create(sandbox, err);
		return;
	}
	prewarm = prewarm_pool_take(b->prewarm_pool, kind_of(internet), NULL);
	if (prewarm)
		sandbox_begin_set_up(sandbox, prewarm, NULL);
}

/* One is ready in most cases; else there are as many under way as there are waiters, within
 * reason. */
static int take_or_await_prewarm(struct sandbox *sandbox, struct error *err)
{
	struct sandboxes *b = sandbox->sandboxes;
	enum prewarm_kind kind = kind_of(sandbox->internet);
	const struct prewarm_guess guess = {
	        sandbox->template_name, layer_stacks_of(b->stacks, sandbox->id), &sandbox->limits};
	struct prewarm *prewarm = NULL;
	unsigned waiting;

	if (!find_waiting(b, sandbox->internet, &waiting))
		prewarm = prewarm_pool_take(b->prewarm_pool, kind, &guess);
	if (prewarm) {
		sandbox_begin_set_up(sandbox, prewarm, NULL);
		return 0;
	}
	list_append(&b->waiting, &sandbox->item);
	waiting++;
	if (b->prewarm_pool->maker_count[kind] >= MAKERS_MAX ||
	    b->prewarm_pool->making_count[kind] >= waiting)
		return 0;
	return prewarm_pool_make(b->prewarm_pool, kind,
	                         waiting - b->prewarm_pool->making_count[kind], err);
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

/* Discards the prepared sandbox with the names that it has got already. */
static void drop_prepared(struct sandbox *sandbox)
{
	struct sandboxes *b = sandbox->sandboxes;
	struct error ignored = {0};
	siginfo_t info;

	sandbox_kill(sandbox);
	watch_stop(b->events, &sandbox->process);
	sandbox_reap(sandbox, &info);
	fd_forget(&sandbox->pidfd);
	(void)!host_trash_files(b->host, sandbox->id, &ignored);
	(void)!host_trash(b->host, FOLDER_RUN_SANDBOXES, sandbox->id, &ignored);
	sandbox_hand_to_cleaner(sandbox);
	sandbox->slot = SLOT_NONE;
	fd_forget(&sandbox->state_fd);
	sandbox_close_identity_files(sandbox);
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
		sandbox_fail_create(sandbox, &err);
}

int sandbox_start(struct sandbox *sandbox, struct error *err)
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

/* SPDX-License-Identifier: Apache-2.0 */
/* BROKER_PAUSE and BROKER_RESUME, by the kernel's freezer. Processes come to rest within
 * microseconds in most cases. A timer checks that, so the broker does not wait. The kernel's state
 * is the truth, so there is nothing to remember for the next broker. */
#include "broker/sandbox/pause.h"

#include "base/fault.h"
#include "base/log.h"
#include "broker/host/host.h"
#include "broker/sandbox/sandbox.h"
#include "broker/sandbox/sandboxes.h"

struct timer;

#define LOOK_FIRST_US 30
#define LOOK_LAST_US 10000
#define ASK_AGAIN_US 1000
#define THAW_EVERY_US (500 * 1000)
#define GIVE_UP_US (2 * 1000 * 1000)

static int set_frozen(struct sandbox *sandbox, bool frozen, struct error *err)
{
	struct cgroup_host *cgroups = sandbox->sandboxes->host->cgroups;
	char group[GROUP_NAME_SIZE];

	host_group_name(sandbox->slot, group);
	return cgroups->ops->freeze(cgroups, group, frozen, err);
}

static int find_rest(struct sandbox *sandbox, enum cgroup_rest *ret, struct error *err)
{
	struct cgroup_host *cgroups = sandbox->sandboxes->host->cgroups;
	char group[GROUP_NAME_SIZE];

	host_group_name(sandbox->slot, group);
	return cgroups->ops->rest(cgroups, group, ret, err);
}

/* Thaws the sandbox and sends the failure. */
static void fail_pause(struct sandbox *sandbox, const struct error *why)
{
	struct sandboxes *b = sandbox->sandboxes;
	struct error err = {0};

	sandbox->pausing = sandbox->paused = false;
	timer_stop(&sandbox->pause_look);
	if (set_frozen(sandbox, false, &err) < 0)
		log_error("cannot thaw a sandbox", TEXT("sandbox", sandbox->id), FAILURE(&err));
	b->on_failed(b->context, &sandbox->pause_reply, why);
}

/* cgroup v1 may miss a process that is being forked, and would wait for it forever. Asking again
 * catches it, or thawing everything until the next check. */
static int retry_freeze(struct sandbox *sandbox, struct error *err)
{
	if (sandbox->pause_given_us >= sandbox->pause_thaw_us) {
		sandbox->pause_thaw_us += THAW_EVERY_US;
		return set_frozen(sandbox, false, err);
	}
	return sandbox->pause_look_us < ASK_AGAIN_US ? 0 : set_frozen(sandbox, true, err);
}

static void on_pause_check(struct timer *timer);

static void check_pause(struct sandbox *sandbox)
{
	struct sandboxes *b = sandbox->sandboxes;
	struct error err = {0};
	enum cgroup_rest rest;

	if (find_rest(sandbox, &rest, &err) < 0) {
		fail_pause(sandbox, &err);
		return;
	}
	if (rest == CGROUP_FROZEN) {
		sandbox->pausing = false;
		sandbox->paused = true;
		fault_point("broker", "pause-frozen");
		b->on_done(b->context, &sandbox->pause_reply);
		return;
	}
	if (sandbox->pause_given_us >= GIVE_UP_US) {
		error_set(&err, ERROR_TIMEOUT, 0, HERE,
		          "not everything in sandbox '%s' comes to rest", sandbox->id);
		fail_pause(sandbox, &err);
		return;
	}
	if (retry_freeze(sandbox, &err) < 0) {
		fail_pause(sandbox, &err);
		return;
	}
	sandbox->pause_look.on_time = on_pause_check;
	timer_start_us(b->events, &sandbox->pause_look, sandbox->pause_look_us);
	sandbox->pause_given_us += sandbox->pause_look_us;
	if (sandbox->pause_look_us < LOOK_LAST_US)
		sandbox->pause_look_us *= 2;
}

static void on_pause_check(struct timer *timer)
{
	check_pause(CONTAINER_OF(timer, struct sandbox, pause_look));
}

static struct sandbox *find_running(const struct sandboxes *b, const char *id, struct error *err)
{
	struct sandbox *sandbox = sandboxes_find(b, id);

	if (!sandbox || sandbox->phase != SANDBOX_RUNNING) {
		error_set(err, ERROR_NOT_FOUND, 0, HERE, "sandbox '%s' does not run", id);
		return NULL;
	}
	/* A snapshot holds the processes itself. */
	if (b->is_busy(b->context, id)) {
		error_set(err, ERROR_CONFLICT, 0, HERE, "a snapshot of '%s' is being taken", id);
		return NULL;
	}
	return sandbox;
}

int sandboxes_pause(struct sandboxes *b, const struct pending_reply *reply, const char *id,
                    struct error *err)
{
	struct sandbox *sandbox = find_running(b, id, err);

	if (!sandbox)
		return -1;
	if (sandbox->pausing)
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' is being paused already", id);
	if (set_frozen(sandbox, true, err) < 0)
		return -1;
	fault_point("broker", "pause-asked");
	sandbox->pausing = true;
	sandbox->pause_reply = *reply;
	sandbox->pause_look_us = LOOK_FIRST_US;
	sandbox->pause_given_us = 0;
	sandbox->pause_thaw_us = THAW_EVERY_US;
	check_pause(sandbox);
	return 0;
}

static void cancel_pause(struct sandbox *sandbox, const char *why)
{
	struct error err = {0};

	error_set(&err, ERROR_CONFLICT, 0, HERE, "sandbox '%s' %s while it was being paused",
	          sandbox->id, why);
	fail_pause(sandbox, &err);
}

int sandboxes_resume(struct sandboxes *b, const struct pending_reply *reply, const char *id,
                     struct error *err)
{
	struct sandbox *sandbox = find_running(b, id, err);

	if (!sandbox)
		return -1;
	if (sandbox->pausing)
		cancel_pause(sandbox, "was resumed");
	if (set_frozen(sandbox, false, err) < 0)
		return -1;
	sandbox->paused = false;
	fault_point("broker", "resume-thawed");
	b->on_done(b->context, reply);
	return 0;
}

void sandbox_thaw(struct sandbox *sandbox)
{
	struct error err = {0};

	if (sandbox->pausing) {
		cancel_pause(sandbox, "ended");
		return;
	}
	if (sandbox->paused && set_frozen(sandbox, false, &err) < 0)
		log_error("cannot thaw a sandbox", TEXT("sandbox", sandbox->id), FAILURE(&err));
	sandbox->paused = false;
}

void sandbox_find_paused(struct sandbox *sandbox)
{
	struct error err = {0};
	enum cgroup_rest rest = CGROUP_THAWED;

	if (find_rest(sandbox, &rest, &err) < 0)
		log_warning("cannot tell whether a sandbox is paused", TEXT("sandbox", sandbox->id),
		            FAILURE(&err));
	sandbox->paused = rest != CGROUP_THAWED;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* BROKER_PAUSE and BROKER_RESUME, by the kernel's freezer. What runs inside comes to rest when the
 * kernel gets hold of it, mostly within microseconds: a timer looks again, and nobody waits. The
 * kernel's own word is what counts, so that there is nothing to remember for the next broker. */
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "broker/box.h"

#define LOOK_FIRST_US 30
#define LOOK_LAST_US 10000
#define ASK_AGAIN_US 1000
#define THAW_EVERY_US (500 * 1000)
#define GIVE_UP_US (2 * 1000 * 1000)

static int set_frozen(struct box *box, bool frozen, struct error *err)
{
	struct cgroup_host *cgroups = &box->boxes->host->cgroups;
	char group[GROUP_NAME_SIZE];

	host_group_name(box->slot, group);
	return cgroups->ops->freeze(cgroups, group, frozen, err);
}

static int find_rest(struct box *box, enum cgroup_rest *ret, struct error *err)
{
	struct cgroup_host *cgroups = &box->boxes->host->cgroups;
	char group[GROUP_NAME_SIZE];

	host_group_name(box->slot, group);
	return cgroups->ops->rest(cgroups, group, ret, err);
}

/* Back to where it was, with an answer. */
static void fail_pause(struct box *box, const struct error *why)
{
	struct boxes *b = box->boxes;
	struct error err = {0};

	box->pausing = box->paused = false;
	timer_stop(&box->pause_look);
	if (set_frozen(box, false, &err) < 0)
		log_error("cannot thaw a sandbox", TEXT("sandbox", box->id), FAILURE(&err));
	b->on_failed(b->context, &box->pause_owed, why);
}

/* Version 1 may miss a process that is being made just then, and would wait for it for ever: asking
 * again meets it, or letting all go until the next look. */
static int ask_again(struct box *box, struct error *err)
{
	if (box->pause_given_us >= box->pause_thaw_us) {
		box->pause_thaw_us += THAW_EVERY_US;
		return set_frozen(box, false, err);
	}
	return box->pause_look_us < ASK_AGAIN_US ? 0 : set_frozen(box, true, err);
}

static void on_look(struct timer *timer);

static void look(struct box *box)
{
	struct boxes *b = box->boxes;
	struct error err = {0};
	enum cgroup_rest rest;

	if (find_rest(box, &rest, &err) < 0) {
		fail_pause(box, &err);
		return;
	}
	if (rest == CGROUP_FROZEN) {
		box->pausing = false;
		box->paused = true;
		fault_point("broker", "pause-frozen");
		b->on_done(b->context, &box->pause_owed);
		return;
	}
	if (box->pause_given_us >= GIVE_UP_US) {
		error_set(&err, ERROR_TIMEOUT, 0, HERE,
		          "not everything in sandbox '%s' comes to rest", box->id);
		fail_pause(box, &err);
		return;
	}
	if (ask_again(box, &err) < 0) {
		fail_pause(box, &err);
		return;
	}
	box->pause_look.on_time = on_look;
	timer_start_us(b->events, &box->pause_look, box->pause_look_us);
	box->pause_given_us += box->pause_look_us;
	if (box->pause_look_us < LOOK_LAST_US)
		box->pause_look_us *= 2;
}

static void on_look(struct timer *timer)
{
	look(CONTAINER_OF(timer, struct box, pause_look));
}

static struct box *find_running(const struct boxes *b, const char *id, struct error *err)
{
	struct box *box = boxes_find(b, id);

	if (!box || box->state != BOX_RUNNING) {
		error_set(err, ERROR_NOT_FOUND, 0, HERE, "sandbox '%s' does not run", id);
		return NULL;
	}
	/* Whoever takes it holds the processes himself. */
	if (b->is_busy(b->context, id)) {
		error_set(err, ERROR_CONFLICT, 0, HERE, "a snapshot of '%s' is being taken", id);
		return NULL;
	}
	return box;
}

int boxes_pause(struct boxes *b, const struct owed *owed, const char *id, struct error *err)
{
	struct box *box = find_running(b, id, err);

	if (!box)
		return -1;
	if (box->pausing)
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' is being paused already", id);
	if (set_frozen(box, true, err) < 0)
		return -1;
	fault_point("broker", "pause-asked");
	box->pausing = true;
	box->pause_owed = *owed;
	box->pause_look_us = LOOK_FIRST_US;
	box->pause_given_us = 0;
	box->pause_thaw_us = THAW_EVERY_US;
	look(box);
	return 0;
}

static void give_up_pause(struct box *box, const char *why)
{
	struct error err = {0};

	error_set(&err, ERROR_CONFLICT, 0, HERE, "sandbox '%s' %s while it was being paused",
	          box->id, why);
	fail_pause(box, &err);
}

int boxes_resume(struct boxes *b, const struct owed *owed, const char *id, struct error *err)
{
	struct box *box = find_running(b, id, err);

	if (!box)
		return -1;
	if (box->pausing)
		give_up_pause(box, "was resumed");
	if (set_frozen(box, false, err) < 0)
		return -1;
	box->paused = false;
	fault_point("broker", "resume-thawed");
	b->on_done(b->context, owed);
	return 0;
}

void box_thaw(struct box *box)
{
	struct error err = {0};

	if (box->pausing) {
		give_up_pause(box, "ended");
		return;
	}
	if (box->paused && set_frozen(box, false, &err) < 0)
		log_error("cannot thaw a sandbox", TEXT("sandbox", box->id), FAILURE(&err));
	box->paused = false;
}

void box_find_paused(struct box *box)
{
	struct error err = {0};
	enum cgroup_rest rest = CGROUP_THAWED;

	if (find_rest(box, &rest, &err) < 0)
		log_warning("cannot tell whether a sandbox is paused", TEXT("sandbox", box->id),
		            FAILURE(&err));
	box->paused = rest != CGROUP_THAWED;
}

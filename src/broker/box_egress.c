/* SPDX-License-Identifier: Apache-2.0 */
/* Whom a sandbox may reach: from its cell or claim on, and changed while it runs.
 *
 * To end what is under way takes as long as the sandbox has begun much, on purpose maybe: a child
 * does it, one at a time for each sandbox. Rules that change meanwhile are in force at once, and
 * the next child ends what goes on against the last of them. */
#include "broker/box_egress.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "broker/box.h"

static void cut_now(const struct box *box)
{
	network_egress_cut(&box->boxes->host->network, box->slot, box->egress ? box->egress : "");
}

int box_filter(struct box *box, struct error *err)
{
	if (!box->egress)
		return 0;
	if (fault_failure("broker", "egress", err) < 0 ||
	    network_egress_set(&box->boxes->host->network, box->slot, box->egress, err) < 0)
		return -1;
	cut_now(box);
	fault_point("broker", "egress");
	box_step(box, "egress");
	return 0;
}

/* ---- of one that runs ---- */

static void answer(struct box *box, unsigned count)
{
	struct boxes *b = box->boxes;
	struct box_cut *cut = &box->cut;

	for (unsigned i = 0; i < count; i++)
		b->on_done(b->context, &cut->owed[i]);
	cut->owed_count -= count;
	memmove(cut->owed, cut->owed + count, cut->owed_count * sizeof(cut->owed[0]));
	cut->begun = 0;
}

static int run_cut(void *context)
{
	fault_point("broker", "egress-cut");
	cut_now(context);
	return 0;
}

static void on_cut(struct job *job, int status);

static void begin_cut(struct box *box)
{
	struct box_cut *cut = &box->cut;
	struct error err = {0};

	cut->begun = cut->owed_count;
	cut->job.on_end = on_cut;
	if (job_start(box->boxes->events, &cut->job, run_cut, box, &err) == 0)
		return;
	log_warning("what goes on against changed rules is ended in the broker itself",
	            TEXT("sandbox", box->id), FAILURE(&err));
	cut_now(box);
	answer(box, cut->begun);
}

static void on_cut(struct job *job, int status)
{
	struct box *box = CONTAINER_OF(job, struct box, cut.job);

	/* Here, whatever it takes: the answer says that it is done. */
	if (status < 0)
		cut_now(box);
	answer(box, box->cut.begun);
	if (box->cut.owed_count > 0)
		begin_cut(box);
}

void box_filter_end(struct box *box)
{
	job_cancel(&box->cut.job);
	answer(box, box->cut.owed_count);
}

/* Who has sent nothing has nothing under way; nor is anything led away, or denied, without rules.
 */
static void cut_and_answer(struct box *box, const struct owed *owed, bool had_rules)
{
	struct boxes *b = box->boxes;
	struct box_cut *cut = &box->cut;
	bool is_ruled = had_rules || network_egress_is_set(&b->host->network, box->slot);

	if (cut->begun == 0 && (!is_ruled || !network_was_used(box->slot, true))) {
		b->on_done(b->context, owed);
		return;
	}
	cut->owed[cut->owed_count++] = *owed;
	if (cut->begun == 0)
		begin_cut(box);
}

int boxes_filter(struct boxes *b, const struct owed *owed, const char *id, const char *egress,
                 struct error *err)
{
	struct box *box = boxes_find(b, id);
	bool had_rules;

	if (!box || box->slot == SLOT_NONE)
		return FAIL(err, ERROR_NOT_FOUND, "sandbox '%s' does not run", id);
	if (box->kind != BROKER_NATIVE)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "a sandbox without isolation has no network of its own");
	if (box->state != BOX_RUNNING)
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' is being started or ended", id);
	/* Without a link there is nothing to reach. */
	if (!box->internet) {
		b->on_done(b->context, owed);
		return 0;
	}
	if (box->cut.owed_count == CUT_OWED_MAX)
		return FAIL(err, ERROR_UNAVAILABLE, "the rules of '%s' are being changed", id);
	had_rules = network_egress_is_set(&b->host->network, box->slot);
	if (network_egress_set(&b->host->network, box->slot, egress, err) < 0)
		return -1;
	/* To be set again when the host's rules are emptied. */
	free(box->egress);
	box->egress = egress && *egress ? strdup(egress) : NULL;
	fault_point("broker", "egress-changed");
	cut_and_answer(box, owed, had_rules);
	return 0;
}

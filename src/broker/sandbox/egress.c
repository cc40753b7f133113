/* SPDX-License-Identifier: Apache-2.0 */
/* Sets the egress rules of a sandbox when it starts, and replaces them while it runs. Ending the
 * connections that new rules refuse takes long when the sandbox has opened many, perhaps on
 * purpose. So a child does it, one at a time for each sandbox. New rules are in force at once, and
 * the next child ends the connections that the last rules refuse. */
#include "broker/sandbox/egress.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "broker/host/host.h"
#include "broker/network/egress.h"
#include "broker/network/link.h"
#include "broker/network/network.h"
#include "broker/sandbox/run_state.h"
#include "broker/sandbox/sandbox.h"
#include "broker/sandbox/sandboxes.h"
#include "isolation/ids.h"
#include "sandbox/egress.h"
#include "wire/broker_kind.h"

static bool cut_flows(const struct sandbox *sandbox)
{
	return network_egress_cut(sandbox->sandboxes->host->network, sandbox->slot,
	                          sandbox->egress ? sandbox->egress : "", sandbox->left_by);
}

static uint32_t source_of(const char *egress)
{
	return egress ? sandbox_egress_source(egress) : 0;
}

/* Before the rules are set: the broker may be killed before it has ended the connections, and the
 * next one must know of them. */
static int note_source(struct sandbox *sandbox, const char *egress, struct error *err)
{
	if (source_of(egress) == 0 || sandbox->has_left_by_source)
		return 0;
	sandbox->has_left_by_source = true;
	/* A new sandbox has no file yet. */
	if (sandbox->phase != SANDBOX_RUNNING || run_state_update(sandbox, err) == 0)
		return 0;
	sandbox->has_left_by_source = false;
	return -1;
}

int sandbox_apply_egress(struct sandbox *sandbox, struct error *err)
{
	struct host_network *n = sandbox->sandboxes->host->network;

	/* By an upstream proxy, a sandbox without rules has some, too. */
	if (!sandbox->egress && (!n->is_proxied || !sandbox->internet))
		return 0;
	if (fault_failure("broker", "egress", err) < 0 ||
	    note_source(sandbox, sandbox->egress, err) < 0 ||
	    network_egress_set(n,
	                       &(struct network_ruled){sandbox->slot, sandbox->id,
	                                               sandbox->egress ? sandbox->egress : ""},
	                       err) < 0)
		return -1;
	(void)cut_flows(sandbox);
	fault_point("broker", "egress");
	sandbox_step(sandbox, "egress");
	return 0;
}

/* What goes on by the address that the sandbox has lost must end: another project may get it. The
 * connections by an address before that may not have ended yet. */
static void note_lost_source(struct sandbox *sandbox, uint32_t before)
{
	if (before == 0 || before == source_of(sandbox->egress))
		return;
	sandbox->left_by =
	        sandbox->left_by == 0 || sandbox->left_by == before ? before : NETWORK_LEFT_BY_ANY;
}

/* All connections that the rules of now refuse have ended. */
static void forget_lost_sources(struct sandbox *sandbox)
{
	struct error err = {0};

	sandbox->left_by = 0;
	if (!sandbox->has_left_by_source || source_of(sandbox->egress) != 0)
		return;
	sandbox->has_left_by_source = false;
	if (run_state_update(sandbox, &err) < 0)
		log_debug("the next broker ends connections of a sandbox once more",
		          TEXT("sandbox", sandbox->id), FAILURE(&err));
}

static void send_cut_replies(struct sandbox *sandbox, unsigned count)
{
	struct sandboxes *b = sandbox->sandboxes;
	struct egress_cut *cut = sandbox->cut;

	for (unsigned i = 0; i < count; i++)
		b->on_done(b->context, &cut->replies[i]);
	cut->reply_count -= count;
	memmove(cut->replies, cut->replies + count, cut->reply_count * sizeof(cut->replies[0]));
	cut->begun = 0;
}

static int run_cut(void *context)
{
	fault_point("broker", "egress-cut");
	return cut_flows(context) ? 0 : -1;
}

static void on_cut(struct broker_child *child, int status);

/* The child may have failed. Then the broker ends the connections now: the reply says that they are
 * ended. */
static void end_cut(struct sandbox *sandbox, bool is_done)
{
	bool is_last = sandbox->cut->begun == sandbox->cut->reply_count;

	is_done = is_done || cut_flows(sandbox);
	if (is_done && is_last)
		forget_lost_sources(sandbox);
	send_cut_replies(sandbox, sandbox->cut->begun);
}

static void begin_cut(struct sandbox *sandbox)
{
	struct egress_cut *cut = sandbox->cut;
	struct error err = {0};

	cut->begun = cut->reply_count;
	cut->child.on_end = on_cut;
	if (child_start(sandbox->sandboxes->events, &cut->child, run_cut, sandbox, &err) == 0)
		return;
	log_warning("what goes on against changed rules is ended in the broker itself",
	            TEXT("sandbox", sandbox->id), FAILURE(&err));
	end_cut(sandbox, false);
}

static void on_cut(struct broker_child *child, int status)
{
	struct egress_cut *cut = CONTAINER_OF(child, struct egress_cut, child);

	end_cut(cut->sandbox, status == 0);
	if (cut->reply_count > 0)
		begin_cut(cut->sandbox);
}

void sandbox_end_egress(struct sandbox *sandbox)
{
	if (!sandbox->cut)
		return;
	child_cancel(&sandbox->cut->child);
	send_cut_replies(sandbox, sandbox->cut->reply_count);
}

void sandbox_free_egress(struct sandbox *sandbox)
{
	if (sandbox->cut)
		child_cancel(&sandbox->cut->child);
	free(sandbox->cut);
	free(sandbox->egress);
}

/* A sandbox that has sent nothing has no connections. Without rules nothing is redirected or
 * refused. */
static void cut_then_reply(struct sandbox *sandbox, const struct pending_reply *reply,
                           bool had_rules)
{
	struct sandboxes *b = sandbox->sandboxes;
	struct egress_cut *cut = sandbox->cut;
	bool is_ruled = had_rules || sandbox->left_by != 0 ||
	                network_egress_is_set(b->host->network, sandbox->slot);

	if (cut->begun == 0 && (!is_ruled || !network_was_used(sandbox->slot, true))) {
		forget_lost_sources(sandbox);
		b->on_done(b->context, reply);
		return;
	}
	cut->replies[cut->reply_count++] = *reply;
	if (cut->begun == 0)
		begin_cut(sandbox);
}

int sandboxes_set_egress(struct sandboxes *b, const struct pending_reply *reply, const char *id,
                         const char *egress, struct error *err)
{
	struct sandbox *sandbox = sandboxes_find(b, id);
	uint32_t source;
	bool had_rules;

	if (!sandbox || sandbox->slot == SLOT_NONE)
		return FAIL(err, ERROR_NOT_FOUND, "sandbox '%s' does not run", id);
	if (!broker_kind_is_isolated(sandbox->kind))
		return FAIL(err, ERROR_UNSUPPORTED,
		            "a sandbox without isolation has no network of its own");
	if (sandbox->phase != SANDBOX_RUNNING)
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' is being started or ended", id);
	/* A sandbox without a link reaches nothing. */
	if (!sandbox->internet) {
		b->on_done(b->context, reply);
		return 0;
	}
	if (!sandbox->cut) {
		sandbox->cut = memory_new(sizeof(*sandbox->cut));
		sandbox->cut->sandbox = sandbox;
	}
	if (sandbox->cut->reply_count == EGRESS_CUT_REPLIES_MAX)
		return FAIL(err, ERROR_UNAVAILABLE, "the rules of '%s' are being changed", id);
	had_rules = network_egress_is_set(b->host->network, sandbox->slot);
	source = source_of(sandbox->egress);
	if (note_source(sandbox, egress, err) < 0 ||
	    network_egress_set(b->host->network, &(struct network_ruled){sandbox->slot, id, egress},
	                       err) < 0)
		return -1;
	/* Kept, so that the guard can set the rules again. */
	free(sandbox->egress);
	sandbox->egress = egress && *egress ? memory_text(egress) : NULL;
	note_lost_source(sandbox, source);
	fault_point("broker", "egress-changed");
	cut_then_reply(sandbox, reply, had_rules);
	return 0;
}

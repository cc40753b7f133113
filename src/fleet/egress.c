/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/egress.h"

#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "fleet/parts.h"
#include "store/egress.h"

static bool is_alive(const struct sandbox_record *r)
{
	return r->actual == SANDBOX_STARTED || r->actual == SANDBOX_PAUSED;
}

int egress_check(const struct fleet *f, enum sandbox_network network, const char *egress,
                 struct error *err)
{
	struct egress_ranges ignored;

	if (!egress || !*egress)
		return 0;
	if (sandbox_egress_denied(egress, &ignored, err) < 0)
		return -1;
	if (network != SANDBOX_NETWORK_BLOCKED)
		return provider_require(f->provider, PROVIDER_CAN_FILTER, err);
	if (sandbox_egress_denies_all(egress))
		return 0;
	(void)FAIL(err, ERROR_INVALID,
	           "a sandbox without a network reaches nothing, whatever its rules allow");
	error_hint(err, "make it with the internet, and deny \"" SANDBOX_EGRESS_ALL "\"");
	return -1;
}

static int tell_provider(struct act *a, const char *egress, struct error *err)
{
	struct fleet *f = a->fleet;

	if (!is_alive(&a->record) || a->record.network == SANDBOX_NETWORK_BLOCKED)
		return 0;
	return f->ops->filter(f->provider, a->record.id, egress, deadline_in(CALL_TIMEOUT_MS), err);
}

int egress_settle(struct act *a, struct error *err)
{
	if (!(a->fleet->ops->abilities & PROVIDER_CAN_FILTER))
		return 0;
	return tell_provider(a, a->record.egress, err);
}

static void tell_one(struct fleet *f, const struct sandbox_record *r, UNUSED void *context)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(act_end) struct act act = {0};
	struct error err = {0};

	if (!*r->egress || !is_alive(r))
		return;
	if ((act_begin(f, &arena, r->id, deadline_in(CALL_TIMEOUT_MS), &act, &err) == 0 &&
	     egress_settle(&act, &err) == 0) ||
	    err.code == ERROR_NOT_FOUND)
		return;
	/* It may be open meanwhile. */
	atomic_store(&f->wants_rules, true);
	log_warning("rules of a sandbox are told again at the next round", TEXT("sandbox", r->id),
	            FAILURE(&err));
}

void egress_tell_again(struct fleet *f)
{
	struct error err = {0};

	if (!atomic_exchange(&f->wants_rules, false))
		return;
	if (each_sandbox(f, tell_one, NULL, &err) == 0)
		return;
	atomic_store(&f->wants_rules, true);
	log_warning("rules of sandboxes are told again at the next round", FAILURE(&err));
}

static int check_change(const struct act *a, const char *egress, struct error *err)
{
	const struct sandbox_record *r = &a->record;

	if (r->actual == SANDBOX_DELETING || r->actual == SANDBOX_FAILED)
		return refuse_state(r, "given rules", err);
	if (r->network == SANDBOX_NETWORK_BLOCKED && !*egress)
		return 0;
	return egress_check(a->fleet, r->network, egress, err);
}

int fleet_set_egress(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                     const char *egress, struct sandbox_record *ret, struct error *err)
{
	AUTO(act_end) struct act act = {0};
	struct sandbox_egress_change change = {.egress = egress};
	struct error second = {0};

	if (find_and_act(fleet, a, ref, &act, err) < 0 || check_change(&act, egress, err) < 0)
		return -1;
	change.id = act.record.id;
	if (strcmp(egress, act.record.egress) != 0) {
		const char *before = act.record.egress;

		if (tell_provider(&act, egress, err) < 0)
			return FAIL_CONTEXT(err, "rules of sandbox '%s'", act.record.name);
		fault_point("api", "egress-told");
		if (store_sandbox_set_egress(fleet->store, a, &change, &act.record, err) < 0) {
			if (tell_provider(&act, before, &second) < 0)
				log_warning("rules that were not kept are in force",
				            TEXT("sandbox", act.record.id), FAILURE(&second));
			return -1;
		}
		cache_update(&fleet->cache, act.slot, &act.record);
	}
	*ret = act.record;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Running sandboxes lose their network while a quota of sent bytes is used up. Each server does it
 * for its own sandboxes, from the sums in the store. */
#include "fleet/sandbox/egress_cuts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/id.h"
#include "base/map.h"
#include "fleet/core/cache.h"
#include "fleet/core/operation.h"
#include "fleet/sandbox/egress.h"
#include "fleet/usage/meters_state.h"
#include "provider/memory.h"
#include "provider/provider.h"
#include "sandbox/egress.h"
#include "store/quotas.h"
#include "store/sandbox_record.h"
#include "store/sandboxes.h"

#define PAGE_MAX 500
/* So long a sandbox may be busy before its network is cut beside the operation that holds it. */
#define BUSY_MS 50

/* Sandboxes whose network was cut beside an operation, which may tell the provider other rules once
 * more. They are told again in each round, until a round gets its turn. */
struct egress_cuts {
	struct map unsettled;
};

struct spent_quota {
	const struct quota_record *quota;
	char cut[SANDBOX_EGRESS_CUT_MAX + 1];
};
struct cuts_round {
	struct fleet *fleet;
	struct arena arena; /* of the quotas */
	struct spent_quota *spent;
	size_t spent_count;
	struct map unsettled; /* for the next round */
	uint64_t cut_count;   /* sandboxes without a network at the end of the round */
};

static int add_if_spent(struct cuts_round *round, const struct quota_record *quota, int64_t now,
                        struct error *err)
{
	const struct quota_subject subject = {quota->scope, quota->subject};
	struct spent_quota *spent = &round->spent[round->spent_count];
	int64_t bytes;

	/* A newer server may know more scopes. */
	if (quota_scope_find(quota->scope) == QUOTA_SCOPE_COUNT)
		return 0;
	if (store_quota_egress(round->fleet->store, &subject, quota_day(now), &bytes, err) < 0)
		return -1;
	if (quota_egress_mb(bytes) < quota->value)
		return 0;
	spent->quota = quota;
	egress_cut_format(spent->cut,
	                  &(struct egress_quota){quota->scope, quota->subject, quota->value,
	                                         quota_day(now) + QUOTA_DAY_MS});
	round->spent_count++;
	return 0;
}

static int find_spent(struct cuts_round *round, int64_t now, struct error *err)
{
	struct quota_list list;

	if (store_quota_list_named(round->fleet->store, &round->arena, QUOTA_EGRESS_MB_PER_DAY,
	                           &list, err) < 0)
		return -1;
	round->spent = ARENA_ARRAY(&round->arena, struct spent_quota, list.count + 1);
	for (size_t i = 0; i < list.count; i++)
		if (add_if_spent(round, &list.items[i], now, err) < 0)
			return -1;
	return 0;
}

static bool quota_is_of(const struct quota_record *quota, const struct egress_cut_record *r)
{
	const char *const subjects[QUOTA_SCOPE_COUNT] = {
	        [QUOTA_PROJECT] = r->project_id,
	        [QUOTA_KEY] = r->key_id,
	        [QUOTA_ORGANIZATION] = r->organization_id,
	};

	return strcmp(quota->subject, subjects[quota_scope_find(quota->scope)]) == 0;
}

/* "" = it has a network. */
static const char *wanted_cut(const struct cuts_round *round, const struct egress_cut_record *r)
{
	for (size_t i = 0; i < round->spent_count; i++)
		if (quota_is_of(round->spent[i].quota, r))
			return round->spent[i].cut;
	return "";
}

/* It has no link until it is resumed. */
static bool is_on_disk(const struct operation *op)
{
	return op->ops->memory && op->ops->memory->is_kept(op->provider, op->record.id);
}

/* Returns 1 when the sandbox's network is as wanted. */
static int change_cut(struct operation *op, const char *cut, struct error *err)
{
	const struct sandbox_egress_cut change = {op->record.id, cut};
	bool is_recorded = strcmp(op->record.egress_cut, cut) == 0;

	if (!sandbox_is_alive(&op->record))
		return 0;
	op->record.egress_cut = cut;
	if (!is_on_disk(op) && egress_reconcile(op, err) < 0)
		return FAIL_CONTEXT(err, "rules of sandbox '%s'", op->record.name);
	fault_point("api", "egress-cut-told");
	if (is_recorded)
		return 1;
	/* The next round does it again when this fails: the row differs from what is wanted. */
	if (store_sandbox_set_egress_cut(op->fleet->store, op->arena, &change, &op->record, err) <
	    0)
		return -1;
	cache_update(op->fleet->cache, op->entry, &op->record);
	return 1;
}

static bool can_cut(struct fleet *f, const char *id)
{
	struct error ignored = {0};
	struct provider *p;

	return sandbox_provider_find(f, id, &p, &ignored) == 0 &&
	       provider_ops_of(p)->abilities & PROVIDER_CAN_CUT;
}

/* Waits for no operation: a caller could keep the sandbox busy for as long as it likes. The row
 * comes first, so that operations that begin now tell the provider of the cut, too. Returns 1 when
 * the row is as wanted. */
static int force_cut(struct cuts_round *round, const char *id, const char *cut, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct fleet *f = round->fleet;
	struct operation op = {.fleet = f, .arena = &arena};
	const struct sandbox_egress_cut change = {id, cut};

	if (store_sandbox_find(f->store, &arena, NULL, id, &op.record, err) < 0 ||
	    sandbox_provider_find(f, id, &op.provider, err) < 0)
		return -1;
	op.ops = provider_ops_of(op.provider);
	if (!sandbox_is_alive(&op.record))
		return 0;
	(void)map_put(&round->unsettled, id, f);
	if (strcmp(op.record.egress_cut, cut) != 0 &&
	    store_sandbox_set_egress_cut(f->store, &arena, &change, &op.record, err) < 0)
		return -1;
	fault_point("api", "egress-cut-recorded");
	if (!is_on_disk(&op) && egress_reconcile(&op, err) < 0)
		return FAIL_CONTEXT(err, "rules of sandbox '%s'", op.record.name);
	return 1;
}

static bool apply_cut(struct cuts_round *round, const char *id, const char *cut)
{
	struct fleet *f = round->fleet;
	AUTO(arena_done) struct arena arena = {0};
	AUTO(operation_end) struct operation op = {0};
	struct error err = {0};
	int result;

	result = operation_begin(f, &arena, id, deadline_after(BUSY_MS), &op, &err);
	if (result == 0) {
		result = change_cut(&op, cut, &err);
	} else if (err.code == ERROR_TIMEOUT) {
		error_clear(&err);
		result = *cut ? force_cut(round, id, cut, &err) : 0;
	}
	if (result < 0)
		log_warning("a quota's change of a network waits for the next round",
		            TEXT("sandbox", id), FAILURE(&err));
	return result > 0;
}

static void visit_sandbox(struct cuts_round *round, const struct egress_cut_record *r)
{
	const char *wanted = wanted_cut(round, r);
	bool is_wanted = strcmp(wanted, r->cut) == 0;

	if ((!is_wanted || map_find(&round->fleet->cuts->unsettled, r->id)) &&
	    can_cut(round->fleet, r->id))
		is_wanted = apply_cut(round, r->id, wanted);

	if (is_wanted ? *wanted : *r->cut)
		round->cut_count++;
}

static int visit_sandboxes(struct cuts_round *round, struct error *err)
{
	char after[ID_SIZE + 1] = "";
	const struct egress_cut_page page = {.node = round->fleet->node,
	                                     .after = after,
	                                     .cut_only = round->spent_count == 0,
	                                     .limit = PAGE_MAX};
	struct egress_cut_list list;

	do {
		AUTO(arena_done) struct arena arena = {0};

		if (store_egress_cut_list(round->fleet->store, &arena, &page, &list, err) < 0)
			return -1;
		for (size_t i = 0; i < list.count; i++)
			visit_sandbox(round, &list.items[i]);
		if (list.count > 0)
			memcpy(after, list.items[list.count - 1].id,
			       strnlen(list.items[list.count - 1].id, ID_SIZE) + 1);
	} while (list.count == PAGE_MAX);
	return 0;
}

void egress_cuts_free(struct egress_cuts *cuts)
{
	if (cuts)
		map_done(&cuts->unsettled);
	free(cuts);
}

/* What a round that was cut short has not come to stays unsettled. */
static void end_round(struct cuts_round *round, bool is_whole)
{
	struct egress_cuts *cuts = round->fleet->cuts;
	size_t at = 0;
	const char *id;

	if (is_whole) {
		atomic_store(&round->fleet->meters->cut_count, round->cut_count);
		map_done(&cuts->unsettled);
		cuts->unsettled = round->unsettled;
	} else {
		while (map_next(&round->unsettled, &at, &id))
			(void)map_put(&cuts->unsettled, id, cuts);
		map_done(&round->unsettled);
	}
	arena_done(&round->arena);
}

int egress_cuts_update(struct fleet *f, int64_t now, struct error *err)
{
	struct cuts_round round = {.fleet = f};
	int result;

	if (!f->cuts)
		f->cuts = memory_new(sizeof(*f->cuts));
	result = find_spent(&round, now, err);
	if (result == 0)
		result = visit_sandboxes(&round, err);
	end_round(&round, result == 0);
	return result < 0 ? FAIL_CONTEXT(err, "quotas of sent bytes") : 0;
}

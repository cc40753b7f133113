/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/sandbox/egress.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "fleet/core/cache.h"
#include "fleet/core/operation.h"
#include "fleet/core/project_cache.h"
#include "fleet/core/sandboxes.h"
#include "fleet/core/soon.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/source.h"
#include "provider/provider.h"
#include "sandbox/decision.h"
#include "sandbox/egress.h"
#include "store/projects.h"
#include "store/sandboxes.h"

/* Ids and addresses of PROJECT_SOURCES_MAX projects. */
#define SOURCES_TEXT_MAX (PROJECT_SOURCES_MAX * 128)

/* Under a quota that is used up, whatever the rules are. */
static const char *rules_under_cut(const struct operation *op, const char *rules)
{
	return sandbox_egress_under(op->arena, rules, op->record.egress_cut);
}

static int set_provider_rules(struct operation *op, const char *egress, struct error *err)
{
	if (!sandbox_is_alive(&op->record) || op->record.network == SANDBOX_NETWORK_BLOCKED)
		return 0;
	/* Another server of the store may have changed the project. */
	project_forget(op->fleet, op->record.project_id);
	return op->ops->filter(op->provider, op->record.id,
	                       rules_under_cut(op, source_add(op, egress)),
	                       deadline_after(CALL_TIMEOUT_MS), err);
}

int egress_predict(struct fleet *f, struct arena *a, const struct sandbox_record *r,
                   const struct egress_target *target, struct network_decision *ret,
                   struct error *err)
{
	struct operation op = {.fleet = f, .arena = a, .record = *r};
	const char *source = "", *rules = r->egress;
	struct error ignored = {0};

	if (sandbox_provider_find(f, r->id, &op.provider, &ignored) == 0) {
		op.ops = provider_ops_of(op.provider);
		rules = source_find(&op, &source, &ignored) == 0
		                ? sandbox_egress_leave_by(a, source, r->egress)
		                : "-" SANDBOX_EGRESS_ALL;
	}
	if (decision_predict(rules_under_cut(&op, rules), target->host, target->port, ret, err) < 0)
		return -1;
	if (ret->verdict == DECISION_DENIED || !sandbox_is_local(f, r) ||
	    !source_is_missing(source))
		return 0;
	ret->verdict = DECISION_DENIED;
	ret->code = DECISION_SOURCE_ADDRESS;
	return 0;
}

int egress_reconcile(struct operation *op, struct error *err)
{
	if (!(op->ops->abilities & PROVIDER_CAN_FILTER))
		return 0;
	return set_provider_rules(op, op->record.egress, err);
}

int egress_refuse_cut(const struct operation *op, const char *what, struct error *err)
{
	AUTO(buf_done) struct buf why = BUF(512);

	if (!*op->record.egress_cut)
		return 0;
	egress_cut_describe(&why, span_of(op->record.egress_cut));
	(void)FAIL(err, ERROR_LIMIT, "sandbox '%s' cannot be %s: %s", op->record.name, what,
	           buf_text(&why));
	return FAIL_HINT(err, "try again then, or ask an administrator for a higher quota");
}

/* A project that cannot be read counts: its sandboxes get the rules that refuse all. */
static bool has_rules(struct fleet *f, struct arena *a, const struct sandbox_record *r)
{
	struct project_record project;
	struct error ignored = {0};

	return *r->egress || *r->egress_cut ||
	       project_find(f, a, r->project_id, &project, &ignored) < 0 || *project.source_address;
}

/* The next round tells the rules again: of all sandboxes, or of those that have some. */
static void want_rules(struct fleet *f, bool of_all)
{
	if (of_all)
		atomic_store(&f->wants_all_rules, true);
	atomic_store(&f->wants_rules, true);
}

static void repeat_rules(struct fleet *f, const struct sandbox_record *r, void *context)
{
	const bool *is_of_all = context;
	AUTO(arena_done) struct arena arena = {0};
	AUTO(operation_end) struct operation op = {0};
	struct error err = {0};

	if (!sandbox_is_alive(r) || (!*is_of_all && !has_rules(f, &arena, r)))
		return;
	if ((operation_begin(f, &arena, r->id, deadline_after(CALL_TIMEOUT_MS), &op, &err) == 0 &&
	     egress_reconcile(&op, &err) == 0) ||
	    err.code == ERROR_NOT_FOUND)
		return;
	/* The sandbox may be unfiltered meanwhile. */
	want_rules(f, *is_of_all);
	log_warning("rules of a sandbox are told again at the next round", TEXT("sandbox", r->id),
	            FAILURE(&err));
}

void egress_repeat_rules(struct fleet *f)
{
	struct error err = {0};
	bool is_of_all;

	if (!atomic_exchange(&f->wants_rules, false))
		return;
	is_of_all = atomic_exchange(&f->wants_all_rules, false);
	if (fleet_each_sandbox(f, repeat_rules, &is_of_all, &err) == 0)
		return;
	want_rules(f, is_of_all);
	log_warning("rules of sandboxes are told again at the next round", FAILURE(&err));
}

static void format_sources(struct buf *out, const struct project_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		buf_addf(out, "%s=%s\n", list->items[i].id, list->items[i].source_address);
}

void egress_find_sources(struct fleet *f)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf text = BUF(SOURCES_TEXT_MAX);
	struct project_list list;
	struct error err = {0};

	if (store_project_list_sources(f->store, &arena, &list, &err) < 0) {
		log_warning("changes of source addresses are looked for at the next round",
		            FAILURE(&err));
		return;
	}
	format_sources(&text, &list);
	if (strcmp(buf_text(&text), f->sources ? f->sources : "") == 0)
		return;
	free(f->sources);
	f->sources = memory_text(buf_text(&text));
	project_forget_all(f);
	want_rules(f, true);
}

void egress_repeat_all(struct fleet *f)
{
	want_rules(f, true);
	fleet_run_soon(f, egress_repeat_rules);
}

static int check_change(const struct operation *op, const char *egress, struct error *err)
{
	const struct sandbox_record *r = &op->record;

	if (r->actual == SANDBOX_DELETING || r->actual == SANDBOX_FAILED)
		return refuse_state(r, "given rules", err);
	if (r->network == SANDBOX_NETWORK_BLOCKED && !*egress)
		return 0;
	return egress_check(op->provider, r->network, egress, err);
}

static int replace_rules(struct operation *op, const char *egress, const char *rules_json,
                         struct error *err)
{
	const struct sandbox_egress_change change = {
	        .id = op->record.id, .egress = egress, .rules_json = rules_json};
	const char *before = op->record.egress, *cut = op->record.egress_cut;
	struct error second = {0};

	if (check_change(op, egress, err) < 0)
		return -1;
	if (strcmp(egress, before) == 0 && strcmp(rules_json, op->record.rules_json) == 0)
		return 0;
	if (set_provider_rules(op, egress, err) < 0)
		return FAIL_CONTEXT(err, "rules of sandbox '%s'", op->record.name);
	fault_point("api", "egress-told");
	if (store_sandbox_set_egress(op->fleet->store, op->arena, &change, &op->record, err) < 0) {
		if (set_provider_rules(op, before, &second) < 0)
			log_warning("rules that were not kept are in force",
			            TEXT("sandbox", change.id), FAILURE(&second));
		return -1;
	}
	cache_update(op->fleet->cache, op->entry, &op->record);
	/* A quota has cut the network meanwhile; it does not wait for an operation. */
	return strcmp(cut, op->record.egress_cut) == 0 ? 0 : egress_reconcile(op, err);
}

int fleet_set_egress(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                     const char *egress, struct sandbox_record *ret, struct error *err)
{
	AUTO(operation_end) struct operation op = {0};

	if (operation_find_and_begin(fleet, a, ref, &op, err) < 0 ||
	    sandbox_egress_keep_marks(a, egress, op.record.egress, &egress, err) < 0 ||
	    replace_rules(&op, egress, op.record.rules_json, err) < 0)
		return -1;
	*ret = op.record;
	return 0;
}

int fleet_set_decrypted(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                        const char *const *hosts, struct sandbox_record *ret, struct error *err)
{
	AUTO(operation_end) struct operation op = {0};
	const char *egress;

	if (operation_find_and_begin(fleet, a, ref, &op, err) < 0 ||
	    sandbox_egress_mark(a, op.record.egress, hosts, &egress, err) < 0 ||
	    replace_rules(&op, egress, op.record.rules_json, err) < 0)
		return -1;
	*ret = op.record;
	return 0;
}

int fleet_allow_egress(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                       const char *entry, struct sandbox_record *ret, struct error *err)
{
	AUTO(operation_end) struct operation op = {0};
	const char *egress;

	if (operation_find_and_begin(fleet, a, ref, &op, err) < 0 ||
	    sandbox_egress_add(a, op.record.egress, entry, &egress, err) < 0 ||
	    replace_rules(&op, egress, op.record.rules_json, err) < 0)
		return -1;
	*ret = op.record;
	return 0;
}

int fleet_set_rules(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                    const struct fleet_rules *rules, struct sandbox_record *ret, struct error *err)
{
	AUTO(operation_end) struct operation op = {0};

	if (operation_find_and_begin(fleet, a, ref, &op, err) < 0 ||
	    replace_rules(&op, rules->egress, rules->rules_json, err) < 0)
		return -1;
	*ret = op.record;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of a caller: checked against credentials and network rules, and put into a sandbox. */
#include <string.h>

#include "credential/rule.h"
#include "fleet/core/sandboxes.h"
#include "fleet/sandbox/egress.h"
#include "grant/state.h"
#include "sandbox/credential.h"
#include "sandbox/egress.h"
#include "store/credentials.h"
#include "store/sandbox_record.h"

struct checking {
	struct grants *g;
	struct arena *arena;
	const struct grant_wish *wish;
	const struct credential_rule *rule;
	size_t kept; /* rules at the begin that were checked before */
	struct error *err;
};

static bool has_word(const char *words, struct span word)
{
	struct span rest = span_of(words), one;

	while (rest.size > 0) {
		(void)span_split(&rest, ' ', &one);
		if (span_equals(one, word))
			return true;
	}
	return false;
}

/* The sandbox uses its own user's credential where that user and the project have one of the same
 * name. Another caller must not direct it. */
static int refuse_another(const struct checking *at, const struct credential_record *checked)
{
	const char *owner = at->wish->sandbox_owner;
	const struct credential_ref ref = {at->wish->project_id, owner ? owner : "", checked->name};
	struct credential_record used;

	if (!owner || strcmp(owner, at->wish->owner_id) == 0 || strchr(checked->name, '_'))
		return 0;
	if (store_credential_find(at->g->options.store, at->arena, &ref, &used, at->err) < 0)
		return -1;
	if (strcmp(used.id, checked->id) == 0)
		return 0;
	return FAIL(at->err, ERROR_FORBIDDEN,
	            "rule '%s': the sandbox's user has a credential '%s', which only that user may "
	            "name",
	            at->rule->id, checked->name);
}

static int check_reference(void *context, const struct credential_reference *reference)
{
	const struct checking *at = context;
	const char *name = arena_copy(at->arena, reference->name);
	const struct grant_name wanted = {at->wish->project_id, at->wish->owner_id, name,
	                                  at->rule->host};
	struct credential_record r;

	if (grant_find(at->g, at->arena, &wanted, &r, at->err) < 0)
		return FAIL_CONTEXT(at->err, "rule '%s'", at->rule->id);
	if (refuse_another(at, &r) < 0)
		return -1;
	if (!has_word(r.field_names, reference->field)) {
		(void)FAIL(at->err, ERROR_INVALID,
		           "rule '%s': the credential '%s' has no field '%.*s'", at->rule->id, name,
		           (int)reference->field.size, reference->field.data);
		return FAIL_HINT(at->err, "its fields: %s", r.field_names);
	}
	if (credential_hosts_cover(r.hosts, span_of(at->rule->host)))
		return 0;
	(void)FAIL(at->err, ERROR_INVALID,
	           "rule '%s': the credential '%s' is not for the host '%s'", at->rule->id, name,
	           at->rule->host);
	return FAIL_HINT(at->err, "its hosts: %s", r.hosts);
}

/* The gateway for names sees only what the network rules allow by name. */
static int check_reach(const struct checking *at, const struct sandbox_egress *lists)
{
	for (size_t i = 0; lists->allow && lists->allow[i]; i++)
		if (egress_name_is_valid(span_of(lists->allow[i])) &&
		    credential_host_covers(lists->allow[i], at->rule->host))
			return 0;
	(void)FAIL(at->err, ERROR_INVALID,
	           "rule '%s': the network rules do not allow the name '%s'", at->rule->id,
	           at->rule->host);
	return FAIL_HINT(at->err,
	                 "allow \"%s\" and deny \"" SANDBOX_EGRESS_ALL
	                 "\": a rule itself allows nothing",
	                 at->rule->host);
}

static const char **hosts_of(struct arena *a, const struct credential_rules *rules)
{
	const char **hosts = ARENA_ARRAY(a, const char *, rules->rules.count + 1);

	for (size_t i = 0; i < rules->rules.count; i++) {
		const struct credential_rule *rule = credential_rule_at(rules, i);

		hosts[i] = rule->scheme == CREDENTIAL_HTTP
		                   ? arena_format(a, "%s" SANDBOX_EGRESS_PLAIN, rule->host)
		                   : rule->host;
	}
	hosts[rules->rules.count] = NULL;
	return hosts;
}

static int check_rules(struct checking *at, struct credential_rules *rules)
{
	struct sandbox_egress lists;

	if (sandbox_egress_parse(at->arena, at->wish->egress, &lists, at->err) < 0 ||
	    credential_rules_check(at->arena, rules, NULL, at->err) < 0)
		return -1;
	for (size_t i = at->kept; i < rules->rules.count; i++) {
		at->rule = credential_rule_at(rules, i);
		if (check_reach(at, &lists) < 0 ||
		    credential_rule_references(at->rule, check_reference, at) != 0)
			return -1;
	}
	return 0;
}

static int check_wish(struct checking *at, const char **ret_rules, const char **ret_egress)
{
	AUTO(buf_done) struct buf text = BUF(CREDENTIAL_RULES_TEXT_MAX);
	const struct grant_wish *wish = at->wish;
	struct error *err = at->err;
	struct arena *a = at->arena;
	const char *egress;

	if (!wish->rules || wish->rules->rules.count == 0) {
		*ret_rules = "";
		return sandbox_egress_mark(a, wish->egress, NULL, ret_egress, err);
	}
	if (!at->g)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "this server has no credential proxy; rules would do nothing");
	if (check_rules(at, wish->rules) < 0 ||
	    sandbox_egress_mark(a, wish->egress, hosts_of(a, wish->rules), &egress, err) < 0)
		return -1;
	credential_rules_write(&text, wish->rules);
	if (text.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "rules: at most %d bytes of JSON",
		            CREDENTIAL_RULES_TEXT_MAX);
	*ret_rules = arena_copy(a, buf_span(&text));
	*ret_egress = egress;
	return 0;
}

int grant_check(struct grants *g, struct arena *a, const struct grant_wish *wish,
                const char **ret_rules, const char **ret_egress, struct error *err)
{
	struct checking at = {.g = g, .arena = a, .wish = wish, .err = err};

	return check_wish(&at, ret_rules, ret_egress);
}

/* Puts the sandbox's rules of other sources before those of the wish. */
static int keep_others(struct checking *at, const char *rules_json, const char *source,
                       struct grant_wish *wish)
{
	struct credential_rules before, *all = ARENA_NEW(at->arena, struct credential_rules);
	struct credential_rule *items;
	size_t count = 0;

	if (!source || !*rules_json)
		return 0;
	if (credential_rules_parse(at->arena, span_of(rules_json), &before, NULL, at->err) < 0)
		return FAIL_CONTEXT(at->err, "the rules of the sandbox");
	items = ARENA_ARRAY(at->arena, struct credential_rule,
	                    before.rules.count + wish->rules->rules.count + 1);
	for (size_t i = 0; i < before.rules.count; i++) {
		const struct credential_rule *rule = credential_rule_at(&before, i);

		if (!rule->source || strcmp(rule->source, source) != 0)
			items[count++] = *rule;
	}
	at->kept = count;
	for (size_t i = 0; i < wish->rules->rules.count; i++)
		items[count++] = *credential_rule_at(wish->rules, i);
	all->rules = (struct json_list){items, count, true};
	wish->rules = all;
	return 0;
}

/* Where everything is allowed, the gateway sees no connection of itself. */
static int lead_kept(struct checking *at, struct grant_wish *wish)
{
	static const char *const everything[] = {SANDBOX_EGRESS_ALL, NULL};
	const char **hosts;
	struct sandbox_egress lists = {.deny = everything, .mode = EGRESS_WATCH};

	if (at->kept == 0 || *wish->egress)
		return 0;
	hosts = ARENA_ARRAY(at->arena, const char *, at->kept + 1);
	for (size_t i = 0; i < at->kept; i++)
		hosts[i] = credential_rule_at(wish->rules, i)->host;
	lists.allow = hosts;
	return sandbox_egress_format(at->arena, &lists, &wish->egress, at->err);
}

int grant_set(struct grants *g, struct arena *a, const struct fleet_ref *ref,
              const struct grant_change *change, struct sandbox_record *ret, struct error *err)
{
	struct grant_wish wish = {.owner_id = "", .egress = change->egress, .rules = change->rules};
	struct checking at = {.g = g, .arena = a, .wish = &wish, .err = err};
	struct fleet_rules both;
	struct sandbox_record r;

	if (!g)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "this server has no credential proxy; rules would do nothing");
	if (fleet_find(g->options.fleet, a, ref, &r, err) < 0)
		return -1;
	wish.project_id = r.project_id;
	wish.sandbox_owner = r.user_id;
	if (strcmp(change->caller, r.user_id) == 0)
		wish.owner_id = r.user_id;
	if (keep_others(&at, r.rules_json, change->source, &wish) < 0 ||
	    lead_kept(&at, &wish) < 0 || check_wish(&at, &both.rules_json, &both.egress) < 0)
		return -1;
	if (*both.rules_json && grant_add_variables(g, a, ref, &r, err) < 0)
		return -1;
	/* Until the proxy has the set, it refuses the connections that the gateway hands over. */
	if (fleet_set_rules(g->options.fleet, a, ref, &both, ret, err) < 0)
		return -1;
	return grants_refresh(g, err);
}

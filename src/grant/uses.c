/* SPDX-License-Identifier: Apache-2.0 */
/* When credentials were used last, and the events of first uses. */
#include <string.h>

#include "base/log.h"
#include "credential/rule.h"
#include "decision/decision.h"
#include "grant/state.h"
#include "sandbox/events.h"
#include "store/consents.h"
#include "store/credentials.h"
#include "store/events.h"
#include "store/sandboxes.h"
#include "store/snapshots.h"

#define TAKEN_MAX 256       /* in a round */
#define TOLD_EVERY_MS 60000 /* of one credential */
#define HOUR_MS (INT64_C(3600) * 1000)
#define SEEN_MAX 16    /* credentials of a rule; more may have two rows */
#define USED_MAX 10000 /* sandboxes times credentials */

struct touching {
	struct grants *g;
	struct arena *arena;
	const struct sandbox_record *sandbox;
	const struct credential_rule *rule;
	int64_t at;
	uint64_t requests;
	struct span seen[SEEN_MAX]; /* names that the rule has had */
	size_t seen_count;
};

/* The first use in a sandbox in an hour of the clock; after a restart of this server perhaps twice.
 */
static void tell_use(const struct touching *t, const struct credential_record *r)
{
	struct map *used = &t->g->used;
	const char *key = arena_format(t->arena, "%s %s", t->sandbox->id, r->id);
	void *hour = (void *)(uintptr_t)(t->at / HOUR_MS);
	const struct event_record event = {
	        .at = t->at,
	        .project_id = r->project_id,
	        .sandbox_id = t->sandbox->id,
	        .kind = event_kind_name(EVENT_CREDENTIAL_USED),
	        .text = r->owner_id[0] ? r->id : r->name,
	};
	struct error err = {0};

	if (map_find(used, key) == hour)
		return;
	if (used->count >= USED_MAX) {
		map_done(used);
		*used = (struct map){0};
	}
	(void)map_put(used, key, hour);
	if (store_event_add(t->g->options.store, &event, &err) < 0)
		log_warning("the use of a credential is not told", TEXT("credential", r->id),
		            FAILURE(&err));
}

/* A value that a request had is known by its rule alone. */
static void audit_use(struct touching *t, const char *reference, const struct credential_record *r)
{
	bool is_secret = strncmp(reference, GRANT_SECRET, sizeof(GRANT_SECRET) - 1) == 0;

	grant_audit_use(t->g, t->arena,
	                &(struct grant_audit){
	                        .sandbox = t->sandbox,
	                        .kind = is_secret ? "secrets" : "credentials",
	                        .name = is_secret        ? reference + sizeof(GRANT_SECRET) - 1
	                                : !r             ? reference
	                                : r->owner_id[0] ? r->id
	                                                 : r->name,
	                        .rule = t->rule->id,
	                        .host = t->rule->host,
	                        .requests = t->requests,
	                });
}

static int touch_reference(void *context, const struct credential_reference *reference)
{
	struct touching *t = context;
	const struct grant_name name = {t->sandbox->project_id, t->sandbox->user_id,
	                                arena_copy(t->arena, reference->name), t->rule->host};
	struct credential_record r;
	struct error err = {0};

	/* Secrets of the vault and kept values have no such time. */
	if (strchr(name.text, '_') || grant_find(t->g, t->arena, &name, &r, &err) < 0) {
		audit_use(t, name.text, NULL);
		return 0;
	}
	audit_use(t, name.text, &r);
	tell_use(t, &r);
	if (r.last_used_at + TOLD_EVERY_MS > t->at)
		return 0;
	if (store_credential_touch(t->g->options.store, r.id, t->at, &err) < 0)
		log_warning("the last use of a credential is not noted", TEXT("credential", r.id),
		            FAILURE(&err));
	return 0;
}

/* Once for each credential, however often the rule names it. */
static int note_reference(void *context, const struct credential_reference *reference)
{
	struct touching *t = context;

	for (size_t i = 0; i < t->seen_count; i++)
		if (span_equals(t->seen[i], reference->name))
			return 0;
	if (t->seen_count < SEEN_MAX)
		t->seen[t->seen_count++] = reference->name;
	return touch_reference(t, reference);
}

/* A rule that was removed meanwhile has a row with its id alone. */
static void note_use(struct grants *g, struct arena *a, const struct sandbox_record *r,
                     const struct decision_use *use)
{
	struct credential_rules rules;
	struct error ignored = {0};
	const struct credential_rule lost = {.id = use->rule, .host = ""};
	struct touching t = {.g = g,
	                     .arena = a,
	                     .sandbox = r,
	                     .rule = &lost,
	                     .at = use->at,
	                     .requests = use->count};
	bool is_known = false;

	if (credential_rules_parse(a, span_of(r->rules_json), &rules, NULL, &ignored) < 0)
		rules.rules.count = 0;
	for (size_t i = 0; i < rules.rules.count; i++) {
		const struct credential_rule *rule = credential_rule_at(&rules, i);

		if (strcmp(rule->id, use->rule) != 0)
			continue;
		t.rule = rule;
		t.seen_count = 0;
		is_known = true;
		(void)credential_rule_references(rule, note_reference, &t);
	}
	if (!is_known)
		audit_use(&t, "", NULL);
}

static const struct sandbox_record *find_listed(const struct sandbox_list *list, const char *id)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].id, id) == 0)
			return &list->items[i];
	return NULL;
}

/* A sandbox may be deleted between a use and its note. */
static void note_some(struct grants *g, struct arena *a, const struct decision_use *uses,
                      size_t count)
{
	struct sandbox_list found;
	struct error err = {0};

	if (store_sandbox_list_with_rules(g->options.store, a, g->options.node, &found, &err) < 0)
		found.count = 0;
	for (size_t i = 0; i < count; i++) {
		const struct sandbox_record *r = find_listed(&found, uses[i].sandbox);
		struct sandbox_record ended;

		error_clear(&err);
		if (!r && store_sandbox_find_ended(g->options.store, a, NULL, uses[i].sandbox,
		                                   &ended, &err) == 0)
			r = &ended;
		if (r)
			note_use(g, a, r, &uses[i]);
		else
			log_warning("the use of a credential is not noted",
			            TEXT("sandbox", uses[i].sandbox), TEXT("rule", uses[i].rule),
			            FAILURE(&err));
	}
}

void grant_note_uses(struct grants *g)
{
	size_t count = g->options.decisions ? TAKEN_MAX : 0;

	while (count == TAKEN_MAX) {
		AUTO(arena_done) struct arena a = {0};
		struct decision_use *uses = ARENA_ARRAY(&a, struct decision_use, TAKEN_MAX);

		count = decision_take_uses(g->options.decisions, uses, TAKEN_MAX);
		if (count > 0)
			note_some(g, &a, uses, count);
	}
}

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

#define TAKEN_MAX 256       /* in a round */
#define TOLD_EVERY_MS 60000 /* of one credential */
#define HOUR_MS (INT64_C(3600) * 1000)
#define USED_MAX 10000 /* sandboxes times credentials */

struct touching {
	struct grants *g;
	struct arena *arena;
	const struct sandbox_record *sandbox;
	const struct credential_rule *rule;
	int64_t at;
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

static int touch_reference(void *context, const struct credential_reference *reference)
{
	struct touching *t = context;
	const struct grant_name name = {t->sandbox->project_id, t->sandbox->user_id,
	                                arena_copy(t->arena, reference->name), t->rule->host};
	struct credential_record r;
	struct error err = {0};

	/* Secrets of the vault and kept values have no such time. */
	if (strchr(name.text, '_') || grant_find(t->g, t->arena, &name, &r, &err) < 0)
		return 0;
	tell_use(t, &r);
	if (r.last_used_at + TOLD_EVERY_MS > t->at)
		return 0;
	if (store_credential_touch(t->g->options.store, r.id, t->at, &err) < 0)
		log_warning("the last use of a credential is not noted", TEXT("credential", r.id),
		            FAILURE(&err));
	return 0;
}

static void note_use(struct grants *g, struct arena *a, const struct sandbox_record *r,
                     const struct decision_use *use)
{
	struct credential_rules rules;
	struct error ignored = {0};
	struct touching t = {.g = g, .arena = a, .sandbox = r, .at = use->at};

	if (credential_rules_parse(a, span_of(r->rules_json), &rules, NULL, &ignored) < 0)
		return;
	for (size_t i = 0; i < rules.rules.count; i++) {
		t.rule = credential_rule_at(&rules, i);
		if (strcmp(t.rule->id, use->rule) == 0)
			(void)credential_rule_references(t.rule, touch_reference, &t);
	}
}

void grant_note_uses(struct grants *g)
{
	AUTO(arena_done) struct arena a = {0};
	struct decision_use *uses;
	struct sandbox_list found;
	struct error err = {0};
	size_t count;

	if (!g->options.decisions)
		return;
	uses = ARENA_ARRAY(&a, struct decision_use, TAKEN_MAX);
	count = decision_take_uses(g->options.decisions, uses, TAKEN_MAX);
	if (count == 0 ||
	    store_sandbox_list_with_rules(g->options.store, &a, g->options.node, &found, &err) < 0)
		return;
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < found.count; j++)
			if (strcmp(found.items[j].id, uses[i].sandbox) == 0)
				note_use(g, &a, &found.items[j], &uses[i]);
}

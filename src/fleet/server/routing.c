/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/server/routing.h"

#include "base/clock.h"
#include "fleet/core/fleet_state.h"
#include "fleet/lifecycle/rules.h"
#include "fleet/server/stored_providers.h"
#include "provider/set.h"
#include "store/providers.h"

int fleet_routing_get(struct fleet *fleet, struct arena *a, struct fleet_routing *ret,
                      struct error *err)
{
	const char *text = routing_rules_text(fleet->rules, a, &ret->is_stored);

	return config_routing_parse(a, text, &ret->rules, err);
}

static int check_rule_providers(struct fleet *f, struct arena *a, const struct config_rule *rule,
                                struct error *err)
{
	for (unsigned i = 0; i < rule->provider_count; i++) {
		const char *name = rule->providers[i];

		/* Another server may have a provider that this server cannot use. */
		if (provider_set_find(f->providers, name) || stored_provider_problem(f, a, name))
			continue;
		(void)FAIL(err, ERROR_INVALID, "rule '%s': providers: unknown '%s'", rule->name,
		           name);
		return FAIL_HINT(err, "'atoll provider ls' and GET /v1/providers list them");
	}
	return 0;
}

int fleet_routing_set(struct fleet *fleet, const char *rules, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct routing_record r = {.rules = rules ? rules : "",
	                           .is_set = rules != NULL,
	                           .updated_at = clock_unix_ms()};
	struct config_rules parsed;

	if (config_routing_parse(&arena, r.rules, &parsed, err) < 0)
		return -1;
	for (unsigned i = 0; i < parsed.count; i++)
		if (check_rule_providers(fleet, &arena, &parsed.items[i], err) < 0)
			return -1;
	if (store_routing_set(fleet->store, &r, err) < 0)
		return -1;
	return stored_providers_refresh(fleet, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/server/providers.h"

#include <string.h>

#include "base/clock.h"
#include "fleet/core/fleet_state.h"
#include "fleet/server/rounds.h"
#include "provider/set.h"
#include "sandbox/events.h"
#include "store/events.h"
#include "store/sandboxes.h"

#define CHECK_TIMEOUT_MS 30000

static void add_change_event(struct fleet *f, const struct provider_member *m,
                             const struct provider_health_report *now)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct event_record event = {
	        .at = clock_unix_ms(),
	        .project_id = "",
	        .sandbox_id = "",
	        .kind = event_kind_name(now->is_healthy ? EVENT_PROVIDER_RECOVERED
	                                                : EVENT_PROVIDER_UNHEALTHY),
	        .reason = "",
	        .text = now->is_healthy
	                        ? arena_format(&arena, "provider '%s' makes sandboxes again",
	                                       m->name)
	                        : arena_format(&arena, "provider '%s' makes no sandboxes: %s",
	                                       m->name, now->last_error),
	        .detail = "",
	};
	struct error err = {0};

	if (store_event_add(f->store, &event, &err) < 0)
		log_warning("an event is lost", TEXT("provider", m->name), FAILURE(&err));
}

void providers_tick(struct fleet *f)
{
	struct provider_health_report now;

	for (unsigned i = 0; i < provider_set_count(f->providers); i++) {
		const struct provider_member *m = provider_set_at(f->providers, i);

		if (provider_health_take_change(m->health, &now))
			add_change_event(f, m, &now);
	}
	/* The next sweep reconciles their sandboxes. */
	if (provider_set_retry(f->providers) > 0)
		f->swept_at = 0;
}

static int64_t count_of(const struct provider_tallies *tallies, const char *name)
{
	for (size_t i = 0; i < tallies->count; i++)
		if (strcmp(tallies->items[i].provider, name) == 0)
			return tallies->items[i].count;
	return 0;
}

int fleet_provider_list(struct fleet *fleet, struct arena *a, struct fleet_provider_list *ret,
                        struct error *err)
{
	struct provider_tallies tallies;
	struct fleet_provider *items;

	if (store_sandbox_tally(fleet->store, a, fleet->node, &tallies, err) < 0)
		return -1;
	ret->count = provider_set_count(fleet->providers);
	ret->items = items = ARENA_ARRAY(a, struct fleet_provider, ret->count);
	for (unsigned i = 0; i < ret->count; i++) {
		const struct provider_member *m = provider_set_at(fleet->providers, i);
		const struct provider_ops *ops = provider_member_ops(m);

		items[i] = (struct fleet_provider){
		        .name = m->name,
		        .kind = m->kind,
		        .isolation = ops->isolation,
		        .abilities = ops->abilities,
		        .is_open = provider_member_provider(m) != NULL,
		        .sandboxes = count_of(&tallies, m->name),
		        .sandboxes_max = m->sandboxes_max,
		        .health = provider_health_get(m->health),
		};
	}
	return 0;
}

static int run_check(const struct provider_member *m, struct error *err)
{
	const struct provider_ops *ops = provider_member_ops(m);
	struct provider *p = provider_member_provider(m);

	if (!p)
		return FAIL(err, ERROR_UNAVAILABLE, "provider '%s' does not answer", m->name);
	if (!ops->probe)
		return ops->health(p, err);
	return ops->probe(p, &(struct provider_probe){SANDBOX_NETWORK_BLOCKED, NULL},
	                  deadline_after(CHECK_TIMEOUT_MS), err);
}

int fleet_provider_check(struct fleet *fleet, const char *name, int64_t *ret_us, struct error *err)
{
	const struct provider_member *m = provider_set_find(fleet->providers, name);
	int64_t begun_ns = clock_monotonic_ns();
	int result;

	if (!m)
		return FAIL_MISSING(err, "provider", name);
	result = run_check(m, err);
	provider_health_note(m->health, result < 0 ? err : NULL);
	*ret_us = (clock_monotonic_ns() - begun_ns) / 1000;
	return result;
}

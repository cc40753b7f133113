/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/lifecycle/route.h"

#include <string.h>

#include "config/config.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/moves.h"
#include "fleet/lifecycle/resolved_create.h"
#include "provider/health.h"
#include "provider/isolation.h"
#include "sandbox/egress.h"
#include "store/sandboxes.h"

/* The time of one provider while another one may be tried after it. */
#define ATTEMPT_TIMEOUT_MS 20000
#define REASONS_MAX 2048

static const char *list_names(struct arena *a, const struct fleet *f)
{
	const char *names = "";

	for (unsigned i = 0; i < provider_set_count(f->providers); i++)
		names = arena_format(a, "%s%s%s", names, i > 0 ? ", " : "",
		                     provider_set_at(f->providers, i)->name);
	return names;
}

static int refuse_name(const struct fleet *f, const char *name, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};

	return FAIL(err, ERROR_INVALID, "provider: unknown '%.60s'; configured: %s", name,
	            list_names(&arena, f));
}

int provider_route_check(const struct fleet *f, const struct fleet_create *request,
                         struct error *err)
{
	if (request->provider && !provider_set_find(f->providers, request->provider))
		return refuse_name(f, request->provider, err);
	if (request->isolation && !isolation_is_known(request->isolation))
		return FAIL(err, ERROR_INVALID,
		            "isolation: unknown '%.60s'; levels: none, namespaces, gvisor, "
		            "microvm, remote",
		            request->isolation);
	return 0;
}

/* The needs of a request. */
struct routing {
	struct fleet *fleet;
	struct arena *arena;
	const struct fleet_create *request;
	unsigned abilities;
	bool needs_kept; /* files or volumes that the primary keeps */
	struct provider_tallies tallies;
	struct buf reasons;
	bool is_temporary; /* a provider is only down or full */
	bool has_network;
};

static void routing_done(struct routing *r)
{
	buf_done(&r->reasons);
}

static void find_needs(struct routing *r, const struct resolved_create *resolved,
                       enum sandbox_network network)
{
	const struct fleet_create *request = resolved->request;
	bool has_volumes =
	        request->mount_count > 0 || request->persistent_home || request->workspace;
	bool has_layer = resolved->snapshot || *resolved->template.snapshot_id ||
	                 (request->base && *request->base->layer);

	r->has_network = network != SANDBOX_NETWORK_BLOCKED;
	if (!r->has_network)
		r->abilities |= PROVIDER_CAN_BLOCK_NETWORK;
	else if (request->egress && *request->egress)
		r->abilities |= PROVIDER_CAN_FILTER;
	if (has_volumes)
		r->abilities |= PROVIDER_CAN_VOLUME;
	if (has_layer)
		r->abilities |= PROVIDER_CAN_SNAPSHOT;
	r->needs_kept = has_volumes || has_layer || request->base;
}

static int64_t count_sandboxes(const struct routing *r, const char *name)
{
	for (size_t i = 0; i < r->tallies.count; i++)
		if (strcmp(r->tallies.items[i].provider, name) == 0)
			return r->tallies.items[i].count;
	return 0;
}

static const char *find_missing_ability(unsigned abilities, unsigned wanted)
{
	unsigned missing = wanted & ~abilities;

	return missing ? provider_ability_name((enum provider_ability)(missing & -missing)) : NULL;
}

/* An operator allows each provider that protects less than the primary, and a request names it. */
static bool may_be_weaker(const struct routing *r, const struct provider_member *m)
{
	return m->allows_weaker && (r->request->isolation || r->request->provider);
}

/* NULL: the provider protects as the request and the primary do. */
static const char *find_weakness(const struct routing *r, const struct provider_member *m)
{
	const struct provider_ops *ops = provider_member_ops(m), *primary = r->fleet->ops;
	const char *asked = r->request->isolation;

	if (!isolation_suffices(ops->isolation, asked))
		return arena_format(r->arena, "its isolation is %s, less than %s", ops->isolation,
		                    asked);
	if (r->has_network && ops->is_without_network)
		return "its sandboxes have no network: ask for none with 'internet: false'";
	if (may_be_weaker(r, m))
		return NULL;
	if (!isolation_suffices(ops->isolation, primary->isolation))
		return arena_format(
		        r->arena, "its isolation is %s, less than %s, and its allow_weaker is off",
		        ops->isolation, primary->isolation);
	/* The primary keeps every sandbox from private addresses, with rules or without. */
	return r->has_network && (primary->abilities & ~ops->abilities & PROVIDER_CAN_FILTER)
	               ? "it cannot keep its sandboxes from private addresses, and its "
	                 "allow_weaker is off"
	               : NULL;
}

/* NULL: the provider may make the sandbox. */
static const char *find_reason(struct routing *r, const struct provider_member *m)
{
	const struct provider_ops *ops = provider_member_ops(m);
	const char *missing = find_missing_ability(ops->abilities, r->abilities);
	const char *weakness = find_weakness(r, m);
	struct provider *p = provider_member_provider(m);

	if (weakness)
		return weakness;
	if (missing)
		return arena_format(r->arena, "it cannot do this: %s", missing);
	if (r->needs_kept && (!p || !provider_shares_place(p, r->fleet->provider)))
		return arena_format(r->arena, "it has none of the files that provider '%s' keeps",
		                    r->fleet->primary);
	r->is_temporary = true;
	if (!p)
		return "it does not answer";
	if (m->sandboxes_max > 0 && count_sandboxes(r, m->name) >= m->sandboxes_max)
		return arena_format(r->arena, "it has %lld sandboxes, its limit",
		                    (long long)m->sandboxes_max);
	return NULL;
}

static bool has_limits(const struct fleet *f)
{
	for (unsigned i = 0; i < provider_set_count(f->providers); i++)
		if (provider_set_at(f->providers, i)->sandboxes_max > 0)
			return true;
	return false;
}

static void add_reason(struct routing *r, const struct provider_member *m, const char *reason)
{
	buf_addf(&r->reasons, "%s%s: %s", r->reasons.size > 0 ? "; " : "", m->name, reason);
}

/* First the providers that are healthy, then the others. */
static void add_members(struct routing *r, bool resting, struct provider_route *route)
{
	const struct provider_set *set = r->fleet->providers;

	for (unsigned i = 0; i < provider_set_count(set); i++) {
		const struct provider_member *m = provider_set_at(set, i);
		const char *reason;

		if (provider_health_backs_off(m->health) != resting ||
		    (r->request->provider && strcmp(r->request->provider, m->name) != 0))
			continue;
		reason = find_reason(r, m);
		if (!reason)
			route->members[route->count++] = m;
		else
			add_reason(r, m, reason);
	}
}

static int refuse_request(const struct routing *r, struct error *err)
{
	(void)FAIL(err, r->is_temporary ? ERROR_UNAVAILABLE : ERROR_UNSUPPORTED,
	           "no provider can make this sandbox: %s", buf_text(&r->reasons));
	return FAIL_HINT(err, "request less, or name another provider: 'atoll provider ls' and "
	                      "GET /v1/providers list what each can do");
}

int fleet_providers_check(struct fleet *f, const char *provider, const char *isolation,
                          struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct fleet_create request = {.provider = provider, .isolation = isolation};
	AUTO(routing_done)
	struct routing r = {
	        .fleet = f, .arena = &arena, .request = &request, .reasons = BUF(REASONS_MAX)};

	if (provider_route_check(f, &request, err) < 0)
		return FAIL_HINT(err, "'atoll provider ls' lists the providers of this server");
	for (unsigned i = 0; i < provider_set_count(f->providers); i++) {
		const struct provider_member *m = provider_set_at(f->providers, i);
		const char *reason;

		if (provider && strcmp(provider, m->name) != 0)
			continue;
		reason = find_weakness(&r, m);
		if (!reason)
			return 0;
		add_reason(&r, m, reason);
	}
	return refuse_request(&r, err);
}

int provider_route_find(struct fleet *f, struct arena *a, const struct resolved_create *resolved,
                        enum sandbox_network network, struct provider_route *ret, struct error *err)
{
	AUTO(routing_done)
	struct routing r = {
	        .fleet = f, .arena = a, .request = resolved->request, .reasons = BUF(REASONS_MAX)};
	struct provider_route route = {.count = 0};

	if (provider_route_check(f, resolved->request, err) < 0)
		return -1;
	/* The checks of the request say what an only provider cannot do. */
	if (provider_set_count(f->providers) > 1)
		find_needs(&r, resolved, network);
	if (has_limits(f) && store_sandbox_tally(f->store, a, f->node, &r.tallies, err) < 0)
		return -1;
	add_members(&r, false, &route);
	add_members(&r, true, &route);
	if (route.count == 0)
		return refuse_request(&r, err);
	*ret = route;
	return 0;
}

struct provider *provider_route_current(const struct provider_route *route)
{
	return provider_member_provider(route->members[route->at]);
}

static int create_once(struct operation *op, const struct template_record *t, int64_t deadline,
                       struct provider_created *ret, struct error *err)
{
	if (op->creation)
		return op->ops->create_end(op->provider, TAKE(op->creation), deadline, ret, err);
	op->spec = lifecycle_spec(op, t);
	return op->ops->create(op->provider, &op->spec, deadline, ret, err);
}

static void note_result(const struct provider_member *m, int result, int64_t begun_us,
                        const struct error *err)
{
	if (result == 0)
		provider_health_created(m->health, clock_monotonic_ns() / 1000 - begun_us);
	else if (provider_failed(err))
		provider_health_create_failed(m->health, err);
}

/* The provider that failed leaves nothing behind; the next sweep removes what it could not. */
static int take_next_provider(struct operation *op, struct error *err)
{
	struct provider_route *route = op->route;
	struct provider *p;

	do {
		if (++route->at >= route->count)
			return FAIL(err, ERROR_UNAVAILABLE, "no other provider is left");
		p = provider_route_current(route);
	} while (!p);
	if (store_sandbox_set_provider(op->fleet->store, op->arena, op->record.id,
	                               route->members[route->at]->name, &op->record, err) < 0)
		return -1;
	operation_use(op, p);
	operation_show(op);
	return 0;
}

static int create_along(struct operation *op, const struct template_record *t,
                        struct provider_created *ret, struct error *err)
{
	AUTO(buf_done) struct buf tried = BUF(REASONS_MAX);
	struct provider_route *route = op->route;

	for (;;) {
		const struct provider_member *m = route->members[route->at];
		bool is_last = route->at + 1 >= route->count;
		int64_t begun_us = clock_monotonic_ns() / 1000;
		int result = create_once(
		        op, t, deadline_after(is_last ? CALL_TIMEOUT_MS : ATTEMPT_TIMEOUT_MS), ret,
		        err);
		struct error next = {0};

		note_result(m, result, begun_us, err);
		if (result == 0 || !provider_failed(err) || (is_last && tried.size == 0))
			return result;
		buf_addf(&tried, "%s%s: %s", tried.size > 0 ? "; " : "", m->name, err->text);
		if (is_last || take_next_provider(op, &next) < 0)
			return FAIL(err, err->code, "every provider failed: %s", buf_text(&tried));
		log_warning("a create goes on with the next provider",
		            TEXT("sandbox", op->record.id), TEXT("provider", op->record.provider),
		            FAILURE(err));
		error_clear(err);
	}
}

int provider_route_create(struct operation *op, const struct template_record *t,
                          struct provider_created *ret, struct error *err)
{
	if (op->route)
		return create_along(op, t, ret, err);
	return create_once(op, t, deadline_after(CALL_TIMEOUT_MS), ret, err);
}

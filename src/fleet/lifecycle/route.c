/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/lifecycle/route.h"

#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "fleet/core/labels.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/moves.h"
#include "fleet/lifecycle/resolved_create.h"
#include "fleet/lifecycle/rules.h"
#include "fleet/usage/meters_state.h"
#include "provider/health.h"
#include "provider/timed.h"
#include "sandbox/egress.h"
#include "sandbox/isolation.h"
#include "store/projects.h"
#include "store/sandboxes.h"

/* The time of one provider while another one may be tried after it. */
#define ATTEMPT_TIMEOUT_MS 20000
#define REASONS_MAX 2048

static const char *list_names(struct arena *a, const struct fleet *f)
{
	const char *names = "";

	for (unsigned i = 0; i < provider_set_count(f->providers); i++) {
		const struct provider_member *m = provider_set_at(f->providers, i);

		if (!provider_member_has_left(m))
			names = arena_format(a, "%s%s%s", names, *names ? ", " : "", m->name);
	}
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
	return request->isolation ? isolation_check(request->isolation, err) : 0;
}

/* The needs of a request. */
struct routing {
	struct fleet *fleet;
	struct arena *arena;
	/* Named by the request, else by its template, else by its project; NULL: by none. */
	const char *provider, *isolation;
	const char *named_by;           /* the source of `provider` */
	const struct config_rule *rule; /* NULL: none matches, or a provider is named */
	unsigned abilities;
	const char *layers;      /* what is below the files; NULL: nothing */
	bool needs_kept;         /* files or volumes that the primary keeps */
	struct rule_list *rules; /* that `rule` is of; NULL: none was looked for */
	struct provider_tallies tallies;
	struct buf reasons;
	struct buf skipped; /* why those before the first of the route are not the first */
	bool is_temporary;  /* a provider is only down or full */
	bool has_network;
	bool is_ephemeral;
	bool needs_workspace; /* and no other volume: some providers keep workspaces themselves */
};

static void routing_done(struct routing *r)
{
	rule_list_release(r->rules);
	buf_done(&r->reasons);
	buf_done(&r->skipped);
}

/* A default of the template or the project gives way to a stronger source, which must not weaken
 * it in silence: a named provider with too little isolation is refused unless the same source, or a
 * stronger one, names the isolation, too. */
static void find_wish(struct routing *r, const struct resolved_create *resolved,
                      const struct project_record *project)
{
	const struct fleet_create *request = resolved->request;
	const struct template_record *t = &resolved->template;
	const struct {
		const char *provider, *isolation, *source;
	} sources[] = {
	        {request->provider, request->isolation, "the request"},
	        {t->provider, t->isolation, arena_format(r->arena, "template '%s'", t->name)},
	        {project->provider, project->isolation,
	         arena_format(r->arena, "project '%s'", project->id)},
	};

	for (size_t i = 0; i < COUNT_OF(sources); i++) {
		const char *provider = text_or_null(sources[i].provider);

		if (!r->isolation)
			r->isolation = text_or_null(sources[i].isolation);
		if (provider && !r->provider) {
			r->provider = provider;
			r->named_by = sources[i].source;
		}
	}
}

/* The default provider of a template or project does not answer a request for more isolation. */
static void drop_weaker_default(struct routing *r, const struct fleet_create *request)
{
	const struct provider_member *m =
	        r->provider ? provider_set_find(r->fleet->providers, r->provider) : NULL;

	if (m && !request->provider && request->isolation &&
	    !isolation_suffices(provider_member_ops(m)->isolation, request->isolation))
		r->provider = r->named_by = NULL;
}

static int find_rule(struct routing *r, const struct resolved_create *resolved,
                     const struct route_subject *subject, struct error *err)
{
	struct rule_subject looks = {
	        .project_id = subject->project->id,
	        .template_id = resolved->template.id,
	        .template_name = resolved->template.name,
	        .isolation = r->isolation,
	        .labels = &resolved->request->labels,
	        .resources = subject->resources,
	};
	int64_t nano = 0;

	if (r->provider || !provider_set_has_several(r->fleet->providers))
		return 0;
	if (routing_rules_hold(r->fleet->rules, &r->rules, err) < 0 ||
	    price_active(&r->fleet->meters->prices, &looks.resources, USAGE_HOUR_MS, &nano, err) <
	            0)
		return -1;
	looks.price_hour = nano / 1000;
	r->rule = routing_rule_find(rule_list_rules(r->rules), &looks);
	return 0;
}

/* Below the files of a virtual machine lie disks, not folders. Only providers of machines keep
 * memory. */
static const char *layers_of(const struct provider_ops *ops)
{
	return ops->memory ? "disks" : "folders";
}

static const char *find_layers(const struct fleet *f, const char *provider)
{
	const struct provider_member *m =
	        provider ? provider_set_find(f->providers, provider) : NULL;

	return layers_of(m ? provider_member_ops(m) : f->ops);
}

static void find_needs(struct routing *r, const struct resolved_create *resolved,
                       const struct route_subject *subject)
{
	const struct fleet_create *request = resolved->request;
	bool has_volumes = request->mount_count > 0 || request->persistent_home;
	bool has_layer = resolved->snapshot || *resolved->template.snapshot_id ||
	                 (request->base && *request->base->layer);

	r->has_network = subject->network != SANDBOX_NETWORK_BLOCKED;
	r->is_ephemeral = labels_have(&request->own_labels, SANDBOX_EPHEMERAL_LABEL);
	r->needs_workspace = request->workspace != NULL;
	if (!r->has_network)
		r->abilities |= PROVIDER_CAN_BLOCK_NETWORK;
	else if (request->egress && *request->egress)
		r->abilities |= PROVIDER_CAN_FILTER;
	if (r->has_network && *subject->project->source_address)
		r->abilities |= PROVIDER_CAN_LEAVE_BY;
	if (labels_gpus(&request->own_labels) > 0)
		r->abilities |= PROVIDER_CAN_GPU | (r->has_network ? PROVIDER_CAN_GPU_NETWORK : 0u);
	if (has_volumes)
		r->abilities |= PROVIDER_CAN_VOLUME;
	if (has_layer)
		r->abilities |= PROVIDER_CAN_SNAPSHOT;
	r->needs_kept = has_volumes || has_layer || request->base;
	if (has_layer)
		r->layers = find_layers(r->fleet, resolved->snapshot_provider);
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

/* An operator allows each provider that protects less than the primary, and a request or a rule of
 * the operator names it. */
static bool may_be_weaker(const struct routing *r, const struct provider_member *m)
{
	return provider_member_limits(m).allows_weaker && (r->isolation || r->provider || r->rule);
}

/* NULL: the provider protects as the request and the primary do. */
static const char *find_weakness(const struct routing *r, const struct provider_member *m)
{
	const struct provider_ops *ops = provider_member_ops(m), *primary = r->fleet->ops;
	const char *asked = r->isolation;

	if (!isolation_suffices(ops->isolation, asked))
		return arena_format(r->arena, "its isolation is %s, less than %s", ops->isolation,
		                    asked);
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

static const char *find_cost_limit(const struct routing *r, const struct provider_member *m)
{
	const struct provider_bounds bounds = provider_member_limits(m), *l = &bounds;
	const struct {
		int64_t cost, max;
		const char *span;
	} limits[] = {
	        {provider_member_cost_day(m), l->cost_day_max, "today"},
	        {provider_member_cost_month(m), l->cost_month_max, "this month"},
	};

	for (size_t i = 0; i < COUNT_OF(limits); i++)
		if (limits[i].max > 0 && limits[i].cost >= limits[i].max)
			return arena_format(r->arena,
			                    "its sandboxes have cost %.2f US dollars %s, its limit "
			                    "is %.2f",
			                    money_to_usd(limits[i].cost), limits[i].span,
			                    money_to_usd(limits[i].max));
	return NULL;
}

/* Of a provider that could make the sandbox at another time; NULL: now, too. */
static const char *find_passing_reason(const struct routing *r, const struct provider_member *m)
{
	int64_t max = provider_member_limits(m).sandboxes_max;

	if (!provider_member_provider(m))
		return "it does not answer";
	if (provider_member_drains(m))
		return "it makes no more sandboxes, because it is being removed";
	if (max > 0 && count_sandboxes(r, m->name) >= max)
		return arena_format(r->arena, "it has %lld sandboxes, its limit", (long long)max);
	return find_cost_limit(r, m);
}

/* NULL: the provider may make the sandbox. */
static const char *find_reason(struct routing *r, const struct provider_member *m)
{
	const struct provider_ops *ops = provider_member_ops(m);
	bool needs_volume = r->needs_workspace && !ops->keeps_workspaces;
	const char *missing = find_missing_ability(
	        ops->abilities, r->abilities | (needs_volume ? PROVIDER_CAN_VOLUME : 0u));
	const char *weakness = find_weakness(r, m);
	struct provider *p = provider_member_provider(m);

	if (weakness)
		return weakness;
	if (missing)
		return arena_format(r->arena, "it cannot do this: %s", missing);
	if (ops->is_for_calls && !r->is_ephemeral)
		return "it runs ephemeral calls only, and keeps no sandbox";
	if ((r->needs_kept || needs_volume) &&
	    (!p || !provider_shares_place(p, r->fleet->provider)))
		return arena_format(r->arena, "it has none of the files that provider '%s' keeps",
		                    r->fleet->primary);
	if (r->layers && strcmp(r->layers, layers_of(ops)) != 0)
		return arena_format(r->arena,
		                    "its sandboxes lie on %s, and the snapshot or template has %s",
		                    layers_of(ops), r->layers);
	r->is_temporary = true;
	return find_passing_reason(r, m);
}

static bool has_limits(const struct fleet *f)
{
	for (unsigned i = 0; i < provider_set_count(f->providers); i++)
		if (provider_member_limits(provider_set_at(f->providers, i)).sandboxes_max > 0)
			return true;
	return false;
}

static void add_reason(struct buf *out, const char *name, const char *reason)
{
	buf_addf(out, "%s%s: %s", out->size > 0 ? "; " : "", name, reason);
}

/* Why creates try the provider last; NULL: they do not. */
static const char *find_rest(const struct routing *r, const struct provider_member *m)
{
	int64_t slow_ms;

	if (provider_health_backs_off(m->health))
		return "it is unhealthy";
	slow_ms = provider_health_slow_ms(m->health);
	return slow_ms > 0 ? arena_format(r->arena, "its creates take %lld ms", (long long)slow_ms)
	                   : NULL;
}

static void add_member(struct routing *r, const struct provider_member *m, bool resting,
                       struct provider_route *route)
{
	const char *rest = find_rest(r, m), *reason;

	if (!rest == resting) {
		if (rest && route->count == 0)
			add_reason(&r->skipped, m->name, rest);
		return;
	}
	reason = find_reason(r, m);
	if (!reason) {
		route->members[route->count++] = m;
		return;
	}
	add_reason(&r->reasons, m->name, reason);
	if (route->count == 0 && !resting)
		add_reason(&r->skipped, m->name, reason);
}

/* First the providers that are healthy, then the others. */
static void add_members(struct routing *r, bool resting, struct provider_route *route)
{
	const struct provider_set *set = r->fleet->providers;

	for (unsigned i = 0; r->rule && i < r->rule->provider_count; i++) {
		const char *name = r->rule->providers[i];
		const struct provider_member *m = provider_set_find(set, name);

		if (m)
			add_member(r, m, resting, route);
		else if (!resting)
			add_reason(&r->reasons, name, "this server does not have it");
	}
	for (unsigned i = 0; !r->rule && i < provider_set_count(set); i++) {
		const struct provider_member *m = provider_set_at(set, i);

		if (!provider_member_has_left(m) &&
		    (!r->provider || strcmp(r->provider, m->name) == 0))
			add_member(r, m, resting, route);
	}
}

/* "rule 'heavy'; not far: it does not answer" */
static void tell_why(const struct routing *r, struct provider_route *route)
{
	const char *skipped = buf_text(&r->skipped);
	const char *why = r->named_by ? arena_format(r->arena, "named by %s", r->named_by)
	                  : r->rule   ? arena_format(r->arena, "rule '%s'", r->rule->name)
	                  : *skipped  ? "order of the configuration"
	                              : "";

	(void)snprintf(route->why, sizeof(route->why), "%s%s%s", why, *skipped ? "; not " : "",
	               skipped);
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
	struct routing r = {.fleet = f,
	                    .arena = &arena,
	                    .provider = provider,
	                    .isolation = isolation,
	                    .reasons = BUF(REASONS_MAX)};

	if (provider_route_check(f, &request, err) < 0)
		return FAIL_HINT(err, "'atoll provider ls' lists the providers of this server");
	for (unsigned i = 0; i < provider_set_count(f->providers); i++) {
		const struct provider_member *m = provider_set_at(f->providers, i);
		const char *reason;

		if (provider_member_has_left(m) || (provider && strcmp(provider, m->name) != 0))
			continue;
		reason = find_weakness(&r, m);
		if (!reason)
			return 0;
		add_reason(&r.reasons, m->name, reason);
	}
	return refuse_request(&r, err);
}

/* Also the default of a template or a project may name a provider that this server lacks. */
static int check_wish(const struct routing *r, struct error *err)
{
	if (!r->provider || provider_set_find(r->fleet->providers, r->provider))
		return 0;
	return FAIL(err, ERROR_UNAVAILABLE,
	            "%s names provider '%s', which this server does not have; configured: %s",
	            r->named_by, r->provider, list_names(r->arena, r->fleet));
}

/* The files of a workspace are a volume of the primary, or the provider's own: a fail-over from one
 * to the other would run the call on other files. */
static void drop_other_places(struct provider_route *route)
{
	bool keeps = provider_member_ops(route->members[0])->keeps_workspaces;
	unsigned count = 0;

	while (count < route->count &&
	       provider_member_ops(route->members[count])->keeps_workspaces == keeps &&
	       (!keeps || count == 0))
		count++;
	route->count = count;
}

int provider_route_find(struct fleet *f, struct arena *a, const struct resolved_create *resolved,
                        const struct route_subject *subject, struct provider_route *ret,
                        struct error *err)
{
	AUTO(routing_done)
	struct routing r = {
	        .fleet = f, .arena = a, .reasons = BUF(REASONS_MAX), .skipped = BUF(REASONS_MAX)};
	struct provider_route route = {.count = 0};

	if (provider_route_check(f, resolved->request, err) < 0)
		return -1;
	find_wish(&r, resolved, subject->project);
	drop_weaker_default(&r, resolved->request);
	if (check_wish(&r, err) < 0 || find_rule(&r, resolved, subject, err) < 0)
		return -1;
	/* The checks of the request say what an only provider cannot do. */
	if (provider_set_has_several(f->providers))
		find_needs(&r, resolved, subject);
	if (has_limits(f) && store_sandbox_tally(f->store, a, f->node, &r.tallies, err) < 0)
		return -1;
	add_members(&r, false, &route);
	add_members(&r, true, &route);
	if (route.count == 0)
		return refuse_request(&r, err);
	if (r.needs_workspace)
		drop_other_places(&route);
	tell_why(&r, &route);
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
	struct provider_timed *timed;
	int result;

	timed = provider_timed_begin("create");
	if (op->creation) {
		result = op->ops->create_end(op->provider, TAKE(op->creation), deadline, ret, err);
	} else {
		op->spec = lifecycle_spec(op, t);
		result = op->ops->create(op->provider, &op->spec, deadline, ret, err);
	}
	return provider_timed_end(timed, result, err);
}

static void note_result(const struct provider_member *m, int result, int64_t begun_us,
                        const struct error *err)
{
	if (result == 0)
		provider_health_created(m->health, clock_monotonic_ns() / 1000 - begun_us);
	else if (provider_failed(err))
		provider_health_create_failed(m->health, err);
}

/* "rule 'heavy'; far failed: the daemon does not answer" */
static const char *tell_fail_over(const struct operation *op, const char *tried)
{
	const char *why = op->route->why;

	return arena_format(op->arena, "%s%s%.*s", why, *why ? "; failed " : "failed ",
	                    ROUTE_WHY_SIZE, tried);
}

/* The provider that failed leaves nothing behind; the next sweep removes what it could not. */
static int take_next_provider(struct operation *op, const char *tried, struct error *err)
{
	struct provider_route *route = op->route;

	while (++route->at < route->count) {
		const struct provider_member *m = route->members[route->at];
		const struct sandbox_provider_change change = {
		        .id = op->record.id,
		        .provider = m->name,
		        .placed = tell_fail_over(op, tried),
		        .is_stored = m->version > 0,
		};
		struct provider *p = provider_member_provider(m);

		if (!p || provider_member_drains(m))
			continue;
		if (store_sandbox_set_provider(op->fleet->store, op->arena, &change, &op->record,
		                               err) == 0) {
			operation_use(op, p);
			operation_show(op);
			return 0;
		}
		if (err->code != ERROR_CONFLICT)
			return -1;
		error_clear(err);
	}
	return FAIL(err, ERROR_UNAVAILABLE, "no other provider is left");
}

static int64_t attempt_deadline(const struct provider_member *m, bool is_last)
{
	int64_t timeout_ms = provider_member_limits(m).create_timeout_ms;

	if (is_last)
		return deadline_after(CALL_TIMEOUT_MS);
	return deadline_after(timeout_ms > 0 ? timeout_ms : ATTEMPT_TIMEOUT_MS);
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
		int result = create_once(op, t, attempt_deadline(m, is_last), ret, err);
		struct error next = {0};

		note_result(m, result, begun_us, err);
		if (result == 0 || !provider_failed(err) || (is_last && tried.size == 0))
			return result;
		buf_addf(&tried, "%s%s: %s", tried.size > 0 ? "; " : "", m->name, err->text);
		if (is_last || take_next_provider(op, buf_text(&tried), &next) < 0)
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

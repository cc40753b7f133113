/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/server/providers.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "config/provider_options.h"
#include "config/providers.h"
#include "fleet/core/fleet_state.h"
#include "fleet/server/rounds.h"
#include "fleet/server/stored_providers.h"
#include "json/write.h"
#include "provider/reports.h"
#include "sandbox/events.h"
#include "store/events.h"
#include "store/providers.h"
#include "store/sandboxes.h"
#include "store/secrets.h"

#define CHECK_TIMEOUT_MS 30000
#define SETTINGS_MAX 64 /* of a stored provider */

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

static void add_health_events(struct fleet *f)
{
	struct provider_health_report now;

	for (unsigned i = 0; i < provider_set_count(f->providers); i++) {
		const struct provider_member *m = provider_set_at(f->providers, i);

		if (provider_health_take_change(m->health, &now) && !provider_member_has_left(m))
			add_change_event(f, m, &now);
	}
}

void providers_tick(struct fleet *f)
{
	struct error err = {0};

	if (stored_providers_tick(f, &err) < 0)
		log_warning("providers of the store are not read", FAILURE(&err));
	add_health_events(f);
	stored_providers_note_costs(f);
	/* The next sweep reconciles their sandboxes. */
	if (stored_providers_open(f) > 0)
		f->swept_at = 0;
}

static int64_t count_of(const struct provider_tallies *tallies, const char *name)
{
	for (size_t i = 0; i < tallies->count; i++)
		if (strcmp(tallies->items[i].provider, name) == 0)
			return tallies->items[i].count;
	return 0;
}

static struct provider_accelerator accelerator_of(const struct provider_member *m)
{
	struct provider_accelerator accelerator = {.name = NULL};
	const struct provider_ops *ops = provider_member_ops(m);
	struct provider *p = provider_member_provider(m);

	if (p && ops->reports && ops->reports->accelerator)
		ops->reports->accelerator(p, &accelerator);
	return accelerator;
}

static bool find_warm(const struct provider_member *m, struct provider_warm *ret)
{
	const struct report_ops *reports = provider_member_ops(m)->reports;
	struct provider *p = provider_member_provider(m);

	return p && reports && reports->warm && reports->warm(p, ret);
}

static struct fleet_provider describe_member(const struct provider_member *m,
                                             const struct provider_tallies *tallies)
{
	const struct provider_ops *ops = provider_member_ops(m);
	struct provider_warm warm = {0};
	bool has_warm = find_warm(m, &warm);

	return (struct fleet_provider){
	        .name = m->name,
	        .kind = m->kind,
	        .isolation = ops->isolation,
	        .abilities = ops->abilities,
	        .is_open = provider_member_provider(m) != NULL,
	        .is_stored = m->version > 0,
	        .drains = provider_member_drains(m),
	        .sandboxes = count_of(tallies, m->name),
	        .limits = provider_member_limits(m),
	        .cost_day = provider_member_cost_day(m),
	        .cost_month = provider_member_cost_month(m),
	        .slow_ms = provider_health_slow_ms(m->health),
	        .health = provider_health_get(m->health),
	        .accelerator = accelerator_of(m),
	        .has_warm = has_warm,
	        .warm = warm,
	};
}

/* A stored provider that this server cannot use, such as one whose kind it lacks. */
static struct fleet_provider describe_unusable(const struct provider_record *r, const char *problem)
{
	struct fleet_provider p = {
	        .name = r->name,
	        .kind = r->kind,
	        .isolation = "",
	        .is_stored = true,
	        .drains = r->draining,
	        .health = {.failed_at = r->updated_at},
	};

	(void)snprintf(p.health.last_error, sizeof(p.health.last_error), "%s", problem);
	return p;
}

static void add_unusable(struct fleet *f, struct arena *a, const struct provider_record_list *rows,
                         struct fleet_provider_list *list)
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct provider_record *r = &rows->items[i];
		const char *problem =
		        r->removed_at > 0 ? NULL : stored_provider_problem(f, a, r->name);

		if (problem)
			list->items[list->count++] = describe_unusable(r, problem);
	}
}

int fleet_provider_list(struct fleet *fleet, struct arena *a, struct fleet_provider_list *ret,
                        struct error *err)
{
	unsigned count = provider_set_count(fleet->providers);
	struct fleet_provider_list list = {.count = 0};
	struct provider_record_list rows;
	struct provider_tallies tallies;

	if (store_sandbox_tally(fleet->store, a, fleet->node, &tallies, err) < 0 ||
	    store_provider_list(fleet->store, a, &rows, err) < 0)
		return -1;
	list.items = ARENA_ARRAY(a, struct fleet_provider, count + rows.count);
	for (unsigned i = 0; i < count; i++) {
		const struct provider_member *m = provider_set_at(fleet->providers, i);

		if (!provider_member_has_left(m))
			list.items[list.count++] = describe_member(m, &tallies);
	}
	add_unusable(fleet, a, &rows, &list);
	*ret = list;
	return 0;
}

/* A reference is for the configuration file: a request must not make the server read a file. */
static int check_secret_text(const struct json_pair *pair, struct error *err)
{
	if (strncmp(pair->value, "file:", 5) != 0 && strncmp(pair->value, "env:", 4) != 0)
		return 0;
	(void)FAIL(err, ERROR_INVALID,
	           "settings.%s: '%.100s' is a reference, which only the configuration file may "
	           "have",
	           pair->key, pair->value);
	return FAIL_HINT(err,
	                 "give the secret itself; 'atoll provider add … --set %s=@FILE' reads "
	                 "it from a file",
	                 pair->key);
}

/* Texts of the settings, and of the secrets as JSON. */
static int split_settings(struct arena *a, const struct fleet_provider_add *request,
                          struct provider_record *ret, struct error *err)
{
	struct json_map secrets = {
	        .pairs = ARENA_ARRAY(a, struct json_pair, request->settings.count + 1)};

	ret->settings = "";
	for (size_t i = 0; i < request->settings.count; i++) {
		const struct json_pair *pair = &request->settings.pairs[i];
		const struct config_provider_option *option =
		        config_provider_option_find(request->kind, pair->key);

		if (option && option->is_secret) {
			if (check_secret_text(pair, err) < 0)
				return -1;
			secrets.pairs[secrets.count++] = *pair;
			continue;
		}
		if (strpbrk(pair->value, ",;"))
			return FAIL(err, ERROR_INVALID, "settings.%s: a value has no , or ;",
			            pair->key);
		ret->settings = arena_format(a, "%s%s%s=%s", ret->settings,
		                             *ret->settings ? ";" : "", pair->key, pair->value);
	}
	ret->secrets_json = json_format_map(a, &secrets);
	return 0;
}

static int check_addition(struct fleet *f, struct arena *a,
                          const struct fleet_provider_add *request, struct error *err)
{
	const struct provider_member *m = provider_set_find(f->providers, request->name);
	struct config_provider p = {.name = request->name, .kind = request->kind};

	if (sandbox_name_check(request->name, err) < 0)
		return FAIL_CONTEXT(err, "name");
	if (m && m->version == 0)
		return FAIL(err, ERROR_CONFLICT,
		            "the configuration of this server has a provider '%s'", m->name);
	if (config_provider_check_kind(a, &p, err) < 0)
		return -1;
	for (size_t i = 0; i < request->settings.count; i++) {
		const struct config_provider_value value = {request->settings.pairs[i].key,
		                                            request->settings.pairs[i].value};

		if (config_provider_set(a, &p, &value, err) < 0)
			return -1;
	}
	return config_provider_check(&p, err);
}

int fleet_provider_add(struct fleet *fleet, const struct fleet_provider_add *request,
                       struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	int64_t now = clock_unix_ms();
	struct provider_record r = {
	        .name = request->name, .kind = request->kind, .created_at = now, .updated_at = now};

	if (check_addition(fleet, &arena, request, err) < 0 ||
	    split_settings(&arena, request, &r, err) < 0 ||
	    store_provider_add(fleet->store, &r, err) < 0 ||
	    stored_providers_refresh(fleet, err) < 0)
		return -1;
	(void)stored_providers_open(fleet);
	return 0;
}

static void put_pair(struct json_map *map, const char *key, const char *value)
{
	for (size_t i = 0; i < map->count; i++)
		if (strcmp(map->pairs[i].key, key) == 0) {
			map->pairs[i].value = value;
			return;
		}
	map->pairs[map->count++] = (struct json_pair){key, value};
}

/* The settings of the row, secrets included. */
static int join_settings(struct arena *a, const struct provider_record *r, struct json_map *ret,
                         struct error *err)
{
	struct span rest = span_of(r->settings), item, key;
	const struct json_value *secrets;

	if (store_secret_check(r->secrets_json, err) < 0 ||
	    json_load(a, span_of(r->secrets_json), &secrets, err) < 0)
		return -1;
	while (rest.size > 0 && ret->count < SETTINGS_MAX) {
		(void)span_split(&rest, ';', &item);
		(void)span_split(&item, '=', &key);
		put_pair(ret, arena_copy(a, key), arena_copy(a, item));
	}
	for (size_t i = 0; i < json_count(secrets) && ret->count < SETTINGS_MAX; i++) {
		const char *name = NULL;
		const char *value = json_text(json_member_at(secrets, i, &name), "");

		put_pair(ret, name, value);
	}
	return 0;
}

/* An option of a kind that cannot change it would hold at the next start only. */
static int check_change(const struct provider_record *r, const char *key, struct error *err)
{
	const struct config_provider_option *option = config_provider_option_find(r->kind, key);
	const struct provider_ops *kind = provider_find(r->kind);

	if (!option || (kind && kind->change && !option->is_fixed))
		return 0;
	(void)FAIL(err, ERROR_UNSUPPORTED,
	           "provider '%s': a provider of kind %s does not change its %s while it runs",
	           r->name, r->kind, key);
	return FAIL_HINT(err, "drain the provider and add it again");
}

static int merge_settings(struct arena *a, const struct provider_record *r,
                          const struct json_map *wanted, struct json_map *ret, struct error *err)
{
	struct json_map all = {
	        .pairs = ARENA_ARRAY(a, struct json_pair, SETTINGS_MAX + wanted->count + 1)};

	if (join_settings(a, r, &all, err) < 0)
		return -1;
	for (size_t i = 0; i < wanted->count; i++) {
		if (check_change(r, wanted->pairs[i].key, err) < 0)
			return -1;
		put_pair(&all, wanted->pairs[i].key, wanted->pairs[i].value);
	}
	ret->pairs = ARENA_ARRAY(a, struct json_pair, all.count + 1);
	for (size_t i = 0; i < all.count; i++)
		if (*all.pairs[i].value)
			ret->pairs[ret->count++] = all.pairs[i];
	return 0;
}

static int refuse_configured(const struct fleet *f, const char *name, struct error *err)
{
	const struct provider_member *m = provider_set_find(f->providers, name);

	if (!m || m->version > 0)
		return 0;
	return FAIL(err, ERROR_CONFLICT,
	            "provider '%s' is of this server's configuration: change or remove it there",
	            name);
}

int fleet_provider_remove(struct fleet *fleet, const char *name, bool drains, int64_t *ret_left,
                          struct error *err)
{
	int64_t left = 0;

	if (refuse_configured(fleet, name, err) < 0 ||
	    (drains && store_provider_drain(fleet->store, name, clock_unix_ms(), err) < 0))
		return -1;
	if (store_provider_remove(fleet->store, name, clock_unix_ms(), err) < 0) {
		if (!drains || err->code != ERROR_CONFLICT ||
		    store_provider_count(fleet->store, name, &left, err) < 0)
			return -1;
		error_clear(err);
	}
	if (stored_providers_refresh(fleet, err) < 0)
		return -1;
	*ret_left = left;
	return 0;
}

/* Servers without this kind, or whose daemon refuses, show the error and keep the old options. */
int fleet_provider_set(struct fleet *fleet, const struct fleet_provider_change *change,
                       struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct fleet_provider_add request = {.name = change->name};
	struct provider_record r;
	const char *problem;

	if (refuse_configured(fleet, change->name, err) < 0 ||
	    store_provider_find(fleet->store, &arena, change->name, &r, err) < 0)
		return -1;
	if (r.removed_at > 0)
		return FAIL_MISSING(err, "provider", change->name);
	request.kind = r.kind;
	if (merge_settings(&arena, &r, &change->settings, &request.settings, err) < 0 ||
	    check_addition(fleet, &arena, &request, err) < 0 ||
	    split_settings(&arena, &request, &r, err) < 0)
		return -1;
	r.updated_at = clock_unix_ms();
	if (store_provider_update(fleet->store, &r, err) < 0 ||
	    stored_providers_refresh(fleet, err) < 0)
		return -1;
	problem = stored_provider_problem(fleet, &arena, change->name);
	return problem ? FAIL(err, ERROR_UNSUPPORTED, "%s", problem) : 0;
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

int fleet_provider_check(struct fleet *fleet, const char *name, struct fleet_provider_checked *ret,
                         struct error *err)
{
	const struct provider_member *m = provider_set_find(fleet->providers, name);
	int64_t begun_ns = clock_monotonic_ns();
	int result;

	if (!m)
		return FAIL_MISSING(err, "provider", name);
	result = run_check(m, err);
	provider_health_note(m->health, result < 0 ? err : NULL);
	ret->took_us = (clock_monotonic_ns() - begun_ns) / 1000;
	ret->accelerator = accelerator_of(m);
	return result;
}

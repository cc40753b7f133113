/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/server/stored_providers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/thread.h"
#include "config/config.h"
#include "config/providers.h"
#include "fleet/core/fleet_state.h"
#include "fleet/lifecycle/rules.h"
#include "fleet/server/fleet.h"
#include "json/json.h"
#include "provider/set.h"
#include "sandbox/price.h"
#include "store/providers.h"
#include "store/secrets.h"

#define COSTS_EVERY_MS 10000

struct stored_providers {
	int (*add)(void *context, const struct config_provider *p, int64_t version,
	           struct error *err);
	void *context;
	pthread_mutex_t changing;                 /* one refresh at a time; guards the next five */
	int64_t created_at[PROVIDER_MEMBERS_MAX]; /* of the rows of members, by number */
	struct map problems;                      /* name -> text */
	struct arena arena;                       /* of the texts */
	int64_t stamp;                            /* of the rows that were read last; -1: none */
	bool has_draining;                        /* one of them drains */
	pthread_mutex_t opening;
	int64_t costs_at; /* monotonic; of the ticking thread */
};

void stored_providers_begin(struct fleet *f, const struct fleet_options *options)
{
	struct stored_providers *s = memory_new(sizeof(*s));

	s->add = options->add_provider;
	s->context = options->add_context;
	s->costs_at = INT64_MIN / 2;
	s->stamp = -1;
	pthread_mutex_init(&s->changing, NULL);
	pthread_mutex_init(&s->opening, NULL);
	f->stored = s;
	f->rules = routing_rules_new(f->config->routing);
}

void stored_providers_end(struct fleet *f)
{
	struct stored_providers *s = f->stored;

	routing_rules_free(f->rules);
	map_done(&s->problems);
	arena_done(&s->arena);
	pthread_mutex_destroy(&s->opening);
	pthread_mutex_destroy(&s->changing);
	free(s);
}

static int read_secrets(struct arena *a, const struct provider_record *r, struct config_provider *p,
                        struct error *err)
{
	const struct json_value *secrets;

	if (json_load(a, span_of(r->secrets_json), &secrets, err) < 0)
		return -1;
	for (size_t i = 0; i < json_count(secrets); i++) {
		struct config_provider_value value;
		const struct json_value *text = json_member_at(secrets, i, &value.name);

		value.value = json_text(text, "");
		if (config_provider_set(a, p, &value, err) < 0)
			return -1;
	}
	return 0;
}

static int put_member(struct fleet *f, struct arena *a, const struct provider_record *r,
                      struct error *err)
{
	struct config_provider p = {.name = r->name, .kind = r->kind};

	if (!f->stored->add)
		return FAIL(err, ERROR_UNSUPPORTED, "this server adds no providers at run time");
	if (config_provider_check_kind(a, &p, err) < 0 ||
	    store_secret_check(r->secrets_json, err) < 0 ||
	    config_provider_parse_settings(a, r->settings, &p, err) < 0 ||
	    read_secrets(a, r, &p, err) < 0 || config_provider_check(&p, err) < 0 ||
	    f->stored->add(f->stored->context, &p, r->version, err) < 0)
		return -1;
	log_info("a provider was added or changed", TEXT("provider", r->name),
	         TEXT("kind", r->kind));
	return 0;
}

static void leave_member(const struct provider_member *m)
{
	provider_member_leave(m);
	log_info("a provider was removed", TEXT("provider", m->name));
}

static int refresh_present(struct fleet *f, struct arena *a, const struct provider_record *r,
                           struct error *err)
{
	const struct provider_member *m = provider_set_find(f->providers, r->name);

	if (m && m->version == 0)
		return FAIL(err, ERROR_CONFLICT,
		            "the configuration of this server has another provider '%s'", r->name);
	/* It was removed and added again since the last look. */
	if (m && f->stored->created_at[m->number] != r->created_at) {
		leave_member(m);
		m = NULL;
	}
	if ((!m || m->version != r->version) && put_member(f, a, r, err) < 0)
		return -1;
	m = provider_set_find(f->providers, r->name);
	f->stored->created_at[m->number] = r->created_at;
	if (r->draining)
		provider_member_drain(m);
	return 0;
}

/* The last sandbox of a draining provider may be gone. */
static void finish_drain(struct fleet *f, const struct provider_record *r)
{
	struct error err = {0};
	int64_t count;

	if (store_provider_count(f->store, r->name, &count, &err) == 0 && count == 0 &&
	    store_provider_remove(f->store, r->name, clock_unix_ms(), &err) == 0)
		return;
	if (err.code != ERROR_NONE && err.code != ERROR_CONFLICT && err.code != ERROR_NOT_FOUND)
		log_warning("a draining provider is not removed yet", TEXT("provider", r->name),
		            FAILURE(&err));
}

static void refresh_row(struct fleet *f, struct arena *a, const struct provider_record *r)
{
	const struct provider_member *m;
	struct error err = {0};

	if (r->removed_at > 0) {
		m = provider_set_find(f->providers, r->name);
		if (m && m->version > 0)
			leave_member(m);
		return;
	}
	if (refresh_present(f, a, r, &err) < 0)
		(void)map_put(&f->stored->problems, arena_text(&f->stored->arena, r->name),
		              arena_text(&f->stored->arena, err.text));
	if (r->draining)
		finish_drain(f, r);
}

static int refresh_rules(struct fleet *f, struct arena *a, struct error *err)
{
	struct routing_record r;

	if (store_routing_find(f->store, a, &r, err) < 0)
		return -1;
	if (r.version != routing_rules_version(f->rules))
		routing_rules_set(f->rules, r.is_set ? r.rules : NULL, r.version);
	return 0;
}

/* The caller holds `changing`. The stamp is older than the rows: a change in between is read twice.
 */
static int read_rows(struct fleet *f, struct arena *a, struct error *err)
{
	struct provider_record_list list;
	int64_t stamp;

	if (store_provider_stamp(f->store, &stamp, err) < 0 ||
	    store_provider_list(f->store, a, &list, err) < 0)
		return -1;
	f->stored->stamp = stamp;
	f->stored->has_draining = false;
	map_done(&f->stored->problems);
	f->stored->problems = (struct map){0};
	arena_reset(&f->stored->arena);
	for (size_t i = 0; i < list.count; i++) {
		f->stored->has_draining |= list.items[i].draining && list.items[i].removed_at == 0;
		refresh_row(f, a, &list.items[i]);
	}
	return refresh_rules(f, a, err);
}

int stored_providers_refresh(struct fleet *f, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&f->stored->changing);

	return read_rows(f, &arena, err);
}

/* Rows hold credentials, which a read decrypts. Those that were not usable, and those that drain,
 * are looked at in each tick. */
int stored_providers_tick(struct fleet *f, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&f->stored->changing);
	int64_t stamp;

	if (store_provider_stamp(f->store, &stamp, err) < 0)
		return -1;
	if (stamp != f->stored->stamp || f->stored->has_draining || f->stored->problems.count > 0)
		return read_rows(f, &arena, err);
	return refresh_rules(f, &arena, err);
}

unsigned stored_providers_open(struct fleet *f)
{
	unsigned opened;

	if (pthread_mutex_trylock(&f->stored->opening) != 0)
		return 0;
	opened = provider_set_retry(f->providers);
	pthread_mutex_unlock(&f->stored->opening);
	return opened;
}

const char *stored_provider_problem(struct fleet *f, struct arena *a, const char *name)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&f->stored->changing);
	const char *text = map_find(&f->stored->problems, name);

	return text ? arena_text(a, text) : NULL;
}

static bool has_prices(const struct fleet *f)
{
	for (unsigned i = 0; i < provider_set_count(f->providers); i++)
		if (provider_member_limits(provider_set_at(f->providers, i)).price_hour > 0)
			return true;
	return false;
}

static int64_t cost_of(int64_t ms, int64_t price_hour)
{
	double cost = (double)ms / USAGE_HOUR_MS * (double)price_hour;

	return cost < (double)INT64_MAX / 2 ? (int64_t)cost : INT64_MAX / 2;
}

static void note_cost(const struct provider_member *m, const struct provider_use_list *uses)
{
	const struct provider_bounds limits = provider_member_limits(m);
	int64_t day = 0, month = 0;

	for (size_t i = 0; i < uses->count; i++)
		if (strcmp(uses->items[i].name, m->name) == 0) {
			day = cost_of(uses->items[i].day_ms, limits.price_hour);
			month = cost_of(uses->items[i].month_ms, limits.price_hour);
		}
	provider_member_note_cost(m, day, month);
}

void stored_providers_note_costs(struct fleet *f)
{
	AUTO(arena_done) struct arena arena = {0};
	int64_t now = clock_unix_ms();
	const struct provider_window window = {budget_window_start(BUDGET_DAY, now),
	                                       budget_window_start(BUDGET_MONTH, now)};
	struct provider_use_list uses;
	struct error err = {0};

	if (!has_prices(f) || clock_monotonic_ms() - f->stored->costs_at < COSTS_EVERY_MS)
		return;
	f->stored->costs_at = clock_monotonic_ms();
	if (store_provider_uses(f->store, &arena, &window, &uses, &err) < 0) {
		log_warning("costs of providers are not known", FAILURE(&err));
		return;
	}
	for (unsigned i = 0; i < provider_set_count(f->providers); i++)
		note_cost(provider_set_at(f->providers, i), &uses);
}

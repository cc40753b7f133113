/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/template/pools.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/thread.h"
#include "config/config.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/template_cache.h"
#include "fleet/template/pool_states.h"
#include "fleet/template/warm_parts.h"
#include "provider/provider.h"
#include "sandbox/isolation.h"
#include "store/projects.h"

int fleet_pool_size(int64_t min, int64_t target, int64_t max, struct fleet_pool_size *ret,
                    struct error *err)
{
	struct fleet_pool_size size = {.min = min, .target = target, .max = max};

	if (size.target < 0)
		size.target = min > 0 ? min : 0;
	if (size.min < 0)
		size.min = size.target;
	if (size.max < 0)
		size.max = 2 * size.target < FLEET_POOL_MAX ? 2 * size.target : FLEET_POOL_MAX;
	if (size.max > FLEET_POOL_MAX || size.target > FLEET_POOL_MAX)
		return FAIL(err, ERROR_INVALID, "pool: at most %d prepared sandboxes",
		            FLEET_POOL_MAX);
	if (size.min > size.target || size.target > size.max)
		return FAIL(err, ERROR_INVALID,
		            "pool: min %lld, target %lld and max %lld must be in this order",
		            (long long)size.min, (long long)size.target, (long long)size.max);
	*ret = size;
	return 0;
}

/* The settings of a create that names only the template. */
static struct provider_pool make_wanted(const struct fleet *f, const struct template_record *t,
                                        const struct project_record *project)
{
	const struct sandbox_resources layers[] = {t->resources, project->defaults,
	                                           f->config->defaults, SANDBOX_BUILT_IN_RESOURCES};
	const struct sandbox_resources within =
	        sandbox_resources_resolve(layers, COUNT_OF(layers), &project->maximums);
	struct provider_pool pool = {
	        .resources = sandbox_resources_resolve(&within, 1, &f->config->caps),
	        .network = f->config->internet ? SANDBOX_NETWORK_INTERNET : SANDBOX_NETWORK_BLOCKED,
	        .privileges = strcmp(t->folder, "host") != 0,
	        .min = (unsigned)t->pool_min,
	        .target = (unsigned)t->pool_target,
	        .max = (unsigned)t->pool_max,
	};

	(void)snprintf(pool.name, sizeof(pool.name), "%s", t->id);
	(void)snprintf(pool.template_dir, sizeof(pool.template_dir), "%s", t->folder);
	(void)snprintf(pool.snapshot, sizeof(pool.snapshot), "%s", t->snapshot_id);
	return pool;
}

static bool is_same_pool(const struct provider_pool *a, const struct provider_pool *b)
{
	return a->min == b->min && a->target == b->target && a->max == b->max &&
	       a->network == b->network && a->privileges == b->privileges &&
	       strcmp(a->template_dir, b->template_dir) == 0 &&
	       strcmp(a->snapshot, b->snapshot) == 0 && strcmp(a->warm, b->warm) == 0 &&
	       a->resources.memory_mb == b->resources.memory_mb &&
	       a->resources.disk_mb == b->resources.disk_mb &&
	       a->resources.pids == b->resources.pids &&
	       fabs(a->resources.cpu - b->resources.cpu) < 0.001;
}

static const struct provider_pool *find_pool(const struct provider_pools *pools, const char *name)
{
	for (size_t i = 0; i < pools->count; i++)
		if (strcmp(pools->items[i].name, name) == 0)
			return &pools->items[i];
	return NULL;
}

static const struct template_record *find_template(const struct template_list *list, const char *id)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].id, id) == 0)
			return &list->items[i];
	return NULL;
}

/* The files of a template built elsewhere are on that server. */
static bool wants_pool(const struct fleet *f, const struct template_record *t)
{
	return t->state == TEMPLATE_READY && t->pool_max > 0 &&
	       (!*t->snapshot_id || strcmp(t->node, f->node) == 0);
}

static int set_pool(struct fleet *f, const struct provider_pool *pool, struct error *err)
{
	return f->ops->pools->set(f->provider, pool, deadline_after(CALL_TIMEOUT_MS), err);
}

/* Creates of the template do not take sandboxes of the primary's pool. */
static int check_maker(const struct fleet *f, const struct template_record *t, struct error *err)
{
	if (*t->provider && strcmp(t->provider, f->primary) != 0)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "provider '%s' keeps pools, but provider '%s' makes the template's "
		            "sandboxes",
		            f->primary, t->provider);
	if (!*t->isolation || isolation_suffices(f->ops->isolation, t->isolation))
		return 0;
	return FAIL(
	        err, ERROR_UNSUPPORTED,
	        "provider '%s' keeps pools, but its isolation is %s, less than the template's, %s",
	        f->primary, f->ops->isolation, t->isolation);
}

static int set_wanted(struct fleet *f, const struct template_record *t,
                      const struct provider_pools *held, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	const struct provider_pool *has = find_pool(held, t->id);
	struct project_record project = {.id = ""};
	struct provider_pool wanted;

	/* A template without a project gets the limits of projects without own limits. */
	if (check_maker(f, t, err) < 0)
		return -1;
	if (*t->project_id && store_project_find(f->store, &a, t->project_id, &project, err) < 0)
		return -1;
	wanted = make_wanted(f, t, &project);
	if (warm_wish(f, &a, t, &wanted.warm_wish, err) < 0)
		return -1;
	if (wanted.warm_wish.size > 0)
		(void)snprintf(wanted.warm, sizeof(wanted.warm), "%s", warm_name(&a, t));
	return has && is_same_pool(has, &wanted) ? 0 : set_pool(f, &wanted, err);
}

/* If the provider refuses a pool, only that pool fails. While the provider is away, all fail. */
static int set_template_pool(struct fleet *f, const struct template_record *t,
                             const struct provider_pools *held, struct error *problem,
                             struct error *err)
{
	struct error why = {0};

	if (set_wanted(f, t, held, &why) == 0)
		return 0;
	if (why.code == ERROR_UNAVAILABLE || why.code == ERROR_TIMEOUT) {
		*err = why;
		return -1;
	}
	*problem = why;
	return 0;
}

/* `ret_problems`: one for each template; ERROR_NONE where nothing was refused. */
static int apply_pools(struct fleet *f, const struct template_list *templates,
                       const struct provider_pools *held, struct error *ret_problems,
                       struct error *err)
{
	for (size_t i = 0; i < templates->count; i++)
		if (wants_pool(f, &templates->items[i]) &&
		    set_template_pool(f, &templates->items[i], held, &ret_problems[i], err) < 0)
			return -1;
	for (size_t i = 0; i < held->count; i++) {
		struct provider_pool gone = held->items[i];
		const struct template_record *t = find_template(templates, gone.name);

		gone.min = gone.target = gone.max = 0;
		if (*gone.name && (!t || !wants_pool(f, t)) && set_pool(f, &gone, err) < 0)
			return -1;
	}
	return 0;
}

#define CURE_TEMPLATE "look at the template: build or import it again, or set its pool to 0"

/* Why the pool of a template cannot be filled; NULL: it can. */
static const struct error *find_problem(const struct template_record *t,
                                        const struct provider_pool *has, struct error *refused)
{
	if (t->state == TEMPLATE_FAILED)
		error_set(refused, ERROR_CONFLICT, 0, HERE, "template '%s' has failed: %s", t->name,
		          t->state_text);
	if (refused->code != ERROR_NONE)
		return refused;
	return has && has->failed >= FLEET_POOL_FAILED ? &has->problem : NULL;
}

static void update_states(struct fleet *f, struct arena *a, const struct template_list *templates,
                          const struct provider_pools *held, struct error *problems)
{
	struct pool_state *states = ARENA_ARRAY(a, struct pool_state, templates->count + 1);
	size_t count = 0;

	for (size_t i = 0; i < templates->count; i++) {
		const struct template_record *t = &templates->items[i];
		const struct error *problem;
		struct pool_state *state = &states[count];

		if (t->pool_max == 0 || (t->state != TEMPLATE_FAILED && !wants_pool(f, t)))
			continue;
		problem = find_problem(t, find_pool(held, t->id), &problems[i]);
		*state = (struct pool_state){.is_shared = !*t->project_id,
		                             .is_failing = problem != NULL};
		(void)snprintf(state->template_id, sizeof(state->template_id), "%s", t->id);
		(void)snprintf(state->template_name, sizeof(state->template_name), "%s", t->name);
		if (problem) {
			state->problem = *problem;
			if (!problem->hint[0])
				error_hint(&state->problem, CURE_TEMPLATE);
		}
		count++;
	}
	pool_states_replace(f, templates, states, count);
}

/* Metrics are readable without a key: they show no names of projects' templates. */
static const char *name_of(const struct template_list *templates, const struct provider_pool *pool)
{
	const struct template_record *t = find_template(templates, pool->name);

	return t && !*t->project_id ? t->name : pool->name;
}

/* The pools that the provider does not have, because it refuses them. */
static void add_refused(struct fleet *f, const struct provider_pools *held)
{
	struct pool_counts *counts = f->pools;

	for (size_t i = 0; i < counts->state_count; i++) {
		const struct pool_state *state = &counts->states[i];
		struct fleet_pool_count *count = &counts->items[counts->count];

		if (!state->is_failing || find_pool(held, state->template_id) ||
		    counts->count == COUNT_OF(counts->items))
			continue;
		*count = (struct fleet_pool_count){.is_failing = true};
		(void)snprintf(count->template, sizeof(count->template), "%s",
		               state->is_shared ? state->template_name : state->template_id);
		counts->count++;
	}
}

static void update_counts(struct fleet *f, const struct template_list *templates,
                          const struct provider_pools *held)
{
	struct pool_counts *counts = f->pools;

	counts->count = 0;
	for (size_t i = 0; i < held->count && i < COUNT_OF(counts->items); i++) {
		const struct provider_pool *pool = &held->items[i];
		struct fleet_pool_count *count = &counts->items[counts->count++];

		*count = (struct fleet_pool_count){.is_automatic = !*pool->name,
		                                   .is_failing = pool->failed >= FLEET_POOL_FAILED,
		                                   .ready = pool->ready,
		                                   .target = pool->target,
		                                   .hits = pool->hits,
		                                   .misses = pool->misses};
		(void)snprintf(count->template, sizeof(count->template), "%s",
		               name_of(templates, pool));
	}
	add_refused(f, held);
}

int pools_reconcile(struct fleet *f, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct template_list templates;
	struct provider_pools held;
	struct error *problems = NULL;
	int status;

	if (!(f->ops->abilities & PROVIDER_CAN_POOL))
		return 0;
	/* Under the mutex, so that an older read never overwrites a newer one. */
	pthread_mutex_lock(&f->pools->mutex);
	status = f->ops->pools->list(f->provider, &a, &held, err);
	if (status == 0)
		status = store_template_list(f->store, &a, NULL, &templates, err);
	if (status == 0) {
		problems = ARENA_ARRAY(&a, struct error, templates.count + 1);
		status = apply_pools(f, &templates, &held, problems, err);
	}
	if (status == 0) {
		update_states(f, &a, &templates, &held, problems);
		update_counts(f, &templates, &held);
	}
	pthread_mutex_unlock(&f->pools->mutex);
	return status;
}

size_t fleet_pool_counts(struct fleet *fleet, struct fleet_pool_count *ret, size_t max)
{
	struct pool_counts *counts = fleet->pools;
	size_t count;

	/* Metrics are written on the loop's thread, which must not wait for a provider. */
	if (pthread_mutex_trylock(&counts->mutex) != 0)
		return 0;
	count = counts->count < max ? counts->count : max;
	memcpy(ret, counts->items, count * sizeof(*ret));
	pthread_mutex_unlock(&counts->mutex);
	return count;
}

static struct fleet_pool describe_pool(struct arena *a, const struct template_record *t,
                                       const struct provider_pools *held)
{
	const struct provider_pool *has = find_pool(held, t->id);
	struct fleet_pool pool = {.template_id = arena_text(a, t->id),
	                          .template_name = arena_text(a, t->name)};

	if (has)
		pool.state = *has;
	pool.state.min = (unsigned)t->pool_min;
	pool.state.target = (unsigned)t->pool_target;
	pool.state.max = (unsigned)t->pool_max;
	return pool;
}

static void add_problem(struct fleet *f, struct fleet_pool *pool)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&f->pools->mutex);
	const struct pool_state *state = pool_state_find(f, pool->template_id);

	if (state && state->is_failing) {
		pool->is_failing = true;
		pool->problem = state->problem;
	}
}

int fleet_pool_set(struct fleet *fleet, struct arena *a, const struct fleet_pool_change *change,
                   struct fleet_pool *ret, struct error *err)
{
	const struct fleet_ref *ref = &change->template;
	struct provider_pools held = {.count = 0};
	struct template_record t;

	if (provider_require(fleet->provider, PROVIDER_CAN_POOL, err) < 0 ||
	    store_template_find(fleet->store, a, ref->project_id, ref->id_or_name, &t, err) < 0)
		return -1;
	if (!*t.project_id && !change->may_change_shared)
		return FAIL(err, ERROR_FORBIDDEN,
		            "template '%s' is everybody's: its pool is the platform admin's to set",
		            t.name);
	t.pool_min = change->size.min;
	t.pool_target = change->size.target;
	t.pool_max = change->size.max;
	t.updated_at = clock_unix_ms();
	if (store_template_update(fleet->store, &t, err) < 0)
		return -1;
	templates_changed(fleet);
	pools_changed(fleet);
	if (fleet->ops->pools->list(fleet->provider, a, &held, err) < 0)
		return -1;
	*ret = describe_pool(a, &t, &held);
	add_problem(fleet, ret);
	return 0;
}

void pools_changed(struct fleet *f)
{
	struct error err = {0};

	/* The tick tries again. */
	if (pools_reconcile(f, &err) < 0)
		log_warning("pools wait for the next round", FAILURE(&err));
}

int fleet_pools_list(struct fleet *fleet, struct arena *a, const char *project_id,
                     bool with_automatic, struct fleet_pools *ret, struct error *err)
{
	struct provider_pools held = {.count = 0};
	struct template_list templates;
	struct fleet_pools list = {.count = 0};

	if ((fleet->ops->abilities & PROVIDER_CAN_POOL &&
	     fleet->ops->pools->list(fleet->provider, a, &held, err) < 0) ||
	    store_template_list(fleet->store, a, project_id, &templates, err) < 0)
		return -1;
	list.items = ARENA_ARRAY(a, struct fleet_pool, templates.count + held.count + 1);
	for (size_t i = 0; i < templates.count; i++) {
		if (templates.items[i].pool_max == 0)
			continue;
		list.items[list.count] = describe_pool(a, &templates.items[i], &held);
		add_problem(fleet, &list.items[list.count++]);
	}
	for (size_t i = 0; with_automatic && i < held.count; i++)
		if (!*held.items[i].name)
			list.items[list.count++] = (struct fleet_pool){.state = held.items[i]};
	*ret = list;
	return 0;
}

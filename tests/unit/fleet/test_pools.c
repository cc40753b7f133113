/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/template/recipe.h"
#include "harness.h"
#include "store/events.h"
#include "store/templates.h"
#include "fleet/server/fleet.h"
#include "fleet/template/pools.h"

#include <stdio.h>

#define HELD_MAX 8

/* What the provider holds, and how often it was told. */
static struct provider_pool held[HELD_MAX];
static size_t held_count;
static unsigned sets;
static enum error_code set_fails; /* ERROR_NONE: it does not */

static struct provider_pool *find_held(const char *name)
{
	for (size_t i = 0; i < held_count; i++)
		if (strcmp(held[i].name, name) == 0)
			return &held[i];
	return NULL;
}

static int set(UNUSED struct provider *p, const struct provider_pool *pool, UNUSED int64_t deadline,
               struct error *err)
{
	struct provider_pool *has = find_held(pool->name);

	sets++;
	if (set_fails != ERROR_NONE)
		return FAIL(err, set_fails, "no pool for you");
	if (pool->max == 0 && has) {
		*has = held[--held_count];
		return 0;
	}
	if (!has) {
		assert_true(held_count < HELD_MAX);
		has = &held[held_count++];
	}
	*has = *pool;
	return 0;
}

static int list(UNUSED struct provider *p, struct arena *a, struct provider_pools *ret,
                UNUSED struct error *err)
{
	ret->items = ARENA_ARRAY(a, struct provider_pool, held_count + 1);
	ret->count = held_count;
	memcpy(ret->items, held, sizeof(held[0]) * held_count);
	return 0;
}

static const struct pool_ops ops = {.set = set, .list = list};

static int open_pools(void **state)
{
	struct harness *h;

	if (harness_open(state) != 0)
		return -1;
	h = *state;
	h->fake.own.abilities |= PROVIDER_CAN_POOL;
	h->fake.own.pools = &ops;
	held_count = sets = 0;
	set_fails = ERROR_NONE;
	return 0;
}

static struct fleet_pool_size size_of(int64_t min, int64_t target, int64_t max)
{
	struct fleet_pool_size size;
	struct error err = {0};

	assert_done(fleet_pool_size(min, target, max, &size, &err));
	return size;
}

/* The harness's default template, which is everybody's. */
static struct fleet_pool set_pool(struct harness *h, int64_t target)
{
	struct fleet_pool_change change = {.template = {PROJECT, "host"},
	                                   .size = size_of(-1, target, -1),
	                                   .may_change_shared = true};
	struct fleet_pool pool;
	struct error err = {0};

	assert_done(fleet_pool_set(h->fleet, &h->arena, &change, &pool, &err));
	return pool;
}

static void sizes_have_defaults_and_an_order(void **state)
{
	struct fleet_pool_size size = size_of(-1, 4, -1);
	struct error err = {0};

	(void)state;
	assert_int_equal(size.min, 4);
	assert_int_equal(size.max, 8);
	size = size_of(1, 2, 3);
	assert_true(size.min == 1 && size.target == 2 && size.max == 3);
	assert_int_equal(size_of(-1, 0, -1).max, 0);
	assert_int_equal(size_of(-1, 200, -1).max, FLEET_POOL_MAX);
	assert_refused(fleet_pool_size(3, 2, -1, &size, &err), ERROR_INVALID);
	assert_refused(fleet_pool_size(1, 5, 4, &size, &err), ERROR_INVALID);
	assert_refused(fleet_pool_size(-1, FLEET_POOL_MAX + 1, -1, &size, &err), ERROR_INVALID);
}

static void a_pool_is_told_to_the_provider_at_once(void **state)
{
	struct harness *h = *state;
	struct fleet_pool pool = set_pool(h, 3);

	assert_int_equal(held_count, 1);
	assert_string_equal(held[0].name, pool.template_id);
	assert_int_equal(held[0].target, 3);
	assert_int_equal(held[0].max, 6);
	assert_true(held[0].resources.memory_mb > 0);
	set_pool(h, 0);
	assert_int_equal(held_count, 0);
}

static void what_the_provider_forgot_is_told_again_and_nothing_twice(void **state)
{
	struct harness *h = *state;

	set_pool(h, 3);
	sets = 0;
	fleet_tick(h->fleet);
	assert_int_equal(sets, 0);
	held_count = 0;
	fleet_tick(h->fleet);
	assert_int_equal(held_count, 1);
	assert_int_equal(sets, 1);
}

static void what_nobody_wants_any_more_ends(void **state)
{
	struct harness *h = *state;

	set_pool(h, 3);
	held[held_count++] = (struct provider_pool){.name = "qqqqqqqqqqqqqqqqqqqq", .max = 2};
	held[held_count++] = (struct provider_pool){.name = "", .template_dir = "host", .max = 4};
	fleet_tick(h->fleet);
	assert_null(find_held("qqqqqqqqqqqqqqqqqqqq"));
	assert_non_null(find_held("")); /* an automatic one is the provider's own */
	assert_int_equal(held_count, 2);
}

static void a_change_of_the_template_is_a_change_of_its_pool(void **state)
{
	struct harness *h = *state;
	const struct sandbox_resources small = {.memory_mb = 64};
	const struct fleet_recipe recipe = {.resources = &small};
	const struct fleet_ref nobodys = {NULL, "host"};
	struct template_record t;
	struct error err = {0};

	set_pool(h, 3);
	assert_done(fleet_template_change(h->fleet, &h->arena, &nobodys, &recipe, &t, &err));
	assert_int_equal(held_count, 1);
	assert_int_equal(held[0].resources.memory_mb, 64);
	assert_int_equal(t.pool_target, 3);
}

static void a_derived_template_has_no_pool_unless_it_asks(void **state)
{
	struct harness *h = *state;
	const struct fleet_pool_size size = {1, 2, 3};
	struct fleet_recipe recipe = {.description = "mine"};
	struct fleet_derive request = {
	        .project_id = PROJECT, .name = "mine", .from = "host", .recipe = &recipe};
	struct template_record t;
	struct error err = {0};

	set_pool(h, 3);
	assert_done(fleet_template_derive(h->fleet, &h->arena, &request, &t, &err));
	assert_int_equal(t.pool_max, 0);
	request.name = "other";
	recipe.pool = &size;
	assert_done(fleet_template_derive(h->fleet, &h->arena, &request, &t, &err));
	assert_int_equal(t.pool_target, 2);
	assert_non_null(find_held(t.id));
}

static void everybodys_template_is_the_admins_to_set(void **state)
{
	struct harness *h = *state;
	const struct fleet_pool_change change = {.template = {PROJECT, "host"}, .size = {1, 1, 1}};
	struct fleet_pool pool;
	struct error err = {0};

	assert_refused(fleet_pool_set(h->fleet, &h->arena, &change, &pool, &err), ERROR_FORBIDDEN);
}

static void a_provider_without_pools_refuses_them_and_is_left_alone(void **state)
{
	struct harness *h = *state;
	const struct fleet_pool_change change = {
	        .template = {PROJECT, "host"}, .size = {1, 1, 1}, .may_change_shared = true};
	struct fleet_pools pools;
	struct fleet_pool pool;
	struct error err = {0};

	h->fake.own.abilities &= ~(unsigned)PROVIDER_CAN_POOL;
	h->fake.own.pools = NULL;
	assert_refused(fleet_pool_set(h->fleet, &h->arena, &change, &pool, &err),
	               ERROR_UNSUPPORTED);
	assert_done(fleet_pools_list(h->fleet, &h->arena, PROJECT, true, &pools, &err));
	assert_int_equal(pools.count, 0);
	fleet_tick(h->fleet);
}

static void lists_and_counts_tell_what_is_there(void **state)
{
	struct harness *h = *state;
	struct fleet_pool_count counts[4];
	struct fleet_pools pools;
	struct error err = {0};

	set_pool(h, 3);
	held[0].ready = 2;
	held[0].hits = 7;
	held[held_count++] = (struct provider_pool){.template_dir = "host", .misses = 5};
	fleet_tick(h->fleet);
	assert_done(fleet_pools_list(h->fleet, &h->arena, PROJECT, false, &pools, &err));
	assert_int_equal(pools.count, 1);
	assert_string_equal(pools.items[0].template_name, "host");
	assert_int_equal(pools.items[0].state.ready, 2);
	assert_done(fleet_pools_list(h->fleet, &h->arena, PROJECT, true, &pools, &err));
	assert_int_equal(pools.count, 2);
	assert_null(pools.items[1].template_id);
	assert_int_equal(fleet_pool_counts(h->fleet, counts, 1), 1);
	assert_int_equal(fleet_pool_counts(h->fleet, counts, 4), 2);
	assert_string_equal(counts[0].template, "host");
	assert_int_equal(counts[0].hits, 7);
	assert_true(counts[1].is_automatic);
	assert_int_equal(counts[1].misses, 5);
}

static size_t count_events(struct harness *h, const char *kind)
{
	struct event_list list;
	struct error err = {0};

	assert_done(store_event_list(h->store, &h->arena,
	                             &(struct event_page){.pattern = kind, .limit = 100}, &list,
	                             &err));
	return list.count;
}

static struct fleet_pool only_pool(struct harness *h)
{
	struct fleet_pools pools;
	struct error err = {0};

	assert_done(fleet_pools_list(h->fleet, &h->arena, PROJECT, false, &pools, &err));
	assert_int_equal(pools.count, 1);
	return pools.items[0];
}

static void a_pool_that_fails_three_times_is_told_once_until_it_is_filled(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	size_t count;

	set_pool(h, 3);
	held[0].failed = 2;
	(void)!FAIL(&held[0].problem, ERROR_NOT_FOUND, "its folder is gone");
	fleet_tick(h->fleet);
	assert_false(only_pool(h).is_failing);
	held[0].failed = 3;
	fleet_tick(h->fleet);
	fleet_tick(h->fleet);
	assert_true(only_pool(h).is_failing);
	assert_string_equal(only_pool(h).problem.text, "its folder is gone");
	assert_true(only_pool(h).problem.hint[0]);
	assert_int_equal(count_events(h, "pool.failed"), 1);
	/* The template is everybody's: the server is not ready. */
	assert_refused(fleet_pools_check_shared(h->fleet, &count, &err), ERROR_UNAVAILABLE);
	assert_int_equal(count, 1);
	assert_non_null(strstr(err.text, "the pool of template 'host' cannot be filled"));
	held[0].failed = 0;
	fleet_tick(h->fleet);
	assert_false(only_pool(h).is_failing);
	assert_int_equal(count_events(h, "pool.recovered"), 1);
	error_clear(&err);
	assert_done(fleet_pools_check_shared(h->fleet, &count, &err));
}

static void a_pool_that_the_provider_refuses_is_its_own_problem(void **state)
{
	struct harness *h = *state;
	struct fleet_pool_count counts[4];

	set_pool(h, 3);
	held_count = 0;
	set_fails = ERROR_INVALID;
	fleet_tick(h->fleet);
	assert_true(only_pool(h).is_failing);
	assert_non_null(strstr(only_pool(h).problem.text, "no pool for you"));
	assert_int_equal(fleet_pool_counts(h->fleet, counts, 4), 1);
	assert_true(counts[0].is_failing);
	assert_string_equal(counts[0].template, "host");
	/* A provider that is away is no fault of a pool. */
	set_fails = ERROR_NONE;
	fleet_tick(h->fleet);
	assert_false(only_pool(h).is_failing);
	held_count = 0;
	set_fails = ERROR_UNAVAILABLE;
	fleet_tick(h->fleet);
	assert_false(only_pool(h).is_failing);
}

#define POOLS(name) cmocka_unit_test_setup_teardown(name, open_pools, harness_close)

int main(void)
{
	return RUN_EACH(POOLS(sizes_have_defaults_and_an_order),
	                POOLS(a_pool_is_told_to_the_provider_at_once),
	                POOLS(what_the_provider_forgot_is_told_again_and_nothing_twice),
	                POOLS(what_nobody_wants_any_more_ends),
	                POOLS(a_change_of_the_template_is_a_change_of_its_pool),
	                POOLS(a_derived_template_has_no_pool_unless_it_asks),
	                POOLS(everybodys_template_is_the_admins_to_set),
	                POOLS(a_provider_without_pools_refuses_them_and_is_left_alone),
	                POOLS(lists_and_counts_tell_what_is_there),
	                POOLS(a_pool_that_fails_three_times_is_told_once_until_it_is_filled),
	                POOLS(a_pool_that_the_provider_refuses_is_its_own_problem));
}

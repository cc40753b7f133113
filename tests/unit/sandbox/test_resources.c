/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "sandbox/sandbox.h"

static const struct sandbox_resources no_cap = {0};

TEST(the_first_layer_that_gives_a_field_wins_field_by_field)
{
	const struct sandbox_resources layers[] = {
	        {.memory_mb = 256},
	        {.cpu = 2, .memory_mb = 512},
	        SANDBOX_BUILT_IN_RESOURCES,
	};
	struct sandbox_resources r = sandbox_resources_resolve(layers, 3, &no_cap);

	assert_true(r.cpu == 2);
	assert_int_equal(r.memory_mb, 256);
	assert_int_equal(r.disk_mb, 1024);
	assert_int_equal(r.pids, 512);
}

TEST(what_nobody_gives_stays_zero)
{
	struct sandbox_resources r = sandbox_resources_resolve(NULL, 0, &no_cap);

	assert_true(r.cpu == 0);
	assert_int_equal(r.memory_mb, 0);
}

TEST(the_cap_clamps_only_what_it_names_and_only_downwards)
{
	const struct sandbox_resources asked = {
	        .cpu = 8, .memory_mb = 100, .disk_mb = 9, .pids = 99};
	const struct sandbox_resources cap = {.cpu = 4, .memory_mb = 200, .pids = 64};
	struct sandbox_resources r = sandbox_resources_resolve(&asked, 1, &cap);

	assert_true(r.cpu == 4);
	assert_int_equal(r.memory_mb, 100);
	assert_int_equal(r.disk_mb, 9);
	assert_int_equal(r.pids, 64);
}

TEST(the_bounds_themselves_are_allowed)
{
	static const struct sandbox_resources good[] = {
	        {0},
	        SANDBOX_BUILT_IN_RESOURCES,
	        {.cpu = 0.01, .memory_mb = 16, .disk_mb = 16, .pids = 8},
	        {.cpu = 1024, .memory_mb = 16 << 20, .disk_mb = 1 << 30, .pids = 1 << 22},
	};

	for (size_t i = 0; i < COUNT_OF(good); i++) {
		struct error err = {0};

		assert_int_equal(sandbox_resources_check(&good[i], &err), 0);
	}
}

TEST(what_is_negative_too_small_too_large_or_no_number_is_refused_by_name)
{
	static const struct {
		struct sandbox_resources resources;
		const char *name;
	} bad[] = {
	        {{.cpu = -1}, "cpu"},
	        {{.cpu = 0.001}, "cpu"},
	        {{.cpu = 1024.5}, "cpu"},
	        {{.cpu = NAN}, "cpu"},
	        {{.cpu = INFINITY}, "cpu"},
	        {{.memory_mb = -1}, "memory"},
	        {{.memory_mb = 15}, "memory"},
	        {{.memory_mb = INT64_MAX}, "memory"},
	        {{.disk_mb = INT64_MIN}, "disk"},
	        {{.disk_mb = 15}, "disk"},
	        {{.pids = 7}, "pids"},
	        {{.pids = (1 << 22) + 1}, "pids"},
	};

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct error err = {0};

		assert_int_equal(sandbox_resources_check(&bad[i].resources, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_int_equal(strncmp(err.text, bad[i].name, strlen(bad[i].name)), 0);
	}
}

int main(void)
{
	return RUN(CASE(the_first_layer_that_gives_a_field_wins_field_by_field),
	           CASE(what_nobody_gives_stays_zero),
	           CASE(the_cap_clamps_only_what_it_names_and_only_downwards),
	           CASE(the_bounds_themselves_are_allowed),
	           CASE(what_is_negative_too_small_too_large_or_no_number_is_refused_by_name));
}

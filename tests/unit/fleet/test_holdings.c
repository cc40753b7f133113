/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept is metered as of a time that the test says. */
#include "fleet/core/fleet_state.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/server/fleet.h"
#include "fleet/usage/meters.h"
#include "harness.h"
#include "provider/provider.h"
#include "store/backups.h"
#include "store/sandboxes.h"
#include "store/snapshots.h"
#include "store/usage.h"
#include "store/volumes.h"

#include <unistd.h>

#define MIB (INT64_C(1) << 20)
#define GIB (INT64_C(1) << 30)
#define HOUR USAGE_HOUR_MS

static int64_t now; /* the beginning of an hour, long ago */

/* A GiB costs 730 dollars a month, which is one an hour. */
static int open_priced(void **state)
{
	int result = harness_open(state);
	struct harness *h = *state;

	h->config.price_storage_gib_month = 730;
	h->fake.own.abilities |= PROVIDER_CAN_MEASURE;
	h->fake.measured_bytes = GIB;
	harness_restart(h);
	now = clock_unix_ms();
	now -= now % HOUR + 1000 * HOUR;
	return result;
}

static void meter(struct harness *h, int64_t at)
{
	struct error err = {0};

	assert_done(holdings_meter(h->fleet, at, &err));
}

static void add_volume(struct harness *h, int64_t created_at)
{
	const struct volume_record r = {.id = "vvvvvvvvvvvvvvvvvvvv",
	                                .project_id = PROJECT,
	                                .name = "data",
	                                .provider = "fake",
	                                .node = h->fleet->node,
	                                .state = VOLUME_READY,
	                                .created_at = created_at};
	struct error err = {0};

	assert_done(store_volume_insert(h->store, &r, 100, &err));
}

static void add_snapshot(struct harness *h, int64_t created_at)
{
	const struct snapshot_record r = {.id = "ssssssssssssssssssss",
	                                  .project_id = PROJECT,
	                                  .name = "snap",
	                                  .sandbox_id = "bbbbbbbbbbbbbbbbbbbb",
	                                  .provider = "fake",
	                                  .node = h->fleet->node,
	                                  .state = SNAPSHOT_READY,
	                                  .created_at = created_at};
	struct error err = {0};

	assert_done(store_snapshot_insert(h->store, &r, 100, &err));
}

static void add_backup(struct harness *h, int64_t created_at)
{
	const struct backup_record r = {.id = "aaaaaaaaaaaaaaaaaaaa",
	                                .project_id = PROJECT,
	                                .name = "kept",
	                                .holder_id = "",
	                                .node = h->fleet->node,
	                                .state = BACKUP_READY,
	                                .size_bytes = 3 * GIB,
	                                .created_at = created_at};
	struct error err = {0};

	assert_done(store_backup_insert(h->store, &r, 100, &err));
}

/* Of one reason; zeros when there is nothing. */
static struct usage_sum sum_of(struct harness *h, const char *reason)
{
	const struct usage_query query = {.project_id = PROJECT,
	                                  .to = INT64_MAX,
	                                  .group = USAGE_BY_REASON,
	                                  .after_day = -1,
	                                  .after_name = "",
	                                  .limit = 100};
	struct usage_sums sums;
	struct error err = {0};

	assert_done(store_usage_sum(h->store, &h->arena, &query, &sums, &err));
	for (size_t i = 0; i < sums.count; i++)
		if (strcmp(sums.items[i].name, reason) == 0)
			return sums.items[i];
	return (struct usage_sum){0};
}

static void a_volume_costs_what_it_holds_for_as_long_as_it_is_there(void **state)
{
	struct harness *h = *state;

	add_volume(h, now);
	meter(h, now + HOUR / 4);
	assert_int_equal(sum_of(h, "volume").storage_mib_s, 1024 * 900);
	assert_int_equal(sum_of(h, "volume").usd_micro, 250000);
	meter(h, now + HOUR);
	assert_int_equal(sum_of(h, "volume").storage_mib_s, 1024 * 3600);
	assert_int_equal(sum_of(h, "volume").usd_micro, 1000000);
}

static void what_is_younger_than_a_quarter_of_an_hour_waits(void **state)
{
	struct harness *h = *state;

	add_volume(h, now);
	meter(h, now + HOUR / 4 - 1);
	assert_int_equal(h->fake.calls[CALL_MEASURE], 0);
	assert_int_equal(sum_of(h, "volume").storage_mib_s, 0);
}

static void nothing_is_counted_twice(void **state)
{
	struct harness *h = *state;

	add_volume(h, now);
	meter(h, now + HOUR / 2);
	meter(h, now + HOUR / 2);
	meter(h, now + HOUR / 2 + 1000);
	assert_int_equal(sum_of(h, "volume").storage_mib_s, 1024 * 1800);
}

static void time_before_anybody_measured_is_not_charged_for_all_of_it(void **state)
{
	struct harness *h = *state;

	add_volume(h, now);
	meter(h, now + 500 * HOUR);
	assert_int_equal(sum_of(h, "volume").storage_mib_s, 1024 * 1800);
}

static void time_without_a_server_is_counted_once_it_is_known(void **state)
{
	struct harness *h = *state;

	add_volume(h, now);
	meter(h, now + HOUR / 4);
	harness_restart(h);
	meter(h, now + 10 * HOUR);
	assert_int_equal(sum_of(h, "volume").storage_mib_s, 10 * 1024 * 3600);
	assert_int_equal(sum_of(h, "volume").usd_micro, 10000000);
}

static void what_may_grow_is_measured_again_after_an_hour(void **state)
{
	struct harness *h = *state;

	add_volume(h, now);
	meter(h, now + HOUR / 2);
	h->fake.measured_bytes = 2 * GIB;
	meter(h, now + HOUR);
	assert_int_equal(h->fake.calls[CALL_MEASURE], 1);
	meter(h, now + 3 * HOUR / 2);
	assert_int_equal(h->fake.calls[CALL_MEASURE], 2);
	/* An hour of one GiB, then half of one with two. */
	assert_int_equal(sum_of(h, "volume").storage_mib_s, 2 * 1024 * 3600);
}

static void a_snapshot_is_its_sandboxs_and_is_measured_once_a_day(void **state)
{
	const struct usage_query query = {.project_id = PROJECT,
	                                  .sandbox_id = "bbbbbbbbbbbbbbbbbbbb",
	                                  .to = INT64_MAX,
	                                  .group = USAGE_BY_NOTHING,
	                                  .after_day = -1,
	                                  .after_name = "",
	                                  .limit = 100};
	struct harness *h = *state;
	struct usage_sums sums;
	struct error err = {0};

	h->fake.measured_bytes = 10 * MIB;
	add_snapshot(h, now);
	for (unsigned i = 1; i <= 20; i++)
		meter(h, now + i * HOUR / 2);
	assert_int_equal(h->fake.calls[CALL_MEASURE], 1);
	assert_done(store_usage_sum(h->store, &h->arena, &query, &sums, &err));
	assert_int_equal(sums.items[0].storage_mib_s, 10 * 36000);
	meter(h, now + 25 * HOUR);
	assert_int_equal(h->fake.calls[CALL_MEASURE], 2);
}

static void a_backup_costs_its_blob_and_asks_no_provider(void **state)
{
	struct harness *h = *state;

	add_backup(h, now);
	meter(h, now + HOUR / 2);
	assert_int_equal(h->fake.calls[CALL_MEASURE], 0);
	assert_int_equal(sum_of(h, "backup").storage_mib_s, 3 * 1024 * 1800);
	assert_int_equal(sum_of(h, "backup").usd_micro, 1500000);
}

static void what_cannot_be_measured_waits_and_spares_the_others(void **state)
{
	struct harness *h = *state;

	add_backup(h, now);
	add_volume(h, now);
	fake_fail(&h->fake, CALL_MEASURE, true);
	meter(h, now + HOUR / 4);
	assert_int_equal(sum_of(h, "volume").storage_mib_s, 0);
	assert_true(sum_of(h, "backup").storage_mib_s > 0);
	fake_fail(&h->fake, CALL_MEASURE, false);
	/* It has had its turn. */
	meter(h, now + HOUR / 2);
	assert_int_equal(h->fake.calls[CALL_MEASURE], 1);
	meter(h, now + 5 * HOUR / 4);
	assert_int_equal(h->fake.calls[CALL_MEASURE], 2);
	assert_int_equal(sum_of(h, "volume").storage_mib_s, 1024 * 4500);
	/* Once it is known, the last size does. */
	fake_fail(&h->fake, CALL_MEASURE, true);
	meter(h, now + 3 * HOUR);
	assert_int_equal(h->fake.calls[CALL_MEASURE], 3);
	assert_int_equal(sum_of(h, "volume").storage_mib_s, 3 * 1024 * 3600);
	meter(h, now + 7 * HOUR / 2);
	assert_int_equal(h->fake.calls[CALL_MEASURE], 3);
	assert_int_equal(sum_of(h, "volume").storage_mib_s, 7 * 1024 * 1800);
}

static void a_server_that_ends_measures_nothing_more(void **state)
{
	struct harness *h = *state;

	add_volume(h, now);
	fleet_end(h->fleet);
	fleet_end(NULL);
	meter(h, now + HOUR / 2);
	assert_int_equal(h->fake.calls[CALL_MEASURE], 0);
	harness_restart(h);
	meter(h, now + HOUR / 2);
	assert_int_equal(sum_of(h, "volume").storage_mib_s, 1024 * 1800);
}

static void a_provider_that_cannot_measure_is_not_asked(void **state)
{
	struct harness *h = *state;

	h->fake.own.abilities &= ~(unsigned)PROVIDER_CAN_MEASURE;
	add_volume(h, now);
	meter(h, now + HOUR);
	assert_int_equal(h->fake.calls[CALL_MEASURE], 0);
	assert_int_equal(sum_of(h, "volume").storage_mib_s, 0);
}

static void a_stopped_sandbox_costs_its_files_until_it_is_started(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create_with(h, (struct fleet_create){.key_id = "maker"});
	struct fleet_ref ref = {PROJECT, r.id, NULL};
	struct error err = {0};
	int64_t stopped;

	meter(h, clock_unix_ms() + HOUR);
	assert_int_equal(h->fake.calls[CALL_MEASURE], 0);
	assert_done(fleet_stop(h->fleet, &h->arena, &ref, &r, &err));
	stopped = find(h, r.id).active_changed_at;
	meter(h, stopped + HOUR / 2);
	assert_int_equal(h->fake.calls[CALL_MEASURE], 1);
	/* An hour may begin in between: each piece is cut. */
	assert_in_range(sum_of(h, "storage").storage_mib_s, 1024 * 1800 - 1, 1024 * 1800);
	assert_done(fleet_start(h->fleet, &h->arena, &ref, &r, &err));
	meter(h, stopped + 2 * HOUR);
	assert_in_range(sum_of(h, "storage").storage_mib_s, 1024 * 1800 - 1, 1024 * 1800);
}

static void move(struct harness *h, const char *id, const enum sandbox_state states[2], int64_t at)
{
	const struct sandbox_move m = {.id = id,
	                               .from = states[0],
	                               .to = states[1],
	                               .desired = -1,
	                               .event = "test",
	                               .now = at};
	struct error err = {0};

	assert_done(store_sandbox_move(h->store, &m, &err));
}

/* Metered when it goes, and again from when it is back. */
static void a_month_in_the_archive_is_not_charged_as_files(void **state)
{
	static const enum sandbox_state steps[] = {SANDBOX_STARTED,  SANDBOX_STOPPING,
	                                           SANDBOX_STOPPED,  SANDBOX_ARCHIVED,
	                                           SANDBOX_CREATING, SANDBOX_STARTED};
	struct harness *h = *state;
	struct sandbox_record r = create_with(h, (struct fleet_create){.persistent = true});
	int64_t made = r.created_at, back = made + 720 * HOUR;
	struct error err = {0};

	for (unsigned i = 0; i < 2; i++)
		move(h, r.id, &steps[i], made);
	while (clock_unix_ms() < made + 1000)
		(void)usleep(10000);
	assert_done(holdings_meter_sandbox(h->fleet, r.id, &err));
	assert_done(holdings_meter_sandbox(h->fleet, "nosuch", &err));
	assert_in_range(sum_of(h, "storage").storage_mib_s, 1023, 1024 * 60);
	move(h, r.id, &steps[2], made);
	for (unsigned i = 3; i < 5; i++)
		move(h, r.id, &steps[i], back);
	meter(h, back + HOUR);
	assert_in_range(sum_of(h, "storage").storage_mib_s, 1024 * 3600, 1024 * 3661);
}

#define PRICED(name) cmocka_unit_test_setup_teardown(name, open_priced, harness_close)

int main(void)
{
	return RUN_EACH(PRICED(a_volume_costs_what_it_holds_for_as_long_as_it_is_there),
	                PRICED(what_is_younger_than_a_quarter_of_an_hour_waits),
	                PRICED(nothing_is_counted_twice),
	                PRICED(time_before_anybody_measured_is_not_charged_for_all_of_it),
	                PRICED(time_without_a_server_is_counted_once_it_is_known),
	                PRICED(what_may_grow_is_measured_again_after_an_hour),
	                PRICED(a_snapshot_is_its_sandboxs_and_is_measured_once_a_day),
	                PRICED(a_backup_costs_its_blob_and_asks_no_provider),
	                PRICED(what_cannot_be_measured_waits_and_spares_the_others),
	                PRICED(a_server_that_ends_measures_nothing_more),
	                PRICED(a_month_in_the_archive_is_not_charged_as_files),
	                PRICED(a_provider_that_cannot_measure_is_not_asked),
	                PRICED(a_stopped_sandbox_costs_its_files_until_it_is_started));
}

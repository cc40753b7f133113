/* SPDX-License-Identifier: Apache-2.0 */
/* The wall clock is set: times of sandboxes move with it, and nothing is removed for a while. */
#include "harness.h"
#include "store/sandbox_record.h"
#include "fleet/lifecycle/create.h"
#include "fleet/recovery/retention.h"
#include "fleet/server/fleet.h"
#include "fleet/server/pair.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NODE "nodenodenodenodenode"
#define HOUR INT64_C(3600000)
#define DAY (24 * HOUR)
#define YEAR (365 * DAY)
#define HOLD HOUR

static volatile int64_t *offset; /* of this process's wall clock, as of base/fault.h */

static void open_offset(void)
{
	char path[] = "/tmp/atoll-jump.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, sizeof(*offset)), 0);
	offset = mmap(NULL, sizeof(*offset), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(offset != MAP_FAILED);
	(void)close(fd);
	(void)setenv("ATOLL_FAULT_CLOCK", path, 1);
	(void)clock_unix_ms();
	(void)unlink(path);
}

static void restart(struct harness *h)
{
	struct error err = {0};

	harness_stop(h);
	harness_start(h);
	assert_done(fleet_pair(h->fleet, FLEET_CLAIM_CHECK, &err));
	assert_done(fleet_recover(h->fleet, &err));
}

static int open_node(void **state)
{
	struct harness *h;
	char folder[80];

	*offset = 0;
	assert_int_equal(harness_open(state), 0);
	h = *state;
	(void)snprintf(h->data_dir, sizeof(h->data_dir), "/tmp/atoll-jump.XXXXXX");
	assert_non_null(mkdtemp(h->data_dir));
	(void)snprintf(folder, sizeof(folder), "%s/pairing", h->data_dir);
	assert_int_equal(mkdir(folder, 0700), 0);
	h->node = NODE;
	h->config.clock_hold_ms = HOLD;
	restart(h);
	return 0;
}

static int close_node(void **state)
{
	struct harness *h = *state;
	char command[160];

	(void)snprintf(command, sizeof(command), "rm -r %s", h->data_dir);
	assert_int_equal(system(command), 0);
	return harness_close(state);
}

static struct sandbox_record create_timed(struct harness *h)
{
	return create_with(h, (struct fleet_create){.timeouts.idle_reap_ms = 2 * HOUR,
	                                            .timeout_ms = 3 * HOUR});
}

static void assert_moved(int64_t now, int64_t before, int64_t by)
{
	assert_true(now - before - by > -5000 && now - before - by < 5000);
}

static void a_clock_that_goes_forward_ends_no_sandbox(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create_timed(h), moved;

	*offset = YEAR;
	fleet_tick(h->fleet);
	moved = find(h, r.id);
	assert_int_equal(moved.actual, SANDBOX_STARTED);
	assert_moved(moved.timeout_at, r.timeout_at, YEAR);
	assert_moved(moved.created_at, r.created_at, YEAR);
	assert_moved(moved.last_activity_at, r.last_activity_at, YEAR);
	/* What was not set is not set. */
	assert_int_equal(moved.stopped_at, 0);
	assert_int_equal(fleet_clock_get(h->fleet).jumps, 1);
}

static void a_clock_that_goes_back_lets_timeouts_come_in_time(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r;

	*offset = YEAR;
	fleet_tick(h->fleet);
	r = create_timed(h);
	*offset = 0;
	fleet_tick(h->fleet);
	assert_moved(find(h, r.id).timeout_at, r.timeout_at, -YEAR);
	/* And three hours later by both clocks, which a test cannot wait for, it would be over:
	 * what is left of it is what was left. */
	assert_true(find(h, r.id).timeout_at - clock_unix_ms() <= 3 * HOUR);
}

static void what_is_kept_for_a_time_goes_by_the_old_clock_until_the_hold_is_over(void **state)
{
	struct harness *h = *state;

	assert_moved(fleet_retention_ms(h->fleet), clock_unix_ms(), 0);
	*offset = YEAR;
	fleet_tick(h->fleet);
	assert_moved(fleet_retention_ms(h->fleet), clock_unix_ms(), -YEAR);
	assert_true(fleet_clock_get(h->fleet).held_s > 0);
	/* The operator sets it right: it is as if nothing had been. */
	*offset = 0;
	fleet_tick(h->fleet);
	assert_moved(fleet_retention_ms(h->fleet), clock_unix_ms(), 0);
	assert_int_equal(fleet_clock_get(h->fleet).held_s, 0);
}

static void without_a_hold_the_new_clock_counts_at_once(void **state)
{
	struct harness *h = *state;

	h->config.clock_hold_ms = 0;
	*offset = YEAR;
	fleet_tick(h->fleet);
	assert_moved(fleet_retention_ms(h->fleet), clock_unix_ms(), 0);
}

static void a_hold_ends(void **state)
{
	struct harness *h = *state;
	int64_t end = clock_monotonic_ms() + 10000;

	h->config.clock_hold_ms = 1;
	*offset = YEAR;
	fleet_tick(h->fleet);
	while (clock_unix_ms() - fleet_retention_ms(h->fleet) > HOUR) {
		assert_true(clock_monotonic_ms() < end);
		fleet_tick(h->fleet);
	}
	assert_moved(fleet_retention_ms(h->fleet), clock_unix_ms(), 0);
}

static void a_time_service_that_corrects_a_little_moves_nothing(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create_timed(h);

	*offset = 20000;
	fleet_tick(h->fleet);
	assert_int_equal(find(h, r.id).timeout_at, r.timeout_at);
	assert_int_equal(fleet_clock_get(h->fleet).jumps, 0);
}

static void a_clock_that_was_set_while_the_server_was_down_is_noticed_at_its_start(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create_timed(h);

	*offset = YEAR;
	restart(h);
	assert_int_equal(find(h, r.id).actual, SANDBOX_STARTED);
	assert_moved(find(h, r.id).timeout_at, r.timeout_at, YEAR);
	fleet_tick(h->fleet);
	assert_int_equal(find(h, r.id).actual, SANDBOX_STARTED);
	/* The hold goes on over another start. */
	restart(h);
	assert_moved(fleet_retention_ms(h->fleet), clock_unix_ms(), -YEAR);
	assert_int_equal(find(h, r.id).actual, SANDBOX_STARTED);
}

/* After a start of the machine nobody can tell a clock that was set from time that has passed. */
static void a_long_absence_holds_removals_and_moves_nothing(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create_timed(h);
	char path[96], line[200];
	int64_t now = clock_unix_ms();
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/pairing/clock", h->data_dir);
	file = fopen(path, "w");
	assert_non_null(file);
	(void)snprintf(line, sizeof(line), "atoll-clock-1 another-boot 1 %lld 0 0 0\n",
	               (long long)(now - 30 * DAY));
	assert_true(fputs(line, file) >= 0 && fclose(file) == 0);
	restart(h);
	assert_int_equal(find(h, r.id).timeout_at, r.timeout_at);
	assert_moved(fleet_retention_ms(h->fleet), now, -30 * DAY);
}

#define NODE_CASE(name) cmocka_unit_test_setup_teardown(name, open_node, close_node)
int main(void)
{
	open_offset();
	return RUN_EACH(
	        NODE_CASE(a_clock_that_goes_forward_ends_no_sandbox),
	        NODE_CASE(a_clock_that_goes_back_lets_timeouts_come_in_time),
	        NODE_CASE(what_is_kept_for_a_time_goes_by_the_old_clock_until_the_hold_is_over),
	        NODE_CASE(without_a_hold_the_new_clock_counts_at_once), NODE_CASE(a_hold_ends),
	        NODE_CASE(a_time_service_that_corrects_a_little_moves_nothing),
	        NODE_CASE(a_clock_that_was_set_while_the_server_was_down_is_noticed_at_its_start),
	        NODE_CASE(a_long_absence_holds_removals_and_moves_nothing));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/cache.h"
#include "fleet/core/cache_state.h"
#include "fleet/core/operation.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/recovery/trash.h"
#include "fleet/server/fleet.h"
#include "harness.h"
#include "store/sandbox_record.h"

#include <pthread.h>

#define ID "oooooooooooooooooooo"

static const struct fleet_create request = {.project_id = PROJECT, .id = ID, .wait = true};

struct creator {
	struct harness *h;
	int result;
	struct error err;
};

static void *create_with_id(void *context)
{
	struct creator *creator = context;
	AUTO(arena_done) struct arena arena = {0};
	struct sandbox_record r;

	creator->result = fleet_create(creator->h->fleet, &arena, &request, &r, &creator->err);
	return NULL;
}

static void a_second_create_of_an_id_leaves_the_operation_of_the_first_alone(void **state)
{
	struct harness *h = *state;
	struct creator first = {.h = h}, second = {.h = h};
	struct fleet_counts counts;
	struct error err = {0};
	pthread_t thread;
	bool is_busy;

	h->fleet->new_wait_ms = 0;
	fake_gate(&h->fake, true);
	assert_int_equal(pthread_create(&thread, NULL, create_with_id, &first), 0);
	fake_wait_at_gate(&h->fake);
	(void)create_with_id(&second);
	is_busy = cache_is_busy(h->fleet->cache, ID);
	fake_gate(&h->fake, false);
	(void)pthread_join(thread, NULL);
	assert_int_equal(second.result, -1);
	assert_int_equal(second.err.code, ERROR_TIMEOUT);
	assert_true(is_busy);
	err = first.err;
	assert_done(first.result);
	assert_int_equal(h->fake.calls[CALL_CREATE], 1);
	counts = fleet_counts_get(h->fleet);
	for (unsigned i = 0; i < SANDBOX_STATE_COUNT; i++)
		assert_int_equal(counts.by_state[i], i == SANDBOX_STARTED);
	assert_int_equal(counts.held, 0);
	assert_false(cache_is_busy(h->fleet->cache, ID));
	assert_done(fleet_delete(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, ID},
	                         SANDBOX_REASON_USER, &err));
	assert_gone(h, ID);
	assert_int_equal(h->fleet->cache->by_id.count, 0);
}

static void what_is_in_the_trash_waits_for_the_operation_on_it(void **state)
{
	struct harness *h = *state;
	struct operation op;
	struct error err = {0};

	h->fleet->new_wait_ms = 0;
	assert_done(operation_begin_new(h->fleet, &h->arena, ID, &op, &err));
	assert_refused(fleet_trash_recover(h->fleet, ID, &err), ERROR_TIMEOUT);
	assert_true(cache_is_busy(h->fleet->cache, ID));
	operation_end(&op);
	assert_refused(fleet_trash_recover(h->fleet, ID, &err), ERROR_UNSUPPORTED);
	assert_int_equal(h->fleet->cache->by_id.count, 0);
}

int main(void)
{
	return RUN_EACH(EACH(a_second_create_of_an_id_leaves_the_operation_of_the_first_alone),
	                EACH(what_is_in_the_trash_waits_for_the_operation_on_it));
}

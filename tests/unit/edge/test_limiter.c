/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "edge/limiter.h"
#include "unit.h"

TEST(a_key_has_as_many_requests_as_it_may_and_no_more)
{
	struct api_limiter *l = api_limiter_new(2);
	struct api_limiter_slot *slots[3] = {NULL};
	struct error err = {.code = ERROR_NONE};

	assert_int_equal(api_limiter_take(l, "k", &slots[0], &err), 0);
	assert_int_equal(api_limiter_take(l, "k", &slots[1], &err), 0);
	assert_int_equal(api_limiter_take(l, "k", &slots[2], &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
	assert_null(slots[2]);
	api_limiter_give(l, slots[0]);
	assert_int_equal(api_limiter_take(l, "k", &slots[2], &err), 0);
	api_limiter_give(l, slots[1]);
	api_limiter_give(l, slots[2]);
	api_limiter_free(l);
}

TEST(a_request_that_had_a_place_gets_one_again_without_a_bound)
{
	struct api_limiter *l = api_limiter_new(1);
	struct api_limiter_slot *first, *again, *none = NULL;
	struct error err;

	assert_int_equal(api_limiter_take(l, "k", &first, &err), 0);
	again = api_limiter_take_again(l, "k");
	api_limiter_give(l, first);
	assert_false(api_limiter_has_room(l, "k"));
	assert_int_equal(api_limiter_take(l, "k", &none, &err), -1);
	api_limiter_give(l, again);
	assert_true(api_limiter_has_room(l, "k"));
	api_limiter_give(l, api_limiter_take_again(l, "k"));
	api_limiter_free(l);
}

TEST(keys_do_not_count_for_each_other)
{
	struct api_limiter *l = api_limiter_new(1);
	struct api_limiter_slot *a, *b;
	struct error err;

	assert_int_equal(api_limiter_take(l, "a", &a, &err), 0);
	assert_int_equal(api_limiter_take(l, "b", &b, &err), 0);
	api_limiter_give(l, a);
	api_limiter_give(l, b);
	api_limiter_give(l, NULL);
	api_limiter_free(l);
	api_limiter_free(NULL);
}

static void *take_and_give(void *context)
{
	struct api_limiter_slot *slot;
	struct error err;

	for (int i = 0; i < 2000; i++) {
		if (api_limiter_take(context, "k", &slot, &err) == 0)
			api_limiter_give(context, slot);
	}
	return NULL;
}

TEST(many_threads_leave_nothing_behind)
{
	struct api_limiter *l = api_limiter_new(2);
	struct api_limiter_slot *slots[2];
	pthread_t threads[4];
	struct error err;

	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, l), 0);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(api_limiter_take(l, "k", &slots[0], &err), 0);
	assert_int_equal(api_limiter_take(l, "k", &slots[1], &err), 0);
	api_limiter_give(l, slots[0]);
	api_limiter_give(l, slots[1]);
	api_limiter_free(l);
}

int main(void)
{
	return RUN(CASE(a_key_has_as_many_requests_as_it_may_and_no_more),
	           CASE(a_request_that_had_a_place_gets_one_again_without_a_bound),
	           CASE(keys_do_not_count_for_each_other), CASE(many_threads_leave_nothing_behind));
}

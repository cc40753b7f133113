/* SPDX-License-Identifier: Apache-2.0 */
#include "sign_in/gate.h"

#include <pthread.h>
#include <stdatomic.h>

#include "unit.h"

#define PASSWORD "correct horse battery"

TEST(a_password_matches_its_hash_and_nobodys_never)
{
	struct password_gate *g = password_gate_new();
	char hash[PASSWORD_HASH_SIZE];
	struct error err = {0};
	bool matches;

	assert_int_equal(password_gate_hash(g, PASSWORD, hash, &err), 0);
	assert_int_equal(password_gate_check(g, hash, PASSWORD, &matches, &err), 0);
	assert_true(matches);
	assert_int_equal(password_gate_check(g, hash, "another password", &matches, &err), 0);
	assert_false(matches);
	assert_int_equal(password_gate_check(g, "", PASSWORD, &matches, &err), 0);
	assert_false(matches);
	password_gate_free(g);
}

struct crowd {
	struct password_gate *gate;
	char hash[PASSWORD_HASH_SIZE];
	atomic_uint right, refused;
};

static void *enter(void *context)
{
	struct crowd *crowd = context;
	struct error err = {0};
	bool matches = false;

	if (password_gate_check(crowd->gate, crowd->hash, PASSWORD, &matches, &err) == 0)
		crowd->right += matches;
	else
		crowd->refused += err.code == ERROR_UNAVAILABLE && err.retry_after_s > 0;
	return NULL;
}

TEST(a_crowd_is_served_or_told_to_come_again)
{
	enum { COUNT = 24 };
	struct crowd crowd = {.gate = password_gate_new()};
	pthread_t threads[COUNT];
	struct error err = {0};

	assert_int_equal(password_gate_hash(crowd.gate, PASSWORD, crowd.hash, &err), 0);
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, enter, &crowd), 0);
	for (int i = 0; i < COUNT; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(crowd.right + crowd.refused, COUNT);
	assert_true(crowd.right >= 1);
	password_gate_free(crowd.gate);
}

int main(void)
{
	return RUN(CASE(a_password_matches_its_hash_and_nobodys_never),
	           CASE(a_crowd_is_served_or_told_to_come_again));
}

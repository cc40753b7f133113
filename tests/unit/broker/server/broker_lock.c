/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "broker/server/broker_lock.h"
#include "unit.h"

TEST(only_the_last_instance_is_the_last)
{
	char folder[] = "/tmp/atoll-instances.XXXXXX", path[64];
	struct error err = {0};
	int first = -1, second = -1;

	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/lock", folder);
	assert_int_equal(broker_lock_enter(path, &first, &err), 0);
	assert_int_equal(broker_lock_enter(path, &second, &err), 0);
	assert_false(broker_lock_is_last(first));
	/* The question costs the lock, unless it is shared again. */
	broker_lock_share(first);
	assert_false(broker_lock_is_last(second));
	broker_lock_share(second);
	fd_forget(&first);
	assert_true(broker_lock_is_last(second));
	fd_forget(&second);
	assert_false(broker_lock_is_last(second));
	(void)unlink(path);
	(void)rmdir(folder);
}

TEST(an_instance_without_a_place_for_its_lock_is_refused)
{
	struct error err = {0};
	int fd = -1;

	assert_int_equal(broker_lock_enter("/nonexistent/lock", &fd, &err), -1);
	assert_int_equal(fd, -1);
}

int main(void)
{
	return RUN(CASE(only_the_last_instance_is_the_last),
	           CASE(an_instance_without_a_place_for_its_lock_is_refused));
}

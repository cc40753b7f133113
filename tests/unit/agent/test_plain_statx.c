/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <unistd.h>

#include "agent/plain_statx.h"
#include "isolation/plan.h"

/* What it does in gVisor is in system/test_gvisor.py. */
TEST(nothing_is_installed_where_the_kernel_knows_the_flag)
{
	struct error err = {0};

	assert_int_equal(plain_statx_install(&err), 0);
	assert_int_equal(access(ISOLATION_FILES "/plain_statx.so", F_OK), -1);
}

int main(void)
{
	return RUN(CASE(nothing_is_installed_where_the_kernel_knows_the_flag));
}

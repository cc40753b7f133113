/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <linux/capability.h>

#include "base/fd.h"
#include "isolation/apply.h"
#include "unit.h"

static bool has(int capability)
{
	return isolation_capabilities() >> capability & 1;
}

TEST(root_inside_may_do_what_package_managers_do)
{
	assert_true(has(CAP_CHOWN));
	assert_true(has(CAP_SETUID));
	assert_true(has(CAP_SETGID));
	assert_true(has(CAP_DAC_OVERRIDE));
	assert_true(has(CAP_NET_BIND_SERVICE));
}

TEST(root_inside_has_nothing_that_reaches_the_kernel)
{
	static const int never[] = {CAP_SYS_ADMIN,    CAP_SYS_PTRACE, CAP_NET_ADMIN, CAP_NET_RAW,
	                            CAP_SYS_MODULE,   CAP_SYS_RAWIO,  CAP_SYS_BOOT,  CAP_SYS_TIME,
	                            CAP_SYS_RESOURCE, CAP_MKNOD,      CAP_BPF,       CAP_PERFMON,
	                            CAP_SYSLOG,       CAP_AUDIT_WRITE};

	for (unsigned i = 0; i < COUNT_OF(never); i++)
		assert_false(has(never[i]));
}

int main(void)
{
	return RUN(CASE(root_inside_may_do_what_package_managers_do),
	           CASE(root_inside_has_nothing_that_reaches_the_kernel));
}

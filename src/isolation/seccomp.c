/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "isolation/apply.h"
#include "seccomp_filter.h"

#if defined(__x86_64__)
#define FILTER seccomp_filter_x86_64
#elif defined(__aarch64__)
#define FILTER seccomp_filter_aarch64
#else
#error "seccomp_compile.c has no filter for this architecture"
#endif

int seccomp_load(struct error *err)
{
	struct sock_filter *code = (struct sock_filter *)(uintptr_t)FILTER;
	struct sock_fprog program = {COUNT_OF(FILTER), code};

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return FAIL_ERRNO(err, "load the seccomp filter");
	return 0;
}

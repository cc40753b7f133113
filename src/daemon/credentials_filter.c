/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <seccomp.h>
#include <unistd.h>

#include "daemon/credentials.h"

/* Everything that the running proxy does: wait, carry bytes, take descriptors, read the time. It
 * makes no socket and opens no file. */
static const int allowed[] = {
        SCMP_SYS(accept4),         SCMP_SYS(brk),          SCMP_SYS(clock_gettime),
        SCMP_SYS(close),           SCMP_SYS(epoll_ctl),    SCMP_SYS(epoll_pwait),
        SCMP_SYS(epoll_pwait2),    SCMP_SYS(epoll_wait),   SCMP_SYS(exit),
        SCMP_SYS(exit_group),      SCMP_SYS(fstat),        SCMP_SYS(futex),
        SCMP_SYS(getpid),          SCMP_SYS(getrandom),    SCMP_SYS(getsockname),
        SCMP_SYS(getsockopt),      SCMP_SYS(gettid),       SCMP_SYS(getuid),
        SCMP_SYS(gettimeofday),    SCMP_SYS(madvise),      SCMP_SYS(mmap),
        SCMP_SYS(mprotect),        SCMP_SYS(mremap),       SCMP_SYS(munmap),
        SCMP_SYS(newfstatat),      SCMP_SYS(read),         SCMP_SYS(recvfrom),
        SCMP_SYS(restart_syscall), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
        SCMP_SYS(rt_sigreturn),    SCMP_SYS(recvmsg),      SCMP_SYS(sendto),
        SCMP_SYS(setsockopt),      SCMP_SYS(shutdown),     SCMP_SYS(write),
        SCMP_SYS(writev),
};

static int add_rules(scmp_filter_ctx filter)
{
	int result;

	/* For abort(). Its user has other processes. */
	result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
	                          SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
	for (size_t i = 0; i < COUNT_OF(allowed) && result == 0; i++)
		result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
	return result == 0 ? seccomp_load(filter) : result;
}

int credentials_filter(struct error *err)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int result;

	if (!filter)
		return FAIL(err, ERROR_SYSTEM, "make a system call filter");
	result = add_rules(filter);
	seccomp_release(filter);
	if (result == 0)
		return 0;
	errno = -result;
	return FAIL_ERRNO(err, "load the system call filter");
}

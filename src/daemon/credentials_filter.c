/* SPDX-License-Identifier: Apache-2.0 */

#include "daemon/credentials.h"
#include "daemon/seccomp.h"

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

static int add_rules(scmp_filter_ctx filter, UNUSED const void *context)
{
	return seccomp_allow(filter, allowed, COUNT_OF(allowed));
}

int credentials_filter(struct error *err)
{
	return seccomp_apply(SCMP_ACT_ERRNO(EPERM), add_rules, NULL, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <netinet/in.h>
#include <sys/socket.h>

#include "daemon/names.h"
#include "daemon/seccomp.h"

/* Everything that the running gateway does: wait, carry bytes, open files of its folder, read the
 * time. */
static const int allowed[] = {
        SCMP_SYS(accept4),
        SCMP_SYS(brk),
        SCMP_SYS(clock_gettime),
        SCMP_SYS(close),
        SCMP_SYS(connect),
        SCMP_SYS(epoll_ctl),
        SCMP_SYS(epoll_pwait),
        SCMP_SYS(epoll_pwait2),
        SCMP_SYS(epoll_wait),
        SCMP_SYS(exit),
        SCMP_SYS(exit_group),
        SCMP_SYS(fstat),
        SCMP_SYS(futex),
        SCMP_SYS(getpid),
        SCMP_SYS(getrandom),
        SCMP_SYS(getsockname),
        SCMP_SYS(getsockopt),
        SCMP_SYS(gettid),
        SCMP_SYS(gettimeofday),
        SCMP_SYS(madvise),
        SCMP_SYS(mmap),
        SCMP_SYS(mprotect),
        SCMP_SYS(mremap),
        SCMP_SYS(munmap),
        SCMP_SYS(newfstatat),
        SCMP_SYS(openat2),
        SCMP_SYS(read),
        SCMP_SYS(recvfrom),
        SCMP_SYS(restart_syscall),
        SCMP_SYS(rt_sigaction),
        SCMP_SYS(rt_sigprocmask),
        SCMP_SYS(rt_sigreturn),
        SCMP_SYS(sendto),
        SCMP_SYS(setsockopt),
        SCMP_SYS(shutdown),
        SCMP_SYS(write),
        SCMP_SYS(writev),
};

struct passing_fds {
	int handover_fd, sources_fd;
};

static int add_rules(scmp_filter_ctx filter, const void *context)
{
	const struct passing_fds *fds = context;
	static const scmp_datum_t kinds[] = {SOCK_STREAM, SOCK_DGRAM};
	const scmp_datum_t flags = SOCK_CLOEXEC | SOCK_NONBLOCK;
	/* Nameservers are IPv4. */
	int result = seccomp_rule_add(
	        filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 3, SCMP_A0(SCMP_CMP_EQ, AF_INET6),
	        SCMP_A1(SCMP_CMP_MASKED_EQ, ~flags, SOCK_STREAM), SCMP_A2(SCMP_CMP_EQ, 0));

	for (size_t i = 0; i < COUNT_OF(kinds) && result == 0; i++)
		result = seccomp_rule_add(
		        filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 3, SCMP_A0(SCMP_CMP_EQ, AF_INET),
		        SCMP_A1(SCMP_CMP_MASKED_EQ, ~flags, kinds[i]), SCMP_A2(SCMP_CMP_EQ, 0));
	if (result == 0)
		result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1,
		                          SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
	if (result == 0 && fds->handover_fd >= 0)
		result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(sendmsg), 1,
		                          SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)fds->handover_fd));
	if (result == 0 && fds->sources_fd >= 0)
		result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(recvmsg), 1,
		                          SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)fds->sources_fd));
	return result == 0 ? seccomp_allow(filter, allowed, COUNT_OF(allowed)) : result;
}

int names_filter(int handover_fd, int sources_fd, struct error *err)
{
	return seccomp_apply(SCMP_ACT_ERRNO(EPERM), add_rules,
	                     &(struct passing_fds){handover_fd, sources_fd}, err);
}

/* Everything that sources_serve does. */
static int add_sources_rules(scmp_filter_ctx filter, const void *context)
{
	static const int calls[] = {SCMP_SYS(bind), SCMP_SYS(close), SCMP_SYS(exit),
	                            SCMP_SYS(exit_group), SCMP_SYS(rt_sigreturn)};
	const scmp_datum_t fd = (scmp_datum_t) * (const int *)context;
	int result = seccomp_rule_add(
	        filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 3, SCMP_A0(SCMP_CMP_EQ, AF_INET),
	        SCMP_A1(SCMP_CMP_EQ, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK),
	        SCMP_A2(SCMP_CMP_EQ, 0));

	if (result == 0)
		result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(setsockopt), 2,
		                          SCMP_A1(SCMP_CMP_EQ, IPPROTO_IP),
		                          SCMP_A2(SCMP_CMP_EQ, IP_BIND_ADDRESS_NO_PORT));
	if (result == 0)
		result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(recvfrom), 1,
		                          SCMP_A0(SCMP_CMP_EQ, fd));
	if (result == 0)
		result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(sendmsg), 1,
		                          SCMP_A0(SCMP_CMP_EQ, fd));
	return result == 0 ? seccomp_allow(filter, calls, COUNT_OF(calls)) : result;
}

int names_sources_filter(int fd, struct error *err)
{
	return seccomp_apply(SCMP_ACT_ERRNO(EPERM), add_sources_rules, &fd, err);
}

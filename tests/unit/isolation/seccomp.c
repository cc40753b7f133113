/* SPDX-License-Identifier: Apache-2.0 */
/* The filter is loaded in a child for each call, which answers with the call's errno. */
#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolation/apply.h"
#include "unit.h"

#define NOT_LOADED 255

struct call {
	long number;
	long a, b, c;
};

/* 0 = the call was made and went well. */
static int try_call(struct call call)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		struct error err = {0};

		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || seccomp_load(&err) < 0)
			_exit(NOT_LOADED);
		errno = 0;
		_exit(syscall(call.number, call.a, call.b, call.c, 0, 0, 0) < 0 ? errno : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_not_equal(WEXITSTATUS(status), NOT_LOADED);
	return WEXITSTATUS(status);
}

TEST(ordinary_calls_pass)
{
	assert_int_equal(try_call((struct call){SYS_getpid}), 0);
	assert_int_equal(try_call((struct call){SYS_dup, 1}), 0);
	assert_int_equal(try_call((struct call){SYS_sched_yield}), 0);
}

TEST(new_namespaces_are_refused_however_they_are_asked_for)
{
	static const long flags[] = {CLONE_NEWNS,  CLONE_NEWUSER, CLONE_NEWPID,   CLONE_NEWNET,
	                             CLONE_NEWIPC, CLONE_NEWUTS,  CLONE_NEWCGROUP};

	for (unsigned i = 0; i < COUNT_OF(flags); i++) {
		assert_int_equal(try_call((struct call){SYS_unshare, flags[i]}), EPERM);
		assert_int_equal(try_call((struct call){SYS_clone, flags[i] | SIGCHLD}), EPERM);
	}
	assert_int_equal(try_call((struct call){SYS_unshare, CLONE_NEWTIME}), EPERM);
	assert_int_equal(try_call((struct call){SYS_setns, 0, CLONE_NEWNS}), EPERM);
	assert_int_equal(try_call((struct call){SYS_unshare, CLONE_FILES}), 0);
}

TEST(clone3_does_not_exist_so_that_libc_falls_back)
{
	assert_int_equal(try_call((struct call){SYS_clone3}), ENOSYS);
}

TEST(the_kernels_own_doors_are_shut)
{
	static const long numbers[] = {
	        SYS_mount,          SYS_umount2,     SYS_pivot_root,  SYS_bpf,
	        SYS_keyctl,         SYS_add_key,     SYS_request_key, SYS_perf_event_open,
	        SYS_userfaultfd,    SYS_init_module, SYS_kexec_load,  SYS_reboot,
	        SYS_open_tree,      SYS_move_mount,  SYS_fsopen,      SYS_mount_setattr,
	        SYS_io_uring_setup, SYS_swapon,      SYS_acct,        SYS_open_by_handle_at,
	        SYS_sethostname,    SYS_quotactl,    SYS_syslog,      SYS_process_vm_readv,
	        SYS_settimeofday,   SYS_pidfd_getfd, SYS_kcmp,        SYS_fanotify_init,
	};

	for (unsigned i = 0; i < COUNT_OF(numbers); i++)
		assert_int_equal(try_call((struct call){numbers[i], -1, -1, -1}), EPERM);
}

TEST(a_number_nobody_knows_does_not_exist)
{
	assert_int_equal(try_call((struct call){900}), ENOSYS);
	assert_int_equal(try_call((struct call){5000}), ENOSYS);
}

#if defined(__x86_64__)
TEST(other_calling_conventions_do_not_exist)
{
	/* x32's getpid */
	assert_int_equal(try_call((struct call){0x40000000 | SYS_getpid}), ENOSYS);
}

TEST(programs_of_i386_get_nothing)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		struct error err = {0};
		long answer = 20; /* getpid */

		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || seccomp_load(&err) < 0)
			_exit(NOT_LOADED);
		__asm__ volatile("int $0x80" : "+a"(answer) : : "memory", "r8", "r9", "r10", "r11");
		_exit((int)-answer);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* A kernel without i386 ends it at once. */
	assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == ENOSYS);
}
#endif

TEST(only_the_socket_families_of_programs_exist)
{
	static const struct {
		int family, type, protocol, wanted;
	} rows[] = {
	        {AF_UNIX, SOCK_STREAM, 0, 0},
	        {AF_UNIX, SOCK_SEQPACKET, 0, 0},
	        {AF_INET, SOCK_STREAM, 0, 0},
	        {AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 6, 0},
	        {AF_INET, SOCK_DGRAM, 17, 0},
	        {AF_NETLINK, SOCK_RAW, 0, 0},
	        {AF_NETLINK, SOCK_RAW, 9 /* audit */, EAFNOSUPPORT},
	        {AF_NETLINK, SOCK_RAW, 12 /* netfilter */, EAFNOSUPPORT},
	        {AF_INET, SOCK_SEQPACKET, 132 /* sctp */, EAFNOSUPPORT},
	        {AF_INET, SOCK_STREAM, 262 /* mptcp */, EAFNOSUPPORT},
	        {AF_PACKET, SOCK_RAW, 0, EAFNOSUPPORT},
	        {AF_VSOCK, SOCK_STREAM, 0, EAFNOSUPPORT},
	        {AF_ALG, SOCK_SEQPACKET, 0, EAFNOSUPPORT},
	};

	for (unsigned i = 0; i < COUNT_OF(rows); i++)
		assert_int_equal(try_call((struct call){SYS_socket, rows[i].family, rows[i].type,
		                                        rows[i].protocol}),
		                 rows[i].wanted);
	assert_int_equal(try_call((struct call){SYS_socketpair, AF_INET, SOCK_STREAM, 0}),
	                 EAFNOSUPPORT);
}

TEST(nothing_is_typed_into_a_terminal)
{
	assert_int_equal(try_call((struct call){SYS_ioctl, 0, TIOCSTI, 0}), EPERM);
	assert_int_equal(try_call((struct call){SYS_ioctl, 0, TIOCLINUX, 0}), EPERM);
	/* the kernel looks at the lower half of the number only */
	assert_int_equal(
	        try_call((struct call){SYS_ioctl, 0, (long)(TIOCSTI | UINT64_C(1) << 32), 0}),
	        EPERM);
	assert_int_equal(try_call((struct call){SYS_ioctl, -1, FIONREAD, 0}), EBADF);
}

TEST(personalities_that_weaken_a_process_are_refused)
{
	assert_int_equal(try_call((struct call){SYS_personality, 0xffffffff}), 0);
	assert_int_equal(try_call((struct call){SYS_personality, 0}), 0);
	assert_int_equal(try_call((struct call){SYS_personality, ADDR_NO_RANDOMIZE}), EPERM);
	assert_int_equal(try_call((struct call){SYS_personality, READ_IMPLIES_EXEC}), EPERM);
}

/* The outcomes of the kernel itself are ESRCH, EINVAL, EFAULT and the like: only EPERM is the
 * filter's, since process 1 of the test's namespace may be changed by root. */
TEST(limits_and_priority_of_process_1_are_refused_and_those_of_others_are_not)
{
	static const long one_process[] = {SYS_sched_setaffinity, SYS_sched_setparam,
	                                   SYS_sched_setscheduler, SYS_sched_setattr};
	struct rlimit limit;
	long new_limit = (long)(uintptr_t)&limit;

	assert_int_equal(getrlimit(RLIMIT_CORE, &limit), 0);
	for (unsigned i = 0; i < COUNT_OF(one_process); i++) {
		assert_int_equal(try_call((struct call){one_process[i], 1}), EPERM);
		assert_int_equal(try_call((struct call){one_process[i], 0x500000001}), EPERM);
		assert_int_not_equal(try_call((struct call){one_process[i], 0}), EPERM);
	}
	assert_int_equal(try_call((struct call){SYS_prlimit64, 1, RLIMIT_CORE, new_limit}), EPERM);
	assert_int_equal(try_call((struct call){SYS_prlimit64, 1, RLIMIT_CORE, 1L << 32}), EPERM);
	assert_int_equal(try_call((struct call){SYS_prlimit64, 0, RLIMIT_CORE, new_limit}), 0);
	assert_int_equal(try_call((struct call){SYS_prlimit64, getpid(), RLIMIT_CORE, new_limit}),
	                 0);
	assert_int_equal(try_call((struct call){SYS_setpriority, PRIO_PROCESS, 1, 19}), EPERM);
	assert_int_equal(try_call((struct call){SYS_setpriority, PRIO_PGRP, 1, 19}), EPERM);
	assert_int_equal(try_call((struct call){SYS_setpriority, PRIO_USER, 0, 19}), EPERM);
	assert_int_equal(try_call((struct call){SYS_setpriority, PRIO_PROCESS, 0, 19}), 0);
	assert_int_equal(try_call((struct call){SYS_setpriority, PRIO_USER, 54321, 19}), ESRCH);
	assert_int_equal(try_call((struct call){SYS_ioprio_set, 1, 1, 3 << 13}), EPERM);
	assert_int_equal(try_call((struct call){SYS_ioprio_set, 2, 1, 3 << 13}), EPERM);
	assert_int_equal(try_call((struct call){SYS_ioprio_set, 3, 0, 3 << 13}), EPERM);
	assert_int_equal(try_call((struct call){SYS_ioprio_set, 1, 0, 3 << 13}), 0);
}

TEST(debuggers_work)
{
	assert_int_equal(try_call((struct call){SYS_ptrace, PTRACE_TRACEME}), 0);
}

int main(void)
{
	return RUN(CASE(ordinary_calls_pass),
	           CASE(new_namespaces_are_refused_however_they_are_asked_for),
	           CASE(clone3_does_not_exist_so_that_libc_falls_back),
	           CASE(the_kernels_own_doors_are_shut), CASE(a_number_nobody_knows_does_not_exist),
#if defined(__x86_64__)
	           CASE(other_calling_conventions_do_not_exist), CASE(programs_of_i386_get_nothing),
#endif
	           CASE(only_the_socket_families_of_programs_exist),
	           CASE(nothing_is_typed_into_a_terminal),
	           CASE(personalities_that_weaken_a_process_are_refused),
	           CASE(limits_and_priority_of_process_1_are_refused_and_those_of_others_are_not),
	           CASE(debuggers_work));
}

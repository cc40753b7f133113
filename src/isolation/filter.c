/* SPDX-License-Identifier: Apache-2.0 */
#include "isolation/filter.h"

#include <assert.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "this architecture has no filter of system calls"
#endif

#define X32_BIT 0x40000000u
#define REFUSE (SECCOMP_RET_ERRNO | EPERM)
#define REFUSE_UNKNOWN (SECCOMP_RET_ERRNO | ENOSYS)
#define CLONE_NAMESPACES                                                                           \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET)

static const unsigned allowed[] = {
        /* bytes and descriptors */
        SYS_read,
        SYS_pread64,
        SYS_write,
        SYS_writev,
        SYS_pwrite64,
        SYS_lseek,
        SYS_openat,
        SYS_openat2,
        SYS_close,
        SYS_fcntl,
        SYS_copy_file_range,
        SYS_ftruncate,
        SYS_fsync,
        SYS_fdatasync,
        SYS_syncfs,
        SYS_ppoll,
        SYS_sendmsg,
        SYS_recvmsg,
        SYS_recvfrom,
        /* names and attributes */
        SYS_newfstatat,
        SYS_fstat,
        SYS_statx,
        SYS_statfs,
        SYS_fstatfs,
        SYS_getdents64,
        SYS_readlinkat,
        SYS_faccessat,
        SYS_faccessat2,
        SYS_mkdirat,
        SYS_mknodat,
        SYS_linkat,
        SYS_symlinkat,
        SYS_unlinkat,
        SYS_renameat,
        SYS_renameat2,
        SYS_fchmod,
        SYS_fchmodat,
        SYS_fchown,
        SYS_fchownat,
        SYS_utimensat,
        SYS_flistxattr,
        SYS_fgetxattr,
        SYS_fsetxattr,
        SYS_umask,
        /* memory */
        SYS_brk,
        SYS_mmap,
        SYS_munmap,
        SYS_mremap,
        SYS_mprotect,
        SYS_madvise,
        SYS_futex,
        /* time, the end; stopping and killing itself at a step of a test */
        SYS_clock_gettime,
        SYS_gettimeofday,
        SYS_clock_nanosleep,
        SYS_getrandom,
        SYS_getpid,
        SYS_gettid,
        SYS_tgkill,
        SYS_prlimit64,
        SYS_rt_sigaction,
        SYS_rt_sigprocmask,
        SYS_rt_sigreturn,
        SYS_restart_syscall,
        SYS_exit,
        SYS_exit_group,
#ifdef SYS_poll
        SYS_poll,
#endif
};

static const unsigned ways_out[] = {
        SYS_mount,   SYS_umount2,   SYS_pivot_root,    SYS_chroot, SYS_unshare,
        SYS_setns,   SYS_open_tree, SYS_move_mount,    SYS_fsopen, SYS_fsconfig,
        SYS_fsmount, SYS_fspick,    SYS_mount_setattr, SYS_socket,
};

static const unsigned kernel_parts[] = {
        /* other processes, and files by number */
        SYS_ptrace,
        SYS_process_vm_readv,
        SYS_process_vm_writev,
        SYS_pidfd_getfd,
        SYS_kcmp,
        SYS_open_by_handle_at,
        SYS_add_key,
        SYS_request_key,
        SYS_keyctl,
        /* the kernel */
        SYS_bpf,
        SYS_perf_event_open,
        SYS_userfaultfd,
        SYS_io_uring_setup,
        SYS_io_uring_enter,
        SYS_io_uring_register,
        SYS_init_module,
        SYS_finit_module,
        SYS_delete_module,
        SYS_kexec_load,
        SYS_reboot,
        SYS_swapon,
        SYS_swapoff,
        SYS_acct,
        SYS_quotactl,
        SYS_syslog,
        SYS_settimeofday,
        SYS_clock_settime,
        SYS_adjtimex,
        SYS_sethostname,
        SYS_setdomainname,
        SYS_personality,
};

#define INSTRUCTIONS_MAX 256

struct call_filter {
	struct sock_filter code[INSTRUCTIONS_MAX];
	struct sock_fprog program;
};

static void add_instruction(struct call_filter *f, struct sock_filter instruction)
{
	assert(f->program.len < INSTRUCTIONS_MAX);
	f->code[f->program.len++] = instruction;
}

static void add_answers(struct call_filter *f, const unsigned *calls, size_t count, uint32_t answer)
{
	for (size_t i = 0; i < count; i++) {
		add_instruction(
		        f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], 0, 1));
		add_instruction(f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer));
	}
}

/* Of another architecture nothing is allowed, nor of x32, whose numbers have a bit more. */
static void add_architecture(struct call_filter *f)
{
	static const struct sock_filter head[] = {
	        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
	        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
	        BPF_STMT(BPF_RET | BPF_K, REFUSE_UNKNOWN),
	        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1),
	        BPF_STMT(BPF_RET | BPF_K, REFUSE_UNKNOWN),
	};

	for (unsigned i = 0; i < COUNT_OF(head); i++)
		add_instruction(f, head[i]);
}

/* The flags of clone3 lie behind a pointer; without it the C library takes clone. */
static void add_clone(struct call_filter *f)
{
	static const unsigned unknown[] = {SYS_clone3};
	static const struct sock_filter flags[] = {
	        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4),
	        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
	        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NAMESPACES, 0, 1),
	        BPF_STMT(BPF_RET | BPF_K, REFUSE),
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	add_answers(f, unknown, COUNT_OF(unknown), REFUSE_UNKNOWN);
	for (unsigned i = 0; i < COUNT_OF(flags); i++)
		add_instruction(f, flags[i]);
}

int filter_load(enum filter_kind kind, struct error *err)
{
	struct call_filter f = {.program.len = 0};
	uint32_t otherwise = SECCOMP_RET_ALLOW;

	f.program.filter = f.code;
	add_architecture(&f);
	if (kind == FILTER_FILES) {
		add_answers(&f, allowed, COUNT_OF(allowed), SECCOMP_RET_ALLOW);
		otherwise = REFUSE;
	} else {
		add_answers(&f, kernel_parts, COUNT_OF(kernel_parts), REFUSE);
	}
	if (kind == FILTER_PROGRAMS) {
		add_answers(&f, ways_out, COUNT_OF(ways_out), REFUSE);
		add_clone(&f);
	}
	add_instruction(&f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise));
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &f.program) < 0)
		return FAIL_ERRNO(err, "load the filter of system calls");
	return 0;
}

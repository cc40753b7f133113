/* SPDX-License-Identifier: Apache-2.0 */
#include "isolation/seccomp_table.h"

#include <stddef.h>

/* Refused with EPERM: programs take it as a missing permission and continue, while ENOSYS makes
 * some of them try an older call of the same kind. */
const struct seccomp_row seccomp_table[] = {
        /* bytes and descriptors */
        {SECCOMP_ALLOW,
         "read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 "
         "lseek open openat openat2 creat close close_range dup dup2 dup3 pipe pipe2 "
         "fcntl flock fsync fdatasync sync syncfs sync_file_range ftruncate truncate "
         "fallocate fadvise64 readahead sendfile splice tee vmsplice copy_file_range "
         "select _newselect pselect6 poll ppoll epoll_create epoll_create1 epoll_ctl "
         "epoll_wait epoll_pwait epoll_pwait2 epoll_ctl_old epoll_wait_old eventfd "
         "eventfd2 signalfd signalfd4 timerfd_create timerfd_settime "
         "timerfd_gettime io_setup io_destroy io_submit io_cancel io_getevents "
         "io_pgetevents cachestat"},
        /* names */
        {SECCOMP_ALLOW,
         "stat lstat fstat newfstatat statx statfs fstatfs access faccessat "
         "faccessat2 readlink readlinkat getdents getdents64 getcwd chdir fchdir "
         "mkdir mkdirat rmdir rename renameat renameat2 link linkat unlink unlinkat "
         "symlink symlinkat mknod mknodat chmod fchmod fchmodat fchmodat2 chown fchown "
         "lchown fchownat umask utime utimes utimensat futimesat chroot "
         "name_to_handle_at inotify_init inotify_init1 inotify_add_watch "
         "inotify_rm_watch setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr "
         "listxattr llistxattr flistxattr removexattr lremovexattr fremovexattr "
         "setxattrat getxattrat listxattrat removexattrat"},
        /* memory */
        {SECCOMP_ALLOW,
         "mmap munmap mremap mprotect madvise process_madvise brk msync mincore mlock "
         "mlock2 munlock mlockall munlockall memfd_create memfd_secret pkey_alloc "
         "pkey_free pkey_mprotect remap_file_pages membarrier mseal map_shadow_stack"},
        /* processes and threads. Debuggers work: ptrace reaches only processes inside; the agent
         * is not dumpable, and no process inside has CAP_SYS_PTRACE. */
        {SECCOMP_ALLOW,
         "fork vfork execve execveat exit exit_group wait4 waitid waitpid getpid "
         "getppid gettid getpgid getpgrp setpgid getsid setsid set_tid_address "
         "set_robust_list get_robust_list futex futex_waitv futex_wake futex_wait "
         "futex_requeue rseq arch_prctl prctl ptrace seccomp landlock_create_ruleset "
         "landlock_add_rule landlock_restrict_self pidfd_open pidfd_send_signal "
         "process_mrelease getpriority getrlimit setrlimit "
         "getrusage times sysinfo uname getcpu sched_yield sched_getaffinity "
         "sched_getparam sched_getscheduler "
         "sched_get_priority_max sched_get_priority_min "
         "sched_rr_get_interval sched_getattr ioprio_get "
         "set_thread_area get_thread_area restart_syscall"},
        /* users */
        {SECCOMP_ALLOW, "getuid geteuid getgid getegid getresuid getresgid getgroups setuid setgid "
                        "setreuid setregid setresuid setresgid setgroups setfsuid setfsgid capget "
                        "capset"},
        /* signals and time */
        {SECCOMP_ALLOW,
         "kill tkill tgkill rt_sigaction rt_sigprocmask rt_sigpending rt_sigsuspend "
         "rt_sigtimedwait rt_sigqueueinfo rt_tgsigqueueinfo rt_sigreturn sigaltstack "
         "pause alarm getitimer setitimer nanosleep clock_nanosleep clock_gettime "
         "clock_getres gettimeofday time timer_create timer_settime timer_gettime "
         "timer_getoverrun timer_delete"},
        /* sockets and System V */
        {SECCOMP_ALLOW,
         "bind connect listen accept accept4 getsockname getpeername getsockopt "
         "setsockopt shutdown sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg shmget "
         "shmat shmdt shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl "
         "mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr "
         "getrandom"},

        {SECCOMP_CLONE, "clone"},
        {SECCOMP_UNSHARE, "unshare"},
        {SECCOMP_PERSONALITY, "personality"},
        {SECCOMP_SOCKET, "socket"},
        {SECCOMP_SOCKETPAIR, "socketpair"},
        {SECCOMP_IOCTL, "ioctl"},

        /* The agent has the user id of the sandbox's root, which may change other processes:
         * changes of limits, processors and priority of process 1 are refused
         * (docs/decisions/agent-is-out-of-reach.md). */
        {SECCOMP_SCHEDULER, "sched_setaffinity sched_setparam sched_setscheduler sched_setattr"},
        {SECCOMP_PRLIMIT, "prlimit64"},
        {SECCOMP_PRIORITY, "setpriority"},
        {SECCOMP_IO_PRIORITY, "ioprio_set"},

        /* clone3 passes its flags by pointer, where no filter can see them; libc falls back */
        {SECCOMP_UNKNOWN, "clone3"},

        /* namespaces and mounts */
        {SECCOMP_REFUSE,
         "setns mount umount umount2 pivot_root move_mount open_tree open_tree_attr "
         "fsopen fsconfig fsmount fspick mount_setattr statmount listmount swapon "
         "swapoff quotactl quotactl_fd open_by_handle_at fanotify_init "
         "fanotify_mark acct"},
        /* the kernel itself */
        {SECCOMP_REFUSE,
         "bpf perf_event_open userfaultfd io_uring_setup io_uring_enter "
         "io_uring_register add_key request_key keyctl kexec_load kexec_file_load "
         "init_module finit_module delete_module create_module get_kernel_syms "
         "query_module iopl ioperm modify_ldt vm86 vm86old reboot syslog vhangup "
         "sethostname setdomainname settimeofday clock_settime adjtimex "
         "clock_adjtime stime lookup_dcookie nfsservctl uselib ustat sysfs _sysctl"},
        /* other processes' memory, and where memory is placed */
        {SECCOMP_REFUSE, "process_vm_readv process_vm_writev pidfd_getfd kcmp get_mempolicy "
                         "set_mempolicy set_mempolicy_home_node mbind migrate_pages move_pages"},
        {SECCOMP_UNKNOWN, NULL},
};

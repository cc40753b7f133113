/* SPDX-License-Identifier: Apache-2.0 */
/* System calls and kernel files with a history. */
#include "escape/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <signal.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/klog.h>
#include <sys/quota.h>
#include <sys/reboot.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <unistd.h>

static enum escape_status write_kernel_settings(const char *argument UNUSED)
{
	static const char *const files[] = {
	        "/proc/sys/kernel/core_pattern",
	        "/proc/sys/kernel/modprobe",
	        "/proc/sys/kernel/hotplug",
	        "/proc/sys/kernel/hostname",
	        "/proc/sys/vm/panic_on_oom",
	        "/proc/sys/vm/drop_caches",
	        "/proc/sys/fs/binfmt_misc/register",
	        "/proc/sys/net/ipv4/ip_forward",
	        "/proc/sysrq-trigger",
	        "/proc/sys/kernel/yama/ptrace_scope",
	        "/proc/irq/default_smp_affinity",
	        "/proc/sys/fs/suid_dumpable",
	};
	enum escape_status outcomes[12];

	for (unsigned i = 0; i < 12; i++)
		outcomes[i] = expect_no_open(files[i], O_WRONLY);
	return worst_of(outcomes, 12);
}

static enum escape_status read_kernel_memory(const char *argument UNUSED)
{
	static const char *const files[] = {
	        "/proc/kcore",       "/proc/kmsg",       "/proc/keys",      "/proc/timer_list",
	        "/proc/sched_debug", "/proc/kpagecount", "/proc/kpageflags"};
	char byte;

	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		int fd = open(files[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC);

		if (fd >= 0 && read(fd, &byte, 1) > 0)
			return report_escape("%s can be read", files[i]);
		if (fd >= 0)
			close(fd);
	}
	return report_held("kernel memory and tables cannot be read");
}

static enum escape_status read_kernel_addresses(const char *argument UNUSED)
{
	char line[256];
	FILE *file = fopen("/proc/kallsyms", "re");
	enum escape_status outcome = ESCAPE_HELD;

	if (!file)
		return report_held("kallsyms: %s", strerror(errno));
	if (fgets(line, sizeof(line), file) && strncmp(line, "0000000000000000", 16) != 0)
		outcome = report_escape("kernel addresses are shown: %.20s", line);
	else
		report_held("kernel addresses are hidden");
	fclose(file);
	return outcome;
}

static enum escape_status use_keyring(const char *argument UNUSED)
{
	enum escape_status outcomes[3];

	outcomes[0] = expect_refused(syscall(SYS_add_key, "user", "atoll", "x", 1, -5), "add_key");
	outcomes[1] =
	        expect_refused(syscall(SYS_request_key, "user", "atoll", NULL, -5), "request_key");
	outcomes[2] = expect_refused(syscall(SYS_keyctl, 0, -4, 0, 0, 0), "keyctl");
	return worst_of(outcomes, 3);
}

static enum escape_status load_bpf(const char *argument UNUSED)
{
	union bpf_attr attr = {
	        .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};

	return expect_refused(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)), "bpf");
}

static enum escape_status open_perf_events(const char *argument UNUSED)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
	                               .size = sizeof(attr),
	                               .config = PERF_COUNT_SW_CPU_CLOCK};

	return expect_refused(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0), "perf_event_open");
}

static enum escape_status open_userfaultfd(const char *argument UNUSED)
{
	enum escape_status outcomes[2];

	outcomes[0] = expect_refused(syscall(SYS_userfaultfd, 0), "userfaultfd");
	outcomes[1] = expect_refused(syscall(SYS_userfaultfd, 1), "userfaultfd, user mode only");
	return worst_of(outcomes, 2);
}

static enum escape_status open_io_uring(const char *argument UNUSED)
{
	unsigned char params[256] = {0};

	return expect_refused(syscall(SYS_io_uring_setup, 8, params), "io_uring_setup");
}

static enum escape_status load_kernel_modules(const char *argument UNUSED)
{
	enum escape_status outcomes[4];

	outcomes[0] = expect_refused(syscall(SYS_init_module, "", 0, ""), "init_module");
	outcomes[1] = expect_refused(syscall(SYS_finit_module, 0, "", 0), "finit_module");
	outcomes[2] = expect_refused(
	        syscall(SYS_delete_module, "atoll_none", 0) < 0 && errno == ENOENT ? 0 : -1,
	        "delete_module");
	outcomes[3] = expect_refused(syscall(SYS_kexec_load, 0, 0, NULL, 0), "kexec_load");
	return worst_of(outcomes, 4);
}

static enum escape_status switch_power_and_swap(const char *argument UNUSED)
{
	enum escape_status outcomes[5];

	/* The harmless sub-command: were it allowed, so would be the others. */
	outcomes[0] = expect_refused(reboot(RB_DISABLE_CAD), "reboot");
	outcomes[1] = expect_refused(swapon("/tmp/swap", 0), "swapon");
	outcomes[2] = expect_refused(swapoff("/tmp") < 0 && errno == EINVAL ? 0 : -1, "swapoff");
	outcomes[3] = expect_refused(acct("/tmp/acct"), "acct");
	outcomes[4] = expect_refused(quotactl(QCMD(Q_SYNC, USRQUOTA), NULL, 0, NULL), "quotactl");
	return worst_of(outcomes, 5);
}

static enum escape_status set_the_clock(const char *argument UNUSED)
{
	struct timeval now;
	struct timex change = {.modes = ADJ_TICK, .tick = 10000};
	enum escape_status outcomes[2];

	gettimeofday(&now, NULL);
	outcomes[0] = expect_refused(settimeofday(&now, NULL), "settimeofday");
	outcomes[1] = expect_refused(adjtimex(&change), "adjtimex");
	return worst_of(outcomes, 2);
}

static enum escape_status read_kernel_log(const char *argument UNUSED)
{
	char text[64];
	enum escape_status outcomes[2];

	outcomes[0] = expect_refused(klogctl(3, text, sizeof(text)), "read the kernel's log");
	outcomes[1] = expect_refused(klogctl(5, NULL, 0), "clear the kernel's log");
	return worst_of(outcomes, 2);
}

static enum escape_status watch_mounts(const char *argument UNUSED)
{
	return expect_refused(fanotify_init(FAN_CLASS_CONTENT, O_RDONLY), "fanotify_init");
}

static enum escape_status use_ports(const char *argument UNUSED)
{
	enum escape_status outcomes[2];

#ifdef SYS_iopl
	outcomes[0] = expect_refused(syscall(SYS_iopl, 3), "iopl");
	outcomes[1] = expect_refused(syscall(SYS_ioperm, 0x80, 1, 1), "ioperm");
#else
	outcomes[0] = outcomes[1] = report_held("no port access on this architecture");
#endif
	return worst_of(outcomes, 2);
}

/* The filter must not be passed by the 32-bit entry, whose numbers mean other calls. */
static enum escape_status call_other_architectures(const char *argument UNUSED)
{
#ifdef __x86_64__
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		long result;

		/* mkdir is 39 in the i386 table and getpid in the x86-64 one. */
		__asm__ volatile("int $0x80"
		                 : "=a"(result)
		                 : "a"(20L) /* getpid in the i386 table */
		                 : "memory", "r8", "r9", "r10", "r11");
		_exit(result > 0 ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
		return report_escape("a 32-bit system call passed the filter");
	if (syscall(0x40000000 + SYS_getpid) > 0)
		return report_escape("an x32 system call passed the filter");
#endif
	return report_held("only the native entry works");
}

/* Files of /sys that change the machine; none is written to. */
static enum escape_status write_sys_files(const char *argument UNUSED)
{
	static const char *const files[] = {"/sys/kernel/uevent_helper",
	                                    "/sys/power/state",
	                                    "/sys/kernel/mm/ksm/run",
	                                    "/sys/kernel/mm/transparent_hugepage/enabled",
	                                    "/sys/module/kernel/parameters/panic",
	                                    "/sys/class/net/lo/mtu",
	                                    "/sys/fs/ext4/features/lazy_itable_init",
	                                    "/sys/devices/system/cpu/cpu1/online"};
	enum escape_status outcomes[COUNT_OF(files)];

	for (unsigned i = 0; i < COUNT_OF(files); i++)
		outcomes[i] = expect_no_open(files[i], O_WRONLY);
	return worst_of(outcomes, COUNT_OF(files));
}

const struct attempt_function kernel_attempts[] = {
        {"write_kernel_settings", write_kernel_settings},
        {"read_kernel_memory", read_kernel_memory},
        {"read_kernel_addresses", read_kernel_addresses},
        {"use_keyring", use_keyring},
        {"load_bpf", load_bpf},
        {"open_perf_events", open_perf_events},
        {"open_userfaultfd", open_userfaultfd},
        {"open_io_uring", open_io_uring},
        {"load_kernel_modules", load_kernel_modules},
        {"switch_power_and_swap", switch_power_and_swap},
        {"set_the_clock", set_the_clock},
        {"read_kernel_log", read_kernel_log},
        {"watch_mounts", watch_mounts},
        {"use_ports", use_ports},
        {"call_other_architectures", call_other_architectures},
        {"write_sys_files", write_sys_files},
        {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* System calls and kernel files with a history. */
#include "attempt.h"

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

static enum outcome write_kernel_settings(const char *argument)
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
	enum outcome outcomes[12];

	(void)argument;
	for (unsigned i = 0; i < 12; i++)
		outcomes[i] = expect_no_open(files[i], O_WRONLY);
	return worst(outcomes, 12);
}

static enum outcome read_kernel_memory(const char *argument)
{
	static const char *const files[] = {
	        "/proc/kcore",       "/proc/kmsg",       "/proc/keys",      "/proc/timer_list",
	        "/proc/sched_debug", "/proc/kpagecount", "/proc/kpageflags"};
	char byte;

	(void)argument;
	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		int fd = open(files[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC);

		if (fd >= 0 && read(fd, &byte, 1) > 0)
			return broke_out("%s can be read", files[i]);
		if (fd >= 0)
			close(fd);
	}
	return held("kernel memory and tables cannot be read");
}

static enum outcome kernel_addresses(const char *argument)
{
	char line[256];
	FILE *file = fopen("/proc/kallsyms", "re");
	enum outcome outcome = HELD;

	(void)argument;
	if (!file)
		return held("kallsyms: %s", strerror(errno));
	if (fgets(line, sizeof(line), file) && strncmp(line, "0000000000000000", 16) != 0)
		outcome = broke_out("kernel addresses are shown: %.20s", line);
	else
		held("kernel addresses are hidden");
	fclose(file);
	return outcome;
}

static enum outcome keyring(const char *argument)
{
	enum outcome outcomes[3];

	(void)argument;
	outcomes[0] = expect_refused(syscall(SYS_add_key, "user", "atoll", "x", 1, -5), "add_key");
	outcomes[1] =
	        expect_refused(syscall(SYS_request_key, "user", "atoll", NULL, -5), "request_key");
	outcomes[2] = expect_refused(syscall(SYS_keyctl, 0, -4, 0, 0, 0), "keyctl");
	return worst(outcomes, 3);
}

static enum outcome load_bpf(const char *argument)
{
	union bpf_attr attr = {
	        .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};

	(void)argument;
	return expect_refused(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)), "bpf");
}

static enum outcome perf_events(const char *argument)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
	                               .size = sizeof(attr),
	                               .config = PERF_COUNT_SW_CPU_CLOCK};

	(void)argument;
	return expect_refused(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0), "perf_event_open");
}

static enum outcome user_faults(const char *argument)
{
	enum outcome outcomes[2];

	(void)argument;
	outcomes[0] = expect_refused(syscall(SYS_userfaultfd, 0), "userfaultfd");
	outcomes[1] = expect_refused(syscall(SYS_userfaultfd, 1), "userfaultfd, user mode only");
	return worst(outcomes, 2);
}

static enum outcome io_uring(const char *argument)
{
	unsigned char params[256] = {0};

	(void)argument;
	return expect_refused(syscall(SYS_io_uring_setup, 8, params), "io_uring_setup");
}

static enum outcome kernel_modules(const char *argument)
{
	enum outcome outcomes[4];

	(void)argument;
	outcomes[0] = expect_refused(syscall(SYS_init_module, "", 0, ""), "init_module");
	outcomes[1] = expect_refused(syscall(SYS_finit_module, 0, "", 0), "finit_module");
	outcomes[2] = expect_refused(syscall(SYS_delete_module, "overlay", 0), "delete_module");
	outcomes[3] = expect_refused(syscall(SYS_kexec_load, 0, 0, NULL, 0), "kexec_load");
	return worst(outcomes, 4);
}

static enum outcome power_and_swap(const char *argument)
{
	enum outcome outcomes[5];

	(void)argument;
	/* The harmless sub-command: were it allowed, so would be the others. */
	outcomes[0] = expect_refused(reboot(RB_DISABLE_CAD), "reboot");
	outcomes[1] = expect_refused(swapon("/tmp/swap", 0), "swapon");
	outcomes[2] = expect_refused(swapoff("/dev/vdb"), "swapoff");
	outcomes[3] = expect_refused(acct("/tmp/acct"), "acct");
	outcomes[4] = expect_refused(quotactl(QCMD(Q_SYNC, USRQUOTA), NULL, 0, NULL), "quotactl");
	return worst(outcomes, 5);
}

static enum outcome set_the_clock(const char *argument)
{
	struct timeval now;
	struct timex change = {.modes = ADJ_TICK, .tick = 10000};
	enum outcome outcomes[2];

	(void)argument;
	gettimeofday(&now, NULL);
	outcomes[0] = expect_refused(settimeofday(&now, NULL), "settimeofday");
	outcomes[1] = expect_refused(adjtimex(&change), "adjtimex");
	return worst(outcomes, 2);
}

static enum outcome kernel_log(const char *argument)
{
	char text[64];
	enum outcome outcomes[2];

	(void)argument;
	outcomes[0] = expect_refused(klogctl(3, text, sizeof(text)), "read the kernel's log");
	outcomes[1] = expect_refused(klogctl(5, NULL, 0), "clear the kernel's log");
	return worst(outcomes, 2);
}

static enum outcome watch_the_host(const char *argument)
{
	(void)argument;
	return expect_refused(fanotify_init(FAN_CLASS_CONTENT, O_RDONLY), "fanotify_init");
}

static enum outcome port_access(const char *argument)
{
	enum outcome outcomes[2];

	(void)argument;
#ifdef SYS_iopl
	outcomes[0] = expect_refused(syscall(SYS_iopl, 3), "iopl");
	outcomes[1] = expect_refused(syscall(SYS_ioperm, 0x80, 1, 1), "ioperm");
#else
	outcomes[0] = outcomes[1] = held("no port access on this architecture");
#endif
	return worst(outcomes, 2);
}

/* The filter must not be passed by the 32-bit entry, whose numbers mean other calls. */
static enum outcome other_architectures(const char *argument)
{
	(void)argument;
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
		return broke_out("a 32-bit system call passed the filter");
	if (syscall(0x40000000 + SYS_getpid) > 0)
		return broke_out("an x32 system call passed the filter");
#endif
	return held("only the native entry works");
}

static enum outcome move_the_host_name(const char *argument)
{
	(void)argument;
	/* Allowed or not, the host's own name stays: test_attempts.py compares. */
	if (sethostname("escaped", 7) == 0)
		return held("the sandbox's own name was changed");
	return held("sethostname: %s", strerror(errno));
}

const struct attempt kernel_attempts[] = {
        {"write_kernel_settings", write_kernel_settings,
         "core_pattern, modprobe, sysrq and others"},
        {"read_kernel_memory", read_kernel_memory, "kcore, kmsg, keys, timer_list"},
        {"kernel_addresses", kernel_addresses, "kallsyms"},
        {"keyring", keyring, "the kernel's keyrings"},
        {"load_bpf", load_bpf, "bpf"},
        {"perf_events", perf_events, "perf_event_open"},
        {"user_faults", user_faults, "userfaultfd"},
        {"io_uring", io_uring, "io_uring_setup"},
        {"kernel_modules", kernel_modules, "modules and kexec"},
        {"power_and_swap", power_and_swap, "reboot, swap, accounting, quota"},
        {"set_the_clock", set_the_clock, "the host's clock"},
        {"kernel_log", kernel_log, "the kernel's log"},
        {"watch_the_host", watch_the_host, "fanotify on whole mounts"},
        {"port_access", port_access, "iopl and ioperm"},
        {"other_architectures", other_architectures, "i386 and x32 system calls"},
        {"move_the_host_name", move_the_host_name, "the host's name"},
        {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "escape/escape.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/error.h"

/* Short names for this table. */
#define OWN ESCAPE_OWN_KERNEL
#define SECOND ESCAPE_SECOND
#define AGENT ESCAPE_NEEDS_AGENT
#define SPOILS ESCAPE_SPOILS
#define BY_API ESCAPE_BY_API
#define NONE ESCAPE_INPUT_NONE

const struct escape_row escape_rows[] = {
        {"read_host_marker", "read a file of the host",
         "opens a file of the host by its path, through /proc/1/root, /proc/self/root, working "
         "folders and /dev/fd",
         "one of the paths opens", ESCAPE_FILES, 0, ESCAPE_INPUT_FILE},
        {"chroot_and_climb", "climb out of a chroot",
         "changes the root, keeps a folder of the old one open, and climbs to the top from there",
         "the host's file opens", ESCAPE_FILES, 0, ESCAPE_INPUT_FILE},
        {"open_by_handle", "open a file by its handle",
         "asks for inode 2 of the disk with open_by_handle_at", "a descriptor is returned",
         ESCAPE_FILES, OWN, NONE},
        {"own_outside_ids", "own files as foreign ids",
         "gives files to user ids that are not the sandbox's", "chown succeeds", ESCAPE_FILES,
         OWN | SECOND, NONE},
        {"set_overlay_attributes", "redirect the overlay",
         "sets trusted.overlay attributes and a malformed file capability",
         "an attribute is stored", ESCAPE_FILES, OWN | SECOND, NONE},
        {"leave_the_disk_quota", "leave the disk's quota",
         "changes the project that the filesystem counts the files for", "the ioctl succeeds",
         ESCAPE_FILES, OWN | SECOND | AGENT, NONE},
        {"read_by_path", "read a host file by a file call",
         "reads paths with .. and through /proc/1/root by the API",
         "the answer holds the host's text", ESCAPE_FILES, BY_API, ESCAPE_INPUT_FILE},
        {"read_by_link", "read a host file through a link",
         "makes symbolic links to the host's file and its folder, and reads them by the API",
         "the answer holds the host's text", ESCAPE_FILES, BY_API, ESCAPE_INPUT_FILE},
        {"write_by_link", "write a host file through a link",
         "makes links to a path of the host and uploads to them by the API",
         "the file appears or changes on the host", ESCAPE_FILES, BY_API, ESCAPE_INPUT_FILE},
        {"delete_by_link", "delete a host file through a link",
         "makes a link to the file's folder and deletes below it by the API",
         "the file is gone on the host", ESCAPE_FILES, BY_API, ESCAPE_INPUT_FILE},
        {"mount_tmpfs", "mount a filesystem", "mounts a tmpfs", "mount succeeds", ESCAPE_MOUNTS,
         OWN, NONE},
        {"mount_fresh_proc", "mount a second /proc", "mounts a /proc without masks",
         "mount succeeds", ESCAPE_MOUNTS, OWN, NONE},
        {"mount_host_disk", "mount the host's disk", "mounts the usual names of disks",
         "mount succeeds", ESCAPE_MOUNTS, OWN, NONE},
        {"remount_proc_sys_writable", "make /proc/sys writable",
         "remounts /proc/sys without its read-only flag", "mount succeeds", ESCAPE_MOUNTS, OWN,
         NONE},
        {"unmount_masks", "uncover masked files",
         "unmounts /proc/kcore, /proc/sys, /sys and others", "umount succeeds", ESCAPE_MOUNTS,
         OWN | AGENT | SPOILS, NONE},
        {"pivot_the_root", "change the root", "calls pivot_root", "the call succeeds",
         ESCAPE_MOUNTS, OWN | AGENT | SPOILS, NONE},
        {"use_new_mount_interface", "use the new mount calls",
         "calls fsopen, open_tree, move_mount and fspick", "one of the calls succeeds",
         ESCAPE_MOUNTS, OWN | AGENT | SPOILS, NONE},
        {"mount_cgroups", "mount a cgroup tree", "mounts cgroup v1 and v2, for release_agent",
         "mount succeeds", ESCAPE_MOUNTS, OWN, NONE},
        {"write_cgroups", "change cgroups",
         "opens limits, release_agent and devices.allow for writing", "a file opens", ESCAPE_MOUNTS,
         OWN, NONE},
        {"make_device_nodes", "make device nodes",
         "makes nodes of a disk, memory, the kernel's log and fuse, and opens them", "a node opens",
         ESCAPE_MOUNTS, OWN, NONE},
        {"open_host_devices", "open devices",
         "opens /dev/mem, /dev/kvm, /dev/fuse, disks, loop devices, tun and others",
         "a device opens", ESCAPE_MOUNTS, OWN, NONE},
        {"write_kernel_settings", "change the kernel's settings",
         "opens core_pattern, modprobe, sysrq-trigger, binfmt_misc and others for writing",
         "a file opens", ESCAPE_KERNEL, OWN, NONE},
        {"write_sys_files", "write to /sys",
         "opens uevent_helper, power/state and others for writing", "a file opens", ESCAPE_KERNEL,
         OWN, NONE},
        {"read_kernel_memory", "read kernel memory",
         "reads /proc/kcore, kmsg, keys, kpageflags and others", "a byte is read", ESCAPE_KERNEL,
         OWN, NONE},
        {"read_kernel_addresses", "read kernel addresses", "reads /proc/kallsyms",
         "an address is not zero", ESCAPE_KERNEL, OWN | SECOND, NONE},
        {"read_kernel_log", "read the kernel's log", "reads and clears the log with syslog(2)",
         "the call succeeds", ESCAPE_KERNEL, OWN | AGENT | SPOILS, NONE},
        {"load_kernel_modules", "load a kernel module",
         "calls init_module, finit_module, delete_module and kexec_load",
         "a call passes the check of rights", ESCAPE_KERNEL, OWN | AGENT | SPOILS, NONE},
        {"switch_power_and_swap", "restart, swap, account",
         "calls reboot (Ctrl-Alt-Del off), swapon, swapoff, acct and quotactl",
         "a call passes the check of rights", ESCAPE_KERNEL, OWN | AGENT | SPOILS, NONE},
        {"set_the_clock", "set the clock", "sets the time that it is, and the tick",
         "a call succeeds", ESCAPE_KERNEL, OWN, NONE},
        {"use_keyring", "use the kernel's keyrings", "calls add_key, request_key and keyctl",
         "a call succeeds", ESCAPE_KERNEL, OWN | SECOND, NONE},
        {"load_bpf", "load BPF", "makes a BPF map", "the call succeeds", ESCAPE_KERNEL,
         OWN | SECOND, NONE},
        {"open_perf_events", "count events of the kernel", "calls perf_event_open",
         "the call succeeds", ESCAPE_KERNEL, OWN | SECOND, NONE},
        {"open_userfaultfd", "handle page faults", "calls userfaultfd", "the call succeeds",
         ESCAPE_KERNEL, OWN | SECOND, NONE},
        {"open_io_uring", "use io_uring", "calls io_uring_setup", "the call succeeds",
         ESCAPE_KERNEL, OWN | SECOND, NONE},
        {"watch_mounts", "watch whole mounts", "calls fanotify_init for content events",
         "the call succeeds", ESCAPE_KERNEL, OWN, NONE},
        {"use_ports", "use I/O ports", "calls iopl and ioperm", "a call succeeds", ESCAPE_KERNEL,
         OWN, NONE},
        {"call_other_architectures", "call as another architecture",
         "makes 32-bit and x32 system calls, whose numbers a filter may not know",
         "a call succeeds", ESCAPE_KERNEL, OWN | SECOND, NONE},
        {"run_without_filter", "run without a system-call filter",
         "reads Seccomp in /proc/self/status", "no filter is on", ESCAPE_KERNEL, OWN | SECOND,
         NONE},
        {"see_host_processes", "see processes of the host",
         "looks for a process of the host in /proc", "its name is found", ESCAPE_PROCESSES, 0,
         ESCAPE_INPUT_COMMAND},
        {"signal_host_processes", "signal a process of the host",
         "sends signal 0 to the number that it has on the host", "kill succeeds", ESCAPE_PROCESSES,
         0, ESCAPE_INPUT_PROCESS},
        {"find_capabilities", "have dangerous capabilities",
         "looks for 15 capabilities, such as SYS_ADMIN and SYS_MODULE, in the bounding set",
         "one of them is there", ESCAPE_PROCESSES, OWN, NONE},
        {"find_inherited_descriptors", "use inherited descriptors",
         "looks for open descriptors other than input and output", "one is open", ESCAPE_PROCESSES,
         0, NONE},
        {"unshare_namespaces", "make namespaces", "calls unshare for each kind", "a call succeeds",
         ESCAPE_PROCESSES, OWN | SECOND, NONE},
        {"clone_namespaces", "clone into namespaces",
         "calls clone and clone3 with a new user namespace", "a call succeeds", ESCAPE_PROCESSES,
         OWN | SECOND, NONE},
        {"join_namespaces", "join namespaces", "calls setns with namespaces of process 1",
         "a call succeeds", ESCAPE_PROCESSES, OWN, NONE},
        {"inject_terminal_input", "type into a terminal",
         "calls TIOCSTI and TIOCLINUX, also with a high bit set", "a call succeeds",
         ESCAPE_PROCESSES, 0, NONE},
        {"raise_limits", "raise own limits",
         "raises the hard limits of core files and locked memory", "setrlimit succeeds",
         ESCAPE_PROCESSES, OWN | SECOND, NONE},
        {"take_realtime_priority", "take real-time priority", "asks for SCHED_FIFO and nice -20",
         "a call succeeds", ESCAPE_PROCESSES, OWN | SECOND, NONE},
        {"protect_from_oom", "hide from the OOM killer", "sets oom_score_adj to -1000",
         "the write succeeds", ESCAPE_PROCESSES, OWN | SECOND, NONE},
        {"ptrace_the_agent", "trace the agent", "attaches to process 1 with ptrace",
         "the call succeeds", ESCAPE_PROCESSES, OWN | SECOND, NONE},
        {"read_the_agent", "read the agent",
         "reads memory, environment and descriptors of process 1", "a read succeeds",
         ESCAPE_PROCESSES, OWN | SECOND, NONE},
        {"take_agent_descriptors", "take the agent's descriptors",
         "calls pidfd_getfd for process 1", "a descriptor is returned", ESCAPE_PROCESSES,
         OWN | SECOND, NONE},
        {"overwrite_the_agent", "overwrite the agent's program", "opens /proc/1/exe for writing",
         "it opens", ESCAPE_PROCESSES, OWN | AGENT | SPOILS, NONE},
        {"signal_the_agent", "end the agent", "sends 31 signals to process 1", "process 1 is gone",
         ESCAPE_PROCESSES, OWN | SECOND | AGENT | SPOILS, NONE},
        {"limit_the_agent", "limit the agent", "sets limits of process 1", "prlimit succeeds",
         ESCAPE_PROCESSES, OWN | SECOND, NONE},
        {"slow_the_agent", "slow the agent", "changes priority and processors of process 1",
         "a call succeeds", ESCAPE_PROCESSES, OWN | SECOND | AGENT | SPOILS, NONE},
        {"write_to_the_agent", "write to the agent's files", "writes to files of /proc/1",
         "a write succeeds", ESCAPE_PROCESSES, OWN | SECOND | AGENT | SPOILS, NONE},
        {"change_the_agents_memory", "change the agent's memory",
         "writes to, moves and reclaims memory of process 1", "a call succeeds", ESCAPE_PROCESSES,
         OWN | SECOND | AGENT | SPOILS, NONE},
        {"connect_to_host", "connect to the host",
         "connects to a server on all addresses of the host, loopback included, and to IPv6 "
         "addresses "
         "that contain them",
         "a connection is accepted", ESCAPE_NETWORK, 0, ESCAPE_INPUT_LISTENERS},
        {"reach_metadata_service", "connect to metadata services",
         "connects to the metadata addresses of cloud providers, by IPv4 and IPv6",
         "a connection is accepted", ESCAPE_NETWORK, 0, NONE},
        {"connect_abstract_socket", "connect to an abstract socket",
         "connects to an abstract unix socket of the host", "the connection is accepted",
         ESCAPE_NETWORK, 0, ESCAPE_INPUT_ABSTRACT},
        {"connect_agent_socket", "connect to the agent's socket",
         "connects to the socket by which the server reaches this sandbox",
         "the connection is accepted", ESCAPE_NETWORK, 0, ESCAPE_INPUT_AGENT},
        {"connect_engine_sockets", "connect to container engines",
         "connects to the sockets of Docker, containerd, Podman, D-Bus and systemd",
         "a connection is accepted", ESCAPE_NETWORK, 0, NONE},
        {"open_raw_sockets", "open raw sockets",
         "opens packet, raw, vsock, kernel-crypto, netfilter and other sockets", "a socket opens",
         ESCAPE_NETWORK, OWN | SECOND, NONE},
        {"change_the_network", "change the network", "sends a change of an interface by netlink",
         "the kernel accepts it", ESCAPE_NETWORK, OWN, NONE},
        {"connect_to_neighbour", "connect to a neighbour",
         "connects to a server in a second sandbox of the same provider, and sends datagrams to it "
         "and to all hosts of each link, by IPv4 and IPv6",
         "a connection is accepted, or a datagram answered", ESCAPE_NEIGHBOURS, 0,
         ESCAPE_INPUT_NEIGHBOUR_ADDRESSES},
        {"connect_neighbour_abstract_socket", "connect to a neighbour's abstract socket",
         "connects to an abstract unix socket of the second sandbox", "the connection is accepted",
         ESCAPE_NEIGHBOURS, 0, ESCAPE_INPUT_NEIGHBOUR},
        {"find_neighbour_files", "see a neighbour's files",
         "looks for files that the second sandbox left in /tmp, /dev/shm, /run and its home",
         "a file is there", ESCAPE_NEIGHBOURS, 0, ESCAPE_INPUT_NEIGHBOUR},
        {"find_shared_memory", "open a neighbour's shared memory",
         "opens System V shared memory of the second sandbox", "shmget succeeds", ESCAPE_NEIGHBOURS,
         0, ESCAPE_INPUT_NEIGHBOUR},
        {"see_neighbour_processes", "see a neighbour's processes",
         "looks for a process of the second sandbox in /proc", "its name is found",
         ESCAPE_NEIGHBOURS, 0, ESCAPE_INPUT_NEIGHBOUR},
        {"take_memory", "take more memory", "fills more than twice the sandbox's memory",
         "all of it is filled", ESCAPE_LIMITS, SPOILS, ESCAPE_INPUT_MEMORY_MB},
        {"take_processes", "make more processes",
         "forks more than four times the sandbox's processes", "all of them run", ESCAPE_LIMITS,
         SPOILS, ESCAPE_INPUT_PIDS},
        {"fill_disk", "fill the disk", "writes three times the sandbox's disk into many files",
         "all of it is written", ESCAPE_LIMITS, SPOILS | SECOND, ESCAPE_INPUT_DISK_MB},
        {"open_files", "open many files", "opens 100,000 descriptors in one process",
         "all of them open", ESCAPE_LIMITS, SECOND, NONE},
        {0},
};

unsigned escape_row_count(void)
{
	return COUNT_OF(escape_rows) - 1;
}

const char *escape_group_name(enum escape_group group)
{
	static const char *const names[] = {
	        [ESCAPE_FILES] = "files",     [ESCAPE_MOUNTS] = "mounts and devices",
	        [ESCAPE_KERNEL] = "kernel",   [ESCAPE_PROCESSES] = "processes",
	        [ESCAPE_NETWORK] = "network", [ESCAPE_NEIGHBOURS] = "neighbours",
	        [ESCAPE_LIMITS] = "limits"};

	return names[group];
}

void escape_describe_kernel(char *ret, unsigned size)
{
	char boot[64] = "-";
	struct utsname kernel = {0};
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, boot, sizeof(boot) - 1);

	if (fd >= 0)
		(void)close(fd);
	if (got > 0)
		boot[got] = '\0';
	boot[strcspn(boot, "\n")] = '\0';
	(void)uname(&kernel);
	(void)snprintf(ret, size, "%s %s %s", boot, kernel.release, kernel.version);
}

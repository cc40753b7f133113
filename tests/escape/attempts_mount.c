/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts, roots, devices and the overlay. */
#include "attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

static enum outcome mount_tmpfs(const char *argument)
{
	(void)argument;
	return expect_refused(mount("none", "/tmp", "tmpfs", 0, NULL), "mount tmpfs on /tmp");
}

static enum outcome mount_fresh_proc(const char *argument)
{
	(void)argument;
	return expect_refused(mount("proc", "/tmp", "proc", 0, NULL), "mount a second /proc");
}

static enum outcome mount_host_disk(const char *argument)
{
	static const char *const disks[] = {"/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/root"};
	enum outcome outcomes[4];

	(void)argument;
	for (unsigned i = 0; i < 4; i++)
		outcomes[i] =
		        expect_refused(mount(disks[i], "/tmp", "ext4", MS_RDONLY, NULL), disks[i]);
	return worst(outcomes, 4);
}

static enum outcome remount_proc_sys_writable(const char *argument)
{
	(void)argument;
	return expect_refused(mount(NULL, "/proc/sys", NULL, MS_REMOUNT | MS_BIND, NULL),
	                      "remount /proc/sys writable");
}

static enum outcome unmount_masks(const char *argument)
{
	static const char *const masks[] = {"/proc/kcore",         "/proc/sys", "/proc/keys",
	                                    "/proc/sysrq-trigger", "/sys",      "/proc"};
	enum outcome outcomes[6];

	(void)argument;
	for (unsigned i = 0; i < 6; i++)
		outcomes[i] = expect_refused(umount2(masks[i], MNT_DETACH), masks[i]);
	return worst(outcomes, 6);
}

static enum outcome pivot_the_root(const char *argument)
{
	(void)argument;
	mkdir("/tmp/new", 0700);
	mkdir("/tmp/new/old", 0700);
	return expect_refused(syscall(SYS_pivot_root, "/tmp/new", "/tmp/new/old"), "pivot_root");
}

static enum outcome new_mount_interface(const char *argument)
{
	enum outcome outcomes[4];

	(void)argument;
	outcomes[0] = expect_refused(syscall(SYS_fsopen, "tmpfs", 0), "fsopen");
	outcomes[1] = expect_refused(syscall(SYS_open_tree, AT_FDCWD, "/", 1), "open_tree clone");
	outcomes[2] = expect_refused(syscall(SYS_move_mount, AT_FDCWD, "/usr", AT_FDCWD, "/tmp", 0),
	                             "move_mount");
	outcomes[3] = expect_refused(syscall(SYS_fspick, AT_FDCWD, "/", 0), "fspick");
	return worst(outcomes, 4);
}

static enum outcome chroot_and_climb(const char *marker)
{
	char path[512];
	int outside = open("/", O_RDONLY | O_DIRECTORY);

	mkdir("/tmp/jail", 0700);
	if (chroot("/tmp/jail") < 0)
		return held("chroot: %s", strerror(errno));
	if (outside < 0 || fchdir(outside) < 0)
		return held("fchdir: %s", strerror(errno));
	for (int i = 0; i < 64; i++)
		if (chdir("..") < 0)
			break;
	if (chroot(".") < 0)
		return held("second chroot: %s", strerror(errno));
	snprintf(path, sizeof(path), "%s", marker);
	return expect_no_open(path, O_RDONLY);
}

static enum outcome read_host_marker(const char *marker)
{
	static const char *const roots[] = {"",
	                                    "/proc/1/root",
	                                    "/proc/self/root/..",
	                                    "/proc/1/cwd/../../..",
	                                    "/proc/self/cwd/../../../../..",
	                                    "/dev/fd/../../../.."};
	enum outcome outcomes[6];
	char path[512];

	for (unsigned i = 0; i < 6; i++) {
		snprintf(path, sizeof(path), "%s%s", roots[i], marker);
		outcomes[i] = expect_no_open(path, O_RDONLY);
	}
	return worst(outcomes, 6);
}

static enum outcome make_device(const char *path, mode_t type, dev_t device)
{
	unlink(path);
	if (mknod(path, type | 0666, device) < 0)
		return held("mknod %s: %s", path, strerror(errno));
	enum outcome outcome = expect_no_open(path, O_RDONLY);

	unlink(path);
	return outcome;
}

static enum outcome make_device_nodes(const char *argument)
{
	enum outcome outcomes[4];

	(void)argument;
	outcomes[0] = make_device("/tmp/disk", S_IFBLK, makedev(254, 0));
	outcomes[1] = make_device("/tmp/memory", S_IFCHR, makedev(1, 1));
	outcomes[2] = make_device("/tmp/messages", S_IFCHR, makedev(1, 11));
	outcomes[3] = make_device("/tmp/fuse", S_IFCHR, makedev(10, 229));
	return worst(outcomes, 4);
}

static enum outcome open_host_devices(const char *argument)
{
	static const char *const devices[] = {
	        "/dev/mem",   "/dev/kmem",    "/dev/port",     "/dev/kmsg",
	        "/dev/kvm",   "/dev/fuse",    "/dev/vda",      "/dev/loop-control",
	        "/dev/loop0", "/dev/net/tun", "/dev/snapshot", "/dev/cpu/0/msr"};
	enum outcome outcomes[12];

	(void)argument;
	for (unsigned i = 0; i < 12; i++)
		outcomes[i] = expect_no_open(devices[i], O_RDWR);
	return worst(outcomes, 12);
}

static enum outcome open_by_handle(const char *argument)
{
	struct {
		struct file_handle handle;
		unsigned char bytes[MAX_HANDLE_SZ];
	} h = {.handle = {.handle_bytes = 8, .handle_type = 1}};
	/* Inode 2 is the root of most ext filesystems: the way out that was called Shocker. */
	uint64_t root_inode = 2;
	int mount_fd = open("/etc/hostname", O_RDONLY);

	(void)argument;
	memcpy(h.handle.f_handle, &root_inode, sizeof(root_inode));
	return expect_refused(open_by_handle_at(mount_fd, &h.handle, O_RDONLY),
	                      "open_by_handle_at");
}

static enum outcome overlay_attributes(const char *argument)
{
	enum outcome outcomes[3];

	(void)argument;
	mkdir("/tmp/overlaid", 0755);
	outcomes[0] = expect_refused(
	        setxattr("/tmp/overlaid", "trusted.overlay.redirect", "/../../../../etc", 16, 0),
	        "trusted.overlay.redirect");
	outcomes[1] = expect_refused(setxattr("/tmp/overlaid", "trusted.overlay.opaque", "y", 1, 0),
	                             "trusted.overlay.opaque");
	outcomes[2] = expect_refused(setxattr("/tmp/overlaid", "security.capability", "x", 1, 0),
	                             "a malformed file capability");
	return worst(outcomes, 3);
}

static enum outcome own_outside_ids(const char *argument)
{
	enum outcome outcomes[2];
	int fd = open("/tmp/owned", O_CREAT | O_WRONLY, 0644);

	(void)argument;
	if (fd >= 0)
		close(fd);
	outcomes[0] = expect_refused(chown("/tmp/owned", 70000, 70000), "chown to an unmapped id");
	outcomes[1] = expect_refused(chown("/tmp/owned", 0x70000000, 0x70000000),
	                             "chown to the on-disk base");
	return worst(outcomes, 2);
}

/* CVE-2019-5736: through a script whose interpreter is /proc/self/exe the runtime runs itself. */
static enum outcome overwrite_the_agent(const char *argument)
{
	enum outcome outcomes[3];

	(void)argument;
	outcomes[0] = expect_no_open("/proc/1/exe", O_WRONLY);
	outcomes[1] = expect_no_open("/proc/1/exe", O_RDWR | O_TRUNC);
	outcomes[2] = expect_refused(truncate("/proc/1/exe", 0), "truncate /proc/1/exe");
	return worst(outcomes, 3);
}

/* The number by which the filesystem limits a sandbox's files, where it does. */
static enum outcome leave_the_disk_quota(const char *argument)
{
	static const char *const places[] = {"/", ".", "/tmp"};
	enum outcome outcomes[2 * 3];

	(void)argument;
	for (unsigned i = 0; i < 3; i++) {
		int fd = open(places[i], O_RDONLY | O_DIRECTORY);
		struct fsxattr is = {0}, other;

		(void)ioctl(fd, FS_IOC_FSGETXATTR, &is);
		other = is;
		other.fsx_projid = is.fsx_projid + 1;
		outcomes[2 * i] =
		        expect_refused(ioctl(fd, FS_IOC_FSSETXATTR, &other), "another project");
		other = is;
		other.fsx_xflags ^= FS_XFLAG_PROJINHERIT;
		outcomes[2 * i + 1] = expect_refused(ioctl(fd, FS_IOC_FSSETXATTR, &other),
		                                     "whether a project is inherited");
		close(fd);
	}
	return worst(outcomes, 2 * 3);
}

static enum outcome cgroup_mount(const char *argument)
{
	enum outcome outcomes[3];

	(void)argument;
	mkdir("/tmp/cgroup", 0755);
	outcomes[0] =
	        expect_refused(mount("cgroup", "/tmp/cgroup", "cgroup", 0, "rdma"), "cgroup v1");
	outcomes[1] =
	        expect_refused(mount("cgroup", "/tmp/cgroup", "cgroup", 0, "memory"), "memory");
	outcomes[2] =
	        expect_refused(mount("cgroup2", "/tmp/cgroup", "cgroup2", 0, NULL), "cgroup2");
	return worst(outcomes, 3);
}

static enum outcome cgroup_write(const char *argument)
{
	static const char *const files[] = {
	        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
	        "/sys/fs/cgroup/memory/release_agent",
	        "/sys/fs/cgroup/memory/notify_on_release",
	        "/sys/fs/cgroup/devices/devices.allow",
	        "/sys/fs/cgroup/pids/pids.max",
	        "/sys/fs/cgroup/cgroup.procs",
	        "/sys/fs/cgroup/memory.max",
	        "/sys/kernel/uevent_helper",
	};
	enum outcome outcomes[8];

	(void)argument;
	for (unsigned i = 0; i < 8; i++)
		outcomes[i] = expect_no_open(files[i], O_WRONLY);
	return worst(outcomes, 8);
}

static enum outcome write_the_template(const char *argument)
{
	struct stat st;

	(void)argument;
	/* With the overlay a write is allowed, and lands in this sandbox only; test_attempts.py
	 * compares the template's file on the host. Through the host template it must be refused.
	 */
	if (stat("/etc/atoll-template", &st) == 0 || access("/usr/bin/env", W_OK) == 0)
		return held("the write went to the sandbox's own layer");
	return expect_no_open("/usr/bin/env", O_WRONLY);
}

const struct attempt mount_attempts[] = {
        {"mount_tmpfs", mount_tmpfs, "mount anything"},
        {"mount_fresh_proc", mount_fresh_proc, "an unmasked /proc"},
        {"mount_host_disk", mount_host_disk, "the host's disk"},
        {"remount_proc_sys_writable", remount_proc_sys_writable, "drop a read-only flag"},
        {"unmount_masks", unmount_masks, "uncover what is masked"},
        {"pivot_the_root", pivot_the_root, "pivot_root"},
        {"new_mount_interface", new_mount_interface, "fsopen, open_tree, move_mount, fspick"},
        {"chroot_and_climb", chroot_and_climb, "the classic chroot escape"},
        {"read_host_marker", read_host_marker, "a host file by every /proc path"},
        {"make_device_nodes", make_device_nodes, "mknod of disk, memory, log, fuse"},
        {"open_host_devices", open_host_devices, "device files that must not be there"},
        {"open_by_handle", open_by_handle, "open_by_handle_at on inode 2"},
        {"overlay_attributes", overlay_attributes, "overlay redirect and opaque attributes"},
        {"own_outside_ids", own_outside_ids, "chown to ids that are not the sandbox's"},
        {"overwrite_the_agent", overwrite_the_agent, "write to the agent's binary"},
        {"leave_the_disk_quota", leave_the_disk_quota, "change the project of a folder"},
        {"cgroup_mount", cgroup_mount, "mount a cgroup tree for its release_agent"},
        {"cgroup_write", cgroup_write, "write cgroup limits and release_agent"},
        {"write_the_template", write_the_template, "change what other sandboxes start from"},
        {0},
};

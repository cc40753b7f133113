/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts, roots, devices and the overlay. */
#include "escape/attempt.h"

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

/* What is mounted is read-only, on a folder of its own, and unmounted at once. */
static enum escape_status try_mount(const char *source, const char *type, const char *options)
{
	char folder[] = "/tmp/atoll-mount-XXXXXX", subject[128];
	bool has_folder = mkdtemp(folder) != NULL;
	int result = mount(source, has_folder ? folder : "/mnt", type, MS_RDONLY, options);
	enum escape_status status;

	(void)snprintf(subject, sizeof(subject), "mount %s as %s", source, type);
	status = expect_refused(result, subject);
	if (result == 0)
		(void)umount2(has_folder ? folder : "/mnt", MNT_DETACH);
	if (has_folder)
		(void)rmdir(folder);
	return status;
}

static enum escape_status mount_tmpfs(const char *argument UNUSED)
{
	return try_mount("none", "tmpfs", NULL);
}

static enum escape_status mount_fresh_proc(const char *argument UNUSED)
{
	return try_mount("proc", "proc", NULL);
}

static enum escape_status mount_host_disk(const char *argument UNUSED)
{
	static const char *const disks[] = {"/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/root"};
	enum escape_status outcomes[4];

	for (unsigned i = 0; i < 4; i++)
		outcomes[i] = try_mount(disks[i], "ext4", NULL);
	return worst_of(outcomes, 4);
}

static enum escape_status remount_proc_sys_writable(const char *argument UNUSED)
{
	return expect_refused(mount(NULL, "/proc/sys", NULL, MS_REMOUNT | MS_BIND, NULL),
	                      "remount /proc/sys writable");
}

static enum escape_status unmount_masks(const char *argument UNUSED)
{
	static const char *const masks[] = {"/proc/kcore",         "/proc/sys", "/proc/keys",
	                                    "/proc/sysrq-trigger", "/sys",      "/proc"};
	enum escape_status outcomes[6];

	for (unsigned i = 0; i < 6; i++)
		outcomes[i] = expect_refused(umount2(masks[i], MNT_DETACH), masks[i]);
	return worst_of(outcomes, 6);
}

static enum escape_status pivot_the_root(const char *argument UNUSED)
{
	mkdir("/tmp/new", 0700);
	mkdir("/tmp/new/old", 0700);
	return expect_refused(syscall(SYS_pivot_root, "/tmp/new", "/tmp/new/old"), "pivot_root");
}

static enum escape_status use_new_mount_interface(const char *argument UNUSED)
{
	enum escape_status outcomes[4];

	outcomes[0] = expect_refused(syscall(SYS_fsopen, "tmpfs", 0), "fsopen");
	outcomes[1] = expect_refused(syscall(SYS_open_tree, AT_FDCWD, "/", 1), "open_tree clone");
	outcomes[2] = expect_refused(syscall(SYS_move_mount, AT_FDCWD, "/usr", AT_FDCWD, "/tmp", 0),
	                             "move_mount");
	outcomes[3] = expect_refused(syscall(SYS_fspick, AT_FDCWD, "/", 0), "fspick");
	return worst_of(outcomes, 4);
}

static enum escape_status chroot_and_climb(const char *marker)
{
	char path[512];
	int outside = open("/", O_RDONLY | O_DIRECTORY);

	mkdir("/tmp/jail", 0700);
	if (chroot("/tmp/jail") < 0)
		return report_held("chroot: %s", strerror(errno));
	if (outside < 0 || fchdir(outside) < 0)
		return report_held("fchdir: %s", strerror(errno));
	for (int i = 0; i < 64; i++)
		if (chdir("..") < 0)
			break;
	if (chroot(".") < 0)
		return report_held("second chroot: %s", strerror(errno));
	snprintf(path, sizeof(path), "%s", marker);
	return expect_no_open(path, O_RDONLY);
}

static enum escape_status read_host_marker(const char *marker)
{
	static const char *const roots[] = {"",
	                                    "/proc/1/root",
	                                    "/proc/self/root/..",
	                                    "/proc/1/cwd/../../..",
	                                    "/proc/self/cwd/../../../../..",
	                                    "/dev/fd/../../../.."};
	enum escape_status outcomes[6];
	char path[512];

	for (unsigned i = 0; i < 6; i++) {
		snprintf(path, sizeof(path), "%s%s", roots[i], marker);
		outcomes[i] = expect_no_open(path, O_RDONLY);
	}
	return worst_of(outcomes, 6);
}

static enum escape_status make_device(const char *path, mode_t type, dev_t device)
{
	unlink(path);
	if (mknod(path, type | 0666, device) < 0)
		return report_held("mknod %s: %s", path, strerror(errno));
	enum escape_status outcome = expect_no_open(path, O_RDONLY);

	unlink(path);
	return outcome;
}

static enum escape_status make_device_nodes(const char *argument UNUSED)
{
	enum escape_status outcomes[4];

	outcomes[0] = make_device("/tmp/disk", S_IFBLK, makedev(254, 0));
	outcomes[1] = make_device("/tmp/memory", S_IFCHR, makedev(1, 1));
	outcomes[2] = make_device("/tmp/messages", S_IFCHR, makedev(1, 11));
	outcomes[3] = make_device("/tmp/fuse", S_IFCHR, makedev(10, 229));
	return worst_of(outcomes, 4);
}

static enum escape_status open_host_devices(const char *argument UNUSED)
{
	static const char *const devices[] = {
	        "/dev/mem",   "/dev/kmem",    "/dev/port",     "/dev/kmsg",
	        "/dev/kvm",   "/dev/fuse",    "/dev/vda",      "/dev/loop-control",
	        "/dev/loop0", "/dev/net/tun", "/dev/snapshot", "/dev/cpu/0/msr"};
	enum escape_status outcomes[12];

	for (unsigned i = 0; i < 12; i++)
		outcomes[i] = expect_no_open(devices[i], O_RDWR);
	return worst_of(outcomes, 12);
}

static enum escape_status open_by_handle(const char *argument UNUSED)
{
	struct {
		struct file_handle handle;
		unsigned char bytes[MAX_HANDLE_SZ];
	} h = {.handle = {.handle_bytes = 8, .handle_type = 1}};
	/* Inode 2 is the root of most ext filesystems: the way out that was called Shocker. */
	uint64_t root_inode = 2;
	int mount_fd = open("/etc/hostname", O_RDONLY);

	memcpy(h.handle.f_handle, &root_inode, sizeof(root_inode));
	return expect_refused(open_by_handle_at(mount_fd, &h.handle, O_RDONLY),
	                      "open_by_handle_at");
}

static enum escape_status set_overlay_attributes(const char *argument UNUSED)
{
	enum escape_status outcomes[3];

	mkdir("/tmp/overlaid", 0755);
	outcomes[0] = expect_refused(
	        setxattr("/tmp/overlaid", "trusted.overlay.redirect", "/../../../../etc", 16, 0),
	        "trusted.overlay.redirect");
	outcomes[1] = expect_refused(setxattr("/tmp/overlaid", "trusted.overlay.opaque", "y", 1, 0),
	                             "trusted.overlay.opaque");
	outcomes[2] = expect_refused(setxattr("/tmp/overlaid", "security.capability", "x", 1, 0),
	                             "a malformed file capability");
	(void)rmdir("/tmp/overlaid");
	return worst_of(outcomes, 3);
}

static enum escape_status own_outside_ids(const char *argument UNUSED)
{
	enum escape_status outcomes[2];
	int fd = open("/tmp/owned", O_CREAT | O_WRONLY, 0644);

	if (fd >= 0)
		close(fd);
	outcomes[0] = expect_refused(chown("/tmp/owned", 70000, 70000), "chown to an unmapped id");
	outcomes[1] = expect_refused(chown("/tmp/owned", 0x70000000, 0x70000000),
	                             "chown to the on-disk base");
	(void)unlink("/tmp/owned");
	return worst_of(outcomes, 2);
}

/* CVE-2019-5736: through a script whose interpreter is /proc/self/exe the runtime runs itself. */
static enum escape_status overwrite_the_agent(const char *argument UNUSED)
{
	enum escape_status outcomes[3];

	outcomes[0] = expect_no_open("/proc/1/exe", O_WRONLY);
	outcomes[1] = expect_no_open("/proc/1/exe", O_RDWR | O_TRUNC);
	outcomes[2] = expect_refused(truncate("/proc/1/exe", 0), "truncate /proc/1/exe");
	return worst_of(outcomes, 3);
}

/* The number by which the filesystem limits a sandbox's files, where it does. */
static enum escape_status leave_the_disk_quota(const char *argument UNUSED)
{
	static const char *const places[] = {"/", ".", "/tmp"};
	enum escape_status outcomes[2 * 3];

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
	return worst_of(outcomes, 2 * 3);
}

static enum escape_status mount_cgroups(const char *argument UNUSED)
{
	enum escape_status outcomes[3];

	outcomes[0] = try_mount("cgroup", "cgroup", "rdma");
	outcomes[1] = try_mount("cgroup", "cgroup", "memory");
	outcomes[2] = try_mount("cgroup2", "cgroup2", NULL);
	return worst_of(outcomes, 3);
}

static enum escape_status write_cgroups(const char *argument UNUSED)
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
	enum escape_status outcomes[8];

	for (unsigned i = 0; i < 8; i++)
		outcomes[i] = expect_no_open(files[i], O_WRONLY);
	return worst_of(outcomes, 8);
}

const struct attempt_function mount_attempts[] = {
        {"mount_tmpfs", mount_tmpfs},
        {"mount_fresh_proc", mount_fresh_proc},
        {"mount_host_disk", mount_host_disk},
        {"remount_proc_sys_writable", remount_proc_sys_writable},
        {"unmount_masks", unmount_masks},
        {"pivot_the_root", pivot_the_root},
        {"use_new_mount_interface", use_new_mount_interface},
        {"chroot_and_climb", chroot_and_climb},
        {"read_host_marker", read_host_marker},
        {"make_device_nodes", make_device_nodes},
        {"open_host_devices", open_host_devices},
        {"open_by_handle", open_by_handle},
        {"set_overlay_attributes", set_overlay_attributes},
        {"own_outside_ids", own_outside_ids},
        {"overwrite_the_agent", overwrite_the_agent},
        {"leave_the_disk_quota", leave_the_disk_quota},
        {"mount_cgroups", mount_cgroups},
        {"write_cgroups", write_cgroups},
        {0},
};

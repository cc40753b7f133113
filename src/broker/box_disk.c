/* SPDX-License-Identifier: Apache-2.0 */
/* The hard limit of a sandbox's disk: its upper layer lies in a small ext4 of its own, a sparse
 * file beside it, mounted through a loop device that goes away with the last mount. Made in a
 * child: it takes some ten milliseconds. The kernels of many hosts have no project quota, which
 * would be the cheaper way. */
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "broker/box.h"

#define IMAGE "disk.img"
#define MKFS "/usr/sbin/mkfs.ext4"
#define LOOP_TRIES 16
#define LOCK_TRIES 500
#define LOCK_PAUSE_MS 10
#define DISK_MIN_BYTES (UINT64_C(16) << 20)

struct disk_report {
	struct error err; /* ERROR_NONE = a mount comes with it */
};

bool box_disk_is_possible(void)
{
	return access(MKFS, X_OK) == 0 && access("/dev/loop-control", R_OK | W_OK) == 0;
}

/* The sandbox's folder: a cell's until it has its name. */
static int open_folder(const struct box *box, int *ret_fd, struct error *err)
{
	const struct host *host = box->boxes->host;
	char name[GROUP_NAME_SIZE];

	host_group_name(box->slot, name);
	*ret_fd = openat(host->folders[box->restart ? FOLDER_SANDBOXES : FOLDER_CELLS],
	                 box->restart ? box->id : name,
	                 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open the folder of '%s'", box->id) : 0;
}

bool box_wants_disk(const struct box *box)
{
	const struct host *host = box->boxes->host;
	char path[64];

	/* A stopped one has what it was made with, whatever the option says now. */
	(void)snprintf(path, sizeof(path), "%s/" IMAGE, box->id);
	if (box->restart)
		return faccessat(host->folders[FOLDER_SANDBOXES], path, F_OK, 0) == 0;
	return host->can_limit_disk && box->disk_bytes >= DISK_MIN_BYTES;
}

/* ---- the child ---- */

static int run_mkfs(int image, struct error *err)
{
	char path[32];
	int status;
	pid_t pid;

	/* Open across exec, in this child only. */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", image);
	(void)fcntl(image, F_SETFD, 0);
	pid = vfork();
	if (pid == 0) {
		(void)execle(MKFS, "mkfs.ext4", "-q", "-F", "-m", "0", "-O", "^has_journal", "-E",
		             "lazy_itable_init=1,nodiscard", path, (char *)NULL, (char *[]){NULL});
		_exit(127);
	}
	(void)fcntl(image, F_SETFD, FD_CLOEXEC);
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return FAIL_ERRNO(err, "run mkfs.ext4");
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return FAIL(err, ERROR_SYSTEM, "mkfs.ext4 failed with status %d", status);
	return 0;
}

/* Two mounts of one image destroy it. The loop device keeps the description that is locked here,
 * and so the lock, for as long as anything of the last mount is left. */
static int lock_image(int image, struct error *err)
{
	for (unsigned i = 0; flock(image, LOCK_EX | LOCK_NB) < 0; i++) {
		if (errno != EWOULDBLOCK || i == LOCK_TRIES)
			return FAIL_ERRNO(err, "wait for the last mount of '" IMAGE "' to end");
		(void)poll(NULL, 0, LOCK_PAUSE_MS);
	}
	return 0;
}

static int open_image(const struct box *box, int folder, int *ret_fd, struct error *err)
{
	int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | (box->restart ? 0 : O_CREAT | O_EXCL);
	AUTO_CLOSE int fd = openat(folder, IMAGE, flags, 0600);

	if (fd < 0)
		return FAIL_ERRNO(err, "open '" IMAGE "'");
	if (lock_image(fd, err) < 0)
		return -1;
	if (!box->restart) {
		if (ftruncate(fd, (off_t)box->disk_bytes) < 0)
			return FAIL_ERRNO(err, "size '" IMAGE "'");
		if (run_mkfs(fd, err) < 0)
			return -1;
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* Somebody else may take the free number first; the device vanishes with its last user. */
static int open_loop(int image, char path[32], int *ret_fd, struct error *err)
{
	struct loop_config config = {.fd = (uint32_t)image,
	                             .info = {.lo_flags = LO_FLAGS_AUTOCLEAR}};
	AUTO_CLOSE int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);

	if (control < 0)
		return FAIL_ERRNO(err, "open '/dev/loop-control'");
	for (unsigned i = 0; i < LOOP_TRIES; i++) {
		int number = ioctl(control, LOOP_CTL_GET_FREE);
		AUTO_CLOSE int fd = -1;

		if (number < 0)
			return FAIL_ERRNO(err, "find a free loop device");
		(void)snprintf(path, 32, "/dev/loop%d", number);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd >= 0 && ioctl(fd, LOOP_CONFIGURE, &config) == 0) {
			*ret_fd = TAKE_FD(fd);
			return 0;
		}
		if (errno != EBUSY)
			return FAIL_ERRNO(err, "set up '%s'", path);
	}
	return FAIL(err, ERROR_UNAVAILABLE, "no loop device is free");
}

static int make_folders(int root, struct error *err)
{
	static const char *const names[] = {"upper", "work"};

	for (unsigned i = 0; i < COUNT_OF(names); i++)
		if (mkdirat(root, names[i], 0755) < 0 ||
		    fchownat(root, names[i], ID_STORED, ID_STORED, 0) < 0)
			return FAIL_ERRNO(err, "make '%s'", names[i]);
	return 0;
}

static int mount_image(const struct box *box, int *ret_fd, struct error *err)
{
	AUTO_CLOSE int folder = -1, image = -1, loop = -1, root = -1;
	char path[32], options[64];

	if (open_folder(box, &folder, err) < 0 || open_image(box, folder, &image, err) < 0 ||
	    open_loop(image, path, &loop, err) < 0)
		return -1;
	(void)snprintf(options, sizeof(options), "source=%s", path);
	if (layer_make("ext4", options, MOUNT_ATTR_NODEV | MOUNT_ATTR_NOATIME, &root, err) < 0)
		return -1;
	if (!box->restart && make_folders(root, err) < 0)
		return -1;
	*ret_fd = TAKE_FD(root);
	return 0;
}

static int run_disk(void *context)
{
	struct box *box = context;
	struct disk_report report = {.err = {.code = ERROR_NONE}};
	struct wire_fds fds = {.count = 1};
	struct error err = {0};

	(void)umask(0);
	if (mount_image(box, &fds.fds[0], &report.err) < 0)
		fds.count = 0;
	return wire_send_packet(box->disk_report_fd,
	                        (struct span){(const char *)&report, sizeof(report)}, &fds,
	                        DEADLINE_NEVER, &err);
}

/* ---- the broker ---- */

static int take_report(struct box *box, struct error *err)
{
	AUTO(buf_done) struct buf packet = BUF(sizeof(struct disk_report) + 1);
	struct wire_fds fds = {.count = 0};
	struct disk_report report;

	if (wire_receive_packet(box->disk_report_fd, deadline_in(0), &packet, &fds, err) < 0)
		return FAIL_CONTEXT(err, "making a disk");
	memcpy(&report, packet.data, sizeof(report));
	if (report.err.code != ERROR_NONE || fds.count != 1) {
		*err = report.err;
		return -1;
	}
	box->disk_fd = fds.fds[0];
	return 0;
}

static void on_disk_end(struct job *job, int status)
{
	struct box *box = CONTAINER_OF(job, struct box, disk_job);
	struct error err = {0};

	(void)status; /* the report tells more */
	if (take_report(box, &err) == 0) {
		box->disk_is_advisory = false;
		box_step(box, "disk");
	}
	fd_forget(&box->disk_report_fd);
	box->on_disk(box, &err);
}

int box_disk_start(struct box *box, struct error *err)
{
	int report[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, report) < 0)
		return FAIL_ERRNO(err, "make a socket pair");
	box->disk_report_fd = report[1];
	box->disk_job.on_end = on_disk_end;
	if (job_start(box->boxes->events, &box->disk_job, run_disk, box, err) < 0) {
		(void)close(report[0]);
		return -1;
	}
	(void)close(report[1]);
	box->disk_report_fd = report[0];
	return 0;
}

uint64_t box_disk_used(const struct box *box)
{
	struct statfs status;
	char path[64];

	/* Without a disk of its own, counting would mean to walk all files. */
	(void)snprintf(path, sizeof(path), "/proc/%d/root", box->pid);
	if (box->disk_is_advisory || statfs(path, &status) < 0)
		return UINT64_MAX;
	return (status.f_blocks - status.f_bfree) * (uint64_t)status.f_bsize;
}

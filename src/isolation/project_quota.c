/* SPDX-License-Identifier: Apache-2.0 */
#include "isolation/project_quota.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"

#define PROJECT_FIRST 0x40000000u
#define PROJECT_MASK 0x3fffffffu
#define CHOICES_MAX 16
#define BLOCK_BYTES 1024u /* unit of a limit, independent of the filesystem's blocks */
#define NOBODY 65534u
#define PROBE_NAME ".quota-probe"
#define PROBE_LIMIT (UINT64_C(64) << 10)
#define PROBE_BYTES (512u << 10)
#define PROBE_REFUSED 42 /* exit status of the child: the limit held */

#define CURE                                                                                       \
	"ext4: 'tune2fs -O project,quota -Q prjquota DEVICE', unmounted; ext4 and xfs: mount it "  \
	"with prjquota; or set disk_quota to image or off"

/* Unsigned: QCMD shifts it past an int's sign. */
static int call_quota(int fd, unsigned command, uint32_t project, struct if_dqblk *block)
{
	return (int)syscall(SYS_quotactl_fd, fd, QCMD(command, PRJQUOTA), project, block);
}

static int refuse_quota(const char *what, struct error *err)
{
	int why = errno;

	(void)FAIL_ERRNO(err, "%s", what);
	if (why != ESRCH && why != ENOSYS && why != EOPNOTSUPP && why != ENOTTY && why != EINVAL)
		return -1;
	(void)FAIL(err, ERROR_UNSUPPORTED,
	           "the data folder's filesystem, or this kernel, has no project quotas (%s: %s)",
	           what, strerror(why));
	return FAIL_HINT(err, CURE);
}

static int read_quota(int fd, uint32_t project, struct if_dqblk *ret, struct error *err)
{
	*ret = (struct if_dqblk){0};
	/* xfs has no record of a project that was never used. */
	if (call_quota(fd, Q_GETQUOTA, project, ret) == 0 || errno == ENOENT)
		return 0;
	return refuse_quota("ask for a project's quota", err);
}

static uint64_t blocks_of(uint64_t bytes)
{
	return (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
}

static int write_limits(int fd, uint32_t project, const struct project_amount *most,
                        struct error *err)
{
	struct if_dqblk block = {.dqb_bhardlimit = blocks_of(most->bytes),
	                         .dqb_ihardlimit = most->inodes,
	                         .dqb_valid = QIF_LIMITS};

	return call_quota(fd, Q_SETQUOTA, project, &block) < 0
	               ? refuse_quota("set a project's quota", err)
	               : 0;
}

static int read_project(int fd, uint32_t *ret, struct error *err)
{
	struct fsxattr attributes;

	if (ioctl(fd, FS_IOC_FSGETXATTR, &attributes) < 0)
		return refuse_quota("ask for a folder's project", err);
	*ret = attributes.fsx_xflags & FS_XFLAG_PROJINHERIT ? attributes.fsx_projid : 0;
	return 0;
}

static int write_project(int fd, uint32_t project, struct error *err)
{
	struct fsxattr attributes;

	if (ioctl(fd, FS_IOC_FSGETXATTR, &attributes) < 0)
		return refuse_quota("ask for a folder's project", err);
	attributes.fsx_xflags |= FS_XFLAG_PROJINHERIT;
	attributes.fsx_projid = project;
	return ioctl(fd, FS_IOC_FSSETXATTR, &attributes) < 0
	               ? refuse_quota("give a folder a project", err)
	               : 0;
}

static int choose_project(int fd, uint32_t *ret, struct error *err)
{
	struct if_dqblk block;
	uint32_t project;

	for (unsigned i = 0; i < CHOICES_MAX; i++) {
		random_bytes(&project, sizeof(project));
		project = PROJECT_FIRST | (project & PROJECT_MASK);
		if (read_quota(fd, project, &block, err) < 0)
			return -1;
		if (block.dqb_curspace == 0 && block.dqb_curinodes == 0) {
			*ret = project;
			return 0;
		}
	}
	return FAIL(err, ERROR_UNAVAILABLE, "%d projects of the filesystem are all in use",
	            CHOICES_MAX);
}

int project_quota_begin(int folder, struct error *err)
{
	uint32_t project;

	return choose_project(folder, &project, err) < 0 ? -1 : write_project(folder, project, err);
}

static int find_project(int folder, uint32_t *ret, struct error *err)
{
	uint32_t project = 0;

	if (read_project(folder, &project, err) < 0)
		return -1;
	if (project == 0)
		return FAIL(err, ERROR_NOT_FOUND, "the folder has no project");
	*ret = project;
	return 0;
}

int project_quota_limit(int folder, const struct project_amount *most, struct error *err)
{
	uint32_t project;

	return find_project(folder, &project, err) < 0 ? -1
	                                               : write_limits(folder, project, most, err);
}

/* A process with CAP_SYS_RESOURCE passes any limit, so the probe runs without it. */
static int run_writer(int folder)
{
	static const char piece[16 << 10];
	int fd = openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
	    setresuid(NOBODY, NOBODY, NOBODY) < 0)
		return 1;
	for (unsigned done = 0; done < PROBE_BYTES; done += sizeof(piece))
		if (write(fd, piece, sizeof(piece)) < 0)
			return errno == EDQUOT || errno == ENOSPC ? PROBE_REFUSED : 1;
	return fsync(fd) < 0 && (errno == EDQUOT || errno == ENOSPC) ? PROBE_REFUSED : 0;
}

static int try_limit(int folder, struct error *err)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(run_writer(folder));
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return FAIL_ERRNO(err, "try a project's quota");
	if (WIFEXITED(status) && WEXITSTATUS(status) == PROBE_REFUSED)
		return 0;
	(void)FAIL(err, ERROR_UNSUPPORTED,
	           "the data folder's filesystem counts projects and does not limit them");
	return FAIL_HINT(err, CURE);
}

static int try_folder(int folder, struct error *err)
{
	const struct project_amount most = {PROBE_LIMIT, 16}, none = {0, 0};
	struct error ignored = {0};
	int status;

	if (project_quota_begin(folder, err) < 0 || project_quota_limit(folder, &most, err) < 0)
		return -1;
	status = try_limit(folder, err);
	(void)!project_quota_limit(folder, &none, &ignored);
	return status;
}

int project_quota_probe(int folder, struct error *err)
{
	AUTO_CLOSE int probe = -1;
	int status;

	if (mkdirat(folder, PROBE_NAME, 0700) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make the folder '" PROBE_NAME "'");
	probe = openat(folder, PROBE_NAME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (probe < 0)
		return FAIL_ERRNO(err, "open the folder '" PROBE_NAME "'");
	status = try_folder(probe, err);
	(void)unlinkat(folder, PROBE_NAME, AT_REMOVEDIR);
	return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/host/descriptors.h"
#include "broker/host/launcher.h"
#include "broker/host/options.h"
#include "broker/host/spread.h"
#include "isolation/cgroups.h"
#include "isolation/isolation.h"

#define LOCK_TRIES 100
#define LOCK_PAUSE_MS 10

static const struct {
	const char *path; /* below the data folder */
	mode_t mode;
} folder_rows[FOLDER_COUNT] = {
        [FOLDER_DATA] = {".", 0},
        [FOLDER_TEMPLATES] = {"templates", 0755},
        [FOLDER_PREWARMS] = {"cells", 0700},
        [FOLDER_SANDBOXES] = {"sandboxes", 0700},
        [FOLDER_HOST_FILES] = {"host-files", 0711},
        [FOLDER_VOLUMES] = {"volumes", 0700},
        [FOLDER_TRASH] = {"trash", 0700},
        [FOLDER_KEPT] = {"trash/kept", 0700},
        [FOLDER_RUN] = {"run", 0711},
        [FOLDER_RUN_PREWARMS] = {"run/cells", 0700},
        [FOLDER_LAYERS] = {"run/layers", 0700},
        [FOLDER_RUN_SANDBOXES] = {"run/sandboxes", 0711},
        [FOLDER_RUN_NAMES] = {"run/names", 0750},
        [FOLDER_SNAPSHOTS] = {"snapshots", 0700},
};

const char *host_folder_path(enum host_folder folder)
{
	return folder_rows[folder].path;
}

void host_group_name(uint32_t slot, char out[GROUP_NAME_SIZE])
{
	(void)snprintf(out, GROUP_NAME_SIZE, "s%u", slot);
}

void host_kept_name(uint32_t slot, char out[GROUP_NAME_SIZE])
{
	(void)snprintf(out, GROUP_NAME_SIZE, "k%u", slot);
}

/* A folder must belong to root, whatever the owner of the data folder put in its place. */
static int open_folder(struct host *host, unsigned i, struct error *err)
{
	int data = host->folders[FOLDER_DATA];
	struct fd_open_options options = {.flags = O_RDONLY | O_DIRECTORY};
	const char *path = folder_rows[i].path;
	struct stat status;

	if (mkdirat(data, path, folder_rows[i].mode) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make the folder '%s'", path);
	if (fd_open_beneath(data, path, &options, &host->folders[i], err) < 0)
		return -1;
	if (fstat(host->folders[i], &status) < 0)
		return FAIL_ERRNO(err, "look at the folder '%s'", path);
	if (i != FOLDER_TEMPLATES && status.st_uid != 0)
		return FAIL(err, ERROR_FORBIDDEN, "folder '%s' belongs to %u and not to root", path,
		            status.st_uid);
	if (i != FOLDER_TEMPLATES && fchmod(host->folders[i], folder_rows[i].mode) < 0)
		return FAIL_ERRNO(err, "set the mode of the folder '%s'", path);
	return 0;
}

/* Without it sandboxes are made more slowly, and nothing else changes. */
static void spread_folders(const struct host *host)
{
	static const enum host_folder spread[] = {FOLDER_PREWARMS, FOLDER_RUN_PREWARMS,
	                                          FOLDER_SNAPSHOTS};
	AUTO_CLOSE int sys = open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct error err = {0};
	struct stat status;

	for (unsigned i = 0; i < COUNT_OF(spread); i++) {
		int folder = host->folders[spread[i]];

		if (fstat(folder, &status) == 0 && spread_is_due(sys, status.st_dev) &&
		    spread_folder(folder, &err) < 0)
			log_debug("folders are not spread over the disk", FAILURE(&err));
	}
}

static int open_folders(struct host *host, struct error *err)
{
	if (!realpath(host->options->data, host->data_path))
		return FAIL_ERRNO(err, "find the data folder '%s'", host->options->data);
	host->folders[FOLDER_DATA] = open(host->data_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (host->folders[FOLDER_DATA] < 0)
		return FAIL_ERRNO(err, "open the data folder '%s'", host->data_path);
	for (unsigned i = FOLDER_DATA + 1; i < FOLDER_COUNT; i++)
		if (open_folder(host, i, err) < 0)
			return -1;
	spread_folders(host);
	host->lock_fd = openat(host->folders[FOLDER_RUN], "broker.lock",
	                       O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (host->lock_fd < 0)
		return FAIL_ERRNO(err, "open 'broker.lock'");
	/* A child of a broker that was killed may hold the lock for a moment. */
	for (unsigned i = 0; flock(host->lock_fd, LOCK_EX | LOCK_NB) < 0; i++) {
		if (i == LOCK_TRIES)
			return FAIL(err, ERROR_CONFLICT, "another broker runs on '%s'",
			            host->data_path);
		(void)poll(NULL, 0, LOCK_PAUSE_MS);
	}
	return launcher_call(host, LAUNCH_HOLD, NULL,
	                     &(struct wire_fds){.fds = {host->lock_fd}, .count = 1}, NULL, err);
}

static int read_boot_id(struct host *host, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(sizeof(host->boot_id) - 1);

	if (file_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", &text, err) < 0)
		return -1;
	(void)snprintf(host->boot_id, sizeof(host->boot_id), "%.36s", buf_text(&text));
	return 0;
}

/* If the disk cannot be limited, the broker logs that and shares it equally, as without the option.
 */
static void find_disk(struct host *host)
{
	struct error err = {0};

	if (host->options->io_mbps == 0)
		return;
	/* Setting no limit for all tells whether this kernel can limit at all. */
	if (cgroup_io_find(host->folders[FOLDER_DATA], &host->cgroups->io, &err) == 0 &&
	    host->cgroups->ops->limit_io(host->cgroups, ".", &host->cgroups->io, &err) == 0)
		host->cgroups->io.bytes_per_s = (uint64_t)host->options->io_mbps * 1000000;
	else
		log_warning("cannot limit reads and writes, going on without", FAILURE(&err));
}

static int open_cgroups(struct host *host, struct error *err)
{
	if (cgroup_open("/sys/fs/cgroup", host->cgroups, err) < 0)
		return -1;
	if (host->cgroups->roots[CGROUP_DEVICES] >= 0 &&
	    launcher_call(host, LAUNCH_DEVICES, NULL, NULL, NULL, err) < 0)
		return -1;
	if (!host->cgroups->can_burst)
		log_warning("this kernel has no CPU burst (Linux 5.14): sandboxes with less than a"
		            " processor stutter");
	return 0;
}

static int open_program(const char *path, int *ret_fd, struct error *err)
{
	*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open the program '%s'", path) : 0;
}

static int open_parts(struct host *host, struct error *err)
{
	if (isolation_check_host(err) < 0 || launcher_open(host, err) < 0 ||
	    open_folders(host, err) < 0)
		return -1;
	if (read_boot_id(host, err) < 0 || open_cgroups(host, err) < 0)
		return -1;
	find_disk(host);
	if (open_program(host->options->agent, &host->agent_fd, err) < 0)
		return -1;
	return host_network_open(host, err);
}

int host_open(struct host *host, const struct broker_options *options, struct host_network *network,
              struct error *err)
{
	*host = (struct host){.options = options,
	                      .network = network,
	                      .cgroups = memory_new(sizeof(*host->cgroups)),
	                      .launcher_fd = -1,
	                      .agent_fd = -1,
	                      .lock_fd = -1};
	for (unsigned i = 0; i < FOLDER_COUNT; i++)
		host->folders[i] = -1;
	for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
		host->cgroups->roots[i] = -1;
	if (open_parts(host, err) == 0)
		return 0;
	host_close(host);
	return -1;
}

void host_close(struct host *host)
{
	for (unsigned i = 0; i < FOLDER_COUNT; i++)
		fd_forget(&host->folders[i]);
	cgroup_close(host->cgroups);
	free(TAKE(host->cgroups));
	fd_forget(&host->agent_fd);
	fd_forget(&host->lock_fd);
	fd_forget(&host->launcher_fd);
}

static int max_fd(int a, int b)
{
	return a > b ? a : b;
}

int host_fd_end(const struct host *host)
{
	int last = max_fd(host->agent_fd, host->launcher_fd);

	for (unsigned i = 0; i < FOLDER_COUNT; i++)
		last = max_fd(last, host->folders[i]);
	for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
		last = max_fd(last, host->cgroups->roots[i]);
	return last + 1;
}

int host_check_space(const struct host *host, struct error *err)
{
	struct statvfs status;

	if (fstatvfs(host->folders[FOLDER_DATA], &status) < 0)
		return FAIL_ERRNO(err, "ask for the free space");
	if ((uint64_t)status.f_bavail * status.f_frsize < HOST_SPACE_MIN_BYTES)
		return FAIL(err, ERROR_NO_SPACE, "data folder has less than %llu MiB free",
		            (unsigned long long)(HOST_SPACE_MIN_BYTES >> 20));
	/* btrfs and similar filesystems count no files */
	if (status.f_files > 0 && status.f_favail < HOST_FILES_MIN)
		return FAIL(err, ERROR_NO_SPACE, "data folder has room for fewer than %d files",
		            HOST_FILES_MIN);
	return 0;
}

int host_check_room(const struct host *host, bool with_files, struct error *err)
{
	if (descriptors_check(err) < 0)
		return -1;
	return with_files ? host_check_space(host, err) : 0;
}

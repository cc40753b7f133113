/* SPDX-License-Identifier: Apache-2.0 */
#include "isolation/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"

#define REMOVE_TRIES 200
#define REMOVE_PAUSE_MS 5
#define GROUP_PATH_MAX 128
#define CPU_QUOTA_MIN_US 1000

const char *const cgroup_controllers[CGROUP_CONTROLLER_COUNT] = {
        [CGROUP_MEMORY] = "memory",   [CGROUP_CPU] = "cpu",         [CGROUP_PIDS] = "pids",
        [CGROUP_CPUACCT] = "cpuacct", [CGROUP_FREEZER] = "freezer", [CGROUP_DEVICES] = "devices",
        [CGROUP_BLKIO] = "blkio",
};

static int read_file(int root, const char *group, const char *file, struct buf *out,
                     struct error *err)
{
	char path[GROUP_PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", group, file);
	return file_read(root, path, out, err);
}

/* "max" is no limit. */
static uint64_t parse_value(const char *text)
{
	return strncmp(text, "max", 3) == 0 ? UINT64_MAX : strtoull(text, NULL, 10);
}

int cgroup_read(int root, const char *group, const char *file, uint64_t *ret, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(4096);

	if (read_file(root, group, file, &text, err) < 0)
		return -1;
	*ret = parse_value(buf_text(&text));
	return 0;
}

int cgroup_read_key(int root, const char *group, const char *file, const char *key, uint64_t *ret,
                    struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(16384);
	struct span rest, line, word;

	if (read_file(root, group, file, &text, err) < 0)
		return -1;
	rest = buf_span(&text);
	while (rest.size > 0) {
		(void)span_split(&rest, '\n', &line);
		(void)span_split(&line, ' ', &word);
		/* The text ends with a NUL; strtoull stops at the end of the line. */
		if (span_equals_text(word, key) && line.size > 0)
			*ret = parse_value(line.data);
	}
	return 0;
}

static int open_events(int root, const char *group, const char *file)
{
	char path[GROUP_PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", group, file);
	return openat(root, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
}

void cgroup_open_events(const struct cgroup_host *h, const char *group,
                        int ret_fds[CGROUP_EVENTS_COUNT])
{
	/* Version 2 has one tree. */
	int pids = h->roots[CGROUP_PIDS] >= 0 ? h->roots[CGROUP_PIDS] : h->roots[CGROUP_MEMORY];

	ret_fds[CGROUP_MEMORY_EVENTS] =
	        open_events(h->roots[CGROUP_MEMORY], group, h->ops->memory_events);
	ret_fds[CGROUP_PIDS_EVENTS] = open_events(pids, group, "pids.events");
}

int cgroup_write(int root, const char *group, const char *file, uint64_t value, struct error *err)
{
	char path[GROUP_PATH_MAX], text[32];

	(void)snprintf(path, sizeof(path), "%s/%s", group, file);
	(void)snprintf(text, sizeof(text), "%" PRIu64, value);
	return file_poke(root, path, text, err);
}

/* Version 2 has one root for all controllers. */
static int find_cpu_root(const struct cgroup_host *h)
{
	return h->roots[CGROUP_CPU] >= 0 ? h->roots[CGROUP_CPU] : h->roots[0];
}

static int write_text(int root, const char *group, const char *file, const char *text,
                      struct error *err)
{
	char path[GROUP_PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", group, file);
	return file_poke(root, path, text, err);
}

static int write_quota(int root, const char *group, const struct cgroup_cpu_files *files,
                       uint64_t quota_us, struct error *err)
{
	char text[64];

	if (!files->with_period)
		return cgroup_write(root, group, files->quota, quota_us, err);
	(void)snprintf(text, sizeof(text), "%" PRIu64 " %d", quota_us, CGROUP_CPU_PERIOD_US);
	return write_text(root, group, files->quota, text, err);
}

/* Idle groups run when no other group has something to run, and give way at once. */
static int put_into_background(int root, const char *group, const struct cgroup_cpu_files *files,
                               struct error *err)
{
	if (write_text(root, group, files->quota, files->no_quota, err) < 0)
		return -1;
	if (cgroup_write(root, group, "cpu.idle", 1, err) == 0)
		return 0;
	if (err->sys_errno != ENOENT)
		return -1;
	error_clear(err);
	return cgroup_write(root, group, files->weight, files->lowest_weight, err);
}

int cgroup_limit_cpu(const struct cgroup_host *h, const char *group,
                     const struct cgroup_cpu_files *files, const struct cgroup_limits *limits,
                     struct error *err)
{
	uint64_t quota_us = limits->cpu_milli * (CGROUP_CPU_PERIOD_US / 1000);
	int root = find_cpu_root(h);

	if (limits->background)
		return put_into_background(root, group, files, err);
	if (quota_us < CPU_QUOTA_MIN_US)
		quota_us = CPU_QUOTA_MIN_US;
	if (write_quota(root, group, files, quota_us, err) < 0) {
		/* The kernel refuses a quota that is smaller than the burst. */
		if (!h->can_burst || err->sys_errno != EINVAL)
			return -1;
		error_clear(err);
		if (cgroup_write(root, group, files->burst, 0, err) < 0 ||
		    write_quota(root, group, files, quota_us, err) < 0)
			return -1;
	}
	return h->can_burst ? cgroup_write(root, group, files->burst, quota_us, err) : 0;
}

int cgroup_allow_burst(const struct cgroup_host *h, const char *group,
                       const struct cgroup_cpu_files *files, struct error *err)
{
	uint64_t quota_us = UINT64_MAX;
	int root = find_cpu_root(h);

	if (!h->can_burst)
		return 0;
	/* "-1" and "max" are both read as UINT64_MAX. */
	if (cgroup_read(root, group, files->quota, &quota_us, err) < 0)
		return -1;
	return quota_us == UINT64_MAX ? 0 : cgroup_write(root, group, files->burst, quota_us, err);
}

/* A single round; processes that fork meanwhile are killed in the next. */
static void kill_listed(int root, const char *group)
{
	AUTO(buf_done) struct buf text = BUF(1024 * 1024);
	struct error ignored = {0};
	struct span rest, line;

	if (read_file(root, group, "cgroup.procs", &text, &ignored) < 0)
		return;
	rest = buf_span(&text);
	while (rest.size > 0) {
		AUTO_CLOSE int process = -1;
		int64_t pid;

		(void)span_split(&rest, '\n', &line);
		if (span_parse_whole(line, 1, INT32_MAX, &pid, &ignored) < 0 || pid == getpid())
			continue;
		if (pidfd_open_of((pid_t)pid, &process, &ignored) == 0)
			(void)!pidfd_signal(process, SIGKILL, &ignored);
	}
}

int cgroup_empty_and_remove(int root, const char *group, struct error *err)
{
	for (unsigned i = 0; i < REMOVE_TRIES; i++) {
		if (unlinkat(root, group, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return 0;
		if (errno != EBUSY)
			break;
		kill_listed(root, group);
		(void)poll(NULL, 0, REMOVE_PAUSE_MS);
	}
	return FAIL_ERRNO(err, "remove the cgroup '%s'", group);
}

static int open_folder(int parent, const char *name, int *ret_fd)
{
	*ret_fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *ret_fd < 0 ? -1 : 0;
}

/* Makes and opens Atoll's folder below a controller's. */
static int open_ours(int parent, const char *name, int *ret_fd, struct error *err)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/" CGROUP_ALL, name);
	if (mkdirat(parent, path, 0755) < 0 && errno != EEXIST) {
		(void)FAIL_ERRNO(err, "make the cgroup '%s'", path);
		return FAIL_HINT(
		        err, "mount /sys/fs/cgroup and what is below it writable for root; in a "
		             "container that takes --privileged --cgroupns=host");
	}
	if (open_folder(parent, path, ret_fd) < 0)
		return FAIL_ERRNO(err, "open the cgroup '%s'", path);
	return 0;
}

/* A fake tree of tests lies on an ordinary filesystem; there the control file decides. */
static bool is_v2(int top)
{
	struct statfs status;

	if (fstatfs(top, &status) == 0 && status.f_type == CGROUP2_SUPER_MAGIC)
		return true;
	return faccessat(top, "cgroup.controllers", F_OK, 0) == 0;
}

static int open_v1(int top, struct cgroup_host *h, struct error *err)
{
	for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
		if (faccessat(top, cgroup_controllers[i], F_OK, 0) < 0) {
			if (i <= CGROUP_PIDS)
				return FAIL(err, ERROR_UNSUPPORTED,
				            "this host has no cgroup controller '%s'",
				            cgroup_controllers[i]);
			continue;
		}
		if (open_ours(top, cgroup_controllers[i], &h->roots[i], err) < 0)
			return -1;
	}
	h->ops = faccessat(top, "unified", F_OK, 0) == 0 ? &cgroup_v1_hybrid_ops : &cgroup_v1_ops;
	return 0;
}

int cgroup_open(const char *root, struct cgroup_host *ret, struct error *err)
{
	struct cgroup_host h = {.can_freeze = false};
	AUTO_CLOSE int top = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int status;

	if (top < 0)
		return FAIL_ERRNO(err, "open the cgroups at '%s'", root);
	for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
		h.roots[i] = -1;
	if (is_v2(top)) {
		h.ops = &cgroup_v2_ops;
		status = open_ours(top, ".", &h.roots[0], err);
	} else {
		status = open_v1(top, &h, err);
	}
	if (status < 0 || h.ops->prepare(&h, err) < 0) {
		cgroup_close(&h);
		return -1;
	}
	*ret = h;
	return 0;
}

void cgroup_close(struct cgroup_host *h)
{
	for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
		fd_forget(&h->roots[i]);
}

/* "M:m", as /sys names devices. */
static int read_device(const char *path, struct cgroup_io *ret, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(64);

	if (file_read(AT_FDCWD, path, &text, err) < 0)
		return -1;
	if (sscanf(buf_text(&text), "%u:%u", &ret->major, &ret->minor) != 2)
		return FAIL(err, ERROR_SYSTEM, "'%s' names no device", path);
	return 0;
}

int cgroup_io_find(int folder, struct cgroup_io *ret, struct error *err)
{
	struct stat status;
	char path[96];

	if (fstat(folder, &status) < 0)
		return FAIL_ERRNO(err, "look at a folder");
	ret->major = major(status.st_dev);
	ret->minor = minor(status.st_dev);
	(void)snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", ret->major, ret->minor);
	if (access(path, F_OK) < 0)
		return FAIL(err, ERROR_UNSUPPORTED, "no single disk is below the folder");
	/* The kernel limits disks, not parts of them. */
	(void)snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/partition", ret->major,
	               ret->minor);
	if (access(path, F_OK) < 0)
		return 0;
	(void)snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/../dev", ret->major, ret->minor);
	return read_device(path, ret, err);
}

int cgroup_each(const struct cgroup_host *h, void (*on_group)(void *context, const char *group),
                void *context, struct error *err)
{
	/* A crash may have left a group in only some trees. */
	for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
		AUTO(folder_list_done)
		DIR *folder = h->roots[i] < 0 ? NULL : folder_list(h->roots[i]);
		struct dirent *entry;

		if (h->roots[i] < 0)
			continue;
		if (!folder)
			return FAIL_ERRNO(err, "list the cgroups");
		while ((entry = readdir(folder)))
			if (entry->d_type == DT_DIR &&
			    (entry->d_name[0] == 's' || entry->d_name[0] == 'k'))
				on_group(context, entry->d_name);
	}
	return 0;
}

/* The kernel keeps a group that has processes. */
static void remove_abandoned(void *context, const char *group)
{
	const struct cgroup_host *h = context;

	for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
		if (h->roots[i] >= 0)
			(void)unlinkat(h->roots[i], group, AT_REMOVEDIR);
}

bool cgroup_remove_ours(struct cgroup_host *h)
{
	struct error ignored = {0};
	bool all = true;

	if (cgroup_each(h, remove_abandoned, h, &ignored) < 0)
		return false;
	remove_abandoned(h, CGROUP_PARKED);
	for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
		if (h->roots[i] >= 0 && unlinkat(h->roots[i], "../" CGROUP_ALL, AT_REMOVEDIR) < 0 &&
		    errno != ENOENT)
			all = false;
	return all;
}

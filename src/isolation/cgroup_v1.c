/* SPDX-License-Identifier: Apache-2.0 */
/* Version 1: one tree for each controller. Attaching a process to a group may wait milliseconds for
 * the kernel's grace periods. So the maker of prewarmed sandboxes does it, never a request. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "isolation/cgroup.h"

/* The memory that may be charged to a reused group: the kernel's caches, and the pages that each
 * processor charged in advance (MEMCG_CHARGE_BATCH of the kernel, 64 pages). */
#define KEPT_BYTES (UINT64_C(1) << 20)
#define KEPT_BYTES_PER_CPU (UINT64_C(256) << 10)
#define KEPT_BYTES_MAX (UINT64_C(8) << 20)

#define SHARES_INITIAL 1024

static const struct cgroup_cpu_files cpu_files = {.quota = "cpu.cfs_quota_us",
                                                  .burst = "cpu.cfs_burst_us",
                                                  .weight = "cpu.shares",
                                                  .no_quota = "-1",
                                                  .lowest_weight = 2};

/* While any group of the host is frozen the kernel enables its checks for that. The first freeze
 * and the last thaw wait until it has rewritten its own code. An empty group that is always frozen
 * avoids both. Nothing depends on it. */
static void keep_one_frozen(int root)
{
	struct error ignored = {0};

	if (mkdirat(root, CGROUP_PARKED, 0755) == 0 || errno == EEXIST)
		(void)!file_poke(root, CGROUP_PARKED "/freezer.state", "FROZEN", &ignored);
}

static uint64_t kept_bytes(void)
{
	long count = sysconf(_SC_NPROCESSORS_CONF);
	uint64_t bytes = KEPT_BYTES + (uint64_t)(count > 0 ? count : 1) * KEPT_BYTES_PER_CPU;

	return bytes < KEPT_BYTES_MAX ? bytes : KEPT_BYTES_MAX;
}

static int v1_prepare(struct cgroup_host *h, UNUSED struct error *err)
{
	struct error ignored = {0};

	h->kept_bytes = kept_bytes();
	h->can_burst = faccessat(h->roots[CGROUP_CPU], cpu_files.burst, F_OK, 0) == 0;
	/* Old kernels count children only with this flag; new ones always do and may refuse it. */
	(void)!file_poke(h->roots[CGROUP_MEMORY], "memory.use_hierarchy", "1", &ignored);
	h->can_freeze = h->roots[CGROUP_FREEZER] >= 0;
	if (h->can_freeze)
		keep_one_frozen(h->roots[CGROUP_FREEZER]);
	return 0;
}

/* Each group costs time when it is made, entered and removed. The group of the disk's controller is
 * made with its limit, where there is one. */
static int v1_make(struct cgroup_host *h, const char *group, struct error *err)
{
	for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
		if (h->roots[i] < 0 || i == CGROUP_DEVICES || i == CGROUP_BLKIO)
			continue;
		if (mkdirat(h->roots[i], group, 0755) < 0 && errno != EEXIST)
			return FAIL_ERRNO(err, "make the %s cgroup '%s'", cgroup_controllers[i],
			                  group);
	}
	return 0;
}

static int v1_enter(struct cgroup_host *h, const char *group, pid_t pid, struct error *err)
{
	for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
		if (h->roots[i] < 0 || cgroup_write(h->roots[i], i == CGROUP_DEVICES ? "." : group,
		                                    "cgroup.procs", (uint64_t)pid, err) == 0)
			continue;
		if (i != CGROUP_BLKIO || err->sys_errno != ENOENT)
			return FAIL_CONTEXT(err, "%s", cgroup_controllers[i]);
		error_clear(err);
	}
	return 0;
}

static int limit_memory(int root, const char *group, uint64_t bytes, struct error *err)
{
	static const char *const files[] = {"memory.limit_in_bytes", "memory.memsw.limit_in_bytes"};
	uint64_t now = UINT64_MAX;

	if (cgroup_read(root, group, files[0], &now, err) < 0)
		return -1;
	/* The limit with swap may not be below the one without: when raising it goes first. Hosts
	 * without swap accounting do not have it. */
	for (unsigned i = 0; i < 2; i++) {
		const char *file = files[bytes > now ? 1 - i : i];

		if (cgroup_write(root, group, file, bytes, err) == 0)
			continue;
		if (file != files[1] || err->sys_errno != ENOENT)
			return -1;
		error_clear(err);
	}
	return 0;
}

static int v1_limit(struct cgroup_host *h, const char *group, const struct cgroup_limits *limits,
                    struct error *err)
{
	if (limit_memory(h->roots[CGROUP_MEMORY], group, limits->memory_bytes, err) < 0)
		return -1;
	if (cgroup_limit_cpu(h, group, &cpu_files, limits, err) < 0)
		return -1;
	return cgroup_write(h->roots[CGROUP_PIDS], group, "pids.max", limits->pids, err);
}

static int v1_allow_burst(struct cgroup_host *h, const char *group, struct error *err)
{
	return cgroup_allow_burst(h, group, &cpu_files, err);
}

/* Version 1 does not charge writes through the page cache to their writer: this limits reads, and
 * direct or synchronous writes. */
static int v1_limit_io(struct cgroup_host *h, const char *group, const struct cgroup_io *io,
                       struct error *err)
{
	static const char *const files[] = {"blkio.throttle.read_bps_device",
	                                    "blkio.throttle.write_bps_device"};
	char path[96], text[64];

	if (h->roots[CGROUP_BLKIO] < 0)
		return FAIL(err, ERROR_UNSUPPORTED, "this host has no cgroup controller 'blkio'");
	if (mkdirat(h->roots[CGROUP_BLKIO], group, 0755) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make the blkio cgroup '%s'", group);
	(void)snprintf(text, sizeof(text), "%u:%u %" PRIu64, io->major, io->minor, io->bytes_per_s);
	for (unsigned i = 0; i < COUNT_OF(files); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", group, files[i]);
		if (file_poke(h->roots[CGROUP_BLKIO], path, text, err) < 0)
			return -1;
	}
	return 0;
}

static int v1_usage(struct cgroup_host *h, const char *group, struct cgroup_usage *ret,
                    struct error *err)
{
	struct cgroup_usage u = {0};
	int memory = h->roots[CGROUP_MEMORY], pids = h->roots[CGROUP_PIDS];

	if (cgroup_read(memory, group, "memory.usage_in_bytes", &u.memory_bytes, err) < 0 ||
	    cgroup_read(memory, group, "memory.limit_in_bytes", &u.memory_limit, err) < 0 ||
	    cgroup_read_key(memory, group, "memory.oom_control", "oom_kill", &u.oom_kills, err) <
	            0 ||
	    cgroup_read(pids, group, "pids.current", &u.pids, err) < 0 ||
	    cgroup_read(pids, group, "pids.max", &u.pids_limit, err) < 0)
		return -1;
	if (h->roots[CGROUP_CPUACCT] >= 0) {
		if (cgroup_read(h->roots[CGROUP_CPUACCT], group, "cpuacct.usage", &u.cpu_us, err) <
		    0)
			return -1;
		u.cpu_us /= 1000;
	}
	*ret = u;
	return 0;
}

static int v1_freeze(struct cgroup_host *h, const char *group, bool frozen, struct error *err)
{
	char path[64];

	if (!h->can_freeze)
		return FAIL(err, ERROR_UNSUPPORTED, "this host has no cgroup controller 'freezer'");
	(void)snprintf(path, sizeof(path), "%s/freezer.state", group);
	return file_poke(h->roots[CGROUP_FREEZER], path, frozen ? "FROZEN" : "THAWED", err);
}

/* Reading makes the kernel check whether all processes have come to rest. */
static int v1_rest(struct cgroup_host *h, const char *group, enum cgroup_rest *ret,
                   struct error *err)
{
	static const char *const words[] = {[CGROUP_THAWED] = "THAWED",
	                                    [CGROUP_FREEZING] = "FREEZING",
	                                    [CGROUP_FROZEN] = "FROZEN"};
	AUTO(buf_done) struct buf text = BUF(64);
	struct span rest, word;
	char path[64];

	*ret = CGROUP_THAWED;
	if (!h->can_freeze)
		return 0;
	(void)snprintf(path, sizeof(path), "%s/freezer.state", group);
	if (file_read(h->roots[CGROUP_FREEZER], path, &text, err) < 0)
		return -1;
	rest = buf_span(&text);
	(void)span_split(&rest, '\n', &word);
	for (unsigned i = 0; i < COUNT_OF(words); i++) {
		if (span_equals_text(word, words[i])) {
			*ret = (enum cgroup_rest)i;
			return 0;
		}
	}
	return FAIL(err, ERROR_SYSTEM, "'%s' is no state of a freezer", buf_text(&text));
}

static int v1_remove(struct cgroup_host *h, const char *group, struct error *err)
{
	struct error ignored = {0};

	/* A frozen process does not die. */
	if (h->can_freeze)
		(void)!v1_freeze(h, group, false, &ignored);
	for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
		if (h->roots[i] >= 0 && i != CGROUP_DEVICES &&
		    cgroup_empty_and_remove(h->roots[i], group, err) < 0)
			return FAIL_CONTEXT(err, "%s", cgroup_controllers[i]);
	return 0;
}

static bool has_no_process(const struct cgroup_host *h, const char *group)
{
	struct error ignored = {0};
	uint64_t pids = 0;

	for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
		AUTO(buf_done) struct buf text = BUF(64);
		struct stat status;
		char path[64];

		if (h->roots[i] < 0 || i == CGROUP_DEVICES)
			continue;
		if (fstatat(h->roots[i], group, &status, AT_SYMLINK_NOFOLLOW) < 0) {
			if (i == CGROUP_BLKIO && errno == ENOENT)
				continue;
			return false;
		}
		(void)snprintf(path, sizeof(path), "%s/cgroup.procs", group);
		/* Two links mean that the group has no child groups, either. */
		if (status.st_nlink != 2 || file_read(h->roots[i], path, &text, &ignored) < 0 ||
		    text.size > 0)
			return false;
	}
	/* No list shows dead processes that are not reaped. */
	return cgroup_read(h->roots[CGROUP_PIDS], group, "pids.current", &pids, &ignored) == 0 &&
	       pids == 0;
}

/* Whether the group's processes left little memory charged and were not killed by its limits. */
static bool is_as_new(const struct cgroup_host *h, const char *group)
{
	int memory = h->roots[CGROUP_MEMORY];
	uint64_t bytes = UINT64_MAX, swapped = 0, kills = UINT64_MAX, shares = SHARES_INITIAL;
	struct error err = {0};

	/* A background group has fewer shares. */
	if (cgroup_read(h->roots[CGROUP_CPU], group, "cpu.shares", &shares, &err) == 0 &&
	    shares != SHARES_INITIAL)
		return false;
	/* Including swapped memory, where it is counted. */
	if (cgroup_read(memory, group, "memory.memsw.usage_in_bytes", &swapped, &err) < 0 &&
	    err.sys_errno != ENOENT)
		return false;
	return cgroup_read(memory, group, "memory.usage_in_bytes", &bytes, &err) == 0 &&
	       cgroup_read_key(memory, group, "memory.oom_control", "oom_kill", &kills, &err) ==
	               0 &&
	       bytes <= h->kept_bytes && swapped <= h->kept_bytes && kills == 0;
}

/* The order matters: the limit with swap may not be below the one without, nor the burst above the
 * quota. The limits of the disk are the same for all groups. */
static bool reset_group(const struct cgroup_host *h, const char *group)
{
	static const struct {
		enum cgroup_controller controller;
		bool optional;
		const char *file, *text;
	} rows[] = {
	        {CGROUP_FREEZER, false, "freezer.state", "THAWED"},
	        {CGROUP_MEMORY, true, "memory.memsw.limit_in_bytes", "-1"},
	        {CGROUP_MEMORY, false, "memory.limit_in_bytes", "-1"},
	        {CGROUP_CPU, true, "cpu.cfs_burst_us", "0"},
	        {CGROUP_CPU, false, "cpu.cfs_quota_us", "-1"},
	        {CGROUP_PIDS, false, "pids.max", "max"},
	        {CGROUP_CPUACCT, false, "cpuacct.usage", "0"},
	};

	for (unsigned i = 0; i < COUNT_OF(rows); i++) {
		int root = h->roots[rows[i].controller];
		struct error err = {0};
		char path[64];

		(void)snprintf(path, sizeof(path), "%s/%s", group, rows[i].file);
		if (root >= 0 && file_poke(root, path, rows[i].text, &err) < 0 &&
		    !(rows[i].optional && err.sys_errno == ENOENT))
			return false;
	}
	return true;
}

/* Succeeds where the disk has no such group, and where two controllers share one tree, as cpu and
 * cpuacct mostly do: there the group has its new name already. */
static bool rename_group(int root, enum cgroup_controller i, const char *group, const char *kept)
{
	return renameat(root, group, root, kept) == 0 ||
	       (errno == ENOENT &&
	        (i == CGROUP_BLKIO || faccessat(root, kept, F_OK, AT_SYMLINK_NOFOLLOW) == 0));
}

/* The group gets the new name last, because a group with this name may be reused. */
static bool v1_keep(struct cgroup_host *h, const char *group, const char *kept)
{
	if (!has_no_process(h, group) || !is_as_new(h, group) || !reset_group(h, group))
		return false;
	for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
		if (h->roots[i] >= 0 && i != CGROUP_DEVICES &&
		    !rename_group(h->roots[i], i, group, kept))
			return false;
	return true;
}

static void v1_reuse(struct cgroup_host *h, const char *kept, const char *group)
{
	for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
		if (h->roots[i] >= 0 && i != CGROUP_DEVICES &&
		    renameat(h->roots[i], kept, h->roots[i], group) < 0)
			(void)unlinkat(h->roots[i], kept, AT_REMOVEDIR);
}

#define V1(name_)                                                                                  \
	{                                                                                          \
		.name = (name_), .memory_events = "memory.oom_control", .prepare = v1_prepare,     \
		.make = v1_make, .enter = v1_enter, .limit = v1_limit,                             \
		.allow_burst = v1_allow_burst, .limit_io = v1_limit_io, .usage = v1_usage,         \
		.freeze = v1_freeze, .rest = v1_rest, .remove = v1_remove, .keep = v1_keep,        \
		.reuse = v1_reuse                                                                  \
	}
const struct cgroup_ops cgroup_v1_ops = V1("v1");
/* The version 2 tree beside it has no controllers and is not needed. */
const struct cgroup_ops cgroup_v1_hybrid_ops = V1("hybrid-v1");

/* SPDX-License-Identifier: Apache-2.0 */
/* Version 2: one tree; a process is born in its group by clone3(CLONE_INTO_CGROUP). */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "isolation/cgroup.h"

static const struct cgroup_cpu_files cpu_files = {.quota = "cpu.max",
                                                  .burst = "cpu.max.burst",
                                                  .weight = "cpu.weight",
                                                  .no_quota = "max",
                                                  .lowest_weight = 1,
                                                  .with_period = true};

/* A controller reaches Atoll's groups if the root enables it for "atoll", and "atoll" for its
 * groups. */
static int v2_prepare(struct cgroup_host *h, struct error *err)
{
	static const char *const wanted[] = {"+memory", "+cpu", "+pids", "+io"};
	static const char *const files[] = {"../cgroup.subtree_control", "cgroup.subtree_control"};

	for (unsigned i = 0; i < COUNT_OF(wanted); i++)
		for (unsigned j = 0; j < COUNT_OF(files); j++) {
			if (file_poke(h->roots[0], files[j], wanted[i], err) == 0)
				continue;
			if (strcmp(wanted[i], "+io") != 0)
				return FAIL_CONTEXT(err, "hand down the cgroup controller '%s'",
				                    wanted[i] + 1);
			error_clear(err);
		}
	h->can_burst = faccessat(h->roots[0], cpu_files.burst, F_OK, 0) == 0;
	h->can_freeze = true; /* since 5.2, older than the oldest supported kernel */
	return 0;
}

static int v2_make(struct cgroup_host *h, const char *group, struct error *err)
{
	if (mkdirat(h->roots[0], group, 0755) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make the cgroup '%s'", group);
	return 0;
}

static int v2_open(struct cgroup_host *h, const char *group, int *ret_fd, struct error *err)
{
	*ret_fd = openat(h->roots[0], group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open the cgroup '%s'", group) : 0;
}

static int v2_limit(struct cgroup_host *h, const char *group, const struct cgroup_limits *limits,
                    struct error *err)
{
	int root = h->roots[0];

	if (cgroup_write(root, group, "memory.max", limits->memory_bytes, err) < 0)
		return -1;
	/* Hosts without swap accounting do not have it. */
	if (cgroup_write(root, group, "memory.swap.max", 0, err) < 0) {
		if (err->sys_errno != ENOENT)
			return -1;
		error_clear(err);
	}
	if (cgroup_limit_cpu(h, group, &cpu_files, limits, err) < 0)
		return -1;
	return cgroup_write(root, group, "pids.max", limits->pids, err);
}

static int v2_allow_burst(struct cgroup_host *h, const char *group, struct error *err)
{
	return cgroup_allow_burst(h, group, &cpu_files, err);
}

static int v2_limit_io(struct cgroup_host *h, const char *group, const struct cgroup_io *io,
                       struct error *err)
{
	char path[64], text[96], rate[24] = "max";

	if (io->bytes_per_s)
		(void)snprintf(rate, sizeof(rate), "%" PRIu64, io->bytes_per_s);
	(void)snprintf(path, sizeof(path), "%s/io.max", group);
	(void)snprintf(text, sizeof(text), "%u:%u rbps=%s wbps=%s", io->major, io->minor, rate,
	               rate);
	return file_poke(h->roots[0], path, text, err);
}

static int v2_usage(struct cgroup_host *h, const char *group, struct cgroup_usage *ret,
                    struct error *err)
{
	struct cgroup_usage u = {0};
	int root = h->roots[0];

	if (cgroup_read_key(root, group, "cpu.stat", "usage_usec", &u.cpu_us, err) < 0 ||
	    cgroup_read(root, group, "memory.current", &u.memory_bytes, err) < 0 ||
	    cgroup_read(root, group, "memory.max", &u.memory_limit, err) < 0 ||
	    cgroup_read_key(root, group, "memory.events", "oom_kill", &u.oom_kills, err) < 0 ||
	    cgroup_read(root, group, "pids.current", &u.pids, err) < 0 ||
	    cgroup_read(root, group, "pids.max", &u.pids_limit, err) < 0)
		return -1;
	*ret = u;
	return 0;
}

static int v2_freeze(struct cgroup_host *h, const char *group, bool frozen, struct error *err)
{
	return cgroup_write(h->roots[0], group, "cgroup.freeze", frozen, err);
}

static int v2_rest(struct cgroup_host *h, const char *group, enum cgroup_rest *ret,
                   struct error *err)
{
	uint64_t asked = 0, frozen = 0;

	if (cgroup_read(h->roots[0], group, "cgroup.freeze", &asked, err) < 0 ||
	    cgroup_read_key(h->roots[0], group, "cgroup.events", "frozen", &frozen, err) < 0)
		return -1;
	if (!asked)
		*ret = CGROUP_THAWED;
	else
		*ret = frozen ? CGROUP_FROZEN : CGROUP_FREEZING;
	return 0;
}

static int v2_remove(struct cgroup_host *h, const char *group, struct error *err)
{
	struct error ignored = {0};
	char path[64];

	/* Since 5.14; without it the removal kills the remaining processes. */
	(void)snprintf(path, sizeof(path), "%s/cgroup.kill", group);
	(void)!file_poke(h->roots[0], path, "1", &ignored);
	return cgroup_empty_and_remove(h->roots[0], group, err);
}

const struct cgroup_ops cgroup_v2_ops = {
        .name = "v2",
        .memory_events = "memory.events",
        .prepare = v2_prepare,
        .make = v2_make,
        .open = v2_open,
        .limit = v2_limit,
        .allow_burst = v2_allow_burst,
        .limit_io = v2_limit_io,
        .usage = v2_usage,
        .freeze = v2_freeze,
        .rest = v2_rest,
        .remove = v2_remove,
};

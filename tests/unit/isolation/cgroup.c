/* SPDX-License-Identifier: Apache-2.0 */
/* Both kinds of tree against folders that look like them; version 1 also for real, as root. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "isolation/cgroups.h"
#include "unit.h"

struct fake {
	char path[64];
	int fd;
};

static void put(const struct fake *f, const char *name, const char *text)
{
	int fd = openat(f->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
}

static void make_folder(const struct fake *f, const char *name)
{
	assert_int_equal(mkdirat(f->fd, name, 0700), 0);
}

static void expect(const struct fake *f, const char *name, const char *text)
{
	AUTO(buf_done) struct buf got = BUF(4096);
	struct error err = {0};

	assert_int_equal(file_read(f->fd, name, &got, &err), 0);
	/* A real control file takes each write for itself; a fake one keeps longer old text. */
	assert_true(strncmp(buf_text(&got), text, strlen(text)) == 0);
}

static void fake_open(struct fake *f)
{
	(void)snprintf(f->path, sizeof(f->path), "/tmp/atoll-cgroup.XXXXXX");
	assert_non_null(mkdtemp(f->path));
	f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->fd >= 0);
}

static void fake_close(struct fake *f)
{
	char command[128];
	int status;

	(void)snprintf(command, sizeof(command), "%s", f->path);
	(void)close(f->fd);
	pid_t pid = fork();
	if (pid == 0) {
		(void)execl("/bin/rm", "rm", "-rf", command, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static const struct cgroup_limits limits = {.cpu_milli = 500, .memory_bytes = 64 << 20, .pids = 32};

static void fake_v2(struct fake *f)
{
	fake_open(f);
	put(f, "cgroup.controllers", "cpu io memory pids\n");
	put(f, "cgroup.subtree_control", "");
	make_folder(f, "atoll");
	put(f, "atoll/cgroup.subtree_control", "");
}

TEST(a_version_2_tree_is_known_by_its_control_file)
{
	struct cgroup_host host;
	struct error err = {0};
	struct fake f;

	fake_v2(&f);
	assert_int_equal(cgroup_open(f.path, &host, &err), 0);
	assert_string_equal(host.ops->name, "v2");
	assert_null(host.ops->enter);
	assert_non_null(host.ops->open);
	cgroup_close(&host);
	fake_close(&f);
}

TEST(version_2_limits_are_written_as_the_kernel_reads_them)
{
	struct cgroup_host host;
	struct error err = {0};
	struct fake f;

	fake_v2(&f);
	assert_int_equal(cgroup_open(f.path, &host, &err), 0);
	assert_int_equal(host.ops->make(&host, "s7", &err), 0);
	put(&f, "atoll/s7/memory.max", "");
	put(&f, "atoll/s7/memory.swap.max", "max");
	put(&f, "atoll/s7/cpu.max", "");
	put(&f, "atoll/s7/pids.max", "");
	assert_int_equal(host.ops->limit(&host, "s7", &limits, &err), 0);
	expect(&f, "atoll/s7/memory.max", "67108864");
	expect(&f, "atoll/s7/memory.swap.max", "0");
	expect(&f, "atoll/s7/cpu.max", "50000 100000");
	expect(&f, "atoll/s7/pids.max", "32");
	cgroup_close(&host);
	fake_close(&f);
}

static const struct cgroup_io no_limit = {.major = 8, .minor = 16};
static const struct cgroup_io some_disk = {.major = 8, .minor = 16, .bytes_per_s = 50000000};

TEST(version_2_limits_reads_and_writes_of_one_disk)
{
	struct cgroup_host host;
	struct error err = {0};
	struct fake f;

	fake_v2(&f);
	assert_int_equal(cgroup_open(f.path, &host, &err), 0);
	assert_int_equal(host.ops->make(&host, "s7", &err), 0);
	put(&f, "atoll/s7/io.max", "");
	assert_int_equal(host.ops->limit_io(&host, "s7", &some_disk, &err), 0);
	expect(&f, "atoll/s7/io.max", "8:16 rbps=50000000 wbps=50000000");
	put(&f, "atoll/io.max", "");
	assert_int_equal(host.ops->limit_io(&host, ".", &no_limit, &err), 0);
	expect(&f, "atoll/io.max", "8:16 rbps=max wbps=max");
	cgroup_close(&host);
	fake_close(&f);
}

TEST(version_2_groups_save_one_quota_and_builds_have_the_lowest_rank)
{
	struct cgroup_limits fewer = limits;
	struct cgroup_host host;
	struct error err = {0};
	struct fake f;

	fake_v2(&f);
	put(&f, "atoll/cpu.max.burst", "0");
	assert_int_equal(cgroup_open(f.path, &host, &err), 0);
	assert_true(host.can_burst);
	assert_int_equal(host.ops->make(&host, "s7", &err), 0);
	put(&f, "atoll/s7/memory.max", "");
	put(&f, "atoll/s7/cpu.max", "");
	put(&f, "atoll/s7/cpu.max.burst", "0");
	put(&f, "atoll/s7/pids.max", "");
	assert_int_equal(host.ops->limit(&host, "s7", &limits, &err), 0);
	expect(&f, "atoll/s7/cpu.max.burst", "50000");
	fewer.cpu_milli = 250;
	assert_int_equal(host.ops->limit(&host, "s7", &fewer, &err), 0);
	expect(&f, "atoll/s7/cpu.max.burst", "25000");
	/* One that a broker without this has limited, and one without any limit. */
	put(&f, "atoll/s7/cpu.max", "150000 100000\n");
	assert_int_equal(host.ops->allow_burst(&host, "s7", &err), 0);
	expect(&f, "atoll/s7/cpu.max.burst", "150000");
	put(&f, "atoll/s7/cpu.max", "max 100000\n");
	assert_int_equal(host.ops->allow_burst(&host, "s7", &err), 0);
	expect(&f, "atoll/s7/cpu.max.burst", "150000");
	/* A build on a kernel without cpu.idle, and on one with it. */
	fewer.background = true;
	put(&f, "atoll/s7/cpu.weight", "100");
	assert_int_equal(host.ops->limit(&host, "s7", &fewer, &err), 0);
	expect(&f, "atoll/s7/cpu.max", "max");
	expect(&f, "atoll/s7/cpu.weight", "1");
	put(&f, "atoll/s7/cpu.idle", "0");
	assert_int_equal(host.ops->limit(&host, "s7", &fewer, &err), 0);
	expect(&f, "atoll/s7/cpu.idle", "1");
	cgroup_close(&host);
	fake_close(&f);
}

TEST(a_host_without_swap_accounting_is_no_failure)
{
	struct cgroup_host host;
	struct error err = {0};
	struct fake f;

	fake_v2(&f);
	assert_int_equal(cgroup_open(f.path, &host, &err), 0);
	assert_int_equal(host.ops->make(&host, "s7", &err), 0);
	put(&f, "atoll/s7/memory.max", "");
	put(&f, "atoll/s7/cpu.max", "");
	put(&f, "atoll/s7/pids.max", "");
	assert_int_equal(host.ops->limit(&host, "s7", &limits, &err), 0);
	cgroup_close(&host);
	fake_close(&f);
}

TEST(version_2_usage_is_read_from_its_files)
{
	struct cgroup_usage usage;
	struct cgroup_host host;
	struct error err = {0};
	struct fake f;

	fake_v2(&f);
	assert_int_equal(cgroup_open(f.path, &host, &err), 0);
	assert_int_equal(host.ops->make(&host, "s7", &err), 0);
	put(&f, "atoll/s7/cpu.stat", "usage_usec 1234\nuser_usec 1000\n");
	put(&f, "atoll/s7/memory.current", "4096\n");
	put(&f, "atoll/s7/memory.max", "max\n");
	put(&f, "atoll/s7/memory.events", "low 0\noom 3\noom_kill 2\n");
	put(&f, "atoll/s7/pids.current", "5\n");
	put(&f, "atoll/s7/pids.max", "32\n");
	assert_int_equal(host.ops->usage(&host, "s7", &usage, &err), 0);
	assert_int_equal(usage.cpu_us, 1234);
	assert_int_equal(usage.memory_bytes, 4096);
	assert_true(usage.memory_limit == UINT64_MAX);
	assert_int_equal(usage.oom_kills, 2);
	assert_int_equal(usage.pids, 5);
	cgroup_close(&host);
	fake_close(&f);
}

TEST(a_host_that_lacks_a_controller_is_told_which)
{
	struct cgroup_host host;
	struct error err = {0};
	struct fake f;

	fake_open(&f);
	make_folder(&f, "memory");
	make_folder(&f, "cpu");
	make_folder(&f, "memory/atoll");
	assert_int_equal(cgroup_open(f.path, &host, &err), -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	assert_non_null(strstr(err.text, "pids"));
	fake_close(&f);
}

static void fake_v1(struct fake *f)
{
	fake_open(f);
	make_folder(f, "memory");
	make_folder(f, "cpu");
	make_folder(f, "pids");
}

TEST(a_version_1_tree_needs_only_the_controllers_that_limit)
{
	struct cgroup_host host;
	struct error err = {0};
	struct fake f;

	fake_v1(&f);
	assert_int_equal(cgroup_open(f.path, &host, &err), 0);
	assert_string_equal(host.ops->name, "v1");
	assert_int_equal(host.roots[CGROUP_FREEZER], -1);
	cgroup_close(&host);
	make_folder(&f, "unified");
	assert_int_equal(cgroup_open(f.path, &host, &err), 0);
	assert_string_equal(host.ops->name, "hybrid-v1");
	cgroup_close(&host);
	fake_close(&f);
}

TEST(version_1_limits_are_written_as_the_kernel_reads_them)
{
	struct cgroup_host host;
	struct error err = {0};
	struct fake f;

	fake_v1(&f);
	assert_int_equal(cgroup_open(f.path, &host, &err), 0);
	assert_int_equal(host.ops->make(&host, "s3", &err), 0);
	put(&f, "memory/atoll/s3/memory.limit_in_bytes", "9223372036854771712");
	put(&f, "memory/atoll/s3/memory.memsw.limit_in_bytes", "9223372036854771712");
	put(&f, "cpu/atoll/s3/cpu.cfs_quota_us", "-1");
	put(&f, "pids/atoll/s3/pids.max", "max");
	assert_int_equal(host.ops->limit(&host, "s3", &limits, &err), 0);
	expect(&f, "memory/atoll/s3/memory.limit_in_bytes", "67108864");
	expect(&f, "memory/atoll/s3/memory.memsw.limit_in_bytes", "67108864");
	expect(&f, "cpu/atoll/s3/cpu.cfs_quota_us", "50000");
	expect(&f, "pids/atoll/s3/pids.max", "32");
	cgroup_close(&host);
	fake_close(&f);
}

TEST(version_1_lets_a_group_save_up_to_one_quota)
{
	struct cgroup_host host;
	struct error err = {0};
	struct fake f;

	fake_v1(&f);
	assert_int_equal(cgroup_open(f.path, &host, &err), 0);
	assert_false(host.can_burst);
	assert_int_equal(host.ops->allow_burst(&host, "s3", &err), 0);
	cgroup_close(&host);
	put(&f, "cpu/atoll/cpu.cfs_burst_us", "0");
	assert_int_equal(cgroup_open(f.path, &host, &err), 0);
	assert_true(host.can_burst);
	assert_int_equal(host.ops->make(&host, "s3", &err), 0);
	put(&f, "memory/atoll/s3/memory.limit_in_bytes", "9223372036854771712");
	put(&f, "cpu/atoll/s3/cpu.cfs_quota_us", "-1");
	put(&f, "cpu/atoll/s3/cpu.cfs_burst_us", "0");
	put(&f, "pids/atoll/s3/pids.max", "max");
	assert_int_equal(host.ops->limit(&host, "s3", &limits, &err), 0);
	expect(&f, "cpu/atoll/s3/cpu.cfs_quota_us", "50000");
	expect(&f, "cpu/atoll/s3/cpu.cfs_burst_us", "50000");
	put(&f, "cpu/atoll/s3/cpu.cfs_quota_us", "-1\n");
	assert_int_equal(host.ops->allow_burst(&host, "s3", &err), 0);
	expect(&f, "cpu/atoll/s3/cpu.cfs_burst_us", "50000");
	cgroup_close(&host);
	fake_close(&f);
}

TEST(version_1_limits_reads_and_writes_of_one_disk_if_it_can)
{
	struct cgroup_host host;
	struct error err = {0};
	struct fake f;

	fake_v1(&f);
	assert_int_equal(cgroup_open(f.path, &host, &err), 0);
	assert_int_equal(host.ops->limit_io(&host, "s3", &some_disk, &err), -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	cgroup_close(&host);
	make_folder(&f, "blkio");
	assert_int_equal(cgroup_open(f.path, &host, &err), 0);
	make_folder(&f, "blkio/atoll/s3"); /* with its files, as the kernel would make it */
	put(&f, "blkio/atoll/s3/blkio.throttle.read_bps_device", "");
	put(&f, "blkio/atoll/s3/blkio.throttle.write_bps_device", "");
	assert_int_equal(host.ops->limit_io(&host, "s3", &some_disk, &err), 0);
	expect(&f, "blkio/atoll/s3/blkio.throttle.read_bps_device", "8:16 50000000");
	expect(&f, "blkio/atoll/s3/blkio.throttle.write_bps_device", "8:16 50000000");
	cgroup_close(&host);
	fake_close(&f);
}

TEST(our_part_of_the_trees_goes_unless_a_group_is_in_use)
{
	struct cgroup_host host;
	struct error err = {0};
	struct fake f;

	fake_v1(&f);
	assert_int_equal(cgroup_open(f.path, &host, &err), 0);
	/* That of a broker that was killed, and one that lives: here by what is in its folder. */
	make_folder(&f, "pids/atoll/s7");
	make_folder(&f, "pids/atoll/s9");
	make_folder(&f, "pids/atoll/s9/process");
	assert_false(cgroup_remove_ours(&host));
	assert_int_equal(faccessat(f.fd, "pids/atoll/s7", F_OK, 0), -1);
	assert_int_equal(unlinkat(f.fd, "pids/atoll/s9/process", AT_REMOVEDIR), 0);
	assert_true(cgroup_remove_ours(&host));
	assert_true(cgroup_remove_ours(&host));
	assert_int_equal(faccessat(f.fd, "pids/atoll", F_OK, 0), -1);
	cgroup_close(&host);
	fake_close(&f);
}

TEST(a_folder_in_memory_has_no_disk)
{
	AUTO_CLOSE int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct cgroup_io io = {0};
	struct error err = {0};

	assert_int_equal(cgroup_io_find(fd, &io, &err), -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
}

static void count_group(void *context, const char *group)
{
	if (strcmp(group, "s9") == 0)
		(*(unsigned *)context)++;
}

static void count_any(void *context, const char *group)
{
	(void)group;
	(*(unsigned *)context)++;
}

TEST(a_group_that_is_left_in_one_tree_only_is_found)
{
	struct cgroup_host host;
	struct error err = {0};
	unsigned count = 0;
	struct fake f;

	fake_v1(&f);
	assert_int_equal(cgroup_open(f.path, &host, &err), 0);
	make_folder(&f, "pids/atoll/s9");
	assert_int_equal(cgroup_each(&host, count_group, &count, &err), 0);
	assert_int_equal(count, 1);
	cgroup_close(&host);
	fake_close(&f);
}

TEST(removing_a_missing_group_is_fine)
{
	struct cgroup_host host;
	struct error err = {0};
	struct fake f;

	fake_v1(&f);
	assert_int_equal(cgroup_open(f.path, &host, &err), 0);
	assert_int_equal(host.ops->remove(&host, "s5", &err), 0);
	cgroup_close(&host);
	fake_close(&f);
}

static enum cgroup_rest rest_of(struct cgroup_host *host, const char *group)
{
	enum cgroup_rest rest;
	struct error err = {0};

	assert_int_equal(host->ops->rest(host, group, &rest, &err), 0);
	return rest;
}

TEST(version_1_freezes_by_words_and_believes_the_kernel_s)
{
	struct cgroup_host host;
	enum cgroup_rest rest;
	struct error err = {0};
	struct fake f;

	fake_v1(&f);
	make_folder(&f, "freezer");
	assert_int_equal(cgroup_open(f.path, &host, &err), 0);
	assert_true(host.can_freeze);
	assert_int_equal(host.ops->make(&host, "s3", &err), 0);
	put(&f, "freezer/atoll/s3/freezer.state", "");
	assert_int_equal(host.ops->freeze(&host, "s3", true, &err), 0);
	expect(&f, "freezer/atoll/s3/freezer.state", "FROZEN");
	put(&f, "freezer/atoll/s3/freezer.state", "FREEZING\n");
	assert_int_equal(rest_of(&host, "s3"), CGROUP_FREEZING);
	put(&f, "freezer/atoll/s3/freezer.state", "FROZEN\n");
	assert_int_equal(rest_of(&host, "s3"), CGROUP_FROZEN);
	assert_int_equal(host.ops->freeze(&host, "s3", false, &err), 0);
	assert_int_equal(rest_of(&host, "s3"), CGROUP_THAWED);
	put(&f, "freezer/atoll/s3/freezer.state", "MELTING\n");
	assert_int_equal(host.ops->rest(&host, "s3", &rest, &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	cgroup_close(&host);
	fake_close(&f);
}

TEST(version_1_keeps_an_empty_group_frozen_that_is_nobodys)
{
	static const char parked[] = "freezer/atoll/parked/freezer.state";
	struct cgroup_host host;
	struct error err = {0};
	unsigned count = 0;
	struct fake f;

	fake_v1(&f);
	make_folder(&f, "freezer");
	make_folder(&f, "freezer/atoll");
	make_folder(&f, "freezer/atoll/parked"); /* of a broker that was killed */
	put(&f, parked, "");
	assert_int_equal(cgroup_open(f.path, &host, &err), 0);
	expect(&f, parked, "FROZEN");
	assert_int_equal(cgroup_each(&host, count_any, &count, &err), 0);
	assert_int_equal(count, 0);
	assert_int_equal(unlinkat(f.fd, parked, 0), 0); /* the kernel's goes by itself */
	assert_true(cgroup_remove_ours(&host));
	assert_int_equal(faccessat(f.fd, "freezer/atoll", F_OK, 0), -1);
	cgroup_close(&host);
	fake_close(&f);
}

TEST(version_1_without_a_freezer_says_so)
{
	struct cgroup_host host;
	struct error err = {0};
	struct fake f;

	fake_v1(&f);
	assert_int_equal(cgroup_open(f.path, &host, &err), 0);
	assert_false(host.can_freeze);
	assert_int_equal(host.ops->freeze(&host, "s3", true, &err), -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	assert_int_equal(rest_of(&host, "s3"), CGROUP_THAWED);
	cgroup_close(&host);
	fake_close(&f);
}

TEST(version_2_is_frozen_when_its_events_say_so)
{
	struct cgroup_host host;
	struct error err = {0};
	struct fake f;

	fake_v2(&f);
	assert_int_equal(cgroup_open(f.path, &host, &err), 0);
	assert_true(host.can_freeze);
	assert_int_equal(host.ops->make(&host, "s7", &err), 0);
	put(&f, "atoll/s7/cgroup.freeze", "0");
	put(&f, "atoll/s7/cgroup.events", "populated 1\nfrozen 0\n");
	assert_int_equal(host.ops->freeze(&host, "s7", true, &err), 0);
	expect(&f, "atoll/s7/cgroup.freeze", "1");
	assert_int_equal(rest_of(&host, "s7"), CGROUP_FREEZING);
	put(&f, "atoll/s7/cgroup.events", "populated 1\nfrozen 1\n");
	assert_int_equal(rest_of(&host, "s7"), CGROUP_FROZEN);
	assert_int_equal(host.ops->freeze(&host, "s7", false, &err), 0);
	assert_int_equal(rest_of(&host, "s7"), CGROUP_THAWED);
	cgroup_close(&host);
	fake_close(&f);
}

/* What the kernel says of a group that nobody is in, and little is charged to. */
static void put_empty_group(const struct fake *f)
{
	put(f, "memory/atoll/s5/cgroup.procs", "");
	put(f, "cpu/atoll/s5/cgroup.procs", "");
	put(f, "pids/atoll/s5/cgroup.procs", "");
	put(f, "pids/atoll/s5/pids.current", "0\n");
	put(f, "pids/atoll/s5/pids.max", "32\n");
	put(f, "cpu/atoll/s5/cpu.cfs_quota_us", "50000\n");
	put(f, "memory/atoll/s5/memory.usage_in_bytes", "53248\n");
	put(f, "memory/atoll/s5/memory.limit_in_bytes", "67108864\n");
	put(f, "memory/atoll/s5/memory.oom_control", "oom_kill_disable 0\noom_kill 0\n");
}

TEST(version_1_keeps_a_group_without_its_limits_and_gives_it_to_another)
{
	struct cgroup_host host;
	struct error err = {0};
	struct fake f;

	fake_v1(&f);
	assert_int_equal(cgroup_open(f.path, &host, &err), 0);
	assert_int_equal(host.ops->make(&host, "s5", &err), 0);
	put_empty_group(&f);
	put(&f, "cpu/atoll/s5/cpu.cfs_burst_us", "50000\n");
	assert_true(host.ops->keep(&host, "s5", "k5"));
	assert_int_equal(faccessat(f.fd, "memory/atoll/s5", F_OK, 0), -1);
	expect(&f, "cpu/atoll/k5/cpu.cfs_burst_us", "0");
	expect(&f, "memory/atoll/k5/memory.limit_in_bytes", "-1");
	expect(&f, "cpu/atoll/k5/cpu.cfs_quota_us", "-1");
	expect(&f, "pids/atoll/k5/pids.max", "max");
	host.ops->reuse(&host, "k5", "s9");
	expect(&f, "pids/atoll/s9/pids.current", "0");
	host.ops->reuse(&host, "k5", "s10"); /* there is nothing left of it */
	assert_int_equal(faccessat(f.fd, "memory/atoll/s10", F_OK, 0), -1);
	assert_int_equal(host.ops->make(&host, "s10", &err), 0);
	cgroup_close(&host);
	fake_close(&f);
}

TEST(a_group_is_kept_where_two_controllers_are_one_tree)
{
	struct cgroup_host host;
	struct error err = {0};
	struct fake f;

	fake_v1(&f);
	assert_int_equal(symlinkat("cpu", f.fd, "cpuacct"), 0);
	assert_int_equal(cgroup_open(f.path, &host, &err), 0);
	assert_int_equal(host.ops->make(&host, "s5", &err), 0);
	put_empty_group(&f);
	put(&f, "cpu/atoll/s5/cpuacct.usage", "1000\n");
	assert_true(host.ops->keep(&host, "s5", "k5"));
	expect(&f, "cpuacct/atoll/k5/cpuacct.usage", "0");
	host.ops->reuse(&host, "k5", "s9");
	expect(&f, "cpuacct/atoll/s9/cpuacct.usage", "0");
	assert_int_equal(faccessat(f.fd, "cpu/atoll/k5", F_OK, 0), -1);
	cgroup_close(&host);
	fake_close(&f);
}

TEST(a_group_in_which_something_is_or_was_is_not_kept)
{
	static const struct {
		const char *file, *text;
	} rows[] = {
	        {"memory/atoll/s5/cgroup.procs", "17\n"},
	        {"cpu/atoll/s5/cgroup.procs", "17\n"},
	        {"pids/atoll/s5/pids.current", "1\n"}, /* not reaped */
	        {"memory/atoll/s5/memory.usage_in_bytes", "16777216\n"},
	        {"memory/atoll/s5/memory.memsw.usage_in_bytes", "16777216\n"},
	        {"memory/atoll/s5/memory.oom_control", "oom_kill_disable 0\noom_kill 1\n"},
	        {"cpu/atoll/s5/cpu.shares", "3\n"}, /* in the background */
	};
	struct cgroup_host host;
	struct error err = {0};
	struct fake f;

	fake_v1(&f);
	assert_int_equal(cgroup_open(f.path, &host, &err), 0);
	assert_false(host.ops->keep(&host, "s5", "k5"));
	assert_int_equal(host.ops->make(&host, "s5", &err), 0);
	for (unsigned i = 0; i < COUNT_OF(rows); i++) {
		put_empty_group(&f);
		put(&f, "memory/atoll/s5/memory.memsw.usage_in_bytes", "53248\n");
		put(&f, rows[i].file, rows[i].text);
		assert_false(host.ops->keep(&host, "s5", "k5"));
		expect(&f, "pids/atoll/s5/pids.max", "32");
	}
	put_empty_group(&f);
	make_folder(&f, "cpu/atoll/s5/inside");
	assert_false(host.ops->keep(&host, "s5", "k5"));
	cgroup_close(&host);
	fake_close(&f);
}

TEST(version_2_keeps_no_group)
{
	struct cgroup_host host;
	struct error err = {0};
	struct fake f;

	fake_v2(&f);
	assert_int_equal(cgroup_open(f.path, &host, &err), 0);
	assert_null(host.ops->keep);
	assert_null(host.ops->reuse);
	cgroup_close(&host);
	fake_close(&f);
}

static void read_of_group(const struct cgroup_host *host, const char *group, const char *file,
                          struct buf *ret)
{
	struct error err = {0};
	char path[96];

	(void)snprintf(path, sizeof(path), "%s/%s", group, file);
	assert_int_equal(file_read(host->roots[CGROUP_CPU], path, ret, &err), 0);
}

/* The kernel refuses a quota below the burst: fewer processors, then more. */
static void expect_real_burst(struct cgroup_host *host, const char *group)
{
	static const uint64_t cpu_milli[] = {500, 200, 2000};
	struct cgroup_limits changed = limits;
	struct error err = {0};

	for (unsigned i = 0; i < COUNT_OF(cpu_milli); i++) {
		AUTO(buf_done) struct buf quota = BUF(64), burst = BUF(64);

		changed.cpu_milli = cpu_milli[i];
		assert_int_equal(host->ops->limit(host, group, &changed, &err), 0);
		if (!host->can_burst)
			continue;
		read_of_group(host, group, "cpu.cfs_quota_us", &quota);
		read_of_group(host, group, "cpu.cfs_burst_us", &burst);
		assert_int_equal(strtoull(buf_text(&quota), NULL, 10), cpu_milli[i] * 100);
		assert_string_equal(buf_text(&burst), buf_text(&quota));
	}
}

/* The slot is far above those that a broker of this machine would use first. */
TEST(a_real_group_limits_counts_freezes_and_kills)
{
	struct cgroup_usage usage = {0};
	struct cgroup_host host;
	struct error err = {0};
	const char *group = "s28000";
	int status;
	pid_t pid;

	if (geteuid() != 0 || cgroup_open("/sys/fs/cgroup", &host, &err) < 0 || !host.ops->enter) {
		print_message("needs root and a cgroup tree of version 1\n");
		skip();
	}
	assert_int_equal(host.ops->make(&host, group, &err), 0);
	pid = fork();
	if (pid == 0) {
		struct error ignored = {0};

		if (host.ops->enter(&host, group, 0, &ignored) < 0)
			_exit(1);
		(void)kill(getpid(), SIGSTOP);
		for (;;)
			pause();
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(host.ops->limit(&host, group, &limits, &err), 0);
	assert_int_equal(host.ops->usage(&host, group, &usage, &err), 0);
	assert_int_equal(usage.memory_limit, limits.memory_bytes);
	assert_int_equal(usage.pids_limit, limits.pids);
	assert_int_equal(usage.pids, 1);
	expect_real_burst(&host, group);
	assert_int_equal(host.ops->freeze(&host, group, true, &err), 0);
	for (unsigned i = 0; i < 1000 && rest_of(&host, group) != CGROUP_FROZEN; i++)
		(void)usleep(1000);
	assert_int_equal(rest_of(&host, group), CGROUP_FROZEN);
	assert_int_equal(host.ops->remove(&host, group, &err), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(host.ops->usage(&host, group, &usage, &err), -1);
	cgroup_close(&host);
}

/* Uses a processor, and fills its memory, for a while. */
static NORETURN void be_busy(struct cgroup_host *host, const char *group)
{
	struct error ignored = {0};

	if (host->ops->enter(host, group, 0, &ignored) < 0)
		_exit(1);
	for (volatile unsigned i = 0; i < 50000000; i++)
		;
	(void)kill(getpid(), SIGSTOP);
	_exit(0);
}

/* What a processor has drawn ahead of memory is given back a little later. */
static bool is_kept(struct cgroup_host *host, const char *group, const char *kept)
{
	for (unsigned i = 0; i < 3000; i++) {
		if (host->ops->keep(host, group, kept))
			return true;
		(void)usleep(5000);
	}
	return false;
}

TEST(a_real_group_is_as_new_for_the_next)
{
	const char *group = "s28001", *kept = "k28001", *next = "s28002";
	struct cgroup_usage usage = {0};
	struct cgroup_host host;
	struct error err = {0};
	int status;
	pid_t pid;

	if (geteuid() != 0 || cgroup_open("/sys/fs/cgroup", &host, &err) < 0 || !host.ops->keep) {
		print_message("needs root and a cgroup tree of version 1\n");
		skip();
	}
	assert_int_equal(host.ops->make(&host, group, &err), 0);
	assert_int_equal(host.ops->limit(&host, group, &limits, &err), 0);
	pid = fork();
	if (pid == 0)
		be_busy(&host, group);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	assert_false(host.ops->keep(&host, group, kept));
	assert_int_equal(host.ops->usage(&host, group, &usage, &err), 0);
	assert_true(usage.cpu_us > 0);
	assert_int_equal(usage.pids_limit, limits.pids);
	assert_int_equal(kill(pid, SIGKILL), 0);
	/* Dead is not enough. */
	assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	assert_false(host.ops->keep(&host, group, kept));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(host.ops->freeze(&host, group, true, &err), 0);
	assert_true(is_kept(&host, group, kept));
	host.ops->reuse(&host, kept, next);
	assert_int_equal(host.ops->make(&host, next, &err), 0);
	assert_int_equal(host.ops->usage(&host, next, &usage, &err), 0);
	assert_int_equal(usage.cpu_us, 0);
	assert_int_equal(usage.pids_limit, UINT64_MAX);
	assert_true(usage.memory_limit > limits.memory_bytes);
	assert_int_equal(rest_of(&host, next), CGROUP_THAWED);
	assert_int_equal(host.ops->usage(&host, group, &usage, &err), -1);
	assert_int_equal(host.ops->remove(&host, next, &err), 0);
	cgroup_close(&host);
}

int main(void)
{
	return RUN(CASE(a_version_2_tree_is_known_by_its_control_file),
	           CASE(version_2_limits_are_written_as_the_kernel_reads_them),
	           CASE(version_2_limits_reads_and_writes_of_one_disk),
	           CASE(version_2_groups_save_one_quota_and_builds_have_the_lowest_rank),
	           CASE(version_1_lets_a_group_save_up_to_one_quota),
	           CASE(version_1_limits_reads_and_writes_of_one_disk_if_it_can),
	           CASE(our_part_of_the_trees_goes_unless_a_group_is_in_use),
	           CASE(a_folder_in_memory_has_no_disk),
	           CASE(a_host_without_swap_accounting_is_no_failure),
	           CASE(version_2_usage_is_read_from_its_files),
	           CASE(a_host_that_lacks_a_controller_is_told_which),
	           CASE(a_version_1_tree_needs_only_the_controllers_that_limit),
	           CASE(version_1_limits_are_written_as_the_kernel_reads_them),
	           CASE(a_group_that_is_left_in_one_tree_only_is_found),
	           CASE(removing_a_missing_group_is_fine),
	           CASE(version_1_keeps_a_group_without_its_limits_and_gives_it_to_another),
	           CASE(a_group_is_kept_where_two_controllers_are_one_tree),
	           CASE(a_group_in_which_something_is_or_was_is_not_kept),
	           CASE(version_2_keeps_no_group), CASE(a_real_group_is_as_new_for_the_next),
	           CASE(version_1_freezes_by_words_and_believes_the_kernel_s),
	           CASE(version_1_keeps_an_empty_group_frozen_that_is_nobodys),
	           CASE(version_1_without_a_freezer_says_so),
	           CASE(version_2_is_frozen_when_its_events_say_so),
	           CASE(a_real_group_limits_counts_freezes_and_kills));
}

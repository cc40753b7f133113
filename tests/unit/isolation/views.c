/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "isolation/apply.h"
#include "isolation/views.h"
#include "unit.h"

#define MIB (UINT64_C(1) << 20)

TEST(a_quota_is_worth_whole_processors_and_one_at_least)
{
	assert_int_equal(view_count_cpus(50000, 100000, 8), 1);
	assert_int_equal(view_count_cpus(100000, 100000, 8), 1);
	assert_int_equal(view_count_cpus(100001, 100000, 8), 2);
	assert_int_equal(view_count_cpus(1, 100000, 8), 1);
	assert_int_equal(view_count_cpus(1600000, 100000, 8), 8);
	assert_int_equal(view_count_cpus(0, 100000, 8), 8);
	assert_int_equal(view_count_cpus(50000, 0, 8), 8);
	assert_int_equal(view_count_cpus(UINT64_MAX, 1, 8), 8);
}

TEST(memory_is_that_of_the_group_and_never_below_zero)
{
	AUTO(buf_done) struct buf text = BUF(8192);
	struct view_facts f = {.memory_bytes = 1024 * MIB, .used_bytes = 100 * MIB};

	view_parse_memory(&f, SPAN("cache 41943040\nrss 52428800\nshmem 1048576\nodd\nshmem x\n"));
	view_format_meminfo(&text, &f);
	assert_non_null(strstr(buf_text(&text), "MemTotal:        1048576 kB\n"));
	assert_non_null(strstr(buf_text(&text), "MemFree:          946176 kB\n"));
	assert_non_null(strstr(buf_text(&text), "MemAvailable:     986112 kB\n"));
	assert_non_null(strstr(buf_text(&text), "Cached:            40960 kB\n"));
	buf_reset(&text);
	f.used_bytes = 2000 * MIB;
	view_format_meminfo(&text, &f);
	assert_non_null(strstr(buf_text(&text), "MemFree:               0 kB\n"));
}

TEST(both_versions_name_the_same_things)
{
	struct view_facts v1 = {0}, v2 = {0};

	view_parse_memory(&v1, SPAN("cache 1\nrss 2\nmapped_file 3\ndirty 4\nactive_file 5\n"));
	view_parse_memory(&v2,
	                  SPAN("file 1\nanon 2\nfile_mapped 3\nfile_dirty 4\nactive_file 5\n"));
	assert_memory_equal(&v1, &v2, sizeof(v1));
	assert_int_equal(v1.file_bytes, 1);
	assert_int_equal(v1.active_file, 5);
}

TEST(processors_are_numbered_from_zero_and_lie_in_one_package)
{
	AUTO(buf_done) struct buf text = BUF(8192);

	view_format_cpuinfo(
	        &text,
	        SPAN("processor\t: 3\nmodel name\t: X\nphysical id\t: 7\nsiblings\t: 64\n"
	             "core id\t\t: 5\ncpu cores\t: 32\n\nprocessor\t: 4\nsecret\t: 1\n"),
	        2);
	assert_string_equal(buf_text(&text),
	                    "processor\t: 0\nmodel name\t: X\nphysical id\t: 0\nsiblings\t: 2\n"
	                    "core id\t\t: 0\ncpu cores\t: 2\n\n"
	                    "processor\t: 1\nmodel name\t: X\nphysical id\t: 0\nsiblings\t: 2\n"
	                    "core id\t\t: 1\ncpu cores\t: 2\n\n");
	buf_reset(&text);
	view_format_cpus(&text, 1);
	view_format_cpus(&text, 4);
	assert_string_equal(buf_text(&text), "0\n0-3\n");
}

TEST(times_count_from_the_sandboxs_beginning)
{
	AUTO(buf_done) struct buf text = BUF(8192);
	struct view_facts f = {.cpus = 2,
	                       .uptime_ms = 10050,
	                       .begun_unix_s = 1700000000,
	                       .cpu_us = 3000000,
	                       .user_us = 2000000,
	                       .system_us = 1000000,
	                       .pids = 5,
	                       .load = {0.5, 0.25, 0.125}};

	view_format_uptime(&text, &f);
	assert_string_equal(buf_text(&text), "10.05 17.10\n");
	buf_reset(&text);
	view_format_stat(&text, &f);
	assert_non_null(strstr(buf_text(&text), "cpu  200 0 100 1710 0 0 0 0 0 0\n"));
	assert_non_null(strstr(buf_text(&text), "cpu1 100 0 50 855 0 0 0 0 0 0\n"));
	assert_non_null(strstr(buf_text(&text), "btime 1700000000\n"));
	buf_reset(&text);
	view_format_loadavg(&text, &f);
	assert_string_equal(buf_text(&text), "0.50 0.25 0.12 1/5 5\n");
}

TEST(load_nears_what_is_used_and_survives_a_long_silence)
{
	double load[VIEWS_LOADS] = {0};

	for (unsigned i = 0; i < 600; i++)
		view_move_load(load, 2, 1000);
	assert_true(load[0] > 1.99 && load[0] <= 2.001);
	assert_true(load[2] > 0.9 && load[2] < load[1]);
	view_move_load(load, 0, INT64_C(1) << 40);
	assert_true(load[0] >= 0 && load[0] < 0.01);
}

/* ---- on a made-up cgroup ---- */

struct fixture {
	char path[64];
	struct views views;
};

static void put(const struct fixture *x, const char *name, const char *text)
{
	AUTO_CLOSE int fd =
	        openat(x->views.folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct error err;

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text), &err), 0);
}

static bool says(const struct fixture *x, const char *name, const char *what)
{
	AUTO(buf_done) struct buf text = BUF(65536);
	struct error err;

	assert_int_equal(file_read(x->views.folder, name, &text, &err), 0);
	return strstr(buf_text(&text), what) != NULL;
}

static void begin(struct fixture *x)
{
	static const char *const names[] = {VIEW_MEMINFO, VIEW_STAT, VIEW_UPTIME, VIEW_LOADAVG,
	                                    VIEW_CPUS};

	*x = (struct fixture){.path = "/tmp/atoll-views-XXXXXX"};
	assert_non_null(mkdtemp(x->path));
	x->views = (struct views){.folder = open(x->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	                          .cgroup = x->path,
	                          .is_v2 = true,
	                          .host_cpus = 8,
	                          .host_memory = 4096 * MIB};
	assert_int_equal(mkdirat(x->views.folder, "cpu", 0700), 0);
	for (unsigned i = 0; i < COUNT_OF(names); i++)
		put(x, names[i], "");
	put(x, VIEW_CPUINFO, "processor\t: 0\n\n");
	put(x, "cpu.max", "150000 100000\n");
	put(x, "memory.max", "1073741824\n");
	put(x, "memory.current", "0\n");
	put(x, "memory.stat", "anon 0\n");
	put(x, "cpu.stat", "usage_usec 0\nuser_usec 0\nsystem_usec 0\n");
	put(x, "pids.current", "3\n");
	views_begin(&x->views, 1000);
}

static void end(struct fixture *x)
{
	static const char *const names[] = {VIEW_MEMINFO,  VIEW_STAT,        VIEW_UPTIME,
	                                    VIEW_LOADAVG,  VIEW_CPUS,        VIEW_CPUINFO,
	                                    "cpu.max",     "memory.max",     "cpu.stat",
	                                    "memory.stat", "memory.current", "pids.current"};

	for (unsigned i = 0; i < COUNT_OF(names); i++)
		(void)unlinkat(x->views.folder, names[i], 0);
	assert_int_equal(unlinkat(x->views.folder, "cpu", AT_REMOVEDIR), 0);
	assert_int_equal(rmdir(x->path), 0);
	(void)close(x->views.folder);
}

TEST(views_follow_the_limits_up_and_down)
{
	struct fixture x;

	begin(&x);
	assert_int_equal(x.views.cpus, 2);
	assert_true(says(&x, VIEW_CPUS, "0-1\n") && says(&x, VIEW_CPUINFO, "processor\t: 1\n"));
	assert_true(says(&x, VIEW_MEMINFO, "MemTotal:        1048576 kB"));
	put(&x, "cpu.max", "20000 100000\n");
	put(&x, "memory.max", "max\n");
	views_refresh(&x.views, 2000);
	assert_true(says(&x, VIEW_CPUS, "0\n") && !says(&x, VIEW_CPUINFO, "processor\t: 1\n"));
	assert_true(says(&x, VIEW_MEMINFO, "MemTotal:        4194304 kB"));
	assert_true(says(&x, VIEW_UPTIME, "1.00 "));
	put(&x, "cpu.max", "max 100000\n");
	views_refresh(&x.views, 3000);
	assert_true(says(&x, VIEW_CPUS, "0-7\n") && says(&x, VIEW_CPUINFO, "processor\t: 7\n"));
	end(&x);
}

TEST(a_sandbox_that_does_nothing_is_looked_at_ever_more_seldom)
{
	struct fixture x;
	int64_t now = 1000;

	begin(&x);
	for (unsigned i = 0; i < 10; i++) {
		now = views_next(&x.views);
		views_refresh(&x.views, now);
	}
	assert_int_equal(views_next(&x.views) - now, VIEWS_IDLE_MS);
	put(&x, "cpu.stat", "usage_usec 900000\nuser_usec 0\nsystem_usec 900000\n");
	now = views_next(&x.views);
	views_refresh(&x.views, now);
	assert_int_equal(views_next(&x.views) - now, VIEWS_BUSY_MS);
	end(&x);
}

TEST(without_files_there_is_nothing_to_do)
{
	struct views none = {.folder = -1};

	views_begin(&none, 5);
	views_refresh(&none, 6);
	assert_true(views_next(&none) == INT64_MAX);
	assert_int_equal(none.cpus, 0);
}

TEST(only_process_1_prepares_them)
{
	struct isolation_prepared prepared = ISOLATION_PREPARED_NONE;
	struct error err = {0};
	struct views views;

	assert_int_equal(views_prepare(&views, &prepared, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_int_equal(views.folder, -1);
}

int main(void)
{
	return RUN(CASE(a_quota_is_worth_whole_processors_and_one_at_least),
	           CASE(memory_is_that_of_the_group_and_never_below_zero),
	           CASE(both_versions_name_the_same_things),
	           CASE(processors_are_numbered_from_zero_and_lie_in_one_package),
	           CASE(times_count_from_the_sandboxs_beginning),
	           CASE(load_nears_what_is_used_and_survives_a_long_silence),
	           CASE(views_follow_the_limits_up_and_down),
	           CASE(a_sandbox_that_does_nothing_is_looked_at_ever_more_seldom),
	           CASE(without_files_there_is_nothing_to_do), CASE(only_process_1_prepares_them));
}

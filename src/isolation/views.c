/* SPDX-License-Identifier: Apache-2.0 */
#include "isolation/views.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "isolation/apply.h"
#include "isolation/plan.h"

#define CGROUP "/sys/fs/cgroup" /* inside */
#define READ_MAX 8192
#define CPUINFO_MAX (256 * 1024)
#define CPUS_MAX 8192
/* CPU use of a sandbox in which only the agent works. */
#define IDLE_CPU_US_PER_S 2000
#define US_PER_TICK 10000

/* Reads as much of a small kernel file as fits. */
static struct span read_small(const char *folder, const char *name, char text[READ_MAX])
{
	char path[128];
	size_t size = 0;
	ssize_t got;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && size < READ_MAX && (got = read(fd, text + size, READ_MAX - size)) > 0)
		size += (size_t)got;
	return (struct span){text, size};
}

/* False if the file is missing or holds no number. "max" and -1 mean no limit and give 0. */
static bool parse_number(struct span text, uint64_t *ret)
{
	struct error ignored = {0};
	struct span word;
	int64_t value;

	(void)span_split(&text, '\n', &word);
	if (span_equals_text(word, "max") || span_equals_text(word, "-1")) {
		*ret = 0;
		return true;
	}
	if (span_parse_whole(word, 0, INT64_MAX, &value, &ignored) < 0)
		return false;
	*ret = (uint64_t)value;
	return true;
}

static bool read_number(const struct views *v, const char *name, uint64_t *ret)
{
	char text[READ_MAX];

	return parse_number(read_small(v->cgroup, name, text), ret);
}

/* From lines of "key value". */
static void read_key(struct span text, const char *key, uint64_t *ret)
{
	struct span line, name;

	while (text.size > 0) {
		(void)span_split(&text, '\n', &line);
		if (span_split(&line, ' ', &name) && span_equals_text(name, key))
			(void)parse_number(line, ret);
	}
}

/* quota, period */
static void read_cpu_limit(const struct views *v, uint64_t ret[2])
{
	char text[READ_MAX];
	struct span rest, quota;

	if (!v->is_v2) {
		if (!read_number(v, "cpu/cpu.cfs_quota_us", &ret[0]))
			ret[0] = 0;
		if (!read_number(v, "cpu/cpu.cfs_period_us", &ret[1]))
			ret[1] = 0;
		return;
	}
	rest = read_small(v->cgroup, "cpu.max", text);
	(void)span_split(&rest, ' ', &quota);
	if (!parse_number(quota, &ret[0]) || !parse_number(rest, &ret[1]))
		ret[0] = ret[1] = 0;
}

static uint64_t read_memory_limit(const struct views *v)
{
	uint64_t bytes = 0;

	(void)read_number(v, v->is_v2 ? "memory.max" : "memory/memory.limit_in_bytes", &bytes);
	return bytes;
}

static void read_cpu_use(const struct views *v, struct view_facts *f)
{
	char text[READ_MAX];
	struct span span;

	if (v->is_v2) {
		span = read_small(v->cgroup, "cpu.stat", text);
		read_key(span, "usage_usec", &f->cpu_us);
		read_key(span, "user_usec", &f->user_us);
		read_key(span, "system_usec", &f->system_us);
		return;
	}
	if (read_number(v, "cpuacct/cpuacct.usage", &f->cpu_us))
		f->cpu_us /= 1000;
	span = read_small(v->cgroup, "cpuacct/cpuacct.stat", text);
	read_key(span, "user", &f->user_us);
	read_key(span, "system", &f->system_us);
	f->user_us *= US_PER_TICK;
	f->system_us *= US_PER_TICK;
}

static void read_facts(const struct views *v, struct view_facts *f, int64_t now_ms)
{
	char text[READ_MAX];

	*f = (struct view_facts){.cpus = v->cpus,
	                         .memory_bytes = v->host_memory,
	                         .uptime_ms = now_ms - v->begun_ms,
	                         .begun_unix_s = v->begun_unix_s};
	if (v->memory_limit > 0 && v->memory_limit < v->host_memory)
		f->memory_bytes = v->memory_limit;
	view_parse_memory(
	        f, read_small(v->cgroup, v->is_v2 ? "memory.stat" : "memory/memory.stat", text));
	(void)read_number(v, v->is_v2 ? "memory.current" : "memory/memory.usage_in_bytes",
	                  &f->used_bytes);
	(void)read_number(v, v->is_v2 ? "pids.current" : "pids/pids.current", &f->pids);
	read_cpu_use(v, f);
	memcpy(f->load, v->load, sizeof(f->load));
}

/* Written in place, because a reader may have the file open. */
static void write_view(const struct views *v, const char *name, const struct buf *text)
{
	AUTO_CLOSE int fd = openat(v->folder, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && !text->overflowed &&
	    pwrite(fd, text->data, text->size, 0) == (ssize_t)text->size)
		(void)!ftruncate(fd, (off_t)text->size);
}

static void write_facts(const struct views *v, const struct view_facts *f)
{
	static const struct {
		const char *name;
		void (*format)(struct buf *out, const struct view_facts *f);
	} rows[] = {{VIEW_MEMINFO, view_format_meminfo},
	            {VIEW_STAT, view_format_stat},
	            {VIEW_UPTIME, view_format_uptime},
	            {VIEW_LOADAVG, view_format_loadavg}};
	AUTO(buf_done) struct buf text = BUF(CPUINFO_MAX);

	for (unsigned i = 0; i < COUNT_OF(rows); i++) {
		buf_reset(&text);
		rows[i].format(&text, f);
		write_view(v, rows[i].name, &text);
	}
}

/* The file already has the first processor. */
static void write_cpus(const struct views *v)
{
	AUTO(buf_done) struct buf online = BUF(64), now = BUF(CPUINFO_MAX), next = BUF(CPUINFO_MAX);
	struct error ignored = {0};

	view_format_cpus(&online, v->cpus);
	write_view(v, VIEW_CPUS, &online);
	if (file_read(v->folder, VIEW_CPUINFO, &now, &ignored) < 0)
		return;
	view_format_cpuinfo(&next, buf_span(&now), v->cpus);
	write_view(v, VIEW_CPUINFO, &next);
}

static void take_limits(struct views *v, const uint64_t cpu[2], uint64_t memory)
{
	unsigned cpus = view_count_cpus(cpu[0], cpu[1], v->host_cpus);

	v->memory_limit = memory;
	if (cpus == v->cpus)
		return;
	v->cpus = cpus;
	write_cpus(v);
}

/* An idle sandbox is checked at intervals that double. */
static void plan_next(struct views *v, uint64_t used_us, int64_t ms, int64_t now_ms)
{
	if (used_us > IDLE_CPU_US_PER_S * (uint64_t)(ms + 999) / 1000 || v->rest_ms == 0)
		v->rest_ms = VIEWS_BUSY_MS;
	else if (ms >= v->rest_ms && v->rest_ms < VIEWS_IDLE_MS)
		v->rest_ms *= 2;
	v->refreshed_ms = now_ms;
	v->next_ms = now_ms + v->rest_ms;
}

void views_refresh(struct views *v, int64_t now_ms)
{
	struct view_facts facts;
	uint64_t cpu[2], used;
	int64_t ms = now_ms - v->refreshed_ms;

	if (v->folder < 0)
		return;
	read_cpu_limit(v, cpu);
	take_limits(v, cpu, read_memory_limit(v));
	read_facts(v, &facts, now_ms);
	used = facts.cpu_us > v->cpu_us ? facts.cpu_us - v->cpu_us : 0;
	v->cpu_us = facts.cpu_us;
	if (ms > 0)
		view_move_load(v->load, (double)used / 1000 / (double)ms, ms);
	memcpy(facts.load, v->load, sizeof(facts.load));
	write_facts(v, &facts);
	plan_next(v, used, ms, now_ms);
}

int64_t views_next(const struct views *v)
{
	return v->folder < 0 ? DEADLINE_NEVER : v->next_ms;
}

void views_begin(struct views *v, int64_t now_ms)
{
	uint64_t cpu[2];

	if (v->folder < 0)
		return;
	v->begun_ms = v->refreshed_ms = now_ms;
	v->begun_unix_s = clock_unix_ms() / 1000;
	v->rest_ms = 0;
	memset(v->load, 0, sizeof(v->load));
	read_cpu_limit(v, cpu);
	take_limits(v, cpu, read_memory_limit(v));
	views_refresh(v, now_ms);
}

static unsigned count_host_cpus(void)
{
	size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
	char set[CPUS_MAX / 8];

	if (sched_getaffinity(0, size, (cpu_set_t *)(void *)set) < 0)
		return 1;
	return (unsigned)CPU_COUNT_S(size, (cpu_set_t *)(void *)set);
}

static void write_boot_id(const struct views *v)
{
	AUTO(buf_done) struct buf text = BUF(64);
	unsigned char b[16];

	if (getrandom(b, sizeof(b), 0) != sizeof(b))
		return;
	b[6] = (b[6] & 0x0f) | 0x40; /* a random UUID, RFC 9562 */
	b[8] = (b[8] & 0x3f) | 0x80;
	for (unsigned i = 0; i < sizeof(b); i++)
		buf_addf(&text, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", b[i]);
	buf_add_text(&text, "\n");
	write_view(v, VIEW_BOOT_ID, &text);
}

/* Only the first processor's lines: reading all asks each processor for its frequency. */
static void write_first_cpu(const struct views *v, struct span host)
{
	AUTO(buf_done) struct buf text = BUF(CPUINFO_MAX);

	view_format_cpuinfo(&text, host, 1);
	write_view(v, VIEW_CPUINFO, &text);
}

int views_prepare(struct views *v, struct isolation_prepared *prepared, struct error *err)
{
	enum isolation_cgroups cgroups = isolation_cgroups_find();
	struct sysinfo info;
	struct setup_plan plan;
	char cpuinfo[READ_MAX];
	struct span host = read_small("/proc", "cpuinfo", cpuinfo);

	*v = (struct views){.folder = -1};
	if (getpid() != 1)
		return FAIL(err, ERROR_INVALID, "process %d is not the first of a sandbox",
		            getpid());
	*v = (struct views){.folder = -1,
	                    .cgroup = CGROUP,
	                    .is_v2 = cgroups == ISOLATION_CGROUPS_V2,
	                    .host_cpus = count_host_cpus()};
	if (sysinfo(&info) < 0)
		return FAIL_ERRNO(err, "ask for the host's memory");
	v->host_memory = (uint64_t)info.totalram * info.mem_unit;
	if (isolation_plan_kernel(cgroups, &plan, err) < 0 ||
	    isolation_apply(&plan, NULL, 0, prepared, err) < 0)
		return -1;
	v->folder = TAKE_FD(prepared->fds[ISOLATION_PREPARED_VIEWS]);
	write_boot_id(v);
	write_first_cpu(v, host);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stddef.h>

#include "isolation/views.h"

#define TICKS_PER_S 100 /* USER_HZ of every supported architecture */
#define US_PER_TICK (1000000 / TICKS_PER_S)

static void add_kib(struct buf *out, const char *name, uint64_t bytes)
{
	buf_addf(out, "%s:%*" PRIu64 " kB\n", name, 23 - (int)strlen(name), bytes >> 10);
}

static uint64_t subtract_floor(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

void view_format_meminfo(struct buf *out, const struct view_facts *f)
{
	uint64_t free_bytes = subtract_floor(f->memory_bytes, f->used_bytes);
	/* The kernel drops file pages when memory is needed. */
	uint64_t reclaimable = subtract_floor(f->file_bytes, f->shmem_bytes);
	uint64_t available = free_bytes + reclaimable;
	const struct {
		const char *name;
		uint64_t bytes;
	} rows[] = {
	        {"MemTotal", f->memory_bytes},
	        {"MemFree", free_bytes},
	        {"MemAvailable", available < f->memory_bytes ? available : f->memory_bytes},
	        {"Buffers", 0},
	        {"Cached", f->file_bytes},
	        {"SwapCached", 0},
	        {"Active", f->active_file + f->active_anon},
	        {"Inactive", f->inactive_file + f->inactive_anon},
	        {"Active(anon)", f->active_anon},
	        {"Inactive(anon)", f->inactive_anon},
	        {"Active(file)", f->active_file},
	        {"Inactive(file)", f->inactive_file},
	        {"Unevictable", 0},
	        {"Mlocked", 0},
	        {"SwapTotal", 0},
	        {"SwapFree", 0},
	        {"Dirty", f->dirty_bytes},
	        {"Writeback", f->writeback_bytes},
	        {"AnonPages", f->anon_bytes},
	        {"Mapped", f->mapped_bytes},
	        {"Shmem", f->shmem_bytes},
	        {"KReclaimable", 0},
	        {"Slab", 0},
	        {"SReclaimable", 0},
	        {"SUnreclaim", 0},
	        {"CommitLimit", f->memory_bytes},
	        {"Committed_AS", f->anon_bytes},
	};

	for (unsigned i = 0; i < COUNT_OF(rows); i++)
		add_kib(out, rows[i].name, rows[i].bytes);
}

struct memory_key {
	const char *v1, *v2;
	size_t offset;
};

static const struct memory_key memory_keys[] = {
        {"cache", "file", offsetof(struct view_facts, file_bytes)},
        {"rss", "anon", offsetof(struct view_facts, anon_bytes)},
        {"mapped_file", "file_mapped", offsetof(struct view_facts, mapped_bytes)},
        {"shmem", "shmem", offsetof(struct view_facts, shmem_bytes)},
        {"dirty", "file_dirty", offsetof(struct view_facts, dirty_bytes)},
        {"writeback", "file_writeback", offsetof(struct view_facts, writeback_bytes)},
        {"active_file", "active_file", offsetof(struct view_facts, active_file)},
        {"inactive_file", "inactive_file", offsetof(struct view_facts, inactive_file)},
        {"active_anon", "active_anon", offsetof(struct view_facts, active_anon)},
        {"inactive_anon", "inactive_anon", offsetof(struct view_facts, inactive_anon)},
};

static void take_memory_line(struct view_facts *f, struct span key, struct span value)
{
	struct error ignored = {0};
	int64_t bytes;

	for (unsigned i = 0; i < COUNT_OF(memory_keys); i++) {
		const struct memory_key *row = &memory_keys[i];

		if ((span_equals_text(key, row->v1) || span_equals_text(key, row->v2)) &&
		    span_parse_whole(value, 0, INT64_MAX, &bytes, &ignored) == 0)
			*(uint64_t *)(void *)((char *)f + row->offset) = (uint64_t)bytes;
	}
}

void view_parse_memory(struct view_facts *f, struct span text)
{
	struct span line, key;

	while (text.size > 0) {
		(void)span_split(&text, '\n', &line);
		if (span_split(&line, ' ', &key))
			take_memory_line(f, key, line);
	}
}

unsigned view_count_cpus(uint64_t quota_us, uint64_t period_us, unsigned host_cpus)
{
	uint64_t cpus;

	if (period_us == 0 || quota_us == 0 || quota_us >= period_us * host_cpus)
		return host_cpus;
	cpus = (quota_us + period_us - 1) / period_us;
	return (unsigned)cpus;
}

void view_format_cpus(struct buf *out, unsigned cpus)
{
	if (cpus > 1)
		buf_addf(out, "0-%u\n", cpus - 1);
	else
		buf_add_text(out, "0\n");
}

/* A line of a processor; the lines with its number and the number of its neighbours are rewritten.
 * */
static void add_cpu_line(struct buf *out, struct span line, unsigned cpu, unsigned cpus)
{
	static const char *const numbers[] = {"processor", "core id", "apicid", "initial apicid"};
	static const char *const counts[] = {"siblings", "cpu cores"};
	struct span value = line, key;

	if (span_split(&value, ':', &key)) {
		struct span name = span_trim(key);

		for (unsigned i = 0; i < COUNT_OF(numbers); i++) {
			if (span_equals_text(name, numbers[i])) {
				buf_addf(out, "%.*s: %u\n", (int)key.size, key.data, cpu);
				return;
			}
		}
		for (unsigned i = 0; i < COUNT_OF(counts); i++) {
			if (span_equals_text(name, counts[i])) {
				buf_addf(out, "%.*s: %u\n", (int)key.size, key.data, cpus);
				return;
			}
		}
		if (span_equals_text(name, "physical id")) {
			buf_addf(out, "%.*s: 0\n", (int)key.size, key.data);
			return;
		}
	}
	buf_add_span(out, line);
	buf_add_text(out, "\n");
}

void view_format_cpuinfo(struct buf *out, struct span text, unsigned cpus)
{
	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		struct span rest = text, line;

		while (rest.size > 0) {
			(void)span_split(&rest, '\n', &line);
			if (line.size == 0)
				break;
			add_cpu_line(out, line, cpu, cpus);
		}
		buf_add_text(out, "\n");
	}
}

/* user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice */
static void add_cpu_times(struct buf *out, const struct view_facts *f, unsigned share)
{
	uint64_t user = f->user_us / US_PER_TICK / share;
	uint64_t system = f->system_us / US_PER_TICK / share;
	uint64_t all = (uint64_t)f->uptime_ms * TICKS_PER_S / 1000 * f->cpus / share;

	buf_addf(out, " %" PRIu64 " 0 %" PRIu64 " %" PRIu64 " 0 0 0 0 0 0\n", user, system,
	         subtract_floor(all, user + system));
}

void view_format_stat(struct buf *out, const struct view_facts *f)
{
	buf_add_text(out, "cpu ");
	add_cpu_times(out, f, 1);
	for (unsigned i = 0; i < f->cpus; i++) {
		buf_addf(out, "cpu%u", i);
		add_cpu_times(out, f, f->cpus);
	}
	buf_addf(out,
	         "intr 0\nctxt 0\nbtime %" PRId64 "\nprocesses %" PRIu64
	         "\nprocs_running 1\nprocs_blocked 0\nsoftirq 0 0 0 0 0 0 0 0 0 0 0\n",
	         f->begun_unix_s, f->pids);
}

void view_format_uptime(struct buf *out, const struct view_facts *f)
{
	uint64_t idle_ms = subtract_floor((uint64_t)f->uptime_ms * f->cpus, f->cpu_us / 1000);

	buf_addf(out, "%" PRId64 ".%02" PRId64 " %" PRIu64 ".%02" PRIu64 "\n", f->uptime_ms / 1000,
	         f->uptime_ms / 10 % 100, idle_ms / 1000, idle_ms / 10 % 100);
}

/* e^-x for x >= 0, with an error below a percent: the inverse of the first terms of the series of
 * e^x. */
static double decay_factor(double x)
{
	return 1 / (1 + x + x * x / 2 + x * x * x / 6);
}

void view_move_load(double load[VIEWS_LOADS], double used, int64_t ms)
{
	static const double minutes[VIEWS_LOADS] = {1, 5, 15};

	for (unsigned i = 0; i < VIEWS_LOADS; i++) {
		double kept = decay_factor((double)ms / (minutes[i] * 60000));

		load[i] = load[i] * kept + used * (1 - kept);
	}
}

void view_format_loadavg(struct buf *out, const struct view_facts *f)
{
	buf_addf(out, "%.2f %.2f %.2f 1/%" PRIu64 " %" PRIu64 "\n", f->load[0], f->load[1],
	         f->load[2], f->pids, f->pids);
}

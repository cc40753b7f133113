/* SPDX-License-Identifier: Apache-2.0 */
/* isolation/views.h — the files of /proc and /sys that tell a sandbox its own size. Part of
 * isolation.h.
 *
 * The agent keeps them up to date from its own cgroup: no other process reads or writes them, a
 * frozen sandbox costs nothing, and a restart of the broker changes nothing. The files lie on a
 * filesystem of their own; what covers /proc is read-only. A sandbox whose agent was taken over can
 * lie to itself alone. docs/decisions/a-sandbox-sees-its-own-size.md compares this with LXCFS and
 * with files of the broker.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

#define VIEW_MEMINFO "meminfo"
#define VIEW_CPUINFO "cpuinfo"
#define VIEW_STAT "stat"
#define VIEW_UPTIME "uptime"
#define VIEW_LOADAVG "loadavg"
#define VIEW_BOOT_ID "boot_id"
#define VIEW_CPUS "cpu/online"

/* SIGWINCH. From the broker to the agent: the limits are others now. An older agent has it blocked.
 */
#define VIEWS_SIGNAL 28

/* They are at most so old while something runs … */
#define VIEWS_BUSY_MS 1000
/* … and so old while nothing does. */
#define VIEWS_IDLE_MS 32000

/* 1, 5 and 15 minutes. The load is the number of processors in use: the kernel does not count those
 * that wait for one by cgroup. */
#define VIEWS_LOADS 3

struct views {
	int folder;         /* of the files; -1: none, and nothing is done */
	const char *cgroup; /* the sandbox's own, as it sees it */
	bool is_v2;
	unsigned host_cpus, cpus;           /* what there are; what is shown */
	uint64_t host_memory, memory_limit; /* bytes; the limit as last read */
	int64_t begun_ms, begun_unix_s, refreshed_ms, next_ms;
	int64_t rest_ms; /* between the last two */
	uint64_t cpu_us; /* used until the last */
	double load[VIEWS_LOADS];
};

struct isolation_prepared;
/* In the agent's first phase: applies isolation_plan_kernel and fills in what never changes. */
MUST_CHECK int views_prepare(struct views *v, struct isolation_prepared *prepared,
                             struct error *err);
/* The sandbox's life begins now: its uptime counts from here. */
void views_begin(struct views *v, int64_t now_ms);
/* When to call views_refresh next. */
int64_t views_next(const struct views *v);
/* Reads the cgroup and writes the files: some ten microseconds. What cannot be read stays. */
void views_refresh(struct views *v, int64_t now_ms);

/* views_text.c: pure */

struct view_facts {
	unsigned cpus;
	uint64_t memory_bytes, used_bytes; /* the limit; with caches */
	uint64_t file_bytes, active_file, inactive_file, active_anon, inactive_anon, anon_bytes;
	uint64_t mapped_bytes, shmem_bytes, dirty_bytes, writeback_bytes;
	uint64_t cpu_us, user_us, system_us, pids;
	int64_t uptime_ms, begun_unix_s;
	double load[VIEWS_LOADS];
};
void view_format_meminfo(struct buf *out, const struct view_facts *f);
void view_format_stat(struct buf *out, const struct view_facts *f);
void view_format_uptime(struct buf *out, const struct view_facts *f);
void view_format_loadavg(struct buf *out, const struct view_facts *f);
/* "0-3\n" */
void view_format_cpus(struct buf *out, unsigned cpus);
/* The first processor of such a text becomes `cpus` of them, in one package. */
void view_format_cpuinfo(struct buf *out, struct span text, unsigned cpus);
/* From memory.stat of either version. */
void view_parse_memory(struct view_facts *f, struct span text);
/* Whole processors that a quota is worth, 1 at least; a period of 0 or no quota: all. */
unsigned view_count_cpus(uint64_t quota_us, uint64_t period_us, unsigned host_cpus);
/* Moves damped averages on by `ms` in which `used` processors were used. */
void view_move_load(double load[VIEWS_LOADS], double used, int64_t ms);

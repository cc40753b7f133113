/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "isolation/cgroup.h"

#define CPUS_MAX 4096
#define TASKS_SIZE_MAX (1 << 20)
#define SET_SIZE (CPUS_MAX / 8)

union cpu_bits {
	cpu_set_t first;
	unsigned char bytes[SET_SIZE];
};

/* The first processor of `now`, and the wanted number of processors of `host` from there on. */
static void choose_cpus(const union cpu_bits *now, const union cpu_bits *host, unsigned wanted,
                        union cpu_bits *ret)
{
	unsigned first = 0;

	CPU_ZERO_S(SET_SIZE, &ret->first);
	while (first < CPUS_MAX && !CPU_ISSET_S(first, SET_SIZE, &now->first))
		first++;
	for (unsigned i = 0; i < CPUS_MAX && wanted > 0; i++) {
		unsigned cpu = (first + i) % CPUS_MAX;

		if (!CPU_ISSET_S(cpu, SET_SIZE, &host->first))
			continue;
		CPU_SET_S(cpu, SET_SIZE, &ret->first);
		wanted--;
	}
}

static void set_task(pid_t task, const union cpu_bits *host, unsigned cpus)
{
	union cpu_bits now = {.bytes = {0}}, next;

	if (sched_getaffinity(task, SET_SIZE, &now.first) < 0)
		return;
	choose_cpus(&now, host, cpus, &next);
	(void)sched_setaffinity(task, SET_SIZE, &next.first);
}

int cgroup_set_cpus(const struct cgroup_host *h, const char *group, unsigned cpus, pid_t agent,
                    struct error *err)
{
	bool is_v2 = h->ops == &cgroup_v2_ops;
	AUTO(buf_done) struct buf text = BUF(TASKS_SIZE_MAX);
	union cpu_bits host = {.bytes = {0}};
	struct error ignored = {0};
	struct span rest, line;
	char path[64];
	int64_t task;

	if (sched_getaffinity(0, SET_SIZE, &host.first) < 0)
		return FAIL_ERRNO(err, "ask for the host's processors");
	(void)snprintf(path, sizeof(path), "%s/%s", group, is_v2 ? "cgroup.threads" : "tasks");
	if (file_read(h->roots[is_v2 ? 0 : CGROUP_CPU], path, &text, err) < 0)
		return -1;
	rest = buf_span(&text);
	while (rest.size > 0) {
		(void)span_split(&rest, '\n', &line);
		if (span_parse_whole(line, 1, INT32_MAX, &task, &ignored) == 0 && task != agent)
			set_task((pid_t)task, &host, cpus);
	}
	return 0;
}

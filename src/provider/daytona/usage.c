/* SPDX-License-Identifier: Apache-2.0 */
/* Figures come from the service's telemetry, which wakes no sandbox as a call of its toolbox may.
 * It tells them for one sandbox at a time: a round asks for some, and the next round for others. */
#include "provider/daytona/daytona.h"

#include <string.h>

#include "base/clock.h"
#include "json/json.h"

#define ROUND_MS 10000
#define ASKED_MAX 20 /* sandboxes of a round */
#define CALL_MS 3000
#define PAST_MS (5 * 60 * INT64_C(1000))
#define FUTURE_MS (60 * INT64_C(1000)) /* the clocks may differ */
#define BYTES_MAX 0x1p62
#define CPUS_MAX 1024

/* What series of the service become. */
enum daytona_figure {
	FIGURE_CPU_PERCENT,
	FIGURE_CPUS,
	FIGURE_MEMORY,
	FIGURE_MEMORY_LIMIT,
	FIGURE_DISK,
	FIGURE_DISK_LIMIT,
	FIGURE_COUNT,
};
static const char *const series_names[FIGURE_COUNT] = {
        [FIGURE_CPU_PERCENT] = "daytona.sandbox.cpu.utilization",
        [FIGURE_CPUS] = "daytona.sandbox.cpu.limit",
        [FIGURE_MEMORY] = "daytona.sandbox.memory.usage",
        [FIGURE_MEMORY_LIMIT] = "daytona.sandbox.memory.limit",
        [FIGURE_DISK] = "daytona.sandbox.filesystem.usage",
        [FIGURE_DISK_LIMIT] = "daytona.sandbox.filesystem.total",
};

static void add_time(struct buf *path, const char *name, int64_t unix_ms)
{
	buf_addf(path, "%s=", name);
	clock_format(path, unix_ms); /* a query may have its characters as they are */
}

/* The last point of a series; a time of 0 when there is none. */
static double find_last(const struct json_value *series, int64_t *ret_unix_ms)
{
	const struct json_value *points = json_get(series, "dataPoints"), *last;
	size_t count = json_count(points);

	*ret_unix_ms = 0;
	if (count == 0)
		return 0;
	last = json_item_at(points, count - 1);
	if (!json_time_parse(span_of(json_get_text(last, "timestamp", "")), ret_unix_ms))
		*ret_unix_ms = 0;
	return json_number(json_get(last, "value"), 0);
}

static uint64_t to_bytes(double value)
{
	return value > 0 && value < BYTES_MAX ? (uint64_t)value : 0;
}

static struct remote_usage read_usage(const struct json_value *root)
{
	const struct json_value *all = json_get(root, "series");
	double figures[FIGURE_COUNT] = {0};
	struct remote_usage usage = {0};

	for (size_t i = 0; i < json_count(all); i++) {
		const struct json_value *series = json_item_at(all, i);
		const char *name = json_get_text(series, "metricName", "");
		int64_t at;

		for (size_t j = 0; j < FIGURE_COUNT; j++) {
			if (strcmp(name, series_names[j]) != 0)
				continue;
			figures[j] = find_last(series, &at);
			if (at > usage.sampled_unix_ms)
				usage.sampled_unix_ms = at;
		}
	}
	usage.cpu_used = figures[FIGURE_CPU_PERCENT] / 100 * figures[FIGURE_CPUS];
	if (!(usage.cpu_used >= 0 && usage.cpu_used <= CPUS_MAX))
		usage.cpu_used = 0;
	usage.memory_bytes = to_bytes(figures[FIGURE_MEMORY]);
	usage.memory_limit_bytes = to_bytes(figures[FIGURE_MEMORY_LIMIT]);
	usage.disk_bytes = to_bytes(figures[FIGURE_DISK]);
	usage.disk_limit_bytes = to_bytes(figures[FIGURE_DISK_LIMIT]);
	return usage;
}

static int ask_usage(struct remote *r, const struct remote_sandbox *s, int64_t deadline,
                     struct remote_usage *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf path = BUF(1024);
	int64_t now = clock_unix_ms();
	const struct json_value *root;

	buf_addf(&path, "/sandbox/%s/telemetry/metrics?", s->remote_id);
	add_time(&path, "from", now - PAST_MS);
	add_time(&path, "&to", now + FUTURE_MS);
	const struct remote_call call = {
	        .method = "GET", .path = buf_text(&path), .deadline = deadline};
	if (remote_call_load(r, &call, &arena, &root, err) < 0)
		return -1;
	*ret = read_usage(root);
	return 0;
}

/* One that is gone is left out. Another failure ends the round, so that a service that hangs is
 * waited for once. */
int daytona_usage(struct remote *r, const struct remote_sandbox *all, size_t count,
                  int64_t deadline, struct remote_usage *ret, struct error *err)
{
	size_t asked = count < ASKED_MAX ? count : ASKED_MAX;
	size_t first =
	        count > 0 ? (size_t)(clock_monotonic_ms() / ROUND_MS) * ASKED_MAX % count : 0;

	for (size_t i = 0; i < asked; i++) {
		size_t at = (first + i) % count;
		int64_t until = deadline_after(CALL_MS);

		if (ask_usage(r, &all[at], until < deadline ? until : deadline, &ret[at], err) == 0)
			continue;
		if (err->code != ERROR_NOT_FOUND)
			return i > 0 ? 0 : -1;
		error_clear(err);
	}
	return 0;
}

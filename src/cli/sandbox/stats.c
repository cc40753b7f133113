/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>

#include "cli/sandbox/commands.h"
#include "cli/core/server.h"
#include "cli/core/table.h"
#include "cli/core/text_out.h"

#define FOLLOW_EVERY_MS 1000

/* The load is the difference of two samples; the first sample shows the average since the start. */
struct stats_sample {
	int64_t cpu_us, uptime_ms;
};

static double cpu_percent(const struct stats_sample *before, const struct stats_sample *now)
{
	int64_t took_ms = now->uptime_ms - before->uptime_ms;

	return took_ms > 0 ? (double)(now->cpu_us - before->cpu_us) / 10.0 / (double)took_ms : 0;
}

static const char *used_of(struct arena *a, const struct json_value *stats, const char *used,
                           const char *limit)
{
	int64_t bytes = json_get_whole(stats, used, -1);
	int64_t limit_bytes = json_get_whole(stats, limit, 0);

	if (bytes < 0)
		return NULL;
	if (limit_bytes <= 0)
		return text_out_bytes(a, (double)bytes);
	return arena_format(a, "%s / %s", text_out_bytes(a, (double)bytes),
	                    text_out_bytes(a, (double)limit_bytes));
}

static void print_stats(struct cli *cli, const struct json_value *stats, double cpu, bool has_head)
{
	struct arena *a = cli->arena;
	struct text_table table;

	table_init(&table, a,
	           (const char *const[]){"CPU", "MEMORY", "DISK", "PIDS", "NET IN", "NET OUT",
	                                 "OOM KILLS", "UPTIME", NULL});
	if (!has_head)
		table_drop_head(&table);
	table_add(&table, arena_format(a, "%.1f%%", cpu));
	table_add(&table, used_of(a, stats, "memory_bytes", "memory_limit_bytes"));
	table_add(&table, used_of(a, stats, "disk_bytes", "disk_limit_bytes"));
	table_add(&table,
	          arena_format(a, "%lld / %lld", (long long)json_get_whole(stats, "pids", 0),
	                       (long long)json_get_whole(stats, "pids_limit", 0)));
	table_add(&table, used_of(a, stats, "network_in_bytes", ""));
	table_add(&table, used_of(a, stats, "network_out_bytes", ""));
	table_add(&table,
	          arena_format(a, "%lld", (long long)json_get_whole(stats, "oom_kills", 0)));
	table_add(&table, text_out_duration(a, json_get_whole(stats, "uptime_ms", 0)));
	table_print(&table, stdout, &cli->display);
	(void)fflush(stdout);
}

static int print_sample(struct cli *cli, struct stats_sample *before, bool is_first)
{
	const char *path = instance_path(cli->arena, cli->args.words[0], "/stats");
	const struct json_value *stats;
	struct stats_sample now;

	if (server_get(cli, path, &stats) < 0)
		return -1;
	now.cpu_us = json_get_whole(stats, "cpu_usage_us", 0);
	now.uptime_ms = json_get_whole(stats, "uptime_ms", 0);
	if (cli->json)
		print_json(stats);
	else
		print_stats(cli, stats, cpu_percent(before, &now), is_first);
	*before = now;
	return 0;
}

static int run_stats(struct cli *cli)
{
	struct arena *outer = cli->arena;
	bool follow = arguments_has(&cli->args, "follow"), is_first = true;
	AUTO(arena_done) struct arena arena = {
	        0}; /* per sample, because following may last for days */
	struct stats_sample before = {0};
	int result;

	if (cli_connect(cli) < 0)
		return -1;
	cli->arena = &arena;
	do {
		if (!is_first)
			(void)poll(NULL, 0, FOLLOW_EVERY_MS);
		arena_reset(&arena);
		result = print_sample(cli, &before, is_first);
		is_first = false;
	} while (follow && result == 0 && !ferror(stdout));
	cli->arena = outer;
	return result;
}

static const struct command_option options[] = {
        {"follow", NULL, "print a line every second until Ctrl-C", .letter = 'f'},
        {0},
};

const struct cli_command command_stats = {
        .name = "stats",
        .usage = "[--follow] SANDBOX",
        .about = "show the resource use of a sandbox",
        .options = options,
        .arguments_min = 1,
        .arguments_max = 1,
        .completion = COMPLETE_SANDBOX,
        .run = run_stats,
};

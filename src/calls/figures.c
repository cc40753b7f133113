/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/figures.h"

#include "fleet/usage/figures.h"

struct figure_answer {
	const char *sandbox, *state;
	int64_t sampled_at, uptime_ms, cpu_usage_us, memory_bytes, memory_limit_bytes;
	int64_t disk_bytes, disk_limit_bytes, pids, pids_limit;
	int64_t network_in_bytes, network_out_bytes, oom_kills;
	double cpu_percent;
};
static const struct json_member figure_shape_members[] = {
        JSON_TEXT_MEMBER(figure_answer, sandbox, .about = "its id"),
        JSON_TEXT_MEMBER(figure_answer, state, .about = "started or paused"),
        JSON_TIME_MEMBER(figure_answer, sampled_at),
        JSON_WHOLE_MEMBER(figure_answer, uptime_ms),
        JSON_WHOLE_MEMBER(figure_answer, cpu_usage_us, .about = "since the start of the sandbox"),
        JSON_NUMBER_MEMBER(figure_answer, cpu_percent,
                           .about = "percent of one vCPU since the sample before, which may be of "
                                    "another client; the first sample counts from the start"),
        JSON_WHOLE_MEMBER(figure_answer, memory_bytes),
        JSON_WHOLE_MEMBER(figure_answer, memory_limit_bytes),
        JSON_WHOLE_MEMBER(figure_answer, disk_bytes,
                          .about = "size of the files on top of the template; -1: unknown"),
        JSON_WHOLE_MEMBER(figure_answer, disk_limit_bytes),
        JSON_WHOLE_MEMBER(figure_answer, pids),
        JSON_WHOLE_MEMBER(figure_answer, pids_limit),
        JSON_WHOLE_MEMBER(figure_answer, network_in_bytes),
        JSON_WHOLE_MEMBER(figure_answer, network_out_bytes),
        JSON_WHOLE_MEMBER(figure_answer, oom_kills),
};
JSON_SHAPE(figure_shape, "SandboxFigures", figure_answer,
           "Current resource usage of one of several sandboxes");

/* -1 stands for what the provider does not know, and for what JSON cannot hold. */
static int64_t known_or_minus_one(uint64_t value)
{
	return value > INT64_MAX ? -1 : (int64_t)value;
}

static struct figure_answer make_figure_answer(const struct fleet_figure *f)
{
	const struct provider_stats *s = &f->stats;

	return (struct figure_answer){
	        .sandbox = f->id,
	        .state = sandbox_state_name(f->state),
	        .sampled_at = s->sampled_unix_ms,
	        .uptime_ms = s->uptime_ms,
	        .cpu_usage_us = known_or_minus_one(s->cpu_usage_us),
	        .cpu_percent = f->cpu_percent,
	        .memory_bytes = known_or_minus_one(s->memory_bytes),
	        .memory_limit_bytes = known_or_minus_one(s->memory_limit_bytes),
	        .disk_bytes = known_or_minus_one(s->disk_bytes),
	        .disk_limit_bytes = known_or_minus_one(s->disk_limit_bytes),
	        .pids = known_or_minus_one(s->pids),
	        .pids_limit = known_or_minus_one(s->pids_limit),
	        .network_in_bytes = known_or_minus_one(s->network_in_bytes),
	        .network_out_bytes = known_or_minus_one(s->network_out_bytes),
	        .oom_kills = known_or_minus_one(s->oom_kills),
	};
}

struct json_list make_figures_answer(struct arena *a, const struct fleet_figures *figures)
{
	struct figure_answer *items = ARENA_ARRAY(a, struct figure_answer, figures->count + 1);

	for (size_t i = 0; i < figures->count; i++)
		items[i] = make_figure_answer(&figures->items[i]);
	return (struct json_list){items, figures->count, .present = true};
}

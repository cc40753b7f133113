/* SPDX-License-Identifier: Apache-2.0 */
/* /health, /envs and /metrics of a sandbox. */
#include <string.h>
#include <time.h>

#include "edge/api.h"
#include "edge/target.h"
#include "fleet/core/sandboxes.h"
#include "json/write.h"
#include "provider/provider.h"
#include "store/sandbox_record.h"
#include "surface/envd/envd.h"

static bool is_reachable(const struct sandbox_record *r)
{
	return r->actual == SANDBOX_STARTED ||
	       sandbox_is_asleep(r->actual, r->reason, (unsigned)r->traits);
}

/* Does not wake the sandbox: a sleeping sandbox that its next use wakes counts as healthy. */
static int get_health(struct request *rq, UNUSED const void *body, struct reply *reply,
                      struct error *err)
{
	struct envd_address address;
	struct fleet_ref ref = {.project_id = NULL};
	struct sandbox_record r;

	if (envd_address_find(rq, &address, err) < 0 || request_may_block(rq, err) < 0)
		return -1;
	ref.id_or_name = address.id;
	if (address.id[0] && fleet_find(api_of(rq)->fleet, rq->arena, &ref, &r, err) < 0 &&
	    err->code != ERROR_NOT_FOUND)
		return -1;
	if (!address.id[0])
		envd_reply_gone(reply, request_header(rq, "E2b-Sandbox-Id"));
	else if (err->code == ERROR_NOT_FOUND || !is_reachable(&r))
		envd_reply_gone(reply, address.id);
	else
		reply_status(reply, 204);
	return 0;
}

static int answer_envs(UNUSED struct request *rq, struct reply *reply, struct api_target *t,
                       UNUSED const void *body, UNUSED struct error *err)
{
	envd_write_pairs(reply_buf(reply, "application/json"), NULL, t->env);
	return 0;
}

static int get_envs(struct request *rq, UNUSED const void *body, struct reply *reply,
                    struct error *err)
{
	return envd_call_run(rq, reply, &(struct envd_call){envd_target_open, answer_envs}, err);
}

#define SAMPLE_MS 100

static double cpu_percent(const struct provider_stats *a, const struct provider_stats *b)
{
	int64_t took_ms = b->sampled_unix_ms - a->sampled_unix_ms;

	if (took_ms <= 0 || b->cpu_usage_us < a->cpu_usage_us)
		return 0;
	return (double)(b->cpu_usage_us - a->cpu_usage_us) / (double)(took_ms * 1000) * 100;
}

static void write_metrics(struct buf *out, const struct sandbox_record *r,
                          const struct provider_stats *s, double percent)
{
	uint64_t disk = s->disk_bytes == UINT64_MAX ? 0 : s->disk_bytes;

	json_begin_object(out, NULL);
	json_add_whole(out, "ts", s->sampled_unix_ms / 1000);
	json_add_whole(out, "cpu_count",
	               r->resources.cpu > 1 ? (int64_t)(r->resources.cpu + 0.5) : 1);
	json_add_name(out, "cpu_used_pct");
	buf_addf(out, "%.2f", percent);
	json_add_whole(out, "mem_total", (int64_t)s->memory_limit_bytes);
	json_add_whole(out, "mem_used", (int64_t)s->memory_bytes);
	json_add_whole(out, "mem_cache", 0);
	json_add_whole(out, "mem_total_mib", (int64_t)(s->memory_limit_bytes >> 20));
	json_add_whole(out, "mem_used_mib", (int64_t)(s->memory_bytes >> 20));
	json_add_whole(out, "disk_used", (int64_t)disk);
	json_add_whole(out, "disk_total", (int64_t)s->disk_limit_bytes);
	json_end_object(out);
}

/* The CPU usage is the difference of two samples. */
static int answer_metrics(struct request *rq, struct reply *reply, struct api_target *t,
                          UNUSED const void *body, struct error *err)
{
	const struct timespec pause = {.tv_nsec = SAMPLE_MS * 1000000L};
	struct provider_stats first, second;

	if (fleet_stats(api_of(rq)->fleet, t->record, &first, err) < 0)
		return -1;
	(void)nanosleep(&pause, NULL);
	if (fleet_stats(api_of(rq)->fleet, t->record, &second, err) < 0)
		return -1;
	write_metrics(reply_buf(reply, "application/json"), t->record, &second,
	              cpu_percent(&first, &second));
	return 0;
}

static int get_metrics(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	return envd_call_run(rq, reply, &(struct envd_call){envd_target_open, answer_metrics}, err);
}

#define ROW(path_, handle_)                                                                        \
	{                                                                                          \
		.method = HTTP_GET, .path = (path_),                                               \
		.flags = ROUTE_PUBLIC | ROUTE_RAW_BODY | ROUTE_HIDDEN, .handle = (handle_),        \
		.tag = ENVD_TAG, .summary = "The state of a sandbox"                               \
	}
const struct route envd_state_routes[] = {
        ROW("/health", get_health),
        ROW("/envs", get_envs),
        {.method = HTTP_GET,
         .path = "/metrics",
         .flags = ROUTE_PUBLIC | ROUTE_RAW_BODY | ROUTE_HIDDEN | ROUTE_SLOW,
         .handle = get_metrics,
         .tag = ENVD_TAG,
         .summary = "The resources that a sandbox uses"},
        {.path = NULL},
};

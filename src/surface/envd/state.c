/* SPDX-License-Identifier: Apache-2.0 */
/* /health, /envs and /metrics of a sandbox. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "fleet/access.h"
#include "surface/envd/envd.h"

/* ---- /health ---- */

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

/* ---- /envs ---- */

static int get_envs(struct request *rq, UNUSED const void *body, struct reply *reply,
                    struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = {.fleet = NULL}};
	int opened = envd_target_open(rq, reply, &t, err);

	if (opened != 0)
		return opened < 0 ? -1 : 0;
	envd_write_pairs(reply_buf(reply, "application/json"), t.defaults.env);
	return 0;
}

/* ---- /metrics ---- */

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

	buf_addf(out,
	         "{\"ts\":%" PRId64 ",\"cpu_count\":%d,\"cpu_used_pct\":%.2f,\"mem_total\":%" PRIu64
	         ",\"mem_used\":%" PRIu64 ",\"mem_cache\":0,\"mem_total_mib\":%" PRIu64
	         ",\"mem_used_mib\":%" PRIu64 ",\"disk_used\":%" PRIu64 ",\"disk_total\":%" PRIu64
	         "}",
	         s->sampled_unix_ms / 1000,
	         r->resources.cpu > 1 ? (int)(r->resources.cpu + 0.5) : 1, percent,
	         s->memory_limit_bytes, s->memory_bytes, s->memory_limit_bytes >> 20,
	         s->memory_bytes >> 20, disk, s->disk_limit_bytes);
}

/* The CPU usage is the difference of two samples. */
static int get_metrics(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = {.fleet = NULL}};
	const struct timespec pause = {.tv_nsec = SAMPLE_MS * 1000000L};
	struct provider_stats first, second;
	int opened = envd_target_open(rq, reply, &t, err);

	if (opened != 0)
		return opened < 0 ? -1 : 0;
	if (fleet_stats(api_of(rq)->fleet, &t.record, &first, err) < 0)
		return -1;
	(void)nanosleep(&pause, NULL);
	if (fleet_stats(api_of(rq)->fleet, &t.record, &second, err) < 0)
		return -1;
	write_metrics(reply_buf(reply, "application/json"), &t.record, &second,
	              cpu_percent(&first, &second));
	return 0;
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

/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/operator/metrics.h"

#include <inttypes.h>

#include "calls/receiver.h"
#include "edge/api.h"
#include "edge/meter.h"
#include "fleet/core/waiting.h"
#include "fleet/core/work_lane.h"
#include "fleet/recovery/trash.h"
#include "fleet/server/fleet.h"
#include "fleet/template/pools.h"
#include "http/server/parked.h"
#include "http/server/shares.h"
#include "provider/agent_health.h"
#include "provider/broker_load.h"
#include "provider/disk.h"
#include "provider/provider.h"
#include "surface/operator/metrics_parts.h"

#define POOLS_SHOWN 256
#if defined(__x86_64__)
#define BUILD_ARCH "amd64"
#elif defined(__aarch64__)
#define BUILD_ARCH "arm64"
#else
#define BUILD_ARCH "other"
#endif

void metric_write(struct buf *out, const char *name, const char *type, const char *help,
                  uint64_t value)
{
	buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n%s %" PRIu64 "\n", name, help, name, type, name,
	         value);
}

void metric_write_seconds(struct buf *out, const char *name, const char *type, const char *help,
                          uint64_t us)
{
	buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n%s %.6f\n", name, help, name, type, name,
	         (double)us / 1e6);
}

static void write_counter(struct buf *out, const char *name, const char *help, uint64_t value)
{
	metric_write(out, name, "counter", help, value);
}

static void write_gauge(struct buf *out, const char *name, const char *help, uint64_t value)
{
	metric_write(out, name, "gauge", help, value);
}

static void write_http(struct buf *out, const struct server_counts *c)
{
	write_gauge(out, "atoll_http_connections", "Open connections.", c->connections_open);
	write_counter(out, "atoll_http_connections_total", "Connections accepted.",
	              c->connections_total);
	write_counter(out, "atoll_http_connections_closed_idle_total",
	              "Idle connections closed to accept new ones.", c->closed_idle);
	buf_addf(out,
	         "# HELP atoll_http_connections_refused_total Connections refused, by the full "
	         "table or by the bound of their project.\n"
	         "# TYPE atoll_http_connections_refused_total counter\n"
	         "atoll_http_connections_refused_total{by=\"server\"} %" PRIu64 "\n"
	         "atoll_http_connections_refused_total{by=\"project\"} %" PRIu64 "\n",
	         c->refused_by_table, c->refused_by_project);
	write_counter(out, "atoll_http_requests_total", "Requests started.", c->requests_total);
	write_gauge(out, "atoll_http_streams", "Open streams.", c->relays_open);
	write_counter(out, "atoll_http_received_bytes_total", "Bytes from clients.", c->bytes_in);
	write_counter(out, "atoll_http_sent_bytes_total", "Bytes to clients.", c->bytes_out);
	buf_add_text(out, "# HELP atoll_http_responses_total Replies by class of status.\n"
	                  "# TYPE atoll_http_responses_total counter\n");
	for (unsigned i = 1; i < COUNT_OF(c->responses); i++)
		buf_addf(out, "atoll_http_responses_total{class=\"%uxx\"} %" PRIu64 "\n", i,
		         c->responses[i]);
}

static void write_fleet(struct buf *out, const struct fleet_counts *c)
{
	buf_add_text(out, "# HELP atoll_sandboxes Sandboxes by state.\n"
	                  "# TYPE atoll_sandboxes gauge\n");
	for (unsigned i = 0; i < SANDBOX_STATE_COUNT; i++)
		buf_addf(out, "atoll_sandboxes{state=\"%s\"} %" PRIu64 "\n",
		         sandbox_state_name((enum sandbox_state)i), c->by_state[i]);
	write_counter(out, "atoll_sandboxes_created_total", "Sandboxes made.", c->created);
	write_counter(out, "atoll_sandboxes_create_failed_total", "Creates that failed.",
	              c->create_failed);
	write_counter(out, "atoll_sandboxes_deleted_total", "Sandboxes deleted.", c->deleted);
	metric_write_seconds(out, "atoll_sandboxes_create_seconds_total", "counter",
	                     "Time spent making sandboxes.", c->create_us_total);
	write_counter(out, "atoll_sandbox_calls_total", "Calls into sandboxes.", c->execs);
	write_counter(out, "atoll_ephemeral_sandboxes_total", "Sandboxes made for one call.",
	              c->ephemeral);
	write_gauge(out, "atoll_ephemeral_sandboxes_ending",
	            "Sandboxes of ended calls that are being deleted.", c->ephemeral_ending);
	write_gauge(out, "atoll_sandbox_holds", "Running calls into sandboxes.", c->held);
}

static void write_refusals(struct buf *out, const struct worker_load *load, unsigned lane)
{
	const char *name = worker_lane_name(lane);

	buf_addf(out, "atoll_workers_refused_total{lane=\"%s\",by=\"lane\"} %" PRIu64 "\n", name,
	         load->refused[lane]);
	for (unsigned kind = 0; kind < WORKER_SHARES; kind++)
		buf_addf(out, "atoll_workers_refused_total{lane=\"%s\",by=\"%s\"} %" PRIu64 "\n",
		         name, worker_share_name(kind), load->refused_by[lane][kind]);
	buf_addf(out, "atoll_workers_refused_total{lane=\"%s\",by=\"time\"} %" PRIu64 "\n", name,
	         load->expired[lane]);
}

static void write_trash(struct buf *out, const struct fleet_trash_counts *c)
{
	write_counter(
	        out, "atoll_orphans_trashed_total",
	        "Sandboxes and snapshots without a row in the store that were moved to the trash.",
	        c->orphans);
	write_gauge(out, "atoll_orphans_held",
	            "Orphans that were not removed because there were too many.", c->held);
	write_gauge(out, "atoll_trash_entries", "Entries of the trash.", c->entries);
	write_gauge(out, "atoll_trash_bytes", "Bytes in the trash.", c->bytes);
}

static void write_clock(struct buf *out, struct fleet_clock c)
{
	write_counter(out, "atoll_clock_jumps_total", "Times that the machine's clock was set.",
	              c.jumps);
	write_gauge(out, "atoll_clock_hold_seconds",
	            "Remaining time without expiry of stored items after the clock jumped forward.",
	            c.held_s);
}

static void write_workers(struct buf *out, const struct worker_load *load)
{
	write_gauge(out, "atoll_agents_unresponsive", "Sandboxes whose agent does not answer.",
	            agent_health_count());
	write_gauge(out, "atoll_worker_threads", "Worker threads.", load->threads);
	buf_add_text(out, "# HELP atoll_workers Tasks by lane.\n# TYPE atoll_workers gauge\n");
	for (unsigned i = 0; i < WORKER_LANES; i++)
		buf_addf(out,
		         "atoll_workers{lane=\"%s\",state=\"running\"} %u\n"
		         "atoll_workers{lane=\"%s\",state=\"waiting\"} %u\n",
		         worker_lane_name(i), load->running[i], worker_lane_name(i),
		         load->waiting[i]);
	buf_add_text(out, "# HELP atoll_workers_longest_wait_seconds Age of the oldest waiting "
	                  "task.\n# TYPE atoll_workers_longest_wait_seconds gauge\n");
	for (unsigned i = 0; i < WORKER_LANES; i++)
		buf_addf(out, "atoll_workers_longest_wait_seconds{lane=\"%s\"} %.3f\n",
		         worker_lane_name(i), (double)load->longest_wait_ms[i] / 1000);
	buf_add_text(
	        out,
	        "# HELP atoll_workers_refused_total Tasks refused because a lane or share was full "
	        "or the task waited too long.\n# TYPE atoll_workers_refused_total counter\n");
	for (unsigned i = 0; i < WORKER_LANES; i++)
		write_refusals(out, load, i);
}

static void write_long_calls(struct buf *out, struct worker_pool *waiters)
{
	struct worker_load load = worker_load_get(waiters);
	unsigned running = 0, waiting = 0;

	for (unsigned i = 0; i < WORKER_LANES; i++) {
		running += load.running[i];
		waiting += load.waiting[i];
	}
	buf_addf(out,
	         "# HELP atoll_long_calls Tool calls and other calls that may take minutes.\n# "
	         "TYPE atoll_long_calls gauge\natoll_long_calls{state=\"running\"} "
	         "%u\natoll_long_calls{state=\"waiting\"} %u\n",
	         running, waiting);
}

static void write_key_queues(struct buf *out, const struct queue_counts *turns)
{
	write_gauge(out, "atoll_requests_waiting",
	            "Requests queued behind other requests of their key.", turns->waiting);
	buf_addf(out,
	         "# HELP atoll_requests_longest_wait_seconds Wait of the oldest queued request.\n# "
	         "TYPE atoll_requests_longest_wait_seconds "
	         "gauge\natoll_requests_longest_wait_seconds %.3f\n# HELP "
	         "atoll_requests_turned_away_total Queued requests that ended before they ran.\n# "
	         "TYPE atoll_requests_turned_away_total "
	         "counter\natoll_requests_turned_away_total{by=\"queue\"} %" PRIu64 "\n"
	         "atoll_requests_turned_away_total{by=\"time\"} %" PRIu64 "\n"
	         "atoll_requests_turned_away_total{by=\"client\"} %" PRIu64 "\n",
	         (double)turns->longest_ms / 1000, turns->refused_full, turns->refused_late,
	         turns->left);
}

static uint64_t pool_ready(const struct fleet_pool_count *c)
{
	return c->ready;
}

static uint64_t pool_target(const struct fleet_pool_count *c)
{
	return c->target;
}

static uint64_t pool_hits(const struct fleet_pool_count *c)
{
	return c->hits;
}

static uint64_t pool_misses(const struct fleet_pool_count *c)
{
	return c->misses;
}

static uint64_t pool_is_failing(const struct fleet_pool_count *c)
{
	return c->is_failing;
}

/* One template can have several automatic pools, but a metric may have each label only once: the
 * values of automatic pools are added up. */
static void write_pools(struct buf *out, const struct fleet_pool_count *pools, size_t count)
{
	static const struct {
		const char *name, *help, *type;
		uint64_t (*value)(const struct fleet_pool_count *c);
	} rows[] = {
	        {"atoll_pool_ready", "Prepared sandboxes.", "gauge", pool_ready},
	        {"atoll_pool_target", "Target number of prepared sandboxes.", "gauge", pool_target},
	        {"atoll_pool_hits_total", "Creates that got a prepared sandbox.", "counter",
	         pool_hits},
	        {"atoll_pool_misses_total", "Creates that found the pool empty.", "counter",
	         pool_misses},
	        {"atoll_pool_failing", "1: the pool cannot be filled; see its problem.", "gauge",
	         pool_is_failing},
	};

	for (size_t r = 0; r < COUNT_OF(rows); r++) {
		uint64_t automatic = 0;

		buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", rows[r].name, rows[r].help,
		         rows[r].name, rows[r].type);
		for (size_t i = 0; i < count; i++) {
			if (pools[i].is_automatic)
				automatic += rows[r].value(&pools[i]);
			else
				buf_addf(out, "%s{template=\"%s\"} %" PRIu64 "\n", rows[r].name,
				         pools[i].template, rows[r].value(&pools[i]));
		}
		buf_addf(out, "%s{template=\"\"} %" PRIu64 "\n", rows[r].name, automatic);
	}
}

/* Only pools with creates have a ratio: no creates are not the same as no hits. */
static void write_hit_ratios(struct buf *out, const struct fleet_pool_count *pools, size_t count)
{
	static const char name[] = "atoll_pool_hit_ratio";
	uint64_t hits = 0, misses = 0;

	buf_addf(out,
	         "# HELP %s Fraction of creates since the broker's start that got a prepared "
	         "sandbox.\n# TYPE %s gauge\n",
	         name, name);
	for (size_t i = 0; i < count; i++) {
		const struct fleet_pool_count *c = &pools[i];

		if (c->is_automatic) {
			hits += c->hits;
			misses += c->misses;
		} else if (c->hits + c->misses > 0) {
			buf_addf(out, "%s{template=\"%s\"} %.6f\n", name, c->template,
			         fleet_pool_hit_ratio(c->hits, c->misses));
		}
	}
	if (hits + misses > 0)
		buf_addf(out, "%s{template=\"\"} %.6f\n", name, fleet_pool_hit_ratio(hits, misses));
}

static void write_disk(struct buf *out)
{
	const struct disk_report d = disk_report_get();

	if (!*d.enforcement)
		return;
	buf_addf(out,
	         "# HELP atoll_disk_enforcement How disk limits of sandboxes are enforced.\n# TYPE "
	         "atoll_disk_enforcement gauge\natoll_disk_enforcement{by=\"%s\"} 1\n",
	         d.enforcement);
	write_gauge(out, "atoll_disk_watched",
	            "Sandboxes whose disk limit is watched, not enforced.", d.watched);
	write_gauge(out, "atoll_disk_over", "Watched sandboxes over their disk limit.", d.over);
	write_counter(out, "atoll_disk_pauses_total",
	              "Sandboxes paused because they exceeded their disk limit.", d.paused_total);
	write_counter(out, "atoll_disk_counts_total", "Measurements of a sandbox's files.",
	              d.counts_total);
	metric_write_seconds(out, "atoll_disk_counting_seconds_total", "counter",
	                     "Time of these measurements.", d.counting_us_total);
}

static void write_queues(struct buf *out, const struct api *api)
{
	struct parked_counts parked = parked_counts_get(api->server);
	struct work_lane_load work = work_lane_load_get(fleet_work(api->fleet));
	struct work_lane_load backups = work_lane_load_get(fleet_backup_work(api->fleet));
	struct receiver_counts uploads = receiver_counts_get(api->receiver);
	const struct {
		const char *name, *type, *help;
		uint64_t value;
	} rows[] = {
	        {"atoll_requests_parked", "gauge", "Requests that wait without a thread.",
	         parked.parked},
	        {"atoll_requests_abandoned_total", "counter", "Parked requests whose clients left.",
	         parked.abandoned},
	        {"atoll_replies_undone_total", "counter",
	         "Creates undone because the client left before the reply.", parked.undone},
	        {"atoll_broker_calls_waiting", "gauge", "Calls that wait for the broker's answer.",
	         broker_load_get()},
	        {"atoll_builds_running", "gauge", "Running builds and imports.", work.running},
	        {"atoll_builds_waiting", "gauge", "Waiting builds and imports.", work.waiting},
	        {"atoll_backups_running", "gauge", "Running backups and archives.",
	         backups.running},
	        {"atoll_backups_waiting", "gauge", "Waiting backups and archives.",
	         backups.waiting},
	        {"atoll_uploads", "gauge", "Uploads in progress.", uploads.uploads},
	        {"atoll_uploads_refused_total", "counter",
	         "Uploads refused for uploads_max or uploads_per_project_max.", uploads.refused},
	        {"atoll_uploads_given_up_total", "counter",
	         "Uploads ended for upload_idle or upload_rate_min.", uploads.given_up},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		metric_write(out, rows[i].name, rows[i].type, rows[i].help, rows[i].value);
}

static void write_info(struct buf *out, const struct api *api)
{
	buf_addf(out,
	         "# HELP atoll_info About this server.\n# TYPE atoll_info gauge\n"
	         "atoll_info{version=\"%s\",provider=\"%s\"} 1\n"
	         "# HELP atoll_build_info How this program was built.\n"
	         "# TYPE atoll_build_info gauge\n"
	         "atoll_build_info{version=\"%s\",compiler=\"%s\",arch=\"%s\"} 1\n",
	         ATOLL_VERSION, provider_ops_of(api->provider)->name, ATOLL_VERSION,
	         "C " __VERSION__, BUILD_ARCH);
	metric_write_seconds(out, "process_start_time_seconds", "gauge",
	                     "Unix time of the start of this process.",
	                     (uint64_t)api->started_at * 1000);
}

void metrics_write(struct buf *out, struct api *api)
{
	struct server_counts http = server_counts_get(api->server);
	struct fleet_counts fleet = fleet_counts_get(api->fleet);
	struct worker_load load = worker_load_get(api->workers);
	struct queue_counts turns = server_queue_counts(api->server);
	struct fleet_pool_count pools[POOLS_SHOWN];
	const struct fleet_trash_counts trash = fleet_trash_counts_get(api->fleet);
	size_t pool_count;

	write_info(out, api);
	write_http(out, &http);
	write_fleet(out, &fleet);
	providers_write_metrics(out, api);
	write_trash(out, &trash);
	write_clock(out, fleet_clock_get(api->fleet));
	write_disk(out);
	write_workers(out, &load);
	write_key_queues(out, &turns);
	decisions_write_metrics(out, api);
	metrics_write_activity(out, api->activity);
	metrics_write_audit(out, api->audit);
	api_meter_write_access(api, out);
	if (api->waiters)
		write_long_calls(out, api->waiters);
	write_queues(out, api);
	pool_count = fleet_pool_counts(api->fleet, pools, COUNT_OF(pools));
	write_pools(out, pools, pool_count);
	write_hit_ratios(out, pools, pool_count);
	api_meter_write(api->meter, out);
	metrics_write_otlp(out, api->otlp);
}

int metrics_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	(void)body;
	(void)err;
	metrics_write(reply_buf(reply, "text/plain; version=0.0.4; charset=utf-8"), api_of(rq));
	return 0;
}

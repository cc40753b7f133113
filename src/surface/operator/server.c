/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/server: version, readiness, nodes, effective configuration and a summary of the metrics.
 * A worker asks the store; the loop thread, which owns the counts of connections, answers. */
#include "surface/operator/server.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "config/config.h"
#include "config/option.h"
#include "edge/api.h"
#include "edge/meter.h"
#include "fleet/core/peers.h"
#include "fleet/server/ready.h"
#include "fleet/template/pools.h"
#include "http/server/relay.h"
#include "http/server/shares.h"
#include "json/json.h"
#include "provider/broker_load.h"
#include "provider/provider.h"

#define ANSWER_MAX (1024 * 1024)
#define OPTION_TEXT_MAX (256 * 1024)
#define POOLS_SUMMED 256

struct node_answer {
	const char *node, *url, *state;
	int64_t seen_at, heartbeat_age_ms;
	bool self;
};
static const struct json_member node_shape_members[] = {
        JSON_TEXT_MEMBER(node_answer, node, .about = "name of the server"),
        JSON_TEXT_MEMBER(node_answer, url, .flags = JSON_NULLABLE,
                         .about = "address for its peers (--peer-url)"),
        JSON_TEXT_MEMBER(node_answer, state, .about = "up, silent or stopped"),
        JSON_TIME_MEMBER(node_answer, seen_at, .flags = JSON_NULLABLE,
                         .about = "its last heartbeat"),
        JSON_WHOLE_MEMBER(node_answer, heartbeat_age_ms, .about = "-1: it has stopped"),
        JSON_BOOL_MEMBER(node_answer, self, .about = "the server that answers"),
};
static JSON_SHAPE(node_shape, "ServerNode", node_answer, "A server of this store");

struct option_answer {
	const char *name, *value, *initial, *source, *about;
	bool needs_restart;
};
static const struct json_member option_shape_members[] = {
        JSON_TEXT_MEMBER(option_answer, name),
        JSON_TEXT_MEMBER(option_answer, value, .about = "**** stands for a secret"),
        JSON_TEXT_MEMBER(option_answer, initial, .name = "default"),
        JSON_TEXT_MEMBER(option_answer, source, .about = "default, file, env or flag"),
        JSON_TEXT_MEMBER(option_answer, about, .name = "description"),
        JSON_BOOL_MEMBER(option_answer, needs_restart,
                         .about = "a change applies when the server has restarted"),
};
static JSON_SHAPE(option_shape, "ServerOption", option_answer, "An option of the server");

struct timing_answer {
	int64_t count, failures;
	double mean_ms, p50_ms, p99_ms;
};
static const struct json_member timing_shape_members[] = {
        JSON_WHOLE_MEMBER(timing_answer, count, .about = "since the start"),
        JSON_WHOLE_MEMBER(timing_answer, failures),
        JSON_NUMBER_MEMBER(timing_answer, mean_ms),
        JSON_NUMBER_MEMBER(timing_answer, p50_ms, .about = "upper bound of the median's bucket"),
        JSON_NUMBER_MEMBER(timing_answer, p99_ms),
};
static JSON_SHAPE(timing_shape, "ServerTiming", timing_answer, "Durations since the start");

struct lane_answer {
	const char *lane;
	int64_t running, waiting, longest_wait_ms, refused;
};
static const struct json_member lane_shape_members[] = {
        JSON_TEXT_MEMBER(lane_answer, lane),
        JSON_WHOLE_MEMBER(lane_answer, running),
        JSON_WHOLE_MEMBER(lane_answer, waiting),
        JSON_WHOLE_MEMBER(lane_answer, longest_wait_ms),
        JSON_WHOLE_MEMBER(lane_answer, refused, .about = "since the start"),
};
static JSON_SHAPE(lane_shape, "ServerLane", lane_answer, "The queue of one kind of work");

struct metrics_answer {
	int64_t connections, streams, requests_waiting, bytes_in, bytes_out;
	int64_t responses_2xx, responses_3xx, responses_4xx, responses_5xx;
	int64_t pool_hits, pool_misses, pool_ready, pool_target, broker_calls_waiting;
	struct timing_answer requests, store;
	struct json_list lanes;
};
static const struct json_member metrics_shape_members[] = {
        JSON_WHOLE_MEMBER(metrics_answer, connections, .about = "open now"),
        JSON_WHOLE_MEMBER(metrics_answer, streams, .about = "open now"),
        JSON_WHOLE_MEMBER(metrics_answer, requests_waiting,
                          .about = "behind other requests of their key"),
        JSON_WHOLE_MEMBER(metrics_answer, bytes_in,
                          .about = "since the start, as all counts below"),
        JSON_WHOLE_MEMBER(metrics_answer, bytes_out),
        JSON_WHOLE_MEMBER(metrics_answer, responses_2xx),
        JSON_WHOLE_MEMBER(metrics_answer, responses_3xx),
        JSON_WHOLE_MEMBER(metrics_answer, responses_4xx),
        JSON_WHOLE_MEMBER(metrics_answer, responses_5xx),
        JSON_WHOLE_MEMBER(metrics_answer, pool_hits,
                          .about = "creates that got a prepared sandbox"),
        JSON_WHOLE_MEMBER(metrics_answer, pool_misses),
        JSON_WHOLE_MEMBER(metrics_answer, pool_ready, .about = "prepared sandboxes now"),
        JSON_WHOLE_MEMBER(metrics_answer, pool_target),
        JSON_WHOLE_MEMBER(metrics_answer, broker_calls_waiting,
                          .about = "calls that wait for the broker's answer now"),
        JSON_OBJECT_MEMBER(metrics_answer, requests, &timing_shape),
        JSON_OBJECT_MEMBER(metrics_answer, store, &timing_shape,
                           .about = "calls that measure the store"),
        JSON_LIST_MEMBER(metrics_answer, lanes, &lane_shape),
};
static JSON_SHAPE(metrics_shape, "ServerMetrics", metrics_answer,
                  "A summary of /metrics, of the server that answers");

struct about_answer {
	const char *version, *build, *provider, *node, *readiness, *reason, *cure;
	int64_t started_at, uptime_ms, checked_at;
	struct json_list nodes, options;
	struct metrics_answer metrics;
};
static const struct json_member server_shape_members[] = {
        JSON_TEXT_MEMBER(about_answer, version),
        JSON_TEXT_MEMBER(about_answer, build, .about = "compiler, machine and kind of build"),
        JSON_TEXT_MEMBER(about_answer, provider),
        JSON_TEXT_MEMBER(about_answer, node, .about = "name of the server that answers"),
        JSON_TIME_MEMBER(about_answer, started_at),
        JSON_WHOLE_MEMBER(about_answer, uptime_ms),
        JSON_TEXT_MEMBER(about_answer, readiness,
                         .about = "ready, not_ready, draining, or unknown before the first check; "
                                  "/readyz makes a check"),
        JSON_TIME_MEMBER(about_answer, checked_at, .flags = JSON_NULLABLE,
                         .about = "time of the last readiness check"),
        JSON_TEXT_MEMBER(about_answer, reason, .flags = JSON_NULLABLE,
                         .about = "why it is not ready"),
        JSON_TEXT_MEMBER(about_answer, cure, .flags = JSON_NULLABLE),
        JSON_LIST_MEMBER(about_answer, nodes, &node_shape),
        JSON_LIST_MEMBER(about_answer, options, &option_shape, .name = "configuration",
                         .about = "all options with their effective values"),
        JSON_OBJECT_MEMBER(about_answer, metrics, &metrics_shape),
};
JSON_SHAPE(server_shape, "Server", about_answer,
           "The server that answers, its peers, configuration and metrics");

#if defined(__x86_64__)
#define MACHINE "x86_64"
#elif defined(__aarch64__)
#define MACHINE "aarch64"
#else
#define MACHINE "unknown machine"
#endif
#ifdef __OPTIMIZE__
#define BUILD "compiler " __VERSION__ ", " MACHINE ", optimized"
#else
#define BUILD "compiler " __VERSION__ ", " MACHINE ", not optimized"
#endif

/* An answer that waits for the loop thread. */
struct about_wait {
	struct arena arena;
	struct api *api;
	struct about_answer answer;
};

static struct json_list describe_nodes(struct arena *a, const struct fleet_node_list *nodes)
{
	static const char *const states[FLEET_NODE_STATE_COUNT] = {"up", "silent", "stopped"};
	struct node_answer *answers = ARENA_ARRAY(a, struct node_answer, nodes->count + 1);
	int64_t now = clock_unix_ms();

	for (size_t i = 0; i < nodes->count; i++) {
		const struct fleet_node_info *n = &nodes->items[i];

		answers[i] = (struct node_answer){
		        .node = n->node,
		        .url = n->url[0] ? n->url : NULL,
		        .state = states[n->state],
		        .seen_at = n->seen_at,
		        .heartbeat_age_ms = n->seen_at == 0    ? -1
		                            : now > n->seen_at ? now - n->seen_at
		                                               : 0,
		        .self = n->is_self,
		};
	}
	return (struct json_list){answers, nodes->count, .present = true};
}

static struct json_list describe_options(struct arena *a, const struct config *config)
{
	struct option_answer *answers;
	size_t count = 0;

	while (config_options[count].name)
		count++;
	answers = ARENA_ARRAY(a, struct option_answer, count + 1);
	for (size_t i = 0; i < count; i++) {
		const struct config_option *o = &config_options[i];
		AUTO(buf_done) struct buf value = BUF(OPTION_TEXT_MAX);

		/* The api process may reach the data folder by another path. */
		if (config->data_place && strcmp(o->name, "data") == 0)
			buf_add_text(&value, config->data_place);
		else
			config_print_value(&value, o, config);
		answers[i] = (struct option_answer){
		        .name = o->name,
		        .value = arena_copy(a, buf_span(&value)),
		        .initial = o->initial,
		        .source = config_origin_name(config_origin_of(config, o)),
		        .about = o->about,
		        .needs_restart = true, /* options are read once, at the start */
		};
	}
	return (struct json_list){answers, count, .present = true};
}

static void describe_readiness(const struct api *api, struct arena *a, struct about_answer *answer)
{
	struct ready_result result;
	const struct ready_check *bad;

	answer->readiness = api->is_draining ? "draining" : "unknown";
	if (api->is_draining || !ready_last(api->fleet, &result))
		return;
	bad = ready_failure(&result);
	answer->readiness = bad ? "not_ready" : "ready";
	answer->checked_at = result.at_unix_ms;
	answer->reason = bad ? arena_text(a, bad->reason) : NULL;
	answer->cure = bad ? arena_text(a, bad->cure) : NULL;
}

static struct timing_answer describe_timing(const struct timing_sum *sum, uint64_t failures)
{
	return (struct timing_answer){
	        .count = (int64_t)sum->count,
	        .failures = (int64_t)failures,
	        .mean_ms = sum->count ? (double)sum->total_us / (double)sum->count / 1000 : 0,
	        .p50_ms = (double)sum->p50_us / 1000,
	        .p99_ms = (double)sum->p99_us / 1000,
	};
}

static struct json_list describe_lanes(struct arena *a, const struct worker_load *load)
{
	struct lane_answer *answers = ARENA_ARRAY(a, struct lane_answer, WORKER_LANES);

	for (unsigned i = 0; i < WORKER_LANES; i++) {
		uint64_t refused = load->refused[i] + load->expired[i];

		for (unsigned kind = 0; kind < WORKER_SHARES; kind++)
			refused += load->refused_by[i][kind];
		answers[i] = (struct lane_answer){
		        .lane = worker_lane_name(i),
		        .running = load->running[i],
		        .waiting = load->waiting[i],
		        .longest_wait_ms = load->longest_wait_ms[i],
		        .refused = (int64_t)refused,
		};
	}
	return (struct json_list){answers, WORKER_LANES, .present = true};
}

static void add_pools(struct fleet *fleet, struct metrics_answer *m)
{
	struct fleet_pool_count pools[POOLS_SUMMED];
	size_t count = fleet_pool_counts(fleet, pools, COUNT_OF(pools));

	for (size_t i = 0; i < count; i++) {
		m->pool_hits += (int64_t)pools[i].hits;
		m->pool_misses += (int64_t)pools[i].misses;
		m->pool_ready += pools[i].ready;
		m->pool_target += pools[i].target;
	}
}

static struct metrics_answer describe_metrics(const struct api *api, struct arena *a)
{
	const struct server_counts http = server_counts_get(api->server);
	const struct queue_counts queues = server_queue_counts(api->server);
	const struct worker_load load = worker_load_get(api->workers);
	const struct timing_sum requests = api_meter_requests(api->meter);
	const struct timing_sum pings = api_meter_pings(api->meter);
	struct metrics_answer m = {
	        .connections = (int64_t)http.connections_open,
	        .streams = (int64_t)http.relays_open,
	        .requests_waiting = (int64_t)queues.waiting,
	        .bytes_in = (int64_t)http.bytes_in,
	        .bytes_out = (int64_t)http.bytes_out,
	        .responses_2xx = (int64_t)http.responses[2],
	        .responses_3xx = (int64_t)http.responses[3],
	        .responses_4xx = (int64_t)http.responses[4],
	        .responses_5xx = (int64_t)http.responses[5],
	        .broker_calls_waiting = broker_load_get(),
	        .requests = describe_timing(&requests, 0),
	        .store = describe_timing(&pings, api_meter_ping_failures(api->meter)),
	        .lanes = describe_lanes(a, &load),
	};

	add_pools(api->fleet, &m);
	return m;
}

static void on_about_tick(void *state, struct relay *relay)
{
	AUTO(buf_done) struct buf text = BUF(ANSWER_MAX);
	struct about_wait *wait = state;

	describe_readiness(wait->api, &wait->arena, &wait->answer);
	wait->answer.metrics = describe_metrics(wait->api, &wait->arena);
	json_write(&text, &server_shape, &wait->answer);
	relay_answer(relay, 200, "application/json", buf_span(&text));
}

static void release_about(void *state, UNUSED int upstream_fd, UNUSED bool clean)
{
	struct about_wait *wait = state;

	arena_done(&wait->arena);
	free(wait);
}

static const struct relay_ops about_relay = {.on_tick = on_about_tick, .release = release_about};

int server_get_about(struct request *rq, UNUSED const void *body, struct reply *reply,
                     struct error *err)
{
	struct api *api = api_of(rq);
	struct fleet_node_list nodes;
	struct about_wait *wait;

	if (fleet_nodes(api->fleet, rq->arena, &nodes, err) < 0)
		return -1;
	wait = memory_new(sizeof(*wait));
	wait->api = api;
	wait->answer = (struct about_answer){
	        .version = ATOLL_VERSION,
	        .build = BUILD,
	        .provider = provider_ops_of(api->provider)->name,
	        .node = arena_text(&wait->arena, fleet_node(api->fleet)),
	        .started_at = api->started_at,
	        .uptime_ms = clock_unix_ms() - api->started_at,
	        .options = describe_options(&wait->arena, api->config),
	};
	for (size_t i = 0; i < nodes.count; i++) {
		nodes.items[i].node = arena_text(&wait->arena, nodes.items[i].node);
		nodes.items[i].url = arena_text(&wait->arena, nodes.items[i].url);
	}
	wait->answer.nodes = describe_nodes(&wait->arena, &nodes);
	reply_relay(reply,
	            &(struct relay_options){
	                    .upstream_fd = -1, .ops = &about_relay, .state = wait, .tick_ms = 1});
	return 0;
}

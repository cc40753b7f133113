/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/server.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/log.h"
#include "blob/blob.h"
#include "daemon/certificate.h"
#include "daemon/data.h"
#include "daemon/drain.h"
#include "daemon/listen.h"
#include "daemon/outgoing.h"
#include "daemon/providers.h"
#include "daemon/records.h"
#include "daemon/sealed_store.h"
#include "daemon/seccomp.h"
#include "edge/api.h"
#include "edge/hooks.h"
#include "http/server/shares.h"
#include "job/job.h"

#define BEAT_MS 1000
#define BEATS_OF_TICK 2
#define QUEUE_MAX 4096
/* Long calls that are still finding, making or waking their sandbox. */
#define WAITERS_BEGIN_MAX 16

struct api_process {
	struct arena *arena;
	const struct config *config;
	const struct daemon_options *options;
	struct data_folder data; /* only without a supervisor */
	struct id node;
	struct sealed_store store;
	struct provider_set *providers;
	struct provider_sources provider_sources;
	struct provider *provider; /* the first of them */
	struct blob_store *blobs;
	struct fleet *fleet;
	struct worker_pool *workers, *waiters;
	struct outgoing outgoing;
	struct jobs *jobs;
	struct records records;
	pthread_mutex_t hears_mutex;
	bool hears_ends; /* the provider's events reach the fleet and its workers */
	struct loop *loop;
	struct http_server *server;
	struct api api;
	int signal_fd;
	int certificate_fd;                    /* see certificate.h; -1 = no TLS */
	struct certificate_source certificate; /* only without a supervisor */
	struct loop_watch *signal_watch;
	struct loop_timer tick_timer;
	struct worker_task tick_task;
	atomic_bool tick_runs;
	unsigned beats; /* until the next tick */
	struct drain drain;
	struct worker_task leases_task;
	atomic_bool leases_run;
	struct buf address;
};

static void on_sandbox_ended(void *context, const char *id, const struct provider_end *end)
{
	struct api_process *p = context;

	pthread_mutex_lock(&p->hears_mutex);
	if (p->hears_ends)
		fleet_on_ended(p->fleet, id, end);
	pthread_mutex_unlock(&p->hears_mutex);
}

static void on_host_again(void *context)
{
	struct api_process *p = context;

	pthread_mutex_lock(&p->hears_mutex);
	if (p->hears_ends)
		fleet_on_reconnected(p->fleet);
	pthread_mutex_unlock(&p->hears_mutex);
}

/* If an end is missed, the recovery of the next start finds it. */
static void hear_ends(struct api_process *p, bool hears)
{
	pthread_mutex_lock(&p->hears_mutex);
	p->hears_ends = hears;
	pthread_mutex_unlock(&p->hears_mutex);
}

/* With a supervisor, which restarts the broker. */
static bool is_watched(const struct api_process *p)
{
	return p->options->listen_count > 0;
}

static int open_providers(struct api_process *p, struct error *err)
{
	struct broker_wait wait = broker_wait_begin(is_watched(p));

	p->provider_sources = (struct provider_sources){
	        .config = p->config,
	        .shared = {.data_dir = p->config->data_dir,
	                   .broker_socket = arena_format(p->arena, "%s/run/broker.sock",
	                                                 p->config->data_dir),
	                   .on_ended = on_sandbox_ended,
	                   .on_again = on_host_again,
	                   .context = p},
	};
	providers_share(&p->provider_sources, p->store.store);
	if (providers_open(p->arena, &p->provider_sources, &p->providers, err) < 0 ||
	    providers_open_primary(p->providers, &wait, err) < 0)
		return -1;
	p->provider = provider_member_provider(provider_set_at(p->providers, 0));
	return 0;
}

static int add_stored_provider(void *context, const struct config_provider *provider,
                               int64_t version, struct error *err)
{
	struct api_process *p = context;

	return providers_add(p->providers, &p->provider_sources, provider, version, err);
}

/* The broker may die during the recovery and restart a moment later. The next attempt finds what
 * was recovered before. */
static int recover_fleet(struct api_process *p, struct error *err)
{
	struct broker_wait wait = broker_wait_begin(is_watched(p));

	while (fleet_pair(p->fleet, p->options->claim, err) < 0 ||
	       fleet_recover(p->fleet, err) < 0) {
		if (err->code != ERROR_UNAVAILABLE || !broker_wait_moment(&wait, err))
			return -1;
		log_warning("recovery was interrupted, starting again", FAILURE(err));
		error_clear(err);
	}
	fleet_end_timeouts_promptly(p->fleet);
	return 0;
}

static int open_store(struct api_process *p, struct error *err)
{
	const struct sealed_store_options options = {
	        .arena = p->arena,
	        .config = p->config,
	        .data = &p->data,
	        .key_fd = p->options->key_fd,
	};

	return sealed_store_open(&options, &p->store, err);
}

static int open_blobs(struct api_process *p, struct error *err)
{
	const char *place = p->config->blobs;

	if (!*place)
		place = arena_format(p->arena, "%s/blobs", p->config->data_dir);
	return blob_open(place, &p->blobs, err);
}

static struct worker_options workers_of(const struct config *config)
{
	return (struct worker_options){
	        .threads = (unsigned)config->workers,
	        .queue_max = QUEUE_MAX,
	        .files_threads = (unsigned)config->workers,
	        .agent_threads = (unsigned)config->agent_calls_max,
	        .long_threads = (unsigned)(config->agent_calls_max + 1) / 2,
	        .agent_share_max =
	                {
	                        [WORKER_PROJECT] = (unsigned)config->agent_calls_per_project_max,
	                        [WORKER_KEY] = (unsigned)config->agent_calls_per_key_max,
	                        [WORKER_SANDBOX] = (unsigned)config->agent_calls_per_sandbox_max,
	                },
	        .agent_wait_ms = config->agent_wait_ms,
	};
}

/* Calls that take minutes begin on the fast lane, which finds their sandbox, and continue on the
 * agents' lane. */
static struct worker_options waiters_of(const struct config *config)
{
	unsigned calls = (unsigned)config->tool_calls_max;
	unsigned begin = calls < WAITERS_BEGIN_MAX ? calls : WAITERS_BEGIN_MAX;

	return (struct worker_options){
	        .threads = begin,
	        .queue_max = QUEUE_MAX,
	        .agent_threads = calls,
	        .agent_share_max =
	                {
	                        [WORKER_SANDBOX] = (unsigned)config->tool_calls_per_sandbox_max,
	                        [WORKER_KEY] = (unsigned)config->tool_calls_per_key_max,
	                },
	};
}

static int open_fleet(struct api_process *p, struct error *err)
{
	const struct worker_options workers = workers_of(p->config);
	const struct worker_options waiters = waiters_of(p->config);
	struct fleet_options options = {
	        .config = p->config,
	        .store = p->store.store,
	        .providers = p->providers,
	        .add_provider = add_stored_provider,
	        .add_context = p,
	        .node = p->node.text,
	};

	if (data_node_read(p->config->data_dir, &p->node, err) < 0)
		return -1;
	if (worker_pool_start(&workers, &p->workers, err) < 0 ||
	    worker_pool_start(&waiters, &p->waiters, err) < 0)
		return -1;
	options.workers = p->workers;
	if (open_blobs(p, err) < 0)
		return -1;
	options.blobs = p->blobs;
	if (fleet_open(&options, &p->fleet, err) < 0)
		return -1;
	hear_ends(p, true);
	if (recover_fleet(p, err) < 0)
		return -1;
	if (records_open(&(struct records_options){p->config, p->options, p->store.store},
	                 &p->records, err) < 0)
		return -1;
	if (sealed_store_open_audit(&p->store, p->arena, p->config, p->node.text, err) < 0)
		return -1;
	if (outgoing_open(&(struct outgoing_options){.config = p->config,
	                                             .store = p->store.store,
	                                             .fleet = p->fleet,
	                                             .workers = p->workers,
	                                             .decisions = p->records.decisions,
	                                             .audit = p->store.audit,
	                                             .node = p->node.text},
	                  &p->outgoing, err) < 0)
		return -1;
	return jobs_open(&(struct jobs_options){p->config, p->store.store, p->fleet, p->node.text,
	                                        p->records.activity},
	                 &p->jobs, err);
}

static int listen_sockets(struct api_process *p, struct error *err)
{
	const struct daemon_options *o = p->options;
	int own_fd;

	for (unsigned i = 0; i < o->listen_count; i++) {
		if (i == 0)
			listen_describe(o->listen_fds[i], "http", &p->address);
		if (server_listen_fd(p->server, o->listen_fds[i], err) < 0)
			return -1;
	}
	if (o->listen_count > 0)
		return 0;
	if (listen_open(p->config->listen, &own_fd, err) < 0)
		return -1;
	listen_describe(own_fd, "http", &p->address);
	return server_listen_fd(p->server, own_fd, err);
}

static int listen_tls(struct api_process *p, struct error *err)
{
	AUTO(buf_done) struct buf address = BUF(256);
	AUTO_CLOSE int fd = p->options->tls_listen_fd;

	if (!p->config->tls_listen[0])
		return 0;
	p->certificate_fd = p->options->certificate_fd;
	if (p->certificate_fd < 0) {
		if (certificate_open(p->arena, p->config, &p->certificate, err) < 0)
			return -1;
		p->certificate_fd = p->certificate.memory_fd;
	}
	if ((fd < 0 && listen_open(p->config->tls_listen, &fd, err) < 0) ||
	    certificate_take(p->server, p->certificate_fd, err) < 0)
		return -1;
	listen_describe(fd, "https", &address);
	log_info("serves TLS", TEXT("address", buf_text(&address)));
	return server_listen_tls_fd(p->server, TAKE_FD(fd), err);
}

static int open_server(struct api_process *p, struct error *err)
{
	const struct config *config = p->config;
	const struct server_shares shares = {
	        .find = api_find_shares,
	        .has_place = api_queue_has_room,
	        .rest = api_release_request,
	        .resume = api_readmit_request,
	        .waiting_max = (unsigned)config->requests_waiting_per_key_max,
	        .wait_ms = config->request_wait_ms,
	};
	struct server_options options = {
	        .loop = p->loop,
	        .workers = p->workers,
	        .waiters = p->waiters,
	        .routes = api_routes,
	        .aliases = api_aliases,
	        .context = &p->api,
	        .find_host = api_find_host,
	        .allow_origin = config->cors_origins[0] ? api_allow_origin : NULL,
	        .authorize = api_authorize,
	        .forward = api_forward,
	        .write_failure = api_write_failure,
	        .on_handle = api_on_handle,
	        .on_answer = api_on_answer,
	        .on_done = api_on_done,
	        .shares = &shares,
	        .body_max = (size_t)config->body_max,
	        .connections_max = (unsigned)config->connections_max,
	};

	p->api.config = config;
	p->api.store = p->store.store;
	p->api.fleet = p->fleet;
	p->api.provider = p->provider;
	p->api.workers = p->workers;
	p->api.waiters = p->waiters;
	p->api.loop = p->loop;
	p->api.webhooks = p->outgoing.webhooks;
	p->api.grants = p->outgoing.grants;
	p->api.jobs = p->jobs;
	p->api.activity = p->records.activity;
	p->api.decisions = p->records.decisions;
	p->api.audit = p->store.audit;
	p->api.blobs = p->blobs;
	if (telemetry_open(&p->records.telemetry, &p->api, p->node.text, err) < 0)
		return -1;
	if (api_open(&p->api, err) < 0 || server_open(&options, &p->server, err) < 0)
		return -1;
	p->api.server = p->server;
	api_set_parked_wakes(&p->api, true);
	return listen_sockets(p, err) < 0 ? -1 : listen_tls(p, err);
}

static void on_signal(void *context, UNUSED uint32_t events)
{
	struct api_process *p = context;
	struct signalfd_siginfo info;
	struct error err;

	while (read(p->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGHUP)
			drain_begin(&p->drain, &p->api);
		else if (p->certificate_fd >= 0 &&
		         certificate_take(p->server, p->certificate_fd, &err) < 0)
			log_warning("the new certificate was refused; the old one stays in use",
			            FAILURE(&err));
	}
}

static int watch_signals(struct api_process *p, struct error *err)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	p->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (p->signal_fd < 0)
		return FAIL_ERRNO(err, "watch for signals");
	return loop_watch_add(p->loop,
	                      &(struct loop_watch_options){p->signal_fd, EPOLLIN, on_signal, p},
	                      &p->signal_watch, err);
}

/* Before any thread starts, so that all threads inherit the mask. */
static int block_signals(struct error *err)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	(void)sigaddset(&set, SIGPIPE);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return FAIL_ERRNO(err, "block signals");
	return 0;
}

static void tick_on_worker(struct worker_task *task)
{
	struct api_process *p = CONTAINER_OF(task, struct api_process, tick_task);

	api_tick(&p->api);
	fleet_tick(p->fleet);
	atomic_store(&p->tick_runs, false);
}

/* Runs in the fast lane, which no provider blocks, so that waiters on leases are answered in
 * time. */
static void leases_on_worker(struct worker_task *task)
{
	struct api_process *p = CONTAINER_OF(task, struct api_process, leases_task);

	fleet_lease_tick(p->fleet);
	atomic_store(&p->leases_run, false);
}

static void submit_once(struct api_process *p, struct worker_task *task, struct worker_task what,
                        atomic_bool *runs)
{
	struct error err;

	if (atomic_exchange(runs, true))
		return;
	*task = what;
	if (worker_submit(p->workers, task, &err) < 0)
		atomic_store(runs, false);
}

static bool is_idle(struct api_process *p)
{
	struct fleet_counts counts;
	struct server_counts server;

	if (p->config->idle_exit_ms == 0 ||
	    loop_now_ms(p->loop) - p->api.last_used_ms < p->config->idle_exit_ms)
		return false;
	server = server_counts_get(p->server);
	counts = fleet_counts_get(p->fleet);
	for (unsigned i = SANDBOX_PENDING; i <= SANDBOX_DELETING; i++) {
		if (counts.by_state[i] > 0 && i != SANDBOX_STOPPED && i != SANDBOX_ARCHIVED)
			return false;
	}
	return server.relays_open == 0;
}

static void on_tick(void *context)
{
	struct api_process *p = context;

	loop_timer_start(p->loop, &p->tick_timer, BEAT_MS);
	worker_expire(p->workers);
	submit_once(p, &p->leases_task,
	            (struct worker_task){.lane = WORKER_FAST, .run = leases_on_worker},
	            &p->leases_run);
	if (++p->beats < BEATS_OF_TICK)
		return;
	p->beats = 0;
	if (is_idle(p)) {
		log_info("idle, ending");
		loop_stop(p->loop);
		return;
	}
	submit_once(p, &p->tick_task,
	            (struct worker_task){.lane = WORKER_SLOW, .run = tick_on_worker},
	            &p->tick_runs);
}

static int confine_server(struct api_process *p, struct error *err)
{
	if (p->options->listen_count == 0 &&
	    data_open(p->config->data_dir, NULL, &p->data, err) < 0)
		return -1;
	(void)prctl(PR_SET_NAME, "atolld-api", 0, 0, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return FAIL_ERRNO(err, "forbid new privileges");
	return seccomp_confine(err);
}

static int open_parts(struct api_process *p, struct error *err)
{
	if (block_signals(err) < 0 || confine_server(p, err) < 0 || open_store(p, err) < 0 ||
	    open_providers(p, err) < 0 || open_fleet(p, err) < 0 || loop_open(&p->loop, err) < 0 ||
	    watch_signals(p, err) < 0)
		return -1;
	return open_server(p, err);
}

static void tell_ready(struct api_process *p)
{
	log_info("ready", TEXT("address", buf_text(&p->address)),
	         TEXT("data", p->config->data_place),
	         TEXT("key_file", arena_format(p->arena, "%s/admin.key", p->config->data_place)),
	         TEXT("provider", p->config->provider), TEXT("node", p->node.text));
	setup_link_tell(p->config, p->store.store, buf_text(&p->address));
	if (p->options->ready_fd >= 0)
		(void)!write(p->options->ready_fd, "r", 1);
}

static void tell_end(struct api_process *p)
{
	struct fleet_counts counts = fleet_counts_get(p->fleet);
	uint64_t running = counts.by_state[SANDBOX_STARTED] + counts.by_state[SANDBOX_PAUSED];

	log_info("ending; sandboxes keep running", NUMBER("sandboxes", running));
	if (running > 0 && isatty(STDERR_FILENO))
		(void)fprintf(stderr,
		              "%" PRIu64 " sandboxes keep running without the server; 'atoll down' "
		              "ends them, 'atoll serve' takes them up again.\n",
		              running);
}

/* In this order: new work, running work, then its dependencies. */
static void close_server(struct api_process *p)
{
	if (p->loop)
		loop_timer_stop(p->loop, &p->tick_timer);
	drain_cancel(&p->drain);
	if (p->providers)
		provider_set_last_calls(p->providers);
	api_set_parked_wakes(&p->api, false);
	server_close(p->server);
	api_cancel_calls(&p->api);
	jobs_close(p->jobs);
	outgoing_close(&p->outgoing);
	hear_ends(p,
	          false); /* the last tasks of the workers need the provider, which outlives them */
	fleet_end(p->fleet);
	worker_pool_stop(p->waiters);
	worker_pool_stop(p->workers);
	api_stop_background(&p->api);
	telemetry_close(&p->records.telemetry);
	fleet_leave(p->fleet);
	provider_set_close(p->providers);
	fleet_close(p->fleet);
	blob_close(p->blobs);
	api_close(&p->api);
	provider_set_free(p->providers);
	records_close(&p->records);
	sealed_store_close(&p->store);
	loop_watch_free(p->signal_watch);
	auto_close(&p->signal_fd);
	certificate_close(&p->certificate);
	loop_close(p->loop);
	buf_done(&p->address);
	data_close(&p->data);
	pthread_mutex_destroy(&p->hears_mutex);
}

int server_run(struct arena *a, const struct daemon_options *o, const struct config *given,
               struct error *err)
{
	struct config reached = *given;
	struct api_process p = {
	        .arena = a,
	        .config = &reached,
	        .options = o,
	        .data = {-1, -1, -1},
	        .signal_fd = -1,
	        .certificate_fd = -1,
	        .certificate = {.memory_fd = -1},
	        .hears_mutex = PTHREAD_MUTEX_INITIALIZER,
	        .address = BUF(256),
	};
	int result;

	reached.data_place = given->data_dir;
	if (o->listen_count > 0)
		reached.data_dir = data_reach(given->data_dir);
	result = open_parts(&p, err);
	if (result == 0) {
		p.tick_timer = (struct loop_timer){.on_timer = on_tick, .context = &p};
		loop_timer_start(p.loop, &p.tick_timer, BEAT_MS);
		tell_ready(&p);
		loop_run(p.loop);
		tell_end(&p);
	}
	close_server(&p);
	return result;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/native/broker_provider.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/path.h"
#include "base/thread.h"
#include "provider/agent_health.h"
#include "provider/agent_links.h"
#include "provider/compute.h"
#include "provider/disk.h"
#include "provider/end.h"
#include "provider/entries.h"
#include "provider/host_failure.h"
#include "provider/native/broker_client.h"
#include "wire/broker_messages.h"

#define IDLE_MS 15000     /* how long a connection to an agent may wait for its next request */
#define CLEAN_UP_MS 10000 /* to undo a create with an unknown outcome */
#define HEALTH_MS 5000    /* a broker that takes longer to reply is not healthy */
#define LIST_MS 30000
#define STATS_MS 10000
#define SANDBOXES_MAX 1000000 /* limit of the names in a list */

struct broker_provider {
	struct provider base; /* its ops are &own */
	struct provider_ops own;
	enum broker_kind kind;
	struct provider_options options;
	struct broker_client *client;
	struct agent_links *links;
	pthread_mutex_t mutex; /* guards `running` */
	struct map running;    /* ids that the broker reported */
};

static struct broker_provider *as_broker(struct provider *p)
{
	return (struct broker_provider *)p;
}

static void set_running(struct provider *p, const char *id)
{
	pthread_mutex_lock(&as_broker(p)->mutex);
	map_put(&as_broker(p)->running, id, p);
	pthread_mutex_unlock(&as_broker(p)->mutex);
}

static bool unset_running(struct provider *p, const char *id)
{
	pthread_mutex_lock(&as_broker(p)->mutex);
	bool was_running = map_remove(&as_broker(p)->running, id) != NULL;
	pthread_mutex_unlock(&as_broker(p)->mutex);
	agent_links_drop(as_broker(p)->links, id);
	agent_health_forget(id);
	return was_running;
}

static void on_ended(void *context, const struct broker_ended *ended)
{
	struct provider *p = context;
	const struct provider_end end = {.reason = ended->reason < SANDBOX_REASON_COUNT
	                                                   ? (enum sandbox_reason)ended->reason
	                                                   : SANDBOX_REASON_ERROR,
	                                 .sent_bytes = ended->sent_bytes};

	if (ended->reason != SANDBOX_REASON_DISK)
		unset_running(p, ended->sandbox);
	if (as_broker(p)->options.on_ended && id_is_valid(ended->sandbox))
		as_broker(p)->options.on_ended(as_broker(p)->options.context, ended->sandbox, &end);
}

static void on_disk(UNUSED void *context, const struct broker_disk *disk)
{
	struct disk_report report = {.watched = disk->watched,
	                             .over = disk->over,
	                             .paused_total = disk->paused_total,
	                             .counts_total = disk->counts_total,
	                             .counting_us_total = disk->counting_us_total};

	(void)snprintf(report.enforcement, sizeof(report.enforcement), "%s", disk->enforcement);
	disk_report_set(&report);
}

/* The first sandbox of `running` that does not run; false if there is none. */
static bool find_lost(struct provider *p, const struct map *running, char ret_id[ID_SIZE + 1])
{
	const char *id = NULL;
	size_t at = 0;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&as_broker(p)->mutex);

	while (map_next(&as_broker(p)->running, &at, &id))
		if (!map_find(running, id)) {
			memcpy(ret_id, id, ID_SIZE + 1);
			return true;
		}
	return false;
}

/* Reports sandboxes that ended while the broker was disconnected. */
static void on_running(void *context, const struct map *running)
{
	struct provider *p = context;
	char id[ID_SIZE + 1];

	while (find_lost(p, running, id))
		on_ended(p, &(struct broker_ended){.sandbox = id,
		                                   .reason = SANDBOX_REASON_EXIT,
		                                   .sent_bytes = UINT64_MAX});
	if (as_broker(p)->options.on_again)
		as_broker(p)->options.on_again(as_broker(p)->options.context);
}

static void on_tick(void *context)
{
	struct provider *p = context;

	agent_links_sweep(as_broker(p)->links, IDLE_MS);
}

static int call_id(struct provider *p, uint16_t type, struct broker_id *message, int64_t deadline,
                   struct error *err)
{
	struct broker_call call = {type, broker_id_shape, message, .may_repeat = true};

	return broker_client_call(as_broker(p)->client, &call, deadline, err);
}

/* A sandbox that is being made or started. */
struct provider_creation {
	const struct sandbox_spec *spec;
	struct arena arena;
	const char *volumes[SANDBOX_MOUNTS_MAX + 1];
	struct broker_create message;
	struct broker_created created;
	struct broker_call call;
	struct broker_waiter *waiter;
};

static void creation_done(struct provider_creation *c)
{
	arena_done(&c->arena);
}

static uint64_t cpu_milli(double cpu)
{
	return (uint64_t)(cpu * 1000 + 0.5);
}

static int creation_init(struct provider_creation *c, struct provider *p, uint16_t type,
                         const struct sandbox_spec *spec, struct error *err)
{
	*c = (struct provider_creation){.spec = spec};
	c->message = (struct broker_create){
	        .kind = as_broker(p)->kind,
	        .sandbox = spec->id,
	        .hostname = spec->hostname,
	        .template_name = spec->template_dir,
	        .network = spec->network,
	        .privileges = spec->privileges,
	        .cpu_milli = cpu_milli(spec->resources.cpu),
	        .memory_bytes = (uint64_t)spec->resources.memory_mb << 20,
	        .disk_bytes = (uint64_t)spec->resources.disk_mb << 20,
	        .pids = (uint64_t)spec->resources.pids,
	        .background = spec->background,
	        .has_kvm = spec->has_kvm,
	        .snapshot = type == BROKER_CREATE ? spec->snapshot : NULL,
	        .volumes = c->volumes,
	        .warm = spec->warm,
	        .egress = spec->egress,
	        .owner = spec->owner && id_is_valid(spec->owner) ? spec->owner : "",
	        .lease_epoch = (uint64_t)spec->lease_epoch,
	};
	c->call = (struct broker_call){
	        .type = type,
	        .shape = broker_create_shape,
	        .message = &c->message,
	        .may_repeat = type == BROKER_START,
	        WIRE_REPLY(BROKER_CREATED, broker_created_shape, c->created),
	        .arena = &c->arena,
	};
	if (spec->mount_count > SANDBOX_MOUNTS_MAX)
		return FAIL(err, ERROR_LIMIT, "a sandbox has at most %d volumes",
		            SANDBOX_MOUNTS_MAX);
	for (size_t i = 0; i < spec->mount_count; i++)
		c->volumes[i] = broker_mount_text(&c->arena, &spec->mounts[i]);
	if (spec->review && type == BROKER_CREATE)
		c->message.review = arena_format(&c->arena, "%s:%s:%s:%s", spec->review->subject,
		                                 spec->review->base ? spec->review->base : "",
		                                 spec->review->writes ? "rw" : "ro",
		                                 spec->review->template_dir);
	return 0;
}

static void creation_take(const struct provider_creation *c, struct provider *p,
                          struct provider_created *ret)
{
	set_running(p, c->spec->id);
	log_debug("sandbox made", TEXT("sandbox", c->spec->id),
	          NUMBER("took_us", c->created.took_us), TEXT("steps", c->created.steps));
	*ret = (struct provider_created){
	        .disk_is_advisory = c->created.disk_is_advisory,
	        .effective = c->spec->resources,
	        .took_us = (int64_t)c->created.took_us,
	};
}

static int call_create(struct provider *p, uint16_t type, const struct sandbox_spec *spec,
                       int64_t deadline, struct provider_created *ret, struct error *err)
{
	AUTO(creation_done) struct provider_creation creation;

	if (creation_init(&creation, p, type, spec, err) < 0 ||
	    broker_client_call(as_broker(p)->client, &creation.call, deadline, err) < 0)
		return -1;
	creation_take(&creation, p, ret);
	return 0;
}

/* The sandbox may exist nevertheless, and nothing may be left behind. */
static int fail_create(struct provider *p, const char *id, struct error *why)
{
	if (why->code == ERROR_TIMEOUT || why->code == ERROR_UNAVAILABLE)
		(void)broker_provider_destroy(p, id, deadline_after(CLEAN_UP_MS),
		                              &(struct error){0});
	host_failure_explain(why);
	return -1;
}

int broker_provider_create(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
                           struct provider_created *ret, struct error *err)
{
	if (call_create(p, BROKER_CREATE, spec, deadline, ret, err) == 0)
		return 0;
	return fail_create(p, spec->id, err);
}

struct provider_creation *broker_provider_create_begin(struct provider *p,
                                                       const struct sandbox_spec *spec)
{
	struct provider_creation *c = memory_new(sizeof(*c));
	struct error ignored = {0};

	if (creation_init(c, p, BROKER_CREATE, spec, &ignored) == 0) {
		c->call.never_waits = true;
		if (broker_client_begin(as_broker(p)->client, &c->call, 0, &c->waiter, &ignored) ==
		    0)
			return c;
	}
	creation_done(c);
	free(c);
	return NULL;
}

int broker_provider_create_end(struct provider *p, struct provider_creation *c, int64_t deadline,
                               struct provider_created *ret, struct error *err)
{
	int status = broker_client_end(as_broker(p)->client, &c->call, c->waiter, deadline, err);

	if (status == 0)
		creation_take(c, p, ret);
	else
		(void)fail_create(p, c->spec->id, err);
	creation_done(c);
	free(c);
	return status;
}

/* A sandbox that runs already satisfies the request. */
int broker_provider_start(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
                          struct provider_created *ret, struct error *err)
{
	struct provider_stats stats;

	if (call_create(p, BROKER_START, spec, deadline, ret, err) == 0)
		return 0;
	if (err->code != ERROR_CONFLICT ||
	    broker_provider_stats(p, spec->id, &stats, &(struct error){0}) < 0) {
		host_failure_explain(err);
		return -1;
	}
	error_clear(err);
	set_running(p, spec->id);
	*ret = (struct provider_created){
	        .disk_is_advisory = !(as_broker(p)->own.abilities & PROVIDER_CAN_LIMIT_DISK),
	        .effective = spec->resources,
	};
	return 0;
}

void broker_provider_forget(struct provider *p, const char *id)
{
	unset_running(p, id);
}

int broker_provider_destroy(struct provider *p, const char *id, int64_t deadline, struct error *err)
{
	struct broker_id message = {.sandbox = id};

	unset_running(p, id);
	return call_id(p, BROKER_DESTROY, &message, deadline, err);
}

int broker_provider_stop(struct provider *p, const char *id, int64_t grace_ms, int64_t deadline,
                         struct error *err)
{
	struct broker_id message = {.sandbox = id,
	                            .grace_ms = grace_ms > 0 ? (uint64_t)grace_ms : 0};

	if (call_id(p, BROKER_STOP, &message, deadline, err) < 0)
		return -1;
	unset_running(p, id);
	return 0;
}

int broker_provider_pause(struct provider *p, const char *id, int64_t deadline, struct error *err)
{
	struct broker_id message = {.sandbox = id};

	return call_id(p, BROKER_PAUSE, &message, deadline, err);
}

int broker_provider_resume(struct provider *p, const char *id, int64_t deadline, struct error *err)
{
	struct broker_id message = {.sandbox = id};

	return call_id(p, BROKER_RESUME, &message, deadline, err);
}

int broker_provider_limit(struct provider *p, const char *id,
                          const struct sandbox_resources *resources, int64_t deadline,
                          struct error *err)
{
	struct broker_limit message = {
	        .sandbox = id,
	        .cpu_milli = cpu_milli(resources->cpu),
	        .memory_bytes = (uint64_t)resources->memory_mb << 20,
	        .pids = (uint64_t)resources->pids,
	};
	struct broker_call call = {BROKER_LIMIT, broker_limit_shape, &message, .may_repeat = true};

	return broker_client_call(as_broker(p)->client, &call, deadline, err);
}

int broker_provider_filter(struct provider *p, const char *id, const char *egress, int64_t deadline,
                           struct error *err)
{
	struct broker_egress message = {.sandbox = id, .egress = egress};
	struct broker_call call = {BROKER_EGRESS, broker_egress_shape, &message,
	                           .may_repeat = true};

	return broker_client_call(as_broker(p)->client, &call, deadline, err);
}

struct entry_listing {
	struct provider *provider;
	struct buf entries; /* of struct provider_entry */
};

static void listing_done(struct entry_listing *listing)
{
	buf_done(&listing->entries);
}

static int note_entry(void *context, const void *reply, struct error *err)
{
	struct entry_listing *listing = context;
	const struct broker_entry *from = reply;
	struct provider_entry entry = {.running = from->running, .paused = from->paused};

	if (!id_is_valid(from->sandbox))
		return FAIL(err, ERROR_SYSTEM, "the broker lists '%s', which is no id",
		            from->sandbox);
	memcpy(entry.id, from->sandbox, ID_SIZE);
	entry.lease_epoch = (int64_t)from->lease_epoch;
	if (id_is_valid(from->owner))
		memcpy(entry.owner, from->owner, ID_SIZE);
	buf_add(&listing->entries, &entry, sizeof(entry));
	if (entry.running)
		set_running(listing->provider, entry.id);
	return 0;
}

int broker_provider_list_entries(struct provider *p, uint16_t type, struct arena *a,
                                 struct provider_list *ret, struct error *err)
{
	AUTO(listing_done) struct entry_listing listing = {
	        .provider = p,
	        .entries = BUF(SANDBOXES_MAX * sizeof(struct provider_entry)),
	};
	struct broker_id message = {.sandbox = ""};
	struct broker_entry entry;
	struct broker_call call = {
	        .type = type,
	        .shape = broker_id_shape,
	        .message = &message,
	        WIRE_REPLY(BROKER_ENTRY, broker_entry_shape, entry),
	        .arena = a,
	        .on_entry = note_entry,
	        .context = &listing,
	};

	if (broker_client_call(as_broker(p)->client, &call, deadline_after(LIST_MS), err) < 0)
		return -1;
	if (listing.entries.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "more than %d entries", SANDBOXES_MAX);
	ret->count = listing.entries.size / sizeof(struct provider_entry);
	ret->entries = (void *)arena_copy(a, buf_span(&listing.entries));
	return 0;
}

int broker_provider_list_others(struct provider *p, uint16_t type, struct arena *a,
                                struct provider_list *ret, struct error *err)
{
	struct provider_list all;

	if (broker_provider_list_entries(p, type, a, &all, err) < 0)
		return -1;
	*ret = (struct provider_list){.entries = all.entries};
	for (size_t i = 0; i < all.count; i++)
		if (!id_is_of_image(all.entries[i].id))
			ret->entries[ret->count++] = all.entries[i];
	return 0;
}

int broker_provider_list(struct provider *p, struct arena *a, struct provider_list *ret,
                         struct error *err)
{
	return broker_provider_list_others(p, BROKER_LIST, a, ret, err);
}

int broker_provider_stats(struct provider *p, const char *id, struct provider_stats *ret,
                          struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct broker_id message = {.sandbox = id};
	struct broker_usage usage;
	struct broker_call call = {
	        .type = BROKER_STATS,
	        .shape = broker_id_shape,
	        .message = &message,
	        .may_repeat = true,
	        WIRE_REPLY(BROKER_USAGE, broker_usage_shape, usage),
	        .arena = &a,
	};

	if (broker_client_call(as_broker(p)->client, &call, deadline_after(STATS_MS), err) < 0)
		return -1;
	*ret = (struct provider_stats){
	        .sampled_unix_ms = clock_unix_ms(),
	        .uptime_ms = (int64_t)usage.uptime_ms,
	        .cpu_usage_us = usage.cpu_us,
	        .memory_bytes = usage.memory_bytes,
	        .memory_limit_bytes = usage.memory_limit,
	        .disk_bytes = usage.disk_bytes,
	        .disk_limit_bytes = usage.disk_limit,
	        .pids = usage.pids,
	        .pids_limit = usage.pids_limit,
	        .network_in_bytes = usage.network_in,
	        .network_out_bytes = usage.network_out,
	        .oom_kills = usage.oom_kills,
	};
	return 0;
}

static const enum broker_measured_kind wire_measured_kinds[] = {
        [PROVIDER_MEASURE_SANDBOX] = BROKER_MEASURE_SANDBOX,
        [PROVIDER_MEASURE_SNAPSHOT] = BROKER_MEASURE_SNAPSHOT,
        [PROVIDER_MEASURE_VOLUME] = BROKER_MEASURE_VOLUME,
};

int broker_provider_measure(struct provider *p, enum provider_measured_kind kind, const char *id,
                            int64_t deadline, uint64_t *ret, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct broker_measure message = {.kind = wire_measured_kinds[kind], .id = id};
	struct broker_measured measured;
	struct broker_call call = {
	        .type = BROKER_MEASURE,
	        .shape = broker_measure_shape,
	        .message = &message,
	        .may_repeat = true,
	        WIRE_REPLY(BROKER_MEASURED, broker_measured_shape, measured),
	        .arena = &a,
	};

	if (broker_client_call(as_broker(p)->client, &call, deadline, err) < 0)
		return -1;
	if (measured.is_partial)
		log_debug("too much to count all of it", TEXT("id", id),
		          NUMBER("bytes", (int64_t)measured.bytes));
	*ret = measured.bytes;
	return 0;
}

int broker_provider_health(struct provider *p, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct broker_hello message = {.protocol = BROKER_PROTOCOL};
	struct broker_welcome welcome;
	struct broker_call call = {
	        .type = BROKER_HELLO,
	        .shape = broker_hello_shape,
	        .message = &message,
	        .may_repeat = true,
	        WIRE_REPLY(BROKER_WELCOME, broker_welcome_shape, welcome),
	        .arena = &a,
	};

	return broker_client_call(as_broker(p)->client, &call, deadline_after(HEALTH_MS), err);
}

int broker_provider_probe(struct provider *p, const struct provider_probe *probe, int64_t deadline,
                          struct error *err)
{
	struct broker_probe message = {
	        .kind = as_broker(p)->kind,
	        .network = probe->network,
	        .egress = probe->egress ? probe->egress : "",
	};
	struct broker_call call = {BROKER_PROBE, broker_probe_shape, &message};

	return broker_client_call(as_broker(p)->client, &call, deadline, err);
}

struct broker_client *broker_provider_client(struct provider *p)
{
	return as_broker(p)->client;
}

static int connect_agent(struct provider *p, const char *id, int64_t deadline, int *ret_fd,
                         struct error *err)
{
	return agent_links_connect(as_broker(p)->links, id, deadline, ret_fd, err);
}

static int take_link(struct provider *p, const char *id)
{
	return agent_links_take(as_broker(p)->links, id);
}

static void give_back_link(struct provider *p, const char *id, int fd)
{
	agent_links_give_back(as_broker(p)->links, id, fd);
}

const struct compute_ops broker_provider_compute = {
        .connect = connect_agent,
        .take = take_link,
        .give_back = give_back_link,
};

const struct compute_ops broker_provider_carrying_compute = {
        .connect = connect_agent,
        .take = take_link,
        .carries_dials = true,
        .give_back = give_back_link,
};

void broker_provider_close(struct provider *p)
{
	if (!p)
		return;
	broker_client_close(as_broker(p)->client);
	agent_links_free(as_broker(p)->links);
	map_done(&as_broker(p)->running);
	pthread_mutex_destroy(&as_broker(p)->mutex);
	free(p);
}

void broker_provider_last_calls(struct provider *p)
{
	broker_client_last_calls(as_broker(p)->client);
}

int broker_provider_open(const struct provider_options *options, const struct provider_ops *ops,
                         enum broker_kind kind, struct provider **ret, struct error *err)
{
	char run_dir[PATH_SIZE_MAX];
	struct broker_provider *p = memory_new(sizeof(*p));

	*p = (struct broker_provider){.own = *ops, .kind = kind, .options = *options};
	p->base.ops = &p->own;
	pthread_mutex_init(&p->mutex, NULL);
	(void)snprintf(run_dir, sizeof(run_dir), "%s/run/sandboxes", options->data_dir);
	p->links = agent_links_new(run_dir);
	struct broker_client_options client_options = {
	        .socket_path = options->broker_socket,
	        .on_ended = on_ended,
	        .on_disk = on_disk,
	        .on_running = on_running,
	        .on_tick = on_tick,
	        .context = &p->base,
	};
	if (broker_client_open(&client_options, &p->client, err) < 0) {
		broker_provider_close(&p->base);
		return -1;
	}
	struct broker_welcome welcome = broker_client_welcome(p->client);
	if (!welcome.can_limit_disk)
		p->own.abilities &= ~(unsigned)PROVIDER_CAN_LIMIT_DISK;
	if (!welcome.can_pause)
		p->own.abilities &= ~(unsigned)PROVIDER_CAN_PAUSE;
	*ret = &p->base;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/fleet/harness.h — a fleet over a store in memory and a provider that obeys the test.
 *
 * The provider keeps a table of sandboxes. The test says which of its calls fail, holds its create
 * back at a gate, and takes sandboxes away behind the fleet's back. It outlives the fleet, so that
 * a restart of the server is harness_restart. */
#pragma once

#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "fleet/fleet.h"

#define PROJECT "pppppppppppppppppppp"

#define assert_done(call)                                                                          \
	do {                                                                                       \
		if ((call) != 0)                                                                   \
			fail_msg("%s: %s", #call, err.text);                                       \
	} while (0)
#define assert_refused(call, code_)                                                                \
	do {                                                                                       \
		err = (struct error){0};                                                           \
		assert_int_equal((call), -1);                                                      \
		if (err.code != (code_))                                                           \
			fail_msg("%s: code %d, not %d: %s", #call, err.code, (code_), err.text);   \
	} while (0)

enum call {
	CALL_CREATE,
	CALL_DESTROY,
	CALL_STOP,
	CALL_START,
	CALL_LIST,
	CALL_STATS,
	CALL_TEMPLATE,
	CALL_COUNT
};

struct fake {
	const struct provider_ops *ops; /* first, as in every provider */
	struct provider_ops own;
	pthread_mutex_t mutex; /* over all below */
	pthread_cond_t changed;
	struct map sandboxes; /* id -> "running" or "files" */
	bool fails[CALL_COUNT];
	unsigned calls[CALL_COUNT];
	bool leaves_remains; /* a create that fails leaves files */
	bool is_gate_shut;
	unsigned at_gate;
	uint32_t processes; /* that its agents tell of */
};

static char fake_running[] = "running", fake_files[] = "files";

static inline struct fake *fake_of(struct provider *p)
{
	return (struct fake *)(void *)p;
}

/* Counts the call, with the mutex left held; whether it is to fail. */
static inline bool fake_enter(struct fake *f, enum call call)
{
	pthread_mutex_lock(&f->mutex);
	f->calls[call]++;
	return f->fails[call];
}

static inline int fake_leave(struct fake *f, bool fails, struct error *err)
{
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->mutex);
	return fails ? FAIL(err, ERROR_SYSTEM, "the provider fails on purpose") : 0;
}

static inline int fake_create(struct provider *p, const struct sandbox_spec *spec,
                              int64_t deadline UNUSED, struct provider_created *ret,
                              struct error *err)
{
	struct fake *f = fake_of(p);
	bool fails = fake_enter(f, CALL_CREATE);

	f->at_gate++;
	pthread_cond_broadcast(&f->changed);
	while (f->is_gate_shut)
		pthread_cond_wait(&f->changed, &f->mutex);
	f->at_gate--;
	if (!fails || f->leaves_remains)
		map_put(&f->sandboxes, spec->id, fails ? fake_files : fake_running);
	*ret = (struct provider_created){.disk_is_advisory = true, .effective = spec->resources};
	return fake_leave(f, fails, err);
}

static inline int fake_destroy(struct provider *p, const char *id, int64_t deadline UNUSED,
                               struct error *err)
{
	struct fake *f = fake_of(p);
	bool fails = fake_enter(f, CALL_DESTROY);

	if (!fails)
		map_remove(&f->sandboxes, id);
	return fake_leave(f, fails, err);
}

static inline int fake_stop(struct provider *p, const char *id, int64_t grace_ms UNUSED,
                            int64_t deadline UNUSED, struct error *err)
{
	struct fake *f = fake_of(p);
	bool fails = fake_enter(f, CALL_STOP) || !map_find(&f->sandboxes, id);

	if (!fails)
		map_put(&f->sandboxes, id, fake_files);
	return fake_leave(f, fails, err);
}

static inline int fake_start(struct provider *p, const struct sandbox_spec *spec,
                             int64_t deadline UNUSED, struct provider_created *ret,
                             struct error *err)
{
	struct fake *f = fake_of(p);
	bool fails = fake_enter(f, CALL_START) || !map_find(&f->sandboxes, spec->id);

	if (!fails)
		map_put(&f->sandboxes, spec->id, fake_running);
	*ret = (struct provider_created){.effective = spec->resources};
	return fake_leave(f, fails, err);
}

static inline int fake_list(struct provider *p, struct arena *a, struct provider_list *ret,
                            struct error *err)
{
	struct fake *f = fake_of(p);
	bool fails = fake_enter(f, CALL_LIST);
	const char *id, *value;
	size_t at = 0;

	*ret = (struct provider_list){
	        .entries = ARENA_ARRAY(a, struct provider_entry, f->sandboxes.count + 1)};
	while ((value = map_next(&f->sandboxes, &at, &id))) {
		struct provider_entry *entry = &ret->entries[ret->count++];

		snprintf(entry->id, sizeof(entry->id), "%s", id);
		entry->running = value == fake_running;
	}
	return fake_leave(f, fails, err);
}

static inline int fake_stats(struct provider *p, const char *id UNUSED, struct provider_stats *ret,
                             struct error *err)
{
	*ret = (struct provider_stats){.pids = 3};
	return fake_leave(fake_of(p), fake_enter(fake_of(p), CALL_STATS), err);
}

static inline int fake_template(struct provider *p, const struct provider_template *request,
                                int64_t deadline UNUSED, struct error *err)
{
	struct fake *f = fake_of(p);
	bool fails = fake_enter(f, CALL_TEMPLATE);

	f->at_gate++;
	pthread_cond_broadcast(&f->changed);
	while (f->is_gate_shut)
		pthread_cond_wait(&f->changed, &f->mutex);
	f->at_gate--;
	if (request->on_progress)
		request->on_progress(request->context, 50, "half way");
	return fake_leave(f, fails, err);
}

struct fake_connection {
	struct fake *fake;
	int fd; /* the agent's end */
};

/* An agent that answers one ping. */
static inline void *fake_agent(void *argument)
{
	AUTO(buf_done) struct buf in = BUF(WIRE_PAYLOAD_MAX);
	AUTO(buf_done) struct buf out = BUF(WIRE_PAYLOAD_MAX);
	struct fake_connection *connection = argument;
	struct agent_pong pong = {.protocol = AGENT_PROTOCOL, .boot_id = "fake"};
	struct error err = {0};
	uint16_t type;

	pthread_mutex_lock(&connection->fake->mutex);
	pong.processes = connection->fake->processes;
	pthread_mutex_unlock(&connection->fake->mutex);
	if (wire_receive(connection->fd, deadline_in(5000), &type, &in, &err) == 0 &&
	    wire_encode(&out, AGENT_PONG, agent_pong_shape, &pong, &err) == 0)
		(void)!wire_send(connection->fd, buf_span(&out), deadline_in(5000), &err);
	close(connection->fd);
	free(connection);
	return NULL;
}

static inline int fake_connect(struct provider *p, const char *id UNUSED, int64_t deadline UNUSED,
                               int *ret_fd, struct error *err)
{
	struct fake_connection *connection = malloc(sizeof(*connection));
	pthread_t thread;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return FAIL_ERRNO(err, "socket pair");
	connection->fake = fake_of(p);
	connection->fd = ends[1];
	assert_int_equal(pthread_create(&thread, NULL, fake_agent, connection), 0);
	pthread_detach(thread);
	*ret_fd = ends[0];
	return 0;
}

static const struct compute_ops fake_compute = {.connect = fake_connect};

static inline void fake_init(struct fake *f)
{
	*f = (struct fake){.own = {.name = "fake",
	                           .isolation = "none",
	                           .abilities = PROVIDER_CAN_STOP | PROVIDER_CAN_EXEC |
	                                        PROVIDER_CAN_STATS | PROVIDER_CAN_BLOCK_NETWORK |
	                                        PROVIDER_CAN_TEMPLATE | PROVIDER_SURVIVES,
	                           .create = fake_create,
	                           .destroy = fake_destroy,
	                           .stop = fake_stop,
	                           .start = fake_start,
	                           .list = fake_list,
	                           .stats = fake_stats,
	                           .template_make = fake_template,
	                           .compute = &fake_compute}};
	f->ops = &f->own;
	pthread_mutex_init(&f->mutex, NULL);
	pthread_cond_init(&f->changed, NULL);
}

static inline void fake_done(struct fake *f)
{
	map_done(&f->sandboxes);
	pthread_cond_destroy(&f->changed);
	pthread_mutex_destroy(&f->mutex);
}

/* What the provider has of a sandbox: "running", "files" or "nothing". */
static inline const char *fake_has(struct fake *f, const char *id)
{
	const char *value;

	pthread_mutex_lock(&f->mutex);
	value = map_find(&f->sandboxes, id);
	pthread_mutex_unlock(&f->mutex);
	return value ? value : "nothing";
}

static inline void fake_set(struct fake *f, const char *id, char *value)
{
	pthread_mutex_lock(&f->mutex);
	if (value)
		map_put(&f->sandboxes, id, value);
	else
		map_remove(&f->sandboxes, id);
	pthread_mutex_unlock(&f->mutex);
}

static inline void fake_fail(struct fake *f, enum call call, bool fails)
{
	pthread_mutex_lock(&f->mutex);
	f->fails[call] = fails;
	pthread_mutex_unlock(&f->mutex);
}

static inline void fake_gate(struct fake *f, bool is_shut)
{
	pthread_mutex_lock(&f->mutex);
	f->is_gate_shut = is_shut;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->mutex);
}

static inline void fake_wait_at_gate(struct fake *f)
{
	pthread_mutex_lock(&f->mutex);
	while (f->at_gate == 0)
		pthread_cond_wait(&f->changed, &f->mutex);
	pthread_mutex_unlock(&f->mutex);
}

/* ---- the fleet ---- */

struct harness {
	struct config config;
	struct fake fake;
	struct store *store;
	struct worker_pool *workers;
	struct fleet *fleet;
	struct arena arena;
	char data_dir[64];
};

static inline void harness_start(struct harness *h)
{
	struct error err = {0};
	const struct worker_options workers = {.threads = 4, .queue_max = 16};

	assert_done(worker_pool_start(&workers, &h->workers, &err));
	const struct fleet_options options = {.config = &h->config,
	                                      .store = h->store,
	                                      .provider = (struct provider *)(void *)&h->fake,
	                                      .workers = h->workers};
	assert_done(fleet_open(&options, &h->fleet, &err));
}

/* Lets the workers finish what is queued. */
static inline void harness_drain(struct harness *h)
{
	worker_pool_stop(h->workers);
	h->workers = NULL;
}

static inline void harness_stop(struct harness *h)
{
	harness_drain(h);
	fleet_close(h->fleet);
}

static inline int harness_open(void **state)
{
	struct harness *h = calloc(1, sizeof(*h));
	struct project_record project = {.id = PROJECT, .name = "default", .created_at = 1};
	struct error err = {0};
	unsigned added;

	log_open("test", LOG_ERROR);
	snprintf(h->data_dir, sizeof(h->data_dir), "/nonexistent/atoll-test");
	h->config = (struct config){.data_dir = h->data_dir,
	                            .provider = "fake",
	                            .defaults = {.cpu = 1, .memory_mb = 512},
	                            .sandboxes_max = 100,
	                            .idle_reap_ms = 3600 * 1000,
	                            .lifetime_max_ms = 24 * 3600 * 1000,
	                            .default_template = "host",
	                            .internet = true,
	                            .region = "here"};
	fake_init(&h->fake);
	assert_done(store_open("sqlite::memory:", &h->store, &err));
	assert_done(store_project_insert(h->store, &project, &err));
	harness_start(h);
	assert_done(fleet_templates_seed(h->fleet, &added, &err));
	*state = h;
	return 0;
}

static inline int harness_close(void **state)
{
	struct harness *h = *state;

	harness_stop(h);
	store_close(h->store);
	fake_done(&h->fake);
	arena_done(&h->arena);
	free(h);
	return 0;
}

/* The server goes away and comes back: what it knew is lost, store and provider are not. */
static inline void harness_restart(struct harness *h)
{
	struct error err = {0};

	harness_stop(h);
	harness_start(h);
	assert_done(fleet_recover(h->fleet, &err));
}

static inline struct sandbox_record create_with(struct harness *h, struct fleet_create request)
{
	struct error err = {0};
	struct sandbox_record r = {0};

	request.project_id = PROJECT;
	request.internet = -1;
	request.wait = true;
	assert_done(fleet_create(h->fleet, &h->arena, &request, &r, &err));
	return r;
}

static inline struct sandbox_record create(struct harness *h)
{
	return create_with(h, (struct fleet_create){0});
}

static inline struct sandbox_record find(struct harness *h, const char *id)
{
	struct error err = {0};
	struct sandbox_record r = {0};

	assert_done(fleet_find(h->fleet, &h->arena, PROJECT, id, &r, &err));
	return r;
}

static inline void assert_gone(struct harness *h, const char *id)
{
	struct error err = {0};
	struct sandbox_record r;

	assert_refused(fleet_find(h->fleet, &h->arena, PROJECT, id, &r, &err), ERROR_NOT_FOUND);
	assert_string_equal(fake_has(&h->fake, id), "nothing");
}

#define EACH(name) cmocka_unit_test_setup_teardown(name, harness_open, harness_close)
#define RUN_EACH(...) cmocka_run_group_tests(((const struct CMUnitTest[]){__VA_ARGS__}), NULL, NULL)

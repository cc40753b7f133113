/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "fleet/core/work_lane.h"
#include "harness.h"
#include "worker/worker.h"
#include "store/database.h"
#include "store/projects.h"
#include "store/sandbox_record.h"
#include "fleet/core/sandboxes.h"
#include "fleet/core/waiting.h"
#include "fleet/lifecycle/create.h"
#include "fleet/server/fleet.h"
#include "fleet/template/templates.h"

#include <stdio.h>
#include <stdlib.h>

void harness_start(struct harness *h)
{
	struct error err = {0};
	const struct worker_options workers = {.threads = 4, .queue_max = 16};

	assert_done(worker_pool_start(&workers, &h->workers, &err));
	const struct fleet_options options = {.config = &h->config,
	                                      .store = h->store,
	                                      .providers = h->providers,
	                                      .provider = (struct provider *)(void *)&h->fake,
	                                      .node = h->node,
	                                      .workers = h->workers};
	assert_done(fleet_open(&options, &h->fleet, &err));
}

void harness_drain(struct harness *h)
{
	work_lane_wait(fleet_work(h->fleet));
	worker_pool_stop(h->workers);
	h->workers = NULL;
}

void harness_stop(struct harness *h)
{
	harness_drain(h);
	fleet_close(h->fleet);
}

static void open_store(struct harness *h, const char *dsn)
{
	struct project_record project = {.id = PROJECT, .name = "default", .created_at = 1};
	struct error err = {0};
	unsigned added;

	assert_done(store_open(dsn, &h->store, &err));
	assert_done(store_project_insert(h->store, &project, &err));
	harness_start(h);
	assert_done(fleet_templates_seed(h->fleet, &added, &err));
}

void harness_store(struct harness *h, const char *dsn)
{
	harness_stop(h);
	store_close(h->store);
	open_store(h, dsn);
}

/* The folder of a store that was migrated once: that of each test is a copy. */
static char migrated[64];
static pid_t migrated_by; /* a child of a test that exits removes nothing */

static void remove_migrated(void)
{
	if (getpid() == migrated_by)
		unit_remove_folder(migrated);
}

static void migrate(void)
{
	struct error err = {0};
	struct store *s;
	char dsn[96];

	unit_folder(migrated, sizeof(migrated), "migrated");
	migrated_by = getpid();
	(void)atexit(remove_migrated);
	(void)snprintf(dsn, sizeof(dsn), "sqlite:%s/atoll.db", migrated);
	assert_done(store_open(dsn, &s, &err));
	store_close(s);
}

static void open_copy(struct harness *h)
{
	char from[96], to[96], dsn[128];

	if (!migrated[0])
		migrate();
	unit_folder(h->store_folder, sizeof(h->store_folder), "fleet");
	(void)snprintf(from, sizeof(from), "%s/atoll.db", migrated);
	(void)snprintf(to, sizeof(to), "%s/atoll.db", h->store_folder);
	(void)snprintf(dsn, sizeof(dsn), "sqlite:%s", to);
	unit_copy_file(from, to);
	open_store(h, dsn);
}

int harness_open(void **state)
{
	struct harness *h = calloc(1, sizeof(*h));

	log_open("test", LOG_ERROR);
	snprintf(h->data_dir, sizeof(h->data_dir), "/nonexistent/atoll-test");
	h->config = (struct config){.data_dir = h->data_dir,
	                            .provider = "fake",
	                            .store = "",
	                            .orphans_max = 32,
	                            .defaults = {.cpu = 1, .memory_mb = 512},
	                            .sandboxes_max = 100,
	                            .timeouts.idle_reap_ms = 3600 * 1000,
	                            .timeouts.lifetime_max_ms = 24 * 3600 * 1000,
	                            .default_template = "host",
	                            .peer_url = "",
	                            .peer_ca = "",
	                            .network_proxy = "",
	                            .internet = true,
	                            .region = "here"};
	fake_init(&h->fake);
	open_copy(h);
	*state = h;
	return 0;
}

int harness_close(void **state)
{
	struct harness *h = *state;

	harness_stop(h);
	store_close(h->store);
	unit_remove_folder(h->store_folder);
	fake_done(&h->fake);
	arena_done(&h->arena);
	free(h);
	return 0;
}

void harness_restart(struct harness *h)
{
	struct error err = {0};

	harness_stop(h);
	harness_start(h);
	assert_done(fleet_recover(h->fleet, &err));
}

struct sandbox_record create_with(struct harness *h, struct fleet_create request)
{
	struct error err = {0};
	struct sandbox_record r = {0};

	request.project_id = PROJECT;
	request.internet = -1;
	request.wait = true;
	assert_done(fleet_create(h->fleet, &h->arena, &request, &r, &err));
	return r;
}

struct sandbox_record create(struct harness *h)
{
	return create_with(h, (struct fleet_create){0});
}

struct sandbox_record find(struct harness *h, const char *id)
{
	struct error err = {0};
	struct sandbox_record r = {0};

	assert_done(fleet_find(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, id}, &r, &err));
	return r;
}

void assert_gone(struct harness *h, const char *id)
{
	struct error err = {0};
	struct sandbox_record r;

	assert_refused(fleet_find(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, id}, &r, &err),
	               ERROR_NOT_FOUND);
	assert_string_equal(fake_has(&h->fake, id), "nothing");
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/server/fleet.h"

#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "fleet/core/access.h"
#include "fleet/core/alarms.h"
#include "fleet/core/elsewhere.h"
#include "fleet/core/template_waiters.h"
#include "fleet/core/work_lane.h"
#include "fleet/lifecycle/moves.h"
#include "fleet/lifecycle/pending.h"
#include "fleet/server/all_rounds.h"
#include "fleet/server/ended.h"
#include "fleet/server/fleet_parts.h"
#include "fleet/server/stored_providers.h"
#include "fleet/usage/figures.h"
#include "provider/agent_reader.h"

static struct fleet *allocate_fleet(void)
{
	struct fleet_parts *parts = memory_new(sizeof(*parts));

	parts->fleet.cache = &parts->cache;
	parts->fleet.background = &parts->background;
	parts->fleet.gate = &parts->gate;
	parts->fleet.meters = &parts->meters;
	parts->fleet.pairing = &parts->pairing;
	parts->fleet.trash = &parts->trash;
	parts->fleet.pools = &parts->pools;
	parts->fleet.preparer = &parts->preparer;
	return &parts->fleet;
}

static void take_providers(struct fleet *f, const struct fleet_options *options)
{
	f->providers = options->providers;
	if (!f->providers) {
		f->owns_providers = true;
		f->providers = provider_set_new();
		provider_set_lend(f->providers, provider_ops_of(options->provider)->name,
		                  options->provider);
	}
	f->provider = provider_member_provider(provider_set_at(f->providers, 0));
	f->ops = provider_ops_of(f->provider);
	f->primary = provider_set_at(f->providers, 0)->name;
}

int fleet_open(const struct fleet_options *options, struct fleet **ret, struct error *err UNUSED)
{
	struct fleet *f = allocate_fleet();

	f->config = options->config;
	f->pairing->jump.offset_ms = clock_unix_ms() - clock_boot_ms();
	f->store = options->store;
	take_providers(f, options);
	stored_providers_begin(f, options);
	f->workers = options->workers;
	f->wake_later = lifecycle_wake_later;
	f->new_wait_ms = CALL_TIMEOUT_MS;
	f->node = options->node ? options->node : "";
	f->blobs = options->blobs;
	if (f->config->agent_timeout_ms > 0)
		agent_set_answer_ms(f->config->agent_timeout_ms);
	f->ready = ready_new(f);
	access_open(f);
	cache_init(f->cache);
	f->templates = template_cache_new();
	f->projects = project_cache_new();
	f->takeover = takeover_new();
	pthread_rwlock_init(&f->preparer->lock, NULL);
	/* Waiting calls run in the slow lane, which has half of the workers: they may take half of
	 * those. */
	f->leases = leases_in_flight_new(1 + (unsigned)f->config->workers / 4);
	meters_init(f);
	f->samples = samples_new();
	f->figures = figure_samples_new();
	f->browsers = browsers_new();
	awaited_init(f);
	f->builds = builds_in_flight_new();
	f->pins = layer_pins_new();
	pthread_mutex_init(&f->ended_mutex, NULL);
	pthread_mutex_init(&f->pools->mutex, NULL);
	*ret = f;
	return 0;
}

void fleet_close(struct fleet *fleet)
{
	if (!fleet)
		return;
	while (fleet->ended) {
		struct ended_sandbox *ended = fleet->ended;

		fleet->ended = ended->next;
		free(ended);
	}
	pthread_mutex_destroy(&fleet->ended_mutex);
	free(fleet->pools->states);
	pthread_mutex_destroy(&fleet->pools->mutex);
	leases_in_flight_free(fleet->leases);
	meters_done(fleet);
	stored_providers_end(fleet);
	samples_free(fleet->samples);
	figure_samples_free(fleet->figures);
	browsers_free(fleet->browsers);
	builds_in_flight_free(fleet->builds);
	layer_pins_free(fleet->pins);
	ready_free(fleet->ready);
	work_lane_free(fleet->background->lane);
	work_lane_free(fleet->background->backup_lane);
	pending_end(fleet);
	awaited_done(fleet);
	template_cache_free(fleet->templates);
	project_cache_free(fleet->projects);
	free(fleet->sources);
	egress_cuts_free(fleet->cuts);
	takeover_free(fleet->takeover);
	pthread_rwlock_destroy(&fleet->preparer->lock);
	cache_done(fleet->cache);
	map_done(&fleet->pairing->noted);
	if (fleet->owns_providers)
		provider_set_free(fleet->providers);
	free(CONTAINER_OF(fleet, struct fleet_parts, fleet));
}

void fleet_end(struct fleet *fleet)
{
	if (!fleet)
		return;
	atomic_store(&fleet->meters->is_ending, true);
	template_waiters_close(fleet);
}

void fleet_leave(struct fleet *fleet)
{
	if (!fleet)
		return;
	alarms_free(TAKE(fleet->background->alarms));
	builds_leave(fleet);
	work_lane_free(TAKE(fleet->background->lane));
	work_lane_free(TAKE(fleet->background->backup_lane));
	pending_end(fleet);
	peer_leave(fleet);
	pairing_leave(fleet);
	jump_write(fleet);
	browsers_tidy(fleet, true);
}

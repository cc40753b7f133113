/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/fleet/leases.h — leases, as tests ask for them. */
#pragma once

#include <time.h>

#include "base/clock.h"
#include "base/map.h"
#include "harness.h"
#include "fleet/lease/lease.h"
#include "fleet/server/fleet.h"

struct harness;

#define KEY "workspace:42"
static const struct fleet_create like_any = {.internet = -1};
#define REF (&(struct lease_ref){PROJECT, KEY})

static inline struct fleet_lease ask(const char *key)
{
	return (struct fleet_lease){
	        .project_id = PROJECT, .key = key, .make = &like_any, .terms = LEASE_TERMS_SAME};
}

static inline struct fleet_leased acquire_as(struct harness *h, const struct fleet_lease *request)
{
	struct error err = {0};
	struct fleet_leased leased = {0};

	assert_done(fleet_lease_acquire(h->fleet, &h->arena, request, &leased, &err));
	assert_int_equal(leased.lease.status, LEASE_READY);
	assert_string_equal(leased.lease.sandbox_id, leased.sandbox.id);
	assert_string_equal(fake_has(&h->fake, leased.sandbox.id), "running");
	return leased;
}

static inline struct fleet_leased acquire(struct harness *h)
{
	const struct fleet_lease request = ask(KEY);

	return acquire_as(h, &request);
}

static inline struct lease_record look(struct harness *h)
{
	struct error err = {0};
	struct lease_record r = {0};

	assert_done(fleet_lease_find(h->fleet, &h->arena, REF, &r, &err));
	return r;
}

static inline size_t count_strays(struct harness *h)
{
	struct error err = {0};
	struct lease_stray_list list;

	assert_done(store_lease_strays(h->store, &h->arena, &list, &err));
	return list.count;
}

/* What one round of the tick found somebody at work on is the next one's. */
static inline void reconcile_strays(struct harness *h)
{
	const struct timespec pause = {.tv_nsec = 5000000};

	for (unsigned i = 0; i < 2000 && count_strays(h) > 0; i++) {
		fleet_tick(h->fleet);
		nanosleep(&pause, NULL);
	}
	assert_int_equal(count_strays(h), 0);
}

/* A claim of somebody who is not in this process. */
static inline struct lease_record foreign_claim(struct harness *h, int64_t age_ms)
{
	struct error err = {0};
	struct id id = id_new();
	const struct lease_record claim = {.project_id = PROJECT,
	                                   .key = KEY,
	                                   .sandbox_id = arena_text(&h->arena, id.text),
	                                   .status = LEASE_CREATING,
	                                   .epoch = 1,
	                                   .creating_since = clock_unix_ms() - age_ms,
	                                   .created_at = 1,
	                                   .last_activity_at = 1};

	assert_done(store_lease_insert(h->store, &claim, &err));
	return look(h);
}

struct rival {
	struct harness *h;
	pthread_t thread;
	char id[ID_SIZE + 1];
	bool created;
};

static inline void *compete(void *argument)
{
	struct rival *rival = argument;
	AUTO(arena_done) struct arena arena = {0};
	const struct fleet_lease request = ask(KEY);
	struct fleet_leased leased;
	struct error err = {0};

	if (fleet_lease_acquire(rival->h->fleet, &arena, &request, &leased, &err) == 0) {
		memcpy(rival->id, leased.sandbox.id, ID_SIZE);
		rival->created = leased.created;
	}
	return NULL;
}

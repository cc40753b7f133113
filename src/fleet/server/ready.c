/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/server/ready.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "fleet/core/fleet_state.h"
#include "fleet/recovery/jump.h"
#include "fleet/template/pools.h"
#include "provider/host_failure.h"
#include "provider/host_limits.h"
#include "provider/provider.h"
#include "provider/uplink.h"
#include "sandbox/egress.h"
#include "store/database.h"
#include "worker/worker.h"

#define ROUND_MS 6000   /* all checks of a round */
#define OVERDUE_MS 7000 /* then the round itself is what is wrong */
#define BAD_KEPT_MS 1000
#define GOOD_KEPT_MIN_MS 1000 /* where the option turns sandboxes off: store and provider alone */

struct ready {
	struct fleet *fleet;
	pthread_mutex_t mutex; /* guards all below */
	struct worker_task task;
	bool runs, has_begun, has_result;
	int64_t asked_ms;   /* of the round that runs; monotonic */
	int64_t settled_ms; /* of the result */
	/* creates, when the round that runs began, and when that of the result did */
	uint64_t asked_failed, failed;
	const char *step; /* the check that runs */
	struct ready_result result;
};

static const struct {
	const char *name, *cure;
} otherwise[] = {
        {"sandbox", "run 'atoll doctor' on the host, and look at the server's log"},
        {"network", "install nftables, and look at 'nft list ruleset' as root on the host; for "
                    "sandboxes without internet alone set ready_networks to 'off'"},
};

/* Sets code, reason and cure of a failed check. Pure. */
static void classify_check(const struct error *err, bool is_network, struct ready_check *check)
{
	const struct host_failure *found = host_failure_find(err);
	const char *name = found ? found->name : otherwise[is_network].name;
	const char *cure = found ? found->cure : otherwise[is_network].cure;

	(void)snprintf(check->code, sizeof(check->code), "%s", name);
	(void)snprintf(check->reason, sizeof(check->reason), "%s", err->text);
	(void)snprintf(check->cure, sizeof(check->cure), "%s", err->hint[0] ? err->hint : cure);
}

const struct ready_check *ready_failure(const struct ready_result *result)
{
	for (unsigned i = 0; i < result->count; i++)
		if (!result->checks[i].is_good)
			return &result->checks[i];
	return NULL;
}

struct ready_round {
	struct ready *ready;
	struct ready_result result;
	int64_t deadline;
};

static int check_store(const struct ready_round *round, struct error *err)
{
	return store_ping(round->ready->fleet->store, err);
}

static int check_provider(const struct ready_round *round, struct error *err)
{
	const struct fleet *f = round->ready->fleet;

	return f->ops->health(f->provider, err);
}

static int probe_network(const struct ready_round *round, const struct provider_probe *what,
                         struct error *err)
{
	const struct fleet *f = round->ready->fleet;

	return f->ops->probe(f->provider, what, round->deadline, err);
}

static int probe_without_internet(const struct ready_round *round, struct error *err)
{
	return probe_network(round, &(struct provider_probe){SANDBOX_NETWORK_BLOCKED, NULL}, err);
}

static int probe_with_internet(const struct ready_round *round, struct error *err)
{
	return probe_network(round, &(struct provider_probe){SANDBOX_NETWORK_INTERNET, NULL}, err);
}

static int probe_with_rules(const struct ready_round *round, struct error *err)
{
	return probe_network(
	        round, &(struct provider_probe){SANDBOX_NETWORK_INTERNET, "-" SANDBOX_EGRESS_ALL},
	        err);
}

static int check_pools(const struct ready_round *round, struct error *err)
{
	size_t count;

	return fleet_pools_check_shared(round->ready->fleet, &count, err);
}

#define ROW_INTERNET 3

static const struct ready_row {
	const char *name;
	const char *network; /* as ready_networks names it; NULL: no sandbox is made */
	unsigned needs;      /* enum provider_ability */
	bool is_network;
	int (*run)(const struct ready_round *round, struct error *err);
	const char *code; /* of its failures; NULL: what they say themselves */
} rows[] = {
        {"store", NULL, 0, false, check_store, NULL},
        {"provider", NULL, 0, false, check_provider, NULL},
        {"sandbox without internet", "off", 0, false, probe_without_internet, NULL},
        [ROW_INTERNET] = {"sandbox with internet", "on", PROVIDER_CAN_BLOCK_NETWORK, true,
                          probe_with_internet, NULL},
        {"sandbox with network rules", "rules", PROVIDER_CAN_FILTER, true, probe_with_rules, NULL},
        {"pools", NULL, PROVIDER_CAN_POOL, false, check_pools, "pool"},
};

static bool has_word(const char *list, const char *word)
{
	struct span rest = span_of(list), item;

	while (rest.size > 0) {
		(void)span_split(&rest, ',', &item);
		if (span_equals_text(span_trim(item), word))
			return true;
	}
	return false;
}

/* A project's own pool is the project's business: its state, its event and the metrics tell it. */
static bool has_shared_pools(struct fleet *f)
{
	size_t count;

	(void)!fleet_pools_check_shared(f, &count, &(struct error){0});
	return count > 0;
}

static bool is_wanted(struct fleet *f, const struct ready_row *row)
{
	if (row->run == check_pools)
		return has_shared_pools(f);
	if (!row->network)
		return true;
	return f->ops->probe && f->config->ready_probe_every_ms > 0 &&
	       (provider_ops_of(f->provider)->abilities & row->needs) == row->needs &&
	       has_word(f->config->ready_networks, row->network);
}

static int find_uplink(struct fleet *f, struct error *err)
{
	if (!is_wanted(f, &rows[ROW_INTERNET]))
		return 0;
	return uplink_check(err);
}

static int find_address_space(UNUSED struct fleet *f, struct error *err)
{
	return host_limits_check_address_space(err);
}

static int find_tasks(UNUSED struct fleet *f, struct error *err)
{
	return host_limits_check_tasks(err);
}

static const struct {
	const char *name, *code;
	int (*find)(struct fleet *f, struct error *err);
} warning_rows[] = {
        {"sandbox with internet", "no_route", find_uplink},
        {"clock", "clock", jump_check},
        {"address space", "address_space", find_address_space},
        {"tasks", "tasks", find_tasks},
};
_Static_assert(COUNT_OF(warning_rows) <= READY_WARNINGS_MAX, "room for each warning");

static void add_warnings(struct fleet *f, struct ready_result *result)
{
	for (unsigned i = 0; i < COUNT_OF(warning_rows); i++) {
		struct ready_check *warning = &result->warnings[result->warning_count];
		struct error err = {0};

		if (warning_rows[i].find(f, &err) == 0)
			continue;
		*warning = (struct ready_check){.name = warning_rows[i].name};
		classify_check(&err, false, warning);
		(void)snprintf(warning->code, sizeof(warning->code), "%s", warning_rows[i].code);
		result->warning_count++;
	}
}

static void run_check(struct ready_round *round, const struct ready_row *row)
{
	struct ready_check *check = &round->result.checks[round->result.count++];
	int64_t begun_ns = clock_monotonic_ns();
	struct error err = {0};

	pthread_mutex_lock(&round->ready->mutex);
	round->ready->step = row->name;
	pthread_mutex_unlock(&round->ready->mutex);
	*check = (struct ready_check){.name = row->name};
	check->is_good = row->run(round, &err) == 0;
	check->took_us = (clock_monotonic_ns() - begun_ns) / 1000;
	if (check->is_good)
		return;
	round->result.is_ready = false;
	host_limits_explain(&err);
	classify_check(&err, row->is_network, check);
	if (row->code)
		(void)snprintf(check->code, sizeof(check->code), "%s", row->code);
}

/* The state of the log's last line: a line per change, not per round. */
static void log_change(const struct ready *r, const struct ready_result *now)
{
	const struct ready_check *bad = ready_failure(now);

	if (now->warning_count > (r->has_result ? r->result.warning_count : 0))
		log_warning("ready, with a warning", TEXT("code", now->warnings[0].code),
		            TEXT("reason", now->warnings[0].reason),
		            TEXT("cure", now->warnings[0].cure));
	if (r->has_result && r->result.is_ready == now->is_ready)
		return;
	if (bad)
		log_warning("not ready: sandboxes cannot be made", TEXT("check", bad->name),
		            TEXT("code", bad->code), TEXT("reason", bad->reason),
		            TEXT("cure", bad->cure));
	else if (r->has_result)
		log_info("ready again: sandboxes can be made");
}

static void set_result(struct ready *r, const struct ready_result *result)
{
	log_change(r, result);
	r->result = *result;
	r->has_result = true;
	r->failed = r->asked_failed;
	r->settled_ms = clock_monotonic_ms();
}

static void run_round(struct worker_task *task)
{
	struct ready *r = CONTAINER_OF(task, struct ready, task);
	struct ready_round round = {.ready = r, .deadline = deadline_after(ROUND_MS)};

	pthread_mutex_lock(&r->mutex);
	r->has_begun = true;
	pthread_mutex_unlock(&r->mutex);
	round.result.is_ready = true;
	for (unsigned i = 0; i < COUNT_OF(rows) && round.result.is_ready; i++)
		if (is_wanted(r->fleet, &rows[i]))
			run_check(&round, &rows[i]);
	if (round.result.is_ready)
		add_warnings(r->fleet, &round.result);
	round.result.at_unix_ms = clock_unix_ms();
	pthread_mutex_lock(&r->mutex);
	set_result(r, &round.result);
	r->runs = false;
	pthread_mutex_unlock(&r->mutex);
}

static void set_failure(struct ready_result *result, const char *name, const struct error *err,
                        const char *code)
{
	*result = (struct ready_result){.at_unix_ms = clock_unix_ms(), .count = 1};
	result->checks[0] = (struct ready_check){.name = name};
	classify_check(err, false, &result->checks[0]);
	(void)snprintf(result->checks[0].code, READY_CODE_SIZE, "%s", code);
}

static void begin_round(struct ready *r)
{
	struct ready_result result;
	struct error err = {0};

	r->task = (struct worker_task){.lane = WORKER_SLOW, .run = run_round};
	r->asked_ms = clock_monotonic_ms();
	r->asked_failed = atomic_load(&r->fleet->create_failed);
	r->has_begun = false;
	r->step = NULL;
	r->runs = worker_submit(r->fleet->workers, &r->task, &err) == 0;
	if (r->runs)
		return;
	error_hint(&err, "builds or creates hold every worker: wait, or raise the option workers");
	set_failure(&result, "workers", &err, "workers_busy");
	set_result(r, &result);
}

/* The running round is late: reports its current step. */
static void set_overdue(struct ready *r)
{
	struct ready_result result;
	struct error err = {0};

	if (r->has_begun) {
		error_set(&err, ERROR_TIMEOUT, 0, HERE, "the check '%s' has not ended for %d s",
		          r->step ? r->step : "store", OVERDUE_MS / 1000);
		error_hint(&err, "the machine is overloaded or a step hangs: look at its load and "
		                 "at the server's log");
		set_failure(&result, r->step ? r->step : "store", &err, "timeout");
	} else {
		error_set(&err, ERROR_TIMEOUT, 0, HERE, "no worker was free for a create for %d s",
		          OVERDUE_MS / 1000);
		error_hint(&err, "builds or creates hold every worker of the slow lane: wait, or "
		                 "raise the option workers");
		set_failure(&result, "workers", &err, "workers_busy");
	}
	set_result(r, &result);
}

static bool is_fresh(const struct ready *r, int64_t now)
{
	int64_t kept = r->fleet->config->ready_probe_every_ms;

	if (kept < GOOD_KEPT_MIN_MS)
		kept = GOOD_KEPT_MIN_MS;
	/* A create that has failed since may have met what a new round would find. */
	if (!r->result.is_ready || r->failed != atomic_load(&r->fleet->create_failed))
		kept = BAD_KEPT_MS;
	return r->has_result && now - r->settled_ms < kept;
}

bool ready_get(struct fleet *fleet, struct ready_result *ret)
{
	struct ready *r = fleet->ready;
	int64_t now = clock_monotonic_ms();
	bool counts;

	pthread_mutex_lock(&r->mutex);
	if (!is_fresh(r, now) && !r->runs)
		begin_round(r);
	if (r->runs && now - r->asked_ms >= OVERDUE_MS)
		set_overdue(r);
	counts = is_fresh(r, clock_monotonic_ms());
	if (counts)
		*ret = r->result;
	pthread_mutex_unlock(&r->mutex);
	return counts;
}

bool ready_last(struct fleet *fleet, struct ready_result *ret)
{
	struct ready *r = fleet->ready;
	bool has_result;

	pthread_mutex_lock(&r->mutex);
	has_result = r->has_result;
	if (has_result)
		*ret = r->result;
	pthread_mutex_unlock(&r->mutex);
	return has_result;
}

struct ready *ready_new(struct fleet *fleet)
{
	struct ready *r = memory_new(sizeof(*r));

	r->fleet = fleet;
	pthread_mutex_init(&r->mutex, NULL);
	return r;
}

void ready_free(struct ready *r)
{
	pthread_mutex_destroy(&r->mutex);
	free(r);
}

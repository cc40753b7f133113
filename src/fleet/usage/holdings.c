/* SPDX-License-Identifier: Apache-2.0 */
/* Metering of kept storage, in the background, by a worker of the slow lane that no request waits
 * for. */

#include <stdatomic.h>
#include <stdio.h>

#include "base/id.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/sandboxes.h"
#include "fleet/usage/meters.h"
#include "fleet/usage/meters_state.h"
#include "provider/provider.h"
#include "store/holdings.h"
#include "store/usage.h"

#define MINUTE_MS (INT64_C(60) * 1000)
#define ROUND_EVERY_MS (5 * MINUTE_MS)
#define METER_EVERY_MS (15 * MINUTE_MS)
/* Things that may grow are measured this often, others to notice changes. */
#define MEASURE_EVERY_MS (60 * MINUTE_MS)
#define LOOK_AGAIN_MS (24 * 60 * MINUTE_MS)
#define MEASURE_TIMEOUT_MS 60000
#define MEASURES_MAX 100         /* of a round, */
#define ROUND_MS (2 * MINUTE_MS) /* which ends then; the rest is the next one's */
#define BATCH_MAX 200
#define PIECES_MAX 48

struct holdings_round {
	struct fleet *fleet;
	int64_t now, deadline;
	unsigned measures_left;
	struct arena arena; /* of a batch */
};

static void holdings_round_done(struct holdings_round *round)
{
	arena_done(&round->arena);
}

static bool is_stale(const struct holding_record *r, int64_t now)
{
	int64_t age_ms = now - r->measured_at;

	if (r->measured_at < 0)
		return now + r->measured_at >= MEASURE_EVERY_MS;
	return r->measured_at == 0 || r->measured_at < r->since ||
	       age_ms >= (r->changes ? MEASURE_EVERY_MS : LOOK_AGAIN_MS);
}

static bool is_known(const struct holding_record *r)
{
	return r->reason == USAGE_BACKUP || r->measured_at > 0 || r->bytes > 0;
}

static int measure_holding(struct fleet *f, const struct holding_record *r, int64_t *ret,
                           struct error *err)
{
	static const enum provider_measured_kind measured_kinds[USAGE_REASON_COUNT] = {
	        [USAGE_STORAGE] = PROVIDER_MEASURE_SANDBOX,
	        [USAGE_VOLUME] = PROVIDER_MEASURE_VOLUME,
	        [USAGE_SNAPSHOT] = PROVIDER_MEASURE_SNAPSHOT,
	};
	struct provider *p = f->provider;
	uint64_t bytes;

	if ((r->reason == USAGE_STORAGE && sandbox_provider_find(f, r->id, &p, err) < 0) ||
	    provider_require(p, PROVIDER_CAN_MEASURE, err) < 0 ||
	    provider_ops_of(p)->measure(p, measured_kinds[r->reason], r->id,
	                                deadline_after(MEASURE_TIMEOUT_MS), &bytes, err) < 0)
		return -1;
	*ret = bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
	return 0;
}

/* A failed measurement is recorded, so that it does not keep others from their turn. */
static void update_size(struct holdings_round *round, struct holding_usage *usage)
{
	const struct holding_record *r = usage->seen;
	struct error err = {0};

	if (r->reason == USAGE_BACKUP || !is_stale(r, round->now) || round->measures_left == 0)
		return;
	round->measures_left--;
	if (measure_holding(round->fleet, r, &usage->bytes, &err) < 0) {
		log_debug("not measured", TEXT("id", r->id), FAILURE(&err));
		usage->measured_at = -round->now;
		return;
	}
	usage->measured_at = round->now;
}

static void add_row(struct holdings_round *round, struct holding_usage *usage,
                    struct usage_record *row, const struct usage_piece *piece)
{
	const struct holding_record *r = usage->seen;
	int64_t mib_s = storage_mib_s(usage->bytes, piece->until - piece->from), nano = 0;
	struct id id = id_new();
	struct error err = {0};

	if (price_storage(&round->fleet->meters->prices, mib_s, &nano, &err) < 0)
		log_error("storage is not charged", TEXT("id", r->id), FAILURE(&err));
	*row = (struct usage_record){
	        .id = arena_text(&round->arena, id.text),
	        .project_id = r->project_id,
	        .key_id = r->key_id,
	        .sandbox_id = r->sandbox_id,
	        .run = "",
	        .reason = r->reason,
	        .hour = piece->hour,
	        .storage_mib_s = mib_s,
	        .usd_micro = price_charge(nano, &usage->unbilled_nano),
	        .started_at = piece->from,
	        .ended_at = piece->until,
	};
}

/* A thing seen for the first time may be older than this table: it pays for two rounds at most. */
static struct usage_due due_of(const struct holding_record *r, int64_t now)
{
	int64_t known = r->metered_at > 0 ? r->metered_at : now - 2 * METER_EVERY_MS;
	int64_t from = known > r->since ? known : r->since;

	return (struct usage_due){from, now, now - from};
}

static int meter_holding(struct holdings_round *round, const struct holding_record *r,
                         struct error *err)
{
	const struct usage_due due = due_of(r, round->now);
	struct usage_piece pieces[PIECES_MAX];
	struct usage_record rows[PIECES_MAX];
	struct holding_usage usage = {.seen = r,
	                              .bytes = r->bytes,
	                              .measured_at = r->measured_at,
	                              .metered_at = round->now,
	                              .unbilled_nano = r->unbilled_nano,
	                              .rows = rows};

	update_size(round, &usage);
	if (usage.measured_at <= 0 && !is_known(r)) {
		if (usage.measured_at == r->measured_at)
			return 0;
		/* Not charged until its size is known. */
		usage.metered_at = due.from;
		return store_holding_write(round->fleet->store, &usage, err);
	}
	usage.row_count = usage_split(&due, pieces, PIECES_MAX);
	for (size_t i = 0; i < usage.row_count; i++)
		add_row(round, &usage, &rows[i], &pieces[i]);
	return store_holding_write(round->fleet->store, &usage, err);
}

/* A measurement may take a minute. */
static bool is_round_over(const struct holdings_round *round)
{
	return atomic_load(&round->fleet->meters->is_ending) ||
	       clock_monotonic_ms() >= round->deadline;
}

static int meter_holdings(struct holdings_round *round, struct error *err)
{
	char after[ID_SIZE + 1] = "";
	struct holding_list list;

	do {
		const struct holding_page page = {.node = round->fleet->node,
		                                  .before = round->now - METER_EVERY_MS,
		                                  .after = after,
		                                  .limit = BATCH_MAX};

		arena_reset(&round->arena);
		if (store_holding_list(round->fleet->store, &round->arena, &page, &list, err) < 0)
			return -1;
		for (size_t i = 0; i < list.count && !is_round_over(round); i++)
			if (meter_holding(round, &list.items[i], err) < 0)
				return -1;
		if (list.count > 0)
			(void)snprintf(after, sizeof(after), "%s", list.items[list.count - 1].id);
	} while (list.count == BATCH_MAX && !is_round_over(round));
	return 0;
}

int holdings_meter(struct fleet *f, int64_t now, struct error *err)
{
	AUTO(holdings_round_done)
	struct holdings_round round = {.fleet = f,
	                               .now = now,
	                               .deadline = deadline_after(ROUND_MS),
	                               .measures_left = MEASURES_MAX};

	if (meter_holdings(&round, err) < 0 || store_holding_tidy(f->store, err) < 0)
		return FAIL_CONTEXT(err, "meter what is kept");
	return 0;
}

int holdings_meter_sandbox(struct fleet *f, const char *id, struct error *err)
{
	AUTO(holdings_round_done)
	struct holdings_round round = {.fleet = f, .now = clock_unix_ms(), .measures_left = 1};
	const struct holding_page page = {
	        .node = f->node, .before = round.now, .after = "", .only = id, .limit = 1};
	struct holding_list list;

	if (store_holding_list(f->store, &round.arena, &page, &list, err) < 0 ||
	    (list.count > 0 && meter_holding(&round, &list.items[0], err) < 0))
		return FAIL_CONTEXT(err, "meter what sandbox '%s' keeps", id);
	return 0;
}

static void run_round(struct worker_task *task)
{
	struct meters *m = CONTAINER_OF(task, struct meters, holdings_task);
	struct fleet *f = m->fleet;
	struct error err = {0};

	if (holdings_meter(f, clock_unix_ms(), &err) < 0)
		log_warning("what is kept is metered later", FAILURE(&err));
	atomic_store(&m->is_measuring, false);
}

void holdings_tick(struct fleet *f)
{
	struct meters *m = f->meters;
	int64_t now = clock_monotonic_ms();
	struct error err = {0};

	if (now - m->measured_at < ROUND_EVERY_MS || atomic_exchange(&m->is_measuring, true))
		return;
	m->measured_at = now;
	m->holdings_task = (struct worker_task){.lane = WORKER_SLOW, .run = run_round};
	if (worker_submit(f->workers, &m->holdings_task, &err) < 0)
		atomic_store(&m->is_measuring, false);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/usage/usage.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/thread.h"
#include "config/config.h"
#include "fleet/core/cache.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/meter.h"
#include "fleet/core/sandboxes.h"
#include "fleet/usage/meters.h"
#include "fleet/usage/meters_state.h"
#include "provider/provider.h"
#include "store/quotas.h"
#include "store/usage.h"

/* Sandboxes in one transaction. */
#define BATCH_MAX 200
/* Hours of one sandbox in one write: what is older, after a long time without a server, goes to the
 * first of them. */
#define PIECES_MAX (31 * 24)
/* A sandbox used by another server is metered there, unless that server is this late. */
#define LATE_FACTOR 3
#define STORAGE_EVERY_MS USAGE_HOUR_MS
/* A round writes a row once in usage_flush. */
#define SENT_TRIES 3
/* Only today's sent bytes are asked for; the clock may be set back by some days. */
#define SENT_KEPT_MS (7 * QUOTA_DAY_MS)

void meters_init(struct fleet *f)
{
	f->meters->fleet = f;
	pthread_mutex_init(&f->meters->writing, NULL);
	pthread_mutex_init(&f->meters->mutex, NULL);
	f->meters->prices = (struct prices){price_of_usd(f->config->price_vcpu_second),
	                                    price_of_usd(f->config->price_memory_gib_second),
	                                    price_of_usd(f->config->price_storage_gib_month)};
	/* The first tick writes at once. */
	f->meters->written_at = f->meters->whole_at = f->meters->measured_at = INT64_MIN / 2;
}

void meters_done(struct fleet *f)
{
	map_done(&f->meters->spent);
	arena_done(&f->meters->arena);
	pthread_mutex_destroy(&f->meters->mutex);
	pthread_mutex_destroy(&f->meters->writing);
}

/* A slow sandbox delays its sample, so rounds take samples before they hold `writing`. */
struct sample {
	struct provider_stats stats;
	/* Of the row that was read before the sample: counters begin anew when it changes. */
	int64_t active_changed_at, egress_seen;
};

/* One write of all that is due. */
struct writing {
	struct fleet *fleet;
	int64_t now;
	bool is_whole;
	bool is_ours;       /* it is known that no other server uses it */
	struct map ended;   /* id -> struct meter, of sandboxes that have no slot any more */
	struct map samples; /* id -> struct sample */
	struct arena arena; /* of a batch */
	struct usage_part parts[BATCH_MAX];
	size_t count;
};

static void collect_ended(struct writing *w)
{
	struct meter *m = cache_meters_take(w->fleet->cache);

	while (m) {
		struct meter *next = m->next, *known = map_find(&w->ended, m->id);

		if (known) {
			meter_read(m, known);
			meter_free(m);
		} else {
			map_put(&w->ended, m->id, m);
		}
		m = next;
	}
}

static void writing_done(struct writing *w)
{
	size_t at = 0;
	const char *id;
	struct sample *sample;
	struct meter *m;

	while ((m = map_next(&w->ended, &at, &id)))
		meter_free(m);
	map_done(&w->ended);
	for (at = 0; (sample = map_next(&w->samples, &at, &id));)
		free(sample);
	map_done(&w->samples);
	arena_done(&w->arena);
}

/* False: another server uses it. */
static bool read_meter(struct writing *w, const struct meter_record *r, const struct usage_due *due,
                       struct meter *ret)
{
	struct meter *ended = map_find(&w->ended, r->id);
	bool is_known = cache_meter_read(w->fleet->cache, r->id, ret) || ended;
	int64_t late_ms = w->fleet->config->usage_flush_ms * LATE_FACTOR;

	if (ended)
		meter_read(ended, ret);
	if (is_known || w->is_ours)
		return true;
	return r->actual == SANDBOX_STARTED ? due->ms >= late_ms : w->now - due->until >= late_ms;
}

static bool take_sample(struct fleet *f, const char *id, struct provider_stats *ret)
{
	struct provider *p;
	struct error err = {0};

	if (sandbox_provider_find(f, id, &p, &err) == 0 &&
	    provider_require(p, PROVIDER_CAN_STATS, &err) == 0 &&
	    provider_ops_of(p)->stats(p, id, ret, &err) == 0)
		return true;
	log_debug("no sample", TEXT("sandbox", id), FAILURE(&err));
	return false;
}

static void add_sample(struct writing *w, const struct meter_record *r)
{
	struct provider_stats stats;
	struct sample *sample;

	if (r->actual != SANDBOX_STARTED || map_find(&w->samples, r->id) ||
	    !take_sample(w->fleet, r->id, &stats))
		return;
	sample = memory_new(sizeof(*sample));
	*sample = (struct sample){stats, r->active_changed_at, r->egress_seen};
	map_put(&w->samples, r->id, sample);
}

/* Calls `add` for each row of this server's sandboxes, and `end`, if any, after each batch. */
static int each_active(struct writing *w,
                       void (*add)(struct writing *w, const struct meter_record *r),
                       int (*end)(struct writing *w, struct error *err), struct error *err)
{
	char after[ID_SIZE + 1] = "";
	const struct meter_page page = {.node = w->fleet->node, .after = after, .limit = BATCH_MAX};
	struct meter_list list;

	do {
		arena_reset(&w->arena);
		if (store_meter_list(w->fleet->store, &w->arena, &page, &list, err) < 0)
			return -1;
		for (size_t i = 0; i < list.count; i++)
			add(w, &list.items[i]);
		if (list.count > 0)
			memcpy(after, list.items[list.count - 1].id,
			       strnlen(list.items[list.count - 1].id, ID_SIZE) + 1);
		if (end && end(w, err) < 0)
			return -1;
	} while (list.count == BATCH_MAX);
	return 0;
}

/* NULL: there is none, or the sandbox has ended, paused or started since. */
static const struct sample *find_sample(struct writing *w, const struct meter_record *r)
{
	const struct sample *sample = map_find(&w->samples, r->id);

	return sample && r->actual == SANDBOX_STARTED &&
	                       r->active_changed_at == sample->active_changed_at
	               ? sample
	               : NULL;
}

/* Bytes since the last sample. The counter begins anew with each start. */
static void add_sent(struct usage_part *part, const struct provider_stats *stats, int64_t now)
{
	int64_t seen = part->seen->egress_seen, sent;

	if (stats->network_out_bytes > INT64_MAX)
		return;
	sent = (int64_t)stats->network_out_bytes;
	part->egress_seen = sent;
	part->sent_bytes = sent >= seen ? sent - seen : sent;
	part->sent_day = quota_day(now);
}

/* A sample from before the last write would count twice. */
static void add_sampled_sent(struct writing *w, struct usage_part *part,
                             const struct sample *sample)
{
	if (part->seen->egress_seen == sample->egress_seen)
		add_sent(part, &sample->stats, w->now);
}

/* Processor time since the last sample. The counter begins anew with each start. */
static int64_t sample_cpu(struct writing *w, struct usage_part *part)
{
	const struct sample *sample = find_sample(w, part->seen);
	int64_t seen = part->seen->metered_cpu_us, cpu_us;

	if (!sample)
		return 0;
	add_sampled_sent(w, part, sample);
	cpu_us =
	        sample->stats.cpu_usage_us > INT64_MAX ? seen : (int64_t)sample->stats.cpu_usage_us;
	part->metered_cpu_us = cpu_us;
	if (sample->stats.disk_bytes != UINT64_MAX)
		part->stored_mib = (int64_t)(sample->stats.disk_bytes >> 20);
	return cpu_us >= seen ? cpu_us - seen : cpu_us;
}

/* One row for each user and hour. */
struct share {
	const struct meter_use *use; /* NULL: no use */
	const struct usage_piece *piece;
	int64_t active_ms, cpu_us;
};

static void add_row(struct writing *w, struct usage_part *part, struct usage_record *rows,
                    const struct share *share)
{
	const struct meter_record *r = part->seen;
	const struct meter_use *use = share->use;
	struct id id = id_new();
	struct error err = {0};
	int64_t nano = 0;

	if (share->active_ms == 0 && share->cpu_us == 0)
		return;
	if (price_active(&w->fleet->meters->prices, &r->resources, share->active_ms, &nano, &err) <
	    0)
		log_error("use is not charged", TEXT("sandbox", r->id), FAILURE(&err));
	rows[part->row_count++] = (struct usage_record){
	        .id = arena_text(&w->arena, id.text),
	        .project_id = r->project_id,
	        .key_id = use ? arena_text(&w->arena, use->key_id) : r->key_id,
	        .sandbox_id = r->id,
	        .provider = r->provider,
	        .run = use ? arena_text(&w->arena, use->run) : "",
	        .conversation = use ? arena_text(&w->arena, use->conversation) : "",
	        .reason = use ? use->reason : USAGE_IDLE,
	        .hour = share->piece->hour,
	        .active_ms = share->active_ms,
	        .cpu_us = share->cpu_us,
	        .usd_micro = price_charge(nano, &part->unbilled_nano),
	        .vcpu = r->resources.cpu,
	        .memory_mb = r->resources.memory_mb,
	        .started_at = share->piece->from,
	        .ended_at = share->piece->until,
	};
}

static size_t split_hours(struct writing *w, const struct usage_due *due, struct usage_piece **ret)
{
	size_t hours = (size_t)(due->ms / USAGE_HOUR_MS) + 2;
	size_t max = hours < PIECES_MAX ? hours : PIECES_MAX;

	*ret = ARENA_ARRAY(&w->arena, struct usage_piece, max);
	return usage_split(due, *ret, max);
}

static void add_rows(struct writing *w, struct usage_part *part, const struct usage_due *due,
                     const struct meter *meter)
{
	struct usage_piece *pieces;
	size_t piece_count = split_hours(w, due, &pieces);
	size_t uses = meter->count > 0 ? meter->count : 1;
	struct usage_record *rows =
	        ARENA_ARRAY(&w->arena, struct usage_record, piece_count * uses + 1);
	int64_t weights[METER_KEYS_MAX] = {0}, ms[METER_KEYS_MAX], cpu_us[METER_KEYS_MAX];
	int64_t used_us = sample_cpu(w, part);

	for (unsigned i = 0; i < meter->count; i++)
		weights[i] = meter->uses[i].begun;
	for (size_t p = 0; p < piece_count; p++) {
		usage_share(pieces[p].until - pieces[p].from, weights, uses, ms);
		/* The sample is the last hour's. */
		usage_share(p + 1 == piece_count ? used_us : 0, weights, uses, cpu_us);
		for (size_t i = 0; i < uses; i++)
			add_row(w, part, rows,
			        &(struct share){meter->count > 0 ? &meter->uses[i] : NULL,
			                        &pieces[p], ms[i], cpu_us[i]});
	}
	part->rows = rows;
}

static struct usage_part part_of(const struct meter_record *r)
{
	return (struct usage_part){.seen = r,
	                           .metered_ms = r->metered_ms,
	                           .metered_cpu_us = r->metered_cpu_us,
	                           .unbilled_nano = r->unbilled_nano,
	                           .stored_mib = r->stored_mib,
	                           .stored_at = r->stored_at,
	                           .egress_seen = r->egress_seen};
}

static void add_part(struct writing *w, const struct meter_record *r)
{
	const struct usage_clock clock = meter_clock(r);
	const struct usage_due due = usage_due(&clock, w->now);
	struct usage_part *part = &w->parts[w->count];
	const struct sample *sample = find_sample(w, r);
	struct meter meter = {0};

	if (due.ms <= 0 && sample) {
		/* After a clock that went back, bytes count all the same. */
		*part = part_of(r);
		add_sampled_sent(w, part, sample);
		w->count++;
		return;
	}
	if (due.ms > 0 && read_meter(w, r, &due, &meter)) {
		*part = part_of(r);
		part->metered_ms += due.ms;
		add_rows(w, part, &due, &meter);
		w->count++;
	}
	free(meter.uses);
}

static int write_batch(struct writing *w, struct error *err)
{
	int result;

	fault_point("usage", "collected");
	result = store_usage_write(w->fleet->store, w->parts, w->count, err);
	fault_point("usage", "written");
	w->count = 0;
	return result;
}

static void add_storage_row(struct writing *w, struct usage_part *part, struct usage_record *row,
                            const struct usage_piece *piece)
{
	const struct meter_record *r = part->seen;
	int64_t mib_s = r->stored_mib * ((piece->until - piece->from) / 1000), nano = 0;
	struct id id = id_new();
	struct error err = {0};

	if (price_storage(&w->fleet->meters->prices, mib_s, &nano, &err) < 0)
		log_error("storage is not charged", TEXT("sandbox", r->id), FAILURE(&err));
	*row = (struct usage_record){
	        .id = arena_text(&w->arena, id.text),
	        .project_id = r->project_id,
	        .key_id = r->key_id,
	        .sandbox_id = r->id,
	        .run = "",
	        .reason = USAGE_STORAGE,
	        .hour = piece->hour,
	        .storage_mib_s = mib_s,
	        .usd_micro = price_charge(nano, &part->unbilled_nano),
	        .vcpu = r->resources.cpu,
	        .memory_mb = r->resources.memory_mb,
	        .started_at = piece->from,
	        .ended_at = piece->until,
	};
}

/* Files cost while their sandbox rests; those of a persistent one always. */
static void add_stored(struct writing *w, const struct meter_record *r)
{
	bool is_new = !r->persistent && r->active_changed_at > r->stored_at;
	int64_t since = is_new || r->stored_at == 0 ? r->active_changed_at : r->stored_at;
	const struct usage_due due = {since, w->now, w->now - since};
	struct usage_piece *pieces;
	size_t count = split_hours(w, &due, &pieces);
	struct usage_record *rows = ARENA_ARRAY(&w->arena, struct usage_record, count + 1);
	struct usage_part *part = &w->parts[w->count++];

	*part = part_of(r);
	part->stored_at = w->now;
	part->rows = rows;
	for (; part->row_count < count; part->row_count++)
		add_storage_row(w, part, &rows[part->row_count], &pieces[part->row_count]);
}

/* One batch per tick. */
static int write_stored(struct writing *w, struct error *err)
{
	struct meter_list list;

	arena_reset(&w->arena);
	if (store_storage_list(w->fleet->store, &w->arena, w->now - STORAGE_EVERY_MS, BATCH_MAX,
	                       &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++)
		add_stored(w, &list.items[i]);
	return write_batch(w, err);
}

static int write_usage(struct writing *w, struct error *err)
{
	w->now = clock_unix_ms();
	collect_ended(w);
	if (each_active(w, add_part, write_batch, err) < 0 ||
	    (w->is_whole && write_stored(w, err) < 0))
		return -1;
	return budgets_refresh(w->fleet, err);
}

/* The caller holds `writing`. */
static bool is_due(const struct meters *m, int64_t every_ms, bool is_whole)
{
	return clock_monotonic_ms() - (is_whole ? m->whole_at : m->written_at) >= every_ms;
}

static bool wants_samples(struct meters *m, int64_t every_ms)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&m->writing);

	return is_due(m, every_ms, true);
}

int meters_write(struct fleet *f, int64_t every_ms, bool is_whole, struct error *err)
{
	AUTO(writing_done) struct writing w = {.fleet = f, .is_whole = is_whole};
	struct meters *m = f->meters;
	int64_t begun;
	int result = 0;

	if (is_whole && wants_samples(m, every_ms) && each_active(&w, add_sample, NULL, err) < 0)
		return FAIL_CONTEXT(err, "write usage");
	pthread_mutex_lock(&m->writing);
	begun = clock_monotonic_ms();
	if (is_due(m, every_ms, is_whole)) {
		result = write_usage(&w, err);
		if (result == 0)
			m->written_at = begun;
		if (result == 0 && is_whole)
			m->whole_at = begun;
	}
	pthread_mutex_unlock(&m->writing);
	return result < 0 ? FAIL_CONTEXT(err, "write usage") : 0;
}

static void add_files(struct writing *w, const struct meter_record *r)
{
	if (r->stored_mib > 0 && r->stored_at < w->now && r->active_changed_at < w->now)
		add_stored(w, r);
}

static int write_sandbox(struct fleet *f, const char *id,
                         void (*add)(struct writing *w, const struct meter_record *r),
                         struct error *err)
{
	AUTO(writing_done) struct writing w = {.fleet = f, .is_ours = true};
	struct meter_record r;
	int result;

	/* A write that has seen the row as it was ends first. */
	pthread_mutex_lock(&f->meters->writing);
	w.now = clock_unix_ms();
	result = store_meter_find(f->store, &w.arena, id, &r, err);
	if (result == 0) {
		add(&w, &r);
		result = write_batch(&w, err);
	}
	pthread_mutex_unlock(&f->meters->writing);
	return result < 0 ? FAIL_CONTEXT(err, "write the usage of sandbox '%s'", id) : 0;
}

int meters_write_use(struct fleet *f, const char *id, struct error *err)
{
	return write_sandbox(f, id, add_part, err);
}

int meters_write_files(struct fleet *f, const char *id, struct error *err)
{
	return write_sandbox(f, id, add_files, err);
}

/* Returns 1 when a round has written the row since it was read. */
static int write_sent_once(struct fleet *f, const char *id, const struct provider_stats *known,
                           struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct provider_stats stats;
	struct usage_part part;
	struct meter_record r;
	bool is_written = true;

	/* The row first: what a round counts meanwhile is not counted again. */
	if (store_meter_find(f->store, &arena, id, &r, err) < 0)
		return -1;
	if (known)
		stats = *known;
	else if (!take_sample(f, id, &stats))
		return 0;
	part = part_of(&r);
	add_sent(&part, &stats, clock_unix_ms());
	if (store_sent_write(f->store, &part, &is_written, err) < 0)
		return -1;
	return is_written ? 0 : 1;
}

static void write_sent(struct fleet *f, const char *id, const struct provider_stats *known)
{
	struct error err = {0};
	int result = 1;

	if (!atomic_load(&f->meters->egress_is_limited))
		return;
	for (unsigned i = 0; i < SENT_TRIES && result > 0; i++)
		result = write_sent_once(f, id, known, &err);
	if (result < 0)
		log_warning("the last bytes of a sandbox do not count", TEXT("sandbox", id),
		            FAILURE(&err));
}

void meters_write_sent(struct fleet *f, const char *id)
{
	write_sent(f, id, NULL);
}

void meters_write_last_sent(struct fleet *f, const char *id, uint64_t bytes)
{
	if (bytes != UINT64_MAX)
		write_sent(f, id, &(struct provider_stats){.network_out_bytes = bytes});
}

int meters_restart_sent(struct fleet *f, const char *id, struct error *err)
{
	return store_sent_restart(f->store, id, err);
}

int meters_purge(struct fleet *f, int64_t now, struct error *err)
{
	int64_t keep_ms = f->config->usage_keep_ms;

	if (store_egress_purge(f->store, now - SENT_KEPT_MS, err) < 0)
		return -1;
	return keep_ms > 0 ? store_usage_purge(f->store, now - keep_ms, err) : 0;
}

int fleet_quotas_refresh(struct fleet *fleet, struct error *err)
{
	bool is_limited;

	if (store_quota_is_used(fleet->store, QUOTA_EGRESS_MB_PER_DAY, &is_limited, err) < 0)
		return -1;
	atomic_store(&fleet->meters->egress_is_limited, is_limited);
	return 0;
}

bool fleet_egress_is_limited(const struct fleet *fleet)
{
	return atomic_load(&fleet->meters->egress_is_limited);
}

int fleet_usage_sum(struct fleet *fleet, struct arena *a, const struct usage_query *query,
                    struct usage_sums *ret, struct error *err)
{
	if (meters_write(fleet, fleet->config->usage_flush_ms / 12, false, err) < 0)
		return -1;
	return store_usage_sum(fleet->store, a, query, ret, err);
}

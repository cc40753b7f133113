/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/meters.h — usage.c: from the meters into the store. holdings.c: what is kept. budgets.c:
 * what may be spent. Private to this folder. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "fleet/usage.h"
#include "worker/worker.h"

/* Budgets that are spent, and what else metering knows from one write to the next. */
struct meters {
	pthread_mutex_t writing; /* one at a time */
	int64_t written_at;      /* monotonic; of its holder, as is the next */
	int64_t whole_at;        /* the same, of the last one that was whole */
	int64_t measured_at;     /* the same, of holdings.c; of the ticking thread */
	atomic_bool is_measuring;
	atomic_bool is_ending;            /* no more measures */
	struct worker_task holdings_task; /* while it is */
	struct prices prices;
	pthread_mutex_t mutex; /* over the rest */
	struct arena arena;    /* of the records */
	struct map spent;      /* "SCOPE/SUBJECT" -> struct budget_record */
	atomic_bool has_spent; /* whether there is one */
};

/* ---- usage.c ---- */

void meters_init(struct fleet *f);
void meters_done(struct fleet *f);
/* Writes what is due, when `every_ms` have passed since the last time, of this kind. `is_whole`:
 * with what only the provider knows, and what is kept on disks. */
MUST_CHECK int meters_write(struct fleet *f, int64_t every_ms, bool is_whole, struct error *err);
/* What this sandbox, which the caller acts on, used until now at the resources that it had. */
MUST_CHECK int meters_write_use(struct fleet *f, const char *id, struct error *err);
/* What its files cost until now, since they go elsewhere. */
MUST_CHECK int meters_write_files(struct fleet *f, const char *id, struct error *err);

/* ---- holdings.c ---- */

/* What is kept on disks and as backups, as of `now`: into the usage log. */
MUST_CHECK int holdings_meter(struct fleet *f, int64_t now, struct error *err);
/* What this sandbox keeps, until now. */
MUST_CHECK int holdings_meter_sandbox(struct fleet *f, const char *id, struct error *err);
/* Lets a worker do that, now and then. */
void holdings_tick(struct fleet *f);

/* ---- budgets.c ---- */

struct spender {
	const char *project_id, *key_id;
	const char *sandbox_id; /* NULL: one that is to be made */
};
/* ERROR_BUDGET, naming the budget, when one of them is spent. Asks no store. */
MUST_CHECK int budgets_check(struct fleet *f, const struct spender *spender, struct error *err);
/* Looks at all of them in the store and gives the warnings that are due. */
MUST_CHECK int budgets_refresh(struct fleet *f, struct error *err);

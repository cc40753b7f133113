/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/usage/meters_state.h — the state of metering: what was written when, and spent budgets. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/map.h"
#include "sandbox/price.h"
#include "worker/worker.h"

struct fleet;

struct meters {
	struct fleet *fleet;
	pthread_mutex_t writing; /* one write at a time; guards written_at and whole_at. Its
	                          * owner waits for the store alone, never for a sandbox */
	int64_t written_at;      /* monotonic */
	int64_t whole_at;        /* monotonic; of the last whole write */
	int64_t measured_at;     /* monotonic; of the ticking thread */
	atomic_bool is_measuring;
	atomic_bool is_ending;            /* begin no more measurements */
	struct worker_task holdings_task; /* while is_measuring */
	struct prices prices;
	/* A quota of sent bytes exists: the last bytes of a sandbox count. */
	atomic_bool egress_is_limited;
	atomic_uint_fast64_t cut_count; /* sandboxes whose network a quota has taken away */
	pthread_mutex_t mutex;          /* guards the rest */
	struct arena arena;             /* of the records */
	struct map spent;               /* "SCOPE/PROJECT/SUBJECT" -> struct budget_record */
	atomic_bool has_spent;          /* `spent` is not empty */
	atomic_uint_fast64_t refusals[BUDGET_SCOPE_COUNT];
};

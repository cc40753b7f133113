/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/cache_state.h — the state behind cache.h. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"
#include "base/list.h"
#include "base/map.h"
#include "fleet/core/cache.h"
#include "fleet/core/defaults.h"
#include "store/sandbox_record.h"

struct meter;

struct cache_entry {
	char id[ID_SIZE + 1];
	unsigned references; /* pins, holds included */
	unsigned holds;
	bool has_operation;
	pthread_t operator;  /* if has_operation: the thread that began it */
	struct list waiters; /* operations that wait, in the order of their arrival */
	bool is_queued;      /* an operation will follow soon: no sweep may act on it */
	bool is_called;      /* bytes have arrived during an operation */
	bool is_closing;     /* the operation is about to end or pause it: no new holds */
	int64_t touched_at;
	int64_t version;     /* of the newest known row */
	struct meter *meter; /* NULL until the first start */
	bool is_started;
	/* If is_started: */
	struct arena arena;
	struct sandbox_record record;
	struct fleet_defaults defaults; /* env NULL: not computed yet */
};

struct cache {
	pthread_mutex_t mutex;
	pthread_cond_t
	        operation_ended; /* an operation, or the last hold on a closing entry, has ended */
	struct map by_id;        /* all entries */
	struct map by_name;      /* "PROJECT/NAME" -> entries of started sandboxes */
	uint64_t held;
	struct meter *ended; /* meters of freed entries, not read yet */
	unsigned ended_count;
};

/* SPDX-License-Identifier: Apache-2.0 */
/* decision/gather.h — decisions in memory until they are written: coalesced, and limited for each
 * sandbox. Private; pure but for the clock that callers pass; not thread-safe. */
#pragma once

#include <stdbool.h>

#include "base/list.h"
#include "base/map.h"
#include "sandbox/decision.h"

#define GATHER_ROWS_MAX 2048      /* of all sandboxes, between two writes */
#define GATHER_SANDBOXES_MAX 1024 /* that are remembered */
#define GATHER_REFUSALS_MAX 12    /* different ones remembered of each */
#define GATHER_TOLD_MAX 8192      /* hosts of which an event was added lately */

struct gathered_row {
	struct network_decision decision;
	int64_t at;
	bool tells; /* an event, too */
};
struct gathered_rows {
	struct gathered_row items[GATHER_ROWS_MAX];
	size_t count;
};

struct gather {
	struct gathered_rows *rows; /* since the last gather_take */
	struct map by_key;          /* -> struct gathered_row of rows */
	struct map sandboxes;       /* -> struct gathered_sandbox */
	struct list recent;         /* the same, the least recently used first */
	struct map told;            /* -> struct told_host */
	uint64_t sequence;          /* of refusals */
	uint64_t last_mark, dropped;
};
void gather_init(struct gather *g);
void gather_done(struct gather *g);
/* `now` is unix ms. */
void gather_add(struct gather *g, const struct network_decision *d, int64_t now);
/* The rows so far, which the caller frees, or NULL. */
struct gathered_rows *gather_take(struct gather *g);
uint64_t gather_mark(struct gather *g);
size_t gather_since(struct gather *g, const char *sandbox, uint64_t mark,
                    struct network_decision *ret, size_t max);

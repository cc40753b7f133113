/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/meter.h — the uses of a sandbox (key, run, conversation, reason) since its meter was
 * read last.
 *
 * A meter belongs to an entry of the cache. After the entry is freed, it belongs to the cache's
 * list of ended meters. The mutex of the cache guards all of them. */
#pragma once

#include "base/id.h"
#include "sandbox/usage_reason.h"

struct fleet_use;

/* Uses that are told apart. Further ones count without their conversation, then without their run,
 * too, and at last for the newest key. */
#define METER_USES_MAX 32
#define METER_RUNS_MAX (METER_USES_MAX + 32)
#define METER_KEYS_MAX (METER_RUNS_MAX + 64)

struct meter_use {
	char key_id[ID_SIZE + 1];
	char run[USAGE_RUN_MAX + 1];
	char conversation[USAGE_CONVERSATION_MAX + 1];
	enum usage_reason reason;
	unsigned begun; /* since the last read */
	unsigned open;  /* not ended yet */
};
struct meter {
	struct meter *next; /* in the list of ended meters */
	char id[ID_SIZE + 1];
	struct meter_use *uses;
	unsigned count, capacity;
};

struct meter *meter_new(const char *id);
void meter_free(struct meter *m); /* NULL is fine */
/* Returns the number for meter_end, from 1. */
unsigned meter_begin(struct meter *m, const struct fleet_use *use);
void meter_end(struct meter *m, unsigned number);
/* Adds the counts to `ret` and resets them. */
void meter_read(struct meter *m, struct meter *ret);

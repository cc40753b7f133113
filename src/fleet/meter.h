/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/meter.h — who used a sandbox since its meter was last read, and for what. Private to this
 * folder.
 *
 * A meter belongs to a slot, or, once that is gone, to the cache's list of ended ones; the cache's
 * mutex is over all of them. */
#pragma once

#include "fleet/usage.h"

/* More are counted to the last one. */
#define METER_USES_MAX 32

struct meter_use {
	char key_id[ID_SIZE + 1];
	char run[USAGE_RUN_MAX + 1];
	enum usage_reason reason;
	unsigned begun; /* since the last reading */
	unsigned open;  /* go on */
};
struct meter {
	struct meter *next; /* of the ended ones */
	char id[ID_SIZE + 1];
	struct meter_use *uses;
	unsigned count, capacity;
};

struct meter *meter_new(const char *id);
void meter_free(struct meter *m); /* NULL is fine */
/* The number by which meter_end knows it, from 1. */
unsigned meter_begin(struct meter *m, const struct fleet_use *use);
void meter_end(struct meter *m, unsigned number);
/* Adds what was counted to `ret` and starts anew. */
void meter_read(struct meter *m, struct meter *ret);

/* SPDX-License-Identifier: Apache-2.0 */
/* wire/broker_pool.h — pools of sandboxes that the broker prepares before a create: part of
 * wire/broker.h. Only a create with equal members gets a prepared sandbox. */
#pragma once

#include "base/bytes.h"
#include "wire/wire.h"

struct broker_pool {
	uint64_t request;
	const char *name; /* an id that the caller chooses */
	/* As in broker_create. */
	const char *template_name;
	const char *snapshot;
	uint32_t network;
	uint32_t privileges;
	uint64_t cpu_milli;
	uint64_t memory_bytes;
	uint64_t disk_bytes;
	uint64_t pids;
	uint32_t min;
	uint32_t target;
	uint32_t max;          /* 0: ends the pool */
	const char *warm;      /* names warm_wish; a create must have the same name */
	struct span warm_wish; /* a whole AGENT_WARM frame for the agents, or empty */
};
struct broker_pool_state {
	uint64_t request;
	const char *name; /* "" = automatic */
	const char *template_name;
	const char *snapshot;
	uint32_t network;
	uint32_t privileges;
	uint64_t cpu_milli;
	uint64_t memory_bytes;
	uint64_t disk_bytes;
	uint64_t pids;
	uint32_t min;
	uint32_t target;
	uint32_t max;
	uint32_t depth; /* layers of the snapshot */
	uint32_t ready;
	uint32_t preparing;
	uint64_t hits;
	uint64_t misses;
	const char *warm;
	/* Of the last preparation that failed. */
	const char *text;
	const char *hint;
	uint32_t failed; /* preparations that failed since the last success */
	uint32_t code;   /* enum error_code */
	uint32_t sys_errno;
};

extern const struct wire_member broker_pool_shape[], broker_pool_state_shape[];

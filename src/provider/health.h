/* SPDX-License-Identifier: Apache-2.0 */
/* provider/health.h — how well a provider makes sandboxes: counts, durations, the last error.
 *
 * A provider is unhealthy after HEALTH_FAILURES_MAX failures in a row, and healthy after one
 * success. Creates that the caller spoiled do not count. Any thread may call. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct provider_health;

#define HEALTH_FAILURES_MAX 3

struct provider_health *provider_health_new(const char *name);
void provider_health_free(struct provider_health *h);
/* The highest 99th percentile of its creates, before it is used; 0 = any. */
void provider_health_limit(struct provider_health *h, int64_t p99_max_ms);
/* A create succeeded. */
void provider_health_created(struct provider_health *h, int64_t took_us);
/* A create failed through the provider: see provider_failed. */
void provider_health_create_failed(struct provider_health *h, const struct error *err);
/* A check of the provider ended; NULL: it is well. Counts no create. */
void provider_health_note(struct provider_health *h, const struct error *err);
/* Whether this error of a create is the provider's: it is down, full or too slow. Another provider
 * may succeed. */
bool provider_failed(const struct error *err);

struct provider_health_report {
	uint64_t creates, failures;
	int64_t p50_us, p99_us; /* of the last creates; 0: none yet */
	bool is_healthy;
	int64_t changed_at; /* Unix ms, when is_healthy changed; 0: never */
	int64_t failed_at;  /* Unix ms, of last_error; 0: never */
	char last_error[ERROR_TEXT_MAX];
};
struct provider_health_report provider_health_get(struct provider_health *h);
/* Whether creates should avoid the provider for now: it is unhealthy, and its last failure is
 * recent. */
bool provider_health_backs_off(struct provider_health *h);
/* The 99th percentile of the creates of the last HEALTH_SLOW_MS in ms when it is above the limit,
 * else 0. A few creates do not count. */
#define HEALTH_SLOW_MS 60000
int64_t provider_health_slow_ms(struct provider_health *h);
/* True once after each change of is_healthy. */
bool provider_health_take_change(struct provider_health *h, struct provider_health_report *ret);

/* What runs the processors of virtual machines. */
struct provider_accelerator {
	const char *name;   /* "kvm" or "tcg" */
	const char *reason; /* a word: "option", "absent", "trying", "failed" or "booted" */
	char because[ERROR_TEXT_MAX];
};

/* Sandboxes that run before they are asked for. */
struct provider_warm {
	unsigned ready, starting, wanted;
	uint64_t hits, misses; /* creates that got one, and that did not, since the start */
};

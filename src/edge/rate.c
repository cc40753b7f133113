/* SPDX-License-Identifier: Apache-2.0 */
/* A bucket of tokens for each quota of requests per second. A bucket holds the tokens of one
 * second, so that no second has more than twice its part. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account/account.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/thread.h"
#include "decision/decision.h"
#include "edge/api.h"
#include "edge/limiter.h"
#include "fleet/core/peers.h"
#include "fleet/usage/usage.h"
#include "store/quotas.h"

struct rate_bucket {
	struct rate_bucket *next; /* in the table */
	double value;             /* of the quota, per second */
	double rate, tokens;      /* rate: this server's part */
	int64_t filled_ms;        /* monotonic */
	bool is_used;             /* of a refresh: the quota still exists */
	char scope[16], subject[];
};

struct api_rates {
	atomic_bool has_any;
	pthread_mutex_t mutex; /* guards the rest */
	struct rate_bucket *buckets;
	struct map holders; /* "key/ID" and "project/ID" -> bucket; "organization/PROJECT" too */
};

struct api_rates *api_rates_new(void)
{
	struct api_rates *rates = memory_new(sizeof(*rates));

	(void)pthread_mutex_init(&rates->mutex, NULL);
	return rates;
}

void api_rates_free(struct api_rates *rates)
{
	if (!rates)
		return;
	while (rates->buckets) {
		struct rate_bucket *b = rates->buckets;

		rates->buckets = b->next;
		free(b);
	}
	map_done(&rates->holders);
	(void)pthread_mutex_destroy(&rates->mutex);
	free(rates);
}

/* Servers that answer for the store; this one alone when they have no addresses. */
static unsigned count_servers(struct api *api)
{
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	struct fleet_node_list list;
	struct error ignored;
	unsigned count = 0;

	if (fleet_nodes(api->fleet, &a, &list, &ignored) < 0)
		return 1;
	for (size_t i = 0; i < list.count; i++)
		count += list.items[i].is_self || list.items[i].state == FLEET_NODE_UP;
	return count > 0 ? count : 1;
}

/* The tokens of a quota that stays are kept: a refresh grants none. */
static struct rate_bucket *find_bucket(struct api_rates *rates, const struct quota_rate *quota)
{
	struct rate_bucket *b = rates->buckets;
	size_t size = strlen(quota->subject) + 1;

	for (; b; b = b->next)
		if (strcmp(b->scope, quota->scope) == 0 && strcmp(b->subject, quota->subject) == 0)
			return b;
	b = memory_new(sizeof(*b) + size);
	memcpy(b->subject, quota->subject, size);
	(void)snprintf(b->scope, sizeof(b->scope), "%s", quota->scope);
	b->filled_ms = clock_monotonic_ms();
	b->tokens = -1;
	b->next = rates->buckets;
	rates->buckets = b;
	return b;
}

static double capacity_of(const struct rate_bucket *b)
{
	return b->rate > 1 ? b->rate : 1;
}

static void put_bucket(struct api_rates *rates, const struct quota_rate *quota, unsigned servers)
{
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	struct rate_bucket *b = find_bucket(rates, quota);

	b->is_used = true;
	b->value = quota->value;
	b->rate = quota->value / servers;
	if (b->tokens < 0 || b->tokens > capacity_of(b))
		b->tokens = capacity_of(b);
	(void)map_put(&rates->holders, arena_format(&a, "%s/%s", quota->scope, quota->holder), b);
}

static void drop_unused(struct api_rates *rates)
{
	for (struct rate_bucket **at = &rates->buckets; *at;) {
		struct rate_bucket *b = *at;

		if (b->is_used) {
			at = &b->next;
			continue;
		}
		*at = b->next;
		free(b);
	}
}

int api_rates_refresh(struct api *api, struct error *err)
{
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	struct api_rates *rates = api->rates;
	struct quota_rate_list list;
	unsigned servers = 1;

	if (store_quota_rates(api->store, &a, &list, err) < 0 ||
	    fleet_quotas_refresh(api->fleet, err) < 0)
		return -1;
	decision_log_set_for_all(api->decisions, fleet_egress_is_limited(api->fleet));
	if (list.count > 0)
		servers = count_servers(api);
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&rates->mutex);

	for (struct rate_bucket *b = rates->buckets; b; b = b->next)
		b->is_used = false;
	map_done(&rates->holders);
	rates->holders = (struct map){0};
	for (size_t i = 0; i < list.count; i++)
		put_bucket(rates, &list.items[i], servers);
	drop_unused(rates);
	atomic_store(&rates->has_any, list.count > 0);
	return 0;
}

static void fill_bucket(struct rate_bucket *b, int64_t now_ms)
{
	double came = b->rate * (double)(now_ms - b->filled_ms) / 1000;

	b->filled_ms = now_ms;
	b->tokens = b->tokens + came < capacity_of(b) ? b->tokens + came : capacity_of(b);
}

static int refuse_rate(const struct rate_bucket *b, struct error *err)
{
	int64_t now = clock_unix_ms();
	const struct quota_refusal refusal = {
	        .scope = b->scope,
	        .subject = b->subject,
	        .limit = QUOTA_REQUESTS_PER_SECOND,
	        .value = b->value,
	        .used = b->value,
	        .reset_at = now + (int64_t)((1 - b->tokens) * 1000 / b->rate) + 1,
	        .now = now,
	};

	return quota_refuse(&refusal, err);
}

int api_rates_take(struct api_rates *rates, const struct account_caller *caller, struct error *err)
{
	static const char *const prefixes[] = {"key/", "project/", "organization/"};
	const char *const holders[] = {caller->key_id, caller->project_id, caller->project_id};
	struct rate_bucket *found[COUNT_OF(holders)] = {NULL};
	int64_t now_ms;

	if (!rates || !atomic_load_explicit(&rates->has_any, memory_order_relaxed))
		return 0;
	now_ms = clock_monotonic_ms();
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&rates->mutex);

	for (size_t i = 0; i < COUNT_OF(holders); i++) {
		char name[96];

		(void)snprintf(name, sizeof(name), "%s%s", prefixes[i],
		               holders[i] ? holders[i] : "");
		found[i] = map_find(&rates->holders, name);
		if (!found[i])
			continue;
		fill_bucket(found[i], now_ms);
		if (found[i]->tokens < 1)
			return refuse_rate(found[i], err);
	}
	for (size_t i = 0; i < COUNT_OF(holders); i++)
		if (found[i])
			found[i]->tokens -= 1;
	return 0;
}

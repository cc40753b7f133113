/* SPDX-License-Identifier: Apache-2.0 */
/* edge/limiter.h — limits how many requests of one key run at once, and by quotas
 * (sandbox/quota.h) how many come per second. Any thread. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct api_limiter;
struct api_limiter_slot;

struct api_limiter *api_limiter_new(unsigned max_per_key);
/* Every slot must have been given back. */
void api_limiter_free(struct api_limiter *l);
/* ERROR_LIMIT when the key uses all its slots. */
MUST_CHECK int api_limiter_take(struct api_limiter *l, const char *key_id,
                                struct api_limiter_slot **ret, struct error *err);
/* Without a limit, for a request that had a slot before. */
struct api_limiter_slot *api_limiter_take_again(struct api_limiter *l, const char *key_id);
bool api_limiter_has_room(struct api_limiter *l, const char *key_id);
void api_limiter_give(struct api_limiter *l, struct api_limiter_slot *slot); /* NULL is fine */

/* rate.c: the quotas of requests per second. Each server of the store takes an equal part. */
struct account_caller;
struct api;
struct api_rates;
struct api_rates *api_rates_new(void);
void api_rates_free(struct api_rates *rates);
/* Reads the quotas from the store, also whether there is one of sent bytes; on a worker, every few
 * seconds and after a change. */
MUST_CHECK int api_rates_refresh(struct api *api, struct error *err);
/* ERROR_LIMIT when the key, its project or the organisation has used its rate. */
MUST_CHECK int api_rates_take(struct api_rates *rates, const struct account_caller *caller,
                              struct error *err);

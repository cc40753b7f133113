/* SPDX-License-Identifier: Apache-2.0 */
/* store/providers.h — providers and routing rules that were set at run time. All servers on this
 * store read them. Credentials are stored encrypted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct error;
struct store;

#define STORE_PROVIDERS_MAX 32

struct provider_record {
	const char *name, *kind;
	const char *settings;     /* "KEY=VALUE;KEY=VALUE", see config/providers.h */
	const char *secrets_json; /* {"KEY":"VALUE"} */
	int64_t version;          /* grows with every change of settings and secrets */
	bool draining;      /* it makes no more sandboxes, and is removed after its last one */
	int64_t removed_at; /* 0 = it is not removed */
	int64_t created_at, updated_at;
};
struct provider_record_list {
	struct provider_record *items;
	size_t count;
};
/* ERROR_CONFLICT when the name is taken, ERROR_LIMIT above STORE_PROVIDERS_MAX. */
MUST_CHECK int store_provider_add(struct store *s, const struct provider_record *r,
                                  struct error *err);
/* Compare and set on the version. */
MUST_CHECK int store_provider_update(struct store *s, const struct provider_record *r,
                                     struct error *err);
/* Another number after each change of a provider that is not only a new encryption. Reads no
 * credentials. */
MUST_CHECK int store_provider_stamp(struct store *s, int64_t *ret, struct error *err);
/* Oldest first; removed ones, too. */
MUST_CHECK int store_provider_list(struct store *s, struct arena *a,
                                   struct provider_record_list *ret, struct error *err);
MUST_CHECK int store_provider_find(struct store *s, struct arena *a, const char *name,
                                   struct provider_record *ret, struct error *err);
/* From now on no sandbox is made by it. */
MUST_CHECK int store_provider_drain(struct store *s, const char *name, int64_t now,
                                    struct error *err);
/* ERROR_CONFLICT, with their number, while sandboxes of it exist on any server. */
MUST_CHECK int store_provider_remove(struct store *s, const char *name, int64_t now,
                                     struct error *err);

/* Sandboxes of a provider on all servers, except deleted ones. */
MUST_CHECK int store_provider_count(struct store *s, const char *name, int64_t *ret,
                                    struct error *err);

/* Time that sandboxes of a provider were active, by the log of usage: today and this month. */
struct provider_use {
	const char *name;
	int64_t day_ms, month_ms;
};
struct provider_use_list {
	struct provider_use *items;
	size_t count;
};
struct provider_window {
	int64_t day, month; /* beginnings, unix ms */
};
MUST_CHECK int store_provider_uses(struct store *s, struct arena *a,
                                   const struct provider_window *window,
                                   struct provider_use_list *ret, struct error *err);

struct routing_record {
	const char *rules; /* see config/routing.h */
	bool is_set;       /* false: the rules of the configuration hold */
	int64_t version;   /* grows with every change */
	int64_t updated_at;
};
/* Version 0: rules were never set. */
MUST_CHECK int store_routing_find(struct store *s, struct arena *a, struct routing_record *ret,
                                  struct error *err);
MUST_CHECK int store_routing_set(struct store *s, const struct routing_record *r,
                                 struct error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/operation.h — the work of one thread on one sandbox. Operations on the same sandbox
 * run one after another within this process; between processes the store's compare-and-set decides.
 */
#pragma once

#include <stdint.h>

#include "fleet/core/fleet_state.h"
#include "provider/set.h"
#include "store/sandbox_record.h"

struct cache_entry;
struct fleet_awaited;
struct fleet_ref;
struct lease_claim;
struct lease_record;
struct provider_creation;
struct provider_route;
struct volume_operation;

struct volume_operations { /* in the arena of the sandbox's operation */
	struct volume_operation *items;
	size_t count;
};
struct operation {
	struct fleet *fleet;
	struct provider *provider;          /* of the sandbox */
	const struct provider_ops *ops;     /* of that provider */
	struct cache_entry *entry;          /* pinned; NULL: the operation has ended */
	struct arena *arena;                /* of the record's texts */
	const char *snapshot;               /* files to create from; NULL: the template's folder */
	bool is_bare;                       /* do not start the entrypoint of the template */
	struct provider_route *route;       /* providers that may make it; NULL: its own */
	struct lease_claim *claim;          /* lease that takes the started sandbox; NULL: none */
	struct provider_creation *creation; /* under way already; NULL: not begun */
	struct sandbox_spec spec;           /* of that creation */
	struct sandbox_record record;       /* as of the last move */
	/* In the arena; NULL until mounts_load or mounts_take. */
	const struct sandbox_mount *mounts;
	size_t mount_count;
	struct volume_operations volumes; /* reserved by this operation, see mounts_reserve */
};
/* Waits for earlier operations until `deadline` (ERROR_TIMEOUT), then reads the row;
 * ERROR_NOT_FOUND if the sandbox is deleted. */
MUST_CHECK int operation_begin(struct fleet *f, struct arena *a, const char *id, int64_t deadline,
                               struct operation *ret, struct error *err);
/* operation_begin that, with `awaited`, parks the call instead of blocking the thread. */
MUST_CHECK int operation_await(struct fleet *f, struct arena *a, const char *id,
                               const struct fleet_awaited *awaited, struct operation *ret,
                               struct error *err);
/* operation_await on the sandbox that `ref` names. */
MUST_CHECK int operation_find_and_begin(struct fleet *f, struct arena *a,
                                        const struct fleet_ref *ref, struct operation *ret,
                                        struct error *err);
/* operation_begin for a sandbox without a row in the store: reads no row. The provider is the
 * primary until operation_use. */
MUST_CHECK int operation_begin_new(struct fleet *f, struct arena *a, const char *id,
                                   struct operation *ret, struct error *err);
void operation_end(struct operation *op); /* zeroed is fine */
/* The sandbox is, or will be, this provider's. */
void operation_use(struct operation *op, struct provider *p);

struct operation_move {
	enum sandbox_state to;
	int desired; /* -1 = unchanged */
	enum sandbox_reason reason;
	const char *event;
	const struct provider_created *created; /* with STARTED */
	/* The next ones as in struct sandbox_move. */
	bool is_lazy;
	unsigned traits_gained, traits_lost;
	const struct lease_record *lease;
	bool *ret_lease_lost;
};
/* Tells the cache and the alarms of a changed record. */
void operation_show(struct operation *op);
/* Moves the row to another state and reads it again. */
MUST_CHECK int operation_move(struct operation *op, const struct operation_move *move,
                              struct error *err);
/* Destroys what the provider has of the sandbox; a failure is only logged. */
void lifecycle_destroy(struct operation *op);

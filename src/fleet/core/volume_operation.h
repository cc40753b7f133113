/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/volume_operation.h — the work of one thread on one volume, as struct operation. A
 * thread with an operation on a sandbox may begin operations on its volumes, never the other way
 * round. */
#pragma once

#include "store/volumes.h"

struct cache_entry;
struct fleet;
struct volume_operations;

struct volume_operation {
	struct fleet *fleet;
	struct cache_entry *entry; /* pinned; NULL: the operation has ended */
	struct arena *arena;
	struct volume_record record;
};
MUST_CHECK int volume_operation_begin(struct fleet *f, struct arena *a, const char *id,
                                      int64_t deadline, struct volume_operation *ret,
                                      struct error *err);
/* For a volume without a row in the store; `v` has its fleet. */
MUST_CHECK int volume_operation_begin_new(struct volume_operation *v, const char *id,
                                          int64_t deadline, struct error *err);
void volume_operation_end(struct volume_operation *v); /* zeroed is fine */
/* Ends all of them; fine if there are none. */
void volume_operations_end(struct volume_operations *volumes);
/* Whether the volume belongs to this server and its provider. */
MUST_CHECK int volume_check_local(const struct fleet *f, const struct volume_record *r,
                                  struct error *err);

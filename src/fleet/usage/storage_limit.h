/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/usage/storage_limit.h — the storage limit of a project (storage_max_mb): templates,
 * snapshots, backups and volumes together.
 *
 * An addition first asks for the room that is left, and stops at that size. Before it is done, it
 * records the size it has reached and checks the limit again. Of concurrent additions the last
 * to begin fails first, and the finished additions never exceed the limit together. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct error;
struct fleet;

struct storage_claim {
	const char *project_id;
	const char *id;   /* of the row that is being made; "": none yet */
	int64_t begun_at; /* ignore additions that began later; 0 = count all */
};

/* Bytes that may be added; INT64_MAX without a limit. ERROR_LIMIT if no room is left. */
MUST_CHECK int storage_room(struct fleet *f, const struct storage_claim *claim, int64_t *ret_bytes,
                            struct error *err);
/* Checks the room for so many bytes: ERROR_LIMIT names the used bytes, the limit and the cure. */
MUST_CHECK int storage_check(struct fleet *f, const struct storage_claim *claim, int64_t bytes,
                             struct error *err);
/* storage_check for a snapshot of known size before it is made; records the size. */
MUST_CHECK int storage_expect(struct fleet *f, const struct storage_claim *claim, int64_t bytes,
                              struct error *err);
/* storage_expect for the files of a sandbox, which are measured if the project has a limit. */
MUST_CHECK int storage_expect_files(struct fleet *f, const struct storage_claim *claim,
                                    const char *sandbox_id, struct error *err);
/* Whether the project has a limit, from the cache: for frequent calls, before the others. */
MUST_CHECK int storage_is_limited(struct fleet *f, struct arena *a, const char *project_id,
                                  bool *ret, struct error *err);

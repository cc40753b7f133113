/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/storage_limit.h — how much a project may keep: its templates, snapshots, backups and
 * volumes together (storage_max_mb). Within this folder.
 *
 * Whatever adds to it asks for the room first, is cut off there, writes down how large it has
 * become, and asks again before it is done. So of several that grow at once the one that was begun
 * last is ended first, and together they never pass the limit once they are done. */
#pragma once

#include "fleet/parts.h"

struct storage_claim {
	const char *project_id;
	const char *id;   /* of the row that is being made; "" = there is none yet */
	int64_t begun_at; /* what others began later does not count; 0 = all of it counts */
};

/* Bytes that may be added; INT64_MAX = the project has no limit. ERROR_LIMIT when there is none. */
MUST_CHECK int storage_room(struct fleet *f, const struct storage_claim *claim, int64_t *ret_bytes,
                            struct error *err);
/* Whether there is room for so many bytes: ERROR_LIMIT names what is used, the limit and the cure.
 */
MUST_CHECK int storage_check(struct fleet *f, const struct storage_claim *claim, int64_t bytes,
                             struct error *err);
/* The same for a snapshot of known size that is about to be made: the size is written down. */
MUST_CHECK int storage_expect(struct fleet *f, const struct storage_claim *claim, int64_t bytes,
                              struct error *err);
/* And for one of a sandbox's files, which are measured where there is a limit. */
MUST_CHECK int storage_expect_files(struct fleet *f, const struct storage_claim *claim,
                                    const char *sandbox_id, struct error *err);
/* Whether the project has a limit, from memory: what is asked often asks this first. */
MUST_CHECK int storage_is_limited(struct fleet *f, struct arena *a, const char *project_id,
                                  bool *ret, struct error *err);

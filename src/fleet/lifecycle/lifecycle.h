/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lifecycle/lifecycle.h — start, stop, pause, archive and delete a sandbox.
 *
 * Any worker may call; calls block. The compare-and-set of the store decides which caller acts; the
 * caller that loses gets ERROR_CONFLICT or the winner's result. Sandboxes of other servers on the
 * same database are found and listed; work on one fails with ERROR_CONFLICT and names its node. */
#pragma once

#include "base/error.h"
#include "sandbox/sandbox.h"

struct fleet;
struct fleet_ref;
struct sandbox_record;

MUST_CHECK int fleet_start(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                           struct sandbox_record *ret, struct error *err);
/* Stops a paused sandbox first, so that it starts from its files without its old processes. */
MUST_CHECK int fleet_start_anew(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                                struct sandbox_record *ret, struct error *err);
MUST_CHECK int fleet_stop(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                          struct sandbox_record *ret, struct error *err);
/* Returns when no process of the sandbox runs any more. Succeeds if a delete is under way. */
MUST_CHECK int fleet_delete(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                            enum sandbox_reason reason, struct error *err);
/* Freezes all processes; their memory stays. Any use of the sandbox, or fleet_resume, wakes it.
 * Both succeed if the sandbox is in that state already; fleet_resume refuses a stopped one. */
MUST_CHECK int fleet_pause(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                           struct sandbox_record *ret, struct error *err);
/* The same with the memory on disk, which frees that of the host; it outlives a restart of the
 * host. */
MUST_CHECK int fleet_pause_to_disk(struct fleet *fleet, struct arena *a,
                                   const struct fleet_ref *ref, struct sandbox_record *ret,
                                   struct error *err);
/* Pauses to the disk where the provider can, else in memory. */
MUST_CHECK int fleet_pause_for_long(struct fleet *fleet, struct arena *a,
                                    const struct fleet_ref *ref, struct sandbox_record *ret,
                                    struct error *err);
MUST_CHECK int fleet_resume(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                            struct sandbox_record *ret, struct error *err);
/* fleet_delete that can be undone for `deleted_keep`. ERROR_UNSUPPORTED for an archived sandbox. */
MUST_CHECK int fleet_delete_kept(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                                 struct error *err);
/* From STOPPED to ARCHIVED: moves the files to the blob store; a start restores them. Succeeds on
 * an archived sandbox. */
MUST_CHECK int fleet_archive(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                             struct sandbox_record *ret, struct error *err);

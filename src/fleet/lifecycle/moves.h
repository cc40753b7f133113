/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lifecycle/moves.h — the moves of a sandbox between its states, within an operation. */
#pragma once

#include "fleet/core/gate.h"
#include "fleet/core/operation.h"

struct template_record;

#define STOP_GRACE_MS 5000 /* for programs inside, before they are killed */

/* start.c */

/* What the provider makes of the row. */
struct sandbox_spec lifecycle_spec(const struct operation *op, const struct template_record *t);
/* From CREATING to STARTED; if it fails the row becomes FAILED. `begun_ns` (monotonic): when the
 * caller began to wait. */
MUST_CHECK int lifecycle_create(struct operation *op, const struct template_record *t,
                                int64_t begun_ns, struct error *err);
/* From STOPPED to STARTED; back to STOPPED if it fails. */
MUST_CHECK int lifecycle_restart(struct operation *op, const struct template_record *t,
                                 int64_t begun_ns, struct error *err);
/* From CREATING to STARTED with the files of op->snapshot; stays in CREATING if it fails. */
MUST_CHECK int lifecycle_recreate(struct operation *op, const struct template_record *t,
                                  int64_t begun_ns, struct error *err);
/* To FAILED with the error's text; destroys what the provider has of the sandbox. */
void lifecycle_fail(struct operation *op, const struct error *why);

/* prefetch.c */

/* Computes and caches what commands inherit, before the first command needs it. */
void defaults_prefetch(struct fleet *f, struct arena *a, const struct sandbox_record *r);
/* The same for the operation's sandbox on a worker, with a connection to its agent. */
void lifecycle_prefetch(const struct operation *op);

/* delete.c */

MUST_CHECK int lifecycle_delete(struct operation *op, enum sandbox_reason reason,
                                struct error *err);

/* lifecycle.c */

MUST_CHECK int lifecycle_stop(struct operation *op, enum sandbox_reason reason, struct error *err);
/* lifecycle_stop without hook and grace, and without a sync of the row: for a sandbox that the same
 * operation starts again. */
MUST_CHECK int lifecycle_kill(struct operation *op, enum sandbox_reason reason, struct error *err);
/* From STOPPED or ARCHIVED to STARTED. */
MUST_CHECK int lifecycle_start(struct operation *op, int64_t begun_ns, struct error *err);
/* Removes a timeout that has passed, because it would end the sandbox at once; a sandbox that is
 * timed while it is started gets a new timeout. */
MUST_CHECK int lifecycle_renew_timeout(struct operation *op, struct error *err);

/* pause.c */

MUST_CHECK int lifecycle_pause(struct operation *op, enum sandbox_reason reason, struct error *err);
MUST_CHECK int lifecycle_resume(struct operation *op, struct error *err);
/* Only in the provider: continues a sandbox whose memory is in the host's memory or on disk. */
MUST_CHECK int lifecycle_resume_provider(struct operation *op, int64_t deadline, struct error *err);
/* From asleep (paused, or stopped for idleness) to STARTED. */
MUST_CHECK int lifecycle_wake(struct operation *op, struct error *err);

/* hold.c */

/* Wakes the sandbox on a worker, if it is asleep. */
void lifecycle_wake_later(struct fleet *f, const char *id);

/* hook.c */

/* Runs a program of the sandbox as root, if it exists, for HOOK_TIMEOUT_MS at most. A failure of
 * the hook stops nothing: it is returned as a text for the event; "" on success. */
#define HOOK_BEFORE_STOP "/etc/atoll/hooks/before-stop"
#define HOOK_AFTER_RESUME "/etc/atoll/hooks/after-resume"
const char *hook_run(struct operation *op, const char *path);

/* entrypoint.c */

/* Starts the entrypoint of the template, if it has one; returns when the program has been executed.
 * The caller decides what a failure means for the sandbox. */
MUST_CHECK int entrypoint_start(struct operation *op, const struct template_record *t,
                                struct error *err);

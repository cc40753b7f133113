/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/life.h — what becomes of a sandbox that a thread acts on: part of parts.h. Private to this
 * folder. */
#pragma once

#include "fleet/fleet.h"
#include "fleet/gate.h"

struct operation;

/* ---- life.c ---- */

MUST_CHECK int lifecycle_delete(struct operation *op, enum sandbox_reason reason,
                                struct error *err);
MUST_CHECK int lifecycle_stop(struct operation *op, enum sandbox_reason reason, struct error *err);
/* The same at once: no hook, no grace, and not waiting for the disk. For one that is started again
 * in the same act. */
MUST_CHECK int lifecycle_kill(struct operation *op, enum sandbox_reason reason, struct error *err);
/* From STOPPED to STARTED. */
MUST_CHECK int lifecycle_start(struct operation *op, int64_t begun_ns, struct error *err);
/* operation_begin that, with `awaited`, awaits the thread that acts without this one. operation.c
 */
MUST_CHECK int operation_await(struct fleet *f, struct arena *a, const char *id,
                               const struct fleet_awaited *awaited, struct operation *ret,
                               struct error *err);
/* The row's sandbox, to act on. */
MUST_CHECK int operation_find_and_begin(struct fleet *f, struct arena *a,
                                        const struct fleet_ref *ref, struct operation *ret,
                                        struct error *err);
/* A timeout that has passed would end it again at once: it goes, or begins anew for one that is
 * timed while it is started. */
MUST_CHECK int lifecycle_renew_timeout(struct operation *op, struct error *err);
/* "sandbox 'x' is stopped and cannot be paused"; always -1. */
int refuse_state(const struct sandbox_record *r, const char *what, struct error *err);

/* ---- pause.c ---- */

/* From STARTED to PAUSED, and back. */
MUST_CHECK int lifecycle_pause(struct operation *op, enum sandbox_reason reason, struct error *err);
MUST_CHECK int lifecycle_resume(struct operation *op, struct error *err);
/* By a worker, as its next use would; fine when it does not sleep. */
void lifecycle_wake_later(struct fleet *f, const char *id);
/* From asleep to STARTED. */
MUST_CHECK int lifecycle_wake(struct operation *op, struct error *err);

/* ---- create.c ---- */

/* From STOPPED; back there when it fails. */
MUST_CHECK int lifecycle_restart(struct operation *op, const struct template_record *t,
                                 int64_t begun_ns, struct error *err);
/* From CREATING, with the files of a->snapshot; leaves it there when it fails. */
MUST_CHECK int lifecycle_recreate(struct operation *op, const struct template_record *t,
                                  int64_t begun_ns, struct error *err);

/* ---- hook.c ---- */

/* A program inside, run as root when it is there, for HOOK_TIMEOUT_MS at most. What goes wrong with
 * it stops nothing: it comes back as a text for the event, else "". */
#define HOOK_BEFORE_STOP "/etc/atoll/hooks/before-stop"
#define HOOK_AFTER_RESUME "/etc/atoll/hooks/after-resume"
const char *hook_run(struct operation *op, const char *path);

/* ---- egress.c ---- */

/* Of a request: whether the provider can, and there is something to filter. NULL or "" = no rules.
 */
MUST_CHECK int egress_check(const struct fleet *f, enum sandbox_network network, const char *egress,
                            struct error *err);
/* After a restart: of a change that was under way, the provider may know more than the row. */
MUST_CHECK int egress_reconcile(struct operation *op, struct error *err);
/* Tells the provider all rules, if it has forgotten them. */
void egress_repeat_rules(struct fleet *f);

/* ---- settings.c ---- */

/* The same of a change of its limits. */
MUST_CHECK int limits_reconcile(struct operation *op, struct error *err);

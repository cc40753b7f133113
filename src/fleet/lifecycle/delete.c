/* SPDX-License-Identifier: Apache-2.0 */

#include <stdatomic.h>
#include <string.h>

#include "base/fault.h"
#include "config/config.h"
#include "fleet/core/sandboxes.h"
#include "fleet/core/waiting.h"
#include "fleet/lifecycle/archive.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/lifecycle/moves.h"
#include "fleet/recovery/notes.h"
#include "fleet/recovery/trash_parts.h"
#include "fleet/usage/meters.h"
#include "fleet/usage/samples.h"
#include "provider/timed.h"
#include "provider/trash.h"
#include "store/database.h"
#include "store/sandboxes.h"

/* keep_ms: how long it can be brought back; 0 = not at all. */
static int remove_files(struct operation *op, int64_t keep_ms, struct error *err)
{
	struct fleet *f = op->fleet;
	const struct provider_trash what = {.kind = PROVIDER_TRASH_SANDBOX,
	                                    .id = op->record.id,
	                                    .reason = PROVIDER_TRASH_DELETED,
	                                    .keep_ms = keep_ms};
	int64_t deadline = deadline_after(CALL_TIMEOUT_MS);
	struct provider_timed *timed;

	if (keep_ms > 0 && op->ops->trash) {
		kept_volumes_note(f, op->record.id);
		fault_point("api", "trash-noted");
		return op->ops->trash->put(op->provider, &what, deadline, err);
	}
	timed = provider_timed_begin("destroy");
	if (provider_timed_end(timed, op->ops->destroy(op->provider, op->record.id, deadline, err),
	                       err) < 0)
		return -1;
	note_drop(f, op->record.id);
	return 0;
}

struct delete_options {
	enum sandbox_reason reason;
	int64_t keep_ms;
};

static int delete_sandbox(struct operation *op, const struct delete_options *deletion,
                          struct error *err)
{
	enum sandbox_reason reason = deletion->reason;
	struct fleet *f = op->fleet;
	bool is_kept = deletion->keep_ms > 0;
	/* The row says whether the files are kept: a recovery deletes it in the same way. */
	const struct operation_move deleting = {.to = SANDBOX_DELETING,
	                                        .desired = SANDBOX_DELETED,
	                                        .reason = reason,
	                                        .event = "being deleted",
	                                        .traits_gained = is_kept ? SANDBOX_DELETED_KEPT : 0,
	                                        .traits_lost = is_kept ? 0 : SANDBOX_DELETED_KEPT};
	/* DELETING, which comes to the disk while the provider works, is enough for recovery to end
	 * it again. */
	const struct operation_move deleted = {
	        .to = SANDBOX_DELETED, .desired = -1, .event = "deleted", .is_lazy = true};
	/* FAILED, and still to be deleted: the next tick tries again. */
	struct operation_move failed = {
	        .to = SANDBOX_FAILED, .desired = -1, .reason = SANDBOX_REASON_ERROR};
	bool was_archived = op->record.actual == SANDBOX_ARCHIVED;
	bool had_link = sandbox_is_alive(&op->record);
	struct error second = {0};
	uint64_t sync;

	if (op->record.actual != SANDBOX_DELETING && operation_move(op, &deleting, err) < 0)
		return -1;
	sync = store_sync_begin(f->store);
	fault_point("api", "delete-recorded");
	if (had_link)
		meters_write_sent(f, op->record.id);
	if (remove_files(op, deletion->keep_ms, err) < 0) {
		error_context(err, "delete sandbox '%s'", op->record.name);
		failed.event = err->text;
		if (operation_move(op, &failed, &second) < 0)
			log_warning("a failed delete is not marked yet",
			            TEXT("sandbox", op->record.id), FAILURE(&second));
		return -1;
	}
	fault_point("api", "delete-destroyed");
	if (was_archived)
		archive_drop(f, op->record.id);
	if (operation_move(op, &deleted, err) < 0 || store_sync_wait(f->store, sync, err) < 0)
		return -1;
	samples_forget(f, op->record.id);
	atomic_fetch_add(&f->deleted, 1);
	return 0;
}

/* Also continues an interrupted delete. */
int lifecycle_delete(struct operation *op, enum sandbox_reason reason, struct error *err)
{
	struct delete_options deletion = {.reason = reason};

	if (op->record.traits & SANDBOX_DELETED_KEPT)
		deletion.keep_ms = op->fleet->config->deleted_keep_ms;
	return delete_sandbox(op, &deletion, err);
}

/* The creating thread sees the request when it is done. If it is done already, the request does no
 * harm: the caller deletes the sandbox next. */
static void request_deletion(struct fleet *f, const struct sandbox_record *r)
{
	struct error err = {0};

	if (r->actual == SANDBOX_CREATING &&
	    store_sandbox_set_desired(f->store, r->id, SANDBOX_CREATING, SANDBOX_DELETED, &err) < 0)
		log_debug("no wish was left", TEXT("sandbox", r->id), FAILURE(&err));
}

static int find_and_delete(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                           const struct delete_options *deletion, struct error *err)
{
	AUTO(operation_end) struct operation op = {0};
	struct sandbox_record r;

	if (store_sandbox_find(fleet->store, a, ref->project_id, ref->id_or_name, &r, err) < 0) {
		if (err->code != ERROR_NOT_FOUND || !ref->awaited || !ref->awaited->key)
			return -1;
		error_clear(err); /* it has been deleted while this call awaited it */
		return 0;
	}
	if (sandbox_check_local(fleet, &r, err) < 0)
		return -1;
	request_deletion(fleet, &r);
	if (operation_await(fleet, a, r.id, ref->awaited, &op, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		/* Another thread has deleted it while this one waited. */
		error_clear(err);
		return 0;
	}
	if (deletion->keep_ms > 0 && op.record.actual == SANDBOX_ARCHIVED) {
		(void)FAIL(err, ERROR_UNSUPPORTED,
		           "sandbox '%s' is archived: its files cannot be kept in the trash",
		           op.record.name);
		return FAIL_HINT(err, "start it before, or delete it for good: 'atoll rm NAME'");
	}
	return delete_sandbox(&op, deletion, err);
}

int fleet_delete(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                 enum sandbox_reason reason, struct error *err)
{
	return find_and_delete(fleet, a, ref, &(struct delete_options){.reason = reason}, err);
}

int fleet_delete_kept(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                      struct error *err)
{
	const struct delete_options deletion = {.reason = SANDBOX_REASON_USER,
	                                        .keep_ms = fleet->config->deleted_keep_ms};

	return find_and_delete(fleet, a, ref, &deletion, err);
}

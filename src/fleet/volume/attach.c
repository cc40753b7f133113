/* SPDX-License-Identifier: Apache-2.0 */
/* Attaching and detaching volumes. For a stopped sandbox only the row changes; its next start does
 * the rest. For a running one the row first says what begins; the provider does it; then the row
 * says that it is done. mounts_reconcile finishes interrupted changes. */
#include <string.h>

#include "base/fault.h"
#include "fleet/core/cache.h"
#include "fleet/core/operation.h"
#include "fleet/core/sandboxes.h"
#include "fleet/volume/mounts.h"
#include "fleet/volume/volume.h"
#include "provider/volume.h"

static int begin_change(struct fleet *f, struct arena *a, const struct fleet_ref *ref,
                        struct operation *ret, struct error *err)
{
	if (provider_require(f->provider, PROVIDER_CAN_VOLUME, err) < 0 ||
	    operation_find_and_begin(f, a, ref, ret, err) < 0 ||
	    sandbox_require(f, &ret->record, PROVIDER_CAN_VOLUME, err) < 0)
		return -1;
	if (ret->ops->volumes->is_with_create) {
		(void)FAIL(err, ERROR_UNSUPPORTED,
		           "provider '%s' cannot do this: change the volumes of a sandbox",
		           ret->record.provider);
		return FAIL_HINT(err, "name volumes when you create a sandbox");
	}
	if (ret->record.actual == SANDBOX_STOPPED || sandbox_is_alive(&ret->record))
		return 0;
	error_set(err, ERROR_CONFLICT, 0, HERE, "sandbox '%s' is %s: its volumes stay as they are",
	          ret->record.name, sandbox_state_name(ret->record.actual));
	return FAIL_HINT(err, "that is possible while it runs or is stopped");
}

static int ask_provider(struct operation *op, enum provider_volume_verb verb,
                        const struct mount_record *mount, bool is_forced, struct error *err)
{
	const struct provider_volume request = {.verb = verb,
	                                        .id = mount->volume_id,
	                                        .sandbox_id = op->record.id,
	                                        .path = mount->path,
	                                        .subpath = mount->subpath,
	                                        .is_read_only = mount->is_read_only,
	                                        .is_forced = is_forced};
	struct provider_volume_state ignored;

	return op->ops->volumes->run(op->provider, &request, deadline_after(CALL_TIMEOUT_MS),
	                             &ignored, err);
}

static int move_mount(struct operation *op, const struct mount_record *mount, enum mount_state from,
                      enum mount_state to, struct error *err)
{
	const struct mount_move change = {mount->sandbox_id, mount->volume_id, from, to};

	return store_mount_move(op->fleet->store, &change, err);
}

static int drop_mount(struct operation *op, const struct mount_record *mount, struct error *err)
{
	return store_mount_remove(op->fleet->store, mount->sandbox_id, mount->volume_id, err);
}

/* The provider may have attached the volume without being able to report it. */
static void undo_attach(struct operation *op, const struct mount_record *mount)
{
	struct error err = {0};

	if (ask_provider(op, PROVIDER_VOLUME_DETACH, mount, true, &err) < 0 &&
	    err.code != ERROR_NOT_FOUND) {
		log_warning("a volume is half attached, the next sweep sees to it",
		            TEXT("volume", mount->volume_id), FAILURE(&err));
		return;
	}
	error_clear(&err);
	if (drop_mount(op, mount, &err) < 0)
		log_warning("a volume is said to be attached, the next sweep sees to it",
		            TEXT("volume", mount->volume_id), FAILURE(&err));
}

static int attach_running(struct operation *op, const struct mount_record *mount, struct error *err)
{
	fault_point("api", "volume-attaching");
	if (mounts_end_browsing(op, mount->volume_id, err) < 0 ||
	    ask_provider(op, PROVIDER_VOLUME_ATTACH, mount, false, err) < 0) {
		undo_attach(op, mount);
		if (err->code == ERROR_NOT_FOUND)
			return FAIL(err, ERROR_CONFLICT, "sandbox '%s' has just ended",
			            op->record.name);
		return -1;
	}
	fault_point("api", "volume-placed");
	return move_mount(op, mount, MOUNT_ATTACHING, MOUNT_ATTACHED, err);
}

static int detach_running(struct operation *op, const struct mount_record *mount, bool is_forced,
                          struct error *err)
{
	struct error second = {0};

	if (mount->state == MOUNT_ATTACHED &&
	    move_mount(op, mount, MOUNT_ATTACHED, MOUNT_DETACHING, err) < 0)
		return -1;
	fault_point("api", "volume-detaching");
	/* A sandbox that has ended has nothing mounted. */
	if (ask_provider(op, PROVIDER_VOLUME_DETACH, mount, is_forced, err) < 0 &&
	    err->code != ERROR_NOT_FOUND) {
		/* If the provider refused, the volume is still attached; after other failures it
		 * may not be, and the next sweep asks again. */
		if (err->code == ERROR_CONFLICT &&
		    move_mount(op, mount, MOUNT_DETACHING, MOUNT_ATTACHED, &second) < 0)
			log_warning("a volume is half detached, the next sweep sees to it",
			            TEXT("volume", mount->volume_id), FAILURE(&second));
		return -1;
	}
	error_clear(err);
	fault_point("api", "volume-detached");
	return drop_mount(op, mount, err);
}

static int insert_mount(struct fleet *f, const struct mount_record *mount,
                        const struct fleet_awaited *awaited, struct error *err)
{
	const struct mount_list list = {(struct mount_record *)(uintptr_t)mount, 1};

	if (store_mounts_insert(f->store, mount, 1, err) == 0)
		return 0;
	if (err->code != ERROR_CONFLICT || !mounts_wait(f, &list, awaited, err))
		return -1;
	error_clear(err);
	return store_mounts_insert(f->store, mount, 1, err);
}

int fleet_volume_attach(struct fleet *fleet, struct arena *a, const struct fleet_ref *sandbox,
                        const struct fleet_mount *mount, struct error *err)
{
	const struct fleet_ref ref = {sandbox->project_id, mount->volume};
	AUTO(operation_end) struct operation op = {0};
	struct mount_list has, wanted;
	struct volume_record volume;
	struct mount_record *added;

	if (begin_change(fleet, a, sandbox, &op, err) < 0)
		return -1;
	if (mounts_find_volume(fleet, a, &ref, &volume, err) < 0) {
		error_elsewhere(err, ""); /* where the sandbox is not */
		return -1;
	}
	if (store_mounts_of_sandbox(fleet->store, a, op.record.id, &has, err) < 0)
		return -1;
	wanted = (struct mount_list){.items = ARENA_ARRAY(a, struct mount_record, has.count + 1),
	                             .count = has.count + 1};
	for (size_t i = 0; i < has.count; i++)
		wanted.items[i] = has.items[i];
	added = &wanted.items[has.count];
	*added = (struct mount_record){
	        .sandbox_id = op.record.id,
	        .volume_id = volume.id,
	        .path = mount->path ? mount->path : FLEET_MOUNT_PATH,
	        .subpath = mount->subpath,
	        .is_read_only = mount->is_read_only,
	        .state = sandbox_is_alive(&op.record) ? MOUNT_ATTACHING : MOUNT_ATTACHED,
	        .created_at = clock_unix_ms(),
	};
	if (mounts_check(a, &wanted, err) < 0 ||
	    insert_mount(fleet, added, sandbox->awaited, err) < 0)
		return -1;
	return sandbox_is_alive(&op.record) ? attach_running(&op, added, err) : 0;
}

static const struct mount_record *find_mount(const struct mount_list *mounts, const char *volume)
{
	for (size_t i = 0; i < mounts->count; i++) {
		const struct mount_record *m = &mounts->items[i];

		if (volume ? strcmp(m->volume_id, volume) == 0 ||
		                     strcmp(m->volume_name, volume) == 0 ||
		                     strcmp(m->path, volume) == 0
		           : mounts->count == 1)
			return m;
	}
	return NULL;
}

int fleet_volume_detach(struct fleet *fleet, struct arena *a, const struct fleet_ref *sandbox,
                        const struct fleet_detach *request, struct error *err)
{
	const char *volume = request->volume;
	AUTO(operation_end) struct operation op = {0};
	const struct mount_record *mount;
	struct mount_list has;

	if (begin_change(fleet, a, sandbox, &op, err) < 0 ||
	    store_mounts_of_sandbox(fleet->store, a, op.record.id, &has, err) < 0)
		return -1;
	mount = find_mount(&has, volume);
	if (mount)
		return sandbox_is_alive(&op.record)
		               ? detach_running(&op, mount, request->is_forced, err)
		               : drop_mount(&op, mount, err);
	if (!volume && has.count > 0)
		return FAIL(err, ERROR_INVALID, "sandbox '%s' has %zu volumes: say which",
		            op.record.name, has.count);
	return FAIL(err, ERROR_NOT_FOUND, "sandbox '%s' has no volume%s%.80s%s", op.record.name,
	            volume ? " '" : "", volume ? volume : "", volume ? "'" : "");
}

/* For a sandbox that does not run only the row changes. */
static int finish_mount(struct operation *op, const struct mount_record *mount, struct error *err)
{
	bool runs = sandbox_is_alive(&op->record);

	if (mount->state == MOUNT_DETACHING)
		return runs ? detach_running(op, mount, false, err) : drop_mount(op, mount, err);
	return runs ? attach_running(op, mount, err)
	            : move_mount(op, mount, MOUNT_ATTACHING, MOUNT_ATTACHED, err);
}

static void reconcile_mount(struct fleet *f, const struct mount_record *m)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(operation_end) struct operation op = {0};
	const struct mount_record *mount;
	struct error err = {0};
	struct mount_list has;

	if (cache_is_busy(f->cache, m->sandbox_id) ||
	    operation_begin(f, &arena, m->sandbox_id, deadline_after(0), &op, &err) < 0 ||
	    !sandbox_is_local(f, &op.record) ||
	    (op.record.actual != SANDBOX_STOPPED && !sandbox_is_alive(&op.record)) ||
	    store_mounts_of_sandbox(f->store, &arena, op.record.id, &has, &err) < 0)
		return;
	mount = find_mount(&has, m->volume_id);
	if (mount && mount->state != MOUNT_ATTACHED && finish_mount(&op, mount, &err) < 0)
		log_warning("a volume is not settled", TEXT("volume", mount->volume_id),
		            TEXT("sandbox", op.record.id), FAILURE(&err));
}

int mounts_reconcile(struct fleet *f, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct mount_list unfinished;

	if (!(f->ops->abilities & PROVIDER_CAN_VOLUME))
		return 0;
	if (store_mounts_unfinished(f->store, &arena, &unfinished, err) < 0)
		return -1;
	for (size_t i = 0; i < unfinished.count; i++)
		reconcile_mount(f, &unfinished.items[i]);
	return 0;
}

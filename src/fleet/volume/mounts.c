/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts: which sandbox has which volume at which path. */
#include "fleet/volume/mounts.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "fleet/core/cache.h"
#include "fleet/core/operation.h"
#include "fleet/core/sandboxes.h"
#include "fleet/core/volume_operation.h"
#include "fleet/core/waiting.h"
#include "fleet/volume/browsers.h"

/* How long a call that may park waits on its thread, and when it polls again. */
#define FIRST_WAIT_MS 200
#define LOOK_AGAIN_MS 200

int mounts_find_volume(struct fleet *f, struct arena *a, const struct fleet_ref *ref,
                       struct volume_record *ret, struct error *err)
{
	if (store_volume_find(f->store, a, ref->project_id, ref->id_or_name, ret, err) < 0 ||
	    volume_check_local(f, ret, err) < 0)
		return -1;
	return ret->state == VOLUME_READY ? 0
	                                  : FAIL(err, ERROR_CONFLICT, "volume '%s' is %s",
	                                         ret->name, volume_state_name(ret->state));
}

static void mounts_of_records(const struct mount_list *list, struct sandbox_mount *ret)
{
	for (size_t i = 0; i < list->count; i++)
		ret[i] =
		        (struct sandbox_mount){list->items[i].volume_id, list->items[i].path,
		                               list->items[i].is_read_only, list->items[i].subpath};
}

int mounts_check(struct arena *a, const struct mount_list *list, struct error *err)
{
	struct sandbox_mount *mounts = ARENA_ARRAY(a, struct sandbox_mount, list->count + 1);

	mounts_of_records(list, mounts);
	return sandbox_mounts_check(mounts, list->count, err);
}

static int compare_volume_ids(const void *a, const void *b)
{
	return strcmp(((const struct mount_record *)a)->volume_id,
	              ((const struct mount_record *)b)->volume_id);
}

void mounts_sort(struct mount_list *list)
{
	qsort(list->items, list->count, sizeof(*list->items), compare_volume_ids);
}

struct volume_wait {
	char key[ERROR_AWAITS_MAX]; /* "": the call does not park */
	int64_t waited_ms, deadline;
};

/* One key for all volumes of the call, so that its waiting time does not restart with each. */
static struct volume_wait volume_wait_begin(const struct mount_list *mounts,
                                            const struct fleet_awaited *awaited)
{
	struct volume_wait wait = {.deadline = deadline_after(CALL_TIMEOUT_MS)};

	if (!awaited)
		return wait;
	awaited_key("mounts", mounts->items[0].volume_id, wait.key);
	wait.waited_ms = clock_monotonic_ms() - awaited_since(awaited, wait.key);
	wait.deadline = deadline_after(wait.waited_ms > 0 ? 0 : FIRST_WAIT_MS);
	return wait;
}

static void await_volumes(const struct volume_wait *wait, struct error *err)
{
	if (wait->key[0] && wait->waited_ms < CALL_TIMEOUT_MS)
		error_await(err, wait->key, LOOK_AGAIN_MS, -1);
}

static bool is_conflicting(const struct mount_record *holder, const struct mount_record *wanted)
{
	return !holder->is_read_only || !wanted->is_read_only;
}

/* Waits for operations that began earlier. */
static bool wait_for_end(struct fleet *f, const char *sandbox_id, int64_t deadline)
{
	struct cache_entry *entry = cache_pin(f->cache, sandbox_id);
	bool is_over = cache_operation_begin(f->cache, entry, deadline);

	if (is_over)
		cache_operation_end(f->cache, entry);
	cache_unpin(f->cache, entry);
	return is_over;
}

static bool is_leaving(const struct mount_record *holder)
{
	return holder->sandbox_state == SANDBOX_DELETING || holder->state == MOUNT_DETACHING;
}

bool mounts_wait(struct fleet *f, const struct mount_list *mounts,
                 const struct fleet_awaited *awaited, struct error *err)
{
	const struct volume_wait wait = volume_wait_begin(mounts, awaited);
	AUTO(arena_done) struct arena arena = {0};
	bool has_waited = false;

	for (size_t i = 0; i < mounts->count; i++) {
		struct mount_list holders;

		if (store_mounts_of_volume(f->store, &arena, mounts->items[i].volume_id, &holders,
		                           &(struct error){0}) < 0)
			return false;
		for (size_t j = 0; j < holders.count; j++) {
			if (!is_conflicting(&holders.items[j], &mounts->items[i]))
				continue;
			if (!is_leaving(&holders.items[j]))
				return false;
			if (!wait_for_end(f, holders.items[j].sandbox_id, wait.deadline)) {
				await_volumes(&wait, err);
				return false;
			}
			has_waited = true;
		}
	}
	return has_waited;
}

/* From the row in CREATING on, no browser for writing can be opened. */
int mounts_end_browsing(struct operation *op, const char *volume_id, struct error *err)
{
	AUTO(volume_operation_end) struct volume_operation volume = {0};

	if (volume_operation_begin(op->fleet, op->arena, volume_id, deadline_after(CALL_TIMEOUT_MS),
	                           &volume, err) < 0)
		return -1;
	return browser_close(op->fleet, volume_id, err);
}

static int reserve_volume(struct operation *op, const char *id, const struct volume_wait *wait,
                          struct error *err)
{
	if (volume_operation_begin(op->fleet, op->arena, id, wait->deadline,
	                           &op->volumes.items[op->volumes.count], err) < 0)
		return -1;
	op->volumes.count++;
	if (wait->waited_ms >= BROWSER_CLOSE_MS ||
	    browser_await_transfers(op->fleet, id, wait->deadline))
		return 0;
	return FAIL(err, ERROR_TIMEOUT, "volume '%s': its files are being read or written", id);
}

int mounts_reserve(struct operation *op, const struct mount_list *mounts,
                   const struct fleet_awaited *awaited, struct error *err)
{
	const struct volume_wait wait = volume_wait_begin(mounts, awaited);

	op->volumes.items = ARENA_ARRAY(op->arena, struct volume_operation, mounts->count);
	for (size_t i = 0; i < mounts->count; i++) {
		if (i > 0 && compare_volume_ids(&mounts->items[i - 1], &mounts->items[i]) == 0)
			continue;
		if (reserve_volume(op, mounts->items[i].volume_id, &wait, err) == 0)
			continue;
		volume_operations_end(&op->volumes);
		if (err->code == ERROR_TIMEOUT)
			await_volumes(&wait, err);
		return -1;
	}
	return 0;
}

int mounts_reserve_own(struct operation *op, const struct fleet_awaited *awaited, struct error *err)
{
	struct mount_list mounts;

	if (store_mounts_of_sandbox(op->fleet->store, op->arena, op->record.id, &mounts, err) < 0)
		return -1;
	if (mounts.count == 0)
		return 0;
	mounts_sort(&mounts);
	return mounts_reserve(op, &mounts, awaited, err);
}

int mounts_take(struct operation *op, const struct mount_list *mounts, struct error *err)
{
	bool has_volumes = op->volumes.count > 0;
	struct sandbox_mount *own = ARENA_ARRAY(op->arena, struct sandbox_mount, mounts->count + 1);

	fault_point("api", "volume-attached");
	for (size_t i = 0; i < mounts->count; i++) {
		const char *id = mounts->items[i].volume_id;

		if ((has_volumes ? browser_end(op->fleet, id, err)
		                 : mounts_end_browsing(op, id, err)) < 0)
			return -1;
	}
	volume_operations_end(&op->volumes);
	mounts_of_records(mounts, own);
	op->mounts = own;
	op->mount_count = mounts->count;
	return 0;
}

int mounts_load(struct operation *op, struct error *err)
{
	struct mount_list mounts;

	if (store_mounts_of_sandbox(op->fleet->store, op->arena, op->record.id, &mounts, err) < 0)
		return -1;
	return mounts.count > 0 ? mounts_take(op, &mounts, err) : 0;
}

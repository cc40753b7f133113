/* SPDX-License-Identifier: Apache-2.0 */
/* Which sandbox has which volume where. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "fleet/parts.h"
#include "fleet/waiting.h"

#define HOME_PREFIX "home-"
/* A call that may park waits so long on its thread, then looks again after so long. */
#define FIRST_WAIT_MS 200
#define LOOK_AGAIN_MS 200

/* ---- a request ---- */

int mounts_find_volume(struct fleet *f, struct arena *a, const struct fleet_ref *ref,
                       struct volume_record *ret, struct error *err)
{
	if (store_volume_find(f->store, a, ref->project_id, ref->id_or_name, ret, err) < 0 ||
	    volume_check(f, ret, err) < 0)
		return -1;
	return ret->state == VOLUME_READY ? 0
	                                  : FAIL(err, ERROR_CONFLICT, "volume '%s' is %s",
	                                         ret->name, volume_state_name(ret->state));
}

/* Several may come with the same key at once: one of them makes it. */
static int find_home(struct fleet *f, struct arena *a, const struct fleet_create *request,
                     struct volume_record *ret, struct error *err)
{
	const char *name = arena_format(a, HOME_PREFIX "%s", request->persistent_home);
	const struct fleet_ref ref = {request->project_id, name};
	const struct fleet_volume home = {request->project_id, name, request->persistent_home_mb};

	if (mounts_find_volume(f, a, &ref, ret, err) == 0)
		return 0;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	if (fleet_volume_create(f, a, &home, ret, err) == 0)
		return 0;
	if (err->code != ERROR_CONFLICT)
		return -1;
	error_clear(err);
	return mounts_find_volume(f, a, &ref, ret, err);
}

static struct mount_record *add(struct draft *draft, const struct volume_record *volume,
                                const char *path)
{
	struct mount_record *mount = &draft->mounts.items[draft->mounts.count++];

	*mount = (struct mount_record){.sandbox_id = draft->record.id,
	                               .volume_id = volume->id,
	                               .path = path ? path : FLEET_MOUNT_PATH,
	                               .created_at = clock_unix_ms()};
	return mount;
}

static void to_sandbox(const struct mount_list *list, struct sandbox_mount *ret)
{
	for (size_t i = 0; i < list->count; i++)
		ret[i] =
		        (struct sandbox_mount){list->items[i].volume_id, list->items[i].path,
		                               list->items[i].is_read_only, list->items[i].subpath};
}

int mounts_check(struct arena *a, const struct mount_list *list, struct error *err)
{
	struct sandbox_mount *mounts = ARENA_ARRAY(a, struct sandbox_mount, list->count + 1);

	to_sandbox(list, mounts);
	return sandbox_mounts_check(mounts, list->count, err);
}

/* Two that claim the same volumes do it in the same order. */
static int compare(const void *a, const void *b)
{
	return strcmp(((const struct mount_record *)a)->volume_id,
	              ((const struct mount_record *)b)->volume_id);
}

int mounts_resolve(struct fleet *f, struct arena *a, struct draft *draft, struct error *err)
{
	const struct fleet_create *request = draft->request;
	struct volume_record volume;

	if (request->mount_count == 0 && !request->persistent_home)
		return 0;
	if (request->mount_count > SANDBOX_MOUNTS_MAX)
		return FAIL(err, ERROR_LIMIT, "a sandbox has at most %d volumes",
		            SANDBOX_MOUNTS_MAX);
	if (provider_require(f->provider, PROVIDER_CAN_VOLUME, err) < 0)
		return -1;
	draft->mounts.items = ARENA_ARRAY(a, struct mount_record, request->mount_count + 1);
	for (size_t i = 0; i < request->mount_count; i++) {
		const struct fleet_mount *wanted = &request->mounts[i];
		const struct fleet_ref ref = {request->project_id, wanted->volume};
		struct mount_record *mount;

		if (mounts_find_volume(f, a, &ref, &volume, err) < 0)
			return -1;
		mount = add(draft, &volume, wanted->path);
		mount->is_read_only = wanted->is_read_only;
		mount->subpath = wanted->subpath;
	}
	if (mounts_check(a, &draft->mounts, err) < 0)
		return -1;
	if (request->persistent_home) {
		if (find_home(f, a, request, &volume, err) < 0)
			return FAIL_CONTEXT(err, "persistent home");
		(void)add(draft, &volume,
		          request->persistent_home_path ? request->persistent_home_path
		                                        : FLEET_HOME_PATH);
	}
	qsort(draft->mounts.items, draft->mounts.count, sizeof(*draft->mounts.items), compare);
	return mounts_check(a, &draft->mounts, err);
}

/* ---- how long a call waits for volumes ---- */

struct volume_wait {
	char key[ERROR_AWAITS_MAX]; /* "": the call does not park */
	int64_t waited_ms, deadline;
};

/* One key for all that the call may wait for: its time does not begin anew with each volume. */
static struct volume_wait begin_wait(const struct mount_list *mounts,
                                     const struct fleet_awaited *awaited)
{
	struct volume_wait wait = {.deadline = deadline_in(CALL_TIMEOUT_MS)};

	if (!awaited)
		return wait;
	waiting_key("mounts", mounts->items[0].volume_id, wait.key);
	wait.waited_ms = clock_monotonic_ms() - waiting_begun(awaited, wait.key);
	wait.deadline = deadline_in(wait.waited_ms > 0 ? 0 : FIRST_WAIT_MS);
	return wait;
}

static void await_again(const struct volume_wait *wait, struct error *err)
{
	if (wait->key[0] && wait->waited_ms < CALL_TIMEOUT_MS)
		error_await(err, wait->key, LOOK_AGAIN_MS, -1);
}

/* ---- who is in the way ---- */

static bool is_in_the_way(const struct mount_record *holder, const struct mount_record *wanted)
{
	return !holder->is_read_only || !wanted->is_read_only;
}

/* What began before us is to be over before us. */
static bool wait_for_end(struct fleet *f, const char *sandbox_id, int64_t deadline)
{
	struct slot *slot = cache_pin(&f->cache, sandbox_id);
	bool is_over = cache_act(&f->cache, slot, deadline);

	if (is_over)
		cache_act_end(&f->cache, slot);
	cache_unpin(&f->cache, slot);
	return is_over;
}

static bool is_leaving(const struct mount_record *holder)
{
	return holder->sandbox_state == SANDBOX_DELETING || holder->state == MOUNT_DETACHING;
}

bool mounts_wait(struct fleet *f, const struct mount_list *mounts,
                 const struct fleet_awaited *awaited, struct error *err)
{
	const struct volume_wait wait = begin_wait(mounts, awaited);
	AUTO(arena_done) struct arena arena = {0};
	struct error ignored = {0};
	bool has_waited = false;

	for (size_t i = 0; i < mounts->count; i++) {
		struct mount_list holders;

		if (store_mounts_of_volume(f->store, &arena, mounts->items[i].volume_id, &holders,
		                           &ignored) < 0)
			return false;
		for (size_t j = 0; j < holders.count; j++) {
			if (!is_in_the_way(&holders.items[j], &mounts->items[i]))
				continue;
			if (!is_leaving(&holders.items[j]))
				return false;
			if (!wait_for_end(f, holders.items[j].sandbox_id, wait.deadline)) {
				await_again(&wait, err);
				return false;
			}
			has_waited = true;
		}
	}
	return has_waited;
}

/* ---- a sandbox that starts ---- */

/* From the row on, which says that it is being made, nobody begins to browse what it writes. */
int mounts_end_browsing(struct act *a, const char *volume_id, struct error *err)
{
	AUTO(volume_end) struct volume_act volume = {0};

	if (volume_begin(a->fleet, a->arena, volume_id, deadline_in(CALL_TIMEOUT_MS), &volume,
	                 err) < 0)
		return -1;
	return browser_close(a->fleet, volume_id, err);
}

static int reserve_volume(struct act *a, const char *id, const struct volume_wait *wait,
                          struct error *err)
{
	if (volume_begin(a->fleet, a->arena, id, wait->deadline,
	                 &a->volumes.items[a->volumes.count], err) < 0)
		return -1;
	a->volumes.count++;
	if (wait->waited_ms >= BROWSER_CLOSE_MS ||
	    browser_await_transfers(a->fleet, id, wait->deadline))
		return 0;
	return FAIL(err, ERROR_TIMEOUT, "volume '%s': its files are being read or written", id);
}

int mounts_reserve(struct act *a, const struct mount_list *mounts,
                   const struct fleet_awaited *awaited, struct error *err)
{
	const struct volume_wait wait = begin_wait(mounts, awaited);

	a->volumes.items = ARENA_ARRAY(a->arena, struct volume_act, mounts->count);
	for (size_t i = 0; i < mounts->count; i++) {
		if (i > 0 && compare(&mounts->items[i - 1], &mounts->items[i]) == 0)
			continue;
		if (reserve_volume(a, mounts->items[i].volume_id, &wait, err) == 0)
			continue;
		mounts_release(a);
		if (err->code == ERROR_TIMEOUT)
			await_again(&wait, err);
		return -1;
	}
	return 0;
}

int mounts_reserve_own(struct act *a, const struct fleet_awaited *awaited, struct error *err)
{
	struct mount_list mounts;

	if (store_mounts_of_sandbox(a->fleet->store, a->arena, a->record.id, &mounts, err) < 0)
		return -1;
	if (mounts.count == 0)
		return 0;
	qsort(mounts.items, mounts.count, sizeof(*mounts.items), compare);
	return mounts_reserve(a, &mounts, awaited, err);
}

void mounts_release(struct act *a)
{
	while (a->volumes.count > 0)
		volume_end(&a->volumes.items[--a->volumes.count]);
}

int mounts_take(struct act *a, const struct mount_list *mounts, struct error *err)
{
	bool has_volumes = a->volumes.count > 0;
	struct sandbox_mount *own = ARENA_ARRAY(a->arena, struct sandbox_mount, mounts->count + 1);

	fault_point("api", "volume-attached");
	for (size_t i = 0; i < mounts->count; i++) {
		const char *id = mounts->items[i].volume_id;

		if ((has_volumes ? browser_end(a->fleet, id, err)
		                 : mounts_end_browsing(a, id, err)) < 0)
			return -1;
	}
	mounts_release(a);
	to_sandbox(mounts, own);
	a->mounts = own;
	a->mount_count = mounts->count;
	return 0;
}

int mounts_load(struct act *a, struct error *err)
{
	struct mount_list mounts;

	if (store_mounts_of_sandbox(a->fleet->store, a->arena, a->record.id, &mounts, err) < 0)
		return -1;
	return mounts.count > 0 ? mounts_take(a, &mounts, err) : 0;
}

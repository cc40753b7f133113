/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/volume/volume.h"

#include <string.h>

#include "base/fault.h"
#include "base/map.h"
#include "fleet/core/cache.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/volume_operation.h"
#include "fleet/core/waiting.h"
#include "fleet/recovery/notes.h"
#include "fleet/usage/storage_limit.h"
#include "fleet/volume/browsers.h"
#include "fleet/volume/mounts.h"
#include "provider/entries.h"
#include "provider/provider.h"
#include "provider/volume.h"

#define VOLUMES_MAX 1000 /* of a project */
#define SIZE_MB_MAX (1 << 28)
#define USAGE_MS 30000
/* A call that may park waits so long for the call that uses the volume, then looks again. */
#define FIRST_WAIT_MS 200
#define LOOK_AGAIN_MS 200
#define GROW_MS 300000
/* A volume in MAKING for longer has lost its creator. */
#define MAKING_MS (2 * CALL_TIMEOUT_MS)

/* volume_operation_begin that does not wait where the caller may park, as operation_await does. */
static int await_volume(struct fleet *f, struct arena *a, const char *id,
                        const struct fleet_awaited *awaited, struct volume_operation *ret,
                        struct error *err)
{
	char key[ERROR_AWAITS_MAX];
	int64_t waited_ms;

	if (!awaited)
		return volume_operation_begin(f, a, id, deadline_after(CALL_TIMEOUT_MS), ret, err);
	awaited_key("volume", id, key);
	waited_ms = clock_monotonic_ms() - awaited_since(awaited, key);
	if (volume_operation_begin(f, a, id, deadline_after(waited_ms > 0 ? 0 : FIRST_WAIT_MS), ret,
	                           err) == 0)
		return 0;
	if (err->code == ERROR_TIMEOUT && waited_ms < CALL_TIMEOUT_MS)
		error_await(err, key, LOOK_AGAIN_MS, -1);
	return -1;
}

static int find_and_begin(struct fleet *f, struct arena *a, const struct fleet_ref *ref,
                          struct volume_operation *ret, struct error *err)
{
	struct volume_record r;

	if (provider_require(f->provider, PROVIDER_CAN_VOLUME, err) < 0 ||
	    store_volume_find(f->store, a, ref->project_id, ref->id_or_name, &r, err) < 0 ||
	    volume_check_local(f, &r, err) < 0)
		return -1;
	return await_volume(f, a, r.id, ref->awaited, ret, err);
}

/* `change`: the new state or size. */
static int move_volume(struct volume_operation *v, struct volume_move change, struct error *err)
{
	change.id = v->record.id;
	change.from = v->record.state;
	change.now = clock_unix_ms();
	return store_volume_move(v->fleet->store, v->arena, &change, &v->record, err);
}

static int ask_provider(struct volume_operation *v, enum provider_volume_verb verb, int64_t size_mb,
                        struct provider_volume_state *ret, struct error *err)
{
	const struct provider_volume request = {
	        .verb = verb, .id = v->record.id, .size_mb = size_mb};
	static const int64_t timeout_ms[] = {[PROVIDER_VOLUME_MAKE] = CALL_TIMEOUT_MS,
	                                     [PROVIDER_VOLUME_REMOVE] = CALL_TIMEOUT_MS,
	                                     [PROVIDER_VOLUME_LOOK] = USAGE_MS,
	                                     [PROVIDER_VOLUME_GROW] = GROW_MS};
	int64_t deadline = deadline_after(timeout_ms[verb]);

	return v->fleet->ops->volumes->run(v->fleet->provider, &request, deadline, ret, err);
}

/* The row goes last: as long as it is there, the next sweep finishes this. */
static int finish_delete(struct volume_operation *v, struct error *err)
{
	struct provider_volume_state ignored;

	if (v->record.state != VOLUME_DELETING &&
	    move_volume(v, (struct volume_move){.to = VOLUME_DELETING}, err) < 0)
		return -1;
	fault_point("api", "volume-deleting");
	if (browser_close(v->fleet, v->record.id, err) < 0 ||
	    ask_provider(v, PROVIDER_VOLUME_REMOVE, 0, &ignored, err) < 0)
		return FAIL_CONTEXT(err, "delete volume '%s'", v->record.name);
	fault_point("api", "volume-removed");
	note_drop_of(v->fleet, "volume", v->record.id);
	return store_volume_remove(v->fleet->store, v->record.id, err);
}

int fleet_volume_remove(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                        struct error *err)
{
	AUTO(volume_operation_end) struct volume_operation v = {0};

	if (find_and_begin(fleet, a, ref, &v, err) < 0 || finish_delete(&v, err) < 0)
		return -1;
	log_info("volume deleted", TEXT("volume", v.record.id));
	return 0;
}

static int check_request(const struct fleet_volume *request, struct error *err)
{
	if (sandbox_name_check(request->name, err) < 0)
		return -1;
	if (request->size_mb < 0 || request->size_mb > SIZE_MB_MAX)
		return FAIL(err, ERROR_INVALID, "a volume has 1 to %d MiB", SIZE_MB_MAX);
	return 0;
}

static int make_volume(struct volume_operation *v, int64_t size_mb, struct error *err)
{
	struct provider_volume_state state;

	fault_point("api", "volume-recorded");
	if (ask_provider(v, PROVIDER_VOLUME_MAKE, size_mb, &state, err) < 0)
		return -1;
	fault_point("api", "volume-made");
	return move_volume(v,
	                   (struct volume_move){.to = VOLUME_READY,
	                                        .size_is_advisory = state.size_is_advisory},
	                   err);
}

int fleet_volume_create(struct fleet *fleet, struct arena *a, const struct fleet_volume *request,
                        struct volume_record *ret, struct error *err)
{
	AUTO(volume_operation_end) struct volume_operation v = {.fleet = fleet, .arena = a};
	struct id id = id_new();
	int64_t now = clock_unix_ms();
	const struct storage_claim claim = {request->project_id, "", 0};
	struct error second = {0};
	int64_t room;

	if (provider_require(fleet->provider, PROVIDER_CAN_VOLUME, err) < 0 ||
	    check_request(request, err) < 0 || storage_room(fleet, &claim, &room, err) < 0)
		return -1;
	v.record = (struct volume_record){
	        .id = arena_text(a, id.text),
	        .project_id = request->project_id,
	        .name = request->name,
	        .workspace = request->workspace ? request->workspace : "",
	        .provider = fleet->primary,
	        .node = fleet->node,
	        .size_mb = request->size_mb > 0 ? request->size_mb : FLEET_VOLUME_MB,
	        .state = VOLUME_MAKING,
	        .created_at = now,
	        .updated_at = now,
	};
	if (volume_operation_begin_new(&v, id.text, deadline_after(CALL_TIMEOUT_MS), err) < 0 ||
	    store_volume_insert(fleet->store, &v.record, VOLUMES_MAX, err) < 0)
		return -1;
	if (make_volume(&v, request->size_mb, err) < 0) {
		if (finish_delete(&v, &second) < 0)
			log_warning("half a volume waits for the next sweep",
			            TEXT("volume", id.text), FAILURE(&second));
		return FAIL_CONTEXT(err, "make volume '%s'", request->name);
	}
	log_info("volume made", TEXT("volume", id.text));
	*ret = v.record;
	return 0;
}

/* The provider first: what the row says is there. */
static int grow_volume(struct volume_operation *v, int64_t size_mb, struct error *err)
{
	const struct volume_record *r = &v->record;
	struct provider_volume_state ignored;

	if (r->state != VOLUME_READY)
		return FAIL(err, ERROR_CONFLICT, "volume '%s' is %s", r->name,
		            volume_state_name(r->state));
	if (r->size_is_advisory) {
		(void)FAIL(err, ERROR_UNSUPPORTED, "volume '%s' has no limit that could be raised",
		           r->name);
		return FAIL_HINT(err,
		                 "one that is made with size_mb has a limit, where the host can");
	}
	if (size_mb < r->size_mb)
		return FAIL(err, ERROR_INVALID,
		            "volume '%s' has %lld MiB and cannot shrink to %lld MiB", r->name,
		            (long long)r->size_mb, (long long)size_mb);
	if (volume_check_unused(v, err) < 0 || browser_close(v->fleet, r->id, err) < 0)
		return -1;
	if (ask_provider(v, PROVIDER_VOLUME_GROW, size_mb, &ignored, err) < 0)
		return FAIL_CONTEXT(err, "grow volume '%s'", r->name);
	fault_point("api", "volume-grown");
	return move_volume(v, (struct volume_move){.to = VOLUME_READY, .size_mb = size_mb}, err);
}

int fleet_volume_grow(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                      int64_t size_mb, struct volume_record *ret, struct error *err)
{
	AUTO(volume_operation_end) struct volume_operation v = {0};

	if (size_mb < 1 || size_mb > SIZE_MB_MAX)
		return FAIL(err, ERROR_INVALID, "a volume has 1 to %d MiB", SIZE_MB_MAX);
	if (find_and_begin(fleet, a, ref, &v, err) < 0 || grow_volume(&v, size_mb, err) < 0)
		return -1;
	log_info("volume grown", TEXT("volume", v.record.id));
	*ret = v.record;
	return 0;
}

int fleet_volume_usage(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                       uint64_t *ret, struct error *err)
{
	AUTO(volume_operation_end) struct volume_operation v = {0};
	struct provider_volume_state state;

	if (find_and_begin(fleet, a, ref, &v, err) < 0 ||
	    ask_provider(&v, PROVIDER_VOLUME_LOOK, 0, &state, err) < 0)
		return -1;
	*ret = state.used_bytes;
	return 0;
}

/* A volume in MAKING was never returned to a caller: it may be removed. */
static void reconcile_volume(struct fleet *f, const struct volume_record *r, bool at_boot)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(volume_operation_end) struct volume_operation v = {0};
	int64_t before = clock_unix_ms() - MAKING_MS;
	struct error err = {0};

	/* Another server's are that one's to settle. */
	if (r->state == VOLUME_READY || volume_check_local(f, r, &err) < 0 ||
	    (r->state == VOLUME_MAKING && !at_boot && r->updated_at > before) ||
	    cache_is_busy(f->cache, r->id))
		return;
	if (volume_operation_begin(f, &arena, r->id, deadline_after(0), &v, &err) < 0 ||
	    v.record.state == VOLUME_READY)
		return;
	if (finish_delete(&v, &err) < 0)
		log_warning("volume is not settled", TEXT("volume", r->id), FAILURE(&err));
}

/* The row is written before the volume is made and removed after it. Files without a row hint at
 * another database and are never deleted. */
static int log_strangers(struct fleet *f, const struct volume_list *rows, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(map_done) struct map known = {0};
	struct provider_list list;

	for (size_t i = 0; i < rows->count; i++)
		map_put(&known, rows->items[i].id, f);
	if (f->ops->volumes->list(f->provider, &arena, &list, err) < 0)
		return FAIL_CONTEXT(err, "list the volumes of provider '%s'", f->primary);
	for (size_t i = 0; i < list.count; i++)
		if (!map_find(&known, list.entries[i].id))
			log_warning("a volume is in no row, left as it is",
			            TEXT("volume", list.entries[i].id));
	return 0;
}

int volumes_reconcile(struct fleet *f, bool at_boot, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct volume_list rows;

	if (!(f->ops->abilities & PROVIDER_CAN_VOLUME))
		return 0;
	if (store_volume_list(f->store, &arena, NULL, &rows, err) < 0)
		return -1;
	for (size_t i = 0; i < rows.count; i++) {
		struct error other = {0};

		reconcile_volume(f, &rows.items[i], at_boot);
		if (!at_boot && volume_check_local(f, &rows.items[i], &other) == 0)
			note_volume(f, &rows.items[i]);
	}
	if (at_boot && log_strangers(f, &rows, err) < 0)
		return -1;
	return store_mounts_tidy(f->store, err);
}

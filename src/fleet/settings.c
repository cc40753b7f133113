/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/settings.h"

#include "fleet/backup.h"
#include "fleet/life.h"
#include "fleet/parts.h"

static int64_t given_or(int64_t given, int64_t otherwise)
{
	return given == FLEET_LEAVE ? otherwise : given;
}

static struct sandbox_settings settings_of(struct arena *a, const struct sandbox_record *r,
                                           const struct fleet_settings *change)
{
	return (struct sandbox_settings){
	        .id = r->id,
	        .labels_json =
	                change->labels ? request_map_to_json(a, change->labels) : r->labels_json,
	        .persistent = change->persistent < 0 ? r->persistent : change->persistent > 0,
	        .timeout_at = given_or(change->timeout_at, r->timeout_at),
	        .idle_reap_ms = given_or(change->idle_reap_ms, r->idle_reap_ms),
	        .lifetime_max_ms = given_or(change->lifetime_max_ms, r->lifetime_max_ms),
	        .idle_pause_ms = given_or(change->idle_pause_ms, r->idle_pause_ms),
	        .idle_stop_ms = given_or(change->idle_stop_ms, r->idle_stop_ms),
	        .archive_after_ms = given_or(change->archive_after_ms, r->archive_after_ms),
	        .delete_after_ms = given_or(change->delete_after_ms, r->delete_after_ms),
	};
}

/* By the rules that a request to make it would be held to. */
static int check(struct fleet *f, const struct fleet_settings *change,
                 const struct sandbox_settings *s, struct error *err)
{
	const struct fleet_create request = {
	        .labels = change->labels ? *change->labels : (struct json_map){.count = 0},
	        .idle_reap_ms = s->idle_reap_ms,
	        .lifetime_max_ms = s->lifetime_max_ms,
	        .idle_pause_ms = s->idle_pause_ms,
	        .idle_stop_ms = s->idle_stop_ms,
	        .archive_after_ms = s->archive_after_ms,
	        .delete_after_ms = s->delete_after_ms,
	};

	if (s->timeout_at < 0)
		return FAIL(err, ERROR_INVALID, "a time must not be before 1970");
	if (change->archive_after_ms > 0 && backup_check(f, err) < 0)
		return -1;
	return request_check(&request, err);
}

int fleet_set(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
              const struct fleet_settings *change, struct sandbox_record *ret, struct error *err)
{
	AUTO(act_end) struct act act = {0};
	struct sandbox_settings settings;

	if (find_and_act(fleet, a, ref, &act, err) < 0)
		return -1;
	settings = settings_of(a, &act.record, change);
	if (check(fleet, change, &settings, err) < 0 ||
	    store_sandbox_set(fleet->store, a, &settings, &act.record, err) < 0)
		return -1;
	cache_update(&fleet->cache, act.slot, &act.record);
	*ret = act.record;
	return 0;
}

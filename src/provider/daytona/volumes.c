/* SPDX-License-Identifier: Apache-2.0 */
/* Daytona makes and deletes a volume after the call has ended; its state tells when it is done. */
#include "provider/remote/volumes.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "json/json.h"
#include "provider/daytona/daytona.h"
#include "provider/remote/snapshots.h"

#define LOOK_FIRST_MS 50
#define LOOK_MAX_MS 1000

static const int exists_is_fine[] = {409, 0};

static bool is_ending(const struct json_value *volume)
{
	static const char *const ending[] = {"pending_delete", "deleting", "deleted"};
	const char *state = json_get_text(volume, "state", "");

	for (size_t i = 0; i < COUNT_OF(ending); i++)
		if (strcmp(ending[i], state) == 0)
			return true;
	return false;
}

/* *ret = NULL: there is none, or it is being deleted. */
static int find_volume(struct remote *r, struct arena *a, const char *name, int64_t deadline,
                       const struct json_value **ret, struct error *err)
{
	const struct remote_call call = {.method = "GET",
	                                 .path = arena_format(a, "/volumes/by-name/%s", name),
	                                 .deadline = deadline};
	const struct json_value *found = NULL;

	if (remote_call_load(r, &call, a, &found, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
		found = NULL;
	}
	*ret = found && !is_ending(found) ? found : NULL;
	return 0;
}

static int await_volume(struct remote *r, const char *name, int64_t deadline, struct error *err)
{
	int64_t pause_ms = LOOK_FIRST_MS;

	for (;;) {
		AUTO(arena_done) struct arena arena = {0};
		const struct json_value *found;
		const char *state;

		if (find_volume(r, &arena, name, deadline, &found, err) < 0)
			return -1;
		state = json_get_text(found, "state", "gone");
		if (strcmp(state, "ready") == 0)
			return 0;
		if (!found || strcmp(state, "error") == 0)
			return FAIL(err, ERROR_UNAVAILABLE,
			            "Daytona: the volume is '%.40s': %.200s", state,
			            json_get_text(found, "errorReason", "without a reason"));
		if (deadline_poll_ms(deadline) == 0)
			return FAIL(err, ERROR_TIMEOUT, "Daytona: the volume is still '%.40s'",
			            state);
		const struct timespec pause = {pause_ms / 1000, pause_ms % 1000 * 1000000};
		(void)nanosleep(&pause, NULL);
		pause_ms = pause_ms * 2 < LOOK_MAX_MS ? pause_ms * 2 : LOOK_MAX_MS;
	}
}

static int make_volume(struct remote *r, const char *name, int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *found;

	if (find_volume(r, &arena, name, deadline, &found, err) < 0 ||
	    (!found && remote_volume_post(r, name, exists_is_fine, deadline, err) < 0))
		return -1;
	return await_volume(r, name, deadline, err);
}

static int remove_volume(struct remote *r, const char *name, int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *found;

	if (find_volume(r, &arena, name, deadline, &found, err) < 0)
		return -1;
	return found ? remote_volume_delete(r, "Daytona", json_get_text(found, "id", ""), deadline,
	                                    err)
	             : 0;
}

static int list_volumes(struct remote *r, struct arena *a, int64_t deadline,
                        struct provider_list *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct provider_list list = {0};
	const struct json_value *root;
	size_t capacity = 0;
	const struct remote_call call = {.method = "GET", .path = "/volumes", .deadline = deadline};

	if (remote_call_load(r, &call, &arena, &root, err) < 0)
		return -1;
	for (size_t i = 0; i < json_count(root); i++) {
		const struct json_value *item = json_item_at(root, i);

		if (!is_ending(item))
			remote_snapshot_note(r, a, json_get_text(item, "name", ""), &list,
			                     &capacity);
	}
	*ret = list;
	return 0;
}

const struct remote_volume_kind daytona_account_volumes = {
        .has_subpaths = true,
        .make = make_volume,
        .remove = remove_volume,
        .list = list_volumes,
};

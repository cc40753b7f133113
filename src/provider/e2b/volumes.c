/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/remote/volumes.h"

#include <string.h>

#include "json/json.h"
#include "provider/e2b/e2b.h"
#include "provider/remote/snapshots.h"

/* The list has no pages. */
static int load_volumes(struct remote *r, struct arena *a, int64_t deadline,
                        const struct json_value **ret, struct error *err)
{
	const struct remote_call call = {.method = "GET", .path = "/volumes", .deadline = deadline};

	return remote_call_load(r, &call, a, ret, err);
}

/* *ret = NULL: there is none. In the arena. */
static int find_volume(struct remote *r, struct arena *a, const char *name, int64_t deadline,
                       const char **ret, struct error *err)
{
	const struct json_value *all;

	if (load_volumes(r, a, deadline, &all, err) < 0)
		return -1;
	*ret = NULL;
	for (size_t i = 0; i < json_count(all); i++) {
		const struct json_value *item = json_item_at(all, i);

		if (strcmp(json_get_text(item, "name", ""), name) == 0)
			*ret = json_get_text(item, "volumeID", "");
	}
	return 0;
}

static int make_volume(struct remote *r, const char *name, int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const char *id;

	if (find_volume(r, &arena, name, deadline, &id, err) < 0)
		return -1;
	return id ? 0 : remote_volume_post(r, name, NULL, deadline, err);
}

static int remove_volume(struct remote *r, const char *name, int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const char *id;

	if (find_volume(r, &arena, name, deadline, &id, err) < 0)
		return -1;
	return id ? remote_volume_delete(r, "E2B", id, deadline, err) : 0;
}

static int list_volumes(struct remote *r, struct arena *a, int64_t deadline,
                        struct provider_list *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct provider_list list = {0};
	const struct json_value *all;
	size_t capacity = 0;

	if (load_volumes(r, &arena, deadline, &all, err) < 0)
		return -1;
	for (size_t i = 0; i < json_count(all); i++)
		remote_snapshot_note(r, a, json_get_text(json_item_at(all, i), "name", ""), &list,
		                     &capacity);
	*ret = list;
	return 0;
}

const struct remote_volume_kind e2b_account_volumes = {
        .make = make_volume,
        .remove = remove_volume,
        .list = list_volumes,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/remote/volumes.h"

#include <string.h>

#include "base/clock.h"
#include "json/write.h"
#include "provider/remote/parts.h"
#include "provider/remote/snapshots.h"

#define LIST_MS 30000

_Static_assert(REMOTE_VOLUME_NAME_SIZE == REMOTE_SNAPSHOT_NAME_SIZE, "both are named alike");

void remote_volume_name(const struct remote *r, const char *volume,
                        char ret[REMOTE_VOLUME_NAME_SIZE])
{
	remote_snapshot_name(r, volume, ret);
}

/* It can be a part of a path as it is. */
static bool is_plain(const char *id)
{
	static const char plain[] =
	        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

	return *id && strspn(id, plain) == strlen(id);
}

int remote_volume_post(struct remote *r, const char *name, const int *accepted, int64_t deadline,
                       struct error *err)
{
	AUTO(buf_done) struct buf body = BUF(1024);

	json_begin_object(&body, NULL);
	json_add_text(&body, "name", name);
	json_end_object(&body);
	const struct remote_call call = {.method = "POST",
	                                 .path = "/volumes",
	                                 .body = buf_span(&body),
	                                 .accepted = accepted,
	                                 .is_once = true,
	                                 .deadline = deadline};
	return remote_call_do(r, &call, err) < 0 ? -1 : 0;
}

int remote_volume_delete(struct remote *r, const char *service, const char *id, int64_t deadline,
                         struct error *err)
{
	static const int gone_is_fine[] = {404, 0};
	AUTO(arena_done) struct arena arena = {0};

	if (!is_plain(id))
		return FAIL(err, ERROR_UNAVAILABLE, "%s: the id of a volume is malformed", service);
	const struct remote_call call = {.method = "DELETE",
	                                 .path = arena_format(&arena, "/volumes/%s", id),
	                                 .accepted = gone_is_fine,
	                                 .deadline = deadline};
	return remote_call_do(r, &call, err) < 0 ? -1 : 0;
}

static int check_mount(const struct remote *r, const struct sandbox_mount *mount, struct error *err)
{
	if (mount->is_read_only)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "provider '%s' cannot do this: mount a volume read-only at '%s'",
		            r->name, mount->path);
	if (mount->subpath && *mount->subpath && !r->kind->volumes->has_subpaths)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "provider '%s' cannot do this: mount a folder of a volume at '%s'",
		            r->name, mount->path);
	return 0;
}

int remote_mounts_check(const struct remote *r, const struct sandbox_spec *spec, struct error *err)
{
	if (spec->mount_count > 0 && !r->kind->volumes)
		return FAIL(err, ERROR_UNSUPPORTED, "provider '%s' cannot do this: %s", r->name,
		            provider_ability_name(PROVIDER_CAN_VOLUME));
	for (size_t i = 0; i < spec->mount_count; i++)
		if (check_mount(r, &spec->mounts[i], err) < 0)
			return -1;
	return 0;
}

/* A size is a wish: the services have none. */
static int run_verb(struct provider *p, const struct provider_volume *request, int64_t deadline,
                    struct provider_volume_state *ret, struct error *err)
{
	struct remote *r = as_remote(p);
	const struct remote_volume_kind *kind = r->kind->volumes;
	char name[REMOTE_VOLUME_NAME_SIZE];

	if (!id_is_valid(request->id))
		return FAIL(err, ERROR_INVALID, "'%s' is no volume id", request->id);
	remote_volume_name(r, request->id, name);
	*ret = (struct provider_volume_state){.size_is_advisory = true, .used_bytes = UINT64_MAX};
	switch (request->verb) {
	case PROVIDER_VOLUME_MAKE:
		return kind->make(r, name, deadline, err);
	case PROVIDER_VOLUME_REMOVE:
		return kind->remove(r, name, deadline, err);
	case PROVIDER_VOLUME_LOOK:
	case PROVIDER_VOLUME_GROW:
		return 0;
	case PROVIDER_VOLUME_ATTACH:
	case PROVIDER_VOLUME_DETACH:
		break;
	}
	return FAIL(err, ERROR_UNSUPPORTED,
	            "provider '%s' cannot do this: change the volumes of a sandbox", r->name);
}

static int list_volumes(struct provider *p, struct arena *a, struct provider_list *ret,
                        struct error *err)
{
	return as_remote(p)->kind->volumes->list(as_remote(p), a, deadline_after(LIST_MS), ret,
	                                         err);
}

const struct volume_ops remote_volumes = {
        .run = run_verb,
        .list = list_volumes,
        .is_with_create = true,
};

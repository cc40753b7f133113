/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes of the daemon, named atoll-SERVER-ID, with this provider's id as label. The daemon limits
 * no size, mounts whole volumes, and changes the mounts of no running container. */
#include "provider/docker/docker.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "json/json.h"
#include "json/write.h"
#include "provider/compute.h"
#include "provider/volume.h"
#include "wire/agent.h"
#include "wire/agent_files.h"

#define LIST_MS 30000
#define OWNER "user" /* of a new volume's folder, where the image has this user */

static const int missing_is_fine[] = {404, 0};

static int volume_path(struct provider *p, const char *id, char out[256], struct error *err)
{
	char name[DOCKER_NAME_SIZE];

	if (!id_is_valid(id))
		return FAIL(err, ERROR_INVALID, "'%s' is no volume id", id);
	docker_container_name(as_docker(p)->server, id, name);
	(void)snprintf(out, 256, "/volumes/%s", name);
	return 0;
}

static int make_volume(struct provider *p, const struct provider_volume *request, int64_t deadline,
                       struct provider_volume_state *ret, struct error *err)
{
	AUTO(buf_done) struct buf body = BUF(1024);
	char name[DOCKER_NAME_SIZE];

	docker_container_name(as_docker(p)->server, request->id, name);
	json_begin_object(&body, NULL);
	json_add_text(&body, "Name", name);
	json_add_text(&body, "Driver", "local");
	json_begin_object(&body, "Labels");
	json_add_text(&body, DOCKER_SERVER_LABEL, as_docker(p)->server);
	json_end_object(&body);
	json_end_object(&body);
	const struct docker_call call = {.method = "POST",
	                                 .path = "/volumes/create",
	                                 .body = buf_span(&body),
	                                 .deadline = deadline};
	if (docker_engine_do(as_docker(p)->engine, &call, NULL, err) < 0)
		return -1;
	ret->size_is_advisory = true;
	return 0;
}

static int remove_volume(struct provider *p, const struct provider_volume *request,
                         int64_t deadline, UNUSED struct provider_volume_state *ret,
                         struct error *err)
{
	char path[256];
	const struct docker_call call = {.method = "DELETE",
	                                 .path = path,
	                                 .deadline = deadline,
	                                 .accepted = missing_is_fine};

	return volume_path(p, request->id, path, err) < 0
	               ? -1
	               : docker_engine_do(as_docker(p)->engine, &call, NULL, err);
}

/* The daemon measures all its volumes at once. */
static int measure_volume(struct provider *p, const struct provider_volume *request,
                          int64_t deadline, struct provider_volume_state *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct docker_call call = {
	        .method = "GET", .path = "/system/df?type=volume", .deadline = deadline};
	char name[DOCKER_NAME_SIZE];
	const struct json_value *root;

	ret->used_bytes = UINT64_MAX;
	docker_container_name(as_docker(p)->server, request->id, name);
	if (docker_engine_load(as_docker(p)->engine, &call, &arena, &root, err) < 0)
		return -1;
	const struct json_value *volumes = json_get(root, "Volumes");
	for (size_t i = 0; i < json_count(volumes); i++) {
		const struct json_value *volume = json_item_at(volumes, i);
		int64_t size = json_get_whole(json_get(volume, "UsageData"), "Size", -1);

		if (strcmp(json_get_text(volume, "Name", ""), name) == 0 && size >= 0)
			ret->used_bytes = (uint64_t)size;
	}
	return 0;
}

static int grow_volume(UNUSED struct provider *p, UNUSED const struct provider_volume *request,
                       UNUSED int64_t deadline, UNUSED struct provider_volume_state *ret,
                       UNUSED struct error *err)
{
	return 0; /* its size is advisory */
}

static bool has_mount(const struct sandbox_spec *spec, const char *volume)
{
	for (size_t i = 0; i < spec->mount_count; i++)
		if (strcmp(spec->mounts[i].volume_id, volume) == 0)
			return true;
	return false;
}

static int change_mounts(struct provider *p, const struct provider_volume *request,
                         int64_t deadline, UNUSED struct provider_volume_state *ret,
                         struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct docker_named named = {request->sandbox_id, deadline};
	bool wanted = request->verb == PROVIDER_VOLUME_ATTACH;
	struct sandbox_spec spec;
	struct docker_state state;

	if (docker_read_container(p, &named, &arena, &state, &spec, err) < 0)
		return -1;
	if (has_mount(&spec, request->id) == wanted)
		return 0;
	(void)FAIL(err, ERROR_CONFLICT, "docker cannot %s a volume while sandbox '%s' runs",
	           wanted ? "attach" : "detach", request->sandbox_id);
	return FAIL_HINT(err, "stop the sandbox, change its volumes, and start it");
}

static int run_volume(struct provider *p, const struct provider_volume *request, int64_t deadline,
                      struct provider_volume_state *ret, struct error *err)
{
	static int (*const verbs[])(struct provider *, const struct provider_volume *, int64_t,
	                            struct provider_volume_state *, struct error *) = {
	        [PROVIDER_VOLUME_MAKE] = make_volume,     [PROVIDER_VOLUME_REMOVE] = remove_volume,
	        [PROVIDER_VOLUME_LOOK] = measure_volume,  [PROVIDER_VOLUME_GROW] = grow_volume,
	        [PROVIDER_VOLUME_ATTACH] = change_mounts, [PROVIDER_VOLUME_DETACH] = change_mounts,
	};
	char ignored[256];

	if (volume_path(p, request->id, ignored, err) < 0)
		return -1;
	return verbs[request->verb](p, request, deadline, ret, err);
}

static int list_volumes(struct provider *p, struct arena *a, struct provider_list *ret,
                        struct error *err)
{
	AUTO(buf_done) struct buf path = BUF(1024);
	int64_t deadline = deadline_after(LIST_MS);
	struct provider_list list = {0};
	const struct json_value *root;

	docker_write_list_path(&path, "/volumes?filters=", DOCKER_SERVER_LABEL,
	                       as_docker(p)->server);
	const struct docker_call call = {
	        .method = "GET", .path = buf_text(&path), .deadline = deadline};
	if (docker_check_daemon(p, deadline, err) < 0 ||
	    docker_engine_load(as_docker(p)->engine, &call, a, &root, err) < 0)
		return -1;
	const struct json_value *volumes = json_get(root, "Volumes");
	list.entries = ARENA_ARRAY(a, struct provider_entry, json_count(volumes) + 1);
	for (size_t i = 0; i < json_count(volumes); i++) {
		const char *name = json_get_text(json_item_at(volumes, i), "Name", "");
		const char *id = docker_volume_id(name);

		if (id)
			memcpy(list.entries[list.count++].id, id, ID_SIZE + 1);
	}
	*ret = list;
	return 0;
}

int docker_check_mounts(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
                        struct error *err)
{
	for (size_t i = 0; i < spec->mount_count; i++) {
		const struct sandbox_mount *mount = &spec->mounts[i];
		char path[256];
		const struct docker_call look = {.method = "GET",
		                                 .path = path,
		                                 .deadline = deadline,
		                                 .accepted = missing_is_fine};
		int status;

		if (mount->subpath && *mount->subpath)
			return FAIL(err, ERROR_UNSUPPORTED,
			            "provider 'docker' mounts whole volumes, not the folder '%s' "
			            "of one",
			            mount->subpath);
		/* The daemon would make a missing one. */
		if (volume_path(p, mount->volume_id, path, err) < 0 ||
		    docker_engine_do(as_docker(p)->engine, &look, &status, err) < 0)
			return -1;
		if (status != 404)
			continue;
		error_missing(err, HERE, "volume", mount->volume_id);
		return -1;
	}
	return 0;
}

/* The daemon makes the folder of a new volume root's. */
static int own_mount(struct provider *p, const char *id, const char *path, int64_t deadline,
                     struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct agent_path look = {.root = "", .path = path, .user = "", .target = ""};
	const struct agent_path own = {.root = OWNER,
	                               .path = path,
	                               .user = "",
	                               .target = "",
	                               .flags = AGENT_PATH_MAY_EXIST | AGENT_PATH_ADOPT |
	                                        AGENT_PATH_AT_HOME};
	const struct compute_file stat = {.type = AGENT_STAT, .path = &look, .deadline = deadline};
	const struct compute_file change = {
	        .type = AGENT_MKDIR, .path = &own, .deadline = deadline};
	struct agent_file file;

	if (compute_file(p, id, &arena, &stat, &file, err) < 0)
		return -1;
	return file.uid == 0 ? compute_file(p, id, &arena, &change, &file, err) : 0;
}

int docker_own_mounts(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
                      struct error *err)
{
	for (size_t i = 0; i < spec->mount_count; i++)
		if (!spec->mounts[i].is_read_only &&
		    own_mount(p, spec->id, spec->mounts[i].path, deadline, err) < 0)
			return FAIL_CONTEXT(err, "volume at '%s'", spec->mounts[i].path);
	return 0;
}

const struct volume_ops docker_volumes = {.run = run_volume, .list = list_volumes};

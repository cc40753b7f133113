/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots are images that the daemon commits: atoll-SERVER-snapshot:ID, with this provider's id
 * as label. An image that a removed snapshot leaves to containers is atoll-SERVER-kept:ID until the
 * last of them is gone. */
#include "provider/docker/docker.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "http/client/client.h"
#include "json/json.h"
#include "provider/snapshots.h"

#define DEPTH_MAX 100 /* the daemon's drivers stack about 125 layers */
#define SNAPSHOT_LABEL "atoll.snapshot"
#define IMAGE_NAME_SIZE 128
#define CLEAN_UP_MS 10000
#define LIST_MS 30000

static const int missing_is_fine[] = {404, 0};
/* Containers or images still use it. */
static const int in_use_is_fine[] = {404, 409, 0};

static void image_name(struct provider *p, const char *part, const char *id,
                       char out[IMAGE_NAME_SIZE])
{
	(void)snprintf(out, IMAGE_NAME_SIZE, "atoll-%s-%s:%s", as_docker(p)->server, part, id);
}

void docker_snapshot_image(struct provider *p, const char *id, struct buf *out)
{
	char name[IMAGE_NAME_SIZE];

	image_name(p, "snapshot", id, name);
	buf_add_text(out, name);
}

struct image_call {
	const char *method, *name, *rest; /* of the path */
	const int *accepted;
	int64_t deadline;
};

static int call_image(struct provider *p, const struct image_call *c, int *ret_status,
                      struct error *err)
{
	char path[512];
	const struct docker_call call = {.method = c->method,
	                                 .path = path,
	                                 .deadline = c->deadline,
	                                 .accepted = c->accepted};

	(void)snprintf(path, sizeof(path), "/images/%s%s", c->name, c->rest);
	return docker_engine_do(as_docker(p)->engine, &call, ret_status, err);
}

static int check_ids(const char *sandbox, const char *snapshot, struct error *err)
{
	if (!id_is_valid(sandbox))
		return FAIL(err, ERROR_INVALID, "'%s' is no sandbox id", sandbox);
	return id_is_valid(snapshot) ? 0
	                             : FAIL(err, ERROR_INVALID, "'%s' is no snapshot id", snapshot);
}

static int check_image_volume(const char *sandbox, const struct docker_state *state,
                              struct error *err)
{
	if (!*state->image_volume)
		return 0;
	return FAIL(err, ERROR_UNSUPPORTED,
	            "the image of sandbox '%s' keeps '%s' in a volume of its own (VOLUME), which "
	            "docker puts into no snapshot",
	            sandbox, state->image_volume);
}

static int check_depth(const char *sandbox, const struct docker_state *state, struct error *err)
{
	if (state->depth < DEPTH_MAX)
		return 0;
	return FAIL(err, ERROR_LIMIT,
	            "sandbox '%s' lies on %u snapshots of snapshots, the most that docker stacks",
	            sandbox, state->depth);
}

static void add_change(struct buf *path, const char *instruction, const char *name,
                       const char *value)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "%s %s=%s", instruction, name, value);
	buf_add_text(path, "&changes=");
	http_escape(path, text);
}

/* The daemon freezes the processes meanwhile. */
static int commit_container(struct provider *p, const struct provider_snapshot *request,
                            const char *part, const struct docker_state *state, int64_t deadline,
                            struct error *err)
{
	AUTO(buf_done) struct buf path = BUF(2048);
	char name[DOCKER_NAME_SIZE], depth[24];

	docker_container_name(as_docker(p)->server, request->sandbox, name);
	(void)snprintf(depth, sizeof(depth), "%u", state->depth + 1);
	buf_addf(&path, "/commit?container=%s&repo=atoll-%s-%s&tag=%s&pause=%d", name,
	         as_docker(p)->server, part, request->snapshot, state->running && !state->paused);
	add_change(&path, "LABEL", DOCKER_SERVER_LABEL, as_docker(p)->server);
	add_change(&path, "LABEL", SNAPSHOT_LABEL, request->snapshot);
	add_change(&path, "LABEL", DOCKER_DEPTH_LABEL, depth);
	/* The token of the container is in its variables, and would be in the image. */
	add_change(&path, "ENV", AGENT_TOKEN_VARIABLE, "");
	const struct docker_call call = {.method = "POST",
	                                 .path = buf_text(&path),
	                                 .body = SPAN("{}"),
	                                 .deadline = deadline};
	return docker_engine_do(as_docker(p)->engine, &call, NULL, err);
}

static int remove_snapshot(struct provider *p, const char *snapshot, int64_t deadline,
                           struct error *err);

static int take_snapshot(struct provider *p, const struct provider_snapshot *request,
                         int64_t deadline, struct provider_snapshot_made *ret, struct error *err)
{
	int64_t began_ns = clock_monotonic_ns();
	struct docker_state state;
	struct error ignored = {0};

	if (check_ids(request->sandbox, request->snapshot, err) < 0 ||
	    docker_inspect(p, request->sandbox, deadline, &state, err) < 0 ||
	    check_image_volume(request->sandbox, &state, err) < 0)
		return -1;
	if (check_depth(request->sandbox, &state, err) < 0)
		return -1;
	if (commit_container(p, request, "snapshot", &state, deadline, err) < 0) {
		(void)!remove_snapshot(p, request->snapshot, deadline_after(CLEAN_UP_MS), &ignored);
		return -1;
	}
	*ret = (struct provider_snapshot_made){.depth = state.depth + 1, .method = "commit"};
	if (state.running && !state.paused)
		ret->frozen_us = (clock_monotonic_ns() - began_ns) / 1000;
	return 0;
}

int docker_keep_files(struct provider *p, const char *sandbox, int64_t deadline,
                      struct buf *ret_image, struct error *err)
{
	const struct provider_snapshot request = {.sandbox = sandbox, .snapshot = sandbox};
	char name[IMAGE_NAME_SIZE];
	struct docker_state state;

	if (docker_inspect(p, sandbox, deadline, &state, err) < 0 ||
	    check_image_volume(sandbox, &state, err) < 0 || check_depth(sandbox, &state, err) < 0)
		return -1;
	image_name(p, "kept", sandbox, name);
	buf_add_text(ret_image, name);
	return commit_container(p, &request, "kept", &state, deadline, err);
}

static int find_snapshot(struct provider *p, const char *snapshot, int64_t deadline,
                         struct error *err)
{
	char name[IMAGE_NAME_SIZE];
	int status;

	image_name(p, "snapshot", snapshot, name);
	const struct image_call look = {"GET", name, "/json", missing_is_fine, deadline};
	if (call_image(p, &look, &status, err) < 0)
		return -1;
	if (status != 404)
		return 0;
	error_missing(err, HERE, "snapshot", snapshot);
	return -1;
}

/* The image of the files: of the snapshot, or of the sandbox's template. */
static int find_files(struct provider *p, const char *snapshot, const struct sandbox_spec *spec,
                      int64_t deadline, struct buf *out, struct error *err)
{
	if (*snapshot) {
		docker_snapshot_image(p, snapshot, out);
		return find_snapshot(p, snapshot, deadline, err);
	}
	if (*spec->template_dir)
		return docker_image_of(p, spec->template_dir, out, err);
	return FAIL(err, ERROR_UNSUPPORTED,
	            "the container of sandbox '%s' does not say what its template is", spec->id);
}

struct restore_wish {
	const char *sandbox, *snapshot; /* "": the files of the template */
	int64_t deadline;
	struct arena *arena;
};

static int prepare_restore(struct provider *p, const struct restore_wish *wish,
                           struct sandbox_spec *ret_spec, struct buf *ret_image, struct error *err)
{
	const struct docker_named named = {wish->sandbox, wish->deadline};
	struct docker_state state;

	if (*wish->snapshot && check_ids(wish->sandbox, wish->snapshot, err) < 0)
		return -1;
	if (docker_read_container(p, &named, wish->arena, &state, ret_spec, err) < 0 ||
	    check_image_volume(wish->sandbox, &state, err) < 0)
		return -1;
	return find_files(p, wish->snapshot, ret_spec, wish->deadline, ret_image, err);
}

static int can_restore(struct provider *p, const char *sandbox, const char *snapshot,
                       int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf image = BUF(1024);
	const struct restore_wish wish = {sandbox, snapshot, deadline, &arena};
	struct sandbox_spec spec;

	return prepare_restore(p, &wish, &spec, &image, err);
}

static int restore_snapshot(struct provider *p, const char *sandbox, const char *snapshot,
                            int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf image = BUF(1024);
	const struct restore_wish wish = {sandbox, snapshot, deadline, &arena};
	struct sandbox_spec spec;

	if (prepare_restore(p, &wish, &spec, &image, err) < 0)
		return -1;
	const struct docker_container c = {.spec = &spec, .image = buf_text(&image)};
	return docker_replace(p, &c, deadline, err);
}

/* A second name keeps the image for containers that use it: without a name it would be removed when
 * they are stopped. */
static int remove_snapshot(struct provider *p, const char *snapshot, int64_t deadline,
                           struct error *err)
{
	char name[IMAGE_NAME_SIZE], kept[IMAGE_NAME_SIZE], tag[256];

	if (check_ids(snapshot, snapshot, err) < 0)
		return -1;
	image_name(p, "snapshot", snapshot, name);
	image_name(p, "kept", snapshot, kept);
	(void)snprintf(tag, sizeof(tag), "/tag?repo=atoll-%s-kept&tag=%s", as_docker(p)->server,
	               snapshot);
	const struct image_call calls[] = {{"POST", name, tag, missing_is_fine, deadline},
	                                   {"DELETE", name, "", missing_is_fine, deadline},
	                                   {"DELETE", kept, "", in_use_is_fine, deadline}};
	for (size_t i = 0; i < COUNT_OF(calls); i++)
		if (call_image(p, &calls[i], NULL, err) < 0)
			return -1;
	return 0;
}

/* The id behind "…atoll-SERVER-PART:" in the name of an image; NULL: another image. */
static const char *find_id(struct provider *p, const char *part, const char *name)
{
	char prefix[IMAGE_NAME_SIZE];
	const char *at;

	image_name(p, part, "", prefix);
	at = strstr(name, prefix);
	at = at ? at + strlen(prefix) : NULL;
	return at && id_is_valid(at) ? at : NULL;
}

static void take_image(struct provider *p, const struct json_value *image, int64_t deadline,
                       struct provider_list *list)
{
	const struct json_value *names = json_get(image, "RepoTags");

	for (size_t i = 0; i < json_count(names); i++) {
		const char *name = json_text(json_item_at(names, i), "");
		const char *id = find_id(p, "snapshot", name);
		struct error ignored = {0};

		if (id) {
			memcpy(list->entries[list->count++].id, id, ID_SIZE + 1);
			return;
		}
		id = find_id(p, "kept", name);
		if (id) {
			AUTO(thread_unlock) pthread_mutex_t *lock UNUSED =
			        thread_lock(&as_docker(p)->replace_mutex);
			(void)!remove_snapshot(p, id, deadline, &ignored);
		}
	}
}

static int list_snapshots(struct provider *p, struct arena *a, struct provider_list *ret,
                          struct error *err)
{
	AUTO(buf_done) struct buf path = BUF(1024);
	int64_t deadline = deadline_after(LIST_MS);
	struct provider_list list = {0};
	const struct json_value *root;
	struct docker_answer answer;

	docker_write_list_path(&path, "/images/json?filters=", DOCKER_SERVER_LABEL,
	                       as_docker(p)->server);
	const struct docker_call call = {
	        .method = "GET", .path = buf_text(&path), .deadline = deadline};
	if (docker_check_daemon(p, deadline, err) < 0 ||
	    docker_engine_call(as_docker(p)->engine, &call, &answer, err) < 0)
		return -1;
	int status = docker_load_answer(a, buf_span(&answer.body), &root, err);
	/* Podman writes an empty list as null. */
	struct span text = span_trim(buf_span(&answer.body));
	bool is_list = text.size > 0 && (text.data[0] == '[' || span_is_word(text, "null"));
	buf_done(&answer.body);
	if (status < 0 || !is_list)
		return FAIL(err, ERROR_UNAVAILABLE, "the list of images from docker is no list");
	list.entries = ARENA_ARRAY(a, struct provider_entry, json_count(root) + 1);
	for (size_t i = 0; i < json_count(root); i++)
		take_image(p, json_item_at(root, i), deadline, &list);
	*ret = list;
	return 0;
}

int docker_measure_snapshot(struct provider *p, const char *id, int64_t deadline, uint64_t *ret,
                            struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	char name[IMAGE_NAME_SIZE], path[256];
	const struct json_value *root;
	struct docker_answer answer;

	image_name(p, "snapshot", id, name);
	(void)snprintf(path, sizeof(path), "/images/%s/history", name);
	const struct docker_call call = {
	        .method = "GET", .path = path, .deadline = deadline, .accepted = missing_is_fine};
	if (check_ids(id, id, err) < 0 ||
	    docker_engine_call(as_docker(p)->engine, &call, &answer, err) < 0)
		return -1;
	int status = docker_load_answer(&arena, buf_span(&answer.body), &root, err);
	buf_done(&answer.body);
	if (answer.status == 404) {
		error_clear(err);
		error_missing(err, HERE, "snapshot", id);
		return -1;
	}
	if (status < 0)
		return -1;
	int64_t size = json_get_whole(json_item_at(root, 0), "Size", 0);
	*ret = size > 0 ? (uint64_t)size : 0;
	return 0;
}

static int refuse_memory(UNUSED struct provider *p, UNUSED int64_t deadline, struct error *err)
{
	return FAIL(err, ERROR_UNSUPPORTED, "docker keeps files, not memory");
}

static int refuse_backup(UNUSED struct provider *p, UNUSED const struct provider_backup *request,
                         UNUSED int64_t deadline, struct error *err)
{
	return FAIL(err, ERROR_UNSUPPORTED, "provider 'docker' cannot do this: %s",
	            provider_ability_name(PROVIDER_CAN_BACKUP));
}

const struct snapshot_ops docker_snapshots = {
        .take = take_snapshot,
        .restore = restore_snapshot,
        .can_restore = can_restore,
        .remove = remove_snapshot,
        .list = list_snapshots,
        .memory = refuse_memory,
        .backup = refuse_backup,
};

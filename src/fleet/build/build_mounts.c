/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts of run steps. A cache is a volume of the project. Secrets and files of a bind mount are
 * written before the command and removed after it; a step whose files cannot be removed fails, so
 * that its layer never has them. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "fleet/build/build_sandbox.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/text_map.h"
#include "fleet/recovery/retention.h"
#include "fleet/volume/volume.h"
#include "provider/compute.h"
#include "wire/agent.h"
#include "wire/agent_files.h"

#define CACHE_PREFIX "build-cache-"
#define CACHE_DIGITS 24 /* hexadecimal */
#define CACHE_MB 4096
#define CACHE_BYTES_FULL (UINT64_C(3686) << 20) /* nine tenths */
#define CACHES_MAX 16                           /* of a project */
#define CACHE_KEPT_MS (7 * 24 * 3600 * INT64_C(1000))
#define MODE_CACHE 0755
#define MODE_FOLDER 0755
#define MODE_SECRET 0400

static bool is_given(const char *text)
{
	return text && *text;
}

/* On one database each server has caches of its own. */
static const char *cache_name(const struct build *b, struct arena *a, const char *id)
{
	const char *text = arena_format(a, "%s %s", b->fleet->node, id);
	unsigned char digest[crypto_hash_sha256_BYTES];
	char hex[2 * sizeof(digest) + 1];

	crypto_hash_sha256(digest, (const unsigned char *)text, strlen(text));
	sodium_bin2hex(hex, sizeof(hex), digest, sizeof(digest));
	return arena_format(a, CACHE_PREFIX "%.*s", CACHE_DIGITS, hex);
}

static bool is_cache(const struct volume_record *v)
{
	size_t size = strlen(CACHE_PREFIX);

	return strncmp(v->name, CACHE_PREFIX, size) == 0 &&
	       strspn(v->name + size, "0123456789abcdef") == CACHE_DIGITS &&
	       v->name[size + CACHE_DIGITS] == '\0';
}

static int remove_cache(struct fleet *f, struct arena *a, const struct volume_record *v)
{
	const struct fleet_ref ref = {v->project_id, v->id};
	struct error ignored = {0};

	return fleet_volume_remove(f, a, &ref, &ignored);
}

/* updated_at is the time of the last use, see touch_cache. */
static void remove_oldest_cache(struct build *b, const struct volume_list *list)
{
	const struct volume_record *oldest = NULL;
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++) {
		if (!is_cache(&list->items[i]))
			continue;
		count++;
		if (!oldest || list->items[i].updated_at < oldest->updated_at)
			oldest = &list->items[i];
	}
	if (count >= CACHES_MAX)
		(void)remove_cache(b->fleet, &b->arena, oldest);
}

static void touch_cache(struct build *b, const struct volume_record *v)
{
	const struct volume_move touch = {
	        .id = v->id, .from = VOLUME_READY, .to = VOLUME_READY, .now = clock_unix_ms()};
	struct volume_record ignored;

	if (store_volume_move(b->fleet->store, &b->arena, &touch, &ignored, &(struct error){0}) < 0)
		log_debug("a cache of builds is not touched", TEXT("volume", v->id));
}

/* A cache without room would make commands fail: it begins anew. */
static bool empty_if_full(struct build *b, const struct volume_record *v)
{
	const struct fleet_ref ref = {v->project_id, v->id};
	struct error ignored = {0};
	uint64_t used;

	if (fleet_volume_usage(b->fleet, &b->arena, &ref, &used, &ignored) < 0 ||
	    (used != UINT64_MAX && used < CACHE_BYTES_FULL) ||
	    remove_cache(b->fleet, &b->arena, v) < 0)
		return false;
	build_log_say(b, "the cache was full and begins anew");
	return true;
}

static int make_cache(struct build *b, const char *name, struct error *err)
{
	const struct fleet_ref ref = {b->record.project_id, name};
	const struct fleet_volume request = {
	        .project_id = b->record.project_id, .name = name, .size_mb = CACHE_MB};
	struct volume_record found;
	struct volume_list list;

	if (store_volume_find(b->fleet->store, &b->arena, ref.project_id, name, &found, err) == 0) {
		if (!empty_if_full(b, &found)) {
			touch_cache(b, &found);
			return 0;
		}
	} else if (err->code != ERROR_NOT_FOUND) {
		return -1;
	}
	error_clear(err);
	if (store_volume_list(b->fleet->store, &b->arena, ref.project_id, &list, err) < 0)
		return -1;
	remove_oldest_cache(b, &list);
	return fleet_volume_create(b->fleet, &b->arena, &request, &found, err) < 0
	               ? FAIL_CONTEXT(err, "make a cache")
	               : 0;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* In one order, so that two builds never wait for each other. */
static int claim_caches(struct build_mounts *m, struct error *err)
{
	struct build *b = m->build;
	const char **claims = ARENA_ARRAY(&b->arena, const char *, m->volume_count + 1);
	bool has_waited;

	for (size_t i = 0; i < m->volume_count; i++)
		claims[i] = arena_format(&b->arena, "%s %s", b->record.project_id,
		                         m->volumes[i].volume);
	qsort(claims, m->volume_count, sizeof(*claims), compare_texts);
	m->claims = claims;
	for (size_t i = 0; i < m->volume_count; i++) {
		if (build_claim(b, claims[i], &has_waited, err) < 0)
			return -1;
		m->claim_count++;
		if (has_waited)
			build_log_say(b, "waited for another build that used the same cache");
	}
	return 0;
}

static int add_cache(struct build_mounts *m, const struct build_mount *mount, struct error *err)
{
	struct build *b = m->build;
	const char *name = cache_name(b, &b->arena, mount->id), *path;

	if (build_resolve_path(b, mount->path, &path, err) < 0)
		return -1;
	for (size_t i = 0; i < m->volume_count; i++)
		if (strcmp(m->volumes[i].volume, name) == 0)
			return FAIL(err, ERROR_INVALID, "the cache '%.60s' is mounted twice",
			            mount->id);
	if (sandbox_mount_path_check(path, err) < 0)
		return FAIL_CONTEXT(err, "cache");
	m->volumes[m->volume_count++] = (struct fleet_mount){.volume = name, .path = path};
	return 0;
}

/* A secret that is not given is left out, as with Docker. */
static void add_variable(struct build_mounts *m, const struct build_mount *mount)
{
	const char *value = text_map_find(&m->build->spec.secrets, mount->id);

	if (is_given(mount->env) && value)
		m->env.pairs[m->env.count++] = (struct json_pair){mount->env, value};
}

static int open_mount(struct build_mounts *m, size_t index, struct error *err)
{
	const struct build_mount *mount = (const struct build_mount *)m->step->mounts.items + index;
	const char *paths[] = {mount->source, NULL};

	switch ((enum build_mount_type)mount->type) {
	case BUILD_MOUNT_CACHE:
		return add_cache(m, mount, err);
	case BUILD_MOUNT_BIND:
		if (!is_given(mount->from))
			return 0;
		return build_export_open(m->build, build_find_stage(m->build, mount->from), paths,
		                         &m->exports[index], err);
	case BUILD_MOUNT_SECRET:
		add_variable(m, mount);
		return 0;
	case BUILD_MOUNT_TMPFS:
	case BUILD_MOUNT_COUNT:
		break;
	}
	return 0;
}

int build_mounts_open(struct build *b, const struct build_step *step, struct build_mounts *ret,
                      struct error *err)
{
	size_t count = step->mounts.count;
	const struct json_map *env = &step->env;

	*ret = (struct build_mounts){.build = b, .step = step, .env = *env};
	if (count == 0)
		return 0;
	ret->volumes = ARENA_ARRAY(&b->arena, struct fleet_mount, count);
	ret->exports = ARENA_ARRAY(&b->arena, struct build_export, count);
	ret->added = ARENA_ARRAY(&b->arena, struct build_added, count);
	ret->env.pairs = ARENA_ARRAY(&b->arena, struct json_pair, env->count + count);
	if (env->count > 0)
		memcpy(ret->env.pairs, env->pairs, env->count * sizeof(*env->pairs));
	for (size_t i = 0; i < count; i++)
		ret->exports[i].fd = -1;
	for (size_t i = 0; i < count; i++)
		if (open_mount(ret, i, err) < 0)
			return FAIL_CONTEXT(err, "mount %zu", i + 1);
	if (claim_caches(ret, err) < 0)
		return -1;
	for (size_t i = 0; i < ret->volume_count; i++)
		if (make_cache(b, ret->volumes[i].volume, err) < 0)
			return -1;
	return 0;
}

static int ask_files(struct build_sandbox *box, uint16_t type, const struct agent_path *message,
                     struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct compute_file call = {type, message, deadline_after(CALL_TIMEOUT_MS)};

	return compute_file(box->build->fleet->provider, box->id, &arena, &call, NULL, err);
}

/* The volume belongs to the user that the mount names. */
static int give_cache(struct build_sandbox *box, const struct build_mount *mount, const char *path,
                      struct error *err)
{
	const struct agent_path message = {
	        .root = is_given(mount->user) ? mount->user : "0:0",
	        .path = path,
	        .target = "",
	        .user = "",
	        .flags = AGENT_PATH_MAY_EXIST | AGENT_PATH_ADOPT | AGENT_PATH_AT_HOME,
	        .mode = is_given(mount->mode) ? build_parse_mode(mount->mode) : MODE_CACHE};

	return ask_files(box, AGENT_MKDIR, &message, err);
}

/* 1: `found` is there; 0: nothing is. */
static int look_at_path(struct build_sandbox *box, const char *path, struct agent_file *found,
                        struct error *err)
{
	struct build *b = box->build;
	const struct agent_path message = {
	        .root = "", .path = path, .target = "", .user = "", .flags = AGENT_PATH_NO_FOLLOW};
	const struct compute_file call = {AGENT_STAT, &message, deadline_after(CALL_TIMEOUT_MS)};

	if (compute_file(b->fleet->provider, box->id, &b->arena, &call, found, err) == 0)
		return 1;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return 0;
}

static int refuse_existing(const char *path, struct error *err)
{
	(void)FAIL(err, ERROR_CONFLICT, "'%.200s' exists", path);
	return FAIL_HINT(err, "mount at a new path, or at an empty folder");
}

/* Remembers what to remove after the command. An empty folder may be there, such as the folder of
 * the command; with `may_be_folder` it is made again later. */
static int add_path(struct build_mounts *m, struct build_sandbox *box, const char *path,
                    bool may_be_folder, struct error *err)
{
	struct build_added *added = &m->added[m->added_count];
	struct agent_file found;
	const struct agent_path remove = {.root = "", .path = path, .target = "", .user = ""};
	int result = look_at_path(box, path, &found, err);

	if (result < 0)
		return -1;
	*added = (struct build_added){.path = path};
	if (result > 0) {
		if (!may_be_folder || found.type != AGENT_FILE_FOLDER)
			return refuse_existing(path, err);
		if (ask_files(box, AGENT_REMOVE, &remove, err) < 0)
			return err->code == ERROR_CONFLICT ? refuse_existing(path, err) : -1;
		added->owner = arena_format(&m->build->arena, "%u:%u", found.uid, found.gid);
		added->mode = found.mode;
	}
	m->added_count++;
	return 0;
}

static int make_folder(struct build_sandbox *box, const struct build_added *added,
                       struct error *err)
{
	const struct agent_path message = {.root = added->owner ? added->owner : "0:0",
	                                   .path = added->path,
	                                   .target = "",
	                                   .user = "",
	                                   .flags = AGENT_PATH_PARENTS | AGENT_PATH_MAY_EXIST |
	                                            AGENT_PATH_ADOPT | AGENT_PATH_AT_HOME,
	                                   .mode = added->mode ? added->mode : MODE_FOLDER};

	return ask_files(box, AGENT_MKDIR, &message, err);
}

static int add_folder(struct build_mounts *m, struct build_sandbox *box, const char *path,
                      struct error *err)
{
	return add_path(m, box, path, true, err) < 0
	               ? -1
	               : make_folder(box, &m->added[m->added_count - 1], err);
}

static int place_secret(struct build_mounts *m, struct build_sandbox *box,
                        const struct build_mount *mount, const char *path, struct error *err)
{
	const char *value = text_map_find(&m->build->spec.secrets, mount->id);
	const struct build_file file = {
	        .path = path,
	        .owner = is_given(mount->user) ? mount->user : "0:0",
	        .mode = is_given(mount->mode) ? build_parse_mode(mount->mode) : MODE_SECRET,
	        .no_replace = true,
	        .text = span_of(value ? value : "")};

	if (!value)
		return 0;
	if (add_path(m, box, path, false, err) < 0)
		return -1;
	return build_sandbox_write(box, &file, err);
}

static int place_stage(struct build_mounts *m, struct build_sandbox *box,
                       const struct build_export *e, const char *path, struct error *err)
{
	const struct build_place place = {.path = path};

	if ((build_export_is_file(e) ? add_path(m, box, path, false, err)
	                             : add_folder(m, box, path, err)) < 0)
		return -1;
	return build_export_place(box, e, &place, err);
}

static int place_files(struct build_mounts *m, struct build_sandbox *box,
                       const struct build_mount *mount, const char *path, struct error *err)
{
	struct arena *a = &m->build->arena;
	struct build_unpack unpack = {.files = mount->files, .path = path};
	const char *last = path_last(path);

	if (mount->is_file)
		unpack.path =
		        last <= path + 1
		                ? "/"
		                : arena_copy(a, (struct span){path, (size_t)(last - path) - 1});
	if ((mount->is_file ? add_path(m, box, path, false, err) : add_folder(m, box, path, err)) <
	    0)
		return -1;
	return build_sandbox_unpack(box, &unpack, err);
}

static int place_mount(struct build_mounts *m, struct build_sandbox *box, size_t index,
                       struct error *err)
{
	const struct build_mount *mount = (const struct build_mount *)m->step->mounts.items + index;
	const char *path;

	if (!is_given(mount->path))
		return 0; /* a secret as a variable alone */
	if (build_resolve_path(m->build, mount->path, &path, err) < 0)
		return -1;
	switch ((enum build_mount_type)mount->type) {
	case BUILD_MOUNT_CACHE:
		return give_cache(box, mount, path, err);
	case BUILD_MOUNT_BIND:
		return is_given(mount->from) ? place_stage(m, box, &m->exports[index], path, err)
		                             : place_files(m, box, mount, path, err);
	case BUILD_MOUNT_SECRET:
		return place_secret(m, box, mount, path, err);
	case BUILD_MOUNT_TMPFS:
		return add_folder(m, box, path, err);
	case BUILD_MOUNT_COUNT:
		break;
	}
	return 0;
}

int build_mounts_place(struct build_mounts *m, struct build_sandbox *box, struct error *err)
{
	for (size_t i = 0; i < m->step->mounts.count; i++)
		if (place_mount(m, box, i, err) < 0)
			return FAIL_CONTEXT(err, "mount %zu", i + 1);
	return 0;
}

int build_mounts_remove(struct build_mounts *m, struct build_sandbox *box, struct error *err)
{
	while (m->added_count > 0) {
		const struct build_added *added = &m->added[--m->added_count];
		const struct agent_path message = {.root = "",
		                                   .path = added->path,
		                                   .target = "",
		                                   .user = "",
		                                   .flags = AGENT_PATH_RECURSIVE |
		                                            AGENT_PATH_MAY_EXIST};

		if (ask_files(box, AGENT_REMOVE, &message, err) < 0 ||
		    (added->owner && make_folder(box, added, err) < 0))
			return FAIL_CONTEXT(err, "remove what was mounted at '%.200s'",
			                    added->path);
	}
	return 0;
}

void build_mounts_close(struct build_mounts *m)
{
	for (size_t i = 0; m->exports && i < m->step->mounts.count; i++)
		build_export_close(&m->exports[i]);
	while (m->claim_count > 0)
		build_unclaim(m->build, m->claims[--m->claim_count]);
}

/* A volume of a sandbox that is still being deleted is tried again a minute later. */
void build_caches_tidy(struct fleet *f)
{
	int64_t before = fleet_retention_ms(f) - CACHE_KEPT_MS;
	AUTO(arena_done) struct arena arena = {0};
	struct volume_list list;
	struct error err = {0};

	if (store_volume_list(f->store, &arena, NULL, &list, &err) < 0) {
		log_debug("caches of builds are not looked at", FAILURE(&err));
		return;
	}
	for (size_t i = 0; i < list.count; i++) {
		const struct volume_record *v = &list.items[i];

		if (is_cache(v) && v->state == VOLUME_READY && strcmp(v->node, f->node) == 0 &&
		    v->updated_at < before)
			(void)remove_cache(f, &arena, v);
	}
}

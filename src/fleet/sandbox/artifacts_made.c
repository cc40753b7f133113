/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a command has created or changed: the agent lists them, then each is kept. */

#include <string.h>

#include "fleet/core/fleet_hold.h"
#include "fleet/core/fleet_state.h"
#include "fleet/sandbox/artifacts.h"
#include "provider/compute.h"
#include "store/artifacts.h"
#include "store/sandbox_record.h"
#include "wire/agent.h"
#include "wire/agent_files.h"

struct artifact_search {
	const struct fleet_artifacts_made *made;
	struct arena *arena;
	const char *paths[FLEET_ARTIFACTS_MADE_MAX];
	size_t count;
};

static int on_file(void *context, const void *reply, struct error *err)
{
	struct artifact_search *s = context;
	const struct agent_file *file = reply;

	if (s->count == COUNT_OF(s->paths))
		return FAIL(err, ERROR_SYSTEM, "the agent told of more files than it was to");
	s->paths[s->count++] =
	        strcmp(s->made->folder, ".") == 0
	                ? arena_text(s->arena, file->path)
	                : arena_format(s->arena, "%s/%s", s->made->folder, file->path);
	return 0;
}

static int find_files(struct artifact_search *s, struct error *err)
{
	const struct fleet_artifact_keep *keep = &s->made->keep;
	const struct agent_path message = {
	        .root = keep->root,
	        .path = s->made->folder,
	        .target = "",
	        .user = keep->user ? keep->user : "",
	        .flags = AGENT_PATH_BENEATH,
	        .depth = FLEET_ARTIFACTS_DEPTH,
	        .offset = (uint64_t)(s->made->since - FLEET_ARTIFACTS_LAG_MS),
	        .size_max = FLEET_ARTIFACTS_MADE_MAX,
	};
	const struct compute_file list = {AGENT_LIST, &message, artifacts_patience(keep->deadline),
	                                  on_file, s};

	return compute_file(keep->hold->provider, keep->hold->id, s->arena, &list, NULL, err);
}

/* The file was kept before: a job is asked for its files again after a server was killed. */
static bool is_kept(const struct fleet_artifact_keep *keep, const struct artifact_list *kept,
                    const char *path)
{
	size_t root = strcmp(keep->root, "/") == 0 ? 0 : strlen(keep->root);

	for (size_t i = 0; i < kept->count; i++)
		if (strcmp(kept->items[i].path + root + 1, path) == 0)
			return true;
	return false;
}

static int find_kept(struct fleet *fleet, struct arena *a, const struct fleet_artifact_keep *keep,
                     struct artifact_list *ret, struct error *err)
{
	const struct artifact_filter filter = {.project_id = keep->project_id,
	                                       .job = keep->job,
	                                       .limit = FLEET_ARTIFACTS_MADE_MAX};

	return keep->job ? store_artifact_list(fleet->store, a, &filter, ret, err) : 0;
}

static void log_not_kept(const struct fleet_artifact_keep *keep, const char *path,
                         const struct error *err)
{
	log_warning("a command's file is not kept", TEXT("sandbox", keep->sandbox->id),
	            TEXT("path", path), FAILURE(err));
}

/* The failure is not known to be caused by the file. */
static bool is_worth_another_try(const struct error *err)
{
	return err->code == ERROR_UNAVAILABLE || err->code == ERROR_TIMEOUT;
}

static int keep_each(struct fleet *fleet, struct arena *a, const struct artifact_search *search,
                     const struct artifact_list *before, struct artifact_list *ret,
                     struct error *err)
{
	struct fleet_artifact_keep keep = search->made->keep;

	for (size_t i = 0; i < search->count; i++) {
		keep.path = search->paths[i];
		if (is_kept(&keep, before, keep.path))
			continue;
		if (fleet_artifact_keep(fleet, a, &keep, &ret->items[ret->count], err) == 0) {
			ret->count++;
			continue;
		}
		log_not_kept(&keep, keep.path, err);
		if (is_worth_another_try(err))
			return -1;
		error_clear(err);
	}
	return 0;
}

int fleet_artifacts_keep_made(struct fleet *fleet, struct arena *a,
                              const struct fleet_artifacts_made *made, struct artifact_list *ret,
                              struct error *err)
{
	struct artifact_search search = {.made = made, .arena = a};
	struct artifact_list before = {.count = 0};

	*ret = (struct artifact_list){
	        .items = ARENA_ARRAY(a, struct artifact_record, FLEET_ARTIFACTS_MADE_MAX)};
	if (find_kept(fleet, a, &made->keep, &before, err) == 0 && find_files(&search, err) == 0)
		return keep_each(fleet, a, &search, &before, ret, err);
	/* A missing folder has no files. */
	if (err->code != ERROR_NOT_FOUND)
		log_not_kept(&made->keep, made->folder, err);
	if (is_worth_another_try(err))
		return -1;
	error_clear(err);
	return 0;
}

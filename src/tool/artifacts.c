/* SPDX-License-Identifier: Apache-2.0 */
/* Stores the files that a command left in a folder which its call names. */
#include "tool/artifacts.h"

#include <inttypes.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/path.h"
#include "fleet/sandbox/artifacts.h"
#include "job/job.h"
#include "json/json.h"
#include "store/artifacts.h"
#include "store/jobs.h"
#include "tool/builtin.h"
#include "tool/tool.h"
#include "wire/agent_files.h"

#define ADDRESS_MS (3600 * INT64_C(1000))

static const struct json_member tool_artifact_shape_members[] = {
        JSON_TEXT_MEMBER(tool_artifact, id),
        JSON_TEXT_MEMBER(tool_artifact, path, .about = "relative to the workspace"),
        JSON_TEXT_MEMBER(tool_artifact, media_type, .about = "by the file's name and content"),
        JSON_WHOLE_MEMBER(tool_artifact, size),
        JSON_TEXT_MEMBER(tool_artifact, url, .about = "link to the content, valid for an hour"),
};
JSON_SHAPE(tool_artifact_shape, "ToolArtifact", tool_artifact, "A stored file");

int tool_check_artifacts(const struct tool_call *call, const char *folder, struct error *err)
{
	struct agent_path path = {.root = NULL};

	if (!folder || !folder[0])
		return 0;
	return tool_resolve_path(call, folder, &path, err) < 0 ? FAIL_CONTEXT(err, "artifacts") : 0;
}

/* The path relative to the workspace `root`, in which `path` is. */
static const char *path_in_workspace(const char *root, const char *path)
{
	size_t size = strcmp(root, "/") == 0 ? 0 : strlen(root);

	return path + size + 1;
}

static void add_text(struct arena *a, const struct json_list *list, struct tool_result *result)
{
	const struct tool_artifact *files = list->items;
	AUTO(buf_done) struct buf text = BUF(list->count * (4 * PATH_SIZE_MAX));

	for (size_t i = 0; i < list->count; i++)
		buf_addf(&text, "[kept: %s, %s, %" PRId64 " bytes: %s]\n", files[i].path,
		         files[i].media_type, files[i].size, files[i].url);
	tool_add_text(result, (struct span){arena_copy(a, buf_span(&text)), text.size});
}

static void add_artifacts(const struct tool_call *call, const char *root,
                          const struct artifact_list *kept, struct json_list *ret,
                          struct tool_result *result)
{
	struct tool_artifact *files = ARENA_ARRAY(call->arena, struct tool_artifact, kept->count);
	int64_t until = (clock_unix_ms() + ADDRESS_MS) / 1000;

	for (size_t i = 0; i < kept->count; i++) {
		const struct artifact_record *r = &kept->items[i];

		files[i] = (struct tool_artifact){
		        .id = r->id,
		        .path = tool_text(call->arena, span_of(path_in_workspace(root, r->path))),
		        .media_type = r->media_type,
		        .size = r->size_bytes,
		        .url = arena_format(call->arena, "%s%s", tool_server_address(call),
		                            fleet_artifact_address(call->arena, r, until)),
		};
	}
	*ret = (struct json_list){files, kept->count, true};
	if (kept->count > 0)
		add_text(call->arena, ret, result);
}

struct job_keep tool_job_keep(const struct tool_call *call, const char *folder)
{
	struct job_keep keep = {.root = NULL};

	if (!folder || !folder[0] ||
	    path_check_relative(call->arena, span_of(folder), &keep.folder, &(struct error){0}) < 0)
		return keep;
	keep.root = call->root;
	keep.run = call->run;
	return keep;
}

int tool_add_job_artifacts(const struct tool_call *call, const struct job_record *r,
                           struct json_list *ret, struct tool_result *result, struct error *err)
{
	const struct artifact_filter filter = {
	        .project_id = r->project_id, .job = r->id, .limit = FLEET_ARTIFACTS_MADE_MAX};
	struct artifact_list kept;

	if (!*r->keep_root)
		return 0;
	if (store_artifact_list(call->store, call->arena, &filter, &kept, err) < 0)
		return -1;
	add_artifacts(call, r->keep_root, &kept, ret, result);
	return 0;
}

void tool_keep_artifacts(const struct tool_call *call, const struct tool_changed_files *left,
                         struct json_list *ret, struct tool_result *result)
{
	struct fleet_artifacts_made made = {
	        .keep = {.sandbox = call->sandbox,
	                 .hold = call->hold,
	                 .project_id = call->project_id,
	                 .key_id = call->key_id,
	                 .run = call->run,
	                 .root = call->root,
	                 .user = call->user,
	                 .process = left->process,
	                 .deadline = call->deadline},
	        .since = left->since,
	};
	struct artifact_list kept;
	struct error ignored = {0};

	if (!left->folder || !left->folder[0] || cancel_is_said(call->cancel) ||
	    path_check_relative(call->arena, span_of(left->folder), &made.folder, &ignored) < 0)
		return;
	(void)!fleet_artifacts_keep_made(call->fleet, call->arena, &made, &kept, &ignored);
	add_artifacts(call, call->root, &kept, ret, result);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/activity_feed.h"

#include <string.h>

#include "activity/activity.h"
#include "edge/api.h"

struct activity_artifact {
	const char *id, *path;
};
static const struct json_member artifact_shape_members[] = {
        JSON_TEXT_MEMBER(activity_artifact, id),
        JSON_TEXT_MEMBER(activity_artifact, path),
};
static JSON_SHAPE(artifact_shape, "ActivityArtifact", activity_artifact,
                  "A file that the call left and that is stored");

static const struct json_member activity_shape_members[] = {
        JSON_WHOLE_MEMBER(activity_answer, sequence,
                          .about = "grows over all of the server's rows; for after="),
        JSON_TIME_MEMBER(activity_answer, at, .about = "when the call began"),
        JSON_TEXT_MEMBER(activity_answer, project),
        JSON_TEXT_MEMBER(activity_answer, sandbox, .flags = JSON_NULLABLE,
                         .about = "its id; null for a tool without a sandbox"),
        JSON_TEXT_MEMBER(activity_answer, kind, .about = "command, code, tool or file"),
        JSON_TEXT_MEMBER(activity_answer, operation,
                         .about = "exec, job or git; the language of code; the name of a tool; "
                                  "read, write, mkdir, remove, rename, copy, permissions, "
                                  "tar_in or tar_out"),
        JSON_TEXT_MEMBER(activity_answer, arguments,
                         .about = "the command line, code, input or paths; the first 1 KiB"),
        JSON_TEXT_MEMBER(activity_answer, user, .flags = JSON_NULLABLE,
                         .about = "the member whose key made the call"),
        JSON_TEXT_MEMBER(activity_answer, key, .flags = JSON_NULLABLE),
        JSON_TEXT_MEMBER(activity_answer, conversation, .flags = JSON_NULLABLE,
                         .about = "of the header Atoll-Conversation or the tool call"),
        JSON_BOOL_MEMBER(activity_answer, ok, .about = "outcome is ok"),
        JSON_TEXT_MEMBER(activity_answer, outcome,
                         .about = "ok, failed, or unknown: the server did not see the end"),
        JSON_WHOLE_MEMBER(activity_answer, exit_code, .about = "-1: none, or unknown"),
        JSON_TEXT_MEMBER(activity_answer, error, .flags = JSON_NULLABLE,
                         .about = "why it failed, besides an exit code"),
        JSON_WHOLE_MEMBER(activity_answer, duration_ms),
        JSON_WHOLE_MEMBER(activity_answer, output_bytes,
                          .about = "of both output streams; of files: bytes transferred"),
        JSON_TEXT_MEMBER(activity_answer, head, .about = "the first KiB of the output"),
        JSON_TEXT_MEMBER(activity_answer, tail,
                         .about = "the last KiB of the output; empty when head is all of it"),
        JSON_TEXT_MEMBER(activity_answer, encoding, .flags = JSON_NULLABLE,
                         .about = "base64 when the bytes of head and tail are no text"),
        JSON_LIST_MEMBER(activity_answer, artifacts, &artifact_shape),
};
JSON_SHAPE(activity_shape, "Activity", activity_answer, "A call into a sandbox");

static const char *null_if_empty(const char *text)
{
	return text && *text ? text : NULL;
}

/* Our own rows; a row of a damaged database has no artifacts. */
static struct json_list read_artifacts(struct arena *a, const char *text)
{
	struct json_list list = {.present = true};
	struct activity_artifact *items;
	const struct json_value *all;
	struct error ignored = {0};

	if (!*text || json_load(a, span_of(text), &all, &ignored) < 0)
		return list;
	list.count = json_count(all);
	list.items = items = ARENA_ARRAY(a, struct activity_artifact, list.count + 1);
	for (size_t i = 0; i < list.count; i++) {
		const struct json_value *item = json_item_at(all, i);

		items[i] = (struct activity_artifact){json_get_text(item, "id", ""),
		                                      json_get_text(item, "path", "")};
	}
	return list;
}

struct activity_answer activity_answer_of(struct arena *a, const struct activity_record *r)
{
	return (struct activity_answer){
	        .sequence = r->sequence,
	        .at = r->at,
	        .project = r->project_id,
	        .sandbox = null_if_empty(r->sandbox_id),
	        .kind = activity_kind_name(r->kind),
	        .operation = r->operation,
	        .arguments = r->arguments,
	        .user = null_if_empty(r->user_id),
	        .key = null_if_empty(r->key_id),
	        .conversation = null_if_empty(r->conversation),
	        .ok = r->outcome == ACTIVITY_OK,
	        .outcome = activity_outcome_name(r->outcome),
	        .exit_code = r->exit_code,
	        .error = null_if_empty(r->error),
	        .duration_ms = r->duration_ms,
	        .output_bytes = r->output_bytes,
	        .head = r->head,
	        .tail = r->tail,
	        .encoding = null_if_empty(r->encoding),
	        .artifacts = read_artifacts(a, r->artifacts_json),
	};
}

static void watch_log(struct api *api, struct event_watcher *w)
{
	activity_log_watch(api->activity, w);
}

static void unwatch_log(struct api *api, UNUSED struct event_watcher *w)
{
	activity_log_watch(api->activity, NULL);
}

static int list_rows(struct store *s, struct arena *a, const struct feed_page *page,
                     struct feed_rows *ret, struct error *err)
{
	const struct feed_filter *f = page->filter;
	const struct activity_page rows = {
	        .filter = {f->project_id, f->sandbox_id, f->pattern, f->user_id, f->key_id,
	                   f->conversation},
	        .after = page->after,
	        .before = page->before,
	        .limit = page->limit,
	};
	struct activity_list found;

	if (store_activity_list(s, a, &rows, &found, err) < 0)
		return -1;
	*ret = (struct feed_rows){found.items, found.count};
	return 0;
}

static bool is_same(const char *wanted, const char *text)
{
	return !wanted || strcmp(wanted, text) == 0;
}

static bool is_wanted(const struct feed_filter *f, const void *row)
{
	const struct activity_record *r = row;

	return is_same(f->project_id, r->project_id) && is_same(f->sandbox_id, r->sandbox_id) &&
	       is_same(f->pattern, activity_kind_name(r->kind)) &&
	       is_same(f->user_id, r->user_id) && is_same(f->key_id, r->key_id) &&
	       is_same(f->conversation, r->conversation);
}

static const char *kind_of(const void *row)
{
	return activity_kind_name(((const struct activity_record *)row)->kind);
}

static void write_row(struct buf *out, const void *row, UNUSED struct span object)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct activity_answer answer = activity_answer_of(&arena, row);

	json_write(out, &activity_shape, &answer);
}

const struct feed_source activity_feed_source = {
        .watch = watch_log,
        .unwatch = unwatch_log,
        .row_size = sizeof(struct activity_record),
        .bounds = store_activity_bounds,
        .list = list_rows,
        .is_wanted = is_wanted,
        .name = kind_of,
        .write = write_row,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/recordings — recordings of windows, commands and jobs as asciicast files
 * (docs/use/terminals.md). */
#include <string.h>

#include "calls/download.h"
#include "edge/api.h"
#include "fleet/core/sandboxes.h"
#include "surface/native/native.h"
#include "terminal/recording.h"

#define BASE "/api/sandbox/recordings"
#define CONTENT_TYPE "application/x-asciicast"
#define DOWNLOAD_IDLE_MS 60000

struct recording_answer {
	const char *id, *sandbox_id, *window, *user;
	int64_t process, size_bytes, started_at, duration_ms;
};
static const struct json_member recording_shape_members[] = {
        JSON_TEXT_MEMBER(recording_answer, id),
        JSON_TEXT_MEMBER(recording_answer, sandbox_id, .about = "the sandbox may be deleted"),
        JSON_WHOLE_MEMBER(recording_answer, process,
                          .about = "number of the window's, command's or job's process; "
                                   "0: not known"),
        JSON_WHOLE_MEMBER(recording_answer, size_bytes),
        JSON_TIME_MEMBER(recording_answer, started_at),
        JSON_TEXT_MEMBER(recording_answer, window, .flags = JSON_NULLABLE,
                         .about = "name of the window"),
        JSON_TEXT_MEMBER(recording_answer, user, .flags = JSON_NULLABLE,
                         .about = "user or key that had it recorded; null: not known"),
        JSON_WHOLE_MEMBER(recording_answer, duration_ms,
                          .about = "time of the last output; -1: not known"),
};

struct recordings_query {
	const char *sandbox;
};
static const struct json_member recordings_query_members[] = {
        JSON_TEXT_MEMBER(recordings_query, sandbox, .max = 64,
                         .about = "name or id of a sandbox; only its recordings; the id of a "
                                  "deleted sandbox works, too"),
};
static JSON_SHAPE(recordings_query, "RecordingsQuery", recordings_query, "Filter for recordings");
static JSON_SHAPE(recording_shape, "Recording", recording_answer, "A recording of a window");

static const struct json_member recording_list_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &recording_shape),
};
static JSON_SHAPE(recording_list, "RecordingList", list_answer,
                  "Finished recordings, by sandbox and time");

static int recordings_list(struct request *rq, UNUSED const void *body, struct reply *reply,
                           struct error *err)
{
	const struct recordings_query *q = rq->query;
	const struct fleet_ref ref = {api_project(rq), q->sandbox};
	struct terminals *terminals = api_of(rq)->terminals;
	struct terminal_recordings found;
	struct recording_answer *items;
	const char *sandbox;
	size_t count = 0;

	if (api_resolve_sandbox_id(rq, &ref, &sandbox, err) < 0 ||
	    terminal_recordings_list(terminals, rq->arena, api_project(rq), &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct recording_answer, found.count + 1);
	for (size_t i = 0; i < found.count; i++) {
		struct terminal_recording *r = &found.items[i];

		if (sandbox && strcmp(r->sandbox, sandbox) != 0)
			continue;
		terminal_recording_describe(terminals, rq->arena, api_project(rq), r);
		items[count++] = (struct recording_answer){
		        .id = r->id,
		        .sandbox_id = r->sandbox,
		        .window = r->window,
		        .user = text_or_null(r->user),
		        .process = r->process,
		        .size_bytes = r->size,
		        .started_at = r->started_at,
		        .duration_ms = r->duration_ms,
		};
	}
	reply_list(reply, &recording_list, items, count);
	return 0;
}

static int recording_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	struct download download = {.media_type = CONTENT_TYPE, .idle_ms = DOWNLOAD_IDLE_MS};

	if (terminal_recording_open(api_of(rq)->terminals, api_project(rq),
	                            request_param(rq, "recording"), &download.fd,
	                            &download.range.size, err) < 0)
		return -1;
	download_answer(reply, &download);
	return 0;
}

static int recording_delete(struct request *rq, UNUSED const void *body, struct reply *reply,
                            struct error *err)
{
	if (terminal_recording_delete(api_of(rq)->terminals, api_project(rq),
	                              request_param(rq, "recording"), err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

#define TAG .tag = "terminals"
const struct route recordings_routes[] = {
        {HTTP_GET, BASE, SCOPE_SANDBOX_READ, ROUTE_SLOW, .query = &recordings_query,
         .answer = &recording_list, .handle = recordings_list, TAG,
         .summary = "List the project's recordings"},
        {HTTP_GET, BASE "/:recording", SCOPE_SANDBOX_READ, .handle = recording_get, TAG,
         .summary = "Download a recording as an asciicast file"},
        {HTTP_DELETE, BASE "/:recording", SCOPE_SANDBOX_WRITE, .status = 204,
         .handle = recording_delete, TAG, .summary = "Delete a recording"},
        {.path = NULL},
};

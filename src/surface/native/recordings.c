/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/recordings — recordings of windows as asciicast files (docs/use/terminals.md). */
#include "calls/download.h"
#include "edge/api.h"
#include "surface/native/answer.h"
#include "surface/native/routes.h"
#include "terminal/recording.h"

#define BASE "/api/sandbox/recordings"
#define CONTENT_TYPE "application/x-asciicast"
#define DOWNLOAD_IDLE_MS 60000

struct recording_answer {
	const char *id, *sandbox_id;
	int64_t process, size_bytes, started_at;
};
static const struct json_member recording_shape_members[] = {
        JSON_TEXT_MEMBER(recording_answer, id),
        JSON_TEXT_MEMBER(recording_answer, sandbox_id, .about = "the sandbox may be deleted"),
        JSON_WHOLE_MEMBER(recording_answer, process, .about = "number of the window's process"),
        JSON_WHOLE_MEMBER(recording_answer, size_bytes),
        JSON_TIME_MEMBER(recording_answer, started_at),
};
static JSON_SHAPE(recording_shape, "Recording", recording_answer, "A recording of a window");

static const struct json_member recording_list_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &recording_shape),
};
static JSON_SHAPE(recording_list, "RecordingList", list_answer,
                  "Finished recordings, by sandbox and time");

static int recordings_list(struct request *rq, UNUSED const void *body, struct reply *reply,
                           struct error *err)
{
	struct terminal_recordings found;
	struct recording_answer *items;

	if (terminal_recordings_list(api_of(rq)->terminals, rq->arena, api_project(rq), &found,
	                             err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct recording_answer, found.count + 1);
	for (size_t i = 0; i < found.count; i++)
		items[i] = (struct recording_answer){
		        .id = found.items[i].id,
		        .sandbox_id = found.items[i].sandbox,
		        .process = found.items[i].process,
		        .size_bytes = found.items[i].size,
		        .started_at = found.items[i].started_at,
		};
	reply_list(reply, &recording_list, items, found.count);
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
        {HTTP_GET, BASE, SCOPE_SANDBOX_READ, .answer = &recording_list, .handle = recordings_list,
         TAG, .summary = "List the project's recordings"},
        {HTTP_GET, BASE "/:recording", SCOPE_SANDBOX_READ, .handle = recording_get, TAG,
         .summary = "Download a recording as an asciicast file"},
        {HTTP_DELETE, BASE "/:recording", SCOPE_SANDBOX_WRITE, .status = 204,
         .handle = recording_delete, TAG, .summary = "Delete a recording"},
        {.path = NULL},
};

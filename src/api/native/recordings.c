/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/recordings — what windows showed, as asciicast files; docs/terminals.md. */
#include "terminal/recording.h"

#include <stdlib.h>
#include <unistd.h>

#include "api/caller.h"
#include "api/tables.h"
#include "http/relay.h"

#define BASE "/api/sandbox/recordings"
#define CONTENT_TYPE "application/x-asciicast"
#define DOWNLOAD_IDLE_MS 60000

struct recording_answer {
	const char *id, *sandbox_id;
	int64_t process, size_bytes, started_at;
};
static const struct json_member recording_shape_members[] = {
        JSON_TEXT_MEMBER(recording_answer, id),
        JSON_TEXT_MEMBER(recording_answer, sandbox_id, .about = "which may be gone"),
        JSON_WHOLE_MEMBER(recording_answer, process, .about = "that the window was"),
        JSON_WHOLE_MEMBER(recording_answer, size_bytes),
        JSON_TIME_MEMBER(recording_answer, started_at),
        JSON_END,
};
static JSON_SHAPE(recording_shape, "Recording", recording_answer, "What a window showed");

struct recording_list {
	struct json_list items;
};
static const struct json_member recording_list_members[] = {
        JSON_LIST_MEMBER(recording_list, items, &recording_shape),
        JSON_END,
};
static JSON_SHAPE(recording_list, "RecordingList", recording_list,
                  "Recordings that are whole, by sandbox, then by time");

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
	reply_json(reply, &recording_list,
	           &(struct recording_list){{items, found.count, .present = true}});
	return 0;
}

/* ---- content: the loop moves it from a pipe ---- */

struct download {
	int64_t left, size;
	bool has_begun;
};

static void begin_download(struct download *d, struct relay *relay)
{
	if (!d->has_begun)
		relay_begin(relay, 200, CONTENT_TYPE, d->size);
	d->has_begun = true;
}

static int download_on_upstream(void *state, struct relay *relay, struct span *in,
                                struct error *err)
{
	struct download *d = state;

	if ((int64_t)in->size > d->left)
		return FAIL(err, ERROR_SYSTEM, "the recording is longer than it was");
	begin_download(d, relay);
	relay_write(relay, *in);
	d->left -= (int64_t)in->size;
	*in = (struct span){NULL, 0};
	return 0;
}

static int download_on_end(void *state, struct relay *relay, struct error *err)
{
	struct download *d = state;

	if (d->left > 0)
		return FAIL(err, ERROR_SYSTEM, "the blob store broke off");
	begin_download(d, relay);
	relay_finish(relay);
	return 0;
}

static void download_release(void *state, int upstream_fd, UNUSED bool clean)
{
	if (upstream_fd >= 0)
		(void)close(upstream_fd);
	free(state);
}

static const struct relay_ops download_ops = {
        .on_upstream = download_on_upstream,
        .on_upstream_end = download_on_end,
        .release = download_release,
};

static void answer_content(int fd, int64_t size, struct reply *reply)
{
	struct download *d = calloc(1, sizeof(*d));

	if (!d)
		abort();
	d->left = d->size = size;
	reply_relay(reply, &(struct relay_options){.upstream_fd = fd,
	                                           .ops = &download_ops,
	                                           .state = d,
	                                           .idle_timeout_ms = DOWNLOAD_IDLE_MS});
}

static int recording_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	int64_t size;
	int fd;

	if (terminal_recording_open(api_of(rq)->terminals, api_project(rq),
	                            request_param(rq, "recording"), &fd, &size, err) < 0)
		return -1;
	answer_content(fd, size, reply);
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
         TAG, .summary = "List the project's recordings of windows"},
        {HTTP_GET, BASE "/:recording", SCOPE_SANDBOX_READ, .handle = recording_get, TAG,
         .summary = "A recording as an asciicast file"},
        {HTTP_DELETE, BASE "/:recording", SCOPE_SANDBOX_WRITE, .status = 204,
         .handle = recording_delete, TAG, .summary = "Delete a recording"},
        {.path = NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/artifact_saver.h"

#include <stdlib.h>

#include "activity/activity.h"
#include "base/clock.h"
#include "base/log.h"
#include "calls/stored_artifact.h"
#include "edge/api.h"
#include "fleet/lifecycle/hold.h"
#include "fleet/sandbox/artifacts.h"
#include "http/server/http.h"
#include "loop/loop.h"
#include "store/artifacts.h"
#include "store/sandbox_record.h"
#include "worker/worker.h"

/* Time to store all files; the call waits for it. */
#define KEEP_MS (5 * 60 * 1000)
#define JSON_SIZE_MAX ((size_t)64 * 1024)

struct artifact_saver {
	struct worker_task task;
	struct loop_task done;
	struct arena arena;
	struct api *api;
	struct fleet_ref sandbox;
	struct fleet_artifacts_made made;
	struct artifact_list stored; /* in the arena */
	struct span json[FLEET_ARTIFACTS_MADE_MAX];
	size_t count;
	bool is_running;
	void (*on_done)(void *context); /* NULL after artifact_saver_free */
	void *context;
};

static const char *copy_text(struct arena *a, const char *text)
{
	return text ? arena_text(a, text) : NULL;
}

struct artifact_saver *artifact_saver_new(const struct request *rq,
                                          const struct artifact_saver_options *options)
{
	struct artifact_saver *s = memory_new(sizeof(*s));
	struct arena *a = &s->arena;

	s->api = api_of(rq);
	s->on_done = options->on_done;
	s->context = options->context;
	s->sandbox.project_id = arena_text(a, api_project(rq));
	s->sandbox.id_or_name = arena_text(a, options->sandbox_id);
	s->made = (struct fleet_artifacts_made){
	        .keep = {.project_id = s->sandbox.project_id,
	                 .key_id = copy_text(a, api_key_id(rq)),
	                 .run = copy_text(a, request_header(rq, "Atoll-Run")),
	                 .root = copy_text(a, options->root),
	                 .user = copy_text(a, options->user)},
	        .folder = ".",
	};
	return s;
}

void artifact_saver_free(struct artifact_saver *s)
{
	if (s && s->is_running) {
		s->on_done = NULL;
	} else if (s) {
		arena_done(&s->arena);
		free(s);
	}
}

static void log_failure(const struct artifact_saver *s, const struct error *err)
{
	log_warning("files of a command are not stored", TEXT("sandbox", s->sandbox.id_or_name),
	            FAILURE(err));
}

static void save_artifacts(struct artifact_saver *s)
{
	struct artifact_list *made = &s->stored;
	struct sandbox_record sandbox;
	struct fleet_hold hold;
	struct error err = {0};

	if (fleet_hold(s->api->fleet, &s->arena, &s->sandbox, &sandbox, &hold, &err) < 0) {
		log_failure(s, &err);
		return;
	}
	s->made.keep.sandbox = &sandbox;
	s->made.keep.hold = &hold;
	s->made.keep.deadline = deadline_after(KEEP_MS);
	/* What failed was logged; the files before that are stored. */
	(void)!fleet_artifacts_keep_made(s->api->fleet, &s->arena, &s->made, made, &err);
	for (size_t i = 0; i < made->count; i++) {
		AUTO(buf_done) struct buf json = BUF(JSON_SIZE_MAX);

		stored_artifact_write(&json, &s->arena, &made->items[i]);
		s->json[s->count++] = span_of(arena_copy(&s->arena, buf_span(&json)));
	}
	fleet_unhold(&hold);
}

static void run_saver(struct worker_task *task)
{
	struct artifact_saver *s = CONTAINER_OF(task, struct artifact_saver, task);

	save_artifacts(s);
	loop_post(s->api->loop, &s->done);
}

static void on_loop(struct loop_task *task)
{
	struct artifact_saver *s = CONTAINER_OF(task, struct artifact_saver, done);

	s->is_running = false;
	if (s->on_done)
		s->on_done(s->context);
	else
		artifact_saver_free(s);
}

bool artifact_saver_start(struct artifact_saver *s, uint64_t process, int64_t since)
{
	struct error err = {0};

	s->made.keep.process = (int64_t)process;
	s->made.since = since;
	s->task = (struct worker_task){
	        .lane = WORKER_LONG,
	        .run = run_saver,
	        .shares = {[WORKER_PROJECT] = worker_share_id(s->sandbox.project_id),
	                   [WORKER_SANDBOX] = worker_share_id(s->sandbox.id_or_name)}};
	s->done = (struct loop_task){.run = on_loop};
	s->is_running = worker_submit(s->api->workers, &s->task, &err) == 0;
	if (!s->is_running)
		log_failure(s, &err);
	return s->is_running;
}

struct span artifact_saver_json(const struct artifact_saver *s, size_t i)
{
	return i < s->count ? s->json[i] : (struct span){NULL, 0};
}

void artifact_saver_note(const struct artifact_saver *s, struct activity_note *note)
{
	for (size_t i = 0; i < s->stored.count; i++)
		activity_add_artifact(note, s->stored.items[i].id, s->stored.items[i].path);
}

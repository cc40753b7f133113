/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/artifact_saver.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "calls/stored_artifact.h"
#include "edge/api.h"
#include "fleet/lifecycle/hold.h"
#include "fleet/sandbox/artifacts.h"
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
	struct artifact_saver_options options;
	const char *paths[ARTIFACT_SAVER_MAX];
	struct span json[ARTIFACT_SAVER_MAX];
	size_t count, kept;
	uint64_t process;
	void (*on_done)(void *context); /* NULL after artifact_saver_forget */
	void *context;
};

static const char *copy_text(struct artifact_saver *s, const char *text)
{
	return text ? arena_text(&s->arena, text) : NULL;
}

struct artifact_saver *artifact_saver_new(const struct artifact_saver_options *options)
{
	struct artifact_saver *s = memory_new(sizeof(*s));

	s->options = (struct artifact_saver_options){
	        .api = options->api,
	        .project_id = copy_text(s, options->project_id),
	        .key_id = copy_text(s, options->key_id),
	        .sandbox_id = copy_text(s, options->sandbox_id),
	        .run = copy_text(s, options->run),
	        .root = copy_text(s, options->root),
	        .user = copy_text(s, options->user),
	};
	return s;
}

void artifact_saver_free(struct artifact_saver *s)
{
	if (!s)
		return;
	arena_done(&s->arena);
	free(s);
}

void artifact_saver_add(struct artifact_saver *s, const char *path)
{
	if (s->count < ARTIFACT_SAVER_MAX)
		s->paths[s->count++] = copy_text(s, path);
}

static int save_artifact(struct artifact_saver *s, const struct sandbox_record *sandbox,
                         const struct fleet_hold *hold, const char *path, int64_t deadline)
{
	AUTO(buf_done) struct buf json = BUF(JSON_SIZE_MAX);
	const struct fleet_artifact_keep keep = {
	        .sandbox = sandbox,
	        .hold = hold,
	        .project_id = s->options.project_id,
	        .key_id = s->options.key_id,
	        .run = s->options.run,
	        .root = s->options.root,
	        .path = path,
	        .user = s->options.user,
	        .process = (int64_t)s->process,
	        .deadline = deadline,
	};
	struct artifact_record made;
	struct error err = {0};

	if (fleet_artifact_keep(s->options.api->fleet, &s->arena, &keep, &made, &err) < 0) {
		log_warning("a file of a command is not stored", TEXT("sandbox", sandbox->id),
		            TEXT("path", path), FAILURE(&err));
		return -1;
	}
	stored_artifact_write(&json, &s->arena, &made);
	s->json[s->kept++] = span_of(arena_copy(&s->arena, buf_span(&json)));
	return 0;
}

static void save_artifacts(struct artifact_saver *s)
{
	const struct fleet_ref ref = {s->options.project_id, s->options.sandbox_id, NULL};
	int64_t deadline = deadline_after(KEEP_MS);
	struct sandbox_record sandbox;
	struct fleet_hold hold;
	struct error err = {0};

	if (fleet_hold(s->options.api->fleet, &s->arena, &ref, &sandbox, &hold, &err) < 0) {
		log_warning("files of a command are not stored",
		            TEXT("sandbox", s->options.sandbox_id), FAILURE(&err));
		return;
	}
	for (size_t i = 0; i < s->count; i++)
		(void)save_artifact(s, &sandbox, &hold, s->paths[i], deadline);
	fleet_unhold(&hold);
}

static void run_saver(struct worker_task *task)
{
	struct artifact_saver *s = CONTAINER_OF(task, struct artifact_saver, task);

	save_artifacts(s);
	loop_post(s->options.api->loop, &s->done);
}

static void on_loop(struct loop_task *task)
{
	struct artifact_saver *s = CONTAINER_OF(task, struct artifact_saver, done);

	if (s->on_done)
		s->on_done(s->context);
	artifact_saver_free(s);
}

bool artifact_saver_start(struct artifact_saver *s, uint64_t process,
                          void (*on_done)(void *context), void *context)
{
	struct error err = {0};

	s->process = process;
	s->on_done = on_done;
	s->context = context;
	s->task = (struct worker_task){
	        .lane = WORKER_LONG,
	        .run = run_saver,
	        .shares = {[WORKER_PROJECT] = worker_share_id(s->options.project_id),
	                   [WORKER_SANDBOX] = worker_share_id(s->options.sandbox_id)}};
	s->done = (struct loop_task){.run = on_loop};
	if (s->count == 0)
		return false;
	if (worker_submit(s->options.api->workers, &s->task, &err) == 0)
		return true;
	log_warning("files of a command are not stored", TEXT("sandbox", s->options.sandbox_id),
	            FAILURE(&err));
	return false;
}

void artifact_saver_forget(struct artifact_saver *s)
{
	s->on_done = NULL;
}

struct span artifact_saver_json(const struct artifact_saver *s, size_t i)
{
	return i < s->kept ? s->json[i] : (struct span){NULL, 0};
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/artifact_saver.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "calls/stored_artifact.h"
#include "edge/api.h"
#include "fleet/artifacts.h"

/* Of all of them; the call waits so long. */
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
	void (*on_done)(void *context); /* NULL: nobody waits any more */
	void *context;
};

static const char *copy_text(struct artifact_saver *k, const char *text)
{
	return text ? arena_text(&k->arena, text) : NULL;
}

struct artifact_saver *artifact_saver_new(const struct artifact_saver_options *options)
{
	struct artifact_saver *k = calloc(1, sizeof(*k));

	if (!k)
		abort();
	k->options = (struct artifact_saver_options){
	        .api = options->api,
	        .project_id = copy_text(k, options->project_id),
	        .key_id = copy_text(k, options->key_id),
	        .sandbox_id = copy_text(k, options->sandbox_id),
	        .run = copy_text(k, options->run),
	        .root = copy_text(k, options->root),
	        .user = copy_text(k, options->user),
	};
	return k;
}

void artifact_saver_free(struct artifact_saver *k)
{
	if (!k)
		return;
	arena_done(&k->arena);
	free(k);
}

void artifact_saver_add(struct artifact_saver *k, const char *path)
{
	if (k->count < ARTIFACT_SAVER_MAX)
		k->paths[k->count++] = copy_text(k, path);
}

/* ---- on a worker ---- */

static int save_artifact(struct artifact_saver *k, const struct sandbox_record *sandbox,
                         const struct fleet_hold *hold, const char *path, int64_t deadline)
{
	AUTO(buf_done) struct buf json = BUF(JSON_SIZE_MAX);
	const struct fleet_artifact_keep keep = {
	        .sandbox = sandbox,
	        .hold = hold,
	        .project_id = k->options.project_id,
	        .key_id = k->options.key_id,
	        .run = k->options.run,
	        .root = k->options.root,
	        .path = path,
	        .user = k->options.user,
	        .process = (int64_t)k->process,
	        .deadline = deadline,
	};
	struct artifact_record made;
	struct error err = {0};

	if (fleet_artifact_keep(k->options.api->fleet, &k->arena, &keep, &made, &err) < 0) {
		log_warning("a command's file is not kept", TEXT("sandbox", sandbox->id),
		            TEXT("path", path), FAILURE(&err));
		return -1;
	}
	stored_artifact_write(&json, &k->arena, &made);
	k->json[k->kept++] = span_of(arena_copy(&k->arena, buf_span(&json)));
	return 0;
}

static void save_artifacts(struct artifact_saver *k)
{
	const struct fleet_ref ref = {k->options.project_id, k->options.sandbox_id, NULL};
	int64_t deadline = deadline_after(KEEP_MS);
	struct sandbox_record sandbox;
	struct fleet_hold hold;
	struct error err = {0};

	if (fleet_hold(k->options.api->fleet, &k->arena, &ref, &sandbox, &hold, &err) < 0) {
		log_warning("a command's files are not kept",
		            TEXT("sandbox", k->options.sandbox_id), FAILURE(&err));
		return;
	}
	for (size_t i = 0; i < k->count; i++)
		(void)save_artifact(k, &sandbox, &hold, k->paths[i], deadline);
	fleet_unhold(&hold);
}

static void run_saver(struct worker_task *task)
{
	struct artifact_saver *k = CONTAINER_OF(task, struct artifact_saver, task);

	save_artifacts(k);
	loop_post(k->options.api->loop, &k->done);
}

/* ---- on the loop ---- */

static void on_loop(struct loop_task *task)
{
	struct artifact_saver *k = CONTAINER_OF(task, struct artifact_saver, done);

	if (k->on_done)
		k->on_done(k->context);
	artifact_saver_free(k);
}

bool artifact_saver_start(struct artifact_saver *k, uint64_t process,
                          void (*on_done)(void *context), void *context)
{
	struct error err = {0};

	k->process = process;
	k->on_done = on_done;
	k->context = context;
	k->task = (struct worker_task){
	        .lane = WORKER_LONG,
	        .run = run_saver,
	        .shares = {[WORKER_PROJECT] = worker_share_id(k->options.project_id),
	                   [WORKER_SANDBOX] = worker_share_id(k->options.sandbox_id)}};
	k->done = (struct loop_task){.run = on_loop};
	if (k->count == 0)
		return false;
	if (worker_submit(k->options.api->workers, &k->task, &err) == 0)
		return true;
	log_warning("a command's files are not kept", TEXT("sandbox", k->options.sandbox_id),
	            FAILURE(&err));
	return false;
}

void artifact_saver_forget(struct artifact_saver *k)
{
	k->on_done = NULL;
}

struct span artifact_saver_json(const struct artifact_saver *k, size_t i)
{
	return i < k->kept ? k->json[i] : (struct span){NULL, 0};
}

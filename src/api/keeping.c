/* SPDX-License-Identifier: Apache-2.0 */
#include "api/keeping.h"

#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/stored_artifact.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "fleet/artifacts.h"

/* Of all of them; the call waits so long. */
#define KEEP_MS (5 * 60 * 1000)
#define JSON_SIZE_MAX ((size_t)64 * 1024)

struct keeping {
	struct worker_task task;
	struct loop_task done;
	struct arena arena;
	struct keeping_options options;
	const char *paths[KEEPING_MAX];
	struct span json[KEEPING_MAX];
	size_t count, kept;
	uint64_t process;
	void (*on_done)(void *context); /* NULL: nobody waits any more */
	void *context;
};

static const char *copy(struct keeping *k, const char *text)
{
	return text ? arena_text(&k->arena, text) : NULL;
}

struct keeping *keeping_new(const struct keeping_options *options)
{
	struct keeping *k = calloc(1, sizeof(*k));

	if (!k)
		abort();
	k->options = (struct keeping_options){
	        .api = options->api,
	        .project_id = copy(k, options->project_id),
	        .key_id = copy(k, options->key_id),
	        .sandbox_id = copy(k, options->sandbox_id),
	        .run = copy(k, options->run),
	        .root = copy(k, options->root),
	        .user = copy(k, options->user),
	};
	return k;
}

void keeping_free(struct keeping *k)
{
	if (!k)
		return;
	arena_done(&k->arena);
	free(k);
}

void keeping_add(struct keeping *k, const char *path)
{
	if (k->count < KEEPING_MAX)
		k->paths[k->count++] = copy(k, path);
}

/* ---- on a worker ---- */

static int keep_one(struct keeping *k, const struct sandbox_record *sandbox,
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

static void keep_all(struct keeping *k)
{
	const struct fleet_ref ref = {k->options.project_id, k->options.sandbox_id, NULL};
	int64_t deadline = deadline_in(KEEP_MS);
	struct sandbox_record sandbox;
	struct fleet_hold hold;
	struct error err = {0};

	if (fleet_hold(k->options.api->fleet, &k->arena, &ref, &sandbox, &hold, &err) < 0) {
		log_warning("a command's files are not kept",
		            TEXT("sandbox", k->options.sandbox_id), FAILURE(&err));
		return;
	}
	for (size_t i = 0; i < k->count; i++)
		(void)keep_one(k, &sandbox, &hold, k->paths[i], deadline);
	fleet_unhold(&hold);
}

static void run(struct worker_task *task)
{
	struct keeping *k = CONTAINER_OF(task, struct keeping, task);

	keep_all(k);
	loop_post(k->options.api->loop, &k->done);
}

/* ---- on the loop ---- */

static void on_loop(struct loop_task *task)
{
	struct keeping *k = CONTAINER_OF(task, struct keeping, done);

	if (k->on_done)
		k->on_done(k->context);
	keeping_free(k);
}

bool keeping_start(struct keeping *k, uint64_t process, void (*on_done)(void *context),
                   void *context)
{
	struct error err = {0};

	k->process = process;
	k->on_done = on_done;
	k->context = context;
	k->task = (struct worker_task){
	        .lane = WORKER_LONG,
	        .run = run,
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

void keeping_forget(struct keeping *k)
{
	k->on_done = NULL;
}

struct span keeping_json(const struct keeping *k, size_t i)
{
	return i < k->kept ? k->json[i] : (struct span){NULL, 0};
}

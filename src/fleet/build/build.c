/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/build/build.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/thread.h"
#include "config/config.h"
#include "fleet/build/build_sandbox.h"
#include "fleet/build/builds.h"
#include "fleet/core/elsewhere.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/sandboxes.h"
#include "fleet/core/template_cache.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/recovery/retention.h"
#include "fleet/template/import.h"
#include "fleet/template/layers.h"
#include "fleet/usage/storage_limit.h"
#include "provider/provider.h"

#define SPEC_MAX ((size_t)16 << 20)
#define CANCEL_MS 10000
#define REPLACED_MS 1000
#define KEPT_MS (30 * 24 * 3600 * INT64_C(1000))

struct builds_in_flight *builds_in_flight_new(void)
{
	struct builds_in_flight *builds = memory_new(sizeof(*builds));

	pthread_mutex_init(&builds->mutex, NULL);
	thread_condition_init(&builds->moved);
	list_init(&builds->live);
	return builds;
}

void builds_in_flight_free(struct builds_in_flight *builds)
{
	work_lane_free(builds->lane);
	map_done(&builds->claims);
	pthread_cond_destroy(&builds->moved);
	pthread_mutex_destroy(&builds->mutex);
	free(builds);
}

/* With the mutex. */
static struct build *find_live(struct builds_in_flight *builds, const char *id)
{
	LIST_EACH (&builds->live, struct build, b, link)
		if (strcmp(b->record.id, id) == 0)
			return b;
	return NULL;
}

bool build_is_cancelled(const struct build *b)
{
	return atomic_load(&b->is_cancelled);
}

int build_refuse_cancelled(const struct build *b, struct error *err)
{
	return FAIL(err, ERROR_UNAVAILABLE, "%s",
	            atomic_load(&b->fleet->builds->is_leaving) ? "the server was stopped"
	                                                       : "it was cancelled");
}

void build_write_record(struct build *b)
{
	struct error err = {0};

	if (store_build_update(b->fleet->store, &b->record, &err) < 0)
		log_warning("a build's progress is not written", TEXT("build", b->record.id),
		            FAILURE(&err));
}

static void free_build(struct build *b)
{
	fleet_build_log_close(b->log);
	auto_close(&b->cancel_fd);
	arena_done(&b->arena);
	free(b);
}

/* `why` NULL: the build has succeeded. */
static void end_build(struct build *b, const struct error *why)
{
	struct builds_in_flight *builds = b->fleet->builds;
	struct build_record *r = &b->record;

	r->ended_at = clock_unix_ms();
	if (!why) {
		r->state = BUILD_READY;
		build_log_say(b, "template '%s' is ready", r->name);
	} else {
		r->state = build_is_cancelled(b) && !atomic_load(&builds->is_leaving)
		                   ? BUILD_CANCELLED
		                   : BUILD_ERROR;
		r->message = arena_text(&b->arena, why->text);
		build_log_say(b, "%s: %s", build_state_name(r->state), why->text);
		if (*why->hint)
			build_log_say(b, "hint: %s", why->hint);
	}
	build_log_store(b, true);
	fault_point("api", "build-ended");
	build_write_record(b);
	build_log_end(b->log);
	pthread_mutex_lock(&builds->mutex);
	list_remove(&b->link);
	pthread_cond_broadcast(&builds->moved);
	pthread_mutex_unlock(&builds->mutex);
}

/* A create that has read the old row has used the layer a second later. */
static void release_replaced(struct build *b)
{
	if (!b->replaced || strcmp(b->replaced, b->path.layer) == 0)
		return;
	(void)!build_wait_until(b, -1, deadline_after(REPLACED_MS), &(struct error){0});
	layer_release(b->fleet, b->replaced);
}

static void run_build(struct build *b)
{
	int64_t timeout_ms = b->spec.timeout_ms > 0 ? b->spec.timeout_ms : BUILD_TIMEOUT_MS;
	struct error err = {0};
	int result;

	b->deadline = deadline_after(timeout_ms);
	b->record.state = BUILD_BUILDING;
	b->record.started_at = clock_unix_ms();
	build_write_record(b);
	result = build_is_cancelled(b) ? build_refuse_cancelled(b, &err) : build_run(b, &err);
	build_drop_stages(b);
	if (result < 0)
		log_info("build failed", TEXT("build", b->record.id), FAILURE(&err));
	else
		log_info("build is ready", TEXT("build", b->record.id),
		         TEXT("template", b->record.name));
	end_build(b, result < 0 ? &err : NULL);
	release_replaced(b);
	layers_trim(b->fleet);
}

/* False: the build was cancelled before its thread began. */
static bool take_turn(struct build *b)
{
	struct builds_in_flight *builds = b->fleet->builds;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&builds->mutex);
	bool is_ours = !b->is_taken;

	b->is_taken = true;
	while (!is_ours && find_live(builds, b->record.id))
		pthread_cond_wait(&builds->moved, &builds->mutex);
	return is_ours;
}

static void on_turn(struct work_lane_task *task)
{
	struct build *b = CONTAINER_OF(task, struct build, task);

	if (take_turn(b))
		run_build(b);
	free_build(b);
}

/* Copies the spec through its text, so that nothing is borrowed. */
static int copy_spec(struct build *b, const struct build_spec *spec, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(SPEC_MAX);

	json_write(&text, &build_spec_shape, spec);
	if (text.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the steps are larger than %zu bytes", SPEC_MAX);
	return json_parse(&b->arena, buf_span(&text), &build_spec_shape, &b->spec, err);
}

static int64_t count_steps(const struct build_spec *spec)
{
	const struct build_stage *stages = spec->stages.items;
	int64_t count = (int64_t)spec->steps.count;

	for (size_t i = 0; i < spec->stages.count; i++)
		count += (int64_t)stages[i].steps.count;
	return count;
}

static int build_new(struct fleet *f, const struct fleet_build *request, struct build **ret,
                     struct error *err)
{
	struct build *b = memory_new(sizeof(*b));
	struct id id = id_new();

	if (request->id)
		memcpy(id.text, request->id, ID_SIZE);
	list_init(&b->link);
	b->fleet = f;
	b->log = build_log_new();
	b->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	b->task = (struct work_lane_task){.run = on_turn};
	if (b->cancel_fd < 0 ? FAIL_ERRNO(err, "make an event") < 0
	                     : copy_spec(b, request->spec, err) < 0) {
		free_build(b);
		return -1;
	}
	b->record = (struct build_record){
	        .id = arena_text(&b->arena, id.text),
	        .project_id = arena_text(&b->arena, request->project_id),
	        .key_id = arena_text(&b->arena, request->key_id ? request->key_id : ""),
	        .name = b->spec.name,
	        .source = b->spec.from,
	        .template_id = "",
	        .state = BUILD_WAITING,
	        .step_count = count_steps(&b->spec),
	        .exit_code = -1,
	        .message = "",
	        .sandbox_id = "",
	        .node = f->node,
	        .created_at = clock_unix_ms(),
	};
	*ret = b;
	return 0;
}

/* With the mutex. Not the lane of first builds, for which builds by steps wait. */
static int open_lane(struct fleet *f, struct error *err)
{
	const struct work_lane_options options = {
	        .at_once = (unsigned)f->config->builds_max,
	        .waiting_max = BUILD_WAITING_MAX,
	        .waiting_project_max = BUILD_WAITING_MAX / 2,
	        .what = "builds by steps",
	};

	if (atomic_load(&f->builds->is_leaving))
		return FAIL(err, ERROR_UNAVAILABLE, "the server is being stopped");
	if (!f->builds->lane)
		f->builds->lane = work_lane_new(&options);
	return 0;
}

static int queue_build(struct build *b, struct build_record *ret, struct error *err)
{
	struct builds_in_flight *builds = b->fleet->builds;
	int result;

	pthread_mutex_lock(&builds->mutex);
	result = open_lane(b->fleet, err);
	if (result == 0)
		list_append(&builds->live, &b->link);
	pthread_mutex_unlock(&builds->mutex);
	if (result == 0)
		result = store_build_insert(b->fleet->store, &b->record, err);
	if (result < 0) {
		pthread_mutex_lock(&builds->mutex);
		list_remove(&b->link);
		pthread_mutex_unlock(&builds->mutex);
		free_build(b);
		return -1;
	}
	*ret = b->record;
	if (work_lane_submit(builds->lane, &b->task, b->record.project_id, err) == 0)
		return 0;
	if (take_turn(b))
		end_build(b, err);
	free_build(b);
	return -1;
}

static int check_provider(struct fleet *f, struct error *err)
{
	static const enum provider_ability needed[] = {PROVIDER_CAN_BUILD, PROVIDER_CAN_EXEC,
	                                               PROVIDER_CAN_FILES, PROVIDER_CAN_STOP};

	for (size_t i = 0; i < COUNT_OF(needed); i++)
		if (provider_require(f->provider, needed[i], err) < 0)
			return -1;
	return 0;
}

/* A missing source may be imported when the build starts. */
static int check_source(struct fleet *f, struct arena *a, const char *project_id,
                        const struct build_stage *stage, struct error *err)
{
	const struct fleet_ref from = {project_id, stage->from};
	const char *image = stage->image;
	struct template_record source;

	if (template_find(f, a, &from, &source, err) == 0)
		return image && *image ? fleet_template_check_image(&source, image, err) : 0;
	if (err->code != ERROR_NOT_FOUND || !image || !*image)
		return -1;
	error_clear(err);
	return 0;
}

static bool is_stage(const struct build_spec *spec, size_t count, const char *name)
{
	const struct build_stage *stages = spec->stages.items;

	for (size_t i = 0; i < count; i++)
		if (strcmp(stages[i].name, name) == 0)
			return true;
	return false;
}

static int check_sources(struct fleet *f, struct arena *a, const struct fleet_build *request,
                         struct error *err)
{
	const struct build_spec *spec = request->spec;
	const struct build_stage *stages = spec->stages.items;
	const struct build_stage last = {.from = spec->from, .image = spec->image};

	for (size_t i = 0; i < spec->stages.count; i++)
		if (!is_stage(spec, i, stages[i].from) &&
		    check_source(f, a, request->project_id, &stages[i], err) < 0)
			return -1;
	return is_stage(spec, spec->stages.count, last.from)
	               ? 0
	               : check_source(f, a, request->project_id, &last, err);
}

int fleet_build_start(struct fleet *fleet, struct arena *a, const struct fleet_build *request,
                      struct build_record *ret, struct error *err)
{
	const struct storage_claim claim = {request->project_id, "", 0};
	struct build_spec spec = *request->spec;
	struct fleet_build named = *request;
	struct build_record record;
	struct build *b;
	int64_t room;

	build_name_images(a, &spec);
	named.spec = &spec;
	if (check_provider(fleet, err) < 0 || storage_room(fleet, &claim, &room, err) < 0 ||
	    build_spec_check(fleet, &spec, err) < 0 || check_sources(fleet, a, &named, err) < 0 ||
	    build_new(fleet, &named, &b, err) < 0)
		return -1;
	/* Once queued, the build belongs to its thread. */
	const char *id = arena_text(a, b->record.id);

	if (queue_build(b, &record, err) < 0)
		return -1;
	return store_build_find(fleet->store, a, request->project_id, id, ret, err);
}

int fleet_build_find(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                     struct build_record *ret, struct error *err)
{
	return store_build_find(fleet->store, a, ref->project_id, ref->id_or_name, ret, err);
}

struct build_log *fleet_build_log_open(struct fleet *fleet, const char *id)
{
	struct builds_in_flight *builds = fleet->builds;
	struct build_log *log = NULL;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&builds->mutex);
	struct build *b = find_live(builds, id);

	if (b)
		log = build_log_ref(b->log);
	return log;
}

/* With the mutex. True: the build has not started, and the caller must end it. */
static bool mark_cancelled(struct builds_in_flight *builds, struct build *b)
{
	bool is_ours = !b->is_taken;

	b->is_taken = true;
	atomic_store(&b->is_cancelled, true);
	(void)eventfd_write(b->cancel_fd, 1);
	pthread_cond_broadcast(&builds->moved);
	return is_ours;
}

static void end_cancelled(struct build *b)
{
	struct error why = {0};

	(void)build_refuse_cancelled(b, &why);
	end_build(b, &why);
}

/* Returns when the build has ended, or after CANCEL_MS. */
static void cancel_live(struct builds_in_flight *builds, const char *id)
{
	int64_t deadline = deadline_after(CANCEL_MS);
	struct build *b, *ours = NULL;

	pthread_mutex_lock(&builds->mutex);
	b = find_live(builds, id);
	if (b && mark_cancelled(builds, b))
		ours = b;
	while (!ours && find_live(builds, id) && clock_monotonic_ms() < deadline)
		thread_wait(&builds->moved, &builds->mutex, deadline);
	pthread_mutex_unlock(&builds->mutex);
	if (ours)
		end_cancelled(ours);
}

int fleet_build_cancel(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                       struct build_record *ret, struct error *err)
{
	if (fleet_build_find(fleet, a, ref, ret, err) < 0)
		return -1;
	if (build_has_ended(ret->state))
		return 0;
	if (strcmp(ret->node, fleet->node) != 0)
		return elsewhere_fail(fleet, &(struct elsewhere){"build", ret->id, "is", ret->node},
		                      err);
	cancel_live(fleet->builds, ret->id);
	return fleet_build_find(fleet, a, ref, ret, err);
}

int fleet_build_remove(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                       struct error *err)
{
	struct build_record r;

	if (fleet_build_cancel(fleet, a, ref, &r, err) < 0)
		return -1;
	return store_build_remove(fleet->store, r.project_id, r.id, err);
}

/* The next build to end: of the project, or any. */
static const char *next_live(struct builds_in_flight *builds, struct arena *a,
                             const char *project_id)
{
	const char *id = NULL;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&builds->mutex);

	LIST_EACH (&builds->live, const struct build, b, link) {
		if (!build_is_cancelled(b) &&
		    (!project_id || strcmp(b->record.project_id, project_id) == 0)) {
			id = arena_text(a, b->record.id);
			break;
		}
	}
	return id;
}

int builds_end(struct fleet *f, const char *project_id, UNUSED struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const char *id;

	while ((id = next_live(f->builds, &arena, project_id)))
		cancel_live(f->builds, id);
	return 0;
}

void builds_leave(struct fleet *f)
{
	struct builds_in_flight *builds = f->builds;

	atomic_store(&builds->is_leaving, true);
	(void)!builds_end(f, NULL, &(struct error){0});
	work_lane_free(TAKE(builds->lane));
}

static bool is_live(struct builds_in_flight *builds, const char *id)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&builds->mutex);

	return find_live(builds, id) != NULL;
}

static int fail_interrupted(struct fleet *f, struct arena *a, struct build_record *r,
                            struct error *err)
{
	const struct fleet_ref box = {r->project_id, r->sandbox_id};

	if (*r->sandbox_id && fleet_delete(f, a, &box, SANDBOX_REASON_ERROR, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return FAIL_CONTEXT(err, "delete the sandbox of build '%s'", r->id);
		error_clear(err);
	}
	r->sandbox_id = "";
	r->state = BUILD_ERROR;
	r->message = "the server went away, or was started again, during the build";
	r->ended_at = clock_unix_ms();
	return store_build_update(f->store, r, err);
}

int builds_recover(struct fleet *f, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct build_list list;

	if (store_build_list_unfinished(f->store, &arena, f->node, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++) {
		struct error failure = {0};

		if (is_live(f->builds, list.items[i].id))
			continue;
		/* ERROR_CONFLICT: the build has ended meanwhile. */
		if (fail_interrupted(f, &arena, &list.items[i], &failure) < 0 &&
		    failure.code != ERROR_CONFLICT)
			log_warning("a build is not settled", TEXT("build", list.items[i].id),
			            FAILURE(&failure));
	}
	return 0;
}

void builds_tick(struct fleet *f)
{
	struct error err = {0};

	if (builds_recover(f, &err) < 0 ||
	    store_build_purge(f->store, fleet_retention_ms(f) - KEPT_MS, &err) < 0)
		log_warning("builds are not looked after", FAILURE(&err));
	build_files_tidy(f);
	build_caches_tidy(f);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/template/templates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/fault.h"
#include "base/fd.h"
#include "config/config.h"
#include "fleet/core/background_work.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/template_waiters.h"
#include "fleet/core/waiting.h"
#include "fleet/core/work_lane.h"
#include "fleet/recovery/notes.h"
#include "fleet/template/layers.h"
#include "fleet/template/image_parts.h"
#include "fleet/template/recipe.h"
#include "fleet/template/template_growth.h"
#include "provider/provider.h"
#include "provider/templates.h"

/* A failed build is not retried at once by each caller. */
#define RETRY_AFTER_MS 10000
/* Poll interval for builds of other servers, which are not announced. */
#define OTHERS_EVERY_MS 1000
/* Progress is written no oftener. */
#define PROGRESS_EVERY_MS 500

/* Waiters for this template look at it again. */
static void announce_change(struct fleet *f, const char *id)
{
	templates_changed(f);
	awaited_announce(f, id);
	template_waiters_wake(f, id);
}

static int move_template(struct fleet *f, const struct template_move *m, struct error *err)
{
	if (store_template_move(f->store, m, err) < 0)
		return -1;
	announce_change(f, m->id);
	return 0;
}

static const char *ports_to_json(struct arena *a, const int *ports)
{
	AUTO(buf_done) struct buf text = BUF(4096);

	buf_add_byte(&text, '[');
	for (const int *port = ports; *port; port++)
		buf_addf(&text, "%s%d", port == ports ? "" : ",", *port);
	buf_add_byte(&text, ']');
	return arena_copy(a, buf_span(&text));
}

const char *templates_dir(const struct fleet *f, struct arena *a)
{
	return arena_format(a, "%s/%s", f->config->data_dir,
	                    f->ops->templates ? f->ops->templates : "templates");
}

/* A folder is whole or absent: a folder with a description needs no build. */
static bool is_built(const struct fleet *f, struct arena *a, const char *folder,
                     struct image_config *ret)
{
	struct error err = {0};

	return image_config_load(a, templates_dir(f, a), folder, ret, &err) == 0;
}

static int seed_template(struct fleet *f, const struct image_seed *s, unsigned *added,
                         struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct id id = id_new();
	int64_t now = clock_unix_ms();
	struct image_config built = {0};
	struct template_record t = {
	        .id = id.text,
	        .project_id = "",
	        .name = s->name,
	        .folder = s->name,
	        .base_image = s->recipe,
	        .runtime = s->runtime,
	        .description = s->description,
	        .ports_json = ports_to_json(&arena, s->ports),
	        .user = s->user,
	        .workdir = s->workdir,
	        .created_at = now,
	        .updated_at = now,
	};
	struct template_record found;

	if (store_template_find(f->store, &arena, "", s->name, &found, err) == 0)
		return 0;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	if (!*s->recipe || is_built(f, &arena, s->name, &built))
		t.state = TEMPLATE_READY;
	t.size_bytes = built.size_bytes;
	t.env_json = built.env_json;
	if (store_template_insert(f->store, &t, err) == 0) {
		++*added;
		return 0;
	}
	/* Another server has started at the same moment. */
	if (err->code != ERROR_CONFLICT)
		return -1;
	error_clear(err);
	return 0;
}

int fleet_templates_seed(struct fleet *fleet, unsigned *ret_added, struct error *err)
{
	unsigned added = 0;

	for (const struct image_seed *s = image_seeds; s->name; s++)
		if (seed_template(fleet, s, &added, err) < 0)
			return FAIL_CONTEXT(err, "seed template '%s'", s->name);
	templates_changed(fleet);
	*ret_added = added;
	return 0;
}

static bool is_seed(const struct template_record *t)
{
	if (*t->project_id)
		return false;
	for (const struct image_seed *s = image_seeds; s->name; s++)
		if (strcmp(s->name, t->name) == 0)
			return true;
	return false;
}

/* Its first use makes it, and a later use tries again after a failure. */
static bool is_made_by_use(const struct template_record *t)
{
	return t->is_pulled || is_seed(t);
}

/* An interrupted build restarts on the next use; an import cannot, because its source is gone. */
int templates_recover(struct fleet *f, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct template_list list;

	if (store_template_list(f->store, &arena, NULL, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++) {
		const struct template_record *t = &list.items[i];
		const struct template_move m = {
		        .id = t->id,
		        .from = TEMPLATE_BUILDING,
		        .to = is_made_by_use(t) ? TEMPLATE_PENDING : TEMPLATE_FAILED,
		        .state_text = "interrupted: the server went away",
		        .now = clock_unix_ms(),
		};

		if (t->state == TEMPLATE_BUILDING && (!*t->node || strcmp(t->node, f->node) == 0) &&
		    move_template(f, &m, err) < 0)
			return -1;
	}
	return 0;
}

struct import_progress {
	struct fleet *fleet;
	const char *id;
	int64_t told_at; /* monotonic */
	struct template_growth growth;
};

static void on_progress(void *context, int percent, const char *text)
{
	struct import_progress *p = context;
	int64_t now = clock_monotonic_ms();
	AUTO(arena_done) struct arena arena = {0};
	struct template_move m = {.id = p->id, .from = TEMPLATE_BUILDING, .to = TEMPLATE_BUILDING};
	struct error err = {0};

	if (now - p->told_at < PROGRESS_EVERY_MS)
		return;
	p->told_at = now;
	m.state_text = arena_format(&arena, "%d %% %s", percent, text);
	m.now = clock_unix_ms();
	if (store_template_move(p->fleet->store, &m, &err) < 0)
		log_debug("progress is not written", TEXT("template", p->id), FAILURE(&err));
}

static void on_size(void *context, int64_t bytes)
{
	template_growth_update(&((struct import_progress *)context)->growth, bytes);
}

static bool is_given_up(void *context)
{
	return ((struct import_progress *)context)->growth.is_exceeded;
}

static int run_template_work(struct fleet *f, const struct template_record *t,
                             const struct provider_template *work, int64_t deadline,
                             struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct import_progress progress = {.fleet = f, .id = t->id};
	struct provider_template request = *work;
	struct image_config built;

	if (template_growth_begin(&progress.growth, f, t, &request.size_max, err) < 0)
		return -1;
	request.name = t->folder;
	request.on_progress = on_progress;
	request.on_size = on_size;
	request.is_given_up = is_given_up;
	request.context = &progress;
	if (provider_require(f->provider, PROVIDER_CAN_TEMPLATE, err) < 0)
		return -1;
	if (provider_template(f->provider, &request, deadline, err) == 0)
		return 0;
	template_growth_explain(&progress.growth, err);
	/* Built already, by a server that could not tell the store any more. */
	if (err->code == ERROR_CONFLICT && is_built(f, &arena, t->folder, &built)) {
		error_clear(err);
		return 0;
	}
	return -1;
}

static void take_image_config(struct template_record *t, const struct image_config *built)
{
	t->env_json = built->env_json;
	t->entrypoint_json = built->entrypoint_json;
	t->ports_json = built->ports_json;
	t->user = built->user;
	t->workdir = built->workdir;
	t->size_bytes = built->size_bytes;
}

/* BUILDING -> READY, with what the image says of itself and the recipe, if any, over it. */
static int finish_template(struct fleet *f, struct arena *a, struct template_record *t,
                           const struct fleet_recipe *recipe, struct error *err)
{
	struct image_config built = {0};
	struct template_move ready = {.id = t->id,
	                              .from = TEMPLATE_BUILDING,
	                              .to = TEMPLATE_READY,
	                              .state_text = "",
	                              .now = clock_unix_ms()};
	/* A provider whose templates are only names leaves no folder. */
	bool has_folder = is_built(f, a, t->folder, &built);

	if (is_seed(t) && has_folder)
		t->env_json = built.env_json;
	else if (has_folder)
		take_image_config(t, &built);
	if (!is_seed(t) && template_growth_finish(f, t, err) < 0)
		return -1;
	if (recipe)
		recipe_apply(a, recipe, t);
	t->updated_at = ready.now;
	if (store_template_update(f->store, t, err) < 0)
		return -1;
	ready.size_bytes = built.size_bytes;
	if (move_template(f, &ready, err) < 0)
		return -1;
	t->state = TEMPLATE_READY;
	t->state_text = "";
	t->size_bytes = ready.size_bytes;
	return 0;
}

/* The template whose root filesystem this one starts from. */
static int build_below(struct fleet *f, struct arena *a, const struct template_record *t,
                       int64_t deadline, struct error *err)
{
	const char *from = image_recipe_from(t->base_image);
	struct template_move waits = {
	        .id = t->id, .from = TEMPLATE_BUILDING, .to = TEMPLATE_BUILDING};
	struct template_record below;

	if (!from)
		return 0;
	waits.state_text = arena_format(a, "0 %% template '%s' is built first", from);
	waits.now = clock_unix_ms();
	if (store_template_find(f->store, a, "", from, &below, err) < 0 ||
	    (below.state != TEMPLATE_READY && move_template(f, &waits, err) < 0))
		return -1;
	return fleet_template_ready(f, a, &below, deadline, err);
}

/* The code in a line, then the hint. */
static const char *format_failure(struct arena *a, const struct error *err)
{
	return arena_format(a, "%s\n%s", error_kind_get(err->code)->name, err->hint);
}

/* Fails as the pull did. */
static int fail_as_pull(const struct template_record *t, struct error *err)
{
	struct span hint = span_of(t->failure), code;
	char name[32];

	(void)span_split(&hint, '\n', &code);
	(void)snprintf(name, sizeof(name), "%.*s", (int)code.size, code.data);
	(void)FAIL(err, error_code_parse(name), "%s", t->state_text);
	return hint.size > 0 ? FAIL_HINT(err, "%.*s", (int)hint.size, hint.data) : -1;
}

/* Removes what a failed import left. */
static int forget_folder(struct fleet *f, struct arena *a, const struct template_record *t,
                         struct error *err)
{
	const struct provider_template work = {
	        .verb = PROVIDER_TEMPLATE_REMOVE, .name = t->folder, .source_fd = -1};
	struct image_config built;

	if (!is_built(f, a, t->folder, &built))
		return 0;
	if (provider_template(f->provider, &work, deadline_after(CALL_TIMEOUT_MS), err) < 0)
		return -1;
	template_files_gone(f, t->folder);
	return 0;
}

static int make_root(struct fleet *f, struct arena *a, struct template_record *t, int64_t deadline,
                     struct error *err)
{
	const struct provider_template pull = {
	        .verb = PROVIDER_TEMPLATE_IMPORT,
	        .recipe = image_format_name(IMAGE_REGISTRY),
	        .source = t->base_image,
	        .known_digest = image_is_successor(t) ? image_known_digest(f, a, t) : NULL,
	        .source_fd = -1,
	};
	const struct provider_template build = {
	        .verb = PROVIDER_TEMPLATE_BUILD, .recipe = t->base_image, .source_fd = -1};

	if (t->is_pulled)
		return run_template_work(f, t, &pull, deadline, err);
	if (build_below(f, a, t, deadline, err) < 0)
		return -1;
	return run_template_work(f, t, &build, deadline, err);
}

/* This thread has moved it to BUILDING. */
static int build_template(struct fleet *f, struct arena *a, struct template_record *t,
                          int64_t deadline, struct error *err)
{
	struct template_move failed = {
	        .id = t->id, .from = TEMPLATE_BUILDING, .to = TEMPLATE_FAILED};
	struct error second = {0};
	struct image_config built;

	log_info(t->is_pulled ? "image is being pulled" : "template is being built",
	         TEXT("template", t->name), TEXT("from", t->base_image));
	fault_point("api", "template-claimed");
	if (make_root(f, a, t, deadline, err) == 0) {
		fault_point("api", "template-unpacked");
		if (image_is_successor(t) && !is_built(f, a, t->folder, &built))
			return image_keep_old(f, a, t, err);
		if (finish_template(f, a, t, NULL, err) == 0)
			return image_is_successor(t) ? image_take_name(f, a, t, err) : 0;
	}
	if (t->is_pulled)
		error_context(err, "pull image '%.200s'", t->base_image);
	else
		error_context(err, "build template '%s'", t->name);
	failed.state_text = err->text;
	failed.failure = format_failure(a, err);
	failed.now = clock_unix_ms();
	if (t->is_pulled && forget_folder(f, a, t, &second) < 0)
		log_warning("the root of a failed pull is left", TEXT("template", t->id),
		            FAILURE(&second));
	error_clear(&second);
	if (move_template(f, &failed, &second) < 0)
		log_warning("a failed build is not marked yet", TEXT("template", t->id),
		            FAILURE(&second));
	return -1;
}

/* Refuses a template that nothing builds: a failed import, or a build that has just failed. The
 * next use of an image pulls it again; a caller that has waited gets the failure of that pull. */
static int check_buildable(const struct template_record *t, bool has_waited, struct error *err)
{
	bool has_failed = t->state == TEMPLATE_FAILED;

	if (t->is_pulled)
		return has_failed && has_waited ? fail_as_pull(t, err) : 0;
	if (is_seed(t) && (!has_failed || clock_unix_ms() - t->updated_at >= RETRY_AFTER_MS))
		return 0;
	return FAIL(err, ERROR_UNAVAILABLE, "template '%s' is of no use: %s", t->name,
	            t->state_text);
}

/* 1: this thread builds it; 0: another thread does; -1: the template is unusable. */
static int claim_template(struct fleet *f, const struct template_record *t, bool has_waited,
                          struct error *err)
{
	const struct template_move building = {.id = t->id,
	                                       .from = t->state,
	                                       .to = TEMPLATE_BUILDING,
	                                       .state_text = "0 % begins",
	                                       .now = clock_unix_ms(),
	                                       .node = f->node};

	if (t->state == TEMPLATE_BUILDING)
		return 0;
	if (check_buildable(t, has_waited, err) < 0)
		return -1;
	if (move_template(f, &building, err) == 0)
		return 1;
	if (err->code != ERROR_CONFLICT)
		return -1;
	error_clear(err);
	return 0;
}

static int64_t earlier_deadline(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int fleet_template_ready(struct fleet *fleet, struct arena *a, struct template_record *t,
                         int64_t deadline, struct error *err)
{
	bool has_waited = false;

	while (t->state != TEMPLATE_READY) {
		uint64_t generation = template_cache_generation(fleet->templates);
		int claimed;

		/* As it is now: what the caller has may be old. */
		if (store_template_find(fleet->store, a, t->project_id, t->id, t, err) < 0)
			return -1;
		if (t->state == TEMPLATE_READY)
			break;
		claimed = claim_template(fleet, t, has_waited, err);
		if (claimed < 0)
			return -1;
		if (claimed > 0)
			return build_template(fleet, a, t, deadline, err);
		has_waited = true;
		if (!template_cache_wait(
		            fleet->templates, generation,
		            earlier_deadline(deadline, deadline_after(OTHERS_EVERY_MS))) &&
		    clock_monotonic_ms() >= deadline)
			return FAIL(err, ERROR_TIMEOUT, "template '%s' is still being built: %s",
			            t->name, t->state_text);
	}
	return 0;
}

/* Of the fleet's list while it is queued or runs. */
struct first_build {
	struct work_lane_task task;
	struct list item;
	struct fleet *fleet;
	char id[ID_SIZE + 1];
};

/* With the waiters' mutex held. */
static bool is_queued(struct fleet *f, const char *id)
{
	LIST_EACH (&f->background->first_builds, const struct first_build, build, item)
		if (strcmp(build->id, id) == 0)
			return true;
	return false;
}

static void first_build_free(struct first_build *b)
{
	pthread_mutex_lock(&b->fleet->background->mutex);
	list_remove(&b->item);
	pthread_mutex_unlock(&b->fleet->background->mutex);
	free(b);
}

static void run_first_build(struct work_lane_task *task)
{
	struct first_build *b = CONTAINER_OF(task, struct first_build, task);
	AUTO(arena_done) struct arena arena = {0};
	struct template_record t;
	struct error err = {0};
	int claimed;

	if (store_template_find(b->fleet->store, &arena, NULL, b->id, &t, &err) == 0 &&
	    t.state != TEMPLATE_READY) {
		claimed = claim_template(b->fleet, &t, false, &err);
		if (claimed > 0)
			claimed = build_template(b->fleet, &arena, &t,
			                         deadline_after(TEMPLATE_TIMEOUT_MS), &err);
		if (claimed < 0)
			log_warning("template is not built", TEXT("template", t.name),
			            FAILURE(&err));
	}
	announce_change(b->fleet, b->id);
	first_build_free(b);
}

static int queue_first_build(struct fleet *f, const struct template_record *t,
                             const char *project_id, struct error *err)
{
	struct first_build *b = memory_new(sizeof(*b));
	bool is_first;

	*b = (struct first_build){.task = {.run = run_first_build}, .fleet = f};
	list_init(&b->item);
	memcpy(b->id, t->id, strnlen(t->id, ID_SIZE));
	pthread_mutex_lock(&f->background->mutex);
	is_first = !is_queued(f, b->id);
	if (is_first)
		list_append(&f->background->first_builds, &b->item);
	pthread_mutex_unlock(&f->background->mutex);
	if (is_first && work_lane_submit(fleet_work(f), &b->task, project_id, err) == 0)
		return 0;
	first_build_free(b);
	return is_first ? -1 : 0;
}

/* "34 % unpacks" begins with a number of percent. */
static int percent_of(const char *state_text)
{
	int percent;

	return sscanf(state_text, "%d %%", &percent) == 1 && percent >= 0 && percent <= 100
	               ? percent
	               : -1;
}

static int fail_awaiting(const struct template_record *t, struct error *err)
{
	bool is_building = t->state == TEMPLATE_BUILDING;

	(void)FAIL(err, ERROR_UNAVAILABLE,
	           t->is_pulled ? "image '%.200s' is being pulled: %s"
	                        : "template '%s' is being built: %s",
	           t->is_pulled ? t->base_image : t->name,
	           is_building ? t->state_text : "waits for its turn");
	error_hint(err, "ask again when it is ready: GET /api/sandbox/templates/%s", t->name);
	error_await(err, t->id, OTHERS_EVERY_MS, is_building ? percent_of(t->state_text) : -1);
	return -1;
}

static bool was_awaited(const struct template_record *t, const struct fleet_awaited *awaited)
{
	return awaited && awaited->key && strcmp(awaited->key, t->id) == 0;
}

int fleet_template_require(struct fleet *fleet, struct arena *a, struct template_record *t,
                           const struct template_need *need, struct error *err)
{
	if (t->state == TEMPLATE_READY)
		return 0;
	/* As it is now: what the caller has may be old. */
	if (store_template_find(fleet->store, a, t->project_id, t->id, t, err) < 0)
		return -1;
	if (t->state == TEMPLATE_READY)
		return 0;
	if (t->state != TEMPLATE_BUILDING &&
	    (check_buildable(t, was_awaited(t, need->awaited), err) < 0 ||
	     queue_first_build(fleet, t, need->project_id, err) < 0))
		return -1;
	return fail_awaiting(t, err);
}

static int check_import(const struct fleet_import *request, struct error *err)
{
	if (image_name_check(request->name, err) < 0)
		return -1;
	if (request->login && image_login_check(request->login, err) < 0)
		return FAIL_CONTEXT(err, "login");
	if (request->format == IMAGE_REGISTRY)
		return image_reference_check(request->reference ? request->reference : "", err);
	if (request->source_fd < 0)
		return FAIL(err, ERROR_INVALID, "an import of '%s' needs a file",
		            image_format_name(request->format));
	return 0;
}

/* The folder is the id: names are a project's own, folders are everybody's. */
static struct template_record import_record(const struct fleet *f, struct arena *a,
                                            const struct fleet_import *request)
{
	struct id id = id_new();
	int64_t now = clock_unix_ms();
	bool is_remote = request->format == IMAGE_REGISTRY;

	return (struct template_record){
	        .id = arena_text(a, id.text),
	        .project_id = request->project_id,
	        .name = request->name,
	        .folder = arena_text(a, id.text),
	        .base_image = is_remote ? request->reference : image_format_name(request->format),
	        .runtime = "image",
	        .description = request->description ? request->description : "",
	        .user = "",
	        .workdir = "",
	        .state = TEMPLATE_BUILDING,
	        .state_text = "0 % begins",
	        .node = f->node,
	        .created_at = now,
	        .updated_at = now,
	};
}

/* In memory alone, for as long as the image is fetched. */
static int open_login(const struct fleet_import *request, int *ret_fd, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(IMAGE_LOGIN_MAX);
	AUTO_CLOSE int fd = -1;

	if (request->format != IMAGE_REGISTRY || !request->login)
		return 0;
	fd = memfd_create("login", MFD_CLOEXEC);
	if (fd < 0)
		return FAIL_ERRNO(err, "make a file in memory");
	image_login_write(request->login, request->reference, &text);
	int result = fd_write_all(fd, text.data, text.size, err);
	explicit_bzero(text.data, text.size);
	if (result < 0)
		return -1;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* The caller gets the error; files and row are removed. The row is last: while it exists, the rest
 * is found again. */
static void forget_import(struct fleet *f, struct arena *a, const struct template_record *t)
{
	struct error err = {0};

	if (forget_folder(f, a, t, &err) < 0 ||
	    store_template_remove(f->store, t->project_id, t->id, &err) < 0)
		log_warning("a failed import is left", TEXT("template", t->id), FAILURE(&err));
	announce_change(f, t->id);
}

/* Takes the name of a pull that has failed. */
static int insert_import(struct fleet *f, struct arena *a, const struct template_record *t,
                         struct error *err)
{
	struct template_record old;
	struct error second = {0};

	if (store_template_insert(f->store, t, err) == 0)
		return 0;
	if (err->code != ERROR_CONFLICT ||
	    store_template_find(f->store, a, t->project_id, t->name, &old, &second) < 0 ||
	    !old.is_pulled || old.state != TEMPLATE_FAILED ||
	    fleet_template_remove(f, t->project_id, old.id, &second) < 0)
		return -1;
	error_clear(err);
	return store_template_insert(f->store, t, err);
}

int fleet_template_import(struct fleet *fleet, struct arena *a, const struct fleet_import *request,
                          struct template_record *ret, struct error *err)
{
	bool is_remote = request->format == IMAGE_REGISTRY;
	AUTO_CLOSE int login = -1;
	struct provider_template work = {
	        .verb = PROVIDER_TEMPLATE_IMPORT,
	        .recipe = image_format_name(request->format),
	        .source = is_remote ? request->reference : NULL,
	};
	struct template_record t;

	if (check_import(request, err) < 0 ||
	    (request->recipe && fleet_recipe_check(fleet, request->recipe, err) < 0) ||
	    open_login(request, &login, err) < 0)
		return -1;
	work.source_fd = is_remote ? login : request->source_fd;
	t = import_record(fleet, a, request);
	if (insert_import(fleet, a, &t, err) < 0)
		return -1;
	fault_point("api", "import-recorded");
	if (run_template_work(fleet, &t, &work, deadline_after(TEMPLATE_TIMEOUT_MS), err) == 0 &&
	    finish_template(fleet, a, &t, request->recipe, err) == 0)
		return store_template_find(fleet->store, a, t.project_id, t.id, ret, err);
	forget_import(fleet, a, &t);
	return FAIL_CONTEXT(err, "import template '%s'", request->name);
}

/* Layers that only the cache of builds still uses do not block the removal. */
static int remove_row(struct fleet *f, const struct template_record *t, struct error *err)
{
	if (store_template_remove(f->store, t->project_id, t->id, err) == 0)
		return 0;
	if (err->code != ERROR_CONFLICT)
		return -1;
	error_clear(err);
	if (layers_forget(f, t->id, err) < 0)
		return -1;
	return store_template_remove(f->store, t->project_id, t->id, err);
}

int fleet_template_remove(struct fleet *fleet, const char *project_id, const char *name_or_id,
                          struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct provider_template work = {.verb = PROVIDER_TEMPLATE_REMOVE, .source_fd = -1};
	int64_t deadline = deadline_after(CALL_TIMEOUT_MS);
	struct template_record t;
	bool is_shared;

	if (store_template_find(fleet->store, &arena, project_id, name_or_id, &t, err) < 0)
		return -1;
	if (project_id && strcmp(project_id, t.project_id) != 0)
		return FAIL(err, ERROR_FORBIDDEN,
		            "template '%s' belongs to another project or to all of them", t.name);
	if (t.state == TEMPLATE_BUILDING)
		return FAIL(err, ERROR_CONFLICT, "template '%s' is being built", t.name);
	/* The row first: from then on no sandbox can be made from it. */
	if (remove_row(fleet, &t, err) < 0)
		return -1;
	note_drop_of(fleet, NOTE_TEMPLATE, t.id);
	announce_change(fleet, t.id);
	layer_release(fleet, t.snapshot_id);
	if (store_template_shares(fleet->store, t.folder, &is_shared, err) < 0)
		return -1;
	if (is_shared || strcmp(t.folder, "host") == 0)
		return 0;
	work.name = t.folder;
	if (provider_require(fleet->provider, PROVIDER_CAN_TEMPLATE, err) == 0 &&
	    provider_template(fleet->provider, &work, deadline, err) == 0) {
		template_files_gone(fleet, t.folder);
		return 0;
	}
	if (err->code != ERROR_CONFLICT)
		return FAIL_CONTEXT(err, "remove template '%s'", t.name);
	/* Its last heir, which failed, is removing the same folder. */
	error_clear(err);
	return 0;
}

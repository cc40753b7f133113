/* SPDX-License-Identifier: Apache-2.0 */
/* /daytona/api/sandbox — create, get, start, stop and delete sandboxes. */
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "config/config.h"
#include "edge/undo.h"
#include "fleet/lifecycle/create.h"
#include "fleet/sandbox/settings.h"
#include "fleet/volume/volume.h"
#include "provider/provider.h"
#include "store/sandboxes.h"
#include "store/snapshots.h"
#include "surface/daytona/attached.h"
#include "surface/daytona/daytona.h"
#include "surface/daytona/images.h"
#include "surface/daytona/intervals.h"
#include "surface/daytona/network.h"
#include "surface/daytona/routes.h"

#define BASE DAYTONA_API "/sandbox"
#define MB_PER_GB 1024

struct daytona_create_body {
	int64_t minutes[DAYTONA_INTERVAL_COUNT];
	const char *name, *snapshot, *user, *target, *allow_list, *domain_list, *linked, *proxy;
	struct json_map env, labels;
	bool is_public, block_all;
	double cpu, gpu, memory, disk;
	struct json_list volumes;
	struct span build, secrets;
	uint64_t present;
};
#define INTERVAL_ROW(interval, name_)                                                              \
	[interval] = {.kind = JSON_WHOLE,                                                          \
	              .name = (name_),                                                             \
	              .offset = offsetof(struct daytona_create_body, minutes[interval]),           \
	              .flags = JSON_NULLABLE,                                                      \
	              .min = INT32_MIN,                                                            \
	              .max = INT32_MAX}
#define OPTIONAL_TEXT(m, ...)                                                                      \
	JSON_TEXT_MEMBER(daytona_create_body, m, .flags = JSON_NULLABLE, __VA_ARGS__)
#define OPTIONAL_NUMBER(m, ...)                                                                    \
	JSON_NUMBER_MEMBER(daytona_create_body, m, .flags = JSON_NULLABLE, __VA_ARGS__)
enum { CREATE_BLOCK_ALL = DAYTONA_INTERVAL_COUNT };
static const struct json_member create_request_members[] = {
        INTERVAL_ROW(DAYTONA_AUTO_STOP, "autoStopInterval"),
        INTERVAL_ROW(DAYTONA_AUTO_PAUSE, "autoPauseInterval"),
        INTERVAL_ROW(DAYTONA_AUTO_ARCHIVE, "autoArchiveInterval"),
        INTERVAL_ROW(DAYTONA_AUTO_DELETE, "autoDeleteInterval"),
        INTERVAL_ROW(DAYTONA_TTL, "ttlMinutes"),
        [CREATE_BLOCK_ALL] = JSON_BOOL_MEMBER(daytona_create_body, block_all,
                                              .name = "networkBlockAll", .flags = JSON_NULLABLE),
        OPTIONAL_TEXT(name, .max = SANDBOX_NAME_MAX),
        OPTIONAL_TEXT(snapshot, .max = 128),
        OPTIONAL_TEXT(user, .max = 64),
        OPTIONAL_TEXT(target, .max = 64),
        OPTIONAL_TEXT(allow_list, .name = "networkAllowList"),
        OPTIONAL_TEXT(domain_list, .name = "domainAllowList"),
        OPTIONAL_TEXT(linked, .name = "linkedSandbox"),
        OPTIONAL_TEXT(proxy, .name = "outboundProxyUrl"),
        JSON_TEXT_MAP_MEMBER(daytona_create_body, env, .flags = JSON_NULLABLE | JSON_SECRET,
                             .max = 256),
        JSON_TEXT_MAP_MEMBER(daytona_create_body, labels, .flags = JSON_NULLABLE,
                             .max = SANDBOX_LABELS_MAX),
        JSON_BOOL_MEMBER(daytona_create_body, is_public, .name = "public", .flags = JSON_NULLABLE),
        OPTIONAL_NUMBER(cpu, .max = 1024),
        OPTIONAL_NUMBER(gpu, .max = 1024),
        OPTIONAL_NUMBER(memory, .max = 1 << 14),
        OPTIONAL_NUMBER(disk, .max = 1 << 18),
        JSON_LIST_MEMBER(daytona_create_body, volumes, &daytona_mount_shape, .flags = JSON_NULLABLE,
                         .max = SANDBOX_MOUNTS_MAX),
        JSON_RAW_MEMBER(daytona_create_body, build, .name = "buildInfo"),
        JSON_RAW_MEMBER(daytona_create_body, secrets),
};
static JSON_OPEN_BITS_SHAPE(create_request, "DaytonaCreate", daytona_create_body,
                            "The sandbox to create");

static bool is_given(const char *text)
{
	return text && text[0];
}

static bool has_items(struct span raw)
{
	return raw.size > 0 && !span_equals_text(raw, "null") && !span_equals_text(raw, "[]") &&
	       !span_equals_text(raw, "{}");
}

/* Refuses features that the caller asks for and the sandbox would not have. */
static int check_supported(const struct daytona_create_body *b, struct error *err)
{
	const struct {
		bool is_wanted;
		const char *name;
	} features[] = {
	        {b->gpu > 0, "gpu"},
	        {is_given(b->linked), "linkedSandbox"},
	        {is_given(b->proxy), "outboundProxyUrl"},
	};

	for (size_t i = 0; i < COUNT_OF(features); i++)
		if (features[i].is_wanted)
			return daytona_fail_unsupported(features[i].name, err);
	return 0;
}

static void fill_mounts(struct request *rq, const struct daytona_create_body *b,
                        struct fleet_create *ret)
{
	const struct daytona_mount *items = b->volumes.items;
	struct fleet_mount *mounts = ARENA_ARRAY(rq->arena, struct fleet_mount, b->volumes.count);

	for (size_t i = 0; i < b->volumes.count; i++)
		mounts[i] = (struct fleet_mount){.volume = items[i].volume_id,
		                                 .path = items[i].mount_path,
		                                 .subpath = items[i].subpath};
	ret->mounts = mounts;
	ret->mount_count = b->volumes.count;
}

/* A snapshot of Daytona's is a snapshot or a template here. */
static int choose_origin(struct request *rq, const char *snapshot, struct fleet_create *ret,
                         struct error *err)
{
	struct snapshot_record found;

	if (store_snapshot_find(api_of(rq)->store, rq->arena, ret->project_id, snapshot, &found,
	                        err) == 0) {
		ret->snapshot = snapshot;
		return 0;
	}
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	ret->template = snapshot;
	return 0;
}

/* Another name of "user" in the default templates, and of its home. */
#define DAYTONA_USER "daytona"

/* The template decides which user commands run as. Another user is refused before anything is made.
 */
static int check_user(struct request *rq, const struct fleet_create *request, const char *user,
                      struct error *err)
{
	const char *name =
	        request->template ? request->template : api_of(rq)->config->default_template;
	struct template_record t;

	if (request->snapshot)
		return daytona_fail_unsupported(
		        "option user for a snapshot, which has its own user", err);
	if (store_template_find(api_of(rq)->store, rq->arena, request->project_id, name, &t, err) <
	    0)
		return -1;
	if (strcmp(t.user[0] ? t.user : "root", user) == 0 ||
	    (strcmp(t.user, "user") == 0 && strcmp(user, DAYTONA_USER) == 0))
		return 0;
	return FAIL(err, ERROR_UNSUPPORTED, "sandboxes of '%s' run as user '%s'", name,
	            t.user[0] ? t.user : "root");
}

static bool can_archive(const struct api *api)
{
	return api->blobs && provider_ops_of(api->provider)->abilities & PROVIDER_CAN_SNAPSHOT;
}

static int fill_create(struct request *rq, const struct daytona_create_body *b,
                       struct fleet_create *ret, struct error *err)
{
	struct daytona_intervals intervals = {.given = (unsigned)b->present,
	                                      .can_archive = can_archive(api_of(rq))};

	memcpy(intervals.minutes, b->minutes, sizeof(intervals.minutes));
	if (check_supported(b, err) < 0 || daytona_intervals_apply(&intervals, ret, err) < 0)
		return -1;
	fill_mounts(rq, b, ret);
	if (is_given(b->snapshot) && !ret->template && choose_origin(rq, b->snapshot, ret, err) < 0)
		return -1;
	if (b->present >> CREATE_BLOCK_ALL & 1)
		ret->internet = !b->block_all;
	if ((is_given(b->allow_list) || is_given(b->domain_list)) && !b->block_all) {
		const struct daytona_network network = {.allow_list = b->allow_list,
		                                        .domain_list = b->domain_list};

		ret->internet = 1;
		if (daytona_egress_format(rq->arena, &network, &ret->egress, err) < 0)
			return -1;
	}
	if (daytona_secrets_prepare(rq, b->secrets, ret, err) < 0)
		return -1;
	return is_given(b->user) ? check_user(rq, ret, b->user, err) : 0;
}

static struct fleet_create create_of(struct request *rq, const struct daytona_create_body *b)
{
	return (struct fleet_create){
	        .project_id = api_project(rq),
	        .key_id = api_key_id(rq),
	        .user_id = api_user_id(rq),
	        .caller = api_fleet_caller(rq),
	        .region = is_given(b->target) ? b->target : NULL,
	        .labels = b->labels,
	        .env = b->env,
	        .resources = {.cpu = b->cpu,
	                      .memory_mb = (int64_t)(b->memory * MB_PER_GB),
	                      .disk_mb = (int64_t)(b->disk * MB_PER_GB)},
	        .internet = -1,
	        .preview_public = b->is_public,
	};
}

static int make_sandbox(struct request *rq, const struct daytona_create_body *b,
                        struct fleet_create *request, struct sandbox_record *ret, struct error *err)
{
	request->name = is_given(b->name) ? b->name : request->id;
	if (fill_create(rq, b, request, err) < 0)
		return -1;
	return fleet_create(api_of(rq)->fleet, rq->arena, request, ret, err);
}

int daytona_sandbox_make(struct request *rq, const struct daytona_sandbox_request *wanted,
                         struct sandbox_record *ret, struct error *err)
{
	struct fleet_create request;
	struct daytona_create_body b;

	if (json_parse(rq->arena, wanted->body, &create_request, &b, err) < 0)
		return -1;
	request = create_of(rq, &b);
	request.id = wanted->id;
	request.key_id = wanted->key_id;
	request.template = wanted->template;
	return make_sandbox(rq, &b, &request, ret, err);
}

/* Waits until the sandbox has started. */
static int create_and_answer(struct request *rq, const struct daytona_create_body *b,
                             struct fleet_create *request, struct reply *reply, struct error *err)
{
	struct sandbox_record record;

	request->wait = true;
	request->awaited = api_awaited_if_parking(rq);
	if (make_sandbox(rq, b, request, &record, err) < 0)
		return -1;
	api_undo_create(rq, reply, record.id);
	return daytona_sandbox_reply(rq, reply, &record, err);
}

/* Creates a sandbox from an image. If the image must be built first, the client polls the sandbox.
 */
static int create_from_image(struct request *rq, const struct daytona_create_body *b,
                             struct reply *reply, struct error *err)
{
	struct id id = id_new();
	struct daytona_image image;
	struct fleet_create request = create_of(rq, b);

	if (is_given(b->snapshot))
		return FAIL(err, ERROR_INVALID, "give either snapshot or buildInfo");
	if (check_supported(b, err) < 0 || daytona_image_find(rq, b->build, &image, err) < 0)
		return -1;
	if (image.build_id)
		return daytona_image_reply_pending(rq, reply, &image, id.text, err);
	request.id = id.text;
	request.template = image.template;
	return create_and_answer(rq, b, &request, reply, err);
}

static int create_sandbox(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	const struct daytona_create_body *b = body;
	struct fleet_create request = create_of(rq, b);
	struct id id = id_new();

	if (api_check_budgets(rq, err) < 0)
		return -1;
	if (has_items(b->build))
		return create_from_image(rq, b, reply, err);
	request.id = id.text;
	return create_and_answer(rq, b, &request, reply, err);
}

typedef int fleet_verb(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                       struct sandbox_record *ret, struct error *err);

static int run_verb(struct request *rq, struct reply *reply, fleet_verb *verb, struct error *err)
{
	struct fleet_ref ref = api_path_ref(rq);
	struct sandbox_record record;

	ref.awaited = api_awaited_if_parking(rq);
	if (verb(api_of(rq)->fleet, rq->arena, &ref, &record, err) < 0)
		return -1;
	return daytona_sandbox_reply(rq, reply, &record, err);
}

static int get_sandbox(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	if (run_verb(rq, reply, fleet_find, err) == 0)
		return 0;
	return err->code == ERROR_NOT_FOUND ? daytona_image_reply(rq, reply, err) : -1;
}

static int start_sandbox(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	return api_check_budgets(rq, err) < 0 ? -1 : run_verb(rq, reply, fleet_start, err);
}

static int stop_sandbox(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	return run_verb(rq, reply, fleet_stop, err);
}

static int pause_sandbox(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	return run_verb(rq, reply, fleet_pause, err);
}

static int archive_sandbox(struct request *rq, UNUSED const void *body, struct reply *reply,
                           struct error *err)
{
	return run_verb(rq, reply, fleet_archive, err);
}

static int delete_sandbox(struct request *rq, UNUSED const void *body, struct reply *reply,
                          struct error *err)
{
	struct fleet_ref ref = api_path_ref(rq);
	struct fleet *fleet = api_of(rq)->fleet;
	struct sandbox_record record;

	ref.awaited = api_awaited_if_parking(rq);
	if (fleet_find(fleet, rq->arena, &ref, &record, err) < 0)
		return err->code == ERROR_NOT_FOUND ? daytona_image_cancel(rq, reply, err) : -1;
	if (fleet_delete(fleet, rq->arena, &ref, SANDBOX_REASON_USER, err) < 0)
		return -1;
	record.actual = record.desired = SANDBOX_DELETED;
	return daytona_sandbox_reply(rq, reply, &record, err);
}

static int set_settings(struct request *rq, const struct fleet_settings *change,
                        struct sandbox_record *ret, struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);

	return fleet_set(api_of(rq)->fleet, rq->arena, &ref, change, ret, err);
}

struct labels_body {
	struct json_map labels;
};
static const struct json_member labels_shape_members[] = {
        JSON_TEXT_MAP_MEMBER(labels_body, labels, .flags = JSON_REQUIRED,
                             .max = SANDBOX_LABELS_MAX),
};
static JSON_OPEN_SHAPE(labels_shape, "DaytonaLabels", labels_body, "All labels of a sandbox");

static int set_labels(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct labels_body *b = body;
	struct fleet_settings change = FLEET_SETTINGS_LEAVE;
	struct sandbox_record record;

	change.labels = &b->labels;
	if (set_settings(rq, &change, &record, err) < 0)
		return -1;
	reply_json(reply, &labels_shape, b);
	return 0;
}

static int minutes_of(const struct request *rq, int64_t *ret, struct error *err)
{
	const char *text = request_param(rq, "minutes");
	bool is_negative = text[0] == '-';

	if (span_parse_whole(span_of(text + is_negative), 0, INT32_MAX, ret, err) < 0)
		return FAIL_CONTEXT(err, "interval");
	if (is_negative)
		*ret = -*ret;
	return 0;
}

static int set_interval(struct request *rq, struct reply *reply, enum daytona_interval interval,
                        struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);
	struct daytona_change change = {.interval = interval};
	struct fleet_settings settings;
	struct sandbox_record record;

	if (minutes_of(rq, &change.minutes, err) < 0 ||
	    fleet_find(api_of(rq)->fleet, rq->arena, &ref, &record, err) < 0)
		return -1;
	change.created_at = record.created_at;
	if (daytona_interval_set(&change, &settings, err) < 0 ||
	    set_settings(rq, &settings, &record, err) < 0)
		return -1;
	return daytona_sandbox_reply(rq, reply, &record, err);
}

static int set_stop(struct request *rq, UNUSED const void *body, struct reply *reply,
                    struct error *err)
{
	return set_interval(rq, reply, DAYTONA_AUTO_STOP, err);
}

static int set_pause(struct request *rq, UNUSED const void *body, struct reply *reply,
                     struct error *err)
{
	return set_interval(rq, reply, DAYTONA_AUTO_PAUSE, err);
}

static int set_archive(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	return set_interval(rq, reply, DAYTONA_AUTO_ARCHIVE, err);
}

static int set_delete(struct request *rq, UNUSED const void *body, struct reply *reply,
                      struct error *err)
{
	return set_interval(rq, reply, DAYTONA_AUTO_DELETE, err);
}

static int set_ttl(struct request *rq, UNUSED const void *body, struct reply *reply,
                   struct error *err)
{
	return set_interval(rq, reply, DAYTONA_TTL, err);
}

static int set_activity(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);
	struct sandbox_record record;

	if (fleet_find(api_of(rq)->fleet, rq->arena, &ref, &record, err) < 0)
		return -1;
	store_sandbox_touch(api_of(rq)->store, record.id, clock_unix_ms());
	reply_status(reply, 201);
	return 0;
}

#define READ SCOPE_SANDBOX_READ, ROUTE_HIDDEN
#define WRITE SCOPE_SANDBOX_WRITE, ROUTE_HIDDEN
#define SLOW SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_HIDDEN
#define TAG .tag = "daytona"
const struct route daytona_sandboxes_routes[] = {
        {HTTP_POST, BASE, SLOW, .body = &create_request, .answer = &daytona_sandbox_shape,
         .handle = create_sandbox, TAG, .summary = "Create and start a sandbox"},
        {HTTP_GET, BASE "/:id", READ, .answer = &daytona_sandbox_shape, .handle = get_sandbox, TAG,
         .summary = "Get a sandbox"},
        {HTTP_DELETE, BASE "/:id", SLOW, .answer = &daytona_sandbox_shape, .handle = delete_sandbox,
         TAG, .summary = "Delete a sandbox"},
        {HTTP_POST, BASE "/:id/start", SLOW, .answer = &daytona_sandbox_shape,
         .handle = start_sandbox, TAG, .summary = "Start a sandbox"},
        {HTTP_POST, BASE "/:id/stop", SLOW, .answer = &daytona_sandbox_shape,
         .handle = stop_sandbox, TAG, .summary = "Stop a sandbox"},
        {HTTP_POST, BASE "/:id/pause", SLOW, .answer = &daytona_sandbox_shape,
         .handle = pause_sandbox, TAG, .summary = "Pause a sandbox"},
        {HTTP_POST, BASE "/:id/archive", SLOW, .answer = &daytona_sandbox_shape,
         .handle = archive_sandbox, TAG, .summary = "Archive a stopped sandbox"},
        {HTTP_POST, BASE "/:id/recover", SLOW, .answer = &daytona_sandbox_shape,
         .handle = start_sandbox, TAG, .summary = "Start a sandbox whose processes were lost"},
        {HTTP_PUT, BASE "/:id/labels", WRITE, .body = &labels_shape, .answer = &labels_shape,
         .handle = set_labels, TAG, .summary = "Replace the labels of a sandbox"},
        {HTTP_POST, BASE "/:id/autostop/:minutes", WRITE, .handle = set_stop, TAG,
         .summary = "Set after how many idle minutes the sandbox stops"},
        {HTTP_POST, BASE "/:id/autopause/:minutes", WRITE, .handle = set_pause, TAG,
         .summary = "Set after how many idle minutes the sandbox is paused"},
        {HTTP_POST, BASE "/:id/autoarchive/:minutes", WRITE, .handle = set_archive, TAG,
         .summary = "Set how many minutes after a stop the sandbox is archived"},
        {HTTP_POST, BASE "/:id/autodelete/:minutes", WRITE, .handle = set_delete, TAG,
         .summary = "Set how many minutes after a stop the sandbox is deleted"},
        {HTTP_POST, BASE "/:id/ttl/:minutes", WRITE, .handle = set_ttl, TAG,
         .summary = "Set how many minutes after its creation the sandbox is deleted"},
        {HTTP_POST, BASE "/:id/last-activity", WRITE, .status = 201, .handle = set_activity, TAG,
         .summary = "Record a use of the sandbox"},
        {.path = NULL},
};

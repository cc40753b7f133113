/* SPDX-License-Identifier: Apache-2.0 */
/* Images: turns a Dockerfile into a build of a template, and shows clients its state. */
#include "surface/daytona/images.h"

#include <sodium.h>
#include <string.h>

#include "base/clock.h"
#include "calls/build_log.h"
#include "config/config.h"
#include "dockerfile/dockerfile.h"
#include "fleet/build/build.h"
#include "fleet/core/sandboxes.h"
#include "fleet/template/import.h"
#include "json/write.h"
#include "store/builds.h"
#include "store/sandbox_record.h"
#include "store/snapshots.h"
#include "surface/daytona/daytona.h"
#include "surface/daytona/pending.h"
#include "surface/daytona/routes.h"
#include "surface/daytona/surface.h"

#define SNAPSHOTS DAYTONA_API "/snapshots"
#define SANDBOX DAYTONA_API "/sandbox/:id"
#define DOCKERFILE_MAX ((size_t)96 * 1024)
#define SPEC_MAX ((size_t)1 << 20)
#define DIGEST_SIZE 20 /* hexadecimal digits of the digest in a template's name */
#define MB_PER_GB 1024

struct build_info {
	const char *dockerfile;
	const char **hashes;
};
static const struct json_member build_info_members[] = {
        JSON_TEXT_MEMBER(build_info, dockerfile, .name = "dockerfileContent",
                         .flags = JSON_REQUIRED, .min = 1, .max = DOCKERFILE_MAX),
        JSON_TEXT_LIST_MEMBER(build_info, hashes, .name = "contextHashes", .flags = JSON_NULLABLE,
                              .max = 1024),
};
static JSON_OPEN_SHAPE(build_info, "DaytonaBuildInfo", build_info, "An image to build");

static int refuse_files(struct error *err)
{
	(void)daytona_fail_unsupported("object store, which files of an image need", err);
	error_hint(err, "upload the files to the sandbox, or run 'atoll template build' with the "
	                "Dockerfile");
	return -1;
}

static int read_build_info(struct request *rq, struct span text, struct build_info *ret,
                           struct error *err)
{
	if (json_parse(rq->arena, text, &build_info, ret, err) < 0)
		return FAIL_CONTEXT(err, "buildInfo");
	if (!ret->hashes || !ret->hashes[0])
		return 0;
	return refuse_files(err);
}

/* The caller sets ret->name. The image in FROM is pulled once, as a template. */
static int translate_dockerfile(struct request *rq, const char *dockerfile, struct build_spec *ret,
                                struct error *err)
{
	AUTO(buf_done) struct buf body = BUF(SPEC_MAX), whole = BUF(SPEC_MAX),
	                          notes = BUF(SPEC_MAX);
	const struct dockerfile file = {
	        .name = "Dockerfile", .text = span_of(dockerfile), .has_no_files = true};

	if (dockerfile_translate(rq->arena, &file, &body, &notes, err) < 0)
		return -1;
	json_begin_object(&whole, NULL);
	json_add_text(&whole, "name", "image");
	buf_addf(&whole, ",%s", buf_text(&body) + 1);
	if (whole.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the Dockerfile is too large");
	return json_parse(rq->arena, buf_span(&whole), &build_spec_shape, ret, err);
}

static int read_spec(struct request *rq, const char *dockerfile, struct build_spec *ret,
                     struct error *err)
{
	if (translate_dockerfile(rq, dockerfile, ret, err) < 0)
		return -1;
	build_name_images(rq->arena, ret);
	return 0;
}

static int find_template_record(struct request *rq, const char *name, struct template_record *ret,
                                bool *ret_is_there, struct error *err)
{
	*ret_is_there = store_template_find(api_of(rq)->store, rq->arena, api_project(rq), name,
	                                    ret, err) == 0;
	if (*ret_is_there)
		return 0;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return 0;
}

static int find_template(struct request *rq, const char *name, bool *ret_is_there,
                         struct error *err)
{
	struct template_record ignored;

	return find_template_record(rq, name, &ignored, ret_is_there, err);
}

/* Looks for the template of the imported image itself. */
static int find_imported(struct request *rq, const struct build_spec *spec, bool *ret_is_there,
                         struct error *err)
{
	struct template_record t;

	if (find_template_record(rq, spec->from, &t, ret_is_there, err) < 0)
		return -1;
	return *ret_is_there ? fleet_template_check_image(&t, spec->image, err) : 0;
}

/* Finds the newest build of this name; ret->id is NULL if there is none. */
static int find_build(struct request *rq, const char *name, struct build_record *ret,
                      struct error *err)
{
	const struct build_filter filter = {
	        .project_id = api_project(rq), .name = name, .limit = 1};
	struct build_list found;

	if (store_build_list(api_of(rq)->store, rq->arena, &filter, &found, err) < 0)
		return -1;
	*ret = found.count > 0 ? found.items[0] : (struct build_record){.id = NULL};
	return 0;
}

static int start_build(struct request *rq, const struct build_spec *spec, struct build_record *ret,
                       struct error *err)
{
	const struct fleet_build request = {
	        .project_id = api_project(rq), .key_id = api_account(rq)->key_id, .spec = spec};

	if (account_require(api_account(rq), SCOPE_TEMPLATE_WRITE, err) < 0)
		return -1;
	return fleet_build_start(api_of(rq)->fleet, rq->arena, &request, ret, err);
}

static const char *template_name_of(struct arena *a, const char *dockerfile)
{
	unsigned char digest[crypto_hash_sha256_BYTES];
	char hex[2 * sizeof(digest) + 1];

	crypto_hash_sha256(digest, (const unsigned char *)dockerfile, strlen(dockerfile));
	sodium_bin2hex(hex, sizeof(hex), digest, sizeof(digest));
	return arena_format(a, "daytona-%.*s", DIGEST_SIZE, hex);
}

static bool is_plain_image(const struct build_spec *spec)
{
	return spec->steps.count == 0 && spec->stages.count == 0 && !spec->start &&
	       !spec->entrypoint && spec->ports.size == 0;
}

int daytona_image_find(struct request *rq, struct span text, struct daytona_image *ret,
                       struct error *err)
{
	struct build_info info;
	struct build_spec spec;
	struct build_record build;
	bool is_there = false;

	if (read_build_info(rq, text, &info, err) < 0 ||
	    read_spec(rq, info.dockerfile, &spec, err) < 0)
		return -1;
	*ret = (struct daytona_image){.template = spec.from};
	if (is_plain_image(&spec) && find_imported(rq, &spec, &is_there, err) < 0)
		return -1;
	if (is_there)
		return 0;
	spec.name = ret->template = template_name_of(rq->arena, info.dockerfile);
	if (find_template(rq, spec.name, &is_there, err) < 0 ||
	    (!is_there && find_build(rq, spec.name, &build, err) < 0))
		return -1;
	if (is_there)
		return 0;
	if ((!build.id || build_has_ended(build.state)) && start_build(rq, &spec, &build, err) < 0)
		return -1;
	ret->build_id = build.id;
	return 0;
}

static int reply_pending(struct request *rq, struct reply *reply,
                         const struct daytona_pending_sandbox *sandbox,
                         const struct daytona_state *state, struct error *err)
{
	const struct sandbox_record record = {
	        .id = sandbox->id,
	        .project_id = sandbox->project_id,
	        .name = sandbox->id,
	        .template_id = "",
	        .template_name = sandbox->template,
	        .region = api_of(rq)->config->region,
	        .labels_json = "",
	        .env_json = "",
	        .desired = SANDBOX_STARTED,
	        .actual = SANDBOX_PENDING,
	        .last_event = "",
	        .created_at = sandbox->made_at,
	};

	return daytona_sandbox_reply_as(rq, reply, &record, state, err);
}

int daytona_image_reply_pending(struct request *rq, struct reply *reply,
                                const struct daytona_image *image, const char *id,
                                struct error *err)
{
	const char *key = api_account(rq)->key_id;
	const struct daytona_pending_sandbox sandbox = {
	        .id = id,
	        .project_id = api_project(rq),
	        .key_id = key ? key : "",
	        .build_id = image->build_id,
	        .template = image->template,
	        .body = rq->body,
	        .made_at = clock_unix_ms(),
	};

	if (rq->body.size > DAYTONA_PENDING_BODY_MAX)
		return FAIL(err, ERROR_TOO_LARGE,
		            "with an image to build a request has at most %zu bytes",
		            DAYTONA_PENDING_BODY_MAX);
	daytona_pending_put(api_of(rq)->daytona->pending, &sandbox);
	return reply_pending(rq, reply, &sandbox, &(struct daytona_state){"pending_build", ""},
	                     err);
}

/* One of the requests makes the sandbox; concurrent ones get the state "creating". */
static int make_pending_sandbox(struct request *rq, struct reply *reply,
                                const struct daytona_pending_sandbox *sandbox, struct error *err)
{
	const struct daytona_sandbox_request wanted = {
	        .body = sandbox->body,
	        .id = sandbox->id,
	        .key_id = sandbox->key_id[0] ? sandbox->key_id : NULL,
	        .template = sandbox->template};
	struct daytona_pending *pending = api_of(rq)->daytona->pending;
	struct sandbox_record record;
	int result;

	if (!daytona_pending_claim(pending, sandbox->id))
		return reply_pending(rq, reply, sandbox, &(struct daytona_state){"creating", ""},
		                     err);
	result = daytona_sandbox_make(rq, &wanted, &record, err);
	/* These failures may pass: the next request tries again. */
	if (result < 0 && (err->code == ERROR_LIMIT || err->code == ERROR_UNAVAILABLE ||
	                   err->code == ERROR_TIMEOUT))
		daytona_pending_put_back(pending, sandbox->id);
	else
		daytona_pending_drop(pending, sandbox->id);
	return result < 0 ? -1 : daytona_sandbox_reply(rq, reply, &record, err);
}

int daytona_image_reply(struct request *rq, struct reply *reply, struct error *err)
{
	static const char *const states[BUILD_STATE_COUNT] = {
	        [BUILD_WAITING] = "building_snapshot",
	        [BUILD_BUILDING] = "building_snapshot",
	        [BUILD_ERROR] = "build_failed",
	        [BUILD_CANCELLED] = "build_failed",
	};
	struct daytona_pending_sandbox sandbox;
	struct build_record build;
	struct fleet_ref ref = api_path_ref(rq);

	if (!daytona_pending_find(api_of(rq)->daytona->pending, rq->arena, ref.project_id,
	                          ref.id_or_name, &sandbox))
		return -1;
	error_clear(err);
	ref.id_or_name = sandbox.build_id;
	if (fleet_build_find(api_of(rq)->fleet, rq->arena, &ref, &build, err) < 0)
		return -1;
	if (build.state == BUILD_READY)
		return make_pending_sandbox(rq, reply, &sandbox, err);
	return reply_pending(rq, reply, &sandbox,
	                     &(struct daytona_state){states[build.state], build.message}, err);
}

/* The build continues: a later request for the same image uses its template. */
int daytona_image_cancel(struct request *rq, struct reply *reply, struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);
	struct daytona_pending *pending = api_of(rq)->daytona->pending;
	struct daytona_pending_sandbox sandbox;

	if (!daytona_pending_find(pending, rq->arena, ref.project_id, ref.id_or_name, &sandbox))
		return -1;
	error_clear(err);
	if (sandbox.is_being_made)
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' is being created", sandbox.id);
	daytona_pending_drop(pending, sandbox.id);
	return reply_pending(rq, reply, &sandbox, &(struct daytona_state){"destroyed", ""}, err);
}

struct snapshot_create_body {
	const char *name, *image;
	const char **entrypoint;
	double cpu, gpu, memory, disk;
	struct span build;
};
static const struct json_member create_request_members[] = {
        JSON_TEXT_MEMBER(snapshot_create_body, name, .flags = JSON_REQUIRED, .min = 1, .max = 63),
        JSON_TEXT_MEMBER(snapshot_create_body, image, .name = "imageName", .flags = JSON_NULLABLE,
                         .max = 500),
        JSON_TEXT_LIST_MEMBER(snapshot_create_body, entrypoint, .flags = JSON_NULLABLE, .max = 64),
        JSON_NUMBER_MEMBER(snapshot_create_body, cpu, .flags = JSON_NULLABLE, .max = 1024),
        JSON_NUMBER_MEMBER(snapshot_create_body, gpu, .flags = JSON_NULLABLE, .max = 1024),
        JSON_NUMBER_MEMBER(snapshot_create_body, memory, .flags = JSON_NULLABLE, .max = 1 << 14),
        JSON_NUMBER_MEMBER(snapshot_create_body, disk, .flags = JSON_NULLABLE, .max = 1 << 18),
        JSON_RAW_MEMBER(snapshot_create_body, build, .name = "buildInfo"),
};
static JSON_OPEN_SHAPE(create_request, "DaytonaSnapshotCreate", snapshot_create_body,
                       "A snapshot to create from an image");

static int read_image(struct request *rq, const struct snapshot_create_body *b,
                      struct build_spec *ret, struct error *err)
{
	bool has_info = b->build.size > 0 && !span_equals_text(b->build, "null");
	const char *dockerfile = arena_format(rq->arena, "FROM %s\n", b->image ? b->image : "");
	struct build_info info;

	if (has_info == (b->image && b->image[0]))
		return FAIL(err, ERROR_INVALID, "give either imageName or buildInfo");
	if (b->gpu > 0)
		return daytona_fail_unsupported("gpu", err);
	if (has_info && read_build_info(rq, b->build, &info, err) < 0)
		return -1;
	if (!has_info && image_reference_check(b->image, err) < 0)
		return FAIL_CONTEXT(err, "imageName");
	return read_spec(rq, has_info ? info.dockerfile : dockerfile, ret, err);
}

/* Daytona's clients poll the snapshot by its name, so the name must not belong to an older one. */
static int check_name_is_free(struct request *rq, const char *name, struct error *err)
{
	struct snapshot_record snapshot;
	struct build_record build;
	bool is_there;

	if (find_template(rq, name, &is_there, err) < 0 || find_build(rq, name, &build, err) < 0)
		return -1;
	if (!is_there && build.id && !build_has_ended(build.state))
		is_there = true;
	if (!is_there) {
		is_there = store_snapshot_find(api_of(rq)->store, rq->arena, api_project(rq), name,
		                               &snapshot, err) == 0;
		if (!is_there && err->code != ERROR_NOT_FOUND)
			return -1;
	}
	if (is_there)
		return FAIL(err, ERROR_CONFLICT, "a snapshot or template '%s' exists already",
		            name);
	error_clear(err);
	return 0;
}

static int create_snapshot(struct request *rq, const void *body, struct reply *reply,
                           struct error *err)
{
	const struct snapshot_create_body *b = body;
	struct build_record made;
	struct build_spec spec;

	if (read_image(rq, b, &spec, err) < 0 || check_name_is_free(rq, b->name, err) < 0)
		return -1;
	spec.name = b->name;
	spec.resources = (struct build_resources){.cpu = b->cpu,
	                                          .memory_mb = (int64_t)(b->memory * MB_PER_GB),
	                                          .disk_mb = (int64_t)(b->disk * MB_PER_GB)};
	if (b->entrypoint && b->entrypoint[0]) {
		spec.entrypoint = b->entrypoint;
		spec.start = NULL;
	}
	if (start_build(rq, &spec, &made, err) < 0)
		return -1;
	return daytona_build_reply(reply, &made);
}

static int answer_url(struct request *rq, struct reply *reply, const char *path)
{
	return daytona_reply_member(reply, "url",
	                            arena_format(rq->arena, "%s%s", daytona_origin(rq), path));
}

/* Finds the build by its id, or the newest build of a name. */
static int find_logged_build(struct request *rq, struct build_record *ret, struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);

	if (fleet_build_find(api_of(rq)->fleet, rq->arena, &ref, ret, err) == 0)
		return 0;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	if (find_build(rq, ref.id_or_name, ret, err) < 0)
		return -1;
	return ret->id ? 0
	               : FAIL(err, ERROR_NOT_FOUND, "no build of '%s' was found", ref.id_or_name);
}

static int get_snapshot_log_url(struct request *rq, UNUSED const void *body, struct reply *reply,
                                struct error *err)
{
	struct build_record build;

	if (find_logged_build(rq, &build, err) < 0)
		return -1;
	return answer_url(rq, reply, arena_format(rq->arena, SNAPSHOTS "/%s/build-logs", build.id));
}

static int get_sandbox_log_url(struct request *rq, UNUSED const void *body, struct reply *reply,
                               struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);
	struct build_record build = {.id = NULL};
	struct sandbox_record record;
	struct daytona_pending_sandbox sandbox;

	if (daytona_pending_find(api_of(rq)->daytona->pending, rq->arena, ref.project_id,
	                         ref.id_or_name, &sandbox))
		build.id = sandbox.build_id;
	else if (fleet_find(api_of(rq)->fleet, rq->arena, &ref, &record, err) < 0 ||
	         find_build(rq, record.template_name, &build, err) < 0)
		return -1;
	if (!build.id)
		return FAIL(err, ERROR_NOT_FOUND, "no image was built for sandbox '%s'",
		            ref.id_or_name);
	return answer_url(rq, reply, arena_format(rq->arena, SNAPSHOTS "/%s/build-logs", build.id));
}

/* The call in which clients ask for an upload address for the files of an image. */
static int refuse_object_store(UNUSED struct request *rq, UNUSED const void *body,
                               UNUSED struct reply *reply, struct error *err)
{
	return refuse_files(err);
}

/* Writes the member "text" of each line of NDJSON. */
static void write_texts(struct buf *out, struct span lines, UNUSED int64_t first)
{
	struct span line;

	while (span_split(&lines, '\n', &line)) {
		AUTO(arena_done) struct arena a = {0};
		const struct json_value *value;
		struct error ignored;

		if (json_load(&a, line, &value, &ignored) == 0)
			buf_addf(out, "%s\n", json_text(json_get(value, "text"), ""));
	}
}

static const struct build_log_format as_text = {.content_type = "text/plain; charset=utf-8",
                                                .write = write_texts};

/* Follows a running build to its end: clients always send ?follow=true. */
static int stream_build_logs(struct request *rq, UNUSED const void *body, struct reply *reply,
                             struct error *err)
{
	struct build_record build;

	if (find_logged_build(rq, &build, err) < 0)
		return -1;
	return build_log_answer(
	        rq, &(struct build_log_query){.id = build.id, .follows = true, .form = &as_text},
	        reply, err);
}

#define READ SCOPE_SANDBOX_READ, ROUTE_HIDDEN
#define TAG .tag = "daytona"
const struct route daytona_images_routes[] = {
        {HTTP_POST, SNAPSHOTS, SCOPE_TEMPLATE_WRITE, ROUTE_HIDDEN, .body = &create_request,
         .handle = create_snapshot, TAG, .summary = "Build a template from an image"},
        {HTTP_GET, SNAPSHOTS "/:id/build-logs-url", READ, .handle = get_snapshot_log_url, TAG,
         .summary = "Get the URL of a snapshot's build log"},
        {HTTP_GET, SNAPSHOTS "/:id/build-logs", READ, .handle = stream_build_logs, TAG,
         .summary = "Stream the build log of a snapshot"},
        {HTTP_GET, DAYTONA_API "/object-storage/push-access", READ, .handle = refuse_object_store,
         TAG, .summary = "Not supported"},
        {HTTP_GET, SANDBOX "/build-logs-url", READ, .handle = get_sandbox_log_url, TAG,
         .summary = "Get the URL of the build log of a sandbox's image"},
        {.path = NULL},
};

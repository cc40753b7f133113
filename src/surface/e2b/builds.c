/* SPDX-License-Identifier: Apache-2.0 */
/* Builds of templates from steps: a client announces a build, uploads its files, starts it and
 * polls its status. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "calls/build_log.h"
#include "config/config.h"
#include "fleet/core/access.h"
#include "fleet/core/sandboxes.h"
#include "fleet/template/import.h"
#include "store/builds.h"
#include "surface/e2b/announced.h"
#include "surface/e2b/e2b.h"
#include "surface/e2b/routes.h"
#include "surface/e2b/steps.h"
#include "surface/e2b/surface.h"
#include "surface/native/build_upload.h"

#define LINES_BYTES ((size_t)1 << 20)
#define LINES_MAX 100
#define UPLOAD_MS (3600 * INT64_C(1000))
/* The default base image of E2B's clients, and the name of the template that stands for it here. */
#define BASE_IMAGE "e2bdev/base"
#define BASE_TEMPLATE "base"
#define GOOGLE_USERNAME "_json_key"
#define LOST                                                                                       \
	"this build is not known any more: it did not start within an hour, the server was "       \
	"restarted, or the build ended long ago"

struct announce_body {
	const char *name, *alias;
	const char **tags;
	int64_t cpu, memory_mb, disk_mb;
};
static const struct json_member announce_request_members[] = {
        JSON_TEXT_MEMBER(announce_body, name, .max = 128),
        JSON_TEXT_MEMBER(announce_body, alias, .max = 128),
        JSON_TEXT_LIST_MEMBER(announce_body, tags, .max = BUILD_ALSO_MAX),
        JSON_WHOLE_MEMBER(announce_body, cpu, .name = "cpuCount", .min = 0, .max = 1024),
        JSON_WHOLE_MEMBER(announce_body, memory_mb, .name = "memoryMB", .min = 0, .max = 1 << 24),
        JSON_WHOLE_MEMBER(announce_body, disk_mb, .name = "minFreeDiskMb", .min = 0,
                          .max = 1 << 28),
};
static JSON_OPEN_SHAPE(announce_request, "E2bBuildRequest", announce_body, "A template to build");

struct announce_answer {
	const char *template_id, *build_id;
	bool is_public;
	const char **names, **tags, **aliases;
	/* Only in the second generation of paths, whose answer is a template that does not exist
	 * yet. */
	int64_t cpu_count, memory_mb, disk_mb, created_at, last_spawned_at, spawn_count,
	        build_count;
	const char *created_by, *envd_version;
};
static const struct json_member announced_shape_members[] = {
        JSON_TEXT_MEMBER(announce_answer, template_id, .name = "templateID"),
        JSON_TEXT_MEMBER(announce_answer, build_id, .name = "buildID"),
        JSON_BOOL_MEMBER(announce_answer, is_public, .name = "public"),
        JSON_TEXT_LIST_MEMBER(announce_answer, names),
        JSON_TEXT_LIST_MEMBER(announce_answer, tags),
        JSON_TEXT_LIST_MEMBER(announce_answer, aliases),
};
static JSON_SHAPE(announced_shape, "E2bBuildAnnounced", announce_answer,
                  "The build that was announced");
static const struct json_member announced_v2_shape_members[] = {
        JSON_TEXT_MEMBER(announce_answer, template_id, .name = "templateID"),
        JSON_TEXT_MEMBER(announce_answer, build_id, .name = "buildID"),
        JSON_BOOL_MEMBER(announce_answer, is_public, .name = "public"),
        JSON_TEXT_LIST_MEMBER(announce_answer, aliases),
        JSON_WHOLE_MEMBER(announce_answer, cpu_count, .name = "cpuCount"),
        JSON_WHOLE_MEMBER(announce_answer, memory_mb, .name = "memoryMB"),
        JSON_WHOLE_MEMBER(announce_answer, disk_mb, .name = "diskSizeMB"),
        JSON_TIME_MEMBER(announce_answer, created_at, .name = "createdAt"),
        JSON_TIME_MEMBER(announce_answer, created_at, .name = "updatedAt"),
        JSON_TIME_MEMBER(announce_answer, last_spawned_at, .name = "lastSpawnedAt",
                         .flags = JSON_NULLABLE),
        JSON_TEXT_MEMBER(announce_answer, created_by, .name = "createdBy", .flags = JSON_NULLABLE),
        JSON_WHOLE_MEMBER(announce_answer, spawn_count, .name = "spawnCount"),
        JSON_WHOLE_MEMBER(announce_answer, build_count, .name = "buildCount"),
        JSON_TEXT_MEMBER(announce_answer, envd_version, .name = "envdVersion"),
};
static JSON_SHAPE(announced_v2_shape, "E2bBuildAnnouncedV2", announce_answer,
                  "The build that was announced, as in version 2");

static int copy_name(char out[E2B_BUILD_NAME_SIZE], const char *name, struct error *err)
{
	if (image_name_check(name, err) < 0)
		return -1;
	(void)snprintf(out, E2B_BUILD_NAME_SIZE, "%s", name);
	return 0;
}

/* Names of templates are in lower case. */
static const char *copy_lower_case(struct arena *a, const char *text)
{
	char *copy = arena_text(a, text);

	for (char *c = copy; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return copy;
}

/* "name:tag" is the template's name; the name with each further tag is an additional name. */
static int name_build(struct request *rq, const struct announce_body *b,
                      struct e2b_announced_build *announced, struct announce_answer *out,
                      struct error *err)
{
	const char *text = b->name ? b->name : b->alias;
	size_t count = 0;
	struct e2b_name name;

	if (!text)
		return FAIL(err, ERROR_INVALID, "name: required");
	if (e2b_name_parse(rq->arena, copy_lower_case(rq->arena, text), &name, err) < 0 ||
	    copy_name(announced->name, name.own, err) < 0)
		return -1;
	out->template_id = name.name;
	out->names[count] = e2b_name_format(rq->arena, name.own);
	out->tags[count++] = name.tag;
	out->aliases[0] = name.name;
	for (size_t i = 0; b->tags && b->tags[i]; i++) {
		const char *tagged = arena_format(rq->arena, "%s:%s", name.name, b->tags[i]);
		struct e2b_name other;

		if (e2b_name_parse(rq->arena, copy_lower_case(rq->arena, tagged), &other, err) < 0)
			return -1;
		if (strcmp(other.own, name.own) == 0)
			continue;
		if (copy_name(announced->also[announced->also_count++], other.own, err) < 0)
			return -1;
		out->names[count] = e2b_name_format(rq->arena, other.own);
		out->tags[count++] = other.tag;
	}
	return 0;
}

/* The mark in the id of a build that this project announced. It distinguishes a build that is
 * forgotten from one that was never announced. */
static uint32_t mark_of(struct request *rq, const char *id)
{
	const char *what = arena_format(rq->arena, "announced %s %s", api_project(rq), id);
	char token[FLEET_ACCESS_TOKEN_SIZE + 1];
	uint32_t mark = 0;

	fleet_access_token(api_of(rq)->fleet, what, FLEET_ACCESS_BUILD, token);
	for (unsigned i = 0; i < E2B_MARK_BITS / 4; i++)
		mark = mark << 4 |
		       (uint32_t)(token[i] <= '9' ? token[i] - '0' : token[i] - 'a' + 10);
	return mark;
}

/* The resources that its sandboxes will get, as far as they are known. */
static void fill_resources(struct request *rq, const struct announce_body *b,
                           struct announce_answer *out)
{
	const struct config *config = api_of(rq)->config;
	const struct sandbox_resources layers[] = {
	        {.cpu = (double)b->cpu, .memory_mb = b->memory_mb, .disk_mb = b->disk_mb},
	        config->defaults,
	        SANDBOX_BUILT_IN_RESOURCES,
	};
	const struct sandbox_resources found =
	        sandbox_resources_resolve(layers, COUNT_OF(layers), &config->caps);

	out->cpu_count = (int64_t)ceil(found.cpu);
	out->memory_mb = found.memory_mb;
	out->disk_mb = found.disk_mb;
}

static int announce_build(struct request *rq, const struct announce_body *b,
                          const struct json_shape *shape, struct reply *reply, struct error *err)
{
	struct id id = id_new();
	struct e2b_announced_build announced = {
	        .cpu = b->cpu,
	        .memory_mb = b->memory_mb,
	        .disk_mb = b->disk_mb,
	        .made_at = clock_monotonic_ms(),
	};
	struct announce_answer out = {
	        .build_id = e2b_uuid_format(rq->arena, id.text, mark_of(rq, id.text)),
	        .names = ARENA_ARRAY(rq->arena, const char *, BUILD_ALSO_MAX + 2),
	        .tags = ARENA_ARRAY(rq->arena, const char *, BUILD_ALSO_MAX + 2),
	        .aliases = ARENA_ARRAY(rq->arena, const char *, 2),
	        .created_at = clock_unix_ms(),
	        .build_count = 1,
	        .envd_version = E2B_ENVD_VERSION,
	};

	if (name_build(rq, b, &announced, &out, err) < 0)
		return -1;
	memcpy(announced.id, id.text, sizeof(announced.id));
	(void)snprintf(announced.project_id, sizeof(announced.project_id), "%s", api_project(rq));
	e2b_announced_build_put(api_of(rq)->e2b->builds, &announced);
	fill_resources(rq, b, &out);
	reply_status(reply, 202);
	reply_json(reply, shape, &out);
	return 0;
}

static int announce_build_v3(struct request *rq, const void *body, struct reply *reply,
                             struct error *err)
{
	return announce_build(rq, body, &announced_shape, reply, err);
}

static int announce_build_v2(struct request *rq, const void *body, struct reply *reply,
                             struct error *err)
{
	return announce_build(rq, body, &announced_v2_shape, reply, err);
}

struct e2b_files_answer {
	bool present;
	const char *url;
};
static const struct json_member files_answer_shape_members[] = {
        JSON_BOOL_MEMBER(e2b_files_answer, present),
        JSON_TEXT_MEMBER(e2b_files_answer, url, .flags = JSON_OMIT_EMPTY),
};
static JSON_SHAPE(files_answer_shape, "E2bFilesUpload", e2b_files_answer,
                  "The address to upload files to");

/* The text to sign: the project, the files and the time until which the upload is allowed. */
static const char *permit_of(struct arena *a, const struct build_upload *files, int64_t expires_s)
{
	return arena_format(a, "%s %s %lld", files->project_id, files->hash, (long long)expires_s);
}

/* The URL of an upload, with a token, because clients send no key with it. */
static const char *upload_url(struct request *rq, const struct build_upload *files)
{
	int64_t expires_s = (clock_unix_ms() + UPLOAD_MS) / 1000;
	const char *origin = api_of(rq)->config->preview_origin, *host = request_header(rq, "Host");
	const char *proto = request_header(rq, "X-Forwarded-Proto");
	bool is_https = rq->is_tls || (proto && strcmp(proto, "https") == 0);
	char token[FLEET_ACCESS_TOKEN_SIZE + 1];

	fleet_access_token(api_of(rq)->fleet, permit_of(rq->arena, files, expires_s),
	                   FLEET_ACCESS_UPLOAD, token);
	if (!origin[0])
		origin = arena_format(rq->arena, "%s://%s", is_https ? "https" : "http",
		                      host ? host : "127.0.0.1");
	return arena_format(rq->arena, "%s/templates/%s/files/%s?project=%s&expires=%lld&token=%s",
	                    origin, request_param(rq, "id"), files->hash, files->project_id,
	                    (long long)expires_s, token);
}

static int find_build_files(struct request *rq, UNUSED const void *body, struct reply *reply,
                            struct error *err)
{
	const struct build_upload files = {api_project(rq), request_param(rq, "hash")};
	struct e2b_files_answer out = {.url = NULL};
	int64_t size;

	if (build_files_check(files.hash, err) < 0 ||
	    fleet_build_files_find(api_of(rq)->fleet, files.project_id, files.hash, &out.present,
	                           &size, err) < 0)
		return -1;
	if (!out.present)
		out.url = upload_url(rq, &files);
	reply_status(reply, 201);
	reply_json(reply, &files_answer_shape, &out);
	return 0;
}

struct e2b_upload_query {
	const char *project, *token;
	int64_t expires;
};
static const struct json_member upload_query_members[] = {
        JSON_TEXT_MEMBER(e2b_upload_query, project, .flags = JSON_REQUIRED, .max = 64),
        JSON_TEXT_MEMBER(e2b_upload_query, token, .flags = JSON_REQUIRED, .max = 256),
        JSON_WHOLE_MEMBER(e2b_upload_query, expires, .flags = JSON_REQUIRED, .min = 0),
};
static JSON_SHAPE(upload_query, "E2bUploadQuery", e2b_upload_query,
                  "A signed permission to upload");

static int upload_build_files(struct request *rq, UNUSED const void *body, struct reply *reply,
                              struct error *err)
{
	const struct e2b_upload_query *q = rq->query;
	const struct build_upload files = {q->project, request_param(rq, "hash")};
	const char *permit = permit_of(rq->arena, &files, q->expires);

	if (!fleet_access_check(api_of(rq)->fleet, permit, FLEET_ACCESS_UPLOAD,
	                        span_of(q->token)) ||
	    q->expires * 1000 < clock_unix_ms())
		return FAIL(err, ERROR_FORBIDDEN, "this upload address is invalid or has expired");
	return build_upload_start(rq, &files, reply, err);
}

struct build_start_body {
	const char *from_image, *from_template, *start, *ready;
	struct span registry;
	bool force;
	struct json_list steps;
};
static const struct json_member start_request_members[] = {
        JSON_TEXT_MEMBER(build_start_body, from_image, .name = "fromImage", .max = 512),
        JSON_TEXT_MEMBER(build_start_body, from_template, .name = "fromTemplate", .max = 256),
        JSON_TEXT_MEMBER(build_start_body, start, .name = "startCmd", .max = 16384),
        JSON_TEXT_MEMBER(build_start_body, ready, .name = "readyCmd", .max = 16384),
        JSON_RAW_MEMBER(build_start_body, registry, .name = "fromImageRegistry"),
        JSON_BOOL_MEMBER(build_start_body, force),
        JSON_LIST_MEMBER(build_start_body, steps, &e2b_step_shape, .max = BUILD_STEPS_MAX),
};
static JSON_OPEN_SHAPE(start_request, "E2bBuildStart", build_start_body, "The steps of a template");

enum registry_type { REGISTRY_ANY, REGISTRY_AMAZON, REGISTRY_GOOGLE };
static const char *const registry_types[] = {"registry", "aws", "gcp", NULL};
struct registry_body {
	int type; /* enum registry_type */
	const char *username, *password, *service_account;
};
static const struct json_member registry_shape_members[] = {
        JSON_CHOICE_MEMBER(registry_body, type, .flags = JSON_REQUIRED, .choices = registry_types),
        JSON_TEXT_MEMBER(registry_body, username),
        JSON_TEXT_MEMBER(registry_body, password, .flags = JSON_SECRET),
        JSON_TEXT_MEMBER(registry_body, service_account, .name = "serviceAccountJson",
                         .flags = JSON_SECRET),
};
static JSON_OPEN_SHAPE(registry_shape, "E2bRegistry", registry_body,
                       "Credentials for a registry of images");

/* The template of an imported image: that of "python:3.12" is python-3.12. */
static const char *image_template(struct arena *a, const char *image)
{
	size_t size = strlen(BASE_IMAGE);

	if (strncmp(image, BASE_IMAGE, size) == 0 && (!image[size] || image[size] == ':'))
		return BASE_TEMPLATE;
	return fleet_image_name(a, image);
}

/* Google's registries accept a service account's key as the password. Amazon's need a password from
 * Amazon's API that expires after hours. */
static int read_registry(struct request *rq, struct span text, struct image_login *ret,
                         struct error *err)
{
	struct registry_body body;

	if (text.size == 0 || span_equals_text(text, "null"))
		return 0;
	if (json_parse(rq->arena, text, &registry_shape, &body, err) < 0)
		return FAIL_CONTEXT(err, "fromImageRegistry");
	switch ((enum registry_type)body.type) {
	case REGISTRY_ANY:
		*ret = (struct image_login){body.username, body.password};
		break;
	case REGISTRY_GOOGLE:
		*ret = (struct image_login){GOOGLE_USERNAME, body.service_account};
		break;
	case REGISTRY_AMAZON:
		(void)FAIL(err, ERROR_UNSUPPORTED,
		           "fromImageRegistry: type 'aws' is not supported by this server");
		error_hint(err, "type 'registry' with username AWS and the password of 'aws ecr "
		                "get-login-password'");
		return -1;
	}
	return image_login_check(ret, err) < 0 ? FAIL_CONTEXT(err, "fromImageRegistry") : 0;
}

static int choose_source(struct request *rq, const struct build_start_body *b,
                         struct build_spec *spec, struct error *err)
{
	struct e2b_name name;

	if (read_registry(rq, b->registry, &spec->login, err) < 0)
		return -1;
	if (b->from_template) {
		if (e2b_name_parse(rq->arena, b->from_template, &name, err) < 0)
			return -1;
		spec->from = name.own;
		return 0;
	}
	spec->from = b->from_image ? image_template(rq->arena, b->from_image) : BASE_TEMPLATE;
	if (b->from_image && strcmp(spec->from, BASE_TEMPLATE) != 0)
		spec->image = b->from_image;
	return 0;
}

static int find_announced(struct request *rq, struct e2b_announced_build *ret, struct error *err)
{
	uint32_t mark;
	struct id id;

	if (e2b_uuid_parse(request_param(rq, "build"), &id, &mark, err) < 0)
		return -1;
	if (!e2b_announced_build_find(api_of(rq)->e2b->builds, api_project(rq), id.text, ret))
		return FAIL(err, ERROR_NOT_FOUND,
		            "no build '%.60s' was announced here within the last hour",
		            request_param(rq, "build"));
	return 0;
}

static int begin_build(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct build_start_body *b = body;
	const char **also = ARENA_ARRAY(rq->arena, const char *, BUILD_ALSO_MAX + 1);
	bool starts = b->start && b->start[0];
	struct build_spec spec = {
	        .start = b->start,
	        .ready = starts ? b->ready : NULL,
	        .no_cache = b->force,
	        .also = also,
	};
	struct build_record made;
	struct e2b_announced_build announced;
	const struct fleet_build request = {.project_id = api_project(rq),
	                                    .id = announced.id,
	                                    .key_id = api_key_id(rq),
	                                    .spec = &spec};

	if (find_announced(rq, &announced, err) < 0)
		return -1;
	if (announced.is_started)
		return FAIL(err, ERROR_CONFLICT, "this build has begun already");
	spec.name = announced.name;
	spec.resources = (struct build_resources){.cpu = (double)announced.cpu,
	                                          .memory_mb = announced.memory_mb,
	                                          .disk_mb = announced.disk_mb};
	for (unsigned i = 0; i < announced.also_count; i++)
		also[i] = announced.also[i];
	if (choose_source(rq, b, &spec, err) < 0 ||
	    e2b_steps_read(rq->arena, &b->steps, &spec, &announced, err) < 0)
		return -1;
	if (!starts && b->ready && b->ready[0])
		e2b_steps_add_ready(rq->arena, b->ready, &spec);
	if (fleet_build_start(api_of(rq)->fleet, rq->arena, &request, &made, err) < 0)
		return -1;
	announced.is_started = true;
	e2b_announced_build_put(api_of(rq)->e2b->builds, &announced);
	reply_status(reply, 202);
	reply_text(reply, "application/json", (struct span){"", 0});
	return 0;
}

static const char *const levels[] = {"debug", "info", "warn", "error", NULL};

struct e2b_log_line {
	const char *at, *message, *step;
	int level;
};
static const struct json_member line_shape_members[] = {
        JSON_TEXT_MEMBER(e2b_log_line, at, .name = "timestamp"),
        JSON_CHOICE_MEMBER(e2b_log_line, level, .choices = levels),
        JSON_TEXT_MEMBER(e2b_log_line, message),
        JSON_TEXT_MEMBER(e2b_log_line, step, .flags = JSON_OMIT_EMPTY),
};
static JSON_SHAPE(line_shape, "E2bBuildLine", e2b_log_line, "A line of a build's log");

struct e2b_build_reason {
	const char *message, *step;
	struct json_list entries;
};
static const struct json_member reason_shape_members[] = {
        JSON_TEXT_MEMBER(e2b_build_reason, message),
        JSON_TEXT_MEMBER(e2b_build_reason, step, .flags = JSON_OMIT_EMPTY),
        JSON_LIST_MEMBER(e2b_build_reason, entries, &line_shape, .name = "logEntries"),
};
static JSON_SHAPE(reason_shape, "E2bBuildReason", e2b_build_reason, "Why the build failed");

struct e2b_build_status {
	const char *template_id, *build_id, *status;
	const char **logs;
	struct json_list entries;
	struct e2b_build_reason reason;
};
#define STATUS_ROWS                                                                                \
	JSON_TEXT_MEMBER(e2b_build_status, template_id, .name = "templateID"),                     \
	        JSON_TEXT_MEMBER(e2b_build_status, build_id, .name = "buildID"),                   \
	        JSON_TEXT_MEMBER(e2b_build_status, status),                                        \
	        JSON_TEXT_LIST_MEMBER(e2b_build_status, logs),                                     \
	        JSON_LIST_MEMBER(e2b_build_status, entries, &line_shape, .name = "logEntries")
static const struct json_member status_shape_members[] = {STATUS_ROWS};
static JSON_SHAPE(status_shape, "E2bBuildStatus", e2b_build_status, "The status of a build");
static const struct json_member failed_shape_members[] = {
        STATUS_ROWS,
        JSON_OBJECT_MEMBER(e2b_build_status, reason, &reason_shape),
};
static JSON_SHAPE(failed_shape, "E2bBuildFailed", e2b_build_status, "The status of a failed build");

/* E2B calls the phase before the first step "base". */
static const char *step_name(struct arena *a, const struct e2b_announced_build *announced,
                             int64_t step)
{
	if (step < 1)
		return "base";
	if (step <= BUILD_STEPS_MAX && announced->step_of[step - 1])
		step = announced->step_of[step - 1];
	return arena_format(a, "%lld", (long long)step);
}

static struct e2b_log_line line_of(struct arena *a, const struct e2b_announced_build *announced,
                                   const struct json_value *v)
{
	const char *level = json_text(json_get(v, "level"), "info");
	int64_t step = json_whole(json_get(v, "step"), 0);

	return (struct e2b_log_line){
	        .at = json_text(json_get(v, "at"), ""),
	        .message = json_text(json_get(v, "text"), ""),
	        .step = step > 0 ? step_name(a, announced, step) : NULL,
	        .level = strcmp(level, "warning") == 0 ? 2 : 1,
	};
}

static int fill_lines(struct request *rq, const struct e2b_announced_build *announced,
                      int64_t since, struct json_list *ret, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(LINES_BYTES);
	struct e2b_log_line *items = ARENA_ARRAY(rq->arena, struct e2b_log_line, LINES_MAX);
	struct span rest, part;
	int64_t next;

	*ret = (struct json_list){items, 0, true};
	if (build_log_read(rq, announced->id, since, &text, &next, err) < 0)
		return -1;
	rest = buf_span(&text);
	while (ret->count < LINES_MAX && span_split(&rest, '\n', &part)) {
		const struct json_value *v;

		if (json_load(rq->arena, part, &v, err) < 0)
			return -1;
		items[ret->count++] = line_of(rq->arena, announced, v);
	}
	return 0;
}

static const char *const statuses[BUILD_STATE_COUNT] = {
        [BUILD_WAITING] = "waiting", [BUILD_BUILDING] = "building", [BUILD_READY] = "ready",
        [BUILD_ERROR] = "error",     [BUILD_CANCELLED] = "error",
};

struct e2b_build_status_query {
	int64_t logs_offset, cursor, limit;
};
static const struct json_member status_query_members[] = {
        JSON_WHOLE_MEMBER(e2b_build_status_query, logs_offset, .name = "logsOffset", .min = 0),
        JSON_WHOLE_MEMBER(e2b_build_status_query, limit, .min = 0),
};
static JSON_OPEN_SHAPE(status_query, "E2bStatusQuery", e2b_build_status_query,
                       "The first line of the log to show");

/* An older build is found without its announcement, which is only needed to number the steps. */
static int find_build(struct request *rq, struct e2b_announced_build *announced,
                      struct build_record *ret, struct error *err)
{
	const char *text = request_param(rq, "build");
	struct fleet_ref ref = {.project_id = api_project(rq)};
	uint32_t mark;
	struct id id;

	if (e2b_uuid_parse(text, &id, &mark, err) < 0)
		return -1;
	if (!e2b_announced_build_find(api_of(rq)->e2b->builds, ref.project_id, id.text,
	                              announced)) {
		*announced = (struct e2b_announced_build){.is_started = true};
		memcpy(announced->id, id.text, sizeof(announced->id));
	}
	if (!announced->is_started) {
		*ret = (struct build_record){.state = BUILD_WAITING};
		return 0;
	}
	ref.id_or_name = announced->id;
	if (fleet_build_find(api_of(rq)->fleet, rq->arena, &ref, ret, err) == 0)
		return 0;
	if (err->code != ERROR_NOT_FOUND || mark != mark_of(rq, announced->id))
		return -1;
	/* A polling client must see a final state. */
	error_clear(err);
	*ret = (struct build_record){.state = BUILD_ERROR, .message = LOST};
	return 0;
}

static int get_build_status(struct request *rq, UNUSED const void *body, struct reply *reply,
                            struct error *err)
{
	const struct e2b_build_status_query *q = rq->query;
	struct e2b_build_status out = {.template_id = request_param(rq, "id"),
	                               .build_id = request_param(rq, "build")};
	struct e2b_announced_build announced;
	struct build_record r;
	const struct e2b_log_line *lines;

	if (find_build(rq, &announced, &r, err) < 0 ||
	    fill_lines(rq, &announced, q->logs_offset, &out.entries, err) < 0)
		return -1;
	lines = out.entries.items;
	out.status = statuses[r.state];
	out.logs = ARENA_ARRAY(rq->arena, const char *, out.entries.count + 1);
	for (size_t i = 0; i < out.entries.count; i++)
		out.logs[i] = lines[i].message;
	if (r.state == BUILD_ERROR || r.state == BUILD_CANCELLED)
		out.reason = (struct e2b_build_reason){r.message[0] ? r.message : "cancelled",
		                                       step_name(rq->arena, &announced, r.step),
		                                       {NULL, 0, true}};
	reply_json(reply, out.reason.message ? &failed_shape : &status_shape, &out);
	return 0;
}

struct e2b_build_logs {
	struct json_list logs;
};
static const struct json_member logs_shape_members[] = {
        JSON_LIST_MEMBER(e2b_build_logs, logs, &line_shape),
};
static JSON_SHAPE(logs_shape, "E2bBuildLogs", e2b_build_logs, "Lines of a build's log");

static int get_build_logs(struct request *rq, UNUSED const void *body, struct reply *reply,
                          struct error *err)
{
	const struct e2b_build_status_query *q = rq->query;
	struct e2b_build_logs out;
	struct e2b_announced_build announced;
	struct build_record r;

	if (find_build(rq, &announced, &r, err) < 0 ||
	    fill_lines(rq, &announced, q->logs_offset, &out.logs, err) < 0)
		return -1;
	reply_json(reply, &logs_shape, &out);
	return 0;
}

#define WRITE SCOPE_TEMPLATE_WRITE
#define BUILD "/templates/:id/builds/:build"
const struct route e2b_builds_routes[] = {
        {HTTP_POST, "/v3/templates", WRITE, ROUTE_HIDDEN, .body = &announce_request, .status = 202,
         .handle = announce_build_v3, E2B_ROW},
        {HTTP_POST, "/v2/templates", WRITE, ROUTE_HIDDEN, .body = &announce_request, .status = 202,
         .handle = announce_build_v2, E2B_ROW},
        {HTTP_GET, "/templates/:id/files/:hash", WRITE, ROUTE_HIDDEN, .status = 201,
         .handle = find_build_files, E2B_ROW},
        {HTTP_PUT, "/templates/:id/files/:hash", 0, ROUTE_PUBLIC | ROUTE_STREAM_BODY | ROUTE_HIDDEN,
         .query = &upload_query, .status = 201, .handle = upload_build_files, E2B_ROW},
        {HTTP_POST, "/v2" BUILD, WRITE, ROUTE_HIDDEN, .body = &start_request,
         .body_max = (size_t)4 << 20, .status = 202, .handle = begin_build, E2B_ROW},
        {HTTP_GET, BUILD "/status", SCOPE_SANDBOX_READ, ROUTE_HIDDEN, .query = &status_query,
         .handle = get_build_status, E2B_ROW},
        {HTTP_GET, BUILD "/logs", SCOPE_SANDBOX_READ, ROUTE_HIDDEN, .query = &status_query,
         .handle = get_build_logs, E2B_ROW},
        {.path = NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/instances — create, get, start, stop, pause, archive and keep awake. */
#include <string.h>
#include <strings.h>

#include "calls/configs.h"
#include "edge/idempotency.h"
#include "edge/undo.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/create.h"
#include "fleet/sandbox/egress.h"
#include "fleet/sandbox/settings.h"
#include "fleet/volume/volume.h"
#include "provider/provider.h"
#include "store/sandbox_record.h"
#include "surface/native/egress.h"
#include "surface/native/native.h"
#include "surface/native/plans.h"
#include "surface/native/resources.h"
#include "surface/native/sandbox_answer.h"
#include "surface/native/timeouts.h"

#define BASE "/api/sandbox/instances"

static const struct json_member resources_request_members[] = {
        JSON_NUMBER_MEMBER(resources_body, cpu, .min = 0, .max = 1024, .about = "vCPUs",
                           .example = "0.5"),
        JSON_WHOLE_MEMBER(resources_body, memory_mb, .min = 0, .max = 1 << 24, .about = "MiB",
                          .example = "1024"),
        JSON_WHOLE_MEMBER(resources_body, disk_mb, .min = 0, .max = 1 << 28, .about = "MiB",
                          .example = "1024"),
        JSON_WHOLE_MEMBER(resources_body, pids, .min = 0, .max = 1 << 22,
                          .about = "processes and threads", .example = "512"),
};
JSON_SHAPE(resources_request, "ResourcesRequest", resources_body,
           "Limits; omitted members and 0 are inherited from the project and the platform");
static const struct json_member resources_answer_members[] = {
        JSON_NUMBER_MEMBER(resources_body, cpu, .about = "vCPUs"),
        JSON_WHOLE_MEMBER(resources_body, memory_mb, .about = "MiB"),
        JSON_WHOLE_MEMBER(resources_body, disk_mb, .about = "MiB"),
        JSON_WHOLE_MEMBER(resources_body, pids, .about = "processes and threads"),
        JSON_BOOL_MEMBER(resources_body, disk_advisory, .about = "the host cannot enforce disk_mb"),
};
JSON_SHAPE(resources_answer, "Resources", resources_body, "Limits in effect");

static const char *const networks[] = {"blocked", "internet", NULL};

struct sandbox_mount_body {
	const char *volume, *path, *subpath;
	bool read_only;
};
static const struct json_member mount_request_members[] = {
        JSON_TEXT_MEMBER(sandbox_mount_body, volume, .flags = JSON_REQUIRED,
                         .max = SANDBOX_NAME_MAX, .about = "name or id"),
        JSON_TEXT_MEMBER(sandbox_mount_body, path, .max = SANDBOX_MOUNT_PATH_MAX,
                         .about = "absolute mount point (default /workspace)", .example = "/data"),
        JSON_BOOL_MEMBER(sandbox_mount_body, read_only,
                         .about = "mount read-only; any number of sandboxes may read a volume"),
        JSON_TEXT_MEMBER(sandbox_mount_body, subpath, .max = SANDBOX_MOUNT_PATH_MAX,
                         .about = "folder of the volume to mount, created if missing (default: the "
                                  "whole volume)",
                         .example = "users/alice"),
};
static JSON_SHAPE(mount_request, "SandboxVolume", sandbox_mount_body,
                  "A volume and its mount point");

struct sandbox_create_body {
	struct native_egress egress;
	const char *template, *image, *name, *region, *snapshot, *config, *provider, *isolation;
	struct json_map labels, env;
	struct resources_body resources;
	bool internet;
	int network, pull;
	bool persistent, preview_enabled, preview_public;
	int64_t timeout_ms;
	struct sandbox_timeouts timeouts;
	const char *volume;
	struct json_list volumes;
	const char *persistent_home;
	int64_t persistent_disk_gb;
	uint64_t present;
};
enum sandbox_create_row {
	CREATE_TEMPLATE,
	CREATE_NAME,
	CREATE_REGION,
	CREATE_LABELS,
	CREATE_ENV,
	CREATE_RESOURCES,
	CREATE_INTERNET,
	CREATE_NETWORK,
	CREATE_PREVIEW,
};
#define DURATION_MAX ((int64_t)365 * 24 * 3600 * 1000)
static const struct json_member sandbox_create_request_members[] = {
        [CREATE_TEMPLATE] = JSON_TEXT_MEMBER(
                sandbox_create_body, template, .max = 128,
                .about = "name or id (default: the server's default template)", .example = "base"),
        [CREATE_NAME] = JSON_TEXT_MEMBER(sandbox_create_body, name, .max = SANDBOX_NAME_MAX,
                                         .about = "unique in the project (default: generated)"),
        [CREATE_REGION] = JSON_TEXT_MEMBER(
                sandbox_create_body, region, .max = 64,
                .about = "free-form label of the location; the server only stores it"),
        [CREATE_LABELS] =
                JSON_TEXT_MAP_MEMBER(sandbox_create_body, labels, .max = SANDBOX_LABELS_MAX,
                                     .about = "labels to filter lists by"),
        [CREATE_ENV] =
                JSON_TEXT_MAP_MEMBER(sandbox_create_body, env, .max = 256, .flags = JSON_SECRET,
                                     .about = "environment of every command; overrides the "
                                              "template's environment; never returned"),
        [CREATE_RESOURCES] = JSON_OBJECT_MEMBER(sandbox_create_body, resources, &resources_request),
        [CREATE_INTERNET] =
                JSON_BOOL_MEMBER(sandbox_create_body, internet, .about = "false: no network"),
        [CREATE_NETWORK] =
                JSON_CHOICE_MEMBER(sandbox_create_body, network, .choices = networks,
                                   .about = "blocked or internet; same as the member internet"),
        [CREATE_PREVIEW] =
                JSON_BOOL_MEMBER(sandbox_create_body, preview_enabled, .name = "previewEnabled",
                                 .about = "false: no previews of the sandbox (default true)"),
        JSON_BOOL_MEMBER(sandbox_create_body, preview_public, .name = "previewPublic",
                         .about = "allow shared links to previews (default false)"),
        JSON_OBJECT_MEMBER(sandbox_create_body, egress, &native_egress_shape,
                           .about = "destinations that the sandbox may reach (default: all that "
                                    "the server permits)"),
        JSON_TEXT_MEMBER(sandbox_create_body, image, .max = 512,
                         .about = "image of a registry, instead of a template; pulled if the "
                                  "project does not have it yet",
                         .example = "python:3.12"),
        JSON_CHOICE_MEMBER(sandbox_create_body, pull, .choices = fleet_pull_names,
                           .about = "of image: missing pulls an image that the project does not "
                                    "have; always asks the registry, and pulls when the tag has "
                                    "another image by now; never refuses an image that the "
                                    "project does not have (default missing)"),
        JSON_TEXT_MEMBER(sandbox_create_body, provider, .max = SANDBOX_NAME_MAX,
                         .about = "name of the provider that makes it, as GET /v1/providers lists "
                                  "them (default: the first that satisfies the request)"),
        JSON_TEXT_MEMBER(sandbox_create_body, isolation, .max = 16,
                         .about = "the least isolation that is accepted: none, namespaces, "
                                  "gvisor, microvm or remote (default: that of the first "
                                  "provider)"),
        JSON_TEXT_MEMBER(sandbox_create_body, config, .max = 64,
                         .about = "id or name of a config of /accounts/me/sandboxes; it supplies "
                                  "members that are omitted here"),
        JSON_TEXT_MEMBER(sandbox_create_body, snapshot, .max = 64,
                         .about = "name or id of a snapshot; the sandbox starts with its files and "
                                  "on its template"),
        JSON_BOOL_MEMBER(sandbox_create_body, persistent,
                         .about = "the idle timeout does not delete the sandbox"),
        JSON_WHOLE_MEMBER(
                sandbox_create_body, timeout_ms, .min = 0, .max = DURATION_MAX,
                .about = "time after the creation at which an ephemeral sandbox is deleted and a "
                         "persistent one stopped, with its files kept; 0: never"),
        SANDBOX_INHERITED_TIMEOUTS(TIMEOUT_CREATE_INHERITED, sandbox_create_body),
        SANDBOX_OWN_TIMEOUTS(TIMEOUT_CREATE_OWN, sandbox_create_body),
        JSON_TEXT_MEMBER(sandbox_create_body, volume, .max = SANDBOX_NAME_MAX,
                         .about = "name or id of a volume to mount writable at /workspace"),
        JSON_LIST_MEMBER(sandbox_create_body, volumes, &mount_request, .max = SANDBOX_MOUNTS_MAX,
                         .about = "volumes to mount at chosen paths"),
        JSON_TEXT_MEMBER(
                sandbox_create_body, persistent_home, .name = "persistentHome", .max = 58,
                .about =
                        "KEY: the volume home-KEY is mounted at /home/user and created if missing"),
        JSON_WHOLE_MEMBER(
                sandbox_create_body, persistent_disk_gb, .name = "persistentDiskGb", .min = 1,
                .max = 1 << 18,
                .about = "size limit of that volume in GiB when it is created (default: no limit)"),
};
static JSON_BITS_SHAPE(sandbox_create_request, "SandboxCreate", sandbox_create_body,
                       "Settings of a new sandbox");

struct sandbox_create_query {
	bool wait, dry_run;
	uint64_t present;
};
static const struct json_member sandbox_create_query_members[] = {
        JSON_BOOL_MEMBER(sandbox_create_query, wait,
                         .about = "false: answer immediately with 202 and state pending, as with "
                                  "the header Prefer: respond-async (default true)"),
        JSON_BOOL_MEMBER(sandbox_create_query, dry_run,
                         .about = "true: make nothing, and answer the effective values with their "
                                  "sources"),
};
static JSON_BITS_SHAPE(sandbox_create_query, "SandboxCreateQuery", sandbox_create_query, NULL);

static int choose_internet(const struct sandbox_create_body *b, int *ret, struct error *err)
{
	bool by_flag = row_is_given(b->present, CREATE_INTERNET),
	     by_name = row_is_given(b->present, CREATE_NETWORK);

	if (by_flag && by_name && b->internet != (b->network == SANDBOX_NETWORK_INTERNET))
		return FAIL(err, ERROR_INVALID, "internet and network contradict each other");
	if (by_flag)
		*ret = b->internet;
	else
		*ret = by_name ? b->network == SANDBOX_NETWORK_INTERNET : -1;
	return 0;
}

/* A repeated request with the same Idempotency-Key returns the sandbox of the first request. */
static int create_once(struct request *rq, struct fleet_create *request, struct reply *reply,
                       struct sandbox_record *ret, struct error *err)
{
	struct fleet *fleet = api_of(rq)->fleet;
	struct fleet_once_result result = {.created = true};
	struct idempotent_request once;
	struct fleet_ref made;

	if (idempotency_begin(rq, "create", NULL, &once, err) < 0)
		return -1;
	if (!once.found.is_first) {
		made = (struct fleet_ref){request->project_id, once.found.id};
		if (fleet_find(fleet, rq->arena, &made, ret, err) == 0) {
			reply_header(reply, "Idempotent-Replayed", "true");
			return 0;
		}
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		return FAIL(err, ERROR_CONFLICT,
		            "Idempotency-Key: the sandbox of the first request is deleted");
	}
	request->id = once.found.id;
	if (fleet_create(fleet, rq->arena, request, ret, err) < 0) {
		idempotency_end(rq, &once, NULL);
		return -1;
	}
	result.id = ret->id;
	idempotency_end(rq, &once, &result);
	return 0;
}

static int fill_mounts(struct arena *a, const struct sandbox_create_body *b,
                       struct fleet_create *ret, struct error *err)
{
	const struct sandbox_mount_body *items = b->volumes.items;
	struct fleet_mount *mounts = ARENA_ARRAY(a, struct fleet_mount, b->volumes.count + 1);

	if (b->persistent_disk_gb && !b->persistent_home)
		return FAIL(err, ERROR_INVALID, "persistentDiskGb is given without persistentHome");
	for (size_t i = 0; i < b->volumes.count; i++)
		mounts[i] = (struct fleet_mount){items[i].volume, items[i].path, items[i].subpath,
		                                 items[i].read_only};
	ret->mounts = mounts;
	ret->mount_count = b->volumes.count;
	if (b->volume)
		mounts[ret->mount_count++] = (struct fleet_mount){.volume = b->volume};
	/* Otherwise the values of the config stay. */
	if (b->persistent_home)
		ret->persistent_home = b->persistent_home;
	if (b->persistent_disk_gb)
		ret->persistent_home_mb = b->persistent_disk_gb * 1024;
	return 0;
}

/* Prefer: respond-async (RFC 7240) answers in state pending, like wait=false. */
static bool prefers_async(const struct request *rq)
{
	const char *prefer = request_header(rq, "Prefer");
	struct span rest = prefer ? span_of(prefer) : (struct span){NULL, 0}, preference, name;

	while (rest.size) {
		(void)span_split(&rest, ',', &preference);
		(void)span_split(&preference, ';', &name);
		name = span_trim(name);
		if (name.size == strlen("respond-async") &&
		    strncasecmp(name.data, "respond-async", name.size) == 0)
			return true;
	}
	return false;
}

static int sandbox_create(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	const struct sandbox_create_body *b = body;
	const struct sandbox_create_query *query = rq->query;
	const struct api_config_use config = {b->config, NULL};
	bool is_async = prefers_async(rq);
	struct sandbox_record record;
	struct fleet_create request = {
	        .project_id = api_project(rq),
	        .key_id = api_key_id(rq),
	        .user_id = api_user_id(rq),
	        .name = b->name,
	        .template = b->template,
	        .image = b->image,
	        .pull = (enum fleet_pull)b->pull,
	        .snapshot = b->snapshot,
	        .provider = b->provider,
	        .isolation = b->isolation,
	        .region = b->region,
	        .labels = b->labels,
	        .env = b->env,
	        .resources = {b->resources.cpu, b->resources.memory_mb, b->resources.disk_mb,
	                      b->resources.pids},
	        .preview_off = row_is_given(b->present, CREATE_PREVIEW) && !b->preview_enabled,
	        .preview_public = b->preview_public,
	        .persistent = b->persistent,
	        .timeout_ms = b->timeout_ms,
	        .timeouts = b->timeouts,
	        .wait = !is_async && (!row_is_given(query->present, 0) || query->wait),
	        .awaited = api_awaited_if_parking(rq),
	};

	if (choose_internet(b, &request.internet, err) < 0 ||
	    (b->config && api_config_apply(rq, &config, &request, err) < 0) ||
	    fill_mounts(rq->arena, b, &request, err) < 0 ||
	    native_egress_format(rq->arena, &b->egress, &request.egress, err) < 0)
		return -1;
	if (query->dry_run)
		return reply_plan(rq, &request, reply, err);
	if (create_once(rq, &request, reply, &record, err) < 0)
		return -1;
	if (is_async)
		reply_header(reply, "Preference-Applied", "respond-async");
	reply_header(reply, "Location", arena_format(rq->arena, BASE "/%s", record.id));
	if (request.wait && !idempotency_is_used(rq, NULL))
		api_undo_create(rq, reply, record.id);
	reply_status(reply, request.wait ? 201 : 202);
	return sandbox_reply(rq, reply, &record);
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
	return sandbox_reply(rq, reply, &record);
}

static int sandbox_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);
	struct sandbox_record record;

	(void)body;
	if (fleet_find(api_of(rq)->fleet, rq->arena, &ref, &record, err) < 0)
		return -1;
	return sandbox_reply_with_relations(rq, reply, &record, err);
}

static int sandbox_start(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	(void)body;
	return run_verb(rq, reply, fleet_start, err);
}

static int sandbox_stop(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	(void)body;
	return run_verb(rq, reply, fleet_stop, err);
}

static int sandbox_archive(struct request *rq, const void *body, struct reply *reply,
                           struct error *err)
{
	(void)body;
	return run_verb(rq, reply, fleet_archive, err);
}

static int sandbox_pause(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	(void)body;
	return run_verb(rq, reply, fleet_pause, err);
}

static int sandbox_resume(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	(void)body;
	return run_verb(rq, reply, fleet_resume, err);
}

#define HOUR_MS (3600 * INT64_C(1000))

struct sandbox_keepalive_body {
	int64_t timeout_ms;
};
static const struct json_member keepalive_request_members[] = {
        JSON_WHOLE_MEMBER(sandbox_keepalive_body, timeout_ms, .name = "timeoutMs",
                          .flags = JSON_REQUIRED, .min = 1, .max = FLEET_KEEP_MAX_MS,
                          .about = "from now; never shortens an earlier keepalive",
                          .example = "600000"),
};
static JSON_SHAPE(keepalive_request, "SandboxKeepalive", sandbox_keepalive_body,
                  "How long to suspend the idle timeout");

struct sandbox_persist_body {
	int64_t hours;
};
static const struct json_member persist_request_members[] = {
        JSON_WHOLE_MEMBER(sandbox_persist_body, hours, .flags = JSON_REQUIRED, .min = 0,
                          .max = FLEET_KEEP_MAX_MS / HOUR_MS,
                          .about = "from now; 0 ends it together with any keepalive",
                          .example = "24"),
};
static JSON_SHAPE(persist_request, "SandboxPersist", sandbox_persist_body,
                  "How long to suspend the idle timeout");

static int keep_awake(struct request *rq, struct reply *reply, int64_t keep_ms, struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);
	struct sandbox_record record;

	if (fleet_keep(api_of(rq)->fleet, rq->arena, &ref, keep_ms, &record, err) < 0)
		return -1;
	return sandbox_reply(rq, reply, &record);
}

static int sandbox_keepalive(struct request *rq, const void *body, struct reply *reply,
                             struct error *err)
{
	const struct sandbox_keepalive_body *b = body;

	return keep_awake(rq, reply, b->timeout_ms, err);
}

static int sandbox_persist(struct request *rq, const void *body, struct reply *reply,
                           struct error *err)
{
	const struct sandbox_persist_body *b = body;

	return keep_awake(rq, reply, b->hours * HOUR_MS, err);
}

static int sandbox_egress_put(struct request *rq, const void *body, struct reply *reply,
                              struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);
	struct sandbox_record record;
	const char *egress;

	if (native_egress_format(rq->arena, body, &egress, err) < 0 ||
	    fleet_set_egress(api_of(rq)->fleet, rq->arena, &ref, egress, &record, err) < 0)
		return -1;
	return sandbox_reply(rq, reply, &record);
}

struct sandbox_stats_answer {
	int64_t sampled_at, uptime_ms, cpu_usage_us, memory_bytes, memory_limit_bytes;
	int64_t disk_bytes, disk_limit_bytes, pids, pids_limit;
	int64_t network_in_bytes, network_out_bytes, oom_kills;
	double cpu_percent; /* of the time since the start */
};
static const struct json_member stats_shape_members[] = {
        JSON_TIME_MEMBER(sandbox_stats_answer, sampled_at),
        JSON_WHOLE_MEMBER(sandbox_stats_answer, uptime_ms),
        JSON_WHOLE_MEMBER(sandbox_stats_answer, cpu_usage_us,
                          .about = "since the start of the sandbox"),
        JSON_NUMBER_MEMBER(sandbox_stats_answer, cpu_percent,
                           .about = "average percent of one vCPU since the start; for a shorter "
                                    "period compare two samples of cpu_usage_us"),
        JSON_WHOLE_MEMBER(sandbox_stats_answer, memory_bytes),
        JSON_WHOLE_MEMBER(sandbox_stats_answer, memory_limit_bytes),
        JSON_WHOLE_MEMBER(sandbox_stats_answer, disk_bytes,
                          .about = "size of the files on top of the template; -1: unknown"),
        JSON_WHOLE_MEMBER(sandbox_stats_answer, disk_limit_bytes),
        JSON_WHOLE_MEMBER(sandbox_stats_answer, pids),
        JSON_WHOLE_MEMBER(sandbox_stats_answer, pids_limit),
        JSON_WHOLE_MEMBER(sandbox_stats_answer, network_in_bytes),
        JSON_WHOLE_MEMBER(sandbox_stats_answer, network_out_bytes),
        JSON_WHOLE_MEMBER(sandbox_stats_answer, oom_kills),
};
static JSON_SHAPE(stats_shape, "Stats", sandbox_stats_answer,
                  "Current resource usage of a sandbox");

static int sandbox_stats(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);
	struct sandbox_record r;
	struct provider_stats s;
	struct sandbox_stats_answer out;

	(void)body;
	if (fleet_find(api_of(rq)->fleet, rq->arena, &ref, &r, err) < 0 ||
	    fleet_stats(api_of(rq)->fleet, &r, &s, err) < 0)
		return -1;
	out = (struct sandbox_stats_answer){
	        .sampled_at = s.sampled_unix_ms,
	        .uptime_ms = s.uptime_ms,
	        .cpu_usage_us = whole_or_unknown(s.cpu_usage_us),
	        .memory_bytes = whole_or_unknown(s.memory_bytes),
	        .memory_limit_bytes = whole_or_unknown(s.memory_limit_bytes),
	        .disk_bytes = whole_or_unknown(s.disk_bytes),
	        .disk_limit_bytes = whole_or_unknown(s.disk_limit_bytes),
	        .pids = whole_or_unknown(s.pids),
	        .pids_limit = whole_or_unknown(s.pids_limit),
	        .network_in_bytes = whole_or_unknown(s.network_in_bytes),
	        .network_out_bytes = whole_or_unknown(s.network_out_bytes),
	        .oom_kills = whole_or_unknown(s.oom_kills),
	};
	if (s.uptime_ms > 0)
		out.cpu_percent = (double)s.cpu_usage_us / 10.0 / (double)s.uptime_ms;
	reply_json(reply, &stats_shape, &out);
	return 0;
}

#define TAG .tag = "sandboxes"
const struct route sandboxes_routes[] = {
        {HTTP_POST, BASE, SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_PROGRESS,
         .query = &sandbox_create_query, .body = &sandbox_create_request, .answer = &sandbox_shape,
         .also = &plan_shape, .status = 201, .handle = sandbox_create, TAG,
         .summary = "Create and start a sandbox"},
        {HTTP_GET, BASE "/:id", SCOPE_SANDBOX_READ, .answer = &sandbox_shape, .handle = sandbox_get,
         TAG, .summary = "Get a sandbox by id or name"},
        {HTTP_POST, BASE "/:id/start", SCOPE_SANDBOX_WRITE, ROUTE_SLOW, .answer = &sandbox_shape,
         .handle = sandbox_start, TAG, .summary = "Start a stopped sandbox"},
        {HTTP_POST, BASE "/:id/stop", SCOPE_SANDBOX_WRITE, ROUTE_SLOW, .answer = &sandbox_shape,
         .handle = sandbox_stop, TAG, .summary = "Stop a sandbox; its files are kept"},
        {HTTP_POST, BASE "/:id/archive", SCOPE_SANDBOX_WRITE, ROUTE_SLOW, .answer = &sandbox_shape,
         .handle = sandbox_archive, TAG,
         .summary = "Move the files of a stopped sandbox to the blob store; a start restores them"},
        {HTTP_POST, BASE "/:id/pause", SCOPE_SANDBOX_WRITE, ROUTE_SLOW, .answer = &sandbox_shape,
         .handle = sandbox_pause, TAG,
         .summary = "Freeze a sandbox; its memory is kept and its next use resumes it"},
        {HTTP_POST, BASE "/:id/resume", SCOPE_SANDBOX_WRITE, ROUTE_SLOW, .answer = &sandbox_shape,
         .handle = sandbox_resume, TAG, .summary = "Resume a paused sandbox"},
        {HTTP_POST, BASE "/:id/keepalive", SCOPE_SANDBOX_WRITE, .body = &keepalive_request,
         .answer = &sandbox_shape, .handle = sandbox_keepalive, TAG,
         .summary = "Suspend the idle timeout of a sandbox"},
        {HTTP_POST, BASE "/:id/persist", SCOPE_SANDBOX_WRITE, .body = &persist_request,
         .answer = &sandbox_shape, .handle = sandbox_persist, TAG,
         .summary = "Keep a sandbox running for up to 24 hours"},
        {HTTP_PUT, BASE "/:id/egress", SCOPE_SANDBOX_WRITE, ROUTE_SLOW,
         .body = &native_egress_shape, .answer = &sandbox_shape, .handle = sandbox_egress_put, TAG,
         .summary = "Change which destinations a sandbox may reach, immediately"},
        {HTTP_GET, BASE "/:id/stats", SCOPE_SANDBOX_READ, .answer = &stats_shape,
         .handle = sandbox_stats, TAG, .summary = "Current resource usage of a sandbox"},
        {.path = NULL},
};

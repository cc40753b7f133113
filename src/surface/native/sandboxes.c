/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/instances — create, get, start, stop, pause, archive and keep awake. */
#include <string.h>
#include <strings.h>

#include "edge/idempotency.h"
#include "edge/undo.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/create.h"
#include "fleet/sandbox/settings.h"
#include "provider/provider.h"
#include "store/sandbox_record.h"
#include "surface/native/create_body.h"
#include "surface/native/egress.h"
#include "surface/native/native.h"
#include "surface/native/plans.h"
#include "surface/native/sandbox_answer.h"
#include "surface/native/timeouts.h"

#define BASE "/api/sandbox/instances"

static const struct json_member resources_answer_members[] = {
        JSON_NUMBER_MEMBER(resources_body, cpu, .about = "vCPUs"),
        JSON_WHOLE_MEMBER(resources_body, memory_mb, .about = "MiB"),
        JSON_WHOLE_MEMBER(resources_body, disk_mb, .about = "MiB"),
        JSON_WHOLE_MEMBER(resources_body, pids, .about = "processes and threads"),
        JSON_BOOL_MEMBER(resources_body, disk_advisory, .about = "the host cannot enforce disk_mb"),
};
JSON_SHAPE(resources_answer, "Resources", resources_body, "Limits in effect");

struct sandbox_create_body {
	struct native_create_body create;
	const char *name;
};
static const struct json_member sandbox_create_request_members[] = {
        NATIVE_CREATE_ROWS,
        JSON_TEXT_MEMBER(sandbox_create_body, name, .max = SANDBOX_NAME_MAX,
                         .about = "unique in the project (default: generated)"),
};
static NATIVE_CREATE_SHAPE(sandbox_create_request, "SandboxCreate", sandbox_create_body,
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
	bool is_async = prefers_async(rq);
	struct sandbox_record record;
	struct fleet_create request;

	if (native_create_parse(rq, &b->create, NULL, &request, err) < 0)
		return -1;
	request.name = b->name;
	request.wait = !is_async && (!row_is_given(query->present, 0) || query->wait);
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
	return api_check_budgets(rq, err) < 0 ? -1 : run_verb(rq, reply, fleet_start, err);
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

struct sandbox_pause_body {
	bool disk;
};
static const struct json_member pause_request_members[] = {
        JSON_BOOL_MEMBER(sandbox_pause_body, disk,
                         .about = "move the memory to the disk, where it outlives a restart of the "
                                  "host (default false); only virtual machines can"),
};
static JSON_SHAPE(pause_request, "Pause", sandbox_pause_body, "Options of a pause");

static int sandbox_pause(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct sandbox_pause_body *b = body;

	return run_verb(rq, reply, b->disk ? fleet_pause_to_disk : fleet_pause, err);
}

static int sandbox_resume(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	(void)body;
	return api_check_budgets(rq, err) < 0 ? -1 : run_verb(rq, reply, fleet_resume, err);
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

	if (native_egress_set(rq, &ref, body, &record, err) < 0)
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
        {HTTP_POST, BASE "/:id/pause", SCOPE_SANDBOX_WRITE, ROUTE_SLOW, .body = &pause_request,
         .answer = &sandbox_shape, .handle = sandbox_pause, TAG,
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

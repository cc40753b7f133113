/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/leases — one warm sandbox for each key. */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "calls/shapes.h"
#include "edge/forward.h"
#include "edge/hooks.h"
#include "edge/idempotency.h"
#include "edge/target.h"
#include "fleet/core/labels.h"
#include "fleet/core/use.h"
#include "fleet/lease/lease.h"
#include "fleet/sandbox/settings.h"
#include "surface/native/create_body.h"
#include "surface/native/exec.h"
#include "surface/native/native.h"

#define BASE "/v1/leases"

struct lease_acquire_body {
	struct native_create_body create;
	const char *key, *idempotency_key;
	bool continues, update;
	int64_t wait_ms;
};
enum lease_acquire_row {
	ACQUIRE_KEY = NATIVE_CREATE_ROW_COUNT,
	ACQUIRE_CONTINUE,
};
static const struct json_member lease_acquire_request_members[] = {
        NATIVE_CREATE_ROWS,
        [ACQUIRE_KEY] = JSON_TEXT_MEMBER(lease_acquire_body, key, .flags = JSON_REQUIRED, .min = 1,
                                         .max = LEASE_KEY_MAX,
                                         .about = "key of a user, a workspace, a chat or a session",
                                         .example = "workspace:42"),
        [ACQUIRE_CONTINUE] = JSON_BOOL_MEMBER(
                lease_acquire_body, continues, .name = "continue",
                .about = "false: return a fresh filesystem; running processes are ended and the "
                         "sandbox is reset, or replaced where a reset is impossible. Default: "
                         "true; for a run (header Atoll-Run) false, unless the files already "
                         "belong to that run"),
        JSON_WHOLE_MEMBER(
                lease_acquire_body, wait_ms, .min = 0, .max = LEASE_WAIT_MAX_MS,
                .about = "how long to wait while another call creates the sandbox; 0: 30 s"),
        JSON_TEXT_MEMBER(lease_acquire_body, idempotency_key, .min = 1, .max = ONCE_KEY_MAX,
                         .about = "the same as the header Idempotency-Key"),
        JSON_BOOL_MEMBER(
                lease_acquire_body, update,
                .about = "given members replace those of the lease's specification, and a sandbox "
                         "with another specification is replaced together with its files; without "
                         "this, status 409 names the differences"),
};
static NATIVE_CREATE_SHAPE(lease_acquire_request, "LeaseAcquire", lease_acquire_body,
                           "Key of a lease, and the specification of its sandbox if one is "
                           "created");

struct lease_keep_body {
	int64_t timeout_ms;
};
static const struct json_member lease_keep_request_members[] = {
        JSON_WHOLE_MEMBER(
                lease_keep_body, timeout_ms, .name = "timeoutMs", .min = 0,
                .max = FLEET_KEEP_MAX_MS,
                .about = "how long to suspend the idle timeout; 0: count as normal activity only"),
};
static JSON_SHAPE(lease_keep_request, "LeaseKeepAlive", lease_keep_body, "Duration of a keepalive");

struct lease_answer {
	const char *key, *username, *sandbox_id, *status, *type, *node, *run;
	bool paused, created, reset;
	int64_t lock_version, total_usage_seconds, last_activity_at, created_at, keep_until;
	struct span specification;
};
#define LEASE_ROWS                                                                                 \
	JSON_TEXT_MEMBER(lease_answer, key),                                                       \
	        JSON_TEXT_MEMBER(lease_answer, username, .about = "the same as key"),              \
	        JSON_TEXT_MEMBER(lease_answer, sandbox_id, .flags = JSON_NULLABLE,                 \
	                         .about = "null if the lease has no sandbox"),                     \
	        JSON_TEXT_MEMBER(lease_answer, status,                                             \
	                         .about = "ready, creating, or empty: the sandbox is gone, and "   \
	                                  "the next acquire creates one"),                         \
	        JSON_BOOL_MEMBER(lease_answer, paused,                                             \
	                         .about = "the sandbox is paused or stopped; acquire starts it"),  \
	        JSON_TEXT_MEMBER(lease_answer, type, .flags = JSON_NULLABLE, .about = "provider"), \
	        JSON_TEXT_MEMBER(lease_answer, node, .flags = JSON_NULLABLE,                       \
	                         .about = "server that hosts the sandbox"),                        \
	        JSON_TEXT_MEMBER(lease_answer, run, .flags = JSON_NULLABLE,                        \
	                         .about = "run that owns the sandbox's files"),                    \
	        JSON_WHOLE_MEMBER(lease_answer, lock_version,                                      \
	                          .about = "increases with every change"),                         \
	        JSON_WHOLE_MEMBER(lease_answer, total_usage_seconds,                               \
	                          .about = "active time of the lease's sandboxes; paused and "     \
	                                   "stopped time is not counted"),                         \
	        JSON_TIME_MEMBER(lease_answer, last_activity_at),                                  \
	        JSON_TIME_MEMBER(lease_answer, created_at),                                        \
	        JSON_TIME_MEMBER(lease_answer, keep_until, .flags = JSON_NULLABLE,                 \
	                         .about = "the idle timeout is suspended until this time")
static const struct json_member lease_shape_members[] = {
        LEASE_ROWS,
        JSON_RAW_MEMBER(lease_answer, specification, .flags = JSON_NULLABLE,
                        .about = "specification of the lease's sandboxes, without the environment; "
                                 "null: the lease is older than specifications"),
};
static JSON_SHAPE(lease_shape, "Lease", lease_answer, "A lease and its sandbox");
static const struct json_member acquired_shape_members[] = {
        LEASE_ROWS,
        JSON_BOOL_MEMBER(lease_answer, created, .about = "whether this call created the sandbox"),
        JSON_BOOL_MEMBER(lease_answer, reset,
                         .about = "whether this call reset the sandbox's files"),
};
static JSON_SHAPE(acquired_shape, "LeaseAcquired", lease_answer, "A lease and its running sandbox");

struct lease_query {
	const char *prefix, *page;
	int64_t limit;
};
static const struct json_member lease_list_query_members[] = {
        JSON_TEXT_MEMBER(lease_query, prefix, .max = LEASE_KEY_MAX,
                         .about = "only leases whose keys begin with this text"),
        JSON_TEXT_MEMBER(lease_query, page, .max = LEASE_KEY_MAX,
                         .about = "next_page of the previous page"),
        JSON_WHOLE_MEMBER(lease_query, limit, .min = 1, .max = 1000,
                          .about = "items per page (default 100)"),
};
static JSON_SHAPE(lease_list_query, "LeaseListQuery", lease_query, "Filter for leases");
static const struct json_member lease_prefix_query_members[] = {
        JSON_TEXT_MEMBER(lease_query, prefix, .flags = JSON_REQUIRED, .min = 1,
                         .max = LEASE_KEY_MAX, .example = "workspace:42:"),
};
static JSON_SHAPE(lease_prefix_query, "LeasePrefixQuery", lease_query, "Filter for leases");

static const struct json_member lease_list_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &lease_shape),
        JSON_TEXT_MEMBER(list_answer, next_page, .flags = JSON_NULLABLE),
};
static JSON_SHAPE(lease_list, "LeaseList", list_answer, "One page of leases");
struct leases_deleted_answer {
	int64_t deleted;
};
static const struct json_member deleted_shape_members[] = {
        JSON_WHOLE_MEMBER(leases_deleted_answer, deleted),
};
static JSON_SHAPE(deleted_shape, "LeasesDeleted", leases_deleted_answer,
                  "Number of deleted leases");

static int64_t latest_time(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void fill_lease_answer(const struct request *rq, const struct lease_record *r,
                              struct lease_answer *ret)
{
	bool is_ready = r->status == LEASE_READY;

	*ret = (struct lease_answer){
	        .key = r->key,
	        .username = r->key,
	        .sandbox_id = is_ready ? r->sandbox_id : NULL,
	        .status = lease_status_name(r->status),
	        .type = r->provider[0] ? r->provider : NULL,
	        .node = r->node[0] ? r->node : NULL,
	        .run = r->run[0] ? r->run : NULL,
	        .paused = is_ready && (r->actual == SANDBOX_PAUSED || r->actual == SANDBOX_STOPPED),
	        .lock_version = r->lock_version,
	        .total_usage_seconds =
	                fleet_lease_usage_ms(api_of(rq)->fleet, r, clock_unix_ms()) / 1000,
	        .last_activity_at = latest_time(r->last_activity_at, r->sandbox_activity_at),
	        .created_at = r->created_at,
	        .keep_until = r->keep_until,
	        .specification = span_of(r->spec_json),
	};
}

static int reply_lease(const struct request *rq, struct reply *reply, const struct lease_record *r)
{
	struct lease_answer out;

	fill_lease_answer(rq, r, &out);
	reply_json(reply, &lease_shape, &out);
	return 0;
}

static int reply_acquired_lease(const struct request *rq, struct reply *reply,
                                const struct fleet_leased *leased)
{
	struct lease_answer out;

	fill_lease_answer(rq, &leased->lease, &out);
	out.created = leased->created;
	out.reset = leased->reset;
	reply_status(reply, leased->created ? 201 : 200);
	reply_json(reply, &acquired_shape, &out);
	return 0;
}

/* A repeated request with the same idempotency key returns the sandbox of the first request, with
 * the same reply. */
static int acquire_once(struct request *rq, const char *key, struct fleet_lease *request,
                        struct reply *reply, struct error *err)
{
	struct fleet_leased leased;
	struct fleet_once_result result;
	struct idempotent_request once;

	if (request_may_wait(rq, err) < 0 || idempotency_begin(rq, "acquire", key, &once, err) < 0)
		return -1;
	request->is_fresh = request->is_fresh && once.found.is_first;
	if (!once.found.is_first)
		request->run = NULL;
	if (fleet_lease_acquire(api_of(rq)->fleet, rq->arena, request, &leased, err) < 0) {
		idempotency_end(rq, &once, NULL);
		return -1;
	}
	if (once.found.is_first) {
		result = (struct fleet_once_result){leased.sandbox.id, leased.created};
		idempotency_end(rq, &once, &result);
	} else {
		reply_header(reply, "Idempotent-Replayed", "true");
		if (strcmp(leased.sandbox.id, once.found.id) == 0)
			leased.created = once.found.created;
	}
	return reply_acquired_lease(rq, reply, &leased);
}

static int lease_may_wait(void *rq, struct error *err)
{
	return request_may_wait(rq, err);
}

/* A warm sandbox is answered from the fast lane; creating a sandbox or waiting for one is slow
 * work. */
static int lease_acquire(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct lease_acquire_body *b = body;
	struct fleet_create make;
	struct fleet_lease request = {
	        .project_id = api_project(rq),
	        .key = b->key,
	        .make = &make,
	        .names_persistent = row_is_given(b->create.present, NATIVE_CREATE_PERSISTENT),
	        .terms = b->update ? LEASE_TERMS_UPDATE : LEASE_TERMS_SAME,
	        .is_fresh = row_is_given(b->create.present, ACQUIRE_CONTINUE) && !b->continues,
	        .wait_ms = b->wait_ms,
	        .parks = api_can_park(rq),
	        .awaited = api_awaited(rq),
	        .may_wait = lease_may_wait,
	        .context = rq,
	};
	struct fleet_leased leased;
	struct fleet_use use;

	if (native_create_parse(rq, &b->create, b->key, &make, err) < 0 ||
	    api_describe_use(rq, &use, err) < 0)
		return -1;
	/* With continue=true the sandbox keeps its files, and they still belong to the earlier run.
	 */
	if (!b->continues)
		request.run = use.run;
	if (idempotency_is_used(rq, b->idempotency_key))
		return acquire_once(rq, b->idempotency_key, &request, reply, err);
	if (fleet_lease_acquire(api_of(rq)->fleet, rq->arena, &request, &leased, err) < 0)
		return -1;
	return reply_acquired_lease(rq, reply, &leased);
}

static struct lease_ref path_lease_ref(const struct request *rq)
{
	return (struct lease_ref){api_project(rq), request_param(rq, "key")};
}

static int lease_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct lease_ref ref = path_lease_ref(rq);
	struct lease_record r;

	(void)body;
	if (fleet_lease_find(api_of(rq)->fleet, rq->arena, &ref, &r, err) < 0)
		return -1;
	return reply_lease(rq, reply, &r);
}

static int lease_keep(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct lease_keep_body *b = body;
	const struct lease_ref ref = path_lease_ref(rq);
	struct lease_record r;

	if (fleet_lease_keep(api_of(rq)->fleet, rq->arena, &ref, b->timeout_ms, &r, err) < 0)
		return -1;
	return reply_lease(rq, reply, &r);
}

static int lease_release(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct lease_ref ref = path_lease_ref(rq);
	struct lease_record r;

	(void)body;
	if (fleet_lease_release(api_of(rq)->fleet, rq->arena, &ref, &r, err) < 0)
		return -1;
	return reply_lease(rq, reply, &r);
}

static int lease_pause(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct lease_ref ref = path_lease_ref(rq);
	struct lease_record r;

	(void)body;
	if (fleet_lease_pause(api_of(rq)->fleet, rq->arena, &ref, &r, err) < 0)
		return -1;
	return reply_lease(rq, reply, &r);
}

static int lease_delete(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	const struct lease_ref ref = path_lease_ref(rq);

	(void)body;
	if (fleet_lease_delete(api_of(rq)->fleet, rq->arena, &ref, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

/* Returns 1 if another server hosts some of the sandboxes: the request is forwarded to it, and it
 * deletes all the leases. */
static int forward_leases_delete(struct request *rq, const struct lease_ref *prefix,
                                 struct reply *reply, struct error *err)
{
	if (!api_hop_is_allowed(rq) || fleet_lease_delete_ours(api_of(rq)->fleet, prefix, err) == 0)
		return 0;
	if (!err->node[0])
		return -1;
	if (api_forward(rq, reply, err) == 0)
		return 1;
	log_info("leases are deleted without the server that hosts their sandboxes", FAILURE(err));
	error_clear(err);
	return 0;
}

static int leases_delete(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct lease_query *q = rq->query;
	const struct lease_ref prefix = {api_project(rq), q->prefix};
	struct leases_deleted_answer out;
	uint64_t count;
	int result;

	(void)body;
	result = forward_leases_delete(rq, &prefix, reply, err);
	if (result != 0)
		return result < 0 ? -1 : 0;
	if (fleet_lease_delete_all(api_of(rq)->fleet, &prefix, &count, err) < 0)
		return -1;
	out.deleted = (int64_t)count;
	reply_json(reply, &deleted_shape, &out);
	return 0;
}

static int leases_list(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct lease_query *q = rq->query;
	const struct lease_filter filter = {
	        .project_id = api_project(rq),
	        .prefix = q->prefix ? q->prefix : "",
	        .after = q->page ? q->page : "",
	        .limit = q->limit ? (unsigned)q->limit : 100,
	};
	struct lease_list found;
	struct lease_answer *items;

	(void)body;
	if (store_lease_list(api_of(rq)->store, rq->arena, &filter, &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct lease_answer, found.count);
	for (size_t i = 0; i < found.count; i++)
		fill_lease_answer(rq, &found.items[i], &items[i]);
	reply_page(reply, &lease_list, (struct json_list){items, found.count, true}, found.next);
	return 0;
}

struct lease_run {
	struct request *rq;
	const void *body;
	struct reply *reply;
	int (*run)(struct request *rq, struct api_target *t, const void *body, struct reply *reply,
	           struct error *err);
};

static int run_command(struct request *rq, struct api_target *t, const void *body,
                       struct reply *reply, struct error *err)
{
	return exec_run(rq, t, body, reply, err);
}

static int run_code(struct request *rq, struct api_target *t, const void *body, struct reply *reply,
                    struct error *err)
{
	return code_run(rq, t, body, reply, err);
}

static int run_in_lease(void *context, const struct sandbox_record *r, struct fleet_hold *hold,
                        struct error *err)
{
	const struct lease_run *run = context;
	struct request *rq = run->rq;
	AUTO(api_target_done) struct api_target target = {.hold = NULL};

	if (api_target_take(rq, r, hold, &target, err) < 0)
		return -1;
	return run->run(rq, &target, run->body, run->reply, err);
}

/* `make` counts only for a lease without a specification; otherwise the stored one applies. */
static int run_with_lease(struct lease_run *run, struct error *err)
{
	struct request *rq = run->rq;
	const struct fleet_create make = {
	        .key_id = api_key_id(rq),
	        .user_id = api_user_id(rq),
	        .caller = api_fleet_caller(rq),
	        .internet = -1,
	};
	struct fleet_use used;
	const struct fleet_lease request = {.project_id = api_project(rq),
	                                    .key = request_param(rq, "key"),
	                                    .make = &make,
	                                    .use = &used,
	                                    .parks = api_can_park(rq),
	                                    .awaited = api_awaited(rq)};
	const struct fleet_lease_use use = {run_in_lease, run};

	if (api_describe_use(rq, &used, err) < 0)
		return -1;
	return fleet_lease_with(api_of(rq)->fleet, rq->arena, &request, &use, err);
}

static int lease_exec_command(struct request *rq, const void *body, struct reply *reply,
                              struct error *err)
{
	struct lease_run run = {rq, body, reply, run_command};

	return exec_check(rq, body, err) < 0 ? -1 : run_with_lease(&run, err);
}

static int lease_exec_code(struct request *rq, const void *body, struct reply *reply,
                           struct error *err)
{
	struct lease_run run = {rq, body, reply, run_code};

	return code_check(rq, body, err) < 0 ? -1 : run_with_lease(&run, err);
}

#define TAG .tag = "leases"
#define READ SCOPE_SANDBOX_READ
#define WRITE SCOPE_SANDBOX_WRITE
const struct route leases_routes[] = {
        {HTTP_POST, BASE "/acquire", WRITE, ROUTE_QUICK | ROUTE_PROGRESS,
         .body = &lease_acquire_request, .answer = &acquired_shape, .handle = lease_acquire, TAG,
         .summary = "Get the warm sandbox of a key; it is started or created if needed"},
        {HTTP_GET, BASE, READ, .query = &lease_list_query, .answer = &lease_list,
         .handle = leases_list, TAG, .summary = "List leases by key"},
        {HTTP_DELETE, BASE, WRITE, ROUTE_SLOW, .query = &lease_prefix_query,
         .answer = &deleted_shape, .handle = leases_delete, TAG,
         .summary = "Delete all leases whose keys begin with a prefix, and their sandboxes"},
        {HTTP_GET, BASE "/:key", READ, .answer = &lease_shape, .handle = lease_get, TAG,
         .summary = "Get a lease"},
        {HTTP_DELETE, BASE "/:key", WRITE, ROUTE_SLOW, .status = 204, .handle = lease_delete, TAG,
         .summary = "Delete a lease and its sandbox"},
        {HTTP_POST, BASE "/:key/keepalive", WRITE, .body = &lease_keep_request,
         .answer = &lease_shape, .handle = lease_keep, TAG,
         .summary = "Suspend the idle timeout of a lease's sandbox"},
        {HTTP_POST, BASE "/:key/release", WRITE, .answer = &lease_shape, .handle = lease_release,
         TAG, .summary = "End the use of a lease; its sandbox stays warm"},
        {HTTP_POST, BASE "/:key/pause", WRITE, ROUTE_SLOW, .answer = &lease_shape,
         .handle = lease_pause, TAG,
         .summary = "End the use of a lease and freeze its sandbox until the next acquire"},
        {HTTP_POST, BASE "/:key/exec", WRITE, ROUTE_SLOW | ROUTE_NEEDS_BODY, .query = &exec_query,
         .body = &exec_request, .answer = &result_shape, .handle = lease_exec_command, TAG,
         .summary = "Run a command in a lease's sandbox; the sandbox is created if needed"},
        {HTTP_POST, BASE "/:key/code", WRITE, ROUTE_SLOW, .query = &exec_query,
         .body = &code_request, .answer = &result_shape, .handle = lease_exec_code, TAG,
         .summary = "Run a block of code in a lease's sandbox; the sandbox is created if needed"},
        {.path = NULL},
};

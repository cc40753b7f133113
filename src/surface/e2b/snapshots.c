/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots and forks. A snapshot has the name "NAME:TAG" or "ID:default", and sandboxes are
 * created from it as from a template. It holds files but no processes: see docs/use/migrate-e2b.md.
 */
#include "base/log.h"
#include "fleet/sandbox/fork.h"
#include "fleet/snapshot/snapshots.h"
#include "json/json.h"
#include "json/write.h"
#include "surface/e2b/e2b.h"
#include "surface/e2b/routes.h"

#define SECOND_MS INT64_C(1000)
#define YEAR_S (365 * 24 * 3600)
#define FORK_TIMEOUT_S 15

struct e2b_snapshot_body {
	const char *name;
};
static const struct json_member name_request_members[] = {
        JSON_TEXT_MEMBER(e2b_snapshot_body, name, .max = 256),
};
static JSON_OPEN_SHAPE(name_request, "E2bSnapshotCreate", e2b_snapshot_body,
                       "The name of the snapshot");

struct e2b_snapshot_info {
	const char *snapshot_id;
	const char **names;
};
static const struct json_member info_shape_members[] = {
        JSON_TEXT_MEMBER(e2b_snapshot_info, snapshot_id, .name = "snapshotID"),
        JSON_TEXT_LIST_MEMBER(e2b_snapshot_info, names),
};
static JSON_SHAPE(info_shape, "E2bSnapshot", e2b_snapshot_info, "A snapshot");

static struct e2b_snapshot_info info_of(struct arena *a, const struct snapshot_record *r)
{
	struct e2b_snapshot_info out = {.names = ARENA_ARRAY(a, const char *, 2)};

	out.snapshot_id = e2b_name_format(a, r->name);
	if (strcmp(r->name, r->id) != 0)
		out.names[0] = out.snapshot_id;
	return out;
}

static int make_snapshot(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct e2b_snapshot_body *b = body;
	struct fleet_ref ref = api_path_ref(rq);
	struct fleet_snapshot request = {.sync = true};
	struct snapshot_record record;
	struct sandbox_record sandbox;
	struct e2b_name name;
	struct e2b_snapshot_info out;

	if (e2b_sandbox_find(rq, &sandbox, err) < 0)
		return -1;
	if (b->name && b->name[0]) {
		if (e2b_name_parse(rq->arena, b->name, &name, err) < 0)
			return -1;
		request.name = name.own;
	}
	ref.awaited = api_awaited_if_parking(rq);
	if (fleet_snapshot(api_of(rq)->fleet, rq->arena, &ref, &request, &record, err) < 0)
		return -1;
	out = info_of(rq->arena, &record);
	reply_status(reply, 201);
	reply_json(reply, &info_shape, &out);
	return 0;
}

struct snapshots_query {
	const char *sandbox, *name, *next_token;
	int64_t limit;
};
static const struct json_member snapshots_query_members[] = {
        JSON_TEXT_MEMBER(snapshots_query, sandbox, .name = "sandboxID", .max = 64),
        JSON_TEXT_MEMBER(snapshots_query, name, .max = 256),
        JSON_TEXT_MEMBER(snapshots_query, next_token, .name = "nextToken", .max = 256),
        JSON_WHOLE_MEMBER(snapshots_query, limit, .min = 1, .max = E2B_PAGE_MAX),
};
static JSON_OPEN_SHAPE(snapshots_query, "E2bSnapshotsQuery", snapshots_query,
                       "The snapshots to list");

static void write_info(struct buf *out, struct arena *a, const struct snapshot_record *r)
{
	const struct e2b_snapshot_info info = info_of(a, r);

	if (r->state != SNAPSHOT_READY)
		return;
	json_add_struct(out, NULL, &info_shape, &info);
}

/* Lists the snapshot of this name, if it exists. */
static int list_named_snapshot(struct request *rq, const char *text, struct buf *out,
                               struct error *err)
{
	struct snapshot_record record;
	struct e2b_name name;

	if (e2b_name_parse(rq->arena, text, &name, err) < 0)
		return -1;
	if (e2b_snapshot_find(rq, &name, &record, err) == 0) {
		write_info(out, rq->arena, &record);
		return 0;
	}
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return 0;
}

static int list_snapshots_page(struct request *rq, const struct snapshots_query *q,
                               struct reply *reply, struct buf *out, struct error *err)
{
	const struct snapshot_filter filter = {
	        .project_id = api_project(rq),
	        .sandbox_id = q->sandbox,
	        .page = q->next_token,
	        .limit = q->limit ? (unsigned)q->limit : E2B_PAGE_MAX,
	};
	struct snapshot_list found;

	if (store_snapshot_list(api_of(rq)->store, rq->arena, &filter, &found, err) < 0)
		return -1;
	for (size_t i = 0; i < found.count; i++)
		write_info(out, rq->arena, &found.items[i]);
	if (found.next_page)
		reply_header(reply, "x-next-token", found.next_page);
	return 0;
}

static int list_snapshots(struct request *rq, UNUSED const void *body, struct reply *reply,
                          struct error *err)
{
	const struct snapshots_query *q = rq->query;
	struct buf *out = reply_buf(reply, "application/json");

	json_begin_list(out, NULL);
	if ((q->name ? list_named_snapshot(rq, q->name, out, err)
	             : list_snapshots_page(rq, q, reply, out, err)) < 0)
		return -1;
	json_end_list(out);
	return 0;
}

struct e2b_fork_body {
	int64_t timeout, count;
	uint64_t present;
};
enum fork_row { FORK_TIMEOUT, FORK_COUNT };
static const struct json_member fork_request_members[] = {
        [FORK_TIMEOUT] = JSON_WHOLE_MEMBER(e2b_fork_body, timeout, .min = 0, .max = YEAR_S),
        [FORK_COUNT] = JSON_WHOLE_MEMBER(e2b_fork_body, count, .min = 1, .max = FLEET_FORK_MAX),
};
static JSON_OPEN_BITS_SHAPE(fork_request, "E2bFork", e2b_fork_body,
                            "The number of forks and their timeout in seconds");

/* The forks keep the files when the snapshot is removed. */
static void drop_snapshot(struct request *rq, const char *id)
{
	const struct fleet_ref ref = {api_project(rq), id};
	struct error err = {0};

	if (fleet_snapshot_remove(api_of(rq)->fleet, rq->arena, &ref, &err) < 0)
		log_warning("a fork's snapshot is left", TEXT("snapshot", id), FAILURE(&err));
}

static int fork_sandbox(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	const struct e2b_fork_body *b = body;
	struct fleet_ref ref = api_path_ref(rq);
	int64_t seconds = b->present >> FORK_TIMEOUT & 1 ? b->timeout : FORK_TIMEOUT_S;
	const struct fleet_fork request = {
	        .count = b->present >> FORK_COUNT & 1 ? (unsigned)b->count : 1,
	        .key_id = api_key_id(rq),
	        .user_id = api_user_id(rq),
	        .timeout_ms = seconds > 0 ? seconds * SECOND_MS : 1,
	};
	struct sandbox_record sandbox;
	struct fleet_forked made;
	struct buf *out;

	ref.awaited = api_awaited_if_parking(rq);
	if (api_check_budgets(rq, err) < 0 || e2b_sandbox_find(rq, &sandbox, err) < 0 ||
	    fleet_fork(api_of(rq)->fleet, rq->arena, &ref, &request, &made, err) < 0)
		return -1;
	drop_snapshot(rq, made.snapshot.id);
	reply_status(reply, 201);
	out = reply_buf(reply, "application/json");
	json_begin_list(out, NULL);
	for (unsigned i = 0; i < made.count; i++) {
		const struct e2b_sandbox s = e2b_sandbox_of(rq, &made.sandboxes[i]);

		json_begin_object(out, NULL);
		json_add_struct(out, "sandbox", &e2b_sandbox_shape, &s);
		json_end_object(out);
	}
	json_end_list(out);
	return 0;
}

#define WRITE SCOPE_SANDBOX_WRITE
const struct route e2b_snapshots_routes[] = {
        {HTTP_POST, "/sandboxes/:id/snapshots", WRITE, ROUTE_SLOW | ROUTE_FILES | ROUTE_HIDDEN,
         .body = &name_request, .status = 201, .handle = make_snapshot, E2B_ROW},
        {HTTP_GET, "/snapshots", SCOPE_SANDBOX_READ, ROUTE_HIDDEN, .query = &snapshots_query,
         .handle = list_snapshots, E2B_ROW},
        {HTTP_POST, "/sandboxes/:id/fork", WRITE, ROUTE_SLOW | ROUTE_HIDDEN, .body = &fork_request,
         .status = 201, .handle = fork_sandbox, E2B_ROW},
        {.path = NULL},
};

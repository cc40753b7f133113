/* SPDX-License-Identifier: Apache-2.0 */
/* /sandboxes and /v2/sandboxes — create, list, show and delete sandboxes. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "edge/undo.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/volume/volume.h"
#include "json/write.h"
#include "sandbox/egress.h"
#include "store/sandboxes.h"
#include "store/snapshots.h"
#include "store/templates.h"
#include "surface/e2b/e2b.h"
#include "surface/e2b/rules.h"
#include "surface/e2b/routes.h"

#define SECOND_MS INT64_C(1000)
#define YEAR_S (365 * 24 * 3600)
/* Default timeouts. The clients of each generation of paths rely on theirs. */
#define TIMEOUT_V1_S 15
#define TIMEOUT_V2_S 300
#define IDLE_NEVER_MS (YEAR_S * SECOND_MS)

struct e2b_auto_resume {
	bool enabled;
};
static const struct json_member auto_resume_shape_members[] = {
        JSON_BOOL_MEMBER(e2b_auto_resume, enabled, .flags = JSON_REQUIRED),
};
static JSON_OPEN_SHAPE(auto_resume_shape, "E2bAutoResume", e2b_auto_resume,
                       "Whether a request to the sandbox wakes it");

struct e2b_volume_mount {
	const char *name, *path;
};
static const struct json_member volume_mount_shape_members[] = {
        JSON_TEXT_MEMBER(e2b_volume_mount, name, .flags = JSON_REQUIRED, .min = 1,
                         .max = SANDBOX_NAME_MAX),
        JSON_TEXT_MEMBER(e2b_volume_mount, path, .flags = JSON_REQUIRED,
                         .max = SANDBOX_MOUNT_PATH_MAX),
};
static JSON_OPEN_SHAPE(volume_mount_shape, "E2bVolumeMount", e2b_volume_mount,
                       "A volume and the folder where it is mounted");

struct e2b_create_body {
	const char *template_id;
	int64_t timeout;
	bool auto_pause, auto_pause_memory, internet;
	struct e2b_auto_resume auto_resume;
	struct e2b_network network;
	struct json_map metadata, env;
	struct span iam;
	struct json_list mounts;
	uint64_t present;
};
enum e2b_create_row { CREATE_TIMEOUT, CREATE_MEMORY, CREATE_INTERNET };
static const struct json_member create_request_members[] = {
        [CREATE_TIMEOUT] = JSON_WHOLE_MEMBER(e2b_create_body, timeout, .min = 0, .max = YEAR_S),
        [CREATE_MEMORY] =
                JSON_BOOL_MEMBER(e2b_create_body, auto_pause_memory, .name = "autoPauseMemory"),
        [CREATE_INTERNET] =
                JSON_BOOL_MEMBER(e2b_create_body, internet, .name = "allow_internet_access"),
        JSON_TEXT_MEMBER(e2b_create_body, template_id, .name = "templateID", .flags = JSON_REQUIRED,
                         .min = 1, .max = 256),
        JSON_BOOL_MEMBER(e2b_create_body, auto_pause, .name = "autoPause"),
        JSON_OBJECT_MEMBER(e2b_create_body, auto_resume, &auto_resume_shape, .name = "autoResume"),
        JSON_OBJECT_MEMBER(e2b_create_body, network, &e2b_network_shape),
        JSON_TEXT_MAP_MEMBER(e2b_create_body, metadata, .max = SANDBOX_LABELS_MAX),
        JSON_TEXT_MAP_MEMBER(e2b_create_body, env, .name = "envVars", .max = 256,
                             .flags = JSON_SECRET),
        JSON_RAW_MEMBER(e2b_create_body, iam),
        JSON_LIST_MEMBER(e2b_create_body, mounts, &volume_mount_shape, .name = "volumeMounts",
                         .max = SANDBOX_MOUNTS_MAX),
};
static JSON_OPEN_BITS_SHAPE(create_request, "E2bNewSandbox", e2b_create_body,
                            "The sandbox to create");

static bool has_row(const struct e2b_create_body *b, enum e2b_create_row row)
{
	return b->present >> row & 1;
}

static int decide_traits(const struct e2b_create_body *b, unsigned *ret, struct error *err)
{
	bool without_memory = has_row(b, CREATE_MEMORY) && !b->auto_pause_memory;

	if (b->auto_pause && without_memory && b->auto_resume.enabled)
		return FAIL(err, ERROR_INVALID,
		            "autoResume cannot be combined with autoPauseMemory false");
	*ret = SANDBOX_TIMED_AWAKE;
	if (b->auto_pause)
		*ret |= SANDBOX_PAUSES_IN_TIME;
	if (without_memory)
		*ret |= SANDBOX_WITHOUT_MEMORY;
	if (!b->auto_resume.enabled)
		*ret |= SANDBOX_SLEEPS_SOUND;
	*ret |= e2b_network_is_guarded(&b->network) ? SANDBOX_PORTS_GUARDED : SANDBOX_PORTS_OPEN;
	return 0;
}

/* The source is a template or a snapshot: E2B's clients create sandboxes from both in the same way.
 */
static int choose_source(struct request *rq, const char *text, struct fleet_create *ret,
                         struct error *err)
{
	struct template_record template;
	struct snapshot_record snapshot;
	struct e2b_name name;

	if (e2b_name_parse(rq->arena, text, &name, err) < 0)
		return -1;
	if (e2b_template_find(rq, &name, &template, err) == 0) {
		ret->template = template.id;
		return 0;
	}
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	if (e2b_snapshot_find(rq, &name, &snapshot, err) < 0) {
		if (err->code == ERROR_NOT_FOUND)
			(void)FAIL(err, ERROR_NOT_FOUND, "template '%.100s' was not found", text);
		return -1;
	}
	ret->snapshot = snapshot.id;
	return 0;
}

static void fill_mounts(struct arena *a, const struct e2b_create_body *b, struct fleet_create *ret)
{
	const struct e2b_volume_mount *items = b->mounts.items;
	struct fleet_mount *mounts = ARENA_ARRAY(a, struct fleet_mount, b->mounts.count + 1);

	for (size_t i = 0; i < b->mounts.count; i++)
		mounts[i] = (struct fleet_mount){items[i].name, items[i].path, false};
	ret->mounts = mounts;
	ret->mount_count = b->mounts.count;
}

static int create_sandbox(struct request *rq, const struct e2b_create_body *b, int64_t default_s,
                          struct reply *reply, struct error *err)
{
	int64_t timeout_s = has_row(b, CREATE_TIMEOUT) ? b->timeout : default_s;
	struct fleet_create request = {
	        .project_id = api_project(rq),
	        .key_id = api_key_id(rq),
	        .user_id = api_user_id(rq),
	        .caller = api_fleet_caller(rq),
	        .labels = b->metadata,
	        .env = b->env,
	        .timeout_ms = timeout_s > 0 ? timeout_s * SECOND_MS : 1,
	        .network_json = e2b_network_format(rq->arena, &b->network),
	        /* The timeout ends the sandbox; idleness does not. */
	        .timeouts.idle_pause_ms = -1,
	        .timeouts.idle_stop_ms = -1,
	        .timeouts.idle_reap_ms = IDLE_NEVER_MS,
	        .wait = true,
	        .awaited = api_awaited_if_parking(rq),
	};
	struct sandbox_record record;
	struct e2b_access access;
	struct e2b_sandbox out;

	if (b->iam.size > 0 && !span_equals_text(b->iam, "null"))
		return FAIL(err, ERROR_UNSUPPORTED, "iam is not supported by this server");
	if (api_check_budgets(rq, err) < 0 || decide_traits(b, &request.traits, err) < 0 ||
	    e2b_network_access(rq->arena, &b->network,
	                       has_row(b, CREATE_INTERNET) ? b->internet : -1, &access, err) < 0 ||
	    choose_source(rq, b->template_id, &request, err) < 0 ||
	    e2b_rules_prepare(rq, &b->network, &access, &request, err) < 0)
		return -1;
	fill_mounts(rq->arena, b, &request);
	if (fleet_create(api_of(rq)->fleet, rq->arena, &request, &record, err) < 0)
		return -1;
	api_undo_create(rq, reply, record.id);
	out = e2b_sandbox_of(rq, &record);
	reply_status(reply, 201);
	reply_json(reply, &e2b_sandbox_shape, &out);
	return 0;
}

static int create_sandbox_v1(struct request *rq, const void *body, struct reply *reply,
                             struct error *err)
{
	return create_sandbox(rq, body, TIMEOUT_V1_S, reply, err);
}

static int create_sandbox_v2(struct request *rq, const void *body, struct reply *reply,
                             struct error *err)
{
	return create_sandbox(rq, body, TIMEOUT_V2_S, reply, err);
}

struct e2b_lifecycle {
	bool auto_resume;
	const char *on_timeout;
};
static const struct json_member lifecycle_shape_members[] = {
        JSON_BOOL_MEMBER(e2b_lifecycle, auto_resume, .name = "autoResume"),
        JSON_TEXT_MEMBER(e2b_lifecycle, on_timeout, .name = "onTimeout"),
};
static JSON_SHAPE(lifecycle_shape, "E2bLifecycle", e2b_lifecycle,
                  "What the timeout of the sandbox does");

struct e2b_sandbox_detail {
	const char *template_id, *sandbox_id, *alias, *client_id, *envd_version, *state,
	        *envd_access_token, *domain;
	int64_t started_at, end_at, cpu_count, memory_mb, disk_mb;
	struct span metadata, network;
	bool internet;
	struct e2b_lifecycle lifecycle;
	struct json_list mounts;
};
#define LISTED_ROWS                                                                                \
	JSON_TEXT_MEMBER(e2b_sandbox_detail, template_id, .name = "templateID"),                   \
	        JSON_TEXT_MEMBER(e2b_sandbox_detail, sandbox_id, .name = "sandboxID"),             \
	        JSON_TEXT_MEMBER(e2b_sandbox_detail, alias),                                       \
	        JSON_TEXT_MEMBER(e2b_sandbox_detail, client_id, .name = "clientID"),               \
	        JSON_TIME_MEMBER(e2b_sandbox_detail, started_at, .name = "startedAt"),             \
	        JSON_TIME_MEMBER(e2b_sandbox_detail, end_at, .name = "endAt"),                     \
	        JSON_WHOLE_MEMBER(e2b_sandbox_detail, cpu_count, .name = "cpuCount"),              \
	        JSON_WHOLE_MEMBER(e2b_sandbox_detail, memory_mb, .name = "memoryMB"),              \
	        JSON_WHOLE_MEMBER(e2b_sandbox_detail, disk_mb, .name = "diskSizeMB"),              \
	        JSON_RAW_MEMBER(e2b_sandbox_detail, metadata),                                     \
	        JSON_TEXT_MEMBER(e2b_sandbox_detail, state),                                       \
	        JSON_TEXT_MEMBER(e2b_sandbox_detail, envd_version, .name = "envdVersion")
static const struct json_member listed_shape_members[] = {LISTED_ROWS};
static JSON_SHAPE(listed_shape, "E2bListedSandbox", e2b_sandbox_detail, "A sandbox in a list");
static const struct json_member detail_shape_members[] = {
        LISTED_ROWS,
        JSON_TEXT_MEMBER(e2b_sandbox_detail, envd_access_token, .name = "envdAccessToken",
                         .flags = JSON_OMIT_EMPTY),
        JSON_TEXT_MEMBER(e2b_sandbox_detail, domain, .flags = JSON_NULLABLE),
        JSON_BOOL_MEMBER(e2b_sandbox_detail, internet, .name = "allowInternetAccess"),
        JSON_RAW_MEMBER(e2b_sandbox_detail, network, .flags = JSON_OMIT_EMPTY),
        JSON_OBJECT_MEMBER(e2b_sandbox_detail, lifecycle, &lifecycle_shape),
        JSON_LIST_MEMBER(e2b_sandbox_detail, mounts, &volume_mount_shape, .name = "volumeMounts"),
};
static JSON_SHAPE(detail_shape, "E2bSandboxDetail", e2b_sandbox_detail, "A sandbox");

/* A sandbox of the native API may have no end; the answer says one year from now. */
static int64_t end_of(const struct sandbox_record *r)
{
	int64_t last =
	        r->timeouts.lifetime_max_ms > 0 ? r->created_at + r->timeouts.lifetime_max_ms : 0;

	if (r->timeout_at > 0)
		return last > 0 && last < r->timeout_at ? last : r->timeout_at;
	return last > 0 ? last : clock_unix_ms() + IDLE_NEVER_MS;
}

/* The token allows all calls of the agent without a key. Only callers that may run commands get it.
 */
static bool may_run_commands(const struct request *rq)
{
	struct error ignored = {0};

	return api_require(rq, SCOPE_SANDBOX_WRITE, &ignored) == 0;
}

static int64_t start_of(const struct sandbox_record *r)
{
	return r->started_at ? r->started_at : r->created_at;
}

static struct e2b_sandbox_detail detail_of(struct request *rq, const struct sandbox_record *r)
{
	const struct e2b_sandbox s = e2b_sandbox_of(rq, r);
	struct e2b_sandbox_detail out = {
	        .template_id = s.template_id,
	        .sandbox_id = s.sandbox_id,
	        .alias = s.alias,
	        .client_id = s.client_id,
	        .envd_version = s.envd_version,
	        .envd_access_token = may_run_commands(rq) ? s.envd_access_token : NULL,
	        .domain = s.domain,
	        .started_at = start_of(r),
	        .end_at = end_of(r),
	        .cpu_count = (int64_t)ceil(r->resources.cpu),
	        .memory_mb = r->resources.memory_mb,
	        .disk_mb = r->resources.disk_mb,
	        .metadata = r->labels_json[0] ? span_of(r->labels_json) : SPAN("{}"),
	        .network = span_of(e2b_network_format_current(rq->arena, r)),
	        .internet = r->network == SANDBOX_NETWORK_INTERNET &&
	                    !sandbox_egress_denies_all(r->egress),
	        .lifecycle = {!(r->traits & SANDBOX_SLEEPS_SOUND),
	                      r->traits & SANDBOX_PAUSES_IN_TIME ? "pause" : "kill"},
	};

	(void)e2b_state_of(r, &out.state);
	return out;
}

static int fill_shown_mounts(struct request *rq, struct e2b_sandbox_detail *ret, struct error *err)
{
	struct mount_list found;
	struct e2b_volume_mount *items;

	if (store_mounts_of_sandbox(api_of(rq)->store, rq->arena, ret->sandbox_id, &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct e2b_volume_mount, found.count + 1);
	for (size_t i = 0; i < found.count; i++)
		items[i] =
		        (struct e2b_volume_mount){found.items[i].volume_name, found.items[i].path};
	ret->mounts = (struct json_list){items, found.count, true};
	return 0;
}

static int get_sandbox(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	struct sandbox_record record;
	struct e2b_sandbox_detail out;

	if (e2b_sandbox_find(rq, &record, err) < 0)
		return -1;
	out = detail_of(rq, &record);
	if (fill_shown_mounts(rq, &out, err) < 0)
		return -1;
	reply_json(reply, &detail_shape, &out);
	return 0;
}

static int delete_sandbox(struct request *rq, UNUSED const void *body, struct reply *reply,
                          struct error *err)
{
	struct fleet_ref ref = api_path_ref(rq);

	ref.awaited = api_awaited_if_parking(rq);
	if (fleet_delete(api_of(rq)->fleet, rq->arena, &ref, SANDBOX_REASON_USER, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

struct e2b_list_query {
	const char *metadata, *state, *template, *next_token;
	int order;
	int64_t started_after, limit;
};
static const char *const orders[] = {"desc", "asc", NULL};
static const struct json_member list_query_members[] = {
        JSON_TEXT_MEMBER(e2b_list_query, metadata, .max = 8192),
        JSON_TEXT_MEMBER(e2b_list_query, state, .max = 64),
        JSON_TEXT_MEMBER(e2b_list_query, template, .max = 256),
        JSON_TEXT_MEMBER(e2b_list_query, next_token, .name = "nextToken", .max = 256),
        JSON_CHOICE_MEMBER(e2b_list_query, order, .choices = orders),
        JSON_TIME_MEMBER(e2b_list_query, started_after, .name = "startedAfter"),
        JSON_WHOLE_MEMBER(e2b_list_query, limit, .min = 1, .max = E2B_PAGE_MAX),
};
static JSON_OPEN_SHAPE(list_query, "E2bListQuery", e2b_list_query, "Which sandboxes");

/* The number of the store's pages that are read for one page of the answer. */
#define STORE_PAGES_MAX 64

struct e2b_listing {
	struct request *rq;
	struct json_map labels; /* a listed sandbox has all of them */
	bool running, paused;
	int64_t started_after;
	struct sandbox_filter filter;
	struct e2b_sandbox_detail *items;
	size_t count, limit;
};

/* "u%3Da%252520b" is decoded once already: "u=a%2520b", then "u" and "a%20b", then "a b". */
static int decode_twice(struct arena *a, struct span part, const char **ret, struct error *err)
{
	struct span once, twice;

	if (json_decode_query(a, part, &once, err) < 0 ||
	    json_decode_query(a, once, &twice, err) < 0)
		return FAIL_CONTEXT(err, "metadata");
	*ret = twice.data;
	return 0;
}

static int parse_metadata(struct arena *a, const char *text, struct json_map *ret,
                          struct error *err)
{
	struct span rest = span_of(text), part, key;

	ret->pairs = ARENA_ARRAY(a, struct json_pair, SANDBOX_LABELS_MAX);
	while (rest.size > 0) {
		struct json_pair *pair = &ret->pairs[ret->count];

		(void)span_split(&rest, '&', &part);
		if (part.size == 0)
			continue;
		if (ret->count == SANDBOX_LABELS_MAX)
			return FAIL(err, ERROR_INVALID, "metadata: more than %d pairs",
			            SANDBOX_LABELS_MAX);
		(void)span_split(&part, '=', &key);
		if (decode_twice(a, key, &pair->key, err) < 0 ||
		    decode_twice(a, part, &pair->value, err) < 0)
			return -1;
		ret->count++;
	}
	return 0;
}

static int parse_states(const char *text, struct e2b_listing *l, struct error *err)
{
	struct span rest = span_of(text), part;

	l->running = l->paused = !text || !text[0];
	while (rest.size > 0) {
		(void)span_split(&rest, ',', &part);
		if (span_equals_text(part, "running"))
			l->running = true;
		else if (span_equals_text(part, "paused"))
			l->paused = true;
		else
			return FAIL(err, ERROR_INVALID, "state '%.*s' is not running or paused",
			            (int)(part.size < 32 ? part.size : 32), part.data);
	}
	return 0;
}

static bool has_labels(struct arena *a, const struct sandbox_record *r, const struct json_map *want)
{
	const struct json_value *labels;
	struct error ignored;

	if (want->count == 0)
		return true;
	if (json_load(a, span_of(r->labels_json), &labels, &ignored) < 0)
		return false;
	for (size_t i = 0; i < want->count; i++) {
		const char *text = json_text(json_get(labels, want->pairs[i].key), NULL);

		if (!text || strcmp(text, want->pairs[i].value) != 0)
			return false;
	}
	return true;
}

static bool is_listed(struct e2b_listing *l, const struct sandbox_record *r)
{
	const char *state;

	if (!e2b_state_of(r, &state) || !(strcmp(state, "running") == 0 ? l->running : l->paused))
		return false;
	return start_of(r) >= l->started_after && has_labels(l->rq->arena, r, &l->labels);
}

/* Reads as many rows as the page still lacks, so that the page ends where a page of the store ends.
 */
static int fill_page(struct e2b_listing *l, const char **ret_next, struct error *err)
{
	unsigned pages = 0;

	do {
		struct sandbox_list found;

		l->filter.limit = (unsigned)(l->limit - l->count);
		if (store_sandbox_list(api_of(l->rq)->store, l->rq->arena, &l->filter, &found,
		                       err) < 0)
			return -1;
		for (size_t i = 0; i < found.count; i++)
			if (is_listed(l, &found.items[i]))
				l->items[l->count++] = detail_of(l->rq, &found.items[i]);
		l->filter.page = found.next_page;
	} while (l->filter.page && l->count < l->limit && ++pages < STORE_PAGES_MAX);
	*ret_next = l->filter.page;
	return 0;
}

static void reply_listed(struct reply *reply, const struct e2b_listing *l)
{
	struct buf *out = reply_buf(reply, "application/json");

	json_begin_list(out, NULL);
	for (size_t i = 0; i < l->count; i++) {
		json_add_struct(out, NULL, &listed_shape, &l->items[i]);
	}
	json_end_list(out);
}

static int begin_listing(struct request *rq, struct e2b_listing *ret, struct error *err)
{
	const struct e2b_list_query *q = rq->query;
	struct template_record template;
	struct e2b_name name;

	*ret = (struct e2b_listing){.rq = rq, .started_after = q->started_after};
	ret->filter = (struct sandbox_filter){.project_id = api_project(rq), .state = -1};
	if (parse_metadata(rq->arena, q->metadata, &ret->labels, err) < 0)
		return -1;
	if (ret->labels.count > 0) {
		ret->filter.label_key = ret->labels.pairs[0].key;
		ret->filter.label_value = ret->labels.pairs[0].value;
	}
	if (!q->template)
		return 0;
	if (e2b_name_parse(rq->arena, q->template, &name, err) < 0)
		return -1;
	ret->filter.template = name.name;
	if (e2b_template_find(rq, &name, &template, err) == 0)
		ret->filter.template = template.id;
	error_clear(err);
	return 0;
}

static int list_sandboxes_v2(struct request *rq, UNUSED const void *body, struct reply *reply,
                             struct error *err)
{
	const struct e2b_list_query *q = rq->query;
	struct e2b_listing l;
	const char *next;

	if (begin_listing(rq, &l, err) < 0 || parse_states(q->state, &l, err) < 0)
		return -1;
	l.limit = q->limit ? (size_t)q->limit : E2B_PAGE_MAX;
	l.items = ARENA_ARRAY(rq->arena, struct e2b_sandbox_detail, l.limit);
	l.filter.page = q->next_token;
	l.filter.ascending = q->order == 1;
	if (fill_page(&l, &next, err) < 0)
		return -1;
	if (next)
		reply_header(reply, "x-next-token", next);
	reply_listed(reply, &l);
	return 0;
}

/* Lists all running sandboxes in one page. */
#define LIST_V1_MAX 1000

static int list_sandboxes_v1(struct request *rq, UNUSED const void *body, struct reply *reply,
                             struct error *err)
{
	struct e2b_listing l;
	const char *next;

	if (begin_listing(rq, &l, err) < 0)
		return -1;
	l.running = true;
	l.limit = LIST_V1_MAX;
	l.items = ARENA_ARRAY(rq->arena, struct e2b_sandbox_detail, l.limit);
	if (fill_page(&l, &next, err) < 0)
		return -1;
	reply_listed(reply, &l);
	return 0;
}

const struct route e2b_sandboxes_routes[] = {
        {HTTP_POST, "/sandboxes", SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_HIDDEN,
         .body = &create_request, .status = 201, .handle = create_sandbox_v1, E2B_ROW},
        {HTTP_POST, "/v2/sandboxes", SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_HIDDEN,
         .body = &create_request, .status = 201, .handle = create_sandbox_v2, E2B_ROW},
        {HTTP_GET, "/sandboxes", SCOPE_SANDBOX_READ, ROUTE_HIDDEN, .query = &list_query,
         .handle = list_sandboxes_v1, E2B_ROW},
        {HTTP_GET, "/v2/sandboxes", SCOPE_SANDBOX_READ, ROUTE_HIDDEN, .query = &list_query,
         .handle = list_sandboxes_v2, E2B_ROW},
        {HTTP_GET, "/sandboxes/:id", SCOPE_SANDBOX_READ, ROUTE_HIDDEN, .handle = get_sandbox,
         E2B_ROW},
        {HTTP_DELETE, "/sandboxes/:id", SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_HIDDEN,
         .status = 204, .handle = delete_sandbox, E2B_ROW},
        {.path = NULL},
};

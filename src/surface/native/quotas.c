/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/quotas — limits of projects, keys and organisations, and what they use. An admin sets them;
 * every caller sees those that hold for it. */
#include <string.h>

#include "base/clock.h"
#include "edge/api.h"
#include "edge/limiter.h"
#include "store/keys.h"
#include "store/organizations.h"
#include "store/projects.h"
#include "store/quotas.h"
#include "surface/native/native.h"

#define BASE "/v1/quotas"
#define SUBJECT BASE "/:scope/:subject"
#define LIMIT_MAX 1000000000

struct quota_body {
	uint64_t present; /* bits of the rows below, which are in the order of enum quota_limit */
	double values[QUOTA_LIMIT_COUNT];
};
#define VALUE_ROW(limit, name_, about_)                                                            \
	{                                                                                          \
		.kind = JSON_NUMBER, .c_name = (name_), .min = 0, .max = LIMIT_MAX,                \
		.offset = offsetof(struct quota_body, values) + (limit) * sizeof(double),          \
		.about = (about_)                                                                  \
	}
static const struct json_member quota_change_members[] = {
        VALUE_ROW(QUOTA_SANDBOXES_RUNNING, "sandboxes_running", "sandboxes that run or are paused"),
        VALUE_ROW(QUOTA_SANDBOXES_STOPPED, "sandboxes_stopped",
                  "stopped and archived sandboxes: a create is refused while there are as many"),
        VALUE_ROW(QUOTA_CPU, "cpu", "CPUs of running sandboxes together"),
        VALUE_ROW(QUOTA_MEMORY_MB, "memory_mb", "memory of running sandboxes together"),
        VALUE_ROW(QUOTA_DISK_MB, "disk_mb", "disk limits of all sandboxes together"),
        VALUE_ROW(QUOTA_CREATES_PER_MINUTE, "creates_per_minute",
                  "sandboxes made in one minute of the clock"),
        VALUE_ROW(QUOTA_REQUESTS_PER_SECOND, "requests_per_second",
                  "requests in one second; each server of the store takes an equal part"),
        VALUE_ROW(QUOTA_EGRESS_MB_PER_DAY, "egress_mb_per_day", "what sandboxes send in a UTC day"),
};
_Static_assert(COUNT_OF(quota_change_members) == QUOTA_LIMIT_COUNT, "a row per limit");
static JSON_BITS_SHAPE(quota_change, "QuotaChange", quota_body,
                       "New limits; omitted members keep their values, 0 removes a limit");

struct quota_answer {
	const char *scope, *subject, *name, *unit, *about;
	double limit, used;
	int64_t reset_at;
};
static const struct json_member quota_shape_members[] = {
        JSON_TEXT_MEMBER(quota_answer, scope, .choices = quota_scopes),
        JSON_TEXT_MEMBER(quota_answer, subject, .about = "id of the project, key or organisation"),
        JSON_TEXT_MEMBER(quota_answer, name, .example = "sandboxes_running"),
        JSON_TEXT_MEMBER(quota_answer, unit),
        JSON_TEXT_MEMBER(quota_answer, about),
        JSON_NUMBER_MEMBER(quota_answer, limit, .min = 0, .about = "0 = no limit"),
        JSON_NUMBER_MEMBER(quota_answer, used, .min = -1,
                           .about = "-1: not counted, of requests per second"),
        JSON_TIME_MEMBER(quota_answer, reset_at, .flags = JSON_NULLABLE,
                         .about = "end of the minute or the day; null: when the use falls"),
};
static JSON_SHAPE(quota_shape, "Quota", quota_answer, "A limit and its use");
static const struct json_member quota_list_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &quota_shape),
};
static JSON_SHAPE(quota_list_shape, "QuotaList", list_answer, "Limits and their use");

static const struct quota_record *find_quota(const struct quota_list *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].name, name) == 0)
			return &list->items[i];
	return NULL;
}

static struct quota_answer describe_limit(const struct quota_subject *subject,
                                          enum quota_limit limit, const struct quota_record *r,
                                          const struct quota_use *use, int64_t sent)
{
	const struct quota_limit_row *row = &quota_limits[limit];
	struct quota_answer out = {.scope = subject->scope,
	                           .subject = subject->subject,
	                           .name = row->name,
	                           .unit = row->unit,
	                           .about = row->about,
	                           .limit = r ? r->value : 0,
	                           .used = quota_used(use, limit)};

	if (row->kind == QUOTA_RATE)
		out.used = -1;
	if (row->kind == QUOTA_WINDOW && r && clock_unix_ms() < r->window_at + QUOTA_WINDOW_MS) {
		out.used = (double)r->used;
		out.reset_at = r->window_at + QUOTA_WINDOW_MS;
	}
	if (row->kind == QUOTA_DAY) {
		out.used = quota_egress_mb(sent);
		out.reset_at = quota_day(clock_unix_ms()) + QUOTA_DAY_MS;
	}
	return out;
}

/* A row for each limit of the subject. */
static int describe_quotas(struct request *rq, const struct quota_subject *subject,
                           struct quota_answer ret[QUOTA_LIMIT_COUNT], struct error *err)
{
	struct store *store = api_of(rq)->store;
	struct quota_list list;
	struct quota_use use;
	int64_t sent;

	if (store_quota_list(store, rq->arena, subject, &list, err) < 0 ||
	    store_quota_use(store, subject, &use, err) < 0 ||
	    store_quota_egress(store, subject, quota_day(clock_unix_ms()), &sent, err) < 0)
		return -1;
	for (unsigned i = 0; i < QUOTA_LIMIT_COUNT; i++)
		ret[i] = describe_limit(subject, (enum quota_limit)i,
		                        find_quota(&list, quota_limits[i].name), &use, sent);
	return 0;
}

static int reply_quotas(struct request *rq, const struct quota_subject *subjects, size_t count,
                        struct reply *reply, struct error *err)
{
	struct quota_answer *items =
	        ARENA_ARRAY(rq->arena, struct quota_answer, count * QUOTA_LIMIT_COUNT);

	for (size_t i = 0; i < count; i++)
		if (describe_quotas(rq, &subjects[i], &items[i * QUOTA_LIMIT_COUNT], err) < 0)
			return -1;
	reply_list(reply, &quota_list_shape, items, count * QUOTA_LIMIT_COUNT);
	return 0;
}

static int quotas_list(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	struct quota_subject subjects[QUOTA_SCOPE_COUNT] = {
	        {quota_scopes[QUOTA_PROJECT], api_project(rq)},
	        {quota_scopes[QUOTA_KEY], api_key_id(rq)},
	};

	if (store_quota_organization(api_of(rq)->store, rq->arena, api_project(rq),
	                             &subjects[QUOTA_ORGANIZATION], err) < 0)
		return -1;
	return reply_quotas(rq, subjects, QUOTA_SCOPE_COUNT, reply, err);
}

/* The subject of the path, which exists. A project may be named. */
static int find_subject(struct request *rq, struct quota_subject *ret, struct error *err)
{
	const char *scope = request_param(rq, "scope"), *id = request_param(rq, "subject");
	struct store *store = api_of(rq)->store;
	struct organization_record organization;
	struct project_record project;
	struct key_record key;

	*ret = (struct quota_subject){scope, id};
	switch (quota_scope_find(scope)) {
	case QUOTA_PROJECT:
		if (store_project_find_named(store, rq->arena, id, &project, err) < 0)
			return -1;
		ret->subject = project.id;
		return 0;
	case QUOTA_KEY:
		return store_key_find(store, rq->arena, NULL, id, &key, err);
	case QUOTA_ORGANIZATION:
		return store_organization_find(store, rq->arena, id, &organization, err);
	case QUOTA_SCOPE_COUNT:
		break;
	}
	(void)FAIL(err, ERROR_INVALID, "'%.64s' has no quotas", scope);
	return FAIL_HINT(err, "one of: project, key, organization");
}

static int quota_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                     struct error *err)
{
	struct quota_subject subject;

	if (find_subject(rq, &subject, err) < 0)
		return -1;
	return reply_quotas(rq, &subject, 1, reply, err);
}

static int quota_patch(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct quota_body *b = body;
	double values[QUOTA_LIMIT_COUNT];
	struct quota_change change = {.values = values, .now = clock_unix_ms()};

	for (unsigned i = 0; i < QUOTA_LIMIT_COUNT; i++)
		values[i] = b->present >> i & 1 ? b->values[i] : -1;
	if (find_subject(rq, &change.subject, err) < 0 ||
	    store_quota_change(api_of(rq)->store, &change, err) < 0 ||
	    api_rates_refresh(api_of(rq), err) < 0)
		return -1;
	api_audit_subject(rq, change.subject.subject);
	return reply_quotas(rq, &change.subject, 1, reply, err);
}

#define TAG .tag = "quotas"

const struct route quotas_routes[] = {
        {HTTP_GET, BASE, SCOPE_SANDBOX_READ, .answer = &quota_list_shape, .handle = quotas_list,
         TAG,
         .summary = "Get the limits and the use of the caller's project, key and organisation"},
        {HTTP_GET, SUBJECT, SCOPE_ADMIN, .answer = &quota_list_shape, .handle = quota_get, TAG,
         .summary = "Get the limits and the use of a project, a key or an organisation"},
        {HTTP_PATCH, SUBJECT, SCOPE_ADMIN, .body = &quota_change, .answer = &quota_list_shape,
         .handle = quota_patch, TAG,
         .summary = "Set limits of a project, a key or an organisation"},
        {.path = NULL},
};
